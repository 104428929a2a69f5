//! Limits the speed of a migration's heavy work by a throttle ratio (the fraction of time in which work runs), a rate
//! in bytes, permitted hours and a number of COPY streams.
//!
//! All work of a migration on this agent shares one [`MigrationThrottle`]. Each worker has a [`ThrottledWork`] and
//! rests after each piece of its work, never within one. The rest is proportional to the piece, so that the load on the
//! shards is even. If several COPY streams run, the ratio first reduces the number that work at the same time
//! ([`StreamPermits`]), and then makes the working ones rest.
//!
//! `migration::load_monitor` determines the ratio from health signals. The throttle never affects the change streams,
//! the cutover and other work inside the write-blocked window.

mod bucket;
mod permits;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use plans::throttle::{
    HealthSignals, Hours, Latency, LatencyReading, MAX_STREAMS, MIN_RATIO, MigrationLimits,
    ShardLoad, ThrottleGovernor, ThrottleStatus,
};
use tokio::sync::watch as channel;
use tokio::time::Instant;

use bucket::ByteBucket;
use permits::{StreamPermit, StreamPermits};

/// The longest sleep before the ratio and the rate are read again.
const MAX_SLEEP: Duration = Duration::from_millis(100);
/// A shorter rest is postponed and added to a later one, because a timer for it would cost too much.
const MIN_REST: Duration = Duration::from_millis(2);
/// The minimum time that a copied piece counts for is its size divided by this rate. While a stream rests, the servers
/// fill and empty the buffers between them, so a piece that was read in advance takes almost no time.
const STREAM_BYTES_PER_SECOND: f64 = 64.0 * 1024.0 * 1024.0;
/// The maximum work of one piece that counts for its rest; a longer piece may have waited for a lock.
const MAX_WORK: Duration = Duration::from_secs(10);
/// Time limit for an index build that waits for a ratio above the minimum. A build cannot be slowed once it runs.
const MAX_START_WAIT: Duration = Duration::from_secs(600);

/// The current limits and the current ratio.
#[derive(Debug, Clone)]
struct ThrottleState {
    limits: MigrationLimits,
    ratio: f64,
}

impl ThrottleState {
    /// Returns how many streams may work at the same time.
    fn max_working_streams(&self) -> u32 {
        if self.ratio < 1.0 {
            ((self.ratio * f64::from(self.limits.streams)).ceil() as u32).clamp(1, MAX_STREAMS)
        } else {
            MAX_STREAMS
        }
    }

    /// Returns the fraction of time in which a worker may run. `has_permit` is true for one of several concurrent
    /// streams.
    fn work_ratio(&self, has_permit: bool) -> f64 {
        let ratio = self.ratio.max(MIN_RATIO);
        if has_permit && ratio < 1.0 {
            (ratio * f64::from(self.limits.streams) / f64::from(self.max_working_streams()))
                .min(1.0)
        } else {
            ratio
        }
    }
}

/// The throttle of one migration.
#[derive(Debug)]
pub(crate) struct MigrationThrottle {
    state: channel::Sender<ThrottleState>,
    application_latency: Mutex<Option<LatencyReading>>,
    governor: Mutex<ThrottleGovernor>,
    bucket: Mutex<ByteBucket>,
    permits: StreamPermits,
    /// True while a load monitor evaluates the health signals.
    is_controlled: AtomicBool,
    /// True if work has waited for the rate since the signals were evaluated last.
    rate_bound: AtomicBool,
}

impl Default for MigrationThrottle {
    /// Returns a throttle without limits.
    fn default() -> Self {
        Self {
            state: channel::Sender::new(ThrottleState {
                limits: MigrationLimits::default(),
                ratio: 1.0,
            }),
            application_latency: Mutex::default(),
            governor: Mutex::default(),
            bucket: Mutex::default(),
            permits: StreamPermits::default(),
            is_controlled: AtomicBool::new(false),
            rate_bound: AtomicBool::new(false),
        }
    }
}

