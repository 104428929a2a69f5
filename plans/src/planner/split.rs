//! Split: one part of a shard's keys moves to another shard.

use super::{Outline, PlanError};
use crate::graph::{StepGraph, StepNode};
use crate::id::StepId;
use crate::key_set::{KeyRange, KeySet};
use crate::plan::{API_VERSION, Estimate, Move, Plan};
use crate::request::Split;
use crate::shard_map::{MappingState, ShardMap};
use crate::step::FORWARD;
use crate::survey::Survey;

/// Finds the one part that moves and checks that the parts are exactly one mapping of the source.
pub(super) fn outline(split: &Split, map: &ShardMap) -> Result<Outline, PlanError> {
    let mut problems = Vec::new();
    let leaving: Vec<_> = split
        .into
        .iter()
        .filter(|part| part.shard != split.source)
        .collect();
    if leaving.len() != 1 {
        problems.push(format!(
            "exactly one part must go to another shard than {}, {} do",
            split.source,
            leaving.len()
        ));
    }
    match joined(split) {
        Err(gap) => problems.push(gap),
        Ok(whole) => match owner_of(&whole, split, map) {
            Err(problem) => problems.push(problem),
            Ok(MappingState::Moving) => problems.push(format!(
                "the keys {whole} of shard {} are being moved by another migration; wait until it ends or abort it",
                split.source
            )),
            Ok(MappingState::Active) => {}
        },
    }
    match leaving.as_slice() {
        [part] if problems.is_empty() => Ok(Outline {
            source: split.source.clone(),
            target: part.shard.clone(),
            keys: KeySet::Range(part.keys.clone()),
        }),
        _ => Err(PlanError::Unfit { problems }),
    }
}

/// The range that all parts make together, or the gap between two of them.
fn joined(split: &Split) -> Result<KeyRange, String> {
    let mut ranges: Vec<&KeyRange> = split.into.iter().map(|part| &part.keys).collect();
    ranges.sort_by(|a, b| a.cmp_start(b));
    for pair in ranges.windows(2) {
        if pair[0].to != pair[1].from {
            return Err(format!("the parts {} and {} do not meet", pair[0], pair[1]));
        }
    }
    let from = ranges.first().and_then(|range| range.from.clone());
    let to = ranges.last().and_then(|range| range.to.clone());
    Ok(KeyRange { from, to })
}

/// The state of the mapping whose keys are exactly `whole`.
fn owner_of(whole: &KeyRange, split: &Split, map: &ShardMap) -> Result<MappingState, String> {
    let owned: Vec<_> = map
        .mappings
        .iter()
        .filter(|mapping| mapping.shard == split.source)
        .collect();
    if owned.is_empty() {
        return Err(format!(
            "shard {} owns no keys in map {} version {}",
            split.source, map.name, map.version
        ));
    }
    let exact = owned
        .iter()
        .find(|mapping| mapping.keys == KeySet::Range(whole.clone()));
    exact.map(|mapping| mapping.state).ok_or_else(|| {
        let has: Vec<String> = owned.iter().map(|mapping| mapping.keys.to_string()).collect();
        format!(
            "the parts make up {whole}, but shard {} owns {} in map {} version {}; every split point must lie inside one owned range",
            split.source,
            has.join(" and "),
            map.name,
            map.version
        )
    })
}

/// The plan of a split that was surveyed without a refusal.
pub(super) fn plan(
    split: &Split,
    map: &ShardMap,
    outline: Outline,
    survey: &Survey,
) -> Result<Plan, PlanError> {
    let share = |amount: i64, ppm: i64| {
        let part = i128::from(amount) * i128::from(ppm) / 1_000_000;
        i64::try_from(part).unwrap_or(i64::MAX)
    };
    let moving = || survey.tables.iter().zip(&survey.moving_ppm);
    let estimate = Estimate {
        rows: moving().map(|(table, ppm)| share(table.rows, *ppm)).sum(),
        bytes: moving().map(|(table, ppm)| share(table.bytes, *ppm)).sum(),
        write_stop_budget_ms: split.options.write_stop_budget_ms,
    };
    let plan = Plan {
        api_version: API_VERSION.to_owned(),
        operation: "split".to_owned(),
        map: map.name.clone(),
        map_version: map.version,
        incarnation: map.incarnation.clone(),
        schema_fingerprint: survey.schema_fingerprint.clone(),
        moving: Move {
            source: outline.source,
            target: outline.target,
            keys: outline.keys,
            tables: survey.tables.clone(),
        },
        options: split.options.clone(),
        graph: forward_graph()?,
        estimate,
        findings: survey.findings.clone(),
        hash: String::new(),
    };
    Ok(plan.sealed())
}

/// The steps of one move, each after the one before it.
fn forward_graph() -> Result<StepGraph, PlanError> {
    let id = |kind: crate::step::StepKind| StepId::from(kind.name());
    let nodes = FORWARD
        .iter()
        .enumerate()
        .map(|(index, kind)| StepNode {
            id: id(*kind),
            kind: *kind,
            after: index
                .checked_sub(1)
                .map(|before| id(FORWARD[before]))
                .into_iter()
                .collect(),
        })
        .collect();
    Ok(StepGraph::new(nodes)?)
}
