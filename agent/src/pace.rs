//! How fast heavy work of a migration may go: a share of the time, a rate, hours, a number of streams.
//!
//! One [`Pace`] is shared by everything that a migration does on this agent. Work that can be cut into pieces takes
//! a [`Turn`] and rests after each piece, in proportion, so that the load on the shards is even; it never rests with
//! something in its hands that is due. [`watch`] finds the share. Nothing here is used by the change streams, by the
//! cutover or by what is done while writes are refused.

mod bucket;
#[cfg(test)]
mod tests;
mod watch;

pub(crate) use watch::govern;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use plans::throttle::{
    Governor, Hours, LEAST_SHARE, Latency, Limits, Reading, ShardLoad, Signals, Slowed,
};
use tokio::sync::watch as channel;
use tokio::time::Instant;

use bucket::Bucket;

/// Longest sleep between two looks at share and rate.
const SLICE: Duration = Duration::from_millis(100);
/// A rest that is shorter is put off until it is worth a timer.
const SHORTEST: Duration = Duration::from_millis(2);
/// Of one piece of work no more is paid for: it may have waited for a lock.
const MOST_WORK: Duration = Duration::from_secs(10);
/// How long an index waits for a share above the least: it cannot be slowed once it is being built.
const PATIENCE: Duration = Duration::from_secs(600);

/// What holds now.
#[derive(Debug, Clone)]
struct State {
    limits: Limits,
    share: f64,
}

/// The pace of one migration.
#[derive(Debug)]
pub(crate) struct Pace {
    state: channel::Sender<State>,
    application: Mutex<Option<Reading>>,
    governor: Mutex<Governor>,
    bucket: Mutex<Bucket>,
    /// Somebody has waited for the rate since the last look.
    rate_bound: AtomicBool,
}

impl Default for Pace {
    /// As fast as possible.
    fn default() -> Self {
        Self {
            state: channel::Sender::new(State {
                limits: Limits::default(),
                share: 1.0,
            }),
            application: Mutex::default(),
            governor: Mutex::default(),
            bucket: Mutex::default(),
            rate_bound: AtomicBool::new(false),
        }
    }
}

impl Pace {
    /// Puts limits in force.
    pub(crate) fn limit(&self, limits: &Limits) {
        self.state.send_if_modified(|state| {
            let changed = state.limits != *limits;
            if changed {
                state.limits.clone_from(limits);
            }
            changed
        });
    }

    /// Takes what the application reported of itself.
    pub(crate) fn hear(&self, latency: Latency) {
        *lock(&self.application) = Some(Reading {
            p99_ms: latency.p99_ms,
            at_ms: now_ms().saturating_sub(latency.age_ms),
        });
    }

    /// COPY streams side by side.
    pub(crate) fn streams(&self) -> u32 {
        self.state.borrow().limits.streams
    }

    /// Returns once the stream with this number, from 0, may run.
    pub(crate) async fn allows(&self, stream: u32) {
        // Never closed: the sender is ours.
        let mut seen = self.state.subscribe();
        let _ = seen.wait_for(|state| stream < state.limits.streams).await;
    }

    /// The hours that keep heavy work from beginning now.
    pub(crate) fn closed(&self) -> Option<Hours> {
        let hours = self.state.borrow().limits.throttle.hours;
        hours.filter(|hours| !hours.contains(now_ms()))
    }

    /// Returns once heavy work may begin.
    pub(crate) async fn until_open(&self) {
        let mut seen = self.state.subscribe();
        while let Some(hours) = self.closed() {
            let left = hours.next(now_ms()).saturating_sub(now_ms()).max(1);
            let left = Duration::from_millis(left.unsigned_abs());
            let _ = tokio::time::timeout(left, seen.changed()).await;
        }
    }

    /// Returns once something may begin that cannot be slowed: within the hours, and while the share is above the
    /// least or has been at it for ten minutes.
    pub(crate) async fn until_worth_beginning(&self) {
        self.until_open().await;
        let mut seen = self.state.subscribe();
        let above = seen.wait_for(|state| state.share > LEAST_SHARE);
        let _ = tokio::time::timeout(PATIENCE, above).await;
    }

    /// Work that is about to be done piece by piece.
    pub(crate) fn turn(&self) -> Turn<'_> {
        Turn {
            pace: self,
            piece: Mutex::new(Piece {
                since: Instant::now(),
                owed: Duration::ZERO,
            }),
        }
    }

    /// Judges the signals; what holds the migration back from now on.
    fn judge(&self, shards: Vec<ShardLoad>) -> Option<Slowed> {
        let signals = Signals {
            application: *lock(&self.application),
            shards,
            rate_bound: self.rate_bound.swap(false, Ordering::Relaxed),
        };
        let throttle = self.state.borrow().limits.throttle.clone();
        let verdict = lock(&self.governor).observe(&throttle, &signals, now_ms());
        self.share(verdict.share);
        verdict.slowed()
    }

    /// Nobody judges any more: work goes at full speed until somebody does.
    fn free(&self) {
        self.share(1.0);
    }

    fn share(&self, share: f64) {
        self.state.send_if_modified(|state| {
            let changed = (state.share - share).abs() > f64::EPSILON;
            state.share = share;
            changed
        });
    }

    /// Rests for `work`, and for `bytes` at the rate; the work that is still to be rested for.
    async fn rest(&self, work: Duration, bytes: u64) -> Duration {
        let began = Instant::now();
        lock(&self.bucket).add(bytes);
        loop {
            let (share, rate) = {
                let state = self.state.borrow();
                (state.share, state.limits.throttle.rate_bytes_s)
            };
            let whole = work.mul_f64(1.0 / share.max(LEAST_SHARE) - 1.0);
            let rest = whole.saturating_sub(began.elapsed());
            let due = lock(&self.bucket).due(rate);
            let left = rest.max(due);
            if left < SHORTEST {
                let put_off = !whole.is_zero() && whole < SHORTEST;
                return if put_off { work } else { Duration::ZERO };
            }
            if due > rest {
                self.rate_bound.store(true, Ordering::Relaxed);
            }
            tokio::time::sleep(left.min(SLICE)).await;
        }
    }
}

/// Heavy work of one stream, piece by piece.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    pace: &'a Pace,
    piece: Mutex<Piece>,
}

#[derive(Debug)]
struct Piece {
    since: Instant,
    /// Work of pieces before, too short to rest for.
    owed: Duration,
}

impl Turn<'_> {
    /// A piece of `bytes` is done; rests as long as the pace asks for.
    pub(crate) async fn spend(&self, bytes: u64) {
        let work = {
            let piece = lock(&self.piece);
            (piece.since.elapsed() + piece.owed).min(MOST_WORK)
        };
        let owed = self.pace.rest(work, bytes).await;
        let mut piece = lock(&self.piece);
        piece.owed = owed;
        piece.since = Instant::now();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Milliseconds since 1970: hours are of the calendar.
fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}
