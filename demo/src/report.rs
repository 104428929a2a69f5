//! The report of a run, as JSON and in plain words.

use crate::checker::Checked;
use crate::leftovers::Leftovers;
use plans::step::StepKind;
use plans::step::copy::Copied;
use plans::step::cutover::Window;
use plans::step::verify::Verified;
use serde::{Deserialize, Serialize};

mod incident;

pub use incident::{Killed, Orphaned, Troubled};

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The shard is split.
    Completed,
    /// The migration was taken back before the flip.
    Unwound,
    /// The migration was taken back after the flip.
    RolledBack,
    /// The migration stopped.
    Failed,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// How it ended.
    pub result: Outcome,
    /// Migrations submitted; more than one if one was unwound before the flip.
    pub attempts: u32,
    /// Rows that were copied.
    pub rows_moved: i64,
    /// Bytes that were copied.
    pub bytes_copied: i64,
    /// Bytes that were copied a second time.
    pub bytes_copied_twice: i64,
    /// Bytes of the largest chunk: an interruption may copy as much again for each stream.
    #[serde(default)]
    pub largest_chunk_bytes: i64,
    /// Wall time of the copy, seconds.
    pub copy_seconds: f64,
    /// How long writes to the moving keys were refused, milliseconds.
    pub window_ms: Window,
    /// The same for the way back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollback_window_ms: Option<Window>,
    /// The checker's verdict.
    pub ledger: Checked,
    /// The migration's own comparison.
    pub verify: Compared,
    /// Versions of the shard map.
    pub map_version: Versions,
    /// What Shardwright left on the shards.
    pub leftovers: Leftovers,
    /// The kill, if one was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kill: Option<Killed>,
    /// Steps in which a migration was aborted, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aborted_at: Vec<StepKind>,
    /// Steps in which the migration was paused and resumed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paused_in: Vec<StepKind>,
    /// Trouble that was made and mended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub troubles: Vec<Troubled>,
    /// What was seen while nothing of ours ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub orphan: Option<Orphaned>,
    /// What the clients met.
    pub clients: Clients,
    /// Where ledger and logs are; gone after the run unless they are kept.
    pub evidence: String,
}

/// Rows that `verify` compared.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Compared {
    /// Rows.
    pub rows_compared: i64,
    /// Those that differ.
    pub different: i64,
}

/// Versions of the shard map.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Versions {
    /// At the beginning.
    pub before: i64,
    /// At the end.
    pub after: i64,
}

/// What the client library had to do.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Clients {
    /// Attempts after the first.
    pub retries: u64,
    /// Writes refused because the shard does not own the key.
    pub not_owner: u64,
    /// Writes refused because the shard does not own the key yet.
    pub not_open: u64,
    /// Newer maps taken over.
    pub refreshes: u64,
    /// Commits whose outcome had to be looked up.
    pub commits_unknown: u64,
}

impl From<client::Stats> for Clients {
    fn from(stats: client::Stats) -> Self {
        Self {
            retries: stats.retries,
            not_owner: stats.not_owner,
            not_open: stats.not_open,
            refreshes: stats.refreshes,
            commits_unknown: stats.commits_unknown,
        }
    }
}

impl Report {
    /// An empty report.
    pub(crate) fn begun(evidence: String) -> Self {
        Self {
            result: Outcome::Failed,
            attempts: 0,
            rows_moved: 0,
            bytes_copied: 0,
            bytes_copied_twice: 0,
            largest_chunk_bytes: 0,
            copy_seconds: 0.0,
            window_ms: Window::default(),
            rollback_window_ms: None,
            ledger: Checked::default(),
            verify: Compared::default(),
            map_version: Versions::default(),
            leftovers: Leftovers::default(),
            kill: None,
            aborted_at: Vec::new(),
            paused_in: Vec::new(),
            troubles: Vec::new(),
            orphan: None,
            clients: Clients::default(),
            evidence,
        }
    }

    pub(crate) fn copied(&mut self, copied: &Copied) {
        self.rows_moved = copied.rows;
        self.bytes_copied = copied.bytes;
        self.bytes_copied_twice = copied.bytes_twice;
        self.largest_chunk_bytes = copied.largest_chunk_bytes;
        self.copy_seconds = copied.seconds;
    }

    pub(crate) fn verified(&mut self, verified: &Verified) {
        self.verify = Compared {
            rows_compared: verified.rows_compared,
            different: verified.different,
        };
    }

