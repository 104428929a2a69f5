//! Decides which transactions a snapshot sees, by transaction id and never by a log position (E1, E15: facts found by
//! experiment, docs/protocol.md).
//!
//! A log position is the position at which a commit record was written. A snapshot depends on which transactions had
//! left the list of running transactions. The two orders differ, so the agent uses the transaction id to decide whether
//! the copy contains a change.

use std::str::FromStr;

/// The output of `pg_current_snapshot()`: `xmin:xmax:xip,...`, 64-bit ids of top-level transactions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TxSnapshot {
    /// Every transaction with a lower id had ended.
    xmin: u64,
    /// No transaction with this or a higher id had started.
    xmax: u64,
    /// The running transactions between them, in ascending order.
    xip: Vec<u64>,
}

/// The error for a text that is not a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a snapshot of the form xmin:xmax:xip")]
pub struct InvalidSnapshot {
    text: String,
}

impl TxSnapshot {
    /// Returns whether the snapshot sees the committed transaction `xid`.
    #[must_use]
    pub fn sees(&self, xid: u64) -> bool {
        xid < self.xmin || (xid < self.xmax && self.xip.binary_search(&xid).is_err())
    }

    /// Returns the 64-bit id that is nearest to this snapshot and whose lower half is `xid`.
    pub(crate) fn widen(&self, xid: u32) -> u64 {
        const EPOCH: u64 = 1 << 32;
        let near = (self.xmax & !(EPOCH - 1)) | u64::from(xid);
        if near > self.xmax && near - self.xmax > EPOCH / 2 {
            near.saturating_sub(EPOCH)
        } else if near < self.xmax && self.xmax - near > EPOCH / 2 {
            near.saturating_add(EPOCH)
        } else {
            near
        }
    }

    /// Condition G1 (dominance): returns whether this snapshot sees every committed transaction that `first`, the
    /// snapshot of the slot, saw. Then each commit is in a copy with this snapshot, or in the stream, or in both.
    pub(crate) fn dominates(&self, first: &Self) -> bool {
        self.xmax >= first.xmax && !self.xip.iter().any(|running| first.sees(*running))
    }
}

impl FromStr for TxSnapshot {
    type Err = InvalidSnapshot;

    fn from_str(text: &str) -> Result<Self, InvalidSnapshot> {
        let invalid = || InvalidSnapshot {
            text: text.to_owned(),
        };
        let number = |part: &str| part.parse::<u64>().map_err(|_| invalid());
        let mut parts = text.splitn(3, ':');
        let mut next = || parts.next().ok_or_else(invalid);
        let (xmin, xmax, running) = (number(next()?)?, number(next()?)?, next()?);
        let xip: Result<Vec<u64>, _> = running
            .split(',')
            .filter(|part| !part.is_empty())
            .map(number)
            .collect();
        let mut xip = xip?;
        xip.sort_unstable();
        Ok(Self { xmin, xmax, xip })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn snapshot(text: &str) -> TxSnapshot {
        text.parse().expect(text)
    }

    #[test]
    fn what_ended_before_is_seen_and_nothing_else() {
        let s = snapshot("10:20:10,15");
        assert!([1, 9, 11, 14, 19].into_iter().all(|xid| s.sees(xid)));
        assert!([10, 15, 20, 21].into_iter().all(|xid| !s.sees(xid)));
        assert!(snapshot("7:7:").sees(6) && !snapshot("7:7:").sees(7));
    }

    #[test]
    fn a_snapshot_that_does_not_see_what_the_slot_saw_does_not_dominate() {
        // A transaction in the log before the slot's start position, which still waits for a standby.
        assert!(!snapshot("729:729:").dominates(&snapshot("729:730:")));
        assert!(!snapshot("729:735:729").dominates(&snapshot("729:730:")));
        assert!(snapshot("730:735:731").dominates(&snapshot("729:730:")));
        assert!(snapshot("729:735:729").dominates(&snapshot("729:730:729")));
    }

    #[test]
    fn text_that_is_no_snapshot_is_refused() {
        for text in ["", "1", "1:2", "a:2:", "1:2:x", "-1:2:"] {
            assert!(text.parse::<TxSnapshot>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn an_id_within_two_thousand_million_of_the_snapshot_is_widened_to_itself(
            xmax in 0_u64..1 << 40, distance in -(1_i64 << 31) + 1..1 << 31
        ) {
            let xid = xmax.saturating_add_signed(distance);
            let s = snapshot(&format!("{xmax}:{xmax}:"));
            prop_assert_eq!(s.widen(u32::try_from(xid & 0xFFFF_FFFF).expect("32 bits")), xid);
        }

        #[test]
        fn whoever_dominates_sees_all_that_the_first_saw(
            xmin in 1_u64..20, more in 0_u64..20, running in prop::collection::btree_set(1_u64..40, 0..6),
            first_min in 1_u64..20, first_more in 0_u64..20, first_running in prop::collection::btree_set(1_u64..40, 0..6),
            xid in 1_u64..60
        ) {
            let make = |xmin: u64, xmax: u64, running: &std::collections::BTreeSet<u64>| {
                let xip: Vec<u64> = running.iter().copied().filter(|x| (xmin..xmax).contains(x)).collect();
                TxSnapshot { xmin, xmax, xip }
            };
            let late = make(xmin, xmin + more, &running);
            let first = make(first_min, first_min + first_more, &first_running);
            if late.dominates(&first) {
                prop_assert!(late.sees(xid) || !first.sees(xid));
            }
        }
    }
}
