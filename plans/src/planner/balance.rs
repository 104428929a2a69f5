//! The operations drain and rebalance: which measured items move where, with the figures before and after.

use super::balance_input::{BalanceInput, ShardRoles};
use super::draft::{PlanDraft, PlannerInput, WantedMove};
use super::figures::{load_text, measure_name, multiple_text};
use super::propose::{self, HotKey};
use crate::id::ShardName;
use crate::rebalance::{RebalanceLimits, ShardBalance, TooBig};
use crate::request::{Drain, Measure, Options, Rebalance};
use crate::shard_map::ShardMap;

/// By how much a shard may exceed its fair share when it receives keys of a drained shard, in millionths.
const DRAIN_THRESHOLD_PPM: u64 = 100_000;

/// The maximum number of shards in a note.
const MAX_SHARDS_IN_NOTE: usize = 16;

/// Returns the limits of a rebalance; `threshold_ppm` is the permitted excess over the fair share in millionths.
fn limits(threshold_ppm: u64, max_bytes: Option<u64>, options: &Options) -> RebalanceLimits {
    RebalanceLimits {
        threshold_ppm,
        max_bytes,
        per_shard: options.moves_per_shard,
        total: options.moves_at_once,
    }
}

/// Returns the shards that may receive the keys of a drained one.
pub(super) fn targets(drain: &Drain, map: &ShardMap) -> Vec<ShardName> {
    let mut targets = drain.targets.clone();
    if targets.is_empty() {
        targets = map.shards();
    }
    targets.retain(|target| target != &drain.source);
    targets.sort();
    targets.dedup();
    targets
}

/// Drafts the moves of a drain: all keys of the source move to the targets.
pub(super) fn drain(drain: &Drain, input: PlannerInput<'_>) -> PlanDraft {
    let source = &drain.source;
    let keys = input.map.owned_by(source);
    if keys.is_empty() {
        return PlanDraft::refused(input.no_keys_problem(source));
    }
    let mut draft = PlanDraft::default();
    let targets = targets(drain, input.map);
    match targets.as_slice() {
        [] => draft.problems.push(format!(
            "map {} has no shard besides {source}; name the shards that receive its keys under `targets`",
            input.map.name
        )),
        [only] => draft.moves.push(WantedMove {
            source: source.clone(),
            target: only.clone(),
            keys,
            mode: input.options.mode,
            why: format!("shard {source} is drained, {only} receives all of its keys"),
            after: Vec::new(),
            drop_tables: drain.drop_tables,
        }),
        several => spread(drain, several, input, &mut draft),
    }
    if drain.drop_tables {
        draft.notes.push(format!(
            "the tables on shard {source} are dropped once they have no rows"
        ));
    }
    draft
}

/// Distributes the keys of the drained shard among several others. The keys of these stay.
fn spread(drain: &Drain, targets: &[ShardName], input: PlannerInput<'_>, draft: &mut PlanDraft) {
    let roles = ShardRoles {
        all: targets.iter().chain([&drain.source]).collect(),
        drained: Some(&drain.source),
    };
    let balance_input = match BalanceInput::new(&roles, &drain.by, input) {
        Ok(balance_input) => balance_input,
        Err(problems) => return draft.problems.extend(problems),
    };
    let limits = limits(DRAIN_THRESHOLD_PPM, None, input.options);
    let outcome = match balance_input.balance(&limits) {
        Ok(outcome) => outcome,
        Err(problem) => return draft.problems.push(problem),
    };
    balance_input.add_wanted_moves(&outcome, drain.drop_tables, draft);
    let unresolved = outcome.unresolved.iter();
    for unresolved in unresolved.filter(|unresolved| unresolved.stranded > 0) {
        let (keys, rules) = balance_input.stranded_keys(unresolved.shard);
        draft.problems.push(if rules.is_empty() || keys.is_empty() {
            unresolved.why.clone()
        } else {
            let rules = rules.join(", ");
            format!(
                "{}; the rules {rules} allow {keys} on no other shard",
                unresolved.why
            )
        });
    }
    draft.notes.push(load_note(
        &balance_input,
        &drain.by,
        &outcome.before,
        &outcome.after,
    ));
}

