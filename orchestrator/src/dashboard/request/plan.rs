//! A plan as the page shows it: one sentence, then what it does in sections.

use super::super::operation::after_text;
use crate::view::figures::{bytes, count, millis};
use plans::plan::{Plan, PlannedMove, TargetState};
use plans::render::plan_text;
use plans::request::{Cutover, Mode};
use plans::speed::DurationEstimate;
use plans::table::{CopyBy, MovingTable};

/// The maximum number of listed moves, and of moves whose steps and tables are listed.
const MAX_MOVES: usize = 200;
const MAX_DETAILED: usize = 20;

/// The plan.
pub(super) struct PlanView {
    /// How long the moves are expected to take; empty if that is not known.
    pub(super) takes: String,
    pub(super) operation: String,
    pub(super) map: String,
    pub(super) sentence: String,
    /// How long and for which keys writes are blocked.
    pub(super) block: String,
    /// What begins when the plan is submitted, and what decides about the cutover.
    pub(super) begins: &'static str,
    pub(super) moves: Vec<PlannedMoveRow>,
    /// The number of moves that are not listed.
    pub(super) hidden: usize,
    pub(super) details: Vec<MoveDetails>,
    pub(super) notes: Vec<String>,
    /// What was tried on the targets.
    pub(super) trials: Vec<String>,
    pub(super) resources: Vec<(&'static str, String)>,
    pub(super) text: String,
    pub(super) json: String,
    pub(super) hash: String,
}

/// A move of the plan.
pub(super) struct PlannedMoveRow {
    pub(super) id: String,
    pub(super) source: String,
    pub(super) target: String,
    pub(super) keys: String,
    pub(super) why: String,
    pub(super) mode: &'static str,
    pub(super) has_new_target: bool,
    /// The moves for which it waits.
    pub(super) after: String,
    /// The estimated rows and bytes.
    pub(super) estimate: String,
}

/// The steps and tables of a move.
pub(super) struct MoveDetails {
    pub(super) id: String,
    /// The name, what it does, and its locks.
    pub(super) steps: Vec<(String, &'static str, &'static str)>,
    pub(super) tables: Vec<PlannedTableRow>,
}

/// A table of a move.
pub(super) struct PlannedTableRow {
    pub(super) table: String,
    pub(super) amount: String,
    pub(super) copied: String,
}

impl PlanView {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            operation: plan.operation.clone(),
            map: plan.map.to_string(),
            sentence: sentence(plan),
            takes: takes(plan),
            block: block(plan),
            begins: match plan.options.cutover {
                Cutover::Approve => "Submit begins the copy; the cutover waits for an approval.",
                Cutover::Automatic => "Submit begins the copy; the cutover follows by itself.",
            },
            moves: plan.moves.iter().take(MAX_MOVES).map(move_row).collect(),
            hidden: plan.moves.len().saturating_sub(MAX_MOVES),
            details: plan.moves.iter().take(MAX_DETAILED).map(details).collect(),
            notes: plan.notes.clone(),
            trials: plan.trials.iter().map(plans::render::trial_text).collect(),
            resources: resources(plan),
            text: plan_text(plan),
            json: serde_json::to_string(plan).unwrap_or_default(),
            hash: plan.hash.chars().take(12).collect(),
        }
    }
}

/// Describes the whole plan.
fn sentence(plan: &Plan) -> String {
    let amount = format!(
        "about {} rows ({})",
        count(plan.estimate.rows),
        bytes(plan.estimate.bytes)
    );
    match plan.moves.as_slice() {
        [] => "There is nothing to move.".to_owned(),
        [only] => format!(
            "Moves {amount} of keys {} from {} to {}.",
            only.moving.keys, only.moving.source, only.moving.target
        ),
        several => {
            let mut shards: Vec<_> = several
                .iter()
                .flat_map(|planned| [&planned.moving.source, &planned.moving.target])
                .collect();
            shards.sort();
            shards.dedup();
            format!(
                "Moves {amount} in {} moves between {} shards, at most {} at the same time.",
                several.len(),
                shards.len(),
                plan.options.moves_at_once
            )
        }
    }
}

