//! A case: one fault of one component at one place; and the order in which all cases are tried.

use super::fault::{ExpectedOutcome, Fault};
use super::mode::RunMode;
use super::place::{self, FaultPlace, PathLeg};
use crate::fleet::TestEquipment;
use crate::options::{OptionError, Process};
use crate::shop::KeyShape;
use plans::request::Seed;
use plans::step::StepKind;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use std::fmt;
use std::str::FromStr;

/// A case. Its text form is `COMPONENT@PLACE/FAULT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FaultCase {
    pub(super) component: Process,
    pub(super) place: FaultPlace,
    pub(super) fault: Fault,
    /// True if the target is a standby of the source, and the migration promotes it.
    pub(super) seeded: bool,
}

/// What the operator does in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OperatorPath {
    /// Approves and finishes.
    Forward,
    /// Approves, and rolls back during the hold.
    Back,
    /// Approves, rolls back, cuts over again and finishes.
    BackAndForth,
    /// Aborts before the flip.
    Abort,
}

/// Returns every case, grouped by component and place. With `Seed::Standby` all migrations are seeded from a standby;
/// otherwise only those with a fault at a place that other migrations do not pass.
pub(super) fn all(seeding: Seed) -> Vec<Vec<FaultCase>> {
    let mut pairs = Vec::new();
    for place in place::all() {
        let seeded = seeding == Seed::Standby || place.is_only_seeded();
        if seeded && !place.is_passed_seeded() {
            continue;
        }
        for component in Process::ALL {
            let case = |fault| FaultCase {
                component,
                place: place.clone(),
                fault,
                seeded,
            };
            let faults = Fault::possible_at(component, &place).into_iter();
            let faults = faults.filter(|fault| !seeded || fault.is_possible_everywhere());
            pairs.push(faults.map(case).collect());
        }
    }
    pairs
}

/// Returns every case in an order that depends on the seed. Each component gets one fault at each place before it gets
/// a second one there.
pub(super) fn shuffled(seed: u64, seeding: Seed) -> Vec<FaultCase> {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut pairs = all(seeding);
    pairs.iter_mut().for_each(|faults| faults.shuffle(&mut rng));
    let max_faults = pairs.iter().map(Vec::len).max().unwrap_or_default();
    let mut cases = Vec::new();
    for round in 0..max_faults {
        let mut next: Vec<FaultCase> = pairs.iter().filter_map(|f| f.get(round).cloned()).collect();
        next.shuffle(&mut rng);
        cases.extend(next);
    }
    cases
}

impl FaultCase {
    /// Returns the seed of the case's run number `pass`, from 0, in injection sessions with the seed `session_seed`.
    pub(super) fn seed(&self, session_seed: u64, pass: u64) -> u64 {
        // FNV-1a gives the same result on every machine and in every version.
        let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let name = self.to_string();
        let numbers = session_seed
            .to_le_bytes()
            .into_iter()
            .chain(pass.to_le_bytes());
        let hash = name.bytes().chain(numbers).fold(0xcbf2_9ce4_8422_2325, mix);
        (hash ^ (hash >> 29)) % 1_000_000_000
    }

    /// Returns what the operator does in the run with this seed.
    pub(super) fn operator_path(&self, seed: u64) -> OperatorPath {
        let offline = RunMode::of(self, seed) == RunMode::Offline;
        let paths: &[OperatorPath] = match self.place.leg {
            leg if self.permits_only_forward(leg) => &[OperatorPath::Forward],
            // An offline move has no reverse stream.
            PathLeg::Before if offline => &[OperatorPath::Forward, OperatorPath::Abort],
            PathLeg::Flipped if offline => &[OperatorPath::Forward],
            PathLeg::Before => &[
                OperatorPath::Forward,
                OperatorPath::Back,
                OperatorPath::BackAndForth,
                OperatorPath::Abort,
            ],
            PathLeg::Flipped => &[
                OperatorPath::Forward,
                OperatorPath::Back,
                OperatorPath::BackAndForth,
            ],
            PathLeg::Finish => &[OperatorPath::Forward],
            PathLeg::Back => &[OperatorPath::Back, OperatorPath::BackAndForth],
            PathLeg::BackFinish => &[OperatorPath::Back],
            PathLeg::Unwind => &[OperatorPath::Abort],
        };
        let index = usize::try_from(seed).unwrap_or_default() % paths.len();
        paths[index]
    }
}

