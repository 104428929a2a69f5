//! Lends a session's connection to code that implements the protocol itself. COPY needs this, because the driver would
//! parse its rows.
//!
//! The driver first sends an empty query and waits for the response, so that no other response is outstanding. Then the
//! connection is taken from the driver between two messages, and the driver waits. Finally the connection is either
//! given back, or closed, which ends the session.

use std::fmt::{self, Debug, Formatter};
use std::future::{Ready, poll_fn, ready};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Client;
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};

use crate::dial::Link;
use crate::frames::Frames;

/// The place of a session's connection, which the driver and the borrower share.
pub(crate) struct ConnectionSlot {
    /// The connection; `None` while it is lent, and after it was closed.
    link: Option<Link>,
    closed: bool,
    /// The messages that the driver has read.
    frames: Frames,
    driver: Option<Waker>,
    borrower: Option<Waker>,
}

impl ConnectionSlot {
    pub(crate) fn new(link: Link) -> Arc<Mutex<Self>> {
        Arc::new(Mutex::new(Self {
            link: Some(link),
            closed: false,
            frames: Frames::default(),
            driver: None,
            borrower: None,
        }))
    }

    /// Takes the connection when no message was read in part. Returns `None` if the connection was closed.
    fn poll_take(&mut self, cx: &mut Context<'_>) -> Poll<Option<Link>> {
        if self.link.is_some() && !self.frames.between() {
            self.borrower = Some(cx.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(self.link.take())
    }

    fn close(&mut self) {
        self.link = None;
        self.closed = true;
        self.wake();
    }

    fn wake(&mut self) {
        for waker in [self.driver.take(), self.borrower.take()] {
            waker.into_iter().for_each(Waker::wake);
        }
    }
}

fn lock(place: &Mutex<ConnectionSlot>) -> MutexGuard<'_, ConnectionSlot> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The connection as the driver uses it. While it is lent, reads and writes wait.
pub(crate) struct Lendable(pub(crate) Arc<Mutex<ConnectionSlot>>);

impl Lendable {
    fn poll<T>(
        &self,
        cx: &mut Context<'_>,
        work: impl FnOnce(Pin<&mut Link>, &mut Frames, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let mut place = lock(&self.0);
        let ConnectionSlot {
            link,
            frames,
            closed,
            ..
        } = &mut *place;
        let done = match link {
            Some(link) => work(Pin::new(link), frames, cx),
            None if *closed => Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into())),
            None => Poll::Pending,
        };
        if done.is_pending() {
            place.driver = Some(cx.waker().clone());
        }
        if let Some(borrower) = place.borrower.take() {
            borrower.wake();
        }
        done
    }
}

impl Drop for Lendable {
    fn drop(&mut self) {
        lock(&self.0).close();
    }
}

impl AsyncRead for Lendable {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.poll(cx, |link, frames, cx| {
            let before = buffer.filled().len();
            let read = link.poll_read(cx, buffer);
            let mut new = &buffer.filled()[before..];
            while !new.is_empty() {
                let (count, _) = frames.step(new)?;
                new = &new[count..];
            }
            read
        })
    }
}

impl AsyncWrite for Lendable {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll(cx, |link, _, cx| link.poll_write(cx, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll(cx, |link, _, cx| link.poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll(cx, |link, _, cx| link.poll_shutdown(cx))
    }
}

impl TlsStream for Lendable {
    fn channel_binding(&self) -> ChannelBinding {
        let place = lock(&self.0);
        match place.link.as_ref().and_then(Link::end_point) {
            Some(hash) => ChannelBinding::tls_server_end_point(hash),
            None => ChannelBinding::none(),
        }
    }
}

/// Tells tokio-postgres that TLS is already established, if the mode requires it.
pub(crate) struct Established;

impl TlsConnect<Lendable> for Established {
    type Stream = Lendable;
    type Error = std::convert::Infallible;
    type Future = Ready<Result<Lendable, Self::Error>>;

    fn connect(self, link: Lendable) -> Self::Future {
        ready(Ok(link))
    }
}

/// The borrowed connection of an idle session, inside or outside a transaction.
///
/// The borrower must follow the protocol. Dropping the value closes the connection, which ends the session and its
/// transaction. Only [`Lent::give_back`] keeps the session usable.
pub struct Lent<'a> {
    link: Option<Link>,
    place: &'a Mutex<ConnectionSlot>,
}

impl<'a> Lent<'a> {
    /// Takes the connection in `place` from the driver of `client`. Until it is given back, `client` must not be used.
    ///
    /// # Errors
    /// An error if the session has ended.
    pub(crate) async fn take(
        client: &Client,
        place: &'a Mutex<ConnectionSlot>,
    ) -> Result<Self, tokio_postgres::Error> {
        loop {
            // The server answers in order, so after this response no other one is outstanding.
            client.simple_query("").await?;
            // Without a connection the driver is about to report the error.
            if let Some(link) = poll_fn(|cx| lock(place).poll_take(cx)).await {
                let link = Some(link);
                return Ok(Self { link, place });
            }
        }
    }

    /// Gives the connection back. The server must have sent ReadyForQuery, and the borrower must have read it.
    pub fn give_back(mut self) {
        let mut place = lock(self.place);
        place.link = self.link.take();
        place.wake();
    }

    fn poll<T>(
        &mut self,
        work: impl FnOnce(Pin<&mut Link>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        match &mut self.link {
            Some(link) => work(Pin::new(link)),
            None => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        if self.link.take().is_some() {
            lock(self.place).close();
        }
    }
}

impl Debug for Lent<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "Lent({:?})", self.link)
    }
}

impl AsyncRead for Lent<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.poll(|link| link.poll_read(cx, buffer))
    }
}

impl AsyncWrite for Lent<'_> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll(|link| link.poll_write(cx, bytes))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll(|link| link.poll_flush(cx))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll(|link| link.poll_shutdown(cx))
    }
}
