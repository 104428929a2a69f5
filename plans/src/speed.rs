//! How long moves are expected to take, from the speed of an earlier migration or an assumed one.
//!
//! The estimate covers the steps up to the comparison of rows. It does not contain waits: for an approval, for permitted
//! hours, for the throttle, for other migrations.

use crate::id::MigrationId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The speed at which a copy with its indexes is assumed to run, in bytes of heap per second.
const ASSUMED: i64 = 30 << 20;

/// Seconds that a move takes whatever its size is.
const FIXED_S: (i64, i64) = (5, 30);

/// The speed of a whole move, from its copy to the comparison of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopySpeed {
    /// Bytes of heap per second.
    bytes_per_s: i64,
    /// The migration that moved rows at this speed; `None` if the speed is assumed.
    measured_by: Option<MigrationId>,
}

/// The time that a move, or all moves of a plan, are expected to take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DurationEstimate {
    /// The shortest expected time, in seconds.
    pub least_s: i64,
    /// The longest expected time, in seconds.
    pub most_s: i64,
    /// The speed behind the estimate: bytes of heap per second.
    pub bytes_per_s: i64,
    /// The migration that moved rows at this speed. Without it the speed is assumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_by: Option<MigrationId>,
}

impl CopySpeed {
    /// Returns the speed that is assumed if no earlier migration shows one.
    #[must_use]
    pub const fn assumed() -> Self {
        Self {
            bytes_per_s: ASSUMED,
            measured_by: None,
        }
    }

    /// Returns the speed of a migration that moved `bytes` of heap in `seconds`; `None` if nothing can be concluded.
    #[must_use]
    pub fn measured(migration: &MigrationId, bytes: i64, seconds: i64) -> Option<Self> {
        let bytes_per_s = bytes.checked_div(seconds)?;
        (seconds > 0 && bytes_per_s > 0).then(|| Self {
            bytes_per_s,
            measured_by: Some(migration.clone()),
        })
    }

    /// Returns how long a move of so many bytes of heap is expected to take.
    #[must_use]
    pub fn duration(&self, bytes: i64) -> DurationEstimate {
        let seconds = bytes.max(0) / self.bytes_per_s;
        let (least, most) = match self.measured_by {
            Some(_) => (seconds / 3 * 2, seconds.saturating_mul(3) / 2),
            None => (seconds / 3, seconds.saturating_mul(3)),
        };
        DurationEstimate {
            least_s: least.saturating_add(FIXED_S.0),
            most_s: most.saturating_add(FIXED_S.1),
            bytes_per_s: self.bytes_per_s,
            measured_by: self.measured_by.clone(),
        }
    }
}

impl DurationEstimate {
    /// Returns the time of several moves of which at most `at_once` run at the same time; `None` without moves. They share
    /// disks and cores at worst, so the longest time is that of one after the other.
    #[must_use]
    pub fn of_moves(moves: &[Self], at_once: u32) -> Option<Self> {
        let slowest = moves.iter().max_by_key(|own| own.least_s)?;
        let sum = |figure: fn(&Self) -> i64| moves.iter().map(figure).fold(0, i64::saturating_add);
        let side_by_side = sum(|own| own.least_s) / i64::from(at_once.max(1));
        Some(Self {
            least_s: slowest.least_s.max(side_by_side),
            most_s: sum(|own| own.most_s),
            ..slowest.clone()
        })
    }

    /// Returns the range for people, such as `4 to 40 min`.
    #[must_use]
    pub fn range(&self) -> String {
        let (least, unit) = in_units(self.least_s);
        let (most, most_unit) = in_units(self.most_s);
        match (unit == most_unit, least == most) {
            (true, true) => format!("{most} {most_unit}"),
            (true, false) => format!("{least} to {most} {most_unit}"),
            (false, _) => format!("{least} {unit} to {most} {most_unit}"),
        }
    }

    /// Returns the part of the time that does not depend on the size of a move, for people, such as `5 to 30 s`.
    #[must_use]
    pub fn fixed() -> String {
        format!("{} to {} s", FIXED_S.0, FIXED_S.1)
    }

    /// Returns where the speed comes from, for people.
    #[must_use]
    pub fn basis(&self) -> String {
        let speed = crate::render::bytes(self.bytes_per_s);
        match &self.measured_by {
            Some(migration) => format!("at the {speed}/s of migration {migration}"),
            None => format!("at an assumed {speed}/s"),
        }
    }
}

/// Returns a number of whole units, rounded up.
fn in_units(seconds: i64) -> (i64, &'static str) {
    let (unit_s, unit) = match seconds {
        ..120 => (1, "s"),
        120..7_200 => (60, "min"),
        7_200..172_800 => (3_600, "h"),
        _ => (86_400, "d"),
    };
    (seconds.saturating_add(unit_s - 1) / unit_s, unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: i64 = 1 << 30;

    fn measured(bytes: i64, seconds: i64) -> Option<CopySpeed> {
        CopySpeed::measured(&MigrationId("m".to_owned()), bytes, seconds)
    }

    #[test]
    fn a_measured_speed_narrows_the_range() {
        let assumed = CopySpeed::assumed().duration(60 * GIB);
        assert_eq!((assumed.least_s, assumed.most_s), (687, 6174));
        assert_eq!(assumed.range(), "12 to 103 min");
        assert_eq!(assumed.basis(), "at an assumed 30.0 MiB/s");
        let measured = measured(10 * GIB, 128).unwrap().duration(60 * GIB);
        assert_eq!((measured.least_s, measured.most_s), (517, 1182));
        assert_eq!(measured.range(), "9 to 20 min");
        assert_eq!(measured.basis(), "at the 80.0 MiB/s of migration m");
    }

    #[test]
    fn nothing_is_concluded_from_a_move_without_rows_or_time() {
        assert_eq!(measured(0, 10), None);
        assert_eq!(measured(5, 10), None);
        assert_eq!(measured(GIB, 0), None);
        assert_eq!(measured(GIB, -1), None);
    }

    #[test]
    fn units_fit_the_size() {
        let range = |least_s, most_s| {
            let speed = CopySpeed::assumed();
            DurationEstimate {
                least_s,
                most_s,
                ..speed.duration(0)
            }
            .range()
        };
        assert_eq!(CopySpeed::assumed().duration(0).range(), "5 to 30 s");
        assert_eq!(range(90, 121), "90 s to 3 min");
        assert_eq!(range(7_000, 7_200), "117 min to 2 h");
        assert_eq!(range(200_000, 400_000), "3 to 5 d");
        assert_eq!(range(3_601, 3_610), "61 min");
    }

    #[test]
    fn moves_take_at_least_as_long_as_the_slowest_and_at_most_one_after_the_other() {
        let of = |bytes| CopySpeed::assumed().duration(bytes);
        let total = |moves: &[DurationEstimate], at_once| {
            let total = DurationEstimate::of_moves(moves, at_once)?;
            Some((total.least_s, total.most_s))
        };
        let (small, large) = (of(GIB), of(100 * GIB));
        assert_eq!(total(&[], 2), None);
        assert_eq!(
            total(std::slice::from_ref(&large), 2),
            Some((large.least_s, large.most_s))
        );
        let both = [small.clone(), large.clone()];
        let sum = small.most_s + large.most_s;
        assert_eq!(total(&both, 2), Some((large.least_s, sum)));
        assert_eq!(total(&both, 1), Some((small.least_s + large.least_s, sum)));
    }
}
