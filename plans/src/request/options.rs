//! Options of a migration. Every option has a default.

use crate::table::CopyFormat;
use crate::throttle::{MigrationLimits, Throttle};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// Whether the application writes to the moving keys during a migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// It does. Writes are refused for milliseconds at the cutover.
    #[default]
    Online,
    /// It does not: the moving keys are read-only from the copy to the flip.
    Offline,
}

impl Mode {
    /// Returns the name in requests and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Online => "online",
            Self::Offline => "offline",
        }
    }
}

/// Options of a migration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Whether the application continues to write to the moving keys.
    pub mode: Mode,
    /// Whether the cutover waits for the command `approve`.
    pub cutover: Cutover,
    /// How many people must approve the cutover (1 to 5). If 2 or more, the submitter cannot be one of them.
    #[serde(skip_serializing_if = "is_default_approvals")]
    #[schemars(range(min = 1, max = 5))]
    pub approvals: u32,
    /// The longest time in milliseconds for which one attempt may refuse writes to the moving keys (50 to 60000).
    #[schemars(range(min = 50, max = 60_000))]
    pub write_stop_budget_ms: u32,
    /// The number of concurrent COPY sessions (1 to 16).
    #[schemars(range(min = 1, max = 16))]
    pub copy_streams: u32,
    /// The number of sessions on the target that apply a backlog of changes (1 or 2).
    #[schemars(range(min = 1, max = 2))]
    #[serde(skip_serializing_if = "is_default_sessions")]
    pub apply_sessions: u32,
    /// The format in which rows are copied: binary if that is safe, or text for all tables.
    #[serde(skip_serializing_if = "is_default")]
    pub copy_format: CopyFormat,
    /// How long a rollback is possible after the flip, and old rows are kept: until `finish`, or for a time.
    pub hold: Hold,
    /// The number of attempts of a step before the migration fails (1 to 100).
    #[schemars(range(min = 1, max = 100))]
    pub max_attempts: u32,
    /// The number of moves of this operation that may run at the same time (1 to 64).
    #[schemars(range(min = 1, max = 64))]
    pub moves_at_once: u32,
    /// The number of these moves that may use one shard at the same time (1 to 64).
    #[schemars(range(min = 1, max = 64))]
    pub moves_per_shard: u32,
    /// The pause between two batches of deleted rows, in milliseconds (0 to 60000).
    #[schemars(range(max = 60_000))]
    pub drop_pause_ms: u32,
    /// When a write to the moving keys is acknowledged, while the stream applies changes on the other shard.
    #[serde(skip_serializing_if = "is_default")]
    pub dual_write: DualWrite,
    /// The longest wait of a commit for the other shard in synchronous dual-write, in milliseconds (200 to 60000).
    #[schemars(range(min = 200, max = 60_000))]
    #[serde(skip_serializing_if = "is_default_limit")]
    pub dual_write_limit_ms: u32,
    /// What happens if a transaction writes to the moving tables, does not end, and therefore prevents the cutover.
    #[serde(skip_serializing_if = "is_default")]
    pub long_writers: LongWriters,
    /// What happens if the definition of a moving table changes.
    #[serde(skip_serializing_if = "is_default")]
    pub ddl: Ddl,
    /// How the target gets the rows that exist when the move begins.
    #[serde(skip_serializing_if = "is_default")]
    pub seed: Seed,
    /// How the target gets its tables.
    #[serde(skip_serializing_if = "is_default")]
    pub schema: Schema,
    /// Whether the plan tries the move on the target.
    #[serde(skip_serializing_if = "is_default")]
    pub trial: TrialRun,
    /// Standbys, by `application_name`, for which a cutover does not wait. They must not be promoted afterwards.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignore_standbys: Vec<String>,
    /// The greatest age of a copy's snapshot, in seconds (10 to 86400). Longer copies are divided by key ranges.
    #[schemars(range(min = 10, max = 86_400))]
    pub snapshot_age_s: u32,
    /// The maximum amount of log in MiB that a shard may have to retain for this migration (64 to 1048576).
    #[schemars(range(min = 64, max = 1_048_576))]
    pub wal_cap_mb: u32,
    /// Limits on the load that the move causes: rate, hours, latency of the application, health signals of the shards.
    #[serde(skip_serializing_if = "is_default")]
    pub throttle: Throttle,
    /// The reason for a violation of the map's rules. Without it, a plan that violates a rule is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub override_rules: Option<String>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

const DUAL_WRITE_LIMIT_MS: u32 = 3000;
const APPROVALS: u32 = 1;
const APPLY_SESSIONS: u32 = 2;

fn is_default_approvals(approvals: &u32) -> bool {
    *approvals == APPROVALS
}

fn is_default_sessions(sessions: &u32) -> bool {
    *sessions == APPLY_SESSIONS
}

fn is_default_limit(limit: &u32) -> bool {
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
            seed: Seed::Copy,
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

/// When a write to the moving keys is acknowledged, while the stream applies changes on the other shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DualWrite {
    /// When it is durable on its shard. The other shard follows within milliseconds.
    #[default]
    Asynchronous,
    /// When it is durable on both shards.
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

/// What happens if a transaction that writes to the moving tables does not end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LongWriters {
    /// The cutover waits, and reports for which transaction.
    #[default]
    Wait,
    /// After this many seconds the cutover requests the operator's permission to end the transaction.
    CancelAfter(u32),
}

/// What happens if the definition of a moving table changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Ddl {
    /// The agent detects the change, and the migration halts until the definitions are equal on both shards.
    #[default]
    Halt,
    /// The shards refuse the change while the migration runs. This requires a superuser.
    Refuse,
    /// The agent makes the change on the other shard too, and the migration continues. Only online.
    Follow,
}

/// How the target gets the rows that exist when the move begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Seed {
    /// The agent copies the moving rows and builds the indexes.
    #[default]
    Copy,
    /// The target is a physical standby of the source, which the agent promotes. Only for `split` and `move`, online.
    Standby,
}

impl FromStr for Seed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "copy" => Ok(Self::Copy),
            "standby" => Ok(Self::Standby),
            other => Err(format!("{other:?} is neither copy nor standby")),
        }
    }
}

/// How the target gets its tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Schema {
    /// The agent creates the source's schema if the database is empty. Existing tables must equal the source's.
    #[default]
    Copy,
    /// A tool of the user has created the tables. The agent refuses tables that differ from the source's.
    Existing,
}

/// Whether a plan tries the move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TrialRun {
    /// It tries the steps with few rows on the target, in one transaction that is rolled back.
    #[default]
    Run,
    /// It does not. The steps report what the trial would have found.
    Skip,
}

/// What starts the cutover.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Cutover {
    /// The operator's command `approve`.
    Approve,
    /// The controller, as soon as everything is verified.
    Automatic,
}

/// How long the changes of the new owner are applied to the rows on the old owner after the flip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    /// Until the operator sends the command `finish`.
    UntilFinish,
    /// For this many seconds.
    Seconds(u32),
}

impl Options {
    /// Returns the limits that these options set.
    #[must_use]
    pub fn limits(&self) -> MigrationLimits {
        MigrationLimits {
            streams: self.copy_streams,
            throttle: self.throttle.clone(),
        }
    }
}

impl Default for MigrationLimits {
    /// Returns the limits of a plan that sets none.
    fn default() -> Self {
        Options::default().limits()
    }
}
