//! Connections that have their places ([`super::places`]), and are closed when they lose them.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use axum::body::{Body, Bytes, HttpBody};
use axum::response::Response;
use hyper::body::{Frame, SizeHint};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;

use super::places::{Book, Full, Seat, Who};

/// All connections.
#[derive(Clone)]
pub(super) struct Seats(Arc<Mutex<Inner>>);

struct Inner {
    book: Book,
    /// Dropped to close a connection.
    open: BTreeMap<Seat, oneshot::Sender<()>>,
}

impl Seats {
    pub(super) fn new(book: Book) -> Self {
        Self(Arc::new(Mutex::new(Inner { book, open: BTreeMap::new() })))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock()
    }

    /// A place for a new connection, and what ends when the place is lost.
    pub(super) fn sit(&self, who: Who) -> (Seated, oneshot::Receiver<()>) {
        let mut inner = self.lock();
        let (seat, closed) = inner.book.sit(who, now());
        if let Some(closed) = closed {
            inner.open.remove(&closed);
        }
        let (open, lost) = oneshot::channel();
        inner.open.insert(seat, open);
        (Seated(Arc::new(Held { seats: self.clone(), seat })), lost)
    }

    /// Whether there is no connection.
    #[cfg(fuzzing)]
    pub(super) fn are_free(&self) -> bool {
        let inner = self.lock();
        inner.book.is_empty() && inner.open.is_empty()
    }

    /// Closes connections whose clients neither speak nor read.
    pub(super) fn sweep(&self) {
        let mut inner = self.lock();
        for seat in inner.book.overdue(now()) {
            inner.open.remove(&seat);
        }
    }
}

/// The time by the clock of the deadlines of requests, which a test may stop.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// The place of one connection, until the last clone is dropped.
#[derive(Clone)]
pub(super) struct Seated(Arc<Held>);

struct Held {
    seats: Seats,
    seat: Seat,
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut inner = self.seats.lock();
        inner.book.leave(self.seat);
        inner.open.remove(&self.seat);
    }
}

impl Seated {
    /// A request begins.
    ///
    /// # Errors
    /// `who` has as many in progress as it may.
    pub(super) fn begin(&self, who: Who) -> Result<Turn, Full> {
        self.0.seats.lock().book.begin(self.0.seat, who, now())?;
        Ok(Turn(self.clone()))
    }

    /// A request that needs no share has come.
    pub(super) fn stir(&self) {
        self.0.seats.lock().book.rest(self.0.seat, now());
    }
}

/// A request in progress, until it is dropped.
pub(super) struct Turn(Seated);

impl Turn {
    /// The answer keeps the turn until its client has read it.
    pub(super) fn answered(self, response: Response) -> Response {
        let Held { seats, seat } = &*self.0.0;
        seats.lock().book.answer(*seat, now());
        keep(self, response)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.stir();
    }
}

/// Keeps `kept` until the body of the answer has been written or given up.
pub(super) fn keep(kept: impl Send + Sync + Unpin + 'static, response: Response) -> Response {
    response.map(|body| Body::new(Keeping { body, _kept: kept }))
}

/// A body that holds something.
struct Keeping<T> {
    body: Body,
    _kept: T,
}

impl<T: Unpin> HttpBody for Keeping<T> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// So much of an answer is given to a connection at once, in bytes.
const PIECE: usize = 16 * 1024;

/// A text that is given out as its client reads it: while it does not, the body is not at its end, and what is kept
/// with it stays kept.
pub(super) struct Pieces(pub(super) Bytes);

impl HttpBody for Pieces {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.0.is_empty() {
            return Poll::Ready(None);
        }
        let end = PIECE.min(self.0.len());
        Poll::Ready(Some(Ok(Frame::data(self.0.split_to(end)))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(u64::try_from(self.0.len()).unwrap_or(u64::MAX))
    }
}
