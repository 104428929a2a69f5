//! How fast heavy work of a migration may go: a share of the time, a rate, hours, a number of streams.
//!
//! One [`MigrationThrottle`] is shared by everything that a migration does on this agent. Work that can be cut into pieces takes
//! a [`ThrottledWork`] and rests after each piece, in proportion, so that the load on the shards is even; it never rests with
//! something in its hands that is due. Streams side by side spend the share together: first fewer of them work at one
//! time ([`StreamPermits`]), then those rest. `migration::load_monitor` finds the ratio. Nothing here is used by the change streams, by the
//! cutover or by what is done while writes are refused.

mod bucket;
mod places;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use plans::throttle::{
    HealthSignals, Hours, Latency, LatencyReading, MIN_RATIO, MOST_STREAMS, MigrationLimits,
    ShardLoad, ThrottleGovernor, ThrottleStatus,
};
use tokio::sync::watch as channel;
use tokio::time::Instant;

use bucket::ByteBucket;
use places::{StreamPermit, StreamPermits};

/// Longest sleep between two looks at share and rate.
const SLICE: Duration = Duration::from_millis(100);
/// A rest that is shorter is put off until it is worth a timer.
const SHORTEST: Duration = Duration::from_millis(2);
/// Bytes of the copy cost a stream no less than a second for so many: while it rests the servers fill and empty the
/// buffers between them, and what was read ahead takes no time of its own.
const STREAM_BYTES_S: f64 = 64.0 * 1024.0 * 1024.0;
/// Of one piece of work no more is paid for: it may have waited for a lock.
const MOST_WORK: Duration = Duration::from_secs(10);
/// How long an index waits for a share above the least: it cannot be slowed once it is being built.
const PATIENCE: Duration = Duration::from_secs(600);

/// What holds now.
#[derive(Debug, Clone)]
struct ThrottleState {
    limits: MigrationLimits,
    share: f64,
}

impl ThrottleState {
    /// How many streams may work at one time.
    fn abreast(&self) -> u32 {
        if self.share < 1.0 {
            ((self.share * f64::from(self.limits.streams)).ceil() as u32).clamp(1, MOST_STREAMS)
        } else {
            MOST_STREAMS
        }
    }

    /// The part of the time in which a worker may run: one that is alone, or one of those that have a place.
    fn duty(&self, has_place: bool) -> f64 {
        let share = self.share.max(MIN_RATIO);
        if has_place && share < 1.0 {
            (share * f64::from(self.limits.streams) / f64::from(self.abreast())).min(1.0)
        } else {
            share
        }
    }
}

/// The throttle of one migration.
#[derive(Debug)]
pub(crate) struct MigrationThrottle {
    state: channel::Sender<ThrottleState>,
    application: Mutex<Option<LatencyReading>>,
    governor: Mutex<ThrottleGovernor>,
    bucket: Mutex<ByteBucket>,
    places: StreamPermits,
    /// Somebody judges the signals.
    governed: AtomicBool,
    /// Somebody has waited for the rate since the last look.
    rate_bound: AtomicBool,
}

impl Default for MigrationThrottle {
    /// As fast as possible.
    fn default() -> Self {
        Self {
            state: channel::Sender::new(ThrottleState {
                limits: MigrationLimits::default(),
                share: 1.0,
            }),
            application: Mutex::default(),
            governor: Mutex::default(),
            bucket: Mutex::default(),
            places: StreamPermits::default(),
            governed: AtomicBool::new(false),
            rate_bound: AtomicBool::new(false),
        }
    }
}

impl MigrationThrottle {
    /// Puts limits in force.
    pub(crate) fn limit(&self, limits: &MigrationLimits) {
        self.state.send_if_modified(|state| {
            let changed = state.limits != *limits;
            if changed {
                state.limits.clone_from(limits);
                self.places.resize(state.abreast() as usize);
            }
            changed
        });
    }

