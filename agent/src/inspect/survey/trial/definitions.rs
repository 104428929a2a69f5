//! Creates and drops objects of the kinds that a move creates: event triggers of the application may refuse them.

use connect::Connected;

use super::failure::{self, TrialEnd};
use super::{RunningTrial, epoch};
use crate::error::{StepError, WithIntent};

/// The enabled event triggers, including those of extensions.
const EVENT_TRIGGER_NAMES: &str = "select pg_catalog.string_agg(evtname, ', ' order by evtname) from pg_catalog.pg_event_trigger where evtenabled <> 'D'";
/// Creates and drops everything in a schema of its own, so that it locks no table of the application.
const PROBE: &str = "
    create schema shardwright_trial;
    create table shardwright_trial.made (id bigint primary key);
    comment on table shardwright_trial.made is 'a trial';
    create index on shardwright_trial.made (id);
    create sequence shardwright_trial.register;
    create function shardwright_trial.guard() returns trigger language plpgsql as 'begin return new; end';
    create trigger guard before insert on shardwright_trial.made for each row execute function shardwright_trial.guard();
    alter table shardwright_trial.made enable always trigger guard;
    create publication shardwright_trial for table shardwright_trial.made;
    drop publication shardwright_trial;
    drop trigger guard on shardwright_trial.made;
    drop function shardwright_trial.guard();
    drop sequence shardwright_trial.register;
    drop table shardwright_trial.made;
    drop schema shardwright_trial";

impl RunningTrial<'_> {
    /// Runs [`PROBE`] on the source, in a separate transaction that is rolled back.
    pub(super) async fn probe_event_triggers_on_source(&mut self) -> Result<(), TrialEnd> {
        let shard = self.source.name.clone();
        let Some(triggers) = enabled_event_triggers(&self.source_session).await? else {
            return Ok(());
        };
        let session = self.source.session("trial").await?;
        let begin = format!("begin; {}", super::LOCK_TIMEOUTS[1]);
        let result = session.batch_execute(&begin).await;
        result.at(format_args!("shard {shard}: beginning a trial"))?;
        let defined = session.batch_execute(PROBE).await;
        epoch::rollback(&session).await;
        match defined {
            Ok(()) => Ok(()),
            Err(error) => {
                self.add_failure(failure::event_trigger_failure(&shard, &triggers, &error))
            }
        }
    }

    /// Runs [`PROBE`] on the target, with the event triggers that the target has at this point of the trial.
    pub(super) async fn probe_event_triggers_on_target(&mut self) -> Result<(), TrialEnd> {
        let shard = self.target_name();
        let Some(triggers) = enabled_event_triggers(self.target_session()).await? else {
            return Ok(());
        };
        self.set_savepoint().await?;
        let defined = self.target_session().batch_execute(PROBE).await;
        match defined {
            Ok(()) => Ok(self.release_savepoint().await?),
            Err(error) => {
                let trial_end = failure::event_trigger_failure(shard, &triggers, &error);
                self.roll_back_to_savepoint(trial_end).await
            }
        }
    }
}

async fn enabled_event_triggers(client: &Connected) -> Result<Option<String>, StepError> {
    let shard = client.name();
    let row = client.query_one(EVENT_TRIGGER_NAMES, &[]).await;
    let row = row.at(format_args!("shard {shard}: listing event triggers"))?;
    Ok(row.get(0))
}
