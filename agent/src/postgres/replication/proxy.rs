//! Connects the replication client to a session that is already open.
//!
//! The client can only connect to one host, and cannot bind a password to TLS (channel binding). So
//! [`connect::Walsender`] selects the server, sets up TLS and logs in. The client then connects to this session through
//! a Unix socket that no other user can access and that accepts one connection.
//!
//! The proxy listens in a new folder of mode 0700, accepts the client, and removes the folder. It reports to the client
//! that it is logged in, and forwards bytes until one side closes.

use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::BytesMut;
use connect::Walsender;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::{Instant, sleep, timeout};

use super::FeedbackMode;
use super::trimming::MessageFilter;

/// `AuthenticationOk`, then `ReadyForQuery` outside of a transaction.
const LOGGED_IN: [u8; 15] = [
    b'R', 0, 0, 0, 8, 0, 0, 0, 0, // AuthenticationOk
    b'Z', 0, 0, 0, 5, b'I', // ReadyForQuery
];

/// Maximum length of a startup message, as in PostgreSQL.
const START_LIMIT_BYTES: u32 = 10_000;

/// Buffer size for data from the server, large because many changes arrive at once.
const BUFFER_BYTES: usize = 128 << 10;

/// Pause between two reads while many changes arrive.
const PAUSE: Duration = Duration::from_millis(1);

/// If this many bytes arrive within one pause (several thousand changes per second), the proxy pauses before the next
/// read.
const FLOOD_BYTES: usize = 6 << 10;

/// The port in the socket's name. The folder contains no other socket.
pub(super) const PORT: u16 = 5432;

/// How the proxy forwards the server's messages.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProxyOptions {
    pub(super) feedback: FeedbackMode,
    /// The proxy removes very large values from row changes.
    pub(super) trims: bool,
}

/// A folder with a socket that leads to one session. If this value is dropped, the folder is removed.
#[derive(Debug)]
pub(super) struct ReplicationProxy(PathBuf);

impl ReplicationProxy {
    /// Listens, and serves the first client in a background task.
    pub(super) fn open(session: Walsender, passage: ProxyOptions) -> io::Result<Self> {
        let folder = std::env::temp_dir().join(format!("shardwright-{}", uuid::Uuid::new_v4()));
        std::fs::DirBuilder::new().mode(0o700).create(&folder)?;
        let proxy = Self(folder);
        let listener = UnixListener::bind(proxy.0.join(format!(".s.PGSQL.{PORT}")))?;
        tokio::spawn(async move {
            let server = session.server().to_owned();
            if let Err(error) = serve(listener, session, passage).await {
                tracing::debug!(server, %error, "replication session ended");
            }
        });
        Ok(proxy)
    }

    /// Returns the folder, which the client uses as its host.
    pub(super) fn folder(&self) -> &Path {
        &self.0
    }
}

