//! The report of a run, as JSON and as text.

use crate::api::MigrationStatus;
use crate::checker::CheckReport;
use crate::forecast::StepForecast;
use crate::leftovers::Leftovers;
use crate::options::{DemoTask, MapOperation, Servers};
use plans::request::{Mode, Seed};
use plans::shard_map::Strategy;
use plans::step::StepKind;
use plans::step::copy::Copied;
use plans::step::cutover::{CutoverResult, WriteBlockTimes};
use plans::step::drop_surplus::SurplusDropped;
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
    /// The operation is complete.
    Completed,
    /// The migration was aborted before the flip.
    Unwound,
    /// The migration was rolled back after the flip.
    RolledBack,
    /// The migration failed.
    Failed,
}

/// The report of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    /// The operation.
    #[serde(default)]
    pub operation: MapOperation,
    /// How the map divides keys.
    #[serde(default = "by_range")]
    pub strategy: Strategy,
    /// Whether the application continued to write to the moving keys.
    #[serde(default)]
    pub mode: Mode,
    /// Whether the agent copied the rows, or the target was a standby of the source.
    #[serde(default)]
    pub seeding: Seed,
    /// The number of rows that were removed from the target because other shards own their keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surplus_rows: Option<i64>,
    /// The major versions of the servers.
    #[serde(default)]
    pub servers: Servers,
    /// How the run ended.
    pub result: RunOutcome,
    /// The number of submitted migrations, not of cutover attempts. It is greater than 1 if a migration was aborted
    /// before the flip.
    #[serde(rename = "attempts")]
    pub submitted_migrations: u32,
    /// The moves of the operation, in the order of the plan.
    #[serde(default)]
    pub moves: Vec<MovedKeys>,
    /// The number of copied rows.
    pub rows_moved: i64,
    /// The number of copied bytes.
    pub bytes_copied: i64,
    /// The number of bytes that were copied a second time.
    pub bytes_copied_twice: i64,
    /// The bytes of the largest chunk. An interruption can cause this many bytes to be copied again for each COPY
    /// session.
    #[serde(default)]
    pub largest_chunk_bytes: i64,
    /// The duration of the copy in seconds.
    pub copy_seconds: f64,
    /// The write-blocked window in milliseconds; of several moves the longest.
    pub window_ms: WriteBlockTimes,
    /// The write-blocked window of the rollback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollback_window_ms: Option<WriteBlockTimes>,
    /// The number of writes that the guards refused in the write-blocked windows of the moves, without rollbacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes_refused: Option<i64>,
    /// The result of the checker, which compares the ledger (the record of all writes of the clients) with the shards.
    pub ledger: CheckReport,
    /// The result of the step `verify`, in which the agent compares the rows of both shards.
    pub verify: ComparedRows,
    /// The versions of the shard map.
    pub map_version: MapVersions,
    /// Objects of Shardwright that remain on the shards.
    pub leftovers: Leftovers,
    /// The kill, if one was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kill: Option<KilledProcess>,
    /// The steps in which a migration was aborted, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aborted_at: Vec<StepKind>,
    /// The steps in which the migration was paused and resumed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paused_in: Vec<StepKind>,
    /// The failures that were caused and repaired.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub troubles: Vec<TroubleReport>,
    /// The observations during a cutover that continued while no controller and no agent ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub orphan: Option<OrphanedCutover>,
    /// The observations while an agent was stopped in the cutover.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stall: Option<StalledCutover>,
    /// The number of cutover attempts of the last move.
    #[serde(default)]
    pub cutover_attempts: i64,
    /// For how many milliseconds moving keys were read-only, from the beginning of the first move to the flip of the
    /// last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only_ms: Option<u64>,
    /// The number of reads of moving keys that succeeded while the keys were read-only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads_while_read_only: Option<u64>,
    /// The load of the shards, if the operation is a rebalance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub balance: Option<LoadBalance>,
    /// The estimated end times of steps, and by how much they differed from the real ones.
    #[serde(default, rename = "foreseen")]
    pub forecasts: Vec<StepForecast>,
    /// The counters of the client library.
    pub clients: ClientCounts,
    /// The path of the folder with the ledger and the logs. The folder is removed after the run unless it must be kept.
    pub evidence: String,
}

/// The rows that `verify` compared.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ComparedRows {
    /// The number of compared rows.
    pub rows_compared: i64,
    /// The number of rows that differ.
    pub different: i64,
}

