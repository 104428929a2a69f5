//! The measures by which shards are compared, and how uneven the fleet is by each.

use super::ProbedShard;
use crate::store::ShardRecord;

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum FleetMeasure {
    /// The size of the database on disk.
    #[default]
    Size,
    /// The estimated number of rows.
    Rows,
    /// The rows that are written per second.
    Writes,
    /// The sessions on the server.
    Connections,
}

impl FleetMeasure {
    /// All measures.
    pub(crate) const ALL: [Self; 4] = [Self::Size, Self::Rows, Self::Writes, Self::Connections];

    /// Returns the measure with this name; the default one for every other name.
    pub(crate) fn parse(name: &str) -> Self {
        let mut all = Self::ALL.into_iter();
        all.find(|measure| measure.name() == name)
            .unwrap_or_default()
    }

    /// Returns the name in JSON, in URLs and on pages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Size => "size",
            Self::Rows => "rows",
            Self::Writes => "writes",
            Self::Connections => "connections",
        }
    }

    /// Returns the measured value of a shard; `None` if it was not measured.
    pub(crate) fn of(self, probed: &ProbedShard) -> Option<f64> {
        let activity = probed.activity.as_deref();
        match self {
            Self::Size => probed.figures.as_ref().map(|f| f.bytes as f64),
            Self::Rows => activity?.now.row_count.map(|rows| rows as f64),
            Self::Writes => activity?.written_per_second,
            Self::Connections => activity.map(|activity| f64::from(activity.now.connections)),
        }
    }

    /// Returns the value at which a shard is full, if it is known.
    pub(crate) fn limit(self, shard: &ShardRecord, probed: &ProbedShard) -> Option<f64> {
        match self {
            Self::Size => shard.space.map(|space| space as f64),
            Self::Rows | Self::Writes => None,
            Self::Connections => {
                let activity = probed.activity.as_deref()?;
                Some(f64::from(activity.now.max_connections))
            }
        }
    }

    /// Returns how many times its fair share the most loaded shard has. The fair share follows the capacity of the
    /// shards.
    ///
    /// `None` if fewer than two shards were measured, or if there is nothing to share. Standbys do not count.
    pub(crate) fn imbalance<'a>(
        self,
        shards: impl Iterator<Item = (&'a ShardRecord, &'a ProbedShard)>,
    ) -> Option<f64> {
        let primaries = shards.filter(|(shard, _)| !shard.is_standby());
        let measured: Vec<(f64, f64)> = primaries
            .filter_map(|(shard, probed)| Some((self.of(probed)?, f64::from(shard.capacity))))
            .collect();
        let total: f64 = measured.iter().map(|(value, _)| value).sum();
        let capacity: f64 = measured.iter().map(|(_, capacity)| capacity).sum();
        if measured.len() < 2 || total <= 0.0 || capacity <= 0.0 {
            return None;
        }
        let of_fair_share = |(value, own): &(f64, f64)| value * capacity / (total * own.max(1.0));
        measured.iter().map(of_fair_share).reduce(f64::max)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use plans::id::ShardName;
    use plans::inspection::inventory::DatabaseFigures;
    use std::collections::BTreeMap;

    pub(in crate::controller) fn shard(capacity: u32) -> ShardRecord {
        ShardRecord {
            name: ShardName::from("a"),
            number: 1,
            dsn: "host=x".to_owned(),
            labels: BTreeMap::new(),
            capacity,
            space: None,
            created_at: chrono::DateTime::UNIX_EPOCH,
            identity: None,
        }
    }

    pub(in crate::controller) fn sized(bytes: Option<u64>) -> ProbedShard {
        let figures = bytes.map(|bytes| DatabaseFigures {
            version: "17.2".to_owned(),
            bytes,
        });
        ProbedShard {
            figures,
            ..ProbedShard::default()
        }
    }

    fn of(measure: FleetMeasure, shards: &[(ShardRecord, ProbedShard)]) -> Option<f64> {
        measure.imbalance(shards.iter().map(|(shard, probed)| (shard, probed)))
    }

    #[test]
    fn the_fair_share_follows_the_capacity() {
        let even = [
            (shard(100), sized(Some(100))),
            (shard(300), sized(Some(300))),
        ];
        assert_eq!(of(FleetMeasure::Size, &even), Some(1.0));
        let uneven = [
            (shard(100), sized(Some(200))),
            (shard(300), sized(Some(200))),
        ];
        assert_eq!(of(FleetMeasure::Size, &uneven), Some(2.0));
    }

    #[test]
    fn what_was_not_measured_has_no_imbalance() {
        let shards = [(shard(100), sized(Some(100))), (shard(100), sized(None))];
        assert_eq!(of(FleetMeasure::Size, &shards), None);
        assert_eq!(of(FleetMeasure::Writes, &shards), None);
    }
}
