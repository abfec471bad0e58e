//! Connections: every one is accepted at once and has a place ([`crate::places`]), with a bounded patience.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use kept_socket::{KeptListener, SocketChange};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixStream};
use tokio::sync::oneshot;

use crate::Busy;
use crate::peer::{Peer, Token};
use crate::seats::{Seated, Seats};
use crate::socket::{self, SocketError, UnixSocket};

/// How long the head of a request may take, and how long a connection may be silent.
pub const HEAD: Duration = Duration::from_secs(10);
/// The largest head of a request, in bytes.
const LARGEST_HEAD: usize = 16 * 1024;
/// A pause after a failed accept, which is for want of something.
const PAUSE: Duration = Duration::from_millis(100);
/// How often connections are looked for whose clients do nothing.
const SWEEP: Duration = Duration::from_secs(1);

/// Who is at the other end, by the kernel's word.
type Credentials = Box<dyn Fn(&UnixStream) -> io::Result<u32>>;

/// What is served.
#[derive(Clone, Debug)]
pub struct Service {
    /// The routes. Each request has a [`Peer`] among its extensions.
    pub router: Router,
    /// Paths that are answered in any case: they cost nothing, and whoever asks would take silence for death.
    pub always: &'static [&'static str],
    /// The answer to a request that is beyond its user's share.
    pub busy: fn(Busy) -> Response,
}

/// Why a server does not listen.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ListenError {
    /// Other hosts could connect.
    #[error("{0} can be reached from elsewhere: only loopback addresses are listened at")]
    NotLoopback(SocketAddr),
    /// The address cannot be had.
    #[error("failed to listen at {address}")]
    Tcp {
        /// The address.
        address: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The unix socket cannot be made.
    #[error(transparent)]
    Socket(#[from] SocketError),
}

/// Where requests come in.
pub struct Listeners {
    unix: KeptListener,
    user: Credentials,
    tcp: Option<(TcpListener, Option<Token>)>,
}

impl fmt::Debug for Listeners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listeners").field("unix", &self.unix).field("tcp", &self.tcp).finish_non_exhaustive()
    }
}

impl Listeners {
    /// Listens at the socket, and at the address if there is one. `tell` hears when another process removes or replaces
    /// the socket; it may not wait. To be called inside a tokio runtime.
    ///
    /// # Errors
    /// The address is not a loopback address, or one of them cannot be had.
    pub fn open(
        unix: UnixSocket,
        tcp: Option<(SocketAddr, Option<Token>)>,
        tell: impl FnMut(SocketChange) + Send + 'static,
    ) -> Result<Self, ListenError> {
        if let Some((address, _)) = &tcp {
            check_loopback(*address)?;
        }
        let unix = socket::listen(unix, tell)?;
        let tcp = match tcp {
            None => None,
            Some((address, token)) => Some((bind(address)?, token)),
        };
        let user = Box::new(|stream: &UnixStream| Ok(stream.peer_cred()?.uid()));
        Ok(Self { unix, user, tcp })
    }

    /// The same, but `user` says which user connects on the unix socket, and not the kernel: for a socket whose clients
    /// are those of a proxy, and for tests.
    #[must_use]
    pub fn with_users(mut self, user: impl Fn(&UnixStream) -> io::Result<u32> + 'static) -> Self {
        self.user = Box::new(user);
        self
    }

    /// The address of TCP, with the port that was chosen if 0 was asked for.
    #[must_use]
    pub fn tcp_address(&self) -> Option<SocketAddr> {
        self.tcp.as_ref().and_then(|(listener, _)| listener.local_addr().ok())
    }
}

