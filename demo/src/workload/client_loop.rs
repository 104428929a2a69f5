//! The loop of a client: action after action until it is stopped; it waits while it is paused.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

/// The commands to the clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClientCommand {
    Run,
    Pause,
    Stop,
}

/// One client.
pub(super) trait ClientAction {
    /// Executes one action completely, and records it.
    fn act(&mut self) -> impl Future<Output = io::Result<()>> + Send;
}

/// The timing of a client.
#[derive(Debug)]
pub(super) struct ClientLoop {
    /// The least time between the beginnings of two actions.
    pub(super) period: Duration,
    /// The number of paused clients.
    pub(super) paused: Arc<AtomicU64>,
    pub(super) command: watch::Receiver<ClientCommand>,
}

impl ClientLoop {
    /// Runs the client until it is stopped. It never ends in the middle of an action.
    pub(super) async fn run(mut self, mut client: impl ClientAction) -> io::Result<()> {
        let mut ticks = tokio::time::interval(self.period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let now = *self.command.borrow_and_update();
            match now {
                ClientCommand::Run => {
                    ticks.tick().await;
                    client.act().await?;
                }
                ClientCommand::Pause => {
                    self.paused.fetch_add(1, Ordering::Release);
                    let is_sender_alive = self
                        .command
                        .wait_for(|command| *command != ClientCommand::Pause)
                        .await
                        .is_ok();
                    self.paused.fetch_sub(1, Ordering::Release);
                    if !is_sender_alive {
                        return Ok(());
                    }
                }
                ClientCommand::Stop => return Ok(()),
            }
        }
    }
}