/// The versions of the shard map.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MapVersions {
    /// The version at the beginning.
    pub before: i64,
    /// The version at the end.
    pub after: i64,
}

/// The counters of the client library.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClientCounts {
    /// The number of attempts after the first one.
    pub retries: u64,
    /// The number of writes refused because the shard does not own the key any more.
    pub not_owner: u64,
    /// The number of writes refused because the shard does not own the key yet.
    pub not_open: u64,
    /// The number of newer maps that replaced the cached one.
    pub refreshes: u64,
    /// The number of commits with an unknown outcome.
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
    /// Creates an empty report.
    pub(crate) fn empty(task: &DemoTask, servers: Servers, evidence: String) -> Self {
        Self {
            servers,
            operation: task.operation,
            strategy: task.strategy,
            mode: task.mode,
            seeding: Seed::default(),
            surplus_rows: None,
            moves: Vec::new(),
            read_only_ms: None,
            reads_while_read_only: None,
            balance: None,
            result: RunOutcome::Failed,
            submitted_migrations: 0,
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
            forecasts: Vec::new(),
            clients: ClientCounts::default(),
            evidence,
        }
    }

    /// Sets the figures of the report to the sums over `moves`, and the write-blocked window to the longest one.
    pub(crate) fn set_figures(&mut self, moves: &[MigrationStatus]) {
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
        self.surplus_rows = None;
        self.verify = ComparedRows::default();
        self.window_ms = WriteBlockTimes::default();
        self.writes_refused = moves
            .iter()
            .filter_map(|m| m.output::<CutoverResult>(StepKind::Cutover))
            .filter_map(|cut| cut.refused)
            .reduce(|sum, refused| sum + refused);
        for (migration, moved) in moves.iter().zip(&mut self.moves) {
            moved.state = migration.state.to_string();
            if let Some(dropped) = migration.output::<SurplusDropped>(StepKind::DropSurplus) {
                self.surplus_rows = Some(self.surplus_rows.unwrap_or_default() + dropped.rows);
            }
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
                self.cutover_attempts = cut.attempt.0;
                if cut.write_block.total > self.window_ms.total {
                    self.window_ms = cut.write_block;
                }
            }
        }
    }

    /// Returns the problems of the run; empty if there is none.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let ledger = &self.ledger;
        // Each of these counts must be 0.
        let zeros = [
            ("acknowledged transactions lost", ledger.lost),
            ("transactions that exist more than once", ledger.duplicated),
            ("rows that no transaction wrote", ledger.phantom),
            ("rows on the wrong shard", ledger.misplaced),
            ("transactions that failed after all retries", ledger.failed),
            ("wrong values", ledger.wrong),
            (
                "append lists whose history is not linearizable",
                ledger.histories.not_linearizable,
            ),
            (
                "violations of the rules of the bank workload",
                ledger.bank.violations,
            ),
            (
                "writes that the standby accepted before it owned the keys",
                ledger.standby.accepted,
            ),
            (
                "tables that differ between the shards during the hold",
                ledger.diverged,
            ),
            (
                "rows that differ in the comparison of the step verify",
                self.verify.different.unsigned_abs(),
            ),
            ("objects that remain on the shards", self.leftovers.total()),
        ];
        let counts = zeros.into_iter().filter(|(_, count)| *count > 0);
        let mut problems: Vec<String> = counts.map(|(what, n)| format!("{n} {what}")).collect();
        if self.result == RunOutcome::Failed {
            problems.push("the migration failed or did not end".to_owned());
        }
        if self
            .orphan
            .as_ref()
            .is_some_and(|orphan| orphan.target_accepted > 0)
        {
            problems.push("the target accepted writes before it owned the keys".to_owned());
        }
        if self.kill.as_ref().is_some_and(|kill| !kill.fired) {
            problems.push("no process passed the fail point of the kill".to_owned());
        }
        let is_complete = self.result == RunOutcome::Completed;
        if self.seeding == Seed::Standby && is_complete && ledger.standby.by_guard == 0 {
            problems.push("no client tried to write to the promoted standby".to_owned());
        }
        if self.reads_while_read_only == Some(0) {
            problems.push("no read succeeded while the keys were read-only".to_owned());
        }
        problems.extend(
            self.balance
                .as_ref()
                .and_then(LoadBalance::threshold_problem),
        );
        problems
    }
}
