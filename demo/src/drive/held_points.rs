//! Fail points that the driver holds: agents wait there until the driver releases them.
//!
//! The socket exists before the programs start. For each point the driver gets the first process; later processes are
//! released immediately.

use super::progress::print_line;
use crate::error::DemoError;
use crate::fleet::Fleet;
use crate::options::Options;
use crate::points::{self, PassedPoint};
use fail_point::{Arrival, Rendezvous};
use std::collections::{BTreeMap, HashSet};
use std::time::Duration;
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinHandle;

const ARRIVAL_LIMIT: Duration = Duration::from_secs(120);

/// The fail points, and the processes that wait at them.
#[derive(Debug)]
pub(super) struct HeldPoints {
    armed: Vec<(PassedPoint, String)>,
    arrivals: Mutex<mpsc::UnboundedReceiver<Arrival>>,
    receiver: JoinHandle<()>,
}

impl HeldPoints {
    /// Creates the socket, for all fail points that the options require.
    pub(super) fn prepare(options: &Options, fleet: &Fleet) -> Result<Self, DemoError> {
        let steps = options.abort_at.iter().chain(&options.pause_in);
        let troubles = options.troubles.iter().map(|trouble| &trouble.step);
        let steps = steps.chain(troubles).map(|step| points::of_step(*step));
        let moments = options.orphan.into_iter().chain(options.stall);
        let points = steps.chain(moments.map(points::of_moment));
        let points: BTreeMap<String, PassedPoint> =
            points.map(|point| (point.name.clone(), point)).collect();
        let path = fleet.dir().join("meet");
        let meeting = Rendezvous::bind(path).map_err(DemoError::io("make a socket"))?;
        let armed = points.into_values().map(|point| {
            let arms = meeting.arms(&point.name);
            (point, arms)
        });
        let armed = armed.collect();
        let (first, arrivals) = mpsc::unbounded_channel();
        Ok(Self {
            armed,
            arrivals: Mutex::new(arrivals),
            receiver: tokio::spawn(receive(meeting, first)),
        })
    }

    /// Returns the fail points, with the texts that arm them.
    pub(super) fn armed(&self) -> &[(PassedPoint, String)] {
        &self.armed
    }

    /// Waits until an agent waits at `point`. Dropping the result releases the agent.
    pub(super) async fn wait_at(&self, point: &PassedPoint) -> Result<Arrival, DemoError> {
        let stalled = || DemoError::Stalled {
            what: format!("an agent at {}", point.name),
            seconds: ARRIVAL_LIMIT.as_secs(),
        };
        let mut arrivals = self.arrivals.lock().await;
        let wanted = async {
            while let Some(arrival) = arrivals.recv().await {
                if arrival.name == point.name {
                    return Some(arrival);
                }
            }
            None
        };
        let arrival = tokio::time::timeout(ARRIVAL_LIMIT, wanted).await;
        let arrival = arrival.ok().flatten().ok_or_else(stalled)?;
        print_line(&format!("an agent waits at {}", arrival.name));
        Ok(arrival)
    }
}

impl Drop for HeldPoints {
    fn drop(&mut self) {
        self.receiver.abort();
    }
}

/// Sends the first process at each fail point to `first`, and releases later ones.
async fn receive(meeting: Rendezvous, first: mpsc::UnboundedSender<Arrival>) {
    let mut visited = HashSet::new();
    loop {
        match meeting.arrived().await {
            Ok(arrival) if visited.insert(arrival.name.clone()) => {
                if first.send(arrival).is_err() {
                    return;
                }
            }
            Ok(_) => {}
            Err(error) => tracing::debug!(%error, "a process ended its connection at a fail point"),
        }
    }
}
