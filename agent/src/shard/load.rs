//! Health signals of a shard: sessions, locks, replicas, log, checkpoints, the time of a commit.

use std::collections::VecDeque;
use std::time::Duration;

use connect::Connected;
use plans::names::PROBE_PREFIX;
use plans::throttle::{ReplicaLag, ShardLoad};
use tokio::time::Instant;

use super::epoch::{self, EpochProof, EpochToken};
use crate::error::{StepError, WithIntent};

/// Shortest interval between two recorded positions.
const POSITION_INTERVAL: Duration = Duration::from_secs(1);
/// The number of positions that are kept: ten minutes.
const MAX_POSITIONS: usize = 600;

/// The period over which the growth of the log is measured.
const RATE_PERIOD: Duration = Duration::from_secs(5);
/// How long a checkpoint is reported after its end was observed, so that it counts as one signal.
const REPORTED_FOR: Duration = Duration::from_secs(1);

/// The query: sessions other than Shardwright's, the position in the log, the standbys, and when the last checkpoint
/// began. It leaves out logical subscribers, which confirm at their own pace.
const PROBE_LOAD: &str = "
    select (select array[count(*) filter (where state = 'active'), count(*) filter (where wait_event_type = 'Lock')]
              from pg_catalog.pg_stat_activity
             where backend_type = 'client backend' and application_name not like 'shardwright%'),
           pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_lsn(), '0/0')::bigint,
           r.names, r.replayed, r.lags,
           (select extract(epoch from checkpoint_time)::float8 from pg_catalog.pg_control_checkpoint())
      from (select coalesce(pg_catalog.array_agg(application_name), '{}') as names,
                   coalesce(pg_catalog.array_agg(pg_catalog.pg_wal_lsn_diff(replay_lsn, '0/0')::bigint), '{}') as replayed,
                   coalesce(pg_catalog.array_agg(coalesce(extract(epoch from replay_lag), 0)::float8), '{}') as lags
              from pg_catalog.pg_stat_replication s
             where state = 'streaming' and replay_lsn is not null and application_name not like 'shardwright%'
               and not exists (select from pg_catalog.pg_replication_slots o where o.active_pid = s.pid and o.slot_type = 'logical')) r";

/// Recent positions of the log. The lag of a replica is the time since the log had the position that it has replayed,
/// by the agent's clock.
#[derive(Debug, Default)]
pub(crate) struct LogPositions(VecDeque<(Instant, i64)>);

impl LogPositions {
    /// Records a position, unless the last one is too recent.
    fn record(&mut self, at: Instant, position: i64) {
        let due = self
            .0
            .back()
            .is_none_or(|(last, _)| at.duration_since(*last) >= POSITION_INTERVAL);
        if due {
            self.0.push_back((at, position));
        }
        while self.0.len() > MAX_POSITIONS {
            self.0.pop_front();
        }
    }

    /// Returns how many bytes per second were written recently, or `None` if no position is old enough.
    fn bytes_per_second(&self, position: i64, now: Instant) -> Option<f64> {
        let age = |at: &Instant| now.duration_since(*at);
        let before = self.0.iter().rev().find(|(at, _)| age(at) >= RATE_PERIOD);
        before.map(|(at, known)| (position - known) as f64 / age(at).as_secs_f64())
    }

    /// Returns the seconds since the log had the position `replayed`, but at least the lag that the server reports. If
    /// all is replayed, the result is 0.
    fn lag_seconds(&self, replayed: i64, position: i64, reported_s: f64, now: Instant) -> f64 {
        if replayed >= position {
            return 0.0;
        }
        let first_missing = self.0.iter().find(|(_, known)| *known > replayed);
        let measured = first_missing.map_or(0.0, |(at, _)| now.duration_since(*at).as_secs_f64());
        measured.max(reported_s)
    }
}

/// Earlier health signals of a shard.
#[derive(Debug, Default)]
pub(crate) struct LoadHistory {
    positions: LogPositions,
    checkpoints: CheckpointTimes,
}

/// The start of the last checkpoint, in seconds of the server's clock.
#[derive(Debug, Default)]
struct CheckpointTimes {
    began_s: Option<f64>,
    /// The interval between the last two checkpoints, and when it was observed.
    interval: Option<(f64, Instant)>,
}

