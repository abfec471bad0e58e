//! Bodies of answers: in pieces, and with what is kept until they are read.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use hyper::body::{Frame, SizeHint};

/// Keeps `kept` until the body of the answer has been written or given up.
pub fn keep(kept: impl Send + Sync + Unpin + 'static, response: Response) -> Response {
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

/// Calls `handed_out` with each part of the answer's body that its client has room for; what it holds is kept until the
/// body has been written or given up.
pub(crate) fn with_each_part(
    handed_out: impl FnMut() + Send + Sync + Unpin + 'static,
    response: Response,
) -> Response {
    response.map(|body| Body::new(Watched { body, handed_out }))
}

/// A body whose parts are noticed.
struct Watched<F> {
    body: Body,
    handed_out: F,
}

impl<F: FnMut() + Unpin> HttpBody for Watched<F> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if matches!(polled, Poll::Ready(Some(_))) {
            (self.handed_out)();
        }
        polled
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

/// A text of this `kind`, a media type. It is handed out as its client reads it: while the client does not read, the
/// body is not at its end, and what is kept with it ([`keep`]) stays kept.
#[must_use]
pub fn text(kind: &'static str, text: String) -> Response {
    let mut response = Response::new(Body::new(Pieces(text.into())));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// A text in pieces.
struct Pieces(Bytes);

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
