//! The fault of a source that is restored from a copy older than the flip, during the hold.
//!
//! Before the approval the application pauses and the source's server is copied. During the hold the server is killed
//! and the copy is restored. The source must refuse the moved keys, and the reconciler must report it. The operator
//! accepts the server, and the application continues with the map from before the flip.
//!
//! The application writes nothing between the copy and the restore: otherwise the restore would lose acknowledged
//! writes to keys that stay on the source, and the operator, not Shardwright, would have caused this. It also does not
//! write before the source refuses: otherwise acknowledged writes to moved keys would be on the source and not on the
//! owner, a risk that docs/reliability.md describes. A write that is never committed tests whether the source refuses.
//!
//! No run restores a target to a time before its opening: it stays closed, and acknowledged writes are lost with the
//! copy. The test `a_target_from_before_its_opening_is_left_closed` shows that nothing opens it.

use super::operator_sql;
use super::run_log::RunLog;
use crate::api::Api;
use crate::drive::{blocking, crash};
use crate::error::DemoError;
use crate::fleet::{Fleet, SOURCE};
use crate::ledger::Ledger;
use crate::options::Process;
use cluster::{Cluster, Options};
use connect::Dsn;
use fail_point::Arrival;
use plans::inspection::reconcile::ContradictionKind;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The reconciler's interval (5 s) and the duration of its probe, on a busy machine.
const CLOSE_LIMIT: Duration = Duration::from_secs(30);
const CALL_LIMIT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The copy, from its creation to its restore.
#[derive(Debug, Default)]
pub(super) struct RestoredCopy {
    copy: Mutex<Option<Cluster>>,
}

/// What the restore of the copy needs.
#[derive(Clone, Copy)]
pub(super) struct RestoreContext<'a> {
    pub(super) fleet: &'a Fleet,
    pub(super) ledger: &'a Ledger,
    pub(super) api: &'a Api,
    pub(super) run_log: &'a RunLog,
}

impl RestoredCopy {
    /// Copies the source's server while it runs.
    pub(super) async fn save(&self, fleet: &Fleet, run_log: &RunLog) -> Result<(), DemoError> {
        let Some(source) = fleet.server(Process::Source) else {
            return Ok(());
        };
        let options = Options::temporary("demo-copy");
        let made = tokio::task::spawn_blocking(move || source.standby("torture_copy", options));
        let made = made.await.map_err(std::io::Error::other);
        let made = made.map_err(DemoError::io("copy a server"))??;
        *self.copy.lock().unwrap_or_else(PoisonError::into_inner) = Some(made);
        run_log.write("the source is copied");
        Ok(())
    }

    /// Restores the copy. Returns when the server refuses the moved keys, was reported, and is accepted.
    pub(super) async fn restore(
        &self,
        arrival: Arrival,
        context: RestoreContext<'_>,
    ) -> Result<(), DemoError> {
        let copy = self.copy.lock();
        let copy = copy.unwrap_or_else(PoisonError::into_inner).take();
        let (Some(source), Some(copy)) = (context.fleet.server(Process::Source), copy) else {
            return Err(DemoError::Unclean {
                problems: vec!["the fault occurred before the source was copied".to_owned()],
            });
        };
        crash(&source, Some(SOURCE), context.ledger).await?;
        drop(arrival);
        blocking(move || source.restore(&copy).and_then(|()| source.start())).await?;
        let begun = Instant::now();
        context
            .run_log
            .write("the source is restored from the copy");
        context.wait_until_closed(begun).await?;
        context.accept_reported().await
    }
}

impl RestoreContext<'_> {
    async fn wait_until_closed(&self, begun: Instant) -> Result<(), DemoError> {
        let source: Dsn = self.fleet.admins()?.swap_remove(0).1;
        let mut open_probes = 0;
        while !operator_sql::is_refused(&source).await? {
            open_probes += 1;
            limit("the source to refuse moved keys", begun)?;
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        let seconds = begun.elapsed().as_secs_f64();
        self.run_log.write(&format!(
            "the source refuses moved keys after {seconds:.1} s; {open_probes} earlier writes were not refused"
        ));
        Ok(())
    }

    /// Accepts the server of the source when the reconciler has reported that it is another one.
    pub(super) async fn accept_reported(&self) -> Result<(), DemoError> {
        self.wait_until_reported(Instant::now()).await?;
        self.accept().await
    }

    /// Waits for the reconciler's periodic probe; none is requested.
    async fn wait_until_reported(&self, begun: Instant) -> Result<(), DemoError> {
        loop {
            if let Ok(Ok(report)) = tokio::time::timeout(CALL_LIMIT, self.api.fleet()).await {
                let of_source = report
                    .findings
                    .iter()
                    .filter(|it| it.shard.as_str() == SOURCE);
                let mut kinds = of_source.map(|finding| finding.kind);
                let reported =
                    kinds.find(|kind| *kind == ContradictionKind::KeysOpen || kind.is_of_server());
                if let Some(kind) = reported {
                    self.run_log.write(&format!("found: {kind}"));
                    return Ok(());
                }
            }
            limit("a finding about the source", begun)?;
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Runs `shardwright reconcile --accept`.
    async fn accept(&self) -> Result<(), DemoError> {
        let begun = Instant::now();
        loop {
            let call = self.api.reconcile(false, &[SOURCE]);
            match tokio::time::timeout(CALL_LIMIT, call).await {
                Ok(Ok(report)) => {
                    report.done.iter().for_each(|line| self.run_log.write(line));
                    return Ok(());
                }
                Ok(Err(error)) => self.run_log.write(&format!("reconcile: {error}")),
                Err(_) => self.run_log.write("reconcile: no answer"),
            }
            limit("the acceptance of the source", begun)?;
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}

fn limit(what: &str, begun: Instant) -> Result<(), DemoError> {
    if begun.elapsed() < CLOSE_LIMIT {
        return Ok(());
    }
    Err(DemoError::Stalled {
        what: what.to_owned(),
        seconds: CLOSE_LIMIT.as_secs(),
    })
}
