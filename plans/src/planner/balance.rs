//! The operations drain and rebalance: which measured items move where, with the figures before and after.

use super::field::{BalanceInput, ShardRoles};
use super::figures::{amount, measure, times};
use super::propose::{self, HotKey};
use super::wish::{PlanDraft, PlannerInput, WantedMove};
use crate::id::ShardName;
use crate::rebalance::{RebalanceLimits, ShardBalance, TooBig};
use crate::request::{Drain, Measure, Options, Rebalance};
use crate::shard_map::ShardMap;

/// By how much a shard may exceed its fair share when it receives keys of a drained shard, in millionths.
const DRAIN_THRESHOLD_PPM: u64 = 100_000;

/// The maximum number of shards in a note.
const SHOWN: usize = 16;

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
pub(super) fn drain(drain: &Drain, ground: PlannerInput<'_>) -> PlanDraft {
    let source = &drain.source;
    let keys = ground.map.owned_by(source);
    if keys.is_empty() {
        return PlanDraft::refused(ground.owns_nothing(source));
    }
    let mut draft = PlanDraft::default();
    let targets = targets(drain, ground.map);
    match targets.as_slice() {
        [] => draft.problems.push(format!(
            "map {} has no shard besides {source}; name the shards that take its keys under `targets`",
            ground.map.name
        )),
        [only] => draft.wishes.push(WantedMove {
            source: source.clone(),
            target: only.clone(),
            keys,
            mode: ground.options.mode,
            why: format!("shard {source} is drained, {only} takes all of it"),
            after: Vec::new(),
            drop_tables: drain.drop_tables,
        }),
        several => spread(drain, several, ground, &mut draft),
    }
    if drain.drop_tables {
        draft.notes.push(format!(
            "the tables on shard {source} are dropped once nothing is left in them"
        ));
    }
    draft
}

/// Distributes the keys of the drained shard among several others. The keys of these stay.
fn spread(drain: &Drain, targets: &[ShardName], ground: PlannerInput<'_>, draft: &mut PlanDraft) {
    let roles = ShardRoles {
        all: targets.iter().chain([&drain.source]).collect(),
        drained: Some(&drain.source),
    };
    let field = match BalanceInput::new(&roles, &drain.by, ground) {
        Ok(field) => field,
        Err(problems) => return draft.problems.extend(problems),
    };
    let limits = limits(DRAIN_THRESHOLD_PPM, None, ground.options);
    let outcome = match field.balanced(&limits) {
        Ok(outcome) => outcome,
        Err(problem) => return draft.problems.push(problem),
    };
    field.wishes(&outcome, drain.drop_tables, draft);
    for left in outcome.unresolved.iter().filter(|left| left.stranded > 0) {
        let (keys, rules) = field.stranded(left.shard);
        draft.problems.push(if rules.is_empty() || keys.is_empty() {
            left.why.clone()
        } else {
            let rules = rules.join(", ");
            format!("{}; of rules {rules}, {keys} may go nowhere else", left.why)
        });
    }
    draft
        .notes
        .push(figures(&field, &drain.by, &outcome.before, &outcome.after));
}

/// Drafts the moves of a rebalance among all shards that take part.
pub(super) fn rebalance(rebalance: &Rebalance, ground: PlannerInput<'_>) -> PlanDraft {
    let owners = ground.map.shards();
    let roles = ShardRoles {
        all: owners.iter().chain(&rebalance.onto).collect(),
        drained: None,
    };
    let field = match BalanceInput::new(&roles, &rebalance.by, ground) {
        Ok(field) => field,
        Err(problems) => {
            return PlanDraft {
                problems,
                ..PlanDraft::default()
            };
        }
    };
    let threshold_ppm = u64::from(rebalance.threshold_percent) * 10_000;
    let limits = limits(threshold_ppm, rebalance.max_bytes, ground.options);
    let outcome = match field.balanced(&limits) {
        Ok(outcome) => outcome,
        Err(problem) => return PlanDraft::refused(problem),
    };
    let mut draft = PlanDraft::default();
    field.wishes(&outcome, false, &mut draft);
    let mut notes = vec![figures(
        &field,
        &rebalance.by,
        &outcome.before,
        &outcome.after,
    )];
    notes.extend(outcome.unresolved.iter().map(|left| left.why.clone()));
    let hot = |balance: &ShardBalance| {
        let shard = field.name(balance.shard);
        propose::hot_keys_of(shard, balance.fair, &rebalance.by, ground)
    };
    let mut hot: Vec<HotKey> = outcome.after.iter().flat_map(hot).collect();
    hot.sort_by_key(|hot| std::cmp::Reverse(hot.cost));
    // If a hot key is the reason why an item is too big, no second proposal is needed.
    let explained = |heavy: &&TooBig| {
        let keys = field.keys(heavy.item);
        hot.iter().any(|hot| keys.contains(&hot.key))
    };
    let heavy = outcome.too_big.iter().filter(|heavy| !explained(heavy));
    notes.extend(heavy.map(|heavy| too_big(heavy, &field, &rebalance.by, ground)));
    notes.extend(hot.into_iter().map(|hot| hot.proposal));
    if !draft.wishes.is_empty() {
        draft.notes = notes;
    } else if outcome.unresolved.is_empty() {
        let within = format!(
            "every shard is already within the threshold of {} %",
            rebalance.threshold_percent
        );
        draft.problems = [vec![within], notes].concat();
    } else {
        let nothing = "no move would improve the balance".to_owned();
        draft.problems = [vec![nothing], notes].concat();
    }
    draft
}

/// "load by rows, in fair shares: a 1.8x -> 1.05x, b 0.4x -> 1.02x".
fn figures(
    field: &BalanceInput<'_>,
    by: &Measure,
    before: &[ShardBalance],
    after: &[ShardBalance],
) -> String {
    let figure = |(old, new): (&ShardBalance, &ShardBalance)| {
        let name = field.name(old.shard);
        let fair = if new.fair == 0 {
            format!("{} -> {}", amount(by, old.cost), amount(by, new.cost))
        } else if old.cost == new.cost {
            times(old.cost, old.fair)
        } else {
            format!(
                "{} -> {}",
                times(old.cost, old.fair),
                times(new.cost, new.fair)
            )
        };
        format!("{name} {fair}")
    };
    let all: Vec<String> = before.iter().zip(after).map(figure).collect();
    let shown = all.len().min(SHOWN);
    let more = match all.len() - shown {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "load by {}, in fair shares: {}{more}",
        measure(by),
        all[..shown].join(", ")
    )
}

fn too_big(
    heavy: &TooBig,
    field: &BalanceInput<'_>,
    by: &Measure,
    ground: PlannerInput<'_>,
) -> String {
    let keys = field.keys(heavy.item);
    let shard = field.name(heavy.shard);
    // Loads were measured on the shard that owns the keys now.
    let owner = ground
        .loads
        .iter()
        .find(|load| load.items.iter().any(|item| &item.keys == keys));
    let owner = owner.map_or(shard, |load| &load.shard);
    format!(
        "{keys} on shard {owner} carry {}, {} the fair share of shard {shard}; {}",
        amount(by, heavy.cost),
        times(heavy.cost, heavy.fair),
        propose::relief(keys, owner, ground)
    )
}
