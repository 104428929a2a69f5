//! A stream over a pipe, of which the test is the server.

use bytes::Bytes;
use connect::Class;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

use super::*;

/// An ErrorResponse with the fields severity, SQLSTATE, message and detail.
const REFUSAL: &[u8] = b"SERROR\0C55000\0Mthe slot is gone\0DKey (k)=(secret)\0\0";

/// Starts a stream over a pipe and returns the server's side of it.
async fn stream(feedback: FeedbackMode) -> (DuplexStream, WalsenderSession) {
    let (mut server, link) = duplex(64 << 10);
    let mut connection = ReplicationConnection::over(Bytes::new(), link);
    let accept = async {
        let command = received(&mut server).await;
        assert_eq!(command, (b'Q', b"START\0".to_vec()));
        send(&mut server, b'W', &[0; 3]).await;
    };
    let (started, ()) = tokio::join!(connection.start("START", false), accept);
    started.expect("started");
    let session = WalsenderSession::spawn(connection, "server".to_owned(), feedback);
    assert_eq!(reported(&mut server).await, (Lsn::ZERO, false));
    (server, session)
}

async fn send(server: &mut DuplexStream, kind: u8, body: &[u8]) {
    let length = u32::try_from(body.len() + 4).expect("a length");
    let message = [&[kind][..], &length.to_be_bytes(), body].concat();
    server.write_all(&message).await.expect("sent");
}

async fn send_keep_alive(server: &mut DuplexStream, position: u64, requests_reply: bool) {
    let position = position.to_be_bytes();
    let body = [b"k", &position[..], &[0; 8], &[u8::from(requests_reply)]].concat();
    send(server, b'd', &body).await;
}

async fn send_change(server: &mut DuplexStream, position: u64, change: &[u8]) {
    let position = position.to_be_bytes();
    let body = [b"w", &position[..], &position, &[0; 8], change].concat();
    send(server, b'd', &body).await;
}

fn change(position: u64, message: &'static [u8]) -> RawEvent {
    RawEvent::Message {
        at: Lsn(position),
        ends: None,
        message: Bytes::from_static(message),
    }
}

/// Returns the next message of the client.
async fn received(server: &mut DuplexStream) -> (u8, Vec<u8>) {
    let kind = server.read_u8().await.expect("a message");
    let length = server.read_u32().await.expect("a length");
    let mut body = vec![0; length as usize - 4];
    server.read_exact(&mut body).await.expect("a body");
    (kind, body)
}

/// Returns the position of the client's next status report, and whether it requests a reply.
async fn reported(server: &mut DuplexStream) -> (Lsn, bool) {
    let (kind, body) = received(server).await;
    assert_eq!((kind, body[0], body.len()), (b'd', b'r', 34));
    let positions = [1, 9, 17].map(|at| body[at..at + 8].try_into().expect("eight bytes"));
    let [written, flushed, applied] = positions.map(u64::from_be_bytes);
    assert_eq!((written, flushed), (applied, applied));
    (Lsn(applied), body[33] == 1)
}

async fn failure(session: &mut WalsenderSession) -> WireError {
    session.next().await.expect_err("the stream has ended")
}

#[tokio::test]
async fn a_request_for_a_reply_is_answered_at_once_with_what_was_confirmed() {
    let (mut server, mut session) = stream(FeedbackMode::Easy).await;
    let begun = Instant::now();
    send_keep_alive(&mut server, 70, true).await;
    assert_eq!(reported(&mut server).await, (Lsn::ZERO, true));
    session.confirm(Lsn(60));
    send_keep_alive(&mut server, 80, true).await;
    assert_eq!(reported(&mut server).await, (Lsn(60), true));
    assert!(begun.elapsed() < STATUS_INTERVAL);
    for wal_end in [70, 80].map(Lsn) {
        let event = session.next().await.expect("an event");
        assert_eq!(event, Some(RawEvent::KeepAlive { wal_end }));
    }
}

#[tokio::test]
async fn a_confirmed_position_is_reported_after_the_interval_of_the_mode() {
    for (feedback, interval) in [
        (FeedbackMode::Easy, STATUS_INTERVAL),
        (FeedbackMode::Prompt, Duration::from_millis(1)),
    ] {
        let begun = Instant::now();
        let (mut server, session) = stream(feedback).await;
        session.confirm(Lsn(5));
        session.confirm(Lsn(7));
        assert_eq!(reported(&mut server).await, (Lsn(7), false));
        assert!(begun.elapsed() >= interval);
        // An idle stream does not repeat the report until the server requests it.
        send_keep_alive(&mut server, 8, false).await;
        let repeated = timeout(STATUS_INTERVAL * 2, server.read_u8()).await;
        assert!(repeated.is_err(), "{repeated:?}");
    }
}

#[tokio::test]
async fn the_highest_confirmed_position_is_reported_before_the_session_ends() {
    let (mut server, session) = stream(FeedbackMode::Easy).await;
    session.confirm(Lsn(9));
    session.confirm(Lsn(5));
    let ends = async {
        assert_eq!(reported(&mut server).await, (Lsn(9), false));
        assert_eq!(received(&mut server).await, (b'X', Vec::new()));
        drop(server);
    };
    let begun = Instant::now();
    let (closed, ()) = tokio::join!(session.close(), ends);
    closed.expect("closed");
    assert!(begun.elapsed() < STATUS_INTERVAL);
}