    /// Everything that is not as it must be; empty after a good run.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let ledger = &self.ledger;
        let zeros = [
            ("acknowledged transactions lost", ledger.lost),
            ("transactions there twice", ledger.duplicated),
            ("rows nobody wrote", ledger.phantom),
            ("rows on the wrong shard", ledger.misplaced),
            ("transactions failed", ledger.failed),
            ("wrong values", ledger.wrong),
            ("tables differ while the migration holds", ledger.diverged),
            (
                "rows differ in verify",
                self.verify.different.unsigned_abs(),
            ),
            ("objects left behind", self.leftovers.total()),
        ];
        let counts = zeros.into_iter().filter(|(_, count)| *count > 0);
        let mut problems: Vec<String> = counts.map(|(what, n)| format!("{n} {what}")).collect();
        if self.result == Outcome::Failed {
            problems.push("the migration did not end".to_owned());
        }
        if self
            .orphan
            .as_ref()
            .is_some_and(|orphan| orphan.target_took > 0)
        {
            problems.push("the target took writes before the keys were its own".to_owned());
        }
        if self.kill.as_ref().is_some_and(|kill| !kill.fired) {
            problems.push("the kill did not happen".to_owned());
        }
        problems
    }

    /// The report in plain words, for a terminal.
    #[must_use]
    pub fn text(&self) -> String {
        let Self {
            ledger,
            window_ms: w,
            ..
        } = self;
        let phases = &ledger.by_phase;
        let mut lines = vec![self.headline()];
        if let Some(kill) = self.kill.as_ref().filter(|kill| kill.fired) {
            lines.push(format!(
                "Killed       {} with SIGKILL in step {} (at {}), started again after {} ms.",
                kill.process, kill.step, kill.fail_point, kill.restarted_after_ms
            ));
        }
        for trouble in &self.troubles {
            lines.push(format!(
                "Trouble      {} in step {}: the migration failed after {} ms ({}) and was mended.",
                trouble.kind, trouble.step, trouble.failed_after_ms, trouble.failure.code
            ));
        }
        if let Some(orphan) = &self.orphan {
            lines.push(orphan.text());
        }
        lines.extend([
            format!(
                "Copied       {} rows, {:.1} MiB in {:.1} s while the application was writing; {:.1} MiB twice.",
                self.rows_moved, mebibytes(self.bytes_copied), self.copy_seconds, mebibytes(self.bytes_copied_twice)
            ),
            format!(
                "Compared     {} rows by the migration itself; {} differ.",
                self.verify.rows_compared, self.verify.different
            ),
            format!(
                "Write stop   {:.0} ms for the moving keys, none for the others: wait-out {:.0}, drain {:.0}, check {:.0}, seal {:.0}, flip {:.0}, open {:.0}.",
                w.total, w.wait_out, w.drain, w.check, w.seal, w.flip, w.open
            ),
        ]);
        if let Some(back) = &self.rollback_window_ms {
            lines.push(format!("Way back     {:.0} ms of write stop.", back.total));
        }
        lines.extend([
            format!(
                "Ledger       {} transactions acknowledged, {} of them on moving keys (before {}, copy {}, catch up {}, cutover {}, after {}).",
                ledger.acknowledged, ledger.acknowledged_on_moving_keys,
                phases.before, phases.copy, phases.catch_up, phases.cutover, phases.after
            ),
            format!(
                "             lost {}, duplicated {}, phantom {}, misplaced {}, wrong values {}, failed {}; in doubt after a crash {}.",
                ledger.lost, ledger.duplicated, ledger.phantom, ledger.misplaced, ledger.wrong, ledger.failed, ledger.in_doubt
            ),
            format!(
                "Clients      {} retries, {} refusals by the fence, {} newer maps taken over, {} unknown commits looked up.",
                self.clients.retries, self.clients.not_owner + self.clients.not_open,
                self.clients.refreshes, self.clients.commits_unknown
            ),
            format!(
                "Shard map    version {} -> {}.",
                self.map_version.before, self.map_version.after
            ),
            format!("Left behind  {}", self.leftovers),
            format!("Evidence     {}", self.evidence),
        ]);
        let problems = self.problems();
        if !problems.is_empty() {
            lines.push(format!("NOT AS IT MUST BE: {}.", problems.join("; ")));
        }
        lines.join("\n")
    }

    fn headline(&self) -> String {
        let what = match self.result {
            Outcome::Completed => "The shard was split while the application kept writing.",
            Outcome::Unwound => {
                "The migration was aborted before the flip; the source was never changed."
            }
            Outcome::RolledBack => {
                "The shard was split, then the keys were given back to the source."
            }
            Outcome::Failed => "The migration stopped.",
        };
        match self.attempts {
            0 | 1 => what.to_owned(),
            attempts => format!("{what} It took {attempts} attempts."),
        }
    }
}

fn mebibytes(bytes: i64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "shown with one digit")]
    let bytes = bytes as f64;
    bytes / 1_048_576.0
}
