//! Checks the bank: transfers move money between accounts, and no transfer may create or destroy money.
//!
//! The legs on the owners show which transfers were committed. Each transfer must come from a client, and have both
//! legs or none. Each balance, and the sum of all balances, must agree with the legs. In addition, each snapshot that a
//! client read of a tenant's accounts must have the initial sum.

use super::expected::ExpectedRows;
use super::observed::{ObservedRows, RowKey};
use crate::ledger::{Balances, TransactionOutcome, Transfer};
use crate::shop::{BANK_ACCOUNTS, BANK_DEPOSIT, KeyShape};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};

/// The result for the bank.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Bank {
    /// The number of acknowledged transfers.
    pub transfers: u64,
    /// The number of snapshots that clients read.
    pub reads: u64,
    /// The number of violations: snapshots with another sum; transfers that are lost, were never made, or have only one
    /// leg; accounts with a wrong balance; and one more if the sum of all accounts has changed.
    pub violations: u64,
}

impl Bank {
    /// Returns the result as text.
    pub(crate) fn text(&self) -> String {
        format!(
            "Bank         {} transfers, {} snapshots read; {} violations.",
            self.transfers, self.reads, self.violations
        )
    }
}

pub(super) fn check(expected: &ExpectedRows, observed: &ObservedRows) -> Bank {
    let none = Vec::new();
    let (mut transfers, mut violations) = (0, 0);
    for (id, transfer) in &expected.transfers {
        transfers += u64::from(transfer.outcome == TransactionOutcome::Acknowledged);
        let legs = observed.legs.get(id).unwrap_or(&none);
        violations += u64::from(!is_all_or_nothing(transfer, legs));
    }
    let ids = observed.legs.keys();
    violations += count(ids.filter(|id| !expected.transfers.contains_key(id)));
    violations += count(
        expected
            .balances
            .iter()
            .filter(|read| !has_initial_sum(read)),
    );
    violations += count_wrong_balances(observed);
    if let Some(base) = expected.baseline.tables.get("bank") {
        let sum: i64 = observed.bank.values().sum();
        violations += u64::from(sum != base.rows * BANK_DEPOSIT);
    }
    Bank {
        transfers,
        reads: count(expected.balances.iter()),
        violations,
    }
}

/// Returns whether the existing legs are all or none of the transfer's, as its outcome requires.
fn is_all_or_nothing(transfer: &Transfer, legs: &[(RowKey, i64)]) -> bool {
    let expected_legs = transfer.legs.iter().map(|leg| {
        let row = (KeyShape::name(&leg.key), i64::from(leg.account));
        (row, leg.delta)
    });
    let expected_legs: HashSet<(RowKey, i64)> = expected_legs.collect();
    let all_exist =
        legs.len() == expected_legs.len() && legs.iter().all(|leg| expected_legs.contains(leg));
    match transfer.outcome {
        TransactionOutcome::Acknowledged => all_exist,
        TransactionOutcome::InDoubt => all_exist || legs.is_empty(),
        TransactionOutcome::RolledBack | TransactionOutcome::Failed => legs.is_empty(),
    }
}

/// Checks one snapshot of the accounts that have transfers only among themselves.
fn has_initial_sum(read: &Balances) -> bool {
    let sum: i64 = read.balances.iter().sum();
    let complete = i32::try_from(read.balances.len()) == Ok(BANK_ACCOUNTS);
    complete && sum == i64::from(BANK_ACCOUNTS) * BANK_DEPOSIT
}

/// Returns the number of accounts whose balance does not agree with the legs, and of accounts that legs name and that
/// do not exist.
fn count_wrong_balances(observed: &ObservedRows) -> u64 {
    let mut changes: HashMap<&RowKey, i64> = HashMap::new();
    for (account, delta) in observed.legs.values().flatten() {
        *changes.entry(account).or_default() += delta;
    }
    let is_right = |account: &RowKey, balance: i64| {
        balance == BANK_DEPOSIT + changes.get(account).copied().unwrap_or(0)
    };
    let wrong = observed
        .bank
        .iter()
        .filter(|(account, balance)| !is_right(account, **balance));
    let missing = changes
        .keys()
        .filter(|account| !observed.bank.contains_key(**account));
    count(wrong) + count(missing)
}

fn count<T>(items: impl Iterator<Item = T>) -> u64 {
    items.fold(0, |sum, _| sum + 1)
}
