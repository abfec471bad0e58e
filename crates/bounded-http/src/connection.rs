//! What holds for each request of every server: it is meant for this host, its body comes in within bounds, and it has a
//! share. Routes get requests that are whole.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, HttpBody as _};
use axum::http::{Request, header};
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::arrival::{arrived, drain};
use crate::peer::Peer;
use crate::refused::Refused;
use crate::seats::{Seated, Turn};

/// How long the head of a request may take, and how long a connection may be silent.
pub const HEAD: Duration = Duration::from_secs(10);
/// The largest head of a request, in bytes.
const LARGEST_HEAD: usize = 16 * 1024;

/// What is served.
#[derive(Clone, Debug)]
pub struct Service {
    /// The routes. Each request has a [`Peer`] and an [`Arrival`] among its extensions, and its whole body.
    pub router: Router,
    /// Paths that are answered in any case: they cost nothing, and a probe takes silence for death. They have no
    /// body.
    pub always: &'static [&'static str],
    /// The largest body that a path takes, in bytes.
    pub largest: fn(path: &str) -> usize,
    /// The answer to a request that does not come as far as the routes.
    pub refused: fn(&Refused) -> Response,
}

/// When the head of a request was there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival(pub Instant);

/// Serves a connection until it ends. When `outdated` is over, it ends after the request that is in progress.
pub(crate) async fn connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
    peer: Peer,
    seated: Seated,
    service: Service,
    outdated: impl Future<Output = ()>,
) {
    let Service { router, always, largest, refused } = service;
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |request: Request<Incoming>| {
        let (seated, peer, router) = (seated.clone(), peer.clone(), router.clone());
        async move {
            let arrival = Arrival(Instant::now());
            let (whole, turn) = match whole(request, &peer, &seated, (always, largest)).await {
                Ok(whole) => whole,
                Err(why) => return Ok::<_, Infallible>(refused(&why)),
            };
            let mut request = whole;
            request.extensions_mut().insert(peer);
            request.extensions_mut().insert(arrival);
            let Ok(response) = router.call(request).await;
            // The answer keeps its turn until it is read.
            Ok(match turn {
                Some(turn) => turn.answered(response),
                None => response,
            })
        }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(LARGEST_HEAD.max(8192))
        .serve_connection(TokioIo::new(stream), service);
    let mut served = std::pin::pin!(served);
    let mut outdated = std::pin::pin!(outdated);
    let mut is_outdated = false;
    let ended = loop {
        tokio::select! {
            ended = served.as_mut() => break ended,
            () = outdated.as_mut(), if !is_outdated => {
                is_outdated = true;
                served.as_mut().graceful_shutdown();
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection ended early");
    }
}

/// The request with its body, once that is there, and its turn; none where it is answered in any case.
async fn whole(
    request: Request<Incoming>,
    peer: &Peer,
    seated: &Seated,
    (always, largest): (&[&str], fn(&str) -> usize),
) -> Result<(Request<Body>, Option<Turn>), Refused> {
    let (head, body) = request.into_parts();
    // A client that has not been asked to go on sends no body.
    let expects = head.headers.contains_key(header::EXPECT);
    if let Err((status, why)) = peer.is_for_us(&head.uri, &head.headers) {
        drain(body, expects);
        return Err(Refused::NotForUs(status, why));
    }
    if always.contains(&head.uri.path()) {
        seated.stir();
        drain(body, expects);
        return Ok((Request::from_parts(head, Body::empty()), None));
    }
    let who = peer.who(&head.headers);
    let body = if body.is_end_stream() {
        Body::empty()
    } else {
        seated.receive(who);
        match arrived(body, largest(head.uri.path()), expects, |length| seated.grow(length)).await {
            Ok(body) => body.into(),
            Err(why) => {
                seated.stir();
                return Err(why.unwrap_or_else(|| Refused::busy(who)));
            }
        }
    };
    let turn = seated.begin(who).map_err(|_| {
        seated.stir();
        Refused::busy(who)
    })?;
    Ok((Request::from_parts(head, body), Some(turn)))
}
