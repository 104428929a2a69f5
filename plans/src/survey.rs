//! The survey: what an agent reads from the shards so that a plan can be made. Nothing is changed.

use crate::doctor::Finding;
use crate::plan::TargetState;
use crate::shard_map::MapSettings;
use crate::table::{MajorVersions, MovingTable};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The task of a survey.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SurveyTask {
    /// The map.
    pub map: crate::id::MapName,
    /// The source of the move.
    pub source: crate::fleet::ShardRef,
    /// The target of the move.
    pub target: crate::fleet::ShardRef,
    /// The map's tables and rules, with the tables of the request.
    pub settings: MapSettings,
    /// The moving keys, for the estimates.
    pub keys: crate::key_set::KeySet,
    /// For a map with `keyed_by: schema`: all keys that shards own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mapped: Option<crate::key_set::KeySet>,
    /// The types of the key columns.
    pub key: Vec<crate::key::KeyType>,
    /// Whether the application continues to write to the moving keys.
    pub mode: crate::request::Mode,
    /// How the target gets the rows that exist when the move begins.
    #[serde(default)]
    pub seed: crate::request::Seed,
    /// True if the plan was already made: tables that no list contains are ignored, as they were when the plan was
    /// made.
    #[serde(default)]
    pub again: bool,
    /// True to try the move.
    #[serde(default)]
    pub trial: bool,
}

/// The result of a survey.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Survey {
    /// The moving tables, parents before children.
    pub tables: Vec<MovingTable>,
    /// For each of `tables`, the estimated part of its rows that moves, in millionths.
    pub moving_ppm: Vec<i64>,
    /// Whether the target already has the tables.
    pub target: TargetState,
    /// The major versions of both servers.
    #[serde(default)]
    pub majors: MajorVersions,
    /// A hash of columns, types, keys and indexes of the moving tables on the source.
    pub schema_fingerprint: String,
    /// Everything that prevents the move or is worth knowing.
    pub findings: Vec<Finding>,
    /// The result of the trial, if it was completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<Trial>,
}

/// The time limit of a trial.
pub const TRIAL_LIMIT: Duration = Duration::from_secs(300);

/// The trial of a move: its steps with few rows on the target, rolled back at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Trial {
    /// The number of schema objects that were created.
    pub objects: u64,
    /// The number of tables whose rows were tried.
    pub tables: u64,
    /// The number of these tables of which no moving row was found.
    pub without_rows: u64,
    /// The number of rows that were copied, compared and changed.
    pub rows: u64,
    /// The bytes of these rows in the copy.
    pub bytes: u64,
    /// The duration in milliseconds.
    pub milliseconds: u64,
}
