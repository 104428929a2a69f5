//! Compares the expected rows with the observed rows.

use super::expected::ExpectedRows;
use super::observed::{ObservedRows, RowKey};
use super::{ByPhase, CheckReport};
use crate::ledger::{LedgerPhase, RowEffect, TransactionEntry, TransactionOutcome};
use crate::shop::{FIRST_BALANCE, KeyShape};
use std::collections::{HashMap, HashSet};

/// The expected sums according to the observed transactions.
#[derive(Debug, Default)]
struct ExpectedSums {
    accounts: HashMap<RowKey, (i64, i64)>,
    touched: HashMap<RowKey, i64>,
    /// The number of items of each order, by key and operation.
    order_items: HashMap<RowKey, i64>,
    logged: HashSet<RowKey>,
    cancelled: HashSet<RowKey>,
}

pub(super) fn compare(expected: ExpectedRows, observed: ObservedRows) -> CheckReport {
    let mut checked = CheckReport {
        misplaced: observed.misplaced,
        ..CheckReport::default()
    };
    let mut sums = ExpectedSums::default();
    for entry in expected.entries.values() {
        let key = row_key(entry, entry.op);
        let found = observed.ledger_rows.get(&key).copied().unwrap_or(0);
        let moving = expected.baseline.moving.contains(&entry.key);
        add_transaction(&mut checked, entry, found, moving);
        let is_committed = match entry.outcome {
            TransactionOutcome::Acknowledged => true,
            TransactionOutcome::InDoubt => found > 0,
            TransactionOutcome::RolledBack | TransactionOutcome::Failed => false,
        };
        if is_committed {
            sums.add(entry);
        }
    }
    let unknown = observed.ledger_rows.iter().filter(|((key, op), _)| {
        let entry = expected.entries.get(op);
        entry.is_none_or(|entry| KeyShape::name(&entry.key) != *key)
    });
    checked.phantom += unknown.map(|(_, rows)| rows.unsigned_abs()).sum::<u64>();
    sums.compare(&observed, &mut checked);
    compare_initial_rows(&expected, &observed, &mut checked);
    checked
}

/// Returns the key of a row with the transaction's shard key.
fn row_key(entry: &TransactionEntry, number: i64) -> RowKey {
    (KeyShape::name(&entry.key), number)
}

/// Checks one transaction against the number of its ledger rows on the owner.
fn add_transaction(checked: &mut CheckReport, entry: &TransactionEntry, found: i64, moving: bool) {
    match entry.outcome {
        TransactionOutcome::Acknowledged => {
            checked.acknowledged += 1;
            if moving {
                checked.acknowledged_on_moving_keys += 1;
                checked.by_phase.add(entry.phase);
            }
            checked.lost += u64::from(found == 0);
        }
        TransactionOutcome::InDoubt => checked.in_doubt += 1,
        TransactionOutcome::RolledBack => checked.phantom += found.unsigned_abs(),
        TransactionOutcome::Failed => {
            checked.failed += 1;
            checked.phantom += found.unsigned_abs();
        }
    }
    let may_be_committed = matches!(
        entry.outcome,
        TransactionOutcome::Acknowledged | TransactionOutcome::InDoubt
    );
    checked.duplicated += u64::from(may_be_committed && found > 1);
}

impl ByPhase {
    fn add(&mut self, phase: LedgerPhase) {
        *match phase {
            LedgerPhase::Before => &mut self.before,
            LedgerPhase::Copy => &mut self.copy,
            LedgerPhase::CatchUp => &mut self.catch_up,
            LedgerPhase::Cutover => &mut self.cutover,
            LedgerPhase::After => &mut self.after,
        } += 1;
    }
}

impl ExpectedSums {
    fn add(&mut self, entry: &TransactionEntry) {
        for effect in &entry.effects {
            match effect {
                RowEffect::Account { id, delta } => {
                    let account = self.accounts.entry(row_key(entry, *id)).or_default();
                    account.0 += delta;
                    account.1 += 1;
                }
                RowEffect::Touched { id } => {
                    *self.touched.entry(row_key(entry, *id)).or_default() += 1
                }
                RowEffect::Ordered { items } => {
                    self.order_items.insert(row_key(entry, entry.op), *items);
                }
                RowEffect::Cancelled { op } => {
                    self.cancelled.insert(row_key(entry, *op));
                }
                RowEffect::Logged => {
                    self.logged.insert(row_key(entry, entry.op));
                }
            }
        }
    }

    fn compare(mut self, observed: &ObservedRows, checked: &mut CheckReport) {
        let mut expected = HashMap::new();
        for (key, (delta, changes)) in self.accounts {
            expected.insert(key, (FIRST_BALANCE + delta, changes));
        }
        checked.wrong += count_different(&expected, &observed.accounts, &(FIRST_BALANCE, 0));
        checked.wrong += count_different(&self.touched, &observed.touched, &0);

        self.order_items
            .retain(|key, _| !self.cancelled.contains(key));
        for (key, items) in &self.order_items {
            match observed.orders.get(key) {
                None => checked.lost += 1,
                Some((1, found)) => checked.wrong += u64::from(found != items),
                Some(_) => checked.duplicated += 1,
            }
        }
        let unexpected = observed
            .orders
            .keys()
            .filter(|key| !self.order_items.contains_key(key));
        checked.phantom += count(unexpected);
        // An item belongs to an expected order, so items without an expected order are counted separately.
        let unexpected = observed
            .items
            .iter()
            .filter(|(key, _)| !self.order_items.contains_key(*key));
        let unexpected = unexpected.map(|(_, items)| items.unsigned_abs());
        checked.phantom += unexpected.sum::<u64>();

        for key in &self.logged {
            match observed.logged.get(key) {
                None => checked.lost += 1,
                Some((1, as_written)) => checked.wrong += u64::from(*as_written != 1),
                Some(_) => checked.duplicated += 1,
            }
        }
        let unexpected = observed
            .logged
            .keys()
            .filter(|key| !self.logged.contains(key));
        checked.phantom += count(unexpected);
    }
}

/// Returns the number of keys with different values. A key that is missing on one side has the value `absent` there.
fn count_different<V: PartialEq>(
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

/// Compares the initial rows.
fn compare_initial_rows(
    expected: &ExpectedRows,
    observed: &ObservedRows,
    checked: &mut CheckReport,
) {
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
