//! Progress lines on stderr.

use crate::ledger::Ledger;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::task::JoinHandle;

const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);

/// Prints a line with the time of day.
pub(super) fn print_line(text: &str) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let seconds = now.map_or(0, |since| since.as_secs()) % 86_400;
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    // If stderr is closed, the run continues.
    let _ = writeln!(
        std::io::stderr(),
        "{hours:02}:{minutes:02}:{:02} {text}",
        seconds % 60
    );
}

/// Prints every few seconds how many transactions were acknowledged, until the returned value is dropped.
pub(super) fn ticker(ledger: Arc<Ledger>) -> Ticker {
    Ticker(tokio::spawn(async move {
        loop {
            tokio::time::sleep(PROGRESS_INTERVAL).await;
            let tally = ledger.tally();
            print_line(&format!(
                "         {} transactions acknowledged, {} on moving keys; phase {}",
                tally.acknowledged,
                tally.moving,
                ledger.phase()
            ));
        }
    }))
}

/// The task that prints.
#[derive(Debug)]
pub(super) struct Ticker(JoinHandle<()>);

impl Drop for Ticker {
    fn drop(&mut self) {
        self.0.abort();
    }
}
