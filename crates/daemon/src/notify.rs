//! Notifications to the service manager over the socket in `NOTIFY_SOCKET`: ready, status, watchdog, stopping. Without
//! a socket nothing is sent, and nothing fails.
//!
//! The watchdog message is sent by the runtime that does the work. If the runtime hangs, the message is missing, and
//! the service manager restarts the program.

use std::ffi::OsStr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The connection to the service manager.
#[derive(Debug, Default)]
pub struct ServiceManager {
    socket: Option<(UnixDatagram, SocketAddr)>,
    /// The service manager restarts the program if it gets no watchdog message for this time.
    watchdog: Option<Duration>,
    /// The status that was last sent.
    status: Mutex<String>,
}

impl ServiceManager {
    /// Reads the variables `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID`.
    #[must_use]
    pub fn from_environment() -> Self {
        let name = std::env::var_os("NOTIFY_SOCKET");
        let socket = name.as_deref().and_then(open_socket);
        let number = |name| std::env::var(name).ok()?.parse::<u64>().ok();
        let is_for_this_process =
            number("WATCHDOG_PID").is_none_or(|pid| pid == u64::from(std::process::id()));
        let watchdog = number("WATCHDOG_USEC").filter(|limit| *limit > 0 && is_for_this_process);
        Self {
            watchdog: watchdog
                .map(Duration::from_micros)
                .filter(|_| socket.is_some()),
            socket,
            status: Mutex::default(),
        }
    }

    /// Reports that the program has started, with its status.
    pub fn ready(&self, status: &str) {
        self.publish(&format!("READY=1\nSTATUS={}", one_line(status)));
    }

    /// Reports the status, if it has changed.
    pub fn status(&self, status: &str) {
        let mut published = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        if *published != status {
            status.clone_into(&mut published);
            self.publish(&format!("STATUS={}", one_line(status)));
        }
    }

    /// Reports that the program stops.
    pub fn stopping(&self) {
        self.publish("STOPPING=1");
    }

    /// Sends watchdog messages, twice as often as required, until the future is dropped.
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
            tracing::debug!(%error, "could not notify the service manager");
        }
    }
}

/// Opens a socket by its path, or with a leading `@` by its abstract name.
fn open_socket(name: &OsStr) -> Option<(UnixDatagram, SocketAddr)> {
    let address = match name.as_bytes().strip_prefix(b"@") {
        Some(abstract_name) => SocketAddr::from_abstract_name(abstract_name),
        None => SocketAddr::from_pathname(name),
    };
    let socket = UnixDatagram::unbound().ok()?;
    // The program must not wait for a service manager that does not read.
    socket.set_nonblocking(true).ok()?;
    Some((socket, address.ok()?))
}

/// Replaces line feeds, because each line is a separate notification.
fn one_line(text: &str) -> String {
    text.replace('\n', " ")
}
