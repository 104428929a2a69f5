//! The loop of a client: turn after turn until it is stopped, with a break while it is paused.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

/// The commands to the clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClientCommand {
    Go,
    Pause,
    Stop,
}

/// One client.
pub(super) trait ClientFuture {
    /// Executes one action completely, and records it.
    fn turn(&mut self) -> impl Future<Output = io::Result<()>> + Send;
}

/// The timing of a client.
#[derive(Debug)]
pub(super) struct ClientBeat {
    /// The least time between the beginnings of two turns.
    pub(super) period: Duration,
    /// The number of paused clients.
    pub(super) idle: Arc<AtomicU64>,
    pub(super) command: watch::Receiver<ClientCommand>,
}

impl ClientBeat {
    /// Runs the client until it is stopped. It never ends in the middle of a turn.
    pub(super) async fn drive(mut self, mut client: impl ClientFuture) -> io::Result<()> {
        let mut ticks = tokio::time::interval(self.period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let now = *self.command.borrow_and_update();
            match now {
                ClientCommand::Go => {
                    ticks.tick().await;
                    client.turn().await?;
                }
                ClientCommand::Pause => {
                    self.idle.fetch_add(1, Ordering::Release);
                    let woken = self
                        .command
                        .wait_for(|run| *run != ClientCommand::Pause)
                        .await
                        .is_ok();
                    self.idle.fetch_sub(1, Ordering::Release);
                    if !woken {
                        return Ok(());
                    }
                }
                ClientCommand::Stop => return Ok(()),
            }
        }
    }
}