    /// Takes what the application reported of itself.
    pub(crate) fn hear(&self, latency: Latency) {
        *lock(&self.application) = Some(LatencyReading {
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
        let above = seen.wait_for(|state| state.share > MIN_RATIO);
        let _ = tokio::time::timeout(PATIENCE, above).await;
    }

    /// An application's latency is held: what cannot be slowed is done in the smallest bits that there are.
    pub(crate) fn is_gentle(&self) -> bool {
        self.state.borrow().limits.throttle.latency_ms.is_some()
    }

    /// Heavy work is under way that goes by what the application reports.
    pub(crate) fn holds_latency(&self) -> bool {
        self.governed.load(Ordering::Relaxed) && self.is_gentle()
    }

    /// Work that is about to be done piece by piece, by nobody else beside it.
    pub(crate) fn turn(&self) -> ThrottledWork<'_> {
        self.begin(None)
    }

    /// The same for one of the streams side by side, once there is a place for it.
    pub(crate) async fn turn_of_stream(&self) -> ThrottledWork<'_> {
        self.begin(Some(self.places.take().await))
    }

    fn begin<'a>(&'a self, place: Option<StreamPermit<'a>>) -> ThrottledWork<'a> {
        ThrottledWork {
            throttle: self,
            piece: Mutex::new(ThrottledPiece {
                since: Instant::now(),
                owed: Duration::ZERO,
                place,
            }),
        }
    }

    /// Judges the signals; what holds the migration back from now on.
    pub(crate) fn judge(&self, shards: Vec<ShardLoad>) -> Option<ThrottleStatus> {
        let signals = HealthSignals {
            application: *lock(&self.application),
            shards,
            rate_bound: self.rate_bound.swap(false, Ordering::Relaxed),
        };
        let throttle = self.state.borrow().limits.throttle.clone();
        let verdict = lock(&self.governor).observe(&throttle, &signals, now_ms());
        self.share(verdict.ratio);
        verdict.slowed()
    }

    /// Somebody judges from now on. What is known is in force before the first work is done.
    pub(crate) fn govern(&self) {
        self.governed.store(true, Ordering::Relaxed);
        self.judge(Vec::new());
    }

    /// Nobody judges any more: work goes at full speed until somebody does.
    pub(crate) fn free(&self) {
        self.governed.store(false, Ordering::Relaxed);
        self.share(1.0);
    }

    fn share(&self, share: f64) {
        self.state.send_if_modified(|state| {
            let changed = (state.share - share).abs() > f64::EPSILON;
            state.share = share;
            self.places.resize(state.abreast() as usize);
            changed
        });
    }

    /// Rests for `work`, and for `bytes` at the rate; the work that is still to be rested for.
    async fn rest(&self, work: Duration, bytes: u64, has_place: bool) -> Duration {
        let began = Instant::now();
        lock(&self.bucket).add(bytes);
        loop {
            let (duty, rate) = {
                let state = self.state.borrow();
                (state.duty(has_place), state.limits.throttle.rate_bytes_s)
            };
            let whole = work.mul_f64(1.0 / duty - 1.0);
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

/// Heavy work, piece by piece.
#[derive(Debug)]
pub(crate) struct ThrottledWork<'a> {
    throttle: &'a MigrationThrottle,
    piece: Mutex<ThrottledPiece<'a>>,
}

#[derive(Debug)]
struct ThrottledPiece<'a> {
    since: Instant,
    /// Work of pieces before, too short to rest for.
    owed: Duration,
    /// That of a stream among others.
    place: Option<StreamPermit<'a>>,
}

impl ThrottledWork<'_> {
    /// The next piece begins now: what came before it was a wait for others, who rest for what they do.
    pub(crate) fn resume(&self) {
        lock(&self.piece).since = Instant::now();
    }

    /// A piece of `bytes` is done; rests as long as the throttle requires, and hands the place on to whoever waits for one.
    pub(crate) async fn spend(&self, bytes: u64) {
        let (work, has_place) = {
            let piece = lock(&self.piece);
            let least = Duration::from_secs_f64(bytes as f64 / STREAM_BYTES_S);
            let work = piece.since.elapsed().max(least) + piece.owed;
            (work.min(MOST_WORK), piece.place.is_some())
        };
        let owed = self.throttle.rest(work, bytes, has_place).await;
        if has_place {
            drop(lock(&self.piece).place.take());
            let next = self.throttle.places.take().await;
            lock(&self.piece).place = Some(next);
        }
        let mut piece = lock(&self.piece);
        piece.owed = owed;
        piece.since = Instant::now();
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Milliseconds since 1970: hours are of the calendar.
fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}
