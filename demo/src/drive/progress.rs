//! Progress lines on stderr.

use crate::ledger::Ledger;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::task::JoinHandle;

const EVERY: Duration = Duration::from_secs(5);

/// A line, with the time of day.
pub(super) fn print_line(text: &str) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let seconds = now.map_or(0, |since| since.as_secs()) % 86_400;
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    // The run goes on where nobody reads along.
    let _ = writeln!(
        std::io::stderr(),
        "{hours:02}:{minutes:02}:{:02} {text}",
        seconds % 60
    );
}

/// Says every few seconds how much was acknowledged, until it is dropped.
pub(super) fn ticker(ledger: Arc<Ledger>) -> Ticker {
    Ticker(tokio::spawn(async move {
        loop {
            tokio::time::sleep(EVERY).await;
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

/// The running lines.
#[derive(Debug)]
pub(super) struct Ticker(JoinHandle<()>);

impl Drop for Ticker {
    fn drop(&mut self) {
        self.0.abort();
    }
}
