//! How a migration behaves, with a default for everything.

use crate::table::CopyFormat;
use crate::throttle::{MigrationLimits, Throttle};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// Whether the application writes to the moving keys meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// It does; writes are refused for milliseconds at the cutover.
    #[default]
    Online,
    /// The moving keys are read-only from the copy to the flip.
    Offline,
}

impl Mode {
    /// The name in requests and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Online => "online",
            Self::Offline => "offline",
        }
    }
}

/// How a migration behaves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Whether the application goes on writing to the moving keys.
    pub mode: Mode,
    /// Whether the cutover waits for `approve`.
    pub cutover: Cutover,
    /// How many people have to approve the cutover (1 to 5); from 2 on, who submits the plan is none of them.
    #[serde(skip_serializing_if = "is_usual_approvals")]
    #[schemars(range(min = 1, max = 5))]
    pub approvals: u32,
    /// Longest time that writes to the moving keys may be refused in one attempt, milliseconds (50 to 60000).
    #[schemars(range(min = 50, max = 60_000))]
    pub write_stop_budget_ms: u32,
    /// COPY streams side by side (1 to 16).
    #[schemars(range(min = 1, max = 16))]
    pub copy_streams: u32,
    /// Sessions on the target that apply a backlog of changes (1 or 2).
    #[schemars(range(min = 1, max = 2))]
    #[serde(skip_serializing_if = "is_usual_sessions")]
    pub apply_sessions: u32,
    /// Form of the rows on their way: binary where that is safe, or text for all.
    #[serde(skip_serializing_if = "is_usual")]
    pub copy_format: CopyFormat,
    /// Rows kept on the source after the flip, for a roll back, until `finish` or for a time.
    pub hold: Hold,
    /// Attempts of a step before the migration fails (1 to 100).
    #[schemars(range(min = 1, max = 100))]
    pub max_attempts: u32,
    /// Moves of this operation that are under way at once (1 to 64).
    #[schemars(range(min = 1, max = 64))]
    pub moves_at_once: u32,
    /// Of these, at most so many that touch one shard (1 to 64).
    #[schemars(range(min = 1, max = 64))]
    pub moves_per_shard: u32,
    /// Pause between two batches of deleted rows, milliseconds (0 to 60000).
    #[schemars(range(max = 60_000))]
    pub drop_pause_ms: u32,
    /// When a write to the moving keys is acknowledged while both shards are kept in step.
    #[serde(skip_serializing_if = "is_usual")]
    pub dual_write: DualWrite,
    /// Longest time that a commit waits for the other shard when dual-write is synchronous, milliseconds (200 to 60000).
    #[schemars(range(min = 200, max = 60_000))]
    #[serde(skip_serializing_if = "is_usual_limit")]
    pub dual_write_limit_ms: u32,
    /// What is done about a writer that does not end and so keeps the cutover from starting.
    #[serde(skip_serializing_if = "is_usual")]
    pub long_writers: LongWriters,
    /// What is done about a change of the moving tables' definitions.
    #[serde(skip_serializing_if = "is_usual")]
    pub ddl: Ddl,
    /// Where the target's tables come from.
    #[serde(skip_serializing_if = "is_usual")]
    pub schema: Schema,
    /// Whether the plan tries the move on the target.
    #[serde(skip_serializing_if = "is_usual")]
    pub trial: TrialRun,
    /// Standbys, by `application_name`, that a cutover does not wait for: they must not be promoted afterwards.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignore_standbys: Vec<String>,
    /// Oldest snapshot that the copy may hold on the source, seconds (10 to 86400); a table that takes longer is copied in ranges of its key.
    #[schemars(range(min = 10, max = 86_400))]
    pub snapshot_age_s: u32,
    /// Most log that a shard may have to keep for this migration, MiB (64 to 1048576).
    #[schemars(range(min = 64, max = 1_048_576))]
    pub wal_cap_mb: u32,
    /// What the move may take of its shards: rate, hours, the application's latency, signs of strain.
    #[serde(skip_serializing_if = "is_usual")]
    pub throttle: Throttle,
    /// Why rules of the map may be broken; without a reason a plan that breaks one is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub override_rules: Option<String>,
}