impl Drop for ReplicationProxy {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

async fn serve(
    listener: UnixListener,
    session: Walsender,
    passage: ProxyOptions,
) -> io::Result<()> {
    let arrived = timeout(session.connect_timeout(), listener.accept()).await;
    let (mut client, _) = arrived??;
    drop(listener);
    skip_start(&mut client).await?;
    let (unread, server) = session.into_stream();
    client.write_all(&LOGGED_IN).await?;
    client.write_all(&unread).await?;
    pass_on(client, server, passage).await
}

/// Skips the client's startup message, because the session is already logged in.
async fn skip_start(client: &mut UnixStream) -> io::Result<()> {
    let length = client.read_u32().await?;
    if !(4..=START_LIMIT_BYTES).contains(&length) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let rest = u64::from(length - 4);
    let skipped = tokio::io::copy(&mut client.take(rest), &mut tokio::io::sink()).await?;
    match skipped == rest {
        true => Ok(()),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Forwards bytes in both directions until one side closes. All bytes that this side sent have been forwarded by then.
async fn pass_on(
    client: UnixStream,
    server: impl AsyncRead + AsyncWrite,
    passage: ProxyOptions,
) -> io::Result<()> {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = tokio::io::split(server);
    let up = async {
        tokio::io::copy(&mut from_client, &mut to_server).await?;
        to_server.shutdown().await
    };
    let down = async {
        pour(&mut from_server, &mut to_client, passage).await?;
        to_client.shutdown().await
    };
    tokio::select! {
        ended = up => ended,
        ended = down => ended,
    }
}

/// Forwards the server's messages until the server closes.
///
/// A walsender sends each change in a message of its own, and each message wakes the reader. If many changes arrive and
/// no commit waits for them, the proxy therefore pauses, and reads many changes at once. This adds a delay of one or
/// two milliseconds.
async fn pour(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    passage: ProxyOptions,
) -> io::Result<()> {
    let mut buffer = BytesMut::with_capacity(BUFFER_BYTES);
    let mut flow = FlowMeter::new(Instant::now());
    let mut trimming = passage.trims.then(MessageFilter::default);
    while from.read_buf(&mut buffer).await? > 0 {
        let arrived = buffer.len();
        match &mut trimming {
            None => to.write_all(&buffer).await?,
            Some(trimming) => to.write_all(trimming.take(&buffer)?).await?,
        }
        buffer.clear();
        if passage.feedback == FeedbackMode::Easy && flow.is_flood(arrived, Instant::now()) {
            sleep(PAUSE).await;
        }
    }
    Ok(())
}

/// The number of bytes that arrived within the current pause interval.
struct FlowMeter {
    since: Instant,
    taken: usize,
}

impl FlowMeter {
    fn new(now: Instant) -> Self {
        Self {
            since: now,
            taken: 0,
        }
    }

    /// Returns whether so many bytes have arrived that the proxy should pause. A full buffer means that more bytes are
    /// already waiting.
    fn is_flood(&mut self, arrived: usize, now: Instant) -> bool {
        if now - self.since >= PAUSE {
            *self = Self::new(now);
        }
        self.taken += arrived;
        self.taken >= FLOOD_BYTES && arrived < BUFFER_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::duplex;

    const MESSAGE_BYTES: usize = 100;

    #[test]
    fn many_messages_within_a_pause_are_a_flood() {
        let begun = Instant::now();
        let mut flow = FlowMeter::new(begun);
        let messages = FLOOD_BYTES / MESSAGE_BYTES;
        let mut step = |number: usize, apart: Duration| {
            let at = begun + apart * u32::try_from(number).expect("few");
            flow.is_flood(MESSAGE_BYTES, at)
        };
        assert!(!(0..10 * messages).any(|number| step(number, PAUSE / 10)));
        let later = 20 * messages;
        assert!((later..later + 2 * messages).any(|number| step(number, PAUSE / 100)));
    }

    #[test]
    fn a_full_buffer_is_not_waited_behind() {
        let now = Instant::now();
        assert!(!FlowMeter::new(now).is_flood(BUFFER_BYTES, now));
        assert!(FlowMeter::new(now).is_flood(BUFFER_BYTES - 1, now));
    }

    #[tokio::test]
    async fn what_a_server_says_arrives_as_it_was_said() {
        let passages = [
            (FeedbackMode::Easy, true),
            (FeedbackMode::Easy, false),
            (FeedbackMode::Prompt, false),
        ];
        for (feedback, trims) in passages {
            let passage = ProxyOptions { feedback, trims };
            let (mut server, mut from) = duplex(BUFFER_BYTES / 2);
            let (mut to, mut client) = duplex(BUFFER_BYTES);
            let body: Vec<u8> = (0..=u8::MAX).cycle().take(MESSAGE_BYTES).collect();
            let length = u32::try_from(MESSAGE_BYTES + 4).expect("short");
            let message = [&b"d"[..], &length.to_be_bytes(), &body].concat();
            let said = message.repeat(10 * BUFFER_BYTES / MESSAGE_BYTES);
            let say = async {
                for message in said.chunks(MESSAGE_BYTES) {
                    server.write_all(message).await.expect("said");
                }
                drop(server);
            };
            let pass = async {
                pour(&mut from, &mut to, passage).await.expect("passed on");
                drop(to);
            };
            let mut heard = Vec::new();
            let ((), (), length) = tokio::join!(say, pass, client.read_to_end(&mut heard));
            length.expect("heard");
            assert!(heard == said, "{passage:?}: {} bytes arrived", heard.len());
        }
    }
}