impl FaultCase {
    /// Returns the permitted outcome.
    pub(super) fn expected(&self) -> ExpectedOutcome {
        self.fault.expected()
    }

    /// Returns whether a stream advances the slot of the server that fails over while a process waits at the place. In a
    /// cutover the wait would end the attempt, and the next one could flip before the failover.
    pub(super) fn stream_advances_slot(&self) -> bool {
        let step = self.place.step;
        match self.component {
            Process::Source => {
                let is_in_stream = ["capture.spooled", "catch_up.batch_applied"];
                let has_forward_stream = step == StepKind::Copy
                    || step == StepKind::HoldBack
                    || step != StepKind::Cutover && self.place.is_between_copy_and_flip();
                has_forward_stream && !is_in_stream.contains(&self.place.name.as_str())
            }
            Process::Target => step == StepKind::Hold,
            Process::Agent | Process::Controller | Process::Store => false,
        }
    }

    /// Returns whether the run waits at the end of the copy until the standby of the source has a copy of the slot. At
    /// places after that the stream does not always advance the slot.
    pub(super) fn waits_for_slot_in_copy(&self) -> bool {
        (self.fault, self.component) == (Fault::Failover, Process::Source)
            && self.place.is_between_copy_and_flip()
    }

    /// Returns whether the run waits before the cutover until the standby has a copy of the slot: that of the reverse
    /// stream on the target, or that of the forward stream on a source that fails over in the cutover.
    pub(super) fn waits_for_slot_before_cutover(&self) -> bool {
        let in_cutover = self.place.step == StepKind::Cutover && self.place.leg == PathLeg::Before;
        let is_source = self.component == Process::Source;
        self.fault == Fault::Failover && (self.may_lose_reverse_slot() || is_source && in_cutover)
    }

    /// Returns whether the target may lose the slot of the reverse stream after the flip. Then a rollback is refused, and
    /// the rows on the source stay outdated.
    pub(super) fn may_lose_reverse_slot(&self) -> bool {
        let may_be_flipped = self.place.is_after_seal() || self.place.leg != PathLeg::Before;
        (self.fault.promotes_standby() || self.fault.loses_slots())
            && self.component == Process::Target
            && may_be_flipped
    }

    /// Returns whether the case is possible with such keys. The writes of some faults are to tables with a key column, and a
    /// standby can be the target only if every table has the key's columns.
    pub(super) fn is_possible_with(&self, keys: KeyShape) -> bool {
        let every_table_has_columns = !keys.has_whole_tables() && keys != KeyShape::Dependents;
        let may_write = !keys.has_whole_tables();
        (may_write || !self.fault.writes_rows()) && (every_table_has_columns || !self.seeded)
    }

    /// Returns whether the fault restores the source to a state before the flip.
    pub(super) fn restores_source(&self) -> bool {
        (self.fault, self.component) == (Fault::Restored, Process::Source)
    }

    /// Returns whether the fault permits only one path: it can be detected only before the flip, or it restores a state
    /// before the flip.
    fn permits_only_forward(&self, leg: PathLeg) -> bool {
        self.restores_source() || leg == PathLeg::Before && self.expected() != ExpectedOutcome::Ends
    }
}

impl FaultCase {
    /// Returns the equipment of servers and programs that the fault needs.
    pub(super) fn equipment(&self) -> TestEquipment {
        if self.seeded {
            return TestEquipment::Standby;
        }
        match (self.fault, self.component) {
            (Fault::DiskFull, Process::Agent) => TestEquipment::SmallSpools,
            (Fault::DiskFull, _) => TestEquipment::SmallDatabase,
            (Fault::ClockForward | Fault::ClockBack, server) => TestEquipment::OwnClock(server),
            (
                Fault::Kill
                | Fault::Stop
                | Fault::Cut
                | Fault::Hole
                | Fault::Reply
                | Fault::Terminate
                | Fault::SlotDropped
                | Fault::SlotLost
                | Fault::ForeignWrite
                | Fault::LongWriter
                | Fault::Failover
                | Fault::LaggingFailover
                | Fault::Restored
                | Fault::Prepared
                | Fault::SwappedDsn
                | Fault::DuplicateAgentName,
                _,
            ) => TestEquipment::Plain,
        }
    }
}