fn is_usual<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

const DUAL_WRITE_LIMIT_MS: u32 = 3000;
const APPROVALS: u32 = 1;
const APPLY_SESSIONS: u32 = 2;

fn is_usual_approvals(approvals: &u32) -> bool {
    *approvals == APPROVALS
}

fn is_usual_sessions(sessions: &u32) -> bool {
    *sessions == APPLY_SESSIONS
}

fn is_usual_limit(limit: &u32) -> bool {
    *limit == DUAL_WRITE_LIMIT_MS
}

impl Default for Options {
    fn default() -> Self {
        Self {
            mode: Mode::Online,
            cutover: Cutover::Approve,
            approvals: APPROVALS,
            write_stop_budget_ms: 2000,
            copy_streams: 2,
            apply_sessions: APPLY_SESSIONS,
            copy_format: CopyFormat::Auto,
            hold: Hold::UntilFinish,
            max_attempts: 8,
            moves_at_once: 2,
            moves_per_shard: 2,
            drop_pause_ms: 10,
            dual_write: DualWrite::Asynchronous,
            dual_write_limit_ms: DUAL_WRITE_LIMIT_MS,
            long_writers: LongWriters::Wait,
            ddl: Ddl::Halt,
            schema: Schema::Copy,
            trial: TrialRun::Run,
            ignore_standbys: Vec::new(),
            snapshot_age_s: 600,
            wal_cap_mb: 4096,
            throttle: Throttle::default(),
            override_rules: None,
        }
    }
}

/// When a write to the moving keys is acknowledged while both shards are kept in step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DualWrite {
    /// Once it is durable on its shard; the other one follows within milliseconds.
    #[default]
    Asynchronous,
    /// Once it is durable on both shards.
    Synchronous,
}

impl FromStr for DualWrite {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "asynchronous" => Ok(Self::Asynchronous),
            "synchronous" => Ok(Self::Synchronous),
            other => Err(format!("{other:?} is neither asynchronous nor synchronous")),
        }
    }
}

/// What is done about a writer that does not end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LongWriters {
    /// The cutover waits and says for whom.
    #[default]
    Wait,
    /// Once it has waited this many seconds it asks for leave to cancel the writer, naming pid and query.
    CancelAfter(u32),
}

/// What is done about a change of the moving tables' definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Ddl {
    /// It is noticed, and the migration halts until both sides are equal again.
    #[default]
    Halt,
    /// It is refused on both shards while the migration is under way; this takes the rights of a superuser.
    Refuse,
}

/// Where the target's tables come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Schema {
    /// An empty database gets the source's schema; tables that are there already must be equal to the source's.
    #[default]
    Copy,
    /// A migration tool of the user has made them: nothing is created, and what differs from the source is refused.
    Existing,
}

/// Whether a plan tries the move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TrialRun {
    /// Its steps are run in small on the target, in one transaction that is rolled back.
    #[default]
    Run,
    /// It does not; what a trial would have found is found by the steps.
    Skip,
}

/// Who starts the cutover.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Cutover {
    /// The operator, by `approve`.
    Approve,
    /// The controller, as soon as everything is verified.
    Automatic,
}

/// How long the old copy is kept in step after the flip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    /// Until the operator says `finish`.
    UntilFinish,
    /// For this many seconds.
    Seconds(u32),
}

impl Options {
    /// The limits that these options set.
    #[must_use]
    pub fn limits(&self) -> MigrationLimits {
        MigrationLimits {
            streams: self.copy_streams,
            throttle: self.throttle.clone(),
        }
    }
}

impl Default for MigrationLimits {
    /// Those of a plan that sets none.
    fn default() -> Self {
        Options::default().limits()
    }
}
