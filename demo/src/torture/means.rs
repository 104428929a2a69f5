//! Checks what this machine permits. Some faults need more than programs and servers, and are omitted if that is
//! missing.

use super::case::FaultCase;
use crate::error::DemoError;
use crate::fleet::{Clock, Disk, TestEquipment};

/// The reasons why equipment is missing; `None` if it is available.
#[derive(Debug, Clone, Default)]
pub(super) struct MissingMeans {
    /// Separate disks.
    disk: Option<String>,
    /// Separate clocks.
    clock: Option<String>,
}

impl MissingMeans {
    /// Tries all equipment once.
    pub(super) fn find() -> Self {
        let why = |error: DemoError| super::run::chain(&error);
        Self {
            disk: Disk::attempt().err().map(why),
            clock: Clock::build().err().map(why),
        }
    }

    /// Returns the cases that can run on this machine, and a sentence for each kind that cannot.
    pub(super) fn part(&self, cases: Vec<FaultCase>) -> (Vec<FaultCase>, Vec<String>) {
        let (can, cannot): (Vec<FaultCase>, Vec<FaultCase>) = cases
            .into_iter()
            .partition(|case| self.missing(case).is_none());
        let mut left_out = Vec::new();
        for why in [&self.disk, &self.clock].into_iter().flatten() {
            let same = cannot.iter().filter(|case| self.missing(case) == Some(why));
            let faults: std::collections::BTreeSet<&str> =
                same.clone().map(|case| case.fault.name()).collect();
            let faults: Vec<&str> = faults.into_iter().collect();
            let count = same.count();
            if count > 0 {
                left_out.push(format!("{count} cases of {}: {why}", faults.join(", ")));
            }
        }
        (can, left_out)
    }

    fn missing(&self, case: &FaultCase) -> Option<&String> {
        match case.outfit() {
            TestEquipment::Plain => None,
            TestEquipment::SmallDatabase | TestEquipment::SmallSpools => self.disk.as_ref(),
            TestEquipment::OwnClock(_) => self.clock.as_ref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_run_is_left_out_and_told() {
        let all = super::super::case::shuffled(1);
        let (every, left_out) = MissingMeans::default().part(all.clone());
        assert_eq!((every.len(), left_out.len()), (all.len(), 0));
        let means = MissingMeans {
            disk: Some("no right to mount".to_owned()),
            clock: None,
        };
        let (some, left_out) = means.part(all.clone());
        assert!(some.iter().all(|case| case.fault.name() != "disk-full"));
        assert!(some.iter().any(|case| case.fault.name() == "clock-back"));
        let count = all.len() - some.len();
        let text = format!("{count} cases of disk-full: no right to mount");
        assert_eq!(left_out, [text]);
    }
}
