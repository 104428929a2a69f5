//! What the service manager is told over the socket that it names in `NOTIFY_SOCKET`: ready, how it goes, alive,
//! stopping. Without a socket nothing is told, and nothing fails.
//!
//! The watchdog is answered by the runtime that does the work: one that hangs answers no more, and is restarted.

use std::ffi::OsStr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The service manager.
#[derive(Debug, Default)]
pub struct ServiceManager {
    socket: Option<(UnixDatagram, SocketAddr)>,
    watchdog: Option<Duration>,
    /// The status that was told last.
    status: Mutex<String>,
}

impl ServiceManager {
    /// As the environment says: `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID`.
    #[must_use]
    pub fn from_environment() -> Self {
        let name = std::env::var_os("NOTIFY_SOCKET");
        let socket = name.as_deref().and_then(open);
        let number = |name| std::env::var(name).ok()?.parse::<u64>().ok();
        let ours = number("WATCHDOG_PID").is_none_or(|pid| pid == u64::from(std::process::id()));
        let watchdog = number("WATCHDOG_USEC").filter(|limit| *limit > 0 && ours);
        Self {
            watchdog: watchdog
                .map(Duration::from_micros)
                .filter(|_| socket.is_some()),
            socket,
            status: Mutex::default(),
        }
    }

    /// It has started, and this is how it goes.
    pub fn ready(&self, status: &str) {
        self.publish(&format!("READY=1\nSTATUS={}", line(status)));
    }

    /// How it goes; told when it is something else than before.
    pub fn status(&self, status: &str) {
        let mut published = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        if *published != status {
            status.clone_into(&mut published);
            self.publish(&format!("STATUS={}", line(status)));
        }
    }

    /// It ends.
    pub fn stopping(&self) {
        self.publish("STOPPING=1");
    }

    /// Answers the watchdog, twice as often as it has to, until the task is dropped.
    pub async fn keep_alive(&self) {
        let Some(limit) = self.watchdog else {
            return std::future::pending().await;
        };
        let mut ticks = tokio::time::interval(limit / 2);
        loop {
            ticks.tick().await;
            self.publish("WATCHDOG=1");
        }
    }

    fn publish(&self, text: &str) {
        let Some((socket, address)) = &self.socket else {
            return;
        };
        if let Err(error) = socket.send_to_addr(text.as_bytes(), address) {
            tracing::debug!(%error, "the service manager was not told");
        }
    }
}

/// A path, or behind `@` a name without a file.
fn open(name: &OsStr) -> Option<(UnixDatagram, SocketAddr)> {
    let address = match name.as_bytes().strip_prefix(b"@") {
        Some(abstract_name) => SocketAddr::from_abstract_name(abstract_name),
        None => SocketAddr::from_pathname(name),
    };
    let socket = UnixDatagram::unbound().ok()?;
    // Nobody waits for a service manager that does not read.
    socket.set_nonblocking(true).ok()?;
    Some((socket, address.ok()?))
}

/// Lines are messages of their own.
fn line(text: &str) -> String {
    text.replace('\n', " ")
}
