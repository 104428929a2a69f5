//! Accepts connections, and reserves slots for authenticated clients.
//!
//! A connection is a *stranger* until a request on it was admitted. Strangers may use only a part of the slots. If this
//! part is full, a new connection ends the oldest stranger. Therefore every new connection is served immediately, even
//! if many others send nothing. There is a time limit for each of these: the TLS handshake, the head of a request, its
//! body, and the data that a client still sends after the last response.

use axum::Router;
use axum::extract::ConnectInfo;
use axum::extract::connect_info::Connected;
use axum::middleware::AddExtension;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tower::Service;

/// The pause after a failed attempt to accept a connection, for example because no file descriptor was free.
const PAUSE_AFTER_ERROR: Duration = Duration::from_millis(100);
/// The maximum number of connections, even if there are more file descriptors.
const MAX_CONNECTIONS: usize = 8_192;

/// How many connections there may be, and how long each part of one may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// The maximum number of connections.
    pub connections: usize,
    /// The maximum number of strangers: connections without an admitted request.
    pub strangers: usize,
    /// The maximum number of strangers from one address.
    pub per_address: usize,
    /// The longest TLS handshake.
    pub handshake: Duration,
    /// The longest wait for the head of a request.
    pub head: Duration,
    /// How long the controller continues to read from the client after its last response.
    pub rest: Duration,
}

impl ConnectionLimits {
    /// Uses three quarters of this process's file descriptors for connections, and half of these for strangers.
    #[must_use]
    pub fn of_process() -> Self {
        let descriptors = getrlimit(Resource::Nofile).current;
        let descriptors = descriptors.and_then(|limit| usize::try_from(limit).ok());
        let connections = descriptors.map_or(MAX_CONNECTIONS, |limit| {
            (limit / 4 * 3).min(MAX_CONNECTIONS)
        });
        Self {
            connections,
            strangers: connections / 2,
            per_address: 256,
            handshake: Duration::from_secs(5),
            head: Duration::from_secs(10),
            rest: Duration::from_secs(5),
        }
    }
}

/// Raises the limit of file descriptors to the maximum that this process may have.
pub fn raise_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::debug!(%error, "could not raise the limit of file descriptors");
    }
}

/// The slots for connections, and which of them are in use.
#[derive(Debug)]
struct ConnectionSlots {
    limits: ConnectionLimits,
    slots: Mutex<SlotUse>,
}

#[derive(Debug, Default)]
struct SlotUse {
    next_number: u64,
    /// For each stranger, in the order in which they connected: its address, and how its task is notified to end.
    strangers: BTreeMap<u64, (IpAddr, Arc<Notify>)>,
    /// The number of connections with an admitted request.
    known: usize,
}

/// The slot of one connection. Dropping it frees the slot.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    number: u64,
    /// True once a request on the connection was admitted.
    is_known: AtomicBool,
    /// Notified when a newer connection takes this slot.
    lost: Arc<Notify>,
    /// All slots, to which this one belongs.
    slots: Arc<ConnectionSlots>,
}

impl ConnectionSlots {
    /// Takes a slot for a new connection, which is a stranger. If there are too many strangers, ends the oldest one.
    fn take_slot(self: &Arc<Self>, from: IpAddr) -> Arc<ConnectionSlot> {
        let lost = Arc::new(Notify::new());
        let mut slots = self.lock();
        let is_same_address = |(address, _): &&(IpAddr, Arc<Notify>)| *address == from;
        if slots.strangers.values().filter(is_same_address).count() >= self.limits.per_address {
            slots.end_oldest(|address| address == from);
        }
        if slots.strangers.len() >= self.limits.strangers {
            slots.end_oldest(|_| true);
        }
        let number = slots.next_number;
        slots.next_number += 1;
        slots.strangers.insert(number, (from, Arc::clone(&lost)));
        Arc::new(ConnectionSlot {
            number,
            is_known: AtomicBool::new(false),
            lost,
            slots: Arc::clone(self),
        })
    }

    fn lock(&self) -> MutexGuard<'_, SlotUse> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SlotUse {
    /// Ends the oldest stranger whose address matches.
    fn end_oldest(&mut self, matches: impl Fn(IpAddr) -> bool) {
        let mut matching = self
            .strangers
            .iter()
            .filter(|(_, (from, _))| matches(*from));
        let oldest = matching.next().map(|(number, _)| *number);
        if let Some((from, lost)) = oldest.and_then(|oldest| self.strangers.remove(&oldest)) {
            tracing::debug!(%from, "ended the oldest connection without an admitted request, to serve a new one");
            lost.notify_one();
        }
    }
}

impl ConnectionSlot {
    /// Marks the connection as known: a request on it was admitted. Then a newer connection can no longer end it. If
    /// all slots for known connections are in use, the connection stays a stranger.
    pub(super) fn mark_known(&self) {
        if self.is_known.load(Ordering::Relaxed) {
            return;
        }
        let limits = &self.slots.limits;
        let mut slots = self.slots.lock();
        if slots.known < limits.connections - limits.strangers
            && slots.strangers.remove(&self.number).is_some()
        {
            slots.known += 1;
            self.is_known.store(true, Ordering::Relaxed);
        }
    }
}

impl ConnectionSlot {
    /// Returns whether an earlier request on this connection was admitted.
    pub(super) fn is_known(&self) -> bool {
        self.is_known.load(Ordering::Relaxed)
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut slots = self.slots.lock();
        slots.strangers.remove(&self.number);
        slots.known -= usize::from(self.is_known.load(Ordering::Relaxed));
    }
}

