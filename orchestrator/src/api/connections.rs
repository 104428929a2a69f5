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
const AFTER_ERROR: Duration = Duration::from_millis(100);
/// The maximum number of connections, even if there are more file descriptors.
const MOST: usize = 8_192;

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
        let connections = descriptors.map_or(MOST, |limit| (limit / 4 * 3).min(MOST));
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
        tracing::debug!(%error, "the limit of descriptors stays as it is");
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
    next: u64,
    /// Strangers in the order in which they connected.
    strangers: BTreeMap<u64, (IpAddr, Arc<Notify>)>,
    known: usize,
}

/// The slot of one connection. Dropping it frees the slot.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    number: u64,
    known: AtomicBool,
    /// Notified when a newer connection takes this slot.
    lost: Arc<Notify>,
    /// All slots, to which this one belongs.
    places: Arc<ConnectionSlots>,
}

impl ConnectionSlots {
    fn enter(self: &Arc<Self>, from: IpAddr) -> Arc<ConnectionSlot> {
        let lost = Arc::new(Notify::new());
        let mut slots = self.slots();
        let own = |(address, _): &&(IpAddr, Arc<Notify>)| *address == from;
        if slots.strangers.values().filter(own).count() >= self.limits.per_address {
            slots.end_oldest(|address| address == from);
        }
        if slots.strangers.len() >= self.limits.strangers {
            slots.end_oldest(|_| true);
        }
        let number = slots.next;
        slots.next += 1;
        slots.strangers.insert(number, (from, Arc::clone(&lost)));
        Arc::new(ConnectionSlot {
            number,
            known: AtomicBool::new(false),
            lost,
            places: Arc::clone(self),
        })
    }

    fn slots(&self) -> MutexGuard<'_, SlotUse> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SlotUse {
    fn end_oldest(&mut self, of: impl Fn(IpAddr) -> bool) {
        let mut found = self.strangers.iter().filter(|(_, (from, _))| of(*from));
        let oldest = found.next().map(|(number, _)| *number);
        if let Some((from, lost)) = oldest.and_then(|oldest| self.strangers.remove(&oldest)) {
            tracing::debug!(%from, "connection ended for a newer one");
            lost.notify_one();
        }
    }
}

impl ConnectionSlot {
    /// Marks the connection: a request on it was admitted. Then a newer connection can no longer end it. If all slots
    /// for authenticated clients are in use, the connection stays a stranger.
    pub(super) fn is_known(&self) {
        if self.known.load(Ordering::Relaxed) {
            return;
        }
        let limits = &self.places.limits;
        let mut slots = self.places.slots();
        if slots.known < limits.connections - limits.strangers
            && slots.strangers.remove(&self.number).is_some()
        {
            slots.known += 1;
            self.known.store(true, Ordering::Relaxed);
        }
    }
}

impl ConnectionSlot {
    /// Returns whether an earlier request on this connection was admitted.
    pub(super) fn was_known(&self) -> bool {
        self.known.load(Ordering::Relaxed)
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut slots = self.places.slots();
        slots.strangers.remove(&self.number);
        slots.known -= usize::from(self.known.load(Ordering::Relaxed));
    }
}

/// The client's address, and the slot of its connection.
#[derive(Debug, Clone)]
pub(super) struct Peer {
    pub(super) address: SocketAddr,
    pub(super) place: Arc<ConnectionSlot>,
}

impl Peer {
    pub(super) fn new(address: SocketAddr, place: Arc<ConnectionSlot>) -> Self {
        Self { address, place }
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
    let places = Arc::new(ConnectionSlots {
        limits,
        slots: Mutex::default(),
    });
    let mut make = app.into_make_service_with_connect_info::<Peer>();
    let mut open = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = open.join_next() => continue,
        };
        let (stream, from) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "connection not accepted");
                tokio::time::sleep(AFTER_ERROR).await;
                continue;
            }
        };
        let place = places.enter(from.ip());
        let lost = Arc::clone(&place.lost);
        let service = match make.call(Peer::new(from, place)).await {
            Ok(service) => service,
            Err(never) => match never {},
        };
        let acceptor = acceptor.clone();
        open.spawn(async move {
            tokio::select! {
                () = lost.notified() => {}
                () = connection(stream, from, acceptor, service, limits) => {}
            }
        });
    }
}

type App = AddExtension<Router, ConnectInfo<Peer>>;

async fn connection(
    stream: TcpStream,
    from: SocketAddr,
    acceptor: Option<TlsAcceptor>,
    app: App,
    limits: ConnectionLimits,
) {
    let Some(acceptor) = acceptor else {
        return speak(stream, app, limits).await;
    };
    match tokio::time::timeout(limits.handshake, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => speak(stream, app, limits).await,
        Ok(Err(error)) => tracing::debug!(%from, %error, "handshake failed"),
        Err(_) => tracing::debug!(%from, "handshake took too long"),
    }
}

/// Serves HTTP on the stream. After the last response it reads and discards what the client still sends.
async fn speak(
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
        Err(error) => tracing::debug!(%error, "connection ended"),
    }
}

/// Closes the sending side, and reads what the client still sends. A command can be refused before its body has
/// arrived. If a socket is closed while it has unread bytes, TCP resets the connection, and the client may lose the
/// response.
async fn discard_rest(mut stream: impl AsyncRead + AsyncWrite + Unpin, longest: Duration) {
    let read = async {
        stream.shutdown().await?;
        tokio::io::copy(&mut stream, &mut tokio::io::sink()).await
    };
    match tokio::time::timeout(longest, read).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => tracing::debug!(%error, "connection ended"),
        Err(_) => tracing::debug!(?longest, "client did not end its connection"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    fn places(strangers: usize, per_address: usize) -> Arc<ConnectionSlots> {
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

    fn numbers(places: &ConnectionSlots) -> Vec<u64> {
        places.slots().strangers.keys().copied().collect()
    }

    #[test]
    fn the_newest_stranger_has_the_place_of_the_oldest_and_who_is_known_stays() {
        let places = places(3, 2);
        let [one, other] = [[127, 0, 0, 1], [127, 0, 0, 2]].map(IpAddr::from);
        let known = places.enter(one);
        known.is_known();
        let held: Vec<_> = (0..4).map(|_| places.enter(one)).collect();
        assert_eq!(numbers(&places), [3, 4], "two of one address");
        let more: Vec<_> = (0..2).map(|_| places.enter(other)).collect();
        assert_eq!(numbers(&places), [4, 5, 6], "three strangers");
        drop((held, more));
        assert_eq!(numbers(&places), [0_u64; 0]);
        assert_eq!(places.slots().known, 1);
        drop(known);
        assert_eq!(places.slots().known, 0);
    }

    /// The controller refuses a command before its body has arrived. A client that first sends the whole body still
    /// reads the refusal.
    #[tokio::test]
    async fn a_client_that_sends_on_after_a_refusal_reads_it() {
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
