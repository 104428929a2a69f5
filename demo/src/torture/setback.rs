//! The fault of a source that is restored from a copy older than the flip, during the hold.
//!
//! Before the approval the application pauses and the source's server is copied. During the hold the server is killed
//! and the copy is restored. The source must refuse the moved keys, and the reconciler must report it. The operator
//! accepts the server, and the application continues with the map from before the flip.
//!
//! The application writes nothing between the copy and the restore: such writes to keys that stay would be lost with
//! the server, by the operator's own act. It also does not write before the source refuses: such writes to moved keys
//! would not be on the owner, a risk that docs/reliability.md describes. A write that is never committed tests whether
//! the source refuses.
//!
//! No run restores a target to a time before its opening: it stays closed, and acknowledged writes are lost with the
//! copy. The test `a_target_from_before_its_opening_is_left_closed` shows that nothing opens it.

use super::deed;
use super::story::StoryFile;
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
    pub(super) story: &'a StoryFile,
}

impl RestoredCopy {
    /// Copies the source's server while it runs.
    pub(super) async fn save(&self, fleet: &Fleet, story: &StoryFile) -> Result<(), DemoError> {
        let Some(source) = fleet.server(Process::Source) else {
            return Ok(());
        };
        let options = Options::temporary("demo-copy");
        let made = tokio::task::spawn_blocking(move || source.standby("torture_copy", options));
        let made = made.await.map_err(std::io::Error::other);
        let made = made.map_err(DemoError::io("copy a server"))??;
        *self.copy.lock().unwrap_or_else(PoisonError::into_inner) = Some(made);
        story.write("the source is copied");
        Ok(())
    }

    /// Restores the copy. Returns when the server refuses the moved keys, was reported, and is accepted.
    pub(super) async fn strike(
        &self,
        arrival: Arrival,
        around: RestoreContext<'_>,
    ) -> Result<(), DemoError> {
        let copy = self.copy.lock();
        let copy = copy.unwrap_or_else(PoisonError::into_inner).take();
        let (Some(source), Some(copy)) = (around.fleet.server(Process::Source), copy) else {
            return Err(DemoError::Unclean {
                problems: vec!["the source was struck before it was copied".to_owned()],
            });
        };
        crash(&source, Some(SOURCE), around.ledger).await?;
        drop(arrival);
        blocking(move || source.restore(&copy).and_then(|()| source.start())).await?;
        let begun = Instant::now();
        around
            .story
            .write("the source is as it was when it was copied");
        around.until_closed(begun).await?;
        around.until_reported(begun).await?;
        around.accept().await
    }
}

impl RestoreContext<'_> {
    async fn until_closed(&self, begun: Instant) -> Result<(), DemoError> {
        let source: Dsn = self.fleet.admins()?.swap_remove(0).1;
        let mut open = 0;
        while !deed::is_refused(&source).await? {
            open += 1;
            limit("the source's refusal", begun)?;
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        let seconds = begun.elapsed().as_secs_f64();
        self.story.write(&format!(
            "the source refuses moved keys after {seconds:.1} s; it was found open {open} times"
        ));
        Ok(())
    }

    /// Waits for the reconciler's periodic probe; none is requested.
    async fn until_reported(&self, begun: Instant) -> Result<(), DemoError> {
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
                    self.story.write(&format!("found: {kind}"));
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
                    report.done.iter().for_each(|line| self.story.write(line));
                    return Ok(());
                }
                Ok(Err(error)) => self.story.write(&format!("reconcile: {error}")),
                Err(_) => self.story.write("reconcile: no answer"),
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
