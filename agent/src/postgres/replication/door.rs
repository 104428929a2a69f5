//! How the replication client comes to a session that is open already.
//!
//! The client makes its own connections: to one host, and without binding a password to TLS. So
//! [`connect::Walsender`] finds the server, protects the connection and logs in; the client is then
//! led to it through a Unix socket that nobody else can reach and that is gone after one use.
//!
//! Order: listen in a new folder of mode 0700, accept the client, remove the folder, tell the
//! client that it is logged in, pass bytes on until one side ends.

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
    b'R', 0, 0, 0, 8, 0, 0, 0, 0, // logged in
    b'Z', 0, 0, 0, 5, b'I', // ready
];

/// The longest start message that a server would take.
const START_LIMIT_BYTES: u32 = 10_000;

/// What is taken from the server at once: changes come in great numbers.
const BUFFER_BYTES: usize = 128 << 10;

/// In a flood, what the server says is taken this much apart.
const PAUSE: Duration = Duration::from_millis(1);

/// So much within a pause is a flood: several thousand changes in a second.
const FLOOD_BYTES: usize = 6 << 10;

/// The port in the socket's name; there is no other socket in the folder.
pub(super) const PORT: u16 = 5432;

/// How the server's messages are passed on.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProxyOptions {
    pub(super) feedback: FeedbackMode,
    /// Very large values are left out of row changes.
    pub(super) trims: bool,
}

/// A folder with a socket that leads to one session. Dropping it removes the folder.
#[derive(Debug)]
pub(super) struct ReplicationProxy(PathBuf);

impl ReplicationProxy {
    /// Listens, and serves the first that comes in the background.
    pub(super) fn open(session: Walsender, passage: ProxyOptions) -> io::Result<Self> {
        let folder = std::env::temp_dir().join(format!("shardwright-{}", uuid::Uuid::new_v4()));
        std::fs::DirBuilder::new().mode(0o700).create(&folder)?;
        let door = Self(folder);
        let listener = UnixListener::bind(door.0.join(format!(".s.PGSQL.{PORT}")))?;
        tokio::spawn(async move {
            let server = session.server().to_owned();
            if let Err(error) = serve(listener, session, passage).await {
                tracing::debug!(server, %error, "replication session ended");
            }
        });
        Ok(door)
    }

    /// The folder that the client takes for its host.
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

/// The client's own start message says what was said already.
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

/// Ends as soon as one side does; what that side had said has been passed on by then.
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

/// Passes on what a server says, until it ends.
///
/// A walsender sends each change by itself, and a reader that waits for it is woken by each. So a flood is let come in
/// and taken in pieces, unless commits wait for it; what comes behind it is a millisecond or two later.
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

/// How much has come lately.
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

    /// Whether so much has come that the rest of it is worth waiting for; a buffer that is full has it behind it.
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