impl MigrationThrottle {
    /// Sets the limits.
    pub(crate) fn set_limits(&self, limits: &MigrationLimits) {
        self.state.send_if_modified(|state| {
            let changed = state.limits != *limits;
            if changed {
                state.limits.clone_from(limits);
                self.permits.resize(state.max_working_streams() as usize);
            }
            changed
        });
    }

    /// Stores the latency that the application reported.
    pub(crate) fn set_application_latency(&self, latency: Latency) {
        *lock(&self.application_latency) = Some(LatencyReading {
            p99_ms: latency.p99_ms,
            at_ms: now_ms().saturating_sub(latency.age_ms),
        });
    }

    /// Returns how many COPY streams may run concurrently.
    pub(crate) fn max_streams(&self) -> u32 {
        self.state.borrow().limits.streams
    }

    /// Waits until the stream with this number, counted from 0, may run.
    pub(crate) async fn wait_until_allowed(&self, stream: u32) {
        // The channel is never closed: this struct owns the sender.
        let mut state = self.state.subscribe();
        let _ = state.wait_for(|state| stream < state.limits.streams).await;
    }

    /// Returns the permitted hours if they do not include the current time, so that heavy work must wait for them.
    pub(crate) fn hours_to_wait_for(&self) -> Option<Hours> {
        let hours = self.state.borrow().limits.throttle.hours;
        hours.filter(|hours| !hours.contains(now_ms()))
    }

    /// Waits until the permitted hours include the current time, or until they are removed from the limits.
    pub(crate) async fn wait_for_permitted_hours(&self) {
        let mut state = self.state.subscribe();
        while let Some(hours) = self.hours_to_wait_for() {
            let left = hours.next(now_ms()).saturating_sub(now_ms()).max(1);
            let left = Duration::from_millis(left.unsigned_abs());
            let _ = tokio::time::timeout(left, state.changed()).await;
        }
    }

    /// Waits until an index build may begin, which cannot be slowed: first until the permitted hours, and then, for at
    /// most ten minutes, until the ratio is above the minimum.
    pub(crate) async fn wait_until_build_may_start(&self) {
        self.wait_for_permitted_hours().await;
        let mut state = self.state.subscribe();
        let above = state.wait_for(|state| state.ratio > MIN_RATIO);
        let _ = tokio::time::timeout(MAX_START_WAIT, above).await;
    }

    /// Returns whether the request limits the application's latency. Work that cannot be slowed is then split into the
    /// smallest possible parts.
    pub(crate) fn has_latency_limit(&self) -> bool {
        self.state.borrow().limits.throttle.latency_ms.is_some()
    }

    /// Returns whether heavy work is running that depends on the latency that the application reports.
    pub(crate) fn needs_latency_reports(&self) -> bool {
        self.is_controlled.load(Ordering::Relaxed) && self.has_latency_limit()
    }