/// Drafts the moves of a rebalance among all shards that take part.
pub(super) fn rebalance(rebalance: &Rebalance, input: PlannerInput<'_>) -> PlanDraft {
    let owners = input.map.shards();
    let roles = ShardRoles {
        all: owners.iter().chain(&rebalance.onto).collect(),
        drained: None,
    };
    let balance_input = match BalanceInput::new(&roles, &rebalance.by, input) {
        Ok(balance_input) => balance_input,
        Err(problems) => {
            return PlanDraft {
                problems,
                ..PlanDraft::default()
            };
        }
    };
    let threshold_ppm = u64::from(rebalance.threshold_percent) * 10_000;
    let limits = limits(threshold_ppm, rebalance.max_bytes, input.options);
    let outcome = match balance_input.balance(&limits) {
        Ok(outcome) => outcome,
        Err(problem) => return PlanDraft::refused(problem),
    };
    let mut draft = PlanDraft::default();
    balance_input.add_wanted_moves(&outcome, false, &mut draft);
    let mut notes = vec![load_note(
        &balance_input,
        &rebalance.by,
        &outcome.before,
        &outcome.after,
    )];
    notes.extend(
        outcome
            .unresolved
            .iter()
            .map(|unresolved| unresolved.why.clone()),
    );
    let hot_keys_of = |balance: &ShardBalance| {
        let shard = balance_input.name(balance.shard);
        propose::hot_keys_of(shard, balance.fair, &rebalance.by, input)
    };
    let mut hot_keys: Vec<HotKey> = outcome.after.iter().flat_map(hot_keys_of).collect();
    hot_keys.sort_by_key(|hot| std::cmp::Reverse(hot.cost));
    // If a hot key is the reason why an item is too big, the proposal for the key suffices.
    let has_hot_key = |too_big: &&TooBig| {
        let keys = balance_input.keys(too_big.item);
        hot_keys.iter().any(|hot| keys.contains(&hot.key))
    };
    let too_big = outcome.too_big.iter();
    let too_big = too_big.filter(|too_big| !has_hot_key(too_big));
    notes.extend(too_big.map(|item| too_big_note(item, &balance_input, &rebalance.by, input)));
    notes.extend(hot_keys.into_iter().map(|hot| hot.proposal));
    if !draft.moves.is_empty() {
        draft.notes = notes;
    } else if outcome.unresolved.is_empty() {
        let within = format!(
            "every shard is already within the threshold of {} %",
            rebalance.threshold_percent
        );
        draft.problems = [vec![within], notes].concat();
    } else {
        let no_move = "no move would improve the balance".to_owned();
        draft.problems = [vec![no_move], notes].concat();
    }
    draft
}

/// Returns a note such as "load by rows, in fair shares: a 1.8x -> 1.05x, b 0.4x -> 1.02x".
fn load_note(
    balance_input: &BalanceInput<'_>,
    measure: &Measure,
    before: &[ShardBalance],
    after: &[ShardBalance],
) -> String {
    let shard_text = |(old, new): (&ShardBalance, &ShardBalance)| {
        let name = balance_input.name(old.shard);
        let loads = if new.fair == 0 {
            format!(
                "{} -> {}",
                load_text(measure, old.cost),
                load_text(measure, new.cost)
            )
        } else if old.cost == new.cost {
            multiple_text(old.cost, old.fair)
        } else {
            format!(
                "{} -> {}",
                multiple_text(old.cost, old.fair),
                multiple_text(new.cost, new.fair)
            )
        };
        format!("{name} {loads}")
    };
    let all: Vec<String> = before.iter().zip(after).map(shard_text).collect();
    let shown = all.len().min(MAX_SHARDS_IN_NOTE);
    let more = match all.len() - shown {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "load by {}, in fair shares: {}{more}",
        measure_name(measure),
        all[..shown].join(", ")
    )
}

/// Returns a note about an item that has more load than a fair share, with a proposal.
fn too_big_note(
    too_big: &TooBig,
    balance_input: &BalanceInput<'_>,
    measure: &Measure,
    input: PlannerInput<'_>,
) -> String {
    let keys = balance_input.keys(too_big.item);
    let shard = balance_input.name(too_big.shard);
    // `shard` owns the keys after all moves. Before the moves, their owner is the shard on which they were measured.
    let owner = input
        .loads
        .iter()
        .find(|load| load.items.iter().any(|item| &item.keys == keys));
    let owner = owner.map_or(shard, |load| &load.shard);
    format!(
        "{keys} on shard {owner} have {}, {} the fair share of shard {shard}; {}",
        load_text(measure, too_big.cost),
        multiple_text(too_big.cost, too_big.fair),
        propose::relief(keys, owner, input)
    )
}
