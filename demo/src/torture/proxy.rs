//! A proxy: a port that forwards everything to another one, until the test makes it cut connections, or hold or lose
//! data.
//!
//! Held data is delivered late, as after a network partition.

use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

const BUFFER: usize = 1 << 16;

/// The commands to connections. A connection compares the numbers with those at its start.
#[derive(Debug, Clone, Copy)]
struct ProxyControl {
    /// The port to which new connections lead.
    to: u16,
    holds: bool,
    /// The number of commands to end all connections.
    cuts: u64,
    /// The number of commands to lose the next reply of each connection.
    losses: u64,
}

/// A port that forwards to another one. Dropping the value ends every connection.
#[derive(Debug)]
pub(crate) struct Proxy {
    port: u16,
    control: watch::Sender<ProxyControl>,
    task: JoinHandle<()>,
}

impl Proxy {
    /// Listens on a free port of loopback, and forwards to the port `to`.
    pub(crate) async fn start(to: u16) -> io::Result<Self> {
        Self::start_at(0, to).await
    }

    /// Listens on this port, which no program may use.
    pub(crate) async fn start_at(port: u16, to: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let port = listener.local_addr()?.port();
        let control = watch::Sender::new(ProxyControl {
            to,
            holds: false,
            cuts: 0,
            losses: 0,
        });
        let task = tokio::spawn(receive(listener, control.clone()));
        Ok(Self {
            port,
            control,
            task,
        })
    }

    /// Returns the port on which the proxy listens.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Returns the port to which new connections lead.
    pub(crate) fn destination(&self) -> u16 {
        self.control.borrow().to
    }

    /// Leads new connections to another port, and ends existing ones.
    pub(crate) fn set_destination(&self, to: u16) {
        self.control.send_modify(|control| {
            control.to = to;
            control.cuts += 1;
        });
    }

    /// Ends every existing connection. New ones are accepted.
    pub(crate) fn cut(&self) {
        self.control.send_modify(|control| control.cuts += 1);
    }

    /// Ends every existing connection when its next reply arrives. This reply is lost.
    pub(crate) fn lose_replies(&self) {
        self.control.send_modify(|control| control.losses += 1);
    }

    /// Delivers no more data, and closes no connection.
    pub(crate) fn hold(&self) {
        self.control.send_modify(|control| control.holds = true);
    }

    /// Delivers the held data, and continues.
    pub(crate) fn resume(&self) {
        self.control.send_modify(|control| control.holds = false);
    }
}

/// An HTTP proxy through which a program reaches several servers, each through its own [`Proxy`].
#[derive(Debug)]
pub(crate) struct HttpSwitch {
    port: u16,
    task: JoinHandle<()>,
}

impl HttpSwitch {
    /// Starts the proxy. `proxy_ports` contains for each requested port the port to which it connects.
    pub(crate) async fn start(proxy_ports: BTreeMap<u16, u16>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(switch(client, proxy_ports.clone()));
            }
        });
        Ok(Self { port, task })
    }

    /// Returns the port on which the proxy listens.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for HttpSwitch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Forwards a connection to the server that its first request names. A client has a connection for each server.
async fn switch(mut client: TcpStream, proxy_ports: BTreeMap<u16, u16>) -> io::Result<()> {
    let mut begin = Vec::new();
    while !begin.contains(&b'\n') {
        if client.read_buf(&mut begin).await? == 0 {
            return Ok(());
        }
    }
    let to = requested_port(&begin).and_then(|port| proxy_ports.get(&port));
    let to = to.ok_or(io::ErrorKind::InvalidData)?;
    let mut server = TcpStream::connect((Ipv4Addr::LOCALHOST, *to)).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    server.write_all(&begin).await?;
    tokio::io::copy_bidirectional(&mut client, &mut server)
        .await
        .map(|_| ())
}

/// Returns the port in `GET http://host:port/path HTTP/1.1`.
fn requested_port(request: &[u8]) -> Option<u16> {
    let line = request.split(|byte| *byte == b'\r').next()?;
    let line = std::str::from_utf8(line).ok()?;
    let (_, rest) = line.split_once("http://")?;
    let (host, _) = rest.split_once('/')?;
    host.rsplit_once(':')?.1.parse().ok()
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
        self.cut();
    }
}

async fn receive(listener: TcpListener, control: watch::Sender<ProxyControl>) {
    loop {
        match listener.accept().await {
            Ok((client, _)) => {
                tokio::spawn(serve(client, control.subscribe()));
            }
            Err(error) => tracing::debug!(%error, "connection not accepted"),
        }
    }
}

/// Serves one connection until either side ends it or it is cut.
async fn serve(client: TcpStream, mut control: watch::Receiver<ProxyControl>) {
    let initial = *control.borrow();
    let forwarded = forward(client, initial, control.clone());
    tokio::select! {
        ended = forwarded => if let Err(error) = ended {
            tracing::debug!(to = initial.to, %error, "connection ended");
        },
        _ = control.wait_for(|now| now.cuts > initial.cuts) => {}
    }
}

