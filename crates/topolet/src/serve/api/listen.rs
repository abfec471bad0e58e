//! Connections: every one is accepted at once and has a place ([`super::places`]), with a bounded patience.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use axum::response::{IntoResponse as _, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use kept_socket::KeptListener;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixStream};
use tokio::sync::oneshot;

use super::access::{Peer, Token};
use super::places::Book;
use super::reply::Failure;
use super::seats::{Seated, Seats};
use super::socket::{self, Open};
use crate::serve::kept::Missing;

/// How long the head of a request may take, and how long a connection may be silent.
pub(super) const HEAD: Duration = Duration::from_secs(10);
/// The largest head of a request, in bytes.
const LARGEST_HEAD: usize = 16 * 1024;
/// A pause after a failed accept, which is for want of something.
const PAUSE: Duration = Duration::from_millis(100);
/// How often connections are looked for whose clients do nothing.
const SWEEP: Duration = Duration::from_secs(1);

/// Who is at the other end, by the kernel's word.
type Credentials = Box<dyn Fn(&UnixStream) -> io::Result<u32>>;

/// Where requests come in.
pub(in crate::serve) struct Listeners {
    unix: KeptListener,
    user: Credentials,
    tcp: Option<(TcpListener, Option<Token>)>,
}

impl Listeners {
    /// Listens at the path, and at the address if there is one. `missing` learns when the socket is not served.
    pub(in crate::serve) fn open(
        (path, open): (&Path, Open),
        tcp: Option<(SocketAddr, Option<Token>)>,
        missing: Arc<Missing>,
    ) -> anyhow::Result<Self> {
        if let Some((address, _)) = tcp.as_ref().filter(|(address, _)| !address.ip().is_loopback()) {
            bail!("{address} can be reached from elsewhere: only loopback addresses are listened at");
        }
        let unix = socket::listen(path, open, missing)?;
        let tcp = match tcp {
            None => None,
            Some((address, token)) => {
                let listener = std::net::TcpListener::bind(address)
                    .and_then(|listener| {
                        listener.set_nonblocking(true)?;
                        TcpListener::from_std(listener)
                    })
                    .with_context(|| format!("failed to listen at {address}"))?;
                Some((listener, token))
            }
        };
        let user = Box::new(|stream: &UnixStream| Ok(stream.peer_cred()?.uid()));
        Ok(Self { unix, user, tcp })
    }

    /// The same with other word on who connects.
    #[cfg(test)]
    pub(super) fn with_users(mut self, user: impl Fn(&UnixStream) -> io::Result<u32> + 'static) -> Self {
        self.user = Box::new(user);
        self
    }

    /// The address of TCP, with the port that was chosen if 0 was asked for.
    pub(in crate::serve) fn tcp_address(&self) -> Option<SocketAddr> {
        self.tcp.as_ref().and_then(|(listener, _)| listener.local_addr().ok())
    }
}

/// Serves until the future that this is raced with is done. It may have so many `connections` open.
pub(in crate::serve) async fn serve(listeners: Listeners, router: Router, connections: usize) {
    let Listeners { mut unix, user, tcp } = listeners;
    let seats = Seats::new(Book::new(connections));
    let on_unix = async {
        loop {
            match unix.accept().await {
                Ok(stream) => match user(&stream) {
                    Ok(user) => start(&seats, stream, Peer::Unix { user }, &router).await,
                    Err(error) => tracing::warn!(%error, "failed to ask who is at the socket"),
                },
                Err(error) => {
                    tracing::warn!(%error, "failed to accept a connection");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    };
    let on_tcp = async {
        let Some((listener, token)) = &tcp else { return std::future::pending().await };
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    start(&seats, stream, Peer::Tcp { token: token.clone() }, &router).await;
                }
                Err(error) => {
                    tracing::warn!(%error, "failed to accept a connection");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    };
    let _: ((), (), ()) = tokio::join!(on_unix, on_tcp, sweep(&seats));
}

/// Closes connections whose clients do nothing, for ever.
pub(super) async fn sweep(seats: &Seats) {
    loop {
        tokio::time::sleep(SWEEP).await;
        seats.sweep();
    }
}

/// Serves a connection beside the others until it ends, or loses its place.
pub(super) async fn start(
    seats: &Seats,
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    peer: Peer,
    router: &Router,
) {
    let (seated, lost) = seats.sit(peer.connects_as());
    tokio::spawn(connection(stream, peer, (seated, lost), router.clone()));
    // Its request may be there already. It is read before many others are accepted, for which it would be closed.
    tokio::task::yield_now().await;
}

async fn connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
    peer: Peer,
    (seated, lost): (Seated, oneshot::Receiver<()>),
    router: Router,
) {
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |request: Request<Incoming>| {
        let (seated, peer, router) = (seated.clone(), peer.clone(), router.clone());
        async move { Ok::<_, Infallible>(answered(&seated, peer, request, &router).await) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(LARGEST_HEAD.max(8192))
        .serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        served = served => {
            if let Err(error) = served {
                tracing::debug!(%error, "connection ended early");
            }
        }
        _ = lost => tracing::debug!("connection is closed for another"),
    }
}

/// Paths that are answered in any case: they cost nothing, and whoever asks would take silence for death.
const ALWAYS: [&str; 2] = ["/healthz", "/readyz"];

/// The answer to a request, which has its turn until it is read.
async fn answered(
    seated: &Seated,
    peer: Peer,
    request: Request<Incoming>,
    router: &TowerToHyperService<Router>,
) -> Response {
    let who = peer.who(request.headers());
    let turn = if ALWAYS.contains(&request.uri().path()) {
        seated.stir();
        None
    } else {
        let Ok(turn) = seated.begin(who) else {
            let text = format!("{who} has as many requests in progress as it may have: try again");
            return Failure::busy(text).into_response();
        };
        Some(turn)
    };
    let mut request = request.map(Body::new);
    request.extensions_mut().insert(peer);
    let Ok(response) = router.call(request).await;
    match turn {
        Some(turn) => turn.answered(response),
        None => response,
    }
}
