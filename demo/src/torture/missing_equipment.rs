//! Checks what this machine permits. Some faults need more than programs and servers, and are omitted if that is
//! missing.

use super::case::FaultCase;
use crate::error::DemoError;
use crate::fleet::{Clock, Disk, TestEquipment};

/// The reasons why equipment is missing; `None` if it is available.
#[derive(Debug, Clone, Default)]
pub(super) struct MissingEquipment {
    /// Separate disks.
    disk: Option<String>,
    /// Separate clocks.
    clock: Option<String>,
}

impl MissingEquipment {
    /// Creates each kind of equipment once, to find out whether it is possible.
    pub(super) fn find() -> Self {
        let reason = |error: DemoError| super::run::error_chain(&error);
        Self {
            disk: Disk::try_mount().err().map(reason),
            clock: Clock::build().err().map(reason),
        }
    }

    /// Returns the cases that can run on this machine, and for each missing equipment a text with the cases that need
    /// it.
    pub(super) fn split_possible(&self, cases: Vec<FaultCase>) -> (Vec<FaultCase>, Vec<String>) {
        let (possible, impossible): (Vec<FaultCase>, Vec<FaultCase>) = cases
            .into_iter()
            .partition(|case| self.missing(case).is_none());
        let mut left_out = Vec::new();
        for reason in [&self.disk, &self.clock].into_iter().flatten() {
            let same = impossible
                .iter()
                .filter(|case| self.missing(case) == Some(reason));
            let faults: std::collections::BTreeSet<&str> =
                same.clone().map(|case| case.fault.name()).collect();
            let faults: Vec<&str> = faults.into_iter().collect();
            let count = same.count();
            if count > 0 {
                left_out.push(format!("{count} cases of {}: {reason}", faults.join(", ")));
            }
        }
        (possible, left_out)
    }

    fn missing(&self, case: &FaultCase) -> Option<&String> {
        match case.equipment() {
            TestEquipment::Plain | TestEquipment::Standby => None,
            TestEquipment::SmallDatabase | TestEquipment::SmallSpools => self.disk.as_ref(),
            TestEquipment::OwnClock(_) => self.clock.as_ref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_without_their_equipment_are_omitted_and_listed() {
        let all = super::super::case::shuffled(1, plans::request::Seed::Copy);
        let (every, left_out) = MissingEquipment::default().split_possible(all.clone());
        assert_eq!((every.len(), left_out.len()), (all.len(), 0));
        let missing = MissingEquipment {
            disk: Some("no right to mount".to_owned()),
            clock: None,
        };
        let (some, left_out) = missing.split_possible(all.clone());
        assert!(some.iter().all(|case| case.fault.name() != "disk-full"));
        assert!(some.iter().any(|case| case.fault.name() == "clock-back"));
        let count = all.len() - some.len();
        let text = format!("{count} cases of disk-full: no right to mount");
        assert_eq!(left_out, [text]);
    }
}