/// Forwards data in both directions until an error or the end of both streams.
async fn forward(
    client: TcpStream,
    initial: ProxyControl,
    mut control: watch::Receiver<ProxyControl>,
) -> io::Result<()> {
    wait_until_released(&mut control).await?;
    let server = TcpStream::connect((Ipv4Addr::LOCALHOST, initial.to)).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let requests = pump(from_client, to_server, control.clone(), |_| false);
    let replies = pump(from_server, to_client, control, move |now| {
        now.losses > initial.losses
    });
    tokio::try_join!(requests, replies).map(|_| ())
}

/// Forwards data until the end of the stream. It returns an error when data is intentionally lost.
async fn pump(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut control: watch::Receiver<ProxyControl>,
    loses: impl Fn(ProxyControl) -> bool,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        let length = from.read(&mut buffer).await?;
        wait_until_released(&mut control).await?;
        if length == 0 {
            return to.shutdown().await;
        }
        if loses(*control.borrow()) {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        to.write_all(&buffer[..length]).await?;
    }
}

/// Waits until data is no longer held.
async fn wait_until_released(control: &mut watch::Receiver<ProxyControl>) -> io::Result<()> {
    let open = control.wait_for(|now| !now.holds).await;
    open.map_err(io::Error::other).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncBufReadExt;
    use tokio::io::BufReader;

    /// A server that answers each line with the same line.
    async fn echo() -> u16 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let (mut from, mut to) = stream.into_split();
                    let _ = tokio::io::copy(&mut from, &mut to).await;
                });
            }
        });
        port
    }

    async fn connect(proxy: &Proxy) -> BufReader<TcpStream> {
        let address = (Ipv4Addr::LOCALHOST, proxy.port());
        BufReader::new(TcpStream::connect(address).await.unwrap())
    }

    async fn exchange(stream: &mut BufReader<TcpStream>, line: &str) -> io::Result<String> {
        stream.get_mut().write_all(line.as_bytes()).await?;
        read_answer(stream).await
    }

    async fn read_answer(stream: &mut BufReader<TcpStream>) -> io::Result<String> {
        let mut answer = String::new();
        stream.read_line(&mut answer).await?;
        Ok(answer)
    }

    #[tokio::test]
    async fn a_proxy_forwards_until_its_connections_are_cut() {
        let proxy = Proxy::start(echo().await).await.unwrap();
        let mut stream = connect(&proxy).await;
        assert_eq!(exchange(&mut stream, "one\n").await.unwrap(), "one\n");
        proxy.cut();
        assert!(
            read_answer(&mut stream)
                .await
                .is_ok_and(|text| text.is_empty())
        );
        let mut stream = connect(&proxy).await;
        assert_eq!(exchange(&mut stream, "two\n").await.unwrap(), "two\n");
    }

    #[tokio::test]
    async fn held_data_is_delivered_after_resume() {
        let proxy = Proxy::start(echo().await).await.unwrap();
        let mut stream = connect(&proxy).await;
        assert_eq!(exchange(&mut stream, "one\n").await.unwrap(), "one\n");
        proxy.hold();
        let mut other = connect(&proxy).await;
        stream.get_mut().write_all(b"two\n").await.unwrap();
        other.get_mut().write_all(b"three\n").await.unwrap();
        let silence = std::time::Duration::from_millis(50);
        assert!(
            tokio::time::timeout(silence, read_answer(&mut stream))
                .await
                .is_err()
        );
        proxy.resume();
        assert_eq!(read_answer(&mut stream).await.unwrap(), "two\n");
        assert_eq!(read_answer(&mut other).await.unwrap(), "three\n");
    }

    #[tokio::test]
    async fn a_switch_forwards_to_the_port_of_the_first_request() {
        let to = echo().await;
        let switch = HttpSwitch::start([(7, to)].into()).await.unwrap();
        let address = (Ipv4Addr::LOCALHOST, switch.port());
        let line = "GET http://127.0.0.1:7/path HTTP/1.1\n";
        let mut stream = BufReader::new(TcpStream::connect(address).await.unwrap());
        assert_eq!(exchange(&mut stream, line).await.unwrap(), line);
        assert_eq!(requested_port(b"GET /path HTTP/1.1\r\n"), None);
    }

    #[tokio::test]
    async fn a_lost_reply_ends_its_connection() {
        let proxy = Proxy::start(echo().await).await.unwrap();
        let mut stream = connect(&proxy).await;
        assert_eq!(exchange(&mut stream, "one\n").await.unwrap(), "one\n");
        proxy.lose_replies();
        let lost = exchange(&mut stream, "two\n").await;
        assert!(lost.is_err() || lost.is_ok_and(|text| text.is_empty()));
        let mut stream = connect(&proxy).await;
        assert_eq!(exchange(&mut stream, "three\n").await.unwrap(), "three\n");
    }
}
