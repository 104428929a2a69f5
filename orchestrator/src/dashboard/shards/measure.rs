//! The measures by which shards are compared, and how uneven the fleet is by each.

use super::state::ShardState;
use crate::view::figures::{count, file_size};

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::dashboard) enum FleetMeasure {
    /// The size of the database on disk.
    #[default]
    Size,
    /// The rows that are written per second.
    Writes,
    /// The sessions on the server.
    Connections,
}

impl FleetMeasure {
    /// All measures.
    pub(in crate::dashboard) const ALL: [Self; 3] = [Self::Size, Self::Writes, Self::Connections];

    /// Returns the measure with this name; the default one for every other name.
    pub(in crate::dashboard) fn parse(name: &str) -> Self {
        let mut all = Self::ALL.into_iter();
        all.find(|measure| measure.name() == name)
            .unwrap_or_default()
    }

    /// Returns the name in URLs and on pages.
    pub(in crate::dashboard) fn name(self) -> &'static str {
        match self {
            Self::Size => "size",
            Self::Writes => "writes",
            Self::Connections => "connections",
        }
    }

    /// Returns the measured value of a shard; `None` if it was not measured.
    pub(in crate::dashboard) fn of(self, shard: &ShardState<'_>) -> Option<f64> {
        let activity = shard.probed.activity.as_deref();
        match self {
            Self::Size => shard.probed.figures.as_ref().map(|f| f.bytes as f64),
            Self::Writes => activity?.written_per_second,
            Self::Connections => activity.map(|activity| f64::from(activity.now.connections)),
        }
    }

    /// Returns the value at which a shard is full, if it is known.
    pub(in crate::dashboard) fn limit(self, shard: &ShardState<'_>) -> Option<f64> {
        match self {
            Self::Size => shard.record.space.map(|space| space as f64),
            Self::Writes => None,
            Self::Connections => {
                let activity = shard.probed.activity.as_deref()?;
                Some(f64::from(activity.now.max_connections))
            }
        }
    }

    /// Returns a value with its unit.
    pub(in crate::dashboard) fn text(self, value: f64) -> String {
        match self {
            Self::Size => file_size(value as u64),
            Self::Writes => rate_text(value, "write"),
            Self::Connections => count(value as i64),
        }
    }
}

/// Returns a rate with its unit. A rate below one is not rounded to zero.
pub(in crate::dashboard) fn rate_text(per_second: f64, unit: &str) -> String {
    if per_second > 0.0 && per_second < 10.0 {
        return format!("{per_second:.1} {unit}s/s");
    }
    format!("{} {unit}s/s", count(per_second.round() as i64))
}

/// Returns how many times its fair share the most loaded shard has. The fair share follows the capacity of the shards.
///
/// `None` if fewer than two shards were measured, or if there is nothing to share. Standbys do not count.
pub(in crate::dashboard) fn imbalance(
    measure: FleetMeasure,
    shards: &[ShardState<'_>],
) -> Option<f64> {
    let primaries = shards.iter().filter(|shard| !shard.record.is_standby());
    let measured: Vec<(f64, f64)> = primaries
        .filter_map(|shard| Some((measure.of(shard)?, f64::from(shard.record.capacity))))
        .collect();
    let total: f64 = measured.iter().map(|(value, _)| value).sum();
    let capacity: f64 = measured.iter().map(|(_, capacity)| capacity).sum();
    if measured.len() < 2 || total <= 0.0 || capacity <= 0.0 {
        return None;
    }
    let of_fair_share = |(value, own): &(f64, f64)| value * capacity / (total * own.max(1.0));
    measured.iter().map(of_fair_share).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::super::state::tests::{record, sized};
    use super::*;

    #[test]
    fn the_fair_share_follows_the_capacity() {
        let (a, mut b) = (record("a"), record("b"));
        b.capacity = 3 * a.capacity;
        let even = [sized(&a, Some(100)), sized(&b, Some(300))];
        assert_eq!(imbalance(FleetMeasure::Size, &even), Some(1.0));
        let uneven = [sized(&a, Some(200)), sized(&b, Some(200))];
        assert_eq!(imbalance(FleetMeasure::Size, &uneven), Some(2.0));
    }

    #[test]
    fn what_was_not_measured_has_no_imbalance() {
        let (a, b) = (record("a"), record("b"));
        let shards = [sized(&a, Some(100)), sized(&b, None)];
        assert_eq!(imbalance(FleetMeasure::Size, &shards), None);
        assert_eq!(imbalance(FleetMeasure::Writes, &shards), None);
    }

    #[test]
    fn a_slow_rate_is_not_zero() {
        assert_eq!(rate_text(0.04, "row"), "0.0 rows/s");
        assert_eq!(rate_text(0.2, "row"), "0.2 rows/s");
        assert_eq!(rate_text(1234.4, "row"), "1\u{202f}234 rows/s");
        assert_eq!(rate_text(0.0, "row"), "0 rows/s");
    }
}