#[tokio::test]
async fn a_server_that_does_not_end_is_left_after_a_limit() {
    let (mut server, session) = stream(FeedbackMode::Easy).await;
    let begun = Instant::now();
    session.close().await.expect("closed");
    assert!(begun.elapsed() >= END_LIMIT);
    assert_eq!(received(&mut server).await, (b'X', Vec::new()));
}

#[tokio::test]
async fn a_consumer_that_takes_nothing_bounds_what_is_read_and_reports_continue() {
    let (mut server, mut session) = stream(FeedbackMode::Easy).await;
    let change = vec![b'O'; 1 << 10];
    let (mut from, mut to) = tokio::io::split(&mut server);
    let mut sent = 0;
    let body = [b"w", &[0; 24][..], &change].concat();
    let length = u32::try_from(body.len() + 4).expect("a length");
    let message = [b"d", &length.to_be_bytes()[..], &body].concat();
    // The pipe, the read buffer, what the task holds, and what the channel holds.
    while timeout(Duration::from_secs(1), to.write_all(&message))
        .await
        .is_ok()
    {
        sent += message.len();
    }
    assert!(sent > AHEAD_BYTES && sent < 4 * AHEAD_BYTES, "{sent}");
    // Each report has 39 bytes.
    let mut reports = vec![0; 39 * 3];
    let read = timeout(Duration::from_secs(60), from.read_exact(&mut reports)).await;
    read.expect("in time").expect("reports");
    for _ in 0..sent / message.len() {
        assert!(session.next().await.expect("a message").is_some());
    }
}

#[tokio::test]
async fn an_error_of_the_server_comes_after_the_messages_before_it_and_without_its_detail() {
    let (mut server, mut session) = stream(FeedbackMode::Prompt).await;
    send_change(&mut server, 3, b"O").await;
    send(&mut server, b'E', REFUSAL).await;
    assert_eq!(
        session.next().await.expect("a change"),
        Some(change(3, b"O"))
    );
    let error = failure(&mut session).await;
    assert_eq!(error.sqlstate(), Some("55000"));
    let error = error.during("server", "stream changes");
    let message = "could not stream changes on server: the slot is gone (SQLSTATE 55000)";
    assert_eq!(
        (error.to_string().as_str(), error.class()),
        (message, Class::Permanent)
    );
    assert!(!format!("{error:?}").contains("secret"), "{error:?}");
    assert!(matches!(failure(&mut session).await, WireError::Ended));
}

#[tokio::test]
async fn a_stream_that_the_server_completes_has_ended() {
    for (kind, body) in [(b'c', &b""[..]), (b'C', b"COPY 0\0")] {
        let (mut server, mut session) = stream(FeedbackMode::Prompt).await;
        send_change(&mut server, 3, b"O").await;
        send(&mut server, kind, body).await;
        assert_eq!(
            session.next().await.expect("a change"),
            Some(change(3, b"O"))
        );
        assert!(matches!(failure(&mut session).await, WireError::Ended));
    }
}

#[tokio::test]
async fn a_connection_that_ends_within_a_message_is_a_transient_error() {
    let (mut server, mut session) = stream(FeedbackMode::Prompt).await;
    send_change(&mut server, 3, b"O").await;
    server.write_all(b"d\0\0\0\x20w").await.expect("sent");
    drop(server);
    assert_eq!(
        session.next().await.expect("a change"),
        Some(change(3, b"O"))
    );
    let error = failure(&mut session)
        .await
        .during("server", "stream changes");
    assert_eq!(error.class(), Class::Transient, "{error:?}");
    assert_eq!(
        crate::error::message_with_causes(&error),
        "could not stream changes on server: connection closed"
    );
}

#[tokio::test]
async fn a_message_that_belongs_to_no_stream_is_a_permanent_error() {
    for body in [&b""[..], b"w12345678", b"k123456781234567", b"x"] {
        let (mut server, mut session) = stream(FeedbackMode::Prompt).await;
        send(&mut server, b'd', body).await;
        let error = failure(&mut session)
            .await
            .during("server", "stream changes");
        assert_eq!(error.class(), Class::Permanent, "{error:?}");
    }
}

#[tokio::test]
async fn a_session_is_usable_after_a_refused_query_and_not_after_one_that_was_given_up() {
    let (mut server, link) = duplex(1 << 10);
    let mut connection = ReplicationConnection::over(Bytes::new(), link);
    send(&mut server, b'E', REFUSAL).await;
    send(&mut server, b'Z', b"I").await;
    let refused = connection.query("first").await.expect_err("refused");
    assert_eq!(refused.to_string(), "the slot is gone (SQLSTATE 55000)");
    send(&mut server, b'D', b"\0\x02\0\0\0\x01x\xff\xff\xff\xff").await;
    send(&mut server, b'Z', b"I").await;
    let rows = connection.query("second").await.expect("rows");
    assert_eq!(rows, [[Some(Bytes::from_static(b"x")), None]]);
    let given_up = timeout(Duration::from_millis(1), connection.query("third")).await;
    assert!(given_up.is_err());
    let error = connection.query("fourth").await.expect_err("given up");
    assert!(matches!(error, WireError::Broken(_)), "{error}");
}

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
fn after_a_large_read_there_is_no_pause() {
    let now = Instant::now();
    assert!(!FlowMeter::new(now).is_flood(LEAST_BYTES, now));
    assert!(FlowMeter::new(now).is_flood(LEAST_BYTES - 1, now));
}
