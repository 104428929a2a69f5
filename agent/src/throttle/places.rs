//! Places of streams that work at one time. A small share is spent by fewer streams before it is spent by rests: what
//! an application feels is how many processes want the cores beside it, not how long they rest afterwards.

use std::sync::{Mutex, PoisonError};

use plans::throttle::MOST_STREAMS;
use tokio::sync::{Semaphore, SemaphorePermit};

/// Streams take places in the order in which they asked, so that none keeps its transaction open for long.
#[derive(Debug)]
pub(super) struct StreamPermits {
    free: Semaphore,
    count: Mutex<PermitCount>,
}

#[derive(Debug)]
struct PermitCount {
    /// Free and taken.
    there: usize,
    /// How many there should be; those beyond it go as they are given back.
    wanted: usize,
}

impl Default for StreamPermits {
    /// One for each stream that there may be.
    fn default() -> Self {
        let most = MOST_STREAMS as usize;
        Self {
            free: Semaphore::new(most),
            count: Mutex::new(PermitCount {
                there: most,
                wanted: most,
            }),
        }
    }
}

impl StreamPermits {
    /// From now on so many may work at one time.
    pub(super) fn resize(&self, wanted: usize) {
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        count.wanted = wanted;
        if count.there < wanted {
            self.free.add_permits(wanted - count.there);
            count.there = wanted;
        } else {
            count.there -= self.free.forget_permits(count.there - wanted);
        }
    }

    /// Waits for a place; it is given back when it is dropped.
    pub(super) async fn take(&self) -> StreamPermit<'_> {
        StreamPermit {
            places: self,
            // Never closed: an error cannot come.
            permit: self.free.acquire().await.ok(),
        }
    }
}

/// A place that is taken.
#[derive(Debug)]
pub(crate) struct StreamPermit<'a> {
    places: &'a StreamPermits,
    permit: Option<SemaphorePermit<'a>>,
}

impl Drop for StreamPermit<'_> {
    fn drop(&mut self) {
        let mut count = self
            .places
            .count
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if count.there > count.wanted
            && let Some(permit) = self.permit.take()
        {
            permit.forget();
            count.there -= 1;
        }
    }
}
