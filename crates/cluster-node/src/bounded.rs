//! Limits on what an API server sends: kube's client reads an answer as a whole, and each line of a watch, however long they are.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame};
use hyper::{Request, Response, Uri};
use tokio::time::{Instant, Sleep, sleep_until};
use tower::{BoxError, Layer, Service};

/// The largest answer: a page of 200 objects of more than 1 MiB each, or the metadata of 100,000 pods.
const LARGEST_ANSWER: usize = 256 << 20;
/// The longest line of a watch, which is an object in JSON. etcd takes 1.5 MiB of it in protobuf.
const LONGEST_LINE: usize = 16 << 20;
/// So much of a watch is read in a second; the rest waits at the API server.
const WATCH_RATE: usize = 16 << 20;

/// An answer, or a line of a watch, is larger than any that an API server sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TooLarge {
    is_line: bool,
    limit: usize,
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.is_line { "a line of a watch" } else { "an answer" };
        write!(f, "{what} is larger than {} MiB", self.limit >> 20)
    }
}

impl std::error::Error for TooLarge {}

/// The limits of one answer.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    is_watch: bool,
    /// Bytes of the answer, or of a line of a watch.
    size: usize,
    /// Bytes in a second.
    rate: usize,
}

impl Bounds {
    fn of(asked: &Uri) -> Self {
        let mut parameters = asked.query().unwrap_or_default().split('&');
        if parameters.any(|parameter| parameter == "watch=true") {
            Self { is_watch: true, size: LONGEST_LINE, rate: WATCH_RATE }
        } else {
            Self { is_watch: false, size: LARGEST_ANSWER, rate: usize::MAX }
        }
    }
}

/// Bounds the answers of a client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BoundedAnswers;

impl<S> Layer<S> for BoundedAnswers {
    type Service = BoundedClient<S>;

    fn layer(&self, inner: S) -> Self::Service {
        BoundedClient(inner)
    }
}

/// A client whose answers are bounded.
#[derive(Clone, Debug)]
pub(crate) struct BoundedClient<S>(S);

impl<S, A, B> Service<Request<A>> for BoundedClient<S>
where
    S: Service<Request<A>, Response = Response<B>>,
    S::Future: Send + 'static,
{
    type Response = Response<BoundedBody<B>>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: Request<A>) -> Self::Future {
        let bounds = Bounds::of(request.uri());
        let answered = self.0.call(request);
        Box::pin(async move { Ok(answered.await?.map(|body| BoundedBody::new(body, bounds))) })
    }
}

/// The body of an answer.
pub(crate) struct BoundedBody<B> {
    body: B,
    bounds: Bounds,
    /// Bytes of the answer, or of the line of a watch, until now.
    read: usize,
    /// When the current second began, and the bytes read since.
    second: (Instant, usize),
    /// The rest of that second, if nothing more is read in it.
    pause: Option<Pin<Box<Sleep>>>,
}

#[expect(
    clippy::disallowed_methods,
    reason = "bytes within a second of the network, on tokio's clock that tests move"
)]
impl<B> BoundedBody<B> {
    fn new(body: B, bounds: Bounds) -> Self {
        Self { body, bounds, read: 0, second: (Instant::now(), 0), pause: None }
    }

    fn count(&mut self, data: &[u8]) -> Result<(), TooLarge> {
        let Bounds { is_watch, size, rate } = self.bounds;
        let mut lines = data.split(|byte| is_watch && *byte == b'\n');
        let first = lines.next().map_or(0, <[u8]>::len);
        let longest = lines.clone().map(<[u8]>::len).max().unwrap_or(0);
        let before = self.read.saturating_add(first);
        // The last line goes on.
        self.read = lines.next_back().map_or(before, <[u8]>::len);
        if before.max(longest) > size {
            return Err(TooLarge { is_line: is_watch, limit: size });
        }
        if self.second.0.elapsed() >= Duration::from_secs(1) {
            self.second = (Instant::now(), 0);
        }
        self.second.1 = self.second.1.saturating_add(data.len());
        if self.second.1 >= rate {
            self.pause = Some(Box::pin(sleep_until(self.second.0 + Duration::from_secs(1))));
        }
        Ok(())
    }
}

impl<B> Body for BoundedBody<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Some(pause) = &mut self.pause {
            ready!(pause.as_mut().poll(context));
            self.pause = None;
        }
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        Poll::Ready(frame.map(|frame| {
            let frame = frame.map_err(Into::into)?;
            if let Some(data) = frame.data_ref() {
                self.count(data)?;
            }
            Ok(frame)
        }))
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::{BodyExt as _, StreamBody};

    use super::*;

    const SMALL: Bounds = Bounds { is_watch: false, size: 8, rate: usize::MAX };
    const WATCH: Bounds = Bounds { is_watch: true, size: 8, rate: 20 };

    fn body(
        bounds: Bounds,
        parts: &[&'static str],
    ) -> BoundedBody<impl Body<Data = Bytes, Error = BoxError> + Unpin> {
        let frames: Vec<Result<_, BoxError>> =
            parts.iter().map(|part| Ok(Frame::data(Bytes::from_static(part.as_bytes())))).collect();
        BoundedBody::new(StreamBody::new(tokio_stream::iter(frames)), bounds)
    }

    /// What is read within a second, or the error.
    fn read(bounds: Bounds, parts: &[&'static str]) -> Result<usize, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.unwrap().block_on(async {
            let mut body = body(bounds, parts);
            let mut all = 0;
            let read = async {
                while let Some(frame) = body.frame().await {
                    all += frame.map_err(|error| error.to_string())?.data_ref().map_or(0, Bytes::len);
                }
                Ok(())
            };
            match tokio::time::timeout(Duration::from_millis(900), read).await {
                Ok(Err(error)) => Err(error),
                Ok(Ok(())) | Err(_) => Ok(all),
            }
        })
    }

    #[test]
    fn an_answer_has_a_size_and_a_watch_lines() {
        let large = |what: &str| Err(format!("{what} is larger than 0 MiB"));
        assert_eq!(read(SMALL, &["1234", "5678"]), Ok(8));
        assert_eq!(read(SMALL, &["1234", "5678", "9"]), large("an answer"));
        assert_eq!(read(SMALL, &["1234\n", "5678\n"]), large("an answer"));
        assert_eq!(read(WATCH, &["1234\n5678", "9012\n1", "\n"]), Ok(16));
        assert_eq!(read(WATCH, &["1234\n5678", "90123"]), large("a line of a watch"));
        assert_eq!(read(WATCH, &["1\n123456789\n1"]), large("a line of a watch"));
        // The rest comes a second later.
        assert_eq!(read(WATCH, &["1234567\n", "1234567\n", "1234567\n", "1234567\n"]), Ok(24));
    }

    #[test]
    fn a_watch_is_known_by_its_address() {
        let is_watch = |address: &str| Bounds::of(&address.parse().unwrap()).is_watch;
        assert!(is_watch("https://h/api/v1/pods?&watch=true&timeoutSeconds=290"));
        assert!(!is_watch("https://h/api/v1/pods?fieldSelector=a%26watch%3Dtrue&limit=200"));
    }
}
