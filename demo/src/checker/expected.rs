//! The expected rows, according to the clients' ledger file.

use super::{CheckError, StandbyWrites};
use crate::ledger::{
    Balances, Baseline, CallEvent, LedgerLine, TransactionEntry, TransactionOutcome, Transfer,
};
use plans::id::ShardName;
use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// The content of the file. Transactions that a crash may have lost are marked as in doubt.
#[derive(Debug)]
pub(super) struct ExpectedRows {
    pub(super) baseline: Baseline,
    pub(super) entries: HashMap<i64, TransactionEntry>,
    /// The begins and ends of calls on lists, in the order of the file.
    pub(super) events: Vec<CallEvent>,
    pub(super) transfers: HashMap<i64, Transfer>,
    /// The balances that clients read in the bank workload.
    pub(super) balances: Vec<Balances>,
    /// The writes that clients tried on a standby.
    pub(super) standby: StandbyWrites,
}

impl ExpectedRows {
    pub(super) fn read(path: &Path) -> Result<Self, CheckError> {
        let failed = |source| CheckError::File {
            path: path.to_owned(),
            source,
        };
        let malformed = |line: usize, reason: String| CheckError::Line {
            path: path.to_owned(),
            line,
            reason,
        };
        let file = std::fs::File::open(path).map_err(failed)?;
        let mut baseline: Option<Baseline> = None;
        let mut moving = None;
        let mut entries = HashMap::new();
        let mut crashes: HashMap<ShardName, u64> = HashMap::new();
        let (mut events, mut transfers, mut balances) = (Vec::new(), HashMap::new(), Vec::new());
        let mut standby = StandbyWrites::default();
        for (index, text) in BufReader::new(file).lines().enumerate() {
            let text = text.map_err(failed)?;
            let line = serde_json::from_str(&text)
                .map_err(|error| malformed(index + 1, error.to_string()))?;
            match line {
                LedgerLine::Baseline(first) => baseline = Some(first),
                LedgerLine::Moving(keys) => moving = Some(keys),
                LedgerLine::Crash(crash) => {
                    let max_number = crashes.entry(crash.shard).or_default();
                    *max_number = (*max_number).max(crash.number);
                }
                LedgerLine::Entry(entry) => {
                    let op = entry.op;
                    if entries.insert(op, entry).is_some() {
                        return Err(malformed(
                            index + 1,
                            format!("operation {op} occurs a second time"),
                        ));
                    }
                }
                LedgerLine::Transfer(transfer) => {
                    let id = transfer.id;
                    if transfers.insert(id, transfer).is_some() {
                        return Err(malformed(
                            index + 1,
                            format!("transfer {id} occurs a second time"),
                        ));
                    }
                }
                LedgerLine::Event(event) => events.push(event),
                LedgerLine::Balances(read) => balances.push(read),
                LedgerLine::AcceptedWrite(accepted) => standby.add_accepted(&accepted),
                LedgerLine::RefusedWrites(refused) => standby.add_refused(&refused),
            }
        }
        let mut baseline =
            baseline.ok_or_else(|| malformed(1, "the file has no baseline".to_owned()))?;
        baseline.moving = moving.unwrap_or(baseline.moving);
        mark_in_doubt(&mut entries, &crashes);
        Ok(Self {
            baseline,
            entries,
            events,
            transfers,
            balances,
            standby,
        })
    }
}

/// Marks asynchronous commits that a crash may have lost.
///
/// A crash loses no commit that precedes a synchronous commit of the same client on the same shard, acknowledged before
/// the crash began: the synchronous commit has flushed the log up to itself. PostgreSQL may lose later asynchronous
/// commits, although they were acknowledged.
fn mark_in_doubt(entries: &mut HashMap<i64, TransactionEntry>, crashes: &HashMap<ShardName, u64>) {
    for (shard, number) in crashes {
        for crash in 1..=*number {
            let mut flushed: HashMap<i32, i64> = HashMap::new();
            for entry in entries.values().filter(|entry| {
                entry.outcome == TransactionOutcome::Acknowledged
                    && entry.synchronous
                    && entry.shard.as_ref() == Some(shard)
                    && entry.until < crash
            }) {
                let last = flushed.entry(entry.client).or_insert(entry.op);
                *last = (*last).max(entry.op);
            }
            for entry in entries.values_mut() {
                let is_flushed = flushed.get(&entry.client).is_some_and(|op| *op > entry.op);
                let may_be_lost = entry.outcome == TransactionOutcome::Acknowledged
                    && !entry.synchronous
                    && entry.shard.as_ref() == Some(shard)
                    && entry.since < crash
                    && !is_flushed;
                if may_be_lost {
                    entry.outcome = TransactionOutcome::InDoubt;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::LedgerPhase;

    fn entry(op: i64, synchronous: bool, since: u64, until: u64) -> (i64, TransactionEntry) {
        let entry = TransactionEntry {
            op,
            key: 1.into(),
            client: 1,
            phase: LedgerPhase::Before,
            outcome: TransactionOutcome::Acknowledged,
            shard: Some("a".into()),
            synchronous,
            since,
            until,
            effects: Vec::new(),
        };
        (op, entry)
    }

    #[test]
    fn only_unflushed_acknowledgements_before_a_crash_are_in_mark_in_doubt() {
        let mut entries = HashMap::from([
            entry(1, false, 0, 0),
            entry(2, true, 0, 0),
            entry(3, false, 0, 0),
            entry(4, true, 0, 1),
            entry(5, false, 1, 1),
        ]);
        mark_in_doubt(&mut entries, &HashMap::from([("a".into(), 1)]));
        let mut in_doubt: Vec<i64> = entries
            .values()
            .filter(|entry| entry.outcome == TransactionOutcome::InDoubt)
            .map(|entry| entry.op)
            .collect();
        in_doubt.sort_unstable();
        assert_eq!(in_doubt, [3]);
    }
}