impl CheckpointTimes {
    /// Records the start of the last checkpoint. Returns the interval between the last two if the last one has just
    /// ended.
    fn record_start(&mut self, began_s: f64, now: Instant) -> Option<f64> {
        let before = self.began_s.replace(began_s).unwrap_or(began_s);
        if began_s > before {
            self.interval = Some((began_s - before, now));
        }
        let (interval, at) = self.interval?;
        (now.duration_since(at) < REPORTED_FOR).then_some(interval)
    }
}

/// Probes the shard once. Without the privilege to read statistics of other roles it counts only sessions of its own
/// role.
pub(crate) async fn probe(
    session: &Connected,
    history: &mut LoadHistory,
) -> Result<ShardLoad, StepError> {
    let shard = session.name();
    let what = format!("shard {shard}: reading health signals");
    let rows = session.query_prepared(PROBE_LOAD, &[]).await.at(&what)?;
    let Some(row) = rows.first() else {
        return Ok(ShardLoad::default());
    };
    let now = Instant::now();
    let (sessions, position): (Vec<i64>, i64) = (row.get(0), row.get(1));
    let positions = &mut history.positions;
    positions.record(now, position);
    let (names, replayed, lags): (Vec<String>, Vec<i64>, Vec<f64>) =
        (row.get(2), row.get(3), row.get(4));
    let replicas = names.into_iter().zip(replayed).zip(lags);
    let replicas = replicas.map(|((name, replayed), reported_s)| ReplicaLag {
        name,
        lag_s: positions.lag_seconds(replayed, position, reported_s, now),
    });
    let count = |at: usize| {
        sessions
            .get(at)
            .and_then(|count| u32::try_from(*count).ok())
    };
    Ok(ShardLoad {
        shard: shard.to_owned(),
        replicas: replicas.collect(),
        active: count(0),
        waiting: count(1),
        commit_ms: None,
        wal_bytes_s: positions.bytes_per_second(position, now),
        checkpoint_s: history.checkpoints.record_start(row.get(5), now),
    })
}

/// Commits a transaction without a row: a logical message, after the proof of the epoch (I7).
pub(crate) async fn time_commit(session: &Connected, token: &EpochToken) -> Result<(), StepError> {
    let shard = session.name();
    let sql =
        format!("select pg_catalog.pg_logical_emit_message(true, '{PROBE_PREFIX}', ''::text)");
    let what = format!("shard {shard}: timing a commit");
    epoch::transact(session, token, EpochProof::Work, &sql, &what)
        .await
        .map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_grows_by_what_was_written_lately() {
        let mut positions = LogPositions::default();
        let start = Instant::now();
        let at = |second: u64| start + Duration::from_secs(second);
        for second in 0..10 {
            positions.record(at(second), 0);
        }
        assert_eq!(LogPositions::default().bytes_per_second(1000, at(0)), None);
        assert_eq!(positions.bytes_per_second(6000, at(10)), Some(1200.0));
    }

    #[test]
    fn a_checkpoint_is_reported_for_a_second() {
        let mut checkpoints = CheckpointTimes::default();
        let start = Instant::now();
        let at = |millis: u64| start + Duration::from_millis(millis);
        assert_eq!(checkpoints.record_start(100.0, at(0)), None);
        assert_eq!(checkpoints.record_start(107.0, at(1)), Some(7.0));
        assert_eq!(checkpoints.record_start(107.0, at(1000)), Some(7.0));
        assert_eq!(checkpoints.record_start(107.0, at(1001)), None);
        assert_eq!(checkpoints.record_start(110.0, at(1500)), Some(3.0));
    }

    #[test]
    fn the_lag_of_a_replica_that_does_not_replay_grows_with_the_clock() {
        let mut positions = LogPositions::default();
        let start = Instant::now();
        for second in 0..30 {
            let at = start + Duration::from_secs(second);
            positions.record(at, 100 * (i64::try_from(second).expect("small") + 1));
        }
        let now = start + Duration::from_secs(29);
        // The replica had replayed everything that existed after ten seconds.
        assert!((positions.lag_seconds(1000, 3000, 0.5, now) - 19.0).abs() < 0.01);
        assert!((positions.lag_seconds(1000, 3000, 25.0, now) - 25.0).abs() < 0.01);
        assert!(positions.lag_seconds(3000, 3000, 25.0, now) < 0.01);
    }
}
