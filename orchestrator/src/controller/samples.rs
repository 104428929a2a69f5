//! Sample migrations for unit tests.

use crate::store::{NewOperation, Snapshot};
use chrono::{DateTime, Utc};
use plans::graph::{StepGraph, StepNode};
use plans::id::{MapName, MapVersion, MigrationId, ShardName, StepId};
use plans::key::{Key, KeyType};
use plans::key_set::KeySet;
use plans::plan::{API_VERSION, Estimate, Move, Plan, PlannedMove, TargetState};
use plans::request::{Mode, Options};
use plans::shard_map::{Sequences, Strategy};
use plans::step::FORWARD;

/// Returns a fixed time plus a number of seconds.
pub(super) fn at(second: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap()
}

/// Returns the keys from `from` up to, but not including, `to`.
pub(super) fn keys(from: i64, to: i64) -> KeySet {
    KeySet::range(Some(Key::Int(from)), Some(Key::Int(to)))
}

/// Returns a planned move to a live target.
pub(super) fn planned(id: &str, source: &str, target: &str, keys: KeySet) -> PlannedMove {
    let step_id = |index: usize| StepId::from(FORWARD[index].name());
    let nodes = FORWARD.iter().enumerate().map(|(index, kind)| StepNode {
        id: step_id(index),
        kind: *kind,
        after: index.checked_sub(1).map(step_id).into_iter().collect(),
    });
    PlannedMove {
        id: id.to_owned(),
        after: Vec::new(),
        why: String::new(),
        mode: Mode::Online,
        target: TargetState::Live,
        drop_tables: false,
        schema_fingerprint: "f".to_owned(),
        moving: Move {
            source: ShardName::from(source),
            target: ShardName::from(target),
            keys,
            tables: Vec::new(),
        },
        graph: StepGraph::new(nodes.collect()).unwrap(),
        estimate: Estimate::default(),
    }
}

/// Returns the migrations of a submitted operation on map `m`.
pub(super) fn admitted(id: &str, moves: Vec<PlannedMove>, options: Options) -> Vec<Snapshot> {
    let plan = Plan {
        api_version: API_VERSION.to_owned(),
        operation: "move".to_owned(),
        map: MapName::from("m"),
        map_version: MapVersion(1),
        incarnation: "i".to_owned(),
        strategy: Strategy::Range,
        key: vec![KeyType::Bigint],
        sequences: Sequences::Stride,
        ignore: Vec::new(),
        options,
        moves,
        estimate: Estimate::default(),
        notes: Vec::new(),
        findings: Vec::new(),
        trials: Vec::new(),
        hash: String::new(),
    };
    let new = NewOperation {
        id: MigrationId::from(id),
        map_version: plan.map_version,
        plan,
        by: "op".to_owned(),
        at: at(0),
        queue: true,
        override_reason: None,
    };
    new.snapshots()
}
