//! HTTP over TLS by rustls: handshakes run beside each other, and a slow one holds nobody up.

use super::ServeError;
use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::server::TlsStream;

/// Longest handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// Handshakes side by side at most.
const HANDSHAKES: usize = 256;
/// Pause after the operating system refused a connection, as it does without free descriptors.
const AFTER_ERROR: Duration = Duration::from_millis(100);

/// A server's certificate and its key, as PEM files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    /// The certificate, and those of the authorities between it and a root.
    pub chain: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

impl Certificate {
    /// The settings of a server that shows it.
    ///
    /// # Errors
    /// [`ServeError::Certificate`]
    pub fn config(&self) -> Result<Arc<ServerConfig>, ServeError> {
        let wrong = |path: &Path, reason: &dyn std::fmt::Display| ServeError::Certificate {
            path: path.to_owned(),
            reason: reason.to_string(),
        };
        let chain = CertificateDer::pem_file_iter(&self.chain);
        let chain: Result<Vec<_>, _> = chain.and_then(Iterator::collect);
        let chain = chain.map_err(|error| wrong(&self.chain, &error))?;
        let key = PrivateKeyDer::from_pem_file(&self.key);
        let key = key.map_err(|error| wrong(&self.key, &error))?;
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| wrong(&self.chain, &error))?;
        let config = builder.with_no_client_auth().with_single_cert(chain, key);
        config
            .map(Arc::new)
            .map_err(|error| wrong(&self.chain, &error))
    }
}

/// A listener whose connections have shaken hands.
#[derive(Debug)]
pub(super) struct TlsListener {
    ready: mpsc::Receiver<(TlsStream<TcpStream>, SocketAddr)>,
    local: SocketAddr,
    task: JoinHandle<()>,
}

impl TlsListener {
    pub(super) fn new(tcp: TcpListener, config: Arc<ServerConfig>) -> io::Result<Self> {
        let local = tcp.local_addr()?;
        let (done, ready) = mpsc::channel(1);
        let task = tokio::spawn(accept_for_ever(tcp, TlsAcceptor::from(config), done));
        Ok(Self { ready, local, task })
    }
}

impl Drop for TlsListener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

type Done = mpsc::Sender<(TlsStream<TcpStream>, SocketAddr)>;

async fn accept_for_ever(tcp: TcpListener, acceptor: TlsAcceptor, done: Done) {
    let places = Arc::new(Semaphore::new(HANDSHAKES));
    loop {
        // The semaphore is never closed.
        let place = Arc::clone(&places).acquire_owned().await;
        let (stream, from) = match tcp.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "connection not accepted");
                tokio::time::sleep(AFTER_ERROR).await;
                continue;
            }
        };
        let (acceptor, done) = (acceptor.clone(), done.clone());
        tokio::spawn(async move {
            let shaken = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await;
            drop(place);
            match shaken {
                // The server may be gone; then nobody waits for the connection either.
                Ok(Ok(stream)) => drop(done.send((stream, from)).await),
                Ok(Err(error)) => tracing::debug!(%from, %error, "handshake failed"),
                Err(_) => tracing::debug!(%from, "handshake took too long"),
            }
        });
    }
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.ready.recv().await {
            Some(ready) => ready,
            // The task that accepts lives as long as this.
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.local)
    }
}

/// The address at the other end of a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer(pub(super) SocketAddr);

impl Connected<IncomingStream<'_, TcpListener>> for Peer {
    fn connect_info(stream: IncomingStream<'_, TcpListener>) -> Self {
        Self(*stream.remote_addr())
    }
}

impl Connected<IncomingStream<'_, TlsListener>> for Peer {
    fn connect_info(stream: IncomingStream<'_, TlsListener>) -> Self {
        Self(*stream.remote_addr())
    }
}