/// The client's address, and the slot of its connection.
#[derive(Debug, Clone)]
pub(super) struct Peer {
    pub(super) address: SocketAddr,
    pub(super) slot: Arc<ConnectionSlot>,
}

impl Peer {
    pub(super) fn new(address: SocketAddr, slot: Arc<ConnectionSlot>) -> Self {
        Self { address, slot }
    }
}

impl Connected<Self> for Peer {
    fn connect_info(peer: Self) -> Self {
        peer
    }
}

/// Serves `app` on `listener`. Dropping the future ends the connections.
pub(crate) async fn serve(
    listener: TcpListener,
    tls: Option<Arc<ServerConfig>>,
    app: Router,
    limits: ConnectionLimits,
) -> io::Result<()> {
    let acceptor = tls.map(TlsAcceptor::from);
    let slots = Arc::new(ConnectionSlots {
        limits,
        slots: Mutex::default(),
    });
    let mut make_service = app.into_make_service_with_connect_info::<Peer>();
    let mut tasks = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = tasks.join_next() => continue,
        };
        let (stream, from) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "could not accept a connection");
                tokio::time::sleep(PAUSE_AFTER_ERROR).await;
                continue;
            }
        };
        let slot = slots.take_slot(from.ip());
        let lost = Arc::clone(&slot.lost);
        let service = match make_service.call(Peer::new(from, slot)).await {
            Ok(service) => service,
            Err(never) => match never {},
        };
        let acceptor = acceptor.clone();
        tasks.spawn(async move {
            tokio::select! {
                () = lost.notified() => {}
                () = serve_connection(stream, from, acceptor, service, limits) => {}
            }
        });
    }
}

type App = AddExtension<Router, ConnectInfo<Peer>>;

async fn serve_connection(
    stream: TcpStream,
    from: SocketAddr,
    acceptor: Option<TlsAcceptor>,
    app: App,
    limits: ConnectionLimits,
) {
    let Some(acceptor) = acceptor else {
        return serve_http(stream, app, limits).await;
    };
    match tokio::time::timeout(limits.handshake, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => serve_http(stream, app, limits).await,
        Ok(Err(error)) => tracing::debug!(%from, %error, "TLS handshake failed"),
        Err(_) => tracing::debug!(%from, "TLS handshake took too long"),
    }
}

/// Serves HTTP on the stream. After the last response it reads and discards what the client still sends.
async fn serve_http(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    app: App,
    limits: ConnectionLimits,
) {
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(app))
        .without_shutdown();
    match served.await {
        Ok(parts) => {
            // The connection keeps its slot while the rest is read.
            let _service = parts.service;
            discard_rest(parts.io.into_inner(), limits.rest).await;
        }
        Err(error) => tracing::debug!(%error, "connection failed"),
    }
}

/// Closes the sending side, and reads what the client still sends. A command can be refused before its body has
/// arrived. If a socket is closed while it has unread bytes, TCP resets the connection, and the client may lose the
/// response.
async fn discard_rest(mut stream: impl AsyncRead + AsyncWrite + Unpin, limit: Duration) {
    let discard = async {
        stream.shutdown().await?;
        tokio::io::copy(&mut stream, &mut tokio::io::sink()).await
    };
    match tokio::time::timeout(limit, discard).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => tracing::debug!(%error, "connection failed"),
        Err(_) => tracing::debug!(?limit, "client did not end its connection in time"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    fn slots(strangers: usize, per_address: usize) -> Arc<ConnectionSlots> {
        Arc::new(ConnectionSlots {
            limits: ConnectionLimits {
                connections: strangers + 2,
                strangers,
                per_address,
                ..ConnectionLimits::of_process()
            },
            slots: Mutex::default(),
        })
    }

    fn numbers(slots: &ConnectionSlots) -> Vec<u64> {
        slots.lock().strangers.keys().copied().collect()
    }

    #[test]
    fn the_newest_stranger_gets_the_slot_of_the_oldest_and_a_known_connection_stays() {
        let slots = slots(3, 2);
        let [address, other_address] = [[127, 0, 0, 1], [127, 0, 0, 2]].map(IpAddr::from);
        let known = slots.take_slot(address);
        known.mark_known();
        let first: Vec<_> = (0..4).map(|_| slots.take_slot(address)).collect();
        assert_eq!(numbers(&slots), [3, 4], "two of one address");
        let more: Vec<_> = (0..2).map(|_| slots.take_slot(other_address)).collect();
        assert_eq!(numbers(&slots), [4, 5, 6], "three strangers");
        drop((first, more));
        assert_eq!(numbers(&slots), [0_u64; 0]);
        assert_eq!(slots.lock().known, 1);
        drop(known);
        assert_eq!(slots.lock().known, 0);
    }

    /// The controller refuses a command before its body has arrived. A client that first sends the whole body still
    /// reads the refusal.
    #[tokio::test]
    async fn a_client_that_continues_to_send_after_a_refusal_reads_the_refusal() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let app = Router::new().fallback(|| async { axum::http::StatusCode::UNAUTHORIZED });
        let limits = ConnectionLimits::of_process();
        let server = tokio::spawn(serve(listener, None, app, limits));
        let body = vec![b'x'; 48 << 20];
        let mut client = TcpStream::connect(address).await.unwrap();
        let head = format!(
            "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        client.write_all(head.as_bytes()).await.unwrap();
        client.peek(&mut [0]).await.unwrap();
        client.write_all(&body).await.unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
        server.abort();
    }
}