    /// Begins work of a single session, which it does piece by piece.
    pub(crate) fn begin_work(&self) -> ThrottledWork<'_> {
        self.new_work(None)
    }

    /// Begins work of one of several concurrent streams, when a permit is free.
    pub(crate) async fn begin_stream_work(&self) -> ThrottledWork<'_> {
        self.new_work(Some(self.permits.acquire().await))
    }

    fn new_work<'a>(&'a self, permit: Option<StreamPermit<'a>>) -> ThrottledWork<'a> {
        ThrottledWork {
            throttle: self,
            piece: Mutex::new(ThrottledPiece {
                started: Instant::now(),
                unrested: Duration::ZERO,
                permit,
            }),
        }
    }

    /// Evaluates the health signals and sets the ratio. Returns the reason why the migration is slowed, or None if it
    /// is not.
    pub(crate) fn apply_signals(&self, shards: Vec<ShardLoad>) -> Option<ThrottleStatus> {
        let signals = HealthSignals {
            application: *lock(&self.application_latency),
            shards,
            rate_bound: self.rate_bound.swap(false, Ordering::Relaxed),
        };
        let throttle = self.state.borrow().limits.throttle.clone();
        let verdict = lock(&self.governor).observe(&throttle, &signals, now_ms());
        self.set_ratio(verdict.ratio);
        verdict.slowed()
    }

    /// Begins the control of the ratio. Sets the ratio from the known signals before any work is done.
    pub(crate) fn start_control(&self) {
        self.is_controlled.store(true, Ordering::Relaxed);
        self.apply_signals(Vec::new());
    }

    /// Ends the control of the ratio: work runs at full speed until the next control begins.
    pub(crate) fn end_control(&self) {
        self.is_controlled.store(false, Ordering::Relaxed);
        self.set_ratio(1.0);
    }

    fn set_ratio(&self, ratio: f64) {
        self.state.send_if_modified(|state| {
            let changed = (state.ratio - ratio).abs() > f64::EPSILON;
            state.ratio = ratio;
            self.permits.resize(state.max_working_streams() as usize);
            changed
        });
    }

    /// Rests in proportion to `work`, and until `bytes` are within the rate. Returns the work for which it has not
    /// rested yet.
    async fn rest(&self, work: Duration, bytes: u64, has_permit: bool) -> Duration {
        let began = Instant::now();
        lock(&self.bucket).add_bytes(bytes);
        loop {
            let (work_ratio, rate) = {
                let state = self.state.borrow();
                (
                    state.work_ratio(has_permit),
                    state.limits.throttle.rate_bytes_s,
                )
            };
            let required_rest = work.mul_f64(1.0 / work_ratio - 1.0);
            let rest_left = required_rest.saturating_sub(began.elapsed());
            let rate_wait = lock(&self.bucket).required_wait(rate);
            let left = rest_left.max(rate_wait);
            if left < MIN_REST {
                let is_postponed = !required_rest.is_zero() && required_rest < MIN_REST;
                return if is_postponed { work } else { Duration::ZERO };
            }
            if rate_wait > rest_left {
                self.rate_bound.store(true, Ordering::Relaxed);
            }
            tokio::time::sleep(left.min(MAX_SLEEP)).await;
        }
    }
}

/// Heavy work that is done piece by piece.
#[derive(Debug)]
pub(crate) struct ThrottledWork<'a> {
    throttle: &'a MigrationThrottle,
    piece: Mutex<ThrottledPiece<'a>>,
}

/// The piece of work in progress.
#[derive(Debug)]
struct ThrottledPiece<'a> {
    started: Instant,
    /// Work of earlier pieces that was too short to rest for.
    unrested: Duration,
    /// The permit, if this is one of several concurrent streams.
    permit: Option<StreamPermit<'a>>,
}

impl ThrottledWork<'_> {
    /// Restarts the clock of the current piece. The time before was a wait for other sessions, which rest for their own
    /// work.
    pub(crate) fn restart_piece(&self) {
        lock(&self.piece).started = Instant::now();
    }

    /// Ends a piece of `bytes` bytes: rests as long as the throttle requires, and passes the permit to the next waiting
    /// stream.
    pub(crate) async fn finish_piece(&self, bytes: u64) {
        let (work, has_permit) = {
            let piece = lock(&self.piece);
            let min_work = Duration::from_secs_f64(bytes as f64 / STREAM_BYTES_PER_SECOND);
            let work = piece.started.elapsed().max(min_work) + piece.unrested;
            (work.min(MAX_WORK), piece.permit.is_some())
        };
        let unrested = self.throttle.rest(work, bytes, has_permit).await;
        if has_permit {
            drop(lock(&self.piece).permit.take());
            let next = self.throttle.permits.acquire().await;
            lock(&self.piece).permit = Some(next);
        }
        let mut piece = lock(&self.piece);
        piece.unrested = unrested;
        piece.started = Instant::now();
    }
}

/// Locks the mutex, also if a thread panicked while it held the lock.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the time in milliseconds since 1970. Permitted hours follow the calendar, so a monotonic clock cannot be
/// used.
fn now_ms() -> i64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    since_1970.map_or(0, |since_1970| {
        i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX)
    })
}