impl fmt::Display for FaultCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}/{}", self.component, self.place, self.fault)
    }
}

impl fmt::Display for OperatorPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Forward => "forward",
            Self::Back => "back",
            Self::BackAndForth => "back and forth",
            Self::Abort => "abort",
        })
    }
}

/// A filter for cases: `COMPONENT@STEP/FAULT`. A place can replace the step, and the fault can be omitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseFilter {
    text: String,
    component: Process,
    place: String,
    fault: Option<Fault>,
}

impl CaseFilter {
    pub(super) fn admits(&self, case: &FaultCase) -> bool {
        let place = case.place.name == self.place || case.place.step.name() == self.place;
        let fault = self.fault.is_none_or(|fault| fault == case.fault);
        case.component == self.component && place && fault
    }
}

impl fmt::Display for CaseFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for CaseFilter {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        let unknown = || OptionError::Case {
            text: text.to_owned(),
            faults: Fault::names(),
        };
        let (component, rest) = text.split_once('@').ok_or_else(unknown)?;
        let (place, fault) = match rest.split_once('/') {
            Some((place, fault)) => (place, Some(Fault::parse(fault).ok_or_else(unknown)?)),
            None => (rest, None),
        };
        let component = Process::ALL.into_iter().find(|it| it.name() == component);
        let filter = Self {
            text: text.to_owned(),
            component: component.ok_or_else(unknown)?,
            place: place.to_owned(),
            fault,
        };
        let cases = [Seed::Copy, Seed::Standby].map(all);
        let mut cases = cases.iter().flatten().flatten();
        let matches_a_case = cases.any(|case| filter.admits(case));
        matches_a_case.then_some(filter).ok_or_else(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_component_has_a_fault_at_every_place_before_any_pair_has_a_second_one() {
        let cases = shuffled(7, Seed::Copy);
        let pair = |case: &FaultCase| format!("{}@{}", case.component, case.place);
        let pairs = all(Seed::Copy).len();
        let first: BTreeSet<String> = cases[..pairs].iter().map(pair).collect();
        assert_eq!(first.len(), pairs);
        let all: BTreeSet<String> = cases.iter().map(FaultCase::to_string).collect();
        assert_eq!(all.len(), cases.len());
    }

    #[test]
    fn seeds_and_order_are_repeatable() {
        assert_eq!(shuffled(7, Seed::Copy), shuffled(7, Seed::Copy));
        assert_ne!(shuffled(7, Seed::Copy), shuffled(8, Seed::Copy));
        let case = &shuffled(7, Seed::Copy)[0];
        assert_eq!(case.seed(7, 0), case.seed(7, 0));
        assert_ne!(case.seed(7, 0), case.seed(7, 1));
    }

    #[test]
    fn a_case_is_named_by_its_step_or_its_place() {
        let only: CaseFilter = "agent@copy/kill".parse().unwrap();
        let cases = shuffled(1, Seed::Copy);
        let found: Vec<&FaultCase> = cases.iter().filter(|case| only.admits(case)).collect();
        assert!(found.len() > 2);
        for case in cases.iter().step_by(40) {
            let only: CaseFilter = case.to_string().parse().unwrap();
            assert!(only.admits(case), "{case}");
        }
        for wrong in ["copy/kill", "agent@lunch", "agent@copy/hiccup", "disk@copy"] {
            assert!(wrong.parse::<CaseFilter>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_seeded_migration_has_the_places_that_it_passes_and_faults_that_fit_everywhere() {
        let seeded = shuffled(1, Seed::Standby);
        assert!(seeded.iter().all(|case| case.seeded));
        let has = |text: &str| seeded.iter().any(|case| case.to_string() == text);
        for case in [
            "target@promote.requested/kill",
            "store@controller.promote.settled/kill",
            "agent@drop_surplus.batch_deleted/kill",
            "source@cutover.sealed/kill",
            "agent@unwind.started/kill",
        ] {
            assert!(has(case), "{case}");
        }
        assert!(!has("agent@copy.half/kill") && !has("source@verify.compared/slot-lost"));
        let usual = shuffled(1, Seed::Copy);
        let is_promote = |case: &&FaultCase| case.place.step.name() == "promote";
        assert!(usual.iter().filter(is_promote).all(|case| case.seeded));
        assert!(usual.iter().any(|case| is_promote(&case)));
    }
}