fn takes(plan: &Plan) -> String {
    let duration = plan.estimate.duration.as_ref();
    duration.map_or_else(String::new, |duration| {
        let (range, basis) = (duration.range(), duration.basis());
        let (fixed, each) = (
            DurationEstimate::fixed(),
            if plan.moves.len() > 1 {
                " of each move"
            } else {
                ""
            },
        );
        // A small copy adds nothing that is shown.
        if range == fixed {
            return format!(
                "It takes about {range} without waits, nearly all of it for the fixed steps{each}; the copy runs {basis}."
            );
        }
        format!(
            "It takes about {range} without waits: {fixed} for the fixed steps{each}, and the copy {basis}."
        )
    })
}

fn block(plan: &Plan) -> String {
    let budget = millis(plan.options.write_stop_budget_ms.into());
    let is_mode = |mode: Mode| plan.moves.iter().any(|planned| planned.mode == mode);
    let online = is_mode(Mode::Online).then(|| {
        format!(
            "Writes to the moving keys are blocked once, at the cutover: 10 to 100 ms as a rule, and at most {budget} in one attempt."
        )
    });
    let offline = is_mode(Mode::Offline).then(|| {
        "The moving keys of offline moves are read-only while they are copied and compared; no rollback is possible after the flip.".to_owned()
    });
    [online, offline]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" ")
}

fn resources(plan: &Plan) -> Vec<(&'static str, String)> {
    let cap = bytes(i64::from(plan.options.wal_cap_mb) << 20);
    let mut targets: Vec<(String, i64)> = Vec::new();
    for planned in &plan.moves {
        let target = planned.moving.target.to_string();
        match targets.iter_mut().find(|(name, _)| *name == target) {
            Some((_, sum)) => *sum = sum.saturating_add(planned.estimate.bytes),
            None => targets.push((target, planned.estimate.bytes)),
        }
    }
    let targets: Vec<String> = targets
        .into_iter()
        .take(MAX_DETAILED)
        .map(|(target, size)| {
            format!(
                "{target} gets about {} of rows, and their indexes",
                bytes(size)
            )
        })
        .collect();
    vec![
        (
            "Disk",
            format!(
                "{}; the sources keep their rows until the plan finishes",
                targets.join(", ")
            ),
        ),
        (
            "Log (WAL)",
            format!(
                "each shard retains at most {cap} for a migration; beyond that, the migration gives up its slot"
            ),
        ),
        (
            "Copy",
            format!("{} sessions for each move", plan.options.copy_streams),
        ),
    ]
}

fn details(planned: &PlannedMove) -> MoveDetails {
    let steps = planned.graph.nodes().iter();
    MoveDetails {
        id: planned.id.clone(),
        steps: steps
            .map(|node| (node.id.to_string(), node.kind.summary(), node.kind.locks()))
            .collect(),
        tables: planned
            .moving
            .tables
            .iter()
            .map(|table| table_row(planned, table))
            .collect(),
    }
}

fn table_row(planned: &PlannedMove, table: &MovingTable) -> PlannedTableRow {
    let amount = match planned.estimate.of(&table.table) {
        Some(estimate) => format!(
            "about {} of {} rows, {} of {}",
            count(estimate.rows),
            count(table.rows),
            bytes(estimate.bytes),
            bytes(table.bytes)
        ),
        None => format!(
            "the table has about {} rows, {}",
            count(table.rows),
            bytes(table.bytes)
        ),
    };
    let by = match table.copy_by {
        CopyBy::Blocks => "blocks",
        CopyBy::KeyRanges => "key ranges",
    };
    PlannedTableRow {
        table: table.table.to_string(),
        amount,
        copied: format!("by {by}, in {}", table.format.name()),
    }
}

fn move_row(planned: &PlannedMove) -> PlannedMoveRow {
    let (moving, estimate) = (&planned.moving, &planned.estimate);
    PlannedMoveRow {
        id: planned.id.clone(),
        source: moving.source.to_string(),
        target: moving.target.to_string(),
        keys: moving.keys.to_string(),
        why: planned.why.clone(),
        mode: planned.mode.name(),
        has_new_target: planned.target == TargetState::New,
        after: after_text(&planned.after),
        estimate: format!("{} rows, {}", count(estimate.rows), bytes(estimate.bytes)),
    }
}
