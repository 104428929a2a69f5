//! Makes and drops objects of the kinds that a move makes of its own: event triggers of the application may refuse them.

use connect::Connected;

use super::failure::{self, TrialEnd};
use super::{RunningTrial, epoch};
use crate::error::{StepError, WithIntent};

/// Those that fire; an extension may have brought them.
const NAMES: &str = "select pg_catalog.string_agg(evtname, ', ' order by evtname) from pg_catalog.pg_event_trigger where evtenabled <> 'D'";
/// All of it is in a schema of its own: no lock is on a table of the application.
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
    /// On the source, in a transaction of its own, which is rolled back.
    pub(super) async fn define_on_source(&mut self) -> Result<(), TrialEnd> {
        let shard = self.source.name.clone();
        let Some(triggers) = event_triggers(&self.here).await? else {
            return Ok(());
        };
        let session = self.source.session("trial").await?;
        let begin = format!("begin; {}", super::PATIENCE[1]);
        let begun = session.batch_execute(&begin).await;
        begun.at(format_args!("shard {shard}: beginning a trial"))?;
        let defined = session.batch_execute(PROBE).await;
        epoch::rollback(&session).await;
        match defined {
            Ok(()) => Ok(()),
            Err(error) => self.note(failure::of_event_triggers(&shard, &triggers, &error)),
        }
    }

    /// On the target, with the event triggers that it has by then.
    pub(super) async fn define_on_target(&mut self) -> Result<(), TrialEnd> {
        let shard = self.target();
        let Some(triggers) = event_triggers(self.there()).await? else {
            return Ok(());
        };
        self.savepoint().await?;
        let defined = self.there().batch_execute(PROBE).await;
        match defined {
            Ok(()) => Ok(self.release().await?),
            Err(error) => {
                let failed = failure::of_event_triggers(shard, &triggers, &error);
                self.roll_back(failed).await
            }
        }
    }
}

async fn event_triggers(client: &Connected) -> Result<Option<String>, StepError> {
    let shard = client.name();
    let row = client.query_one(NAMES, &[]).await;
    let row = row.at(format_args!("shard {shard}: listing event triggers"))?;
    Ok(row.get(0))
}
