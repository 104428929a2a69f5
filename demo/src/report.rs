//! The report of a run, as JSON and in plain words.

use crate::api::MigrationStatus;
use crate::checker::CheckReport;
use crate::foreseen::StepForecast;
use crate::leftovers::Leftovers;
use crate::options::{DemoTask, MapOperation, Servers};
use plans::request::Mode;
use plans::shard_map::Strategy;
use plans::step::StepKind;
use plans::step::copy::Copied;
use plans::step::cutover::{CutoverResult, WriteBlockTimes};
use plans::step::verify::Verified;
use serde::{Deserialize, Serialize};

mod incident;
mod operation;
mod text;

pub use incident::{KilledProcess, OrphanedCutover, StalledCutover, TroubleReport};
pub use operation::{LoadBalance, MovedKeys};

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
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
pub struct RunReport {
    /// Which operation.
    #[serde(default)]
    pub operation: MapOperation,
    /// How the map divides keys.
    #[serde(default = "by_range")]
    pub strategy: Strategy,
    /// Whether the application went on writing to the moving keys.
    #[serde(default)]
    pub mode: Mode,
    /// Major versions of the servers that it ran on.
    #[serde(default)]
    pub servers: Servers,
    /// How it ended.
    pub result: RunOutcome,
    /// Migrations submitted; more than one if one was unwound before the flip.
    pub attempts: u32,
    /// The moves of the operation, in the plan's order.
    #[serde(default)]
    pub moves: Vec<MovedKeys>,
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
    /// How long writes to the moving keys were refused, milliseconds; of several moves the longest.
    pub window_ms: WriteBlockTimes,
    /// The same for the way back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollback_window_ms: Option<WriteBlockTimes>,
    /// Writes that the guards counted as refused in the write stops of the moves, the ways back left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes_refused: Option<i64>,
    /// The checker's verdict.
    pub ledger: CheckReport,
    /// The migration's own comparison.
    pub verify: ComparedRows,
    /// Versions of the shard map.
    pub map_version: MapVersions,
    /// What Shardwright left on the shards.
    pub leftovers: Leftovers,
    /// The kill, if one was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kill: Option<KilledProcess>,
    /// Steps in which a migration was aborted, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aborted_at: Vec<StepKind>,
    /// Steps in which the migration was paused and resumed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paused_in: Vec<StepKind>,
    /// Trouble that was made and mended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub troubles: Vec<TroubleReport>,
    /// What was seen while nothing of ours ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub orphan: Option<OrphanedCutover>,
    /// What was seen while an agent stood still in the cutover.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stall: Option<StalledCutover>,
    /// Attempts that the cutover of the last move took.
    #[serde(default)]
    pub cutover_attempts: i64,
    /// How long moving keys were read-only, milliseconds, from the first move's begin to the last one's flip.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only_ms: Option<u64>,
    /// Reads of moving keys that succeeded while the keys were read-only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads_while_read_only: Option<u64>,
    /// The load of the shards, where the operation evens it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub balance: Option<LoadBalance>,
    /// How well the ends of steps were foreseen.
    #[serde(default)]
    pub foreseen: Vec<StepForecast>,
    /// What the clients met.
    pub clients: ClientCounts,
    /// Where ledger and logs are; gone after the run unless they are kept.
    pub evidence: String,
}

/// Rows that `verify` compared.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ComparedRows {
    /// Rows.
    pub rows_compared: i64,
    /// Those that differ.
    pub different: i64,
}

/// Versions of the shard map.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MapVersions {
    /// At the beginning.
    pub before: i64,
    /// At the end.
    pub after: i64,
}

/// What the client library had to do.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClientCounts {
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

impl From<client::Stats> for ClientCounts {
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

fn by_range() -> Strategy {
    Strategy::Range
}

impl RunReport {
    /// An empty report.
    pub(crate) fn begun(task: &DemoTask, servers: Servers, evidence: String) -> Self {
        Self {
            servers,
            operation: task.operation,
            strategy: task.strategy,
            mode: task.mode,
            moves: Vec::new(),
            read_only_ms: None,
            reads_while_read_only: None,
            balance: None,
            result: RunOutcome::Failed,
            attempts: 0,
            rows_moved: 0,
            bytes_copied: 0,
            bytes_copied_twice: 0,
            largest_chunk_bytes: 0,
            copy_seconds: 0.0,
            window_ms: WriteBlockTimes::default(),
            rollback_window_ms: None,
            writes_refused: None,
            ledger: CheckReport::default(),
            verify: ComparedRows::default(),
            map_version: MapVersions::default(),
            leftovers: Leftovers::default(),
            kill: None,
            aborted_at: Vec::new(),
            paused_in: Vec::new(),
            troubles: Vec::new(),
            orphan: None,
            stall: None,
            cutover_attempts: 0,
            foreseen: Vec::new(),
            clients: ClientCounts::default(),
            evidence,
        }
    }

    /// The figures of all moves so far, added up; of the write stops the longest.
    pub(crate) fn count(&mut self, moves: &[MigrationStatus]) {
        let sum = |figure: fn(&Copied) -> i64| {
            let copied = moves
                .iter()
                .filter_map(|m| m.output::<Copied>(StepKind::Copy));
            copied.map(|copied| figure(&copied)).sum::<i64>()
        };
        self.rows_moved = sum(|copied| copied.rows);
        self.bytes_copied = sum(|copied| copied.bytes);
        self.bytes_copied_twice = sum(|copied| copied.bytes_twice);
        self.largest_chunk_bytes = 0;
        self.copy_seconds = 0.0;
        self.verify = ComparedRows::default();
        self.window_ms = WriteBlockTimes::default();
        self.writes_refused = moves
            .iter()
            .filter_map(|m| m.output::<CutoverResult>(StepKind::Cutover))
            .filter_map(|cut| cut.refused)
            .reduce(|one, other| one + other);
        for (migration, moved) in moves.iter().zip(&mut self.moves) {
            moved.state = migration.state.to_string();
            if let Some(copied) = migration.output::<Copied>(StepKind::Copy) {
                moved.rows = copied.rows;
                self.largest_chunk_bytes = self.largest_chunk_bytes.max(copied.largest_chunk_bytes);
                self.copy_seconds += copied.seconds;
            }
            if let Some(verified) = migration.output::<Verified>(StepKind::Verify) {
                self.verify.rows_compared += verified.rows_compared;
                self.verify.different += verified.different;
            }
            if let Some(cut) = migration.output::<CutoverResult>(StepKind::Cutover) {
                moved.window_ms = cut.write_block.total;
                self.cutover_attempts = cut.attempt;
                if cut.write_block.total > self.window_ms.total {
                    self.window_ms = cut.write_block;
                }
            }
        }
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
            (
                "lists whose history no order explains",
                ledger.histories.not_linearizable,
            ),
            ("violations in the bank", ledger.bank.violations),
            ("tables differ while the migration holds", ledger.diverged),
            (
                "rows differ in verify",
                self.verify.different.unsigned_abs(),
            ),
            ("objects left behind", self.leftovers.total()),
        ];
        let counts = zeros.into_iter().filter(|(_, count)| *count > 0);
        let mut problems: Vec<String> = counts.map(|(what, n)| format!("{n} {what}")).collect();
        if self.result == RunOutcome::Failed {
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
        if self.reads_while_read_only == Some(0) {
            problems.push("no read succeeded while the keys were read-only".to_owned());
        }
        problems.extend(self.balance.as_ref().and_then(LoadBalance::problem));
        problems
    }
}
