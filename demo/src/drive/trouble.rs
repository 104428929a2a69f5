//! Trouble on the target that ends in a failed migration, and its mending.
//!
//! Order: an agent waits in the middle of the step, the trouble is made, the agent goes on, the migration fails and
//! says why, the trouble is mended.

use super::Run;
use super::follow::Follower;
use super::hand::Hand;
use super::progress::say;
use super::strike::blocking;
use crate::error::DemoError;
use crate::options::{Trouble, TroubleKind};
use crate::points;
use crate::report::{Report, Troubled};
use cluster::Shutdown;
use connect::{Connected, Session};
use plans::state::step::StepState;
use plans::table::quote_literal;
use rand::Rng;
use std::time::Instant;

impl Run<'_> {
    /// Makes the trouble, waits until the migration has failed of it, and mends it.
    pub(super) async fn trouble(
        &self,
        trouble: Trouble,
        hand: &Hand,
        follower: &mut Follower<'_>,
        report: &mut Report,
    ) -> Result<(), DemoError> {
        let arrival = follower.meet(hand, &points::of_step(trouble.step)).await?;
        let session = self.target().await?;
        say(&format!("trouble on the target: {}", trouble.kind));
        let begun = Instant::now();
        self.make(trouble.kind, &session).await?;
        drop(arrival);
        let (failed, failure) = follower.failed().await?;
        let after = begun.elapsed().as_millis();
        let step = failed.steps.iter();
        let step = step.filter(|step| step.state == StepState::Failed);
        report.troubles.push(Troubled {
            kind: trouble.kind.to_string(),
            step: trouble.step,
            failed_step: step.map(|step| step.kind).next(),
            failure,
            failed_after_ms: u64::try_from(after).unwrap_or(u64::MAX),
        });
        self.acknowledged(self.ledger.tally().acknowledged + self.goal(4))
            .await?;
        say(&format!("mending: {}", trouble.kind));
        self.mend(trouble.kind, &session).await
    }

    async fn make(&self, kind: TroubleKind, session: &Connected) -> Result<(), DemoError> {
        match kind {
            TroubleKind::Password => {
                let other = format!("{:032x}", rand::rng().random::<u128>());
                run(session, &set_password(&other)).await?;
                let end = "select pg_catalog.pg_terminate_backend(pid) from pg_catalog.pg_stat_activity \
                    where starts_with(application_name, 'shardwright/')";
                run(session, end).await
            }
            TroubleKind::Disk => {
                // The log begins a new file, which is there as a whole: it is rows that find no room.
                run(session, "select pg_catalog.pg_switch_wal()").await?;
                let write = "select pg_catalog.pg_logical_emit_message(true, 'demo', 'room')";
                run(session, write).await?;
                self.fleet.fill_disk()
            }
            TroubleKind::Down => {
                let server = self.fleet.target();
                blocking(move || server.stop(Shutdown::Fast)).await
            }
        }
    }

    async fn mend(&self, kind: TroubleKind, session: &Connected) -> Result<(), DemoError> {
        match kind {
            TroubleKind::Password => {
                let password = self.fleet.target_password()?;
                run(session, &set_password(&password)).await
            }
            // A server whose log found no room either has ended, and is started as one that was down.
            TroubleKind::Disk | TroubleKind::Down => {
                self.fleet.empty_disk()?;
                let server = self.fleet.target();
                blocking(move || server.start()).await
            }
        }
    }

    async fn target(&self) -> Result<Connected, DemoError> {
        let (_, dsn) = self.fleet.admins()?.remove(1);
        let session = connect::connect(&dsn, &Session::named("demo")).await;
        Ok(session.map_err(crate::shop::ShopError::from)?)
    }
}

fn set_password(password: &str) -> String {
    format!("alter role postgres password {}", quote_literal(password))
}

async fn run(session: &Connected, sql: &str) -> Result<(), DemoError> {
    let done = session.batch_execute(sql).await;
    let done = done.map_err(|source| crate::shop::ShopError::Statement {
        action: "make or mend trouble on the target",
        source,
    });
    Ok(done?)
}