/// Serves until the future that this is raced with is done. It may have so many `connections` open.
pub async fn serve(listeners: Listeners, service: Service, connections: usize) {
    let Listeners { mut unix, user, tcp } = listeners;
    let seats = Seats::new(connections);
    let on_unix = async {
        loop {
            match unix.accept().await {
                Ok(stream) => match user(&stream) {
                    Ok(user) => seats.start(stream, Peer::Unix { user }, &service).await,
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
        accept_tcp(listener, &seats, &Peer::Tcp { token: token.clone() }, &service).await;
    };
    let _: ((), (), ()) = tokio::join!(on_unix, on_tcp, seats.keep_sweeping());
}

/// Loopback TCP alone, without a unix socket: for a program that one person starts and stops.
#[derive(Debug)]
pub struct LoopbackListener {
    listener: TcpListener,
    token: Token,
}

impl LoopbackListener {
    /// Listens at the address. To be called inside a tokio runtime.
    ///
    /// # Errors
    /// It is not a loopback address, or it cannot be had.
    pub fn open(address: SocketAddr, token: Token) -> Result<Self, ListenError> {
        check_loopback(address)?;
        Ok(Self { listener: bind(address)?, token })
    }

    /// Its address, with the port that was chosen if 0 was asked for.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.listener.local_addr().ok()
    }
}

/// Serves until the future that this is raced with is done.
pub async fn serve_on_loopback(listener: LoopbackListener, service: Service, connections: usize) {
    let LoopbackListener { listener, token } = listener;
    let seats = Seats::new(connections);
    let peer = Peer::Tcp { token: Some(token) };
    let _: ((), ()) = tokio::join!(accept_tcp(&listener, &seats, &peer, &service), seats.keep_sweeping());
}

/// Where anybody may ask who can reach the address, from other hosts too: for answers that everybody may read. No request
/// that comes in there may change anything.
#[derive(Debug)]
pub struct OpenListener(TcpListener);

impl OpenListener {
    /// Listens at the address. To be called inside a tokio runtime.
    ///
    /// # Errors
    /// The address cannot be had.
    pub fn open(address: SocketAddr) -> Result<Self, ListenError> {
        Ok(Self(bind(address)?))
    }

    /// Its address, with the port that was chosen if 0 was asked for.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.0.local_addr().ok()
    }
}

/// Serves until the future that this is raced with is done. Connections from other hosts are those of one user.
pub async fn serve_openly(listener: OpenListener, service: Service, connections: usize) {
    let seats = Seats::new(connections);
    let peer = Peer::Tcp { token: None };
    let _: ((), ()) = tokio::join!(accept_tcp(&listener.0, &seats, &peer, &service), seats.keep_sweeping());
}

fn check_loopback(address: SocketAddr) -> Result<(), ListenError> {
    if address.ip().is_loopback() { Ok(()) } else { Err(ListenError::NotLoopback(address)) }
}

fn bind(address: SocketAddr) -> Result<TcpListener, ListenError> {
    let listener = std::net::TcpListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        TcpListener::from_std(listener)
    });
    listener.map_err(|source| ListenError::Tcp { address, source })
}

/// Accepts connections for ever.
async fn accept_tcp(listener: &TcpListener, seats: &Seats, peer: &Peer, service: &Service) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Otherwise the end of an answer waits for an acknowledgement, which clients may delay by 40 ms.
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%error, "failed to have a connection send at once");
                }
                seats.start(stream, peer.clone(), service).await;
            }
            Err(error) => {
                tracing::warn!(%error, "failed to accept a connection");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

impl Seats {
    /// Closes connections whose clients do nothing, for ever.
    pub async fn keep_sweeping(&self) {
        loop {
            tokio::time::sleep(SWEEP).await;
            self.sweep();
        }
    }

    /// Serves a connection beside the others until it ends, or loses its place.
    pub async fn start(
        &self,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        peer: Peer,
        service: &Service,
    ) {
        let (seated, lost) = self.sit(peer.connects_as());
        tokio::spawn(connection(stream, peer, (seated, lost), service.clone()));
        // Its request may be there already. It is read before many others are accepted, for which it would be closed.
        tokio::task::yield_now().await;
    }
}

async fn connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
    peer: Peer,
    (seated, lost): (Seated, oneshot::Receiver<()>),
    service: Service,
) {
    let Service { router, always, busy } = service;
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |request: Request<Incoming>| {
        let (seated, peer, router) = (seated.clone(), peer.clone(), router.clone());
        async move {
            let needs_share = !always.contains(&request.uri().path());
            let turn = if needs_share {
                let who = peer.who(request.headers());
                let Ok(turn) = seated.begin(who) else {
                    let text = format!("{who} has as many requests in progress as it may have: try again");
                    return Ok::<_, Infallible>(busy(Busy(text)));
                };
                Some(turn)
            } else {
                seated.stir();
                None
            };
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(peer);
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
    tokio::select! {
        served = served => {
            if let Err(error) = served {
                tracing::debug!(%error, "connection ended early");
            }
        }
        _ = lost => tracing::debug!("connection is closed for another"),
    }
}
