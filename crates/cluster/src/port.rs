//! Finds free ports on loopback.
//!
//! The ports are below the range of outgoing connections. Therefore no client connection can take the port while the
//! server is stopped.

use std::io::Read;
use std::net::{Ipv4Addr, TcpListener};

/// The lowest port that is tried.
const LOWEST_PORT: u16 = 10_240;
/// The number of ports that are tried.
const MAX_ATTEMPTS: u32 = 200;

/// Returns a port of loopback that is free now, and that no outgoing connection uses.
///
/// # Errors
/// [`std::io::ErrorKind::AddrInUse`] if no free port was found.
pub fn free() -> std::io::Result<u16> {
    let span = first_outgoing().saturating_sub(LOWEST_PORT);
    for _ in 0..MAX_ATTEMPTS {
        let port = if span < 1024 {
            0
        } else {
            LOWEST_PORT + u16::from_le_bytes(random()?) % span
        };
        if let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            return Ok(listener.local_addr()?.port());
        }
    }
    Err(std::io::Error::from(std::io::ErrorKind::AddrInUse))
}

/// Returns random bytes from the kernel.
pub(crate) fn random<const N: usize>() -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Returns the first port of the range that the kernel uses for outgoing connections.
fn first_outgoing() -> u16 {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range");
    let first = range
        .ok()
        .and_then(|text| text.split_whitespace().next()?.parse().ok());
    first.unwrap_or(32_768)
}
