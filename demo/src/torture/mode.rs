//! The mode of a run's migration: online with asynchronous or synchronous dual-write, or offline.

use super::case::FaultCase;
use plans::request::{self, DualWrite};
use plans::step::StepKind;
use std::fmt;

/// A number below this one determines the mode. 0: offline, if the case permits it.
const MODE_NUMBERS: u64 = 8;
/// The numbers of synchronous runs. All other runs are asynchronous.
const SYNCHRONOUS_NUMBERS: std::ops::RangeInclusive<u64> = 1..=2;

/// The mode of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunMode {
    /// Online. The other shard follows asynchronously.
    Asynchronous,
    /// Online. A write to a moving key is acknowledged when it is durable on both shards.
    Synchronous,
    /// The keys are read-only from before the copy to the flip.
    Offline,
    /// Online. The target is a standby of the source, and the migration promotes it.
    Seeded,
}

impl RunMode {
    /// Returns the mode of the run of a case with this seed.
    pub(super) fn of(case: &FaultCase, seed: u64) -> Self {
        if case.seeded {
            return Self::Seeded;
        }
        if case.place.step == StepKind::SetReadOnly {
            return Self::Offline;
        }
        // The mode does not depend on the bits of the seed that determine other choices.
        let number = case.seed(seed, u64::MAX) % MODE_NUMBERS;
        let permits_offline = case.place.is_passed_offline()
            && case.fault.is_possible_offline()
            && !case.restores_source();
        // With a failover, commits wait for the standby only. A source that was restored has no standby.
        let permits_synchronous = !case.fault.promotes_standby() && !case.restores_source();
        if number == 0 && permits_offline {
            Self::Offline
        } else if permits_synchronous && SYNCHRONOUS_NUMBERS.contains(&number) {
            Self::Synchronous
        } else {
            Self::Asynchronous
        }
    }

    /// Returns the options of the request.
    pub(super) fn options(self) -> request::Options {
        let usual = request::Options::default();
        match self {
            Self::Asynchronous => usual,
            Self::Synchronous => request::Options {
                dual_write: DualWrite::Synchronous,
                ..usual
            },
            Self::Seeded => request::Options {
                seed: request::Seed::Standby,
                ..usual
            },
            Self::Offline => request::Options {
                mode: request::Mode::Offline,
                ..usual
            },
        }
    }
}

impl fmt::Display for RunMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Asynchronous => "asynchronous",
            Self::Synchronous => "synchronous",
            Self::Offline => "offline",
            Self::Seeded => "seeded",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::case::{OperatorPath, shuffled};
    use super::super::place::PathLeg;
    use super::*;

    #[test]
    fn case_and_seed_determine_the_mode_and_every_mode_occurs() {
        let cases = shuffled(1, request::Seed::Copy);
        let modes = |pass| {
            let mode = |case: &FaultCase| RunMode::of(case, case.seed(1, pass));
            cases.iter().map(mode).collect::<Vec<_>>()
        };
        assert_eq!(modes(0), modes(0));
        assert_ne!(modes(0), modes(1));
        let count = |wanted| modes(0).iter().filter(|mode| **mode == wanted).count();
        let all = cases.len();
        let synchronous = count(RunMode::Synchronous);
        assert!(
            synchronous > all / 6 && synchronous < all / 3,
            "{synchronous} of {all}"
        );
        let offline = count(RunMode::Offline);
        assert!(
            offline > all / 20 && offline < all / 5,
            "{offline} of {all}"
        );
    }

    #[test]
    fn places_of_offline_migrations_have_offline_runs_and_places_of_online_ones_do_not() {
        for case in shuffled(1, request::Seed::Copy) {
            for seed in 0..40 {
                let offline = RunMode::of(&case, seed) == RunMode::Offline;
                let only = case.place.name.contains("set_read_only");
                assert!(offline || !only, "{case}");
                if !offline {
                    continue;
                }
                let captured = [
                    "capture", "catch_up", "reverse", "rollback", "_back", "drop_new",
                ];
                let name = &case.place.name;
                assert!(captured.iter().all(|part| !name.contains(part)), "{case}");
                let path = case.operator_path(seed);
                assert!(
                    matches!(path, OperatorPath::Forward | OperatorPath::Abort),
                    "{case}: {path}"
                );
                assert!(
                    case.place.leg != PathLeg::Unwind || path == OperatorPath::Abort,
                    "{case}"
                );
            }
        }
    }
}
