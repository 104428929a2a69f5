//! A TCP or socket connection to one address of a server, with TLS as the mode requires. Nothing was sent on it yet.
//!
//! Both kinds of session use it: those of tokio-postgres, and those of the replication protocol.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::BytesMut;
use postgres_protocol::message::frontend;
use rustls::ClientConfig;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_util::either::Either;

use crate::methods::{Gate, Method};
use crate::resolved::Host;
use crate::tls::{self, TlsError};

/// One address of a host.
#[derive(Debug, Clone)]
pub(crate) enum HostAddress {
    Tcp(SocketAddr),
    Socket(PathBuf),
}

/// Whether a connection uses TLS.
#[derive(Clone)]
pub(crate) enum Protection {
    None,
    /// With TLS, if the server offers it.
    IfOffered(Arc<ClientConfig>),
    Always {
        config: Arc<ClientConfig>,
        /// True to begin TLS without first asking the server for it.
        direct: bool,
    },
}

/// Why no connection was made.
#[derive(Debug)]
pub(crate) enum DialError {
    Network(io::Error),
    Tls(TlsError),
}

type PlainTcp = Either<TcpStream, UnixStream>;
type BoxedStream = Either<PlainTcp, Box<tokio_rustls::client::TlsStream<TcpStream>>>;

/// A connection that is ready for the first message.
pub(crate) struct Link {
    stream: BoxedStream,
    /// Checks the authentication method that the server requests; `None` once it was checked.
    gate: Option<Gate>,
}

/// Returns the addresses of `host`.
pub(crate) async fn places(host: &Host) -> io::Result<Vec<HostAddress>> {
    if host.is_socket() {
        let path = PathBuf::from(&host.name).join(format!(".s.PGSQL.{}", host.port));
        return Ok(vec![HostAddress::Socket(path)]);
    }
    if let Some(address) = host.address {
        return Ok(vec![HostAddress::Tcp((address, host.port).into())]);
    }
    let found = tokio::net::lookup_host((host.name.as_str(), host.port)).await?;
    let mut places: Vec<SocketAddr> = found.collect();
    places.dedup();
    if places.is_empty() {
        return Err(io::Error::new(
            io::ErrorKind::NotFound,
            "no address is known",
        ));
    }
    Ok(places.into_iter().map(HostAddress::Tcp).collect())
}

/// Connects to the address `place` of `host`.
pub(crate) async fn dial(
    host: &Host,
    place: &HostAddress,
    protection: Protection,
) -> Result<Link, DialError> {
    let address = match place {
        HostAddress::Socket(path) => {
            let stream = UnixStream::connect(path).await;
            return Ok(Link::plain(Either::Right(
                stream.map_err(DialError::Network)?,
            )));
        }
        HostAddress::Tcp(address) => address,
    };
    let mut stream = TcpStream::connect(address)
        .await
        .and_then(kept_alive)
        .map_err(DialError::Network)?;
    let config = match protection {
        Protection::None => return Ok(Link::plain(Either::Left(stream))),
        Protection::Always {
            config,
            direct: true,
        } => config,
        Protection::Always { config, .. } => match offers_tls(&mut stream).await? {
            true => config,
            false => return Err(DialError::Tls(TlsError::NotOffered)),
        },
        Protection::IfOffered(config) => match offers_tls(&mut stream).await? {
            true => config,
            false => return Ok(Link::plain(Either::Left(stream))),
        },
    };
    let stream = tls::handshake(stream, host, config)
        .await
        .map_err(DialError::Tls)?;
    Ok(Link {
        stream: Either::Right(Box::new(stream)),
        gate: None,
    })
}

/// Enables TCP keepalive, so that a lost peer is noticed within about a minute.
fn kept_alive(stream: TcpStream) -> io::Result<TcpStream> {
    stream.set_nodelay(true)?;
    let socket = SockRef::from(&stream);
    socket.set_tcp_user_timeout(Some(Duration::from_secs(60)))?;
    let keepalive = TcpKeepalive::new()
        .with_time(Duration::from_secs(30))
        .with_interval(Duration::from_secs(10))
        .with_retries(3);
    socket.set_tcp_keepalive(&keepalive)?;
    Ok(stream)
}

async fn offers_tls(stream: &mut TcpStream) -> Result<bool, DialError> {
    let mut request = BytesMut::new();
    frontend::ssl_request(&mut request);
    let answer = async {
        stream.write_all(&request).await?;
        stream.read_u8().await
    };
    match answer.await.map_err(DialError::Network)? {
        b'S' => Ok(true),
        b'N' => Ok(false),
        _ => Err(DialError::Network(io::Error::new(
            io::ErrorKind::InvalidData,
            "it does not answer as PostgreSQL does",
        ))),
    }
}

impl Link {
    fn plain(stream: PlainTcp) -> Self {
        Self {
            stream: Either::Left(stream),
            gate: None,
        }
    }

    /// Restricts the authentication methods that the server may request.
    pub(crate) fn admitting(self, allowed: Vec<Method>) -> Self {
        let gate = Some(Gate::new(allowed));
        Self { gate, ..self }
    }

    /// Returns true if the connection uses TLS.
    pub(crate) fn is_protected(&self) -> bool {
        matches!(self.stream, Either::Right(_))
    }

    /// Returns the hash of the server's certificate, to which SCRAM can bind (channel binding).
    pub(crate) fn end_point(&self) -> Option<Vec<u8>> {
        let Either::Right(stream) = &self.stream else {
            return None;
        };
        let (_, connection) = stream.get_ref();
        tls::server_end_point(connection.peer_certificates()?.first()?)
    }
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Link(protected: {})", self.is_protected())
    }
}

impl AsyncRead for Link {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if let Some(gate) = &mut self.gate
            && gate.admit(&buffer.filled()[before..])?
        {
            self.gate = None;
        }
        read
    }
}

impl AsyncWrite for Link {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
