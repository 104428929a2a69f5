//! Accepts connections, and keeps places for those who have shown a token.
//!
//! A connection is a stranger's until a request on it has been let in. Strangers have a share of the places; when it is
//! full, the oldest of them ends for the newest. So whoever comes is served at once, however many say nothing.
//! Order on a connection: the handshake, the head of a request, its body, the rest; each within its time.

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

/// Pause after the operating system refused a connection, as it does without free descriptors.
const AFTER_ERROR: Duration = Duration::from_millis(100);
/// Connections at most, however many descriptors there are.
const MOST: usize = 8_192;

/// How many connections there may be, and how long each part of one may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// All connections.
    pub connections: usize,
    /// Those on which nobody has shown a token.
    pub strangers: usize,
    /// The same, of one address.
    pub per_address: usize,
    /// Longest TLS handshake.
    pub handshake: Duration,
    /// Longest wait for the head of a request, the first one or the next.
    pub head: Duration,
    /// Longest time in which the controller reads what comes after its last answer.
    pub rest: Duration,
}

impl ConnectionLimits {
    /// As many connections as three quarters of this process's descriptors, of which strangers have half.
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

/// Takes as many descriptors as this process may have.
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

/// Who is connected.
#[derive(Debug)]
struct ConnectionSlots {
    limits: ConnectionLimits,
    slots: Mutex<SlotUse>,
}

#[derive(Debug, Default)]
struct SlotUse {
    next: u64,
    /// In the order in which they came.
    strangers: BTreeMap<u64, (IpAddr, Arc<Notify>)>,
    known: usize,
}

/// The place of one connection; it is free again when this is dropped.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    number: u64,
    known: AtomicBool,
    /// Somebody newer has the place.
    lost: Arc<Notify>,
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
    /// A request was let in here: nobody newer takes the place, as long as there are places for those who are known.
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
    /// A request was let in here before.
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

/// The other end of a connection, and its place.
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

/// Serves `app` on `listener` until this is dropped, which ends its connections.
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
            // The connection has its slot as long as it is read.
            let _service = parts.service;
            discard_rest(parts.io.into_inner(), limits.rest).await;
        }
        Err(error) => tracing::debug!(%error, "connection ended"),
    }
}

/// Ends the answers, and reads what the client still sends. An order may be refused before its body has arrived; a
/// socket that is closed with unread bytes is reset, and a reset takes the answer from the client that has not read it.
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

    /// The controller refuses an order before its body has arrived. A client that sends the body first still reads why.
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
