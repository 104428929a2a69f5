//! The beat of a client: turn after turn until it is told to stop, and a rest while it is told to pause.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

/// What the clients are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClientCommand {
    Go,
    Pause,
    Stop,
}

/// One client.
pub(super) trait ClientFuture {
    /// Does one thing from its beginning to its end, and writes it down.
    fn turn(&mut self) -> impl Future<Output = io::Result<()>> + Send;
}

/// What a client works by.
#[derive(Debug)]
pub(super) struct ClientBeat {
    /// From turn to turn, at least.
    pub(super) period: Duration,
    /// Clients that rest.
    pub(super) idle: Arc<AtomicU64>,
    pub(super) command: watch::Receiver<ClientCommand>,
}

impl ClientBeat {
    /// Lets the client work until it is told to stop; never leaves a turn in the middle.
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
