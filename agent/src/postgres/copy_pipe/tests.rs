//! Tests that the copy uses bounded buffers, however wide a row is.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

use super::*;

/// Buffer size of a connection between two tasks.
const ROOM: usize = 16 << 10;

fn framed(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = i32::try_from(body.len() + 4).expect("a length");
    [&[kind][..], &length.to_be_bytes(), body].concat()
}

/// Returns the messages that the source sends after the rows.
fn end() -> Vec<u8> {
    let parts = [(b'c', &b""[..]), (b'C', b"COPY 3\0"), (b'Z', b"T")];
    parts.map(|(kind, body)| framed(kind, body)).concat()
}

/// Reads CopyData messages until they contain `expected` bytes. Returns the length of the longest message, and the
/// bytes.
async fn received(mut link: DuplexStream, expected: usize) -> (usize, Vec<u8>) {
    let (mut longest, mut all) = (0, Vec::new());
    while all.len() < expected {
        assert_eq!(link.read_u8().await.expect("a kind"), b'd');
        let length = link.read_u32().await.expect("a length") as usize - 4;
        let before = all.len();
        all.resize(before + length, 0);
        link.read_exact(&mut all[before..]).await.expect("a body");
        longest = longest.max(length);
    }
    (longest, all)
}

#[tokio::test]
async fn a_row_of_many_mebibytes_passes_in_pieces() {
    let wide: Vec<u8> = (0..32_usize << 20).map(|n| (n % 251) as u8).collect();
    let rows = [b"first".to_vec(), wide, b"last".to_vec()];
    let sent: Vec<u8> = rows.iter().flat_map(|row| framed(b'd', row)).collect();
    let sent = [framed(b'H', &[1, 0, 0]), sent, end()].concat();
    let expected = rows.concat();
    let ((mut source, from), (target, to)) = (duplex(ROOM), duplex(ROOM));
    let (mut from, mut to) = (CopyConnection::new(from), CopyConnection::new(to));
    let reported = AtomicUsize::new(0);
    let moved = |_, bytes: u64| {
        reported.store(usize::try_from(bytes).expect("a size"), Ordering::Relaxed);
        std::future::ready(())
    };
    let (_, (longest, all), passed) = tokio::join!(
        async { source.write_all(&sent).await.expect("sent") },
        received(target, expected.len()),
        forward_rows(&mut from, &mut to, moved),
    );
    assert_eq!(passed.expect("passed on"), expected.len() as u64);
    assert!(all == expected, "the bytes differ");
    assert!(longest <= MAX_MESSAGE_BYTES, "{longest}");
    assert!(reported.into_inner() > expected.len() - MIN_MESSAGE_BYTES);
}

#[tokio::test]
async fn an_error_of_the_target_ends_the_copy_while_the_source_sends_nothing() {
    let ((_silent, from), (mut target, to)) = (duplex(ROOM), duplex(ROOM));
    let (mut from, mut to) = (CopyConnection::new(from), CopyConnection::new(to));
    let notice = framed(b'N', b"SNOTICE\0Mnothing\0\0");
    let error = framed(b'E', b"SERROR\0C53100\0Mno space left\0Dkey 5\0\0");
    let sent = [notice, error].concat();
    let moved = |_, _| std::future::ready(());
    let (_, passed) = tokio::join!(
        async { target.write_all(&sent).await.expect("sent") },
        forward_rows(&mut from, &mut to, moved),
    );
    let Err(PipeFailure::Writing(PipeError::Refused(refusal))) = passed else {
        panic!("{passed:?}");
    };
    assert_eq!(
        (refusal.state.as_str(), refusal.message.as_str()),
        ("53100", "no space left")
    );
}

#[tokio::test]
async fn a_lost_source_is_an_error_and_not_the_end_of_the_rows() {
    let ((mut source, from), (_target, to)) = (duplex(ROOM), duplex(ROOM));
    let (mut from, mut to) = (CopyConnection::new(from), CopyConnection::new(to));
    let row = framed(b'd', b"half");
    source.write_all(&row[..7]).await.expect("sent");
    drop(source);
    let passed = forward_rows(&mut from, &mut to, |_, _| std::future::ready(())).await;
    let Err(PipeFailure::Reading(error @ PipeError::Broken(_))) = passed else {
        panic!("{passed:?}");
    };
    assert_eq!(error.class(), Class::Transient);
}
