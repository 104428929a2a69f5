//! Permits of COPY streams that may work at the same time. If the ratio is small, fewer streams have a permit. This
//! helps the application more than longer rests of all streams, because its latency depends on how many processes
//! compete for the CPU cores.

use std::sync::{Mutex, PoisonError};

use plans::throttle::MAX_STREAMS;
use tokio::sync::{Semaphore, SemaphorePermit};

/// The semaphore grants permits in the order of the requests, so that no stream waits long with an open transaction.
#[derive(Debug)]
pub(super) struct StreamPermits {
    semaphore: Semaphore,
    count: Mutex<PermitCount>,
}

#[derive(Debug)]
struct PermitCount {
    /// Free and acquired permits.
    total: usize,
    /// The intended total. Surplus permits are removed when they are released.
    target: usize,
}

impl Default for StreamPermits {
    /// Returns one permit for each possible stream.
    fn default() -> Self {
        let max_streams = MAX_STREAMS as usize;
        Self {
            semaphore: Semaphore::new(max_streams),
            count: Mutex::new(PermitCount {
                total: max_streams,
                target: max_streams,
            }),
        }
    }
}

impl StreamPermits {
    /// Sets how many streams may work at the same time.
    pub(super) fn resize(&self, target: usize) {
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        count.target = target;
        if count.total < target {
            self.semaphore.add_permits(target - count.total);
            count.total = target;
        } else {
            count.total -= self.semaphore.forget_permits(count.total - target);
        }
    }

    /// Waits for a permit. If the permit is dropped, it is released.
    pub(super) async fn acquire(&self) -> StreamPermit<'_> {
        StreamPermit {
            permits: self,
            // The semaphore is never closed, so `acquire` cannot fail.
            permit: self.semaphore.acquire().await.ok(),
        }
    }
}

/// The permit with which a stream works.
#[derive(Debug)]
pub(crate) struct StreamPermit<'a> {
    permits: &'a StreamPermits,
    permit: Option<SemaphorePermit<'a>>,
}

impl Drop for StreamPermit<'_> {
    fn drop(&mut self) {
        let mut count = self
            .permits
            .count
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if count.total > count.target
            && let Some(permit) = self.permit.take()
        {
            permit.forget();
            count.total -= 1;
        }
    }
}
