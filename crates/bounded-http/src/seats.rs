//! Connections that have their places ([`crate::places`]), and are closed when they lose them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use axum::body::HttpBody as _;
use axum::response::Response;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;

use crate::body::{keep, with_each_part};
use crate::places::{Book, Full, Reach, Seat, Who};

/// All connections. Clones are the same connections.
#[derive(Clone)]
pub struct Seats(Arc<Mutex<Inner>>);

struct Inner {
    book: Book,
    /// Dropped to close a connection.
    open: BTreeMap<Seat, oneshot::Sender<()>>,
}

impl Seats {
    /// For a program that may have so many `connections` to clients open.
    #[must_use]
    pub fn new(connections: usize) -> Self {
        Self::within(Reach::Host, connections)
    }

    /// The same for a server that other clients reach.
    pub(crate) fn within(reach: Reach, connections: usize) -> Self {
        let book = Book::new(reach, connections);
        Self(Arc::new(Mutex::new(Inner { book, open: BTreeMap::new() })))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock()
    }

    /// A place for a new connection, and what ends when the place is lost.
    pub(crate) fn sit(&self, who: Who) -> (Seated, oneshot::Receiver<()>) {
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
    #[must_use]
    pub fn are_free(&self) -> bool {
        let inner = self.lock();
        inner.book.is_empty() && inner.open.is_empty()
    }

    /// Closes connections whose clients neither speak nor read.
    pub(crate) fn sweep(&self) {
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
pub(crate) struct Seated(Arc<Held>);

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
    /// The client has shown who it is.
    #[cfg(feature = "tls")]
    pub(crate) fn recognise(&self, who: Who) {
        let mut inner = self.0.seats.lock();
        if let Some(closed) = inner.book.recognise(self.0.seat, who, now()) {
            inner.open.remove(&closed);
        }
    }

    /// A body comes in.
    pub(crate) fn receive(&self, who: Who) {
        self.0.seats.lock().book.receive(self.0.seat, who, now());
    }

    /// So many bytes of it have come.
    ///
    /// # Errors
    /// There is no room for them.
    pub(crate) fn grow(&self, body: usize) -> Result<(), Full> {
        let mut inner = self.0.seats.lock();
        for closed in inner.book.grow(self.0.seat, body)? {
            inner.open.remove(&closed);
        }
        Ok(())
    }

    /// A request begins.
    ///
    /// # Errors
    /// `who` has as many in progress as it may.
    pub(crate) fn begin(&self, who: Who) -> Result<Turn, Full> {
        self.0.seats.lock().book.begin(self.0.seat, who, now())?;
        Ok(Turn(self.clone()))
    }

    /// A request that needs no share has come.
    pub(crate) fn stir(&self) {
        self.0.seats.lock().book.rest(self.0.seat, now());
    }
}

/// A request in progress, until it is dropped.
pub(crate) struct Turn(Seated);

impl Turn {
    /// The answer keeps the turn until its client has read it. One without a length goes on for as long as its client reads
    /// each part in time.
    pub(crate) fn answered(self, response: Response) -> Response {
        self.is_read();
        if response.body().size_hint().exact().is_some() {
            keep(self, response)
        } else {
            with_each_part(move || self.is_read(), response)
        }
    }

    /// The client has time to read from now on.
    fn is_read(&self) {
        let Held { seats, seat } = &*self.0.0;
        seats.lock().book.answer(*seat, now());
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.stir();
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};
    use std::time::Instant;

    use axum::body::{Body, Bytes, HttpBody};
    use axum::response::Response;
    use hyper::body::Frame;

    use super::{Seats, now};
    use crate::body::text;
    use crate::places::{READING, Who};

    /// A stream of events, say.
    struct Endless;

    impl HttpBody for Endless {
        type Data = Bytes;
        type Error = axum::Error;

        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
            Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"event\n")))))
        }
    }

    /// Whether a client that reads a part of the answer has all its time again.
    fn has_time_again(response: Response) -> bool {
        let seats = Seats::new(4096);
        let (seated, _lost) = seats.sit(Who::Owner(0));
        let Ok(turn) = seated.begin(Who::Owner(0)) else { panic!("there is room for one") };
        let mut body = turn.answered(response).into_body();
        let before: Instant = now();
        while now() == before {}
        let read = Pin::new(&mut body).poll_frame(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(read, Poll::Ready(Some(Ok(_)))));
        seats.lock().book.overdue(before + READING).is_empty()
    }

    #[test]
    fn a_stream_goes_on_while_it_is_read_and_a_long_answer_has_one_deadline() {
        assert!(has_time_again(Response::new(Body::new(Endless))));
        assert!(!has_time_again(text("text/plain", "x".repeat(1 << 20))));
    }
}
