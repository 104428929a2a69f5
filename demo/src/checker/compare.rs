//! What must be there against what is there.

use super::expected::Expected;
use super::observed::{Observed, RowKey};
use super::{ByPhase, Checked};
use crate::ledger::{Effect, Entry, Outcome, Phase};
use crate::shop::{FIRST_BALANCE, Shape};
use std::collections::{HashMap, HashSet};

/// What the transactions that are there add up to.
#[derive(Debug, Default)]
struct Sums {
    accounts: HashMap<RowKey, (i64, i64)>,
    seen: HashMap<RowKey, i64>,
    /// Items of each order, by key and operation.
    orders: HashMap<RowKey, i64>,
    logged: HashSet<RowKey>,
    cancelled: HashSet<RowKey>,
}

pub(super) fn compare(expected: Expected, observed: Observed) -> Checked {
    let mut checked = Checked {
        misplaced: observed.misplaced,
        ..Checked::default()
    };
    let mut sums = Sums::default();
    for entry in expected.entries.values() {
        let key = own(entry, entry.op);
        let there = observed.marks.get(&key).copied().unwrap_or(0);
        let moving = expected.baseline.moving.contains(&entry.key);
        judge(&mut checked, entry, there, moving);
        let stands = match entry.outcome {
            Outcome::Acknowledged => true,
            Outcome::InDoubt => there > 0,
            Outcome::RolledBack | Outcome::Failed => false,
        };
        if stands {
            sums.add(entry);
        }
    }
    let unknown = observed.marks.iter().filter(|((key, op), _)| {
        let entry = expected.entries.get(op);
        entry.is_none_or(|entry| Shape::name(&entry.key) != *key)
    });
    checked.phantom += unknown.map(|(_, rows)| rows.unsigned_abs()).sum::<u64>();
    sums.compare(&observed, &mut checked);
    compare_bases(&expected, &observed, &mut checked);
    checked
}

/// A row of the transaction's key.
fn own(entry: &Entry, number: i64) -> RowKey {
    (Shape::name(&entry.key), number)
}

/// One transaction against the number of its ledger rows on the owner.
fn judge(checked: &mut Checked, entry: &Entry, there: i64, moving: bool) {
    match entry.outcome {
        Outcome::Acknowledged => {
            checked.acknowledged += 1;
            if moving {
                checked.acknowledged_on_moving_keys += 1;
                checked.by_phase.add(entry.phase);
            }
            checked.lost += u64::from(there == 0);
        }
        Outcome::InDoubt => checked.in_doubt += 1,
        Outcome::RolledBack => checked.phantom += there.unsigned_abs(),
        Outcome::Failed => {
            checked.failed += 1;
            checked.phantom += there.unsigned_abs();
        }
    }
    let may_be_there = matches!(entry.outcome, Outcome::Acknowledged | Outcome::InDoubt);
    checked.duplicated += u64::from(may_be_there && there > 1);
}

impl ByPhase {
    fn add(&mut self, phase: Phase) {
        *match phase {
            Phase::Before => &mut self.before,
            Phase::Copy => &mut self.copy,
            Phase::CatchUp => &mut self.catch_up,
            Phase::Cutover => &mut self.cutover,
            Phase::After => &mut self.after,
        } += 1;
    }
}

impl Sums {
    fn add(&mut self, entry: &Entry) {
        for effect in &entry.effects {
            match effect {
                Effect::Account { id, delta } => {
                    let account = self.accounts.entry(own(entry, *id)).or_default();
                    account.0 += delta;
                    account.1 += 1;
                }
                Effect::Touched { id } => *self.seen.entry(own(entry, *id)).or_default() += 1,
                Effect::Ordered { items } => {
                    self.orders.insert(own(entry, entry.op), *items);
                }
                Effect::Cancelled { op } => {
                    self.cancelled.insert(own(entry, *op));
                }
                Effect::Logged => {
                    self.logged.insert(own(entry, entry.op));
                }
            }
        }
    }

    fn compare(mut self, observed: &Observed, checked: &mut Checked) {
        let mut expected = HashMap::new();
        for (key, (delta, changes)) in self.accounts {
            expected.insert(key, (FIRST_BALANCE + delta, changes));
        }
        checked.wrong += different(&expected, &observed.accounts, &(FIRST_BALANCE, 0));
        checked.wrong += different(&self.seen, &observed.seen, &0);

        self.orders.retain(|key, _| !self.cancelled.contains(key));
        for (key, items) in &self.orders {
            match observed.orders.get(key) {
                None => checked.lost += 1,
                Some((1, found)) => checked.wrong += u64::from(found != items),
                Some(_) => checked.duplicated += 1,
            }
        }
        let strangers = observed
            .orders
            .keys()
            .filter(|key| !self.orders.contains_key(key));
        checked.phantom += count(strangers);
        // Nothing but the order says that its items are there: a delete of them may be lost by itself.
        let strangers = observed
            .items
            .iter()
            .filter(|(key, _)| !self.orders.contains_key(*key));
        let strangers = strangers.map(|(_, items)| items.unsigned_abs());
        checked.phantom += strangers.sum::<u64>();

        for key in &self.logged {
            match observed.logged.get(key) {
                None => checked.lost += 1,
                Some((1, as_written)) => checked.wrong += u64::from(*as_written != 1),
                Some(_) => checked.duplicated += 1,
            }
        }
        let strangers = observed
            .logged
            .keys()
            .filter(|key| !self.logged.contains(key));
        checked.phantom += count(strangers);
    }
}

/// Keys whose values differ; a key that is missing on one side has the value `absent` there.
fn different<V: PartialEq>(
    expected: &HashMap<RowKey, V>,
    observed: &HashMap<RowKey, V>,
    absent: &V,
) -> u64 {
    let keys: HashSet<&RowKey> = expected.keys().chain(observed.keys()).collect();
    let differ = |key: &&&RowKey| {
        expected.get(**key).unwrap_or(absent) != observed.get(**key).unwrap_or(absent)
    };
    count(keys.iter().filter(differ))
}

/// Rows that were there from the beginning.
fn compare_bases(expected: &Expected, observed: &Observed, checked: &mut Checked) {
    for (table, base) in &expected.baseline.tables {
        let (rows, digest) = observed
            .bases
            .get(table.as_str())
            .copied()
            .unwrap_or((0, 0));
        match base.rows - rows {
            0 => checked.wrong += u64::from(base.digest != digest.to_string()),
            missing @ 1.. => checked.lost += missing.unsigned_abs(),
            extra => checked.phantom += extra.unsigned_abs(),
        }
    }
}

fn count<T>(items: impl Iterator<Item = T>) -> u64 {
    items.fold(0, |sum, _| sum + 1)
}
