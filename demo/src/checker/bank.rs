//! The bank: money is moved and never made, whatever moves the accounts themselves.
//!
//! The legs on the owners say which transfers stand. Each must be one that a client made, with both legs or none, and
//! each balance is what the legs add up to; so is the sum of all, moved and unmoved. Besides, each snapshot that a
//! client read of a tenant's accounts must hold what they held together at first.

use super::expected::ExpectedRows;
use super::observed::{ObservedRows, RowKey};
use crate::ledger::{Balances, TransactionOutcome, Transfer};
use crate::shop::{BANK_ACCOUNTS, BANK_DEPOSIT, KeyShape};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};

/// What became of the money.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Bank {
    /// Transfers that were acknowledged.
    pub transfers: u64,
    /// Snapshots that clients read meanwhile.
    pub reads: u64,
    /// Snapshots with another sum, transfers that are lost, phantom or halved, accounts with another balance, and one
    /// more if all accounts together hold another sum than at first.
    pub violations: u64,
}

impl Bank {
    /// In plain words.
    pub(crate) fn text(&self) -> String {
        format!(
            "Bank         {} transfers, {} snapshots read meanwhile; {} violations.",
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
    violations += count(expected.balances.iter().filter(|read| !adds_up(read)));
    violations += wrong_balances(observed);
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

/// Whether the legs that are there are all or none of the transfer's, as its outcome wants.
fn is_all_or_nothing(transfer: &Transfer, legs: &[(RowKey, i64)]) -> bool {
    let own = transfer.legs.iter().map(|leg| {
        let row = (KeyShape::name(&leg.key), i64::from(leg.account));
        (row, leg.delta)
    });
    let own: HashSet<(RowKey, i64)> = own.collect();
    let all = legs.len() == own.len() && legs.iter().all(|leg| own.contains(leg));
    match transfer.outcome {
        TransactionOutcome::Acknowledged => all,
        TransactionOutcome::InDoubt => all || legs.is_empty(),
        TransactionOutcome::RolledBack | TransactionOutcome::Failed => legs.is_empty(),
    }
}

/// One snapshot of the accounts that have transfers among themselves only.
fn adds_up(read: &Balances) -> bool {
    let sum: i64 = read.balances.iter().sum();
    let complete = i32::try_from(read.balances.len()) == Ok(BANK_ACCOUNTS);
    complete && sum == i64::from(BANK_ACCOUNTS) * BANK_DEPOSIT
}

/// Accounts whose balance is not what the legs add up to, and those that legs name and are not there.
fn wrong_balances(observed: &ObservedRows) -> u64 {
    let mut changes: HashMap<&RowKey, i64> = HashMap::new();
    for (account, delta) in observed.legs.values().flatten() {
        *changes.entry(account).or_default() += delta;
    }
    let right = |account: &RowKey, balance: i64| {
        balance == BANK_DEPOSIT + changes.get(account).copied().unwrap_or(0)
    };
    let wrong = observed
        .bank
        .iter()
        .filter(|(account, balance)| !right(account, **balance));
    let missing = changes
        .keys()
        .filter(|account| !observed.bank.contains_key(**account));
    count(wrong) + count(missing)
}

fn count<T>(items: impl Iterator<Item = T>) -> u64 {
    items.fold(0, |sum, _| sum + 1)
}
