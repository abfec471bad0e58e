//! Where connections come in: every one is accepted at once and has a place ([`crate::places`]), with a bounded patience.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use kept_socket::{KeptListener, SocketChange};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixStream};

use crate::connection::{Service, connection};
use crate::peer::{Peer, Token};
use crate::places::Reach;
#[cfg(feature = "tls")]
use crate::places::Who;
use crate::seats::Seats;
use crate::socket::{self, SocketError, UnixSocket};
#[cfg(feature = "tls")]
use crate::tls::{Tls, TlsError, TlsFiles, TlsNews};

/// A pause after a failed accept, which is for want of something.
const PAUSE: Duration = Duration::from_millis(100);
/// How often connections are looked for whose clients do nothing.
const SWEEP: Duration = Duration::from_secs(1);

/// Who is at the other end, by the kernel's word.
type Credentials = Box<dyn Fn(&UnixStream) -> io::Result<u32>>;

/// Why a server does not listen.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ListenError {
    /// Other hosts could connect.
    #[error("{0}: expected a loopback address such as 127.0.0.1:{port}", port = .0.port())]
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
    /// A file of TLS cannot be used.
    #[cfg(feature = "tls")]
    #[error(transparent)]
    Tls(#[from] TlsError),
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
    /// Listens at the socket alone, as [`open`](Self::open) does.
    ///
    /// # Errors
    /// It cannot be had.
    pub fn on_socket(
        unix: UnixSocket,
        tell: impl FnMut(SocketChange) + Send + 'static,
    ) -> Result<Self, ListenError> {
        Self::open(unix, None, tell)
    }

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

/// Loopback TCP alone, without a unix socket: for a program that one person starts and stops, or whose clients cannot use
/// a socket.
#[derive(Debug)]
pub struct LoopbackListener {
    listener: TcpListener,
    token: Option<Token>,
}

impl LoopbackListener {
    /// Listens at the address. Without a token no client may change anything. To be called inside a tokio runtime.
    ///
    /// # Errors
    /// It is not a loopback address, or it cannot be had.
    pub fn open(address: SocketAddr, token: Option<Token>) -> Result<Self, ListenError> {
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
    let seats = Seats::within(Reach::Tcp, connections);
    let peer = Peer::Tcp { token };
    let _: ((), ()) = tokio::join!(accept_tcp(&listener, &seats, &peer, &service), seats.keep_sweeping());
}

/// TCP for every client that can reach the address, from other hosts too: for answers that everybody may read.
/// No request that comes in there may change anything.
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
    let seats = Seats::within(Reach::Tcp, connections);
    let _: ((), ()) =
        tokio::join!(accept_tcp(&listener.0, &seats, &Peer::Open, &service), seats.keep_sweeping());
}

/// TCP with TLS at any address: a client with an accepted certificate is known, any other is not.
#[cfg(feature = "tls")]
#[derive(Debug)]
pub struct TlsListener {
    listener: TcpListener,
    tls: Tls,
}

#[cfg(feature = "tls")]
impl TlsListener {
    /// Listens at the address with these files. A client certificate is accepted if its common name, or one of its DNS names or
    /// URIs, is among `names`; any is if there are none. To be called inside a tokio runtime.
    ///
    /// # Errors
    /// The address cannot be had, or a file cannot be used.
    pub fn open(address: SocketAddr, files: TlsFiles, names: Vec<String>) -> Result<Self, ListenError> {
        let tls = Tls::read(files, names)?;
        Ok(Self { listener: bind(address)?, tls })
    }

    /// Its address, with the port that was chosen if 0 was asked for.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.listener.local_addr().ok()
    }
}

/// Serves until the future that this is raced with is done. The files are read again when they change; connections whose
/// client certificates were checked by another authority end after the request that is in progress. `tell` hears what
/// becomes of that and of certificates; it may not wait.
#[cfg(feature = "tls")]
pub async fn serve_with_tls(
    listener: TlsListener,
    service: Service,
    connections: usize,
    tell: impl Fn(TlsNews) + Send + Sync + 'static,
) {
    let TlsListener { listener, tls } = listener;
    let (seats, tell) = (Seats::within(Reach::Tls, connections), std::sync::Arc::new(tell));
    let accepting = async {
        loop {
            let Some(stream) = accepted(&listener).await else { continue };
            let ((seated, lost), service) = (seats.sit(Who::Tcp), service.clone());
            let (handshake, tell) = (tls.handshake(stream), tell.clone());
            tokio::spawn(async move {
                let served = async {
                    match handshake.await {
                        Ok((stream, peer, outdated)) => {
                            seated.recognise(peer.connects_as());
                            connection(stream, peer, seated, service, outdated).await;
                        }
                        Err(why) => tell(TlsNews::NoHandshake(why)),
                    }
                };
                tokio::select! {
                    () = served => {}
                    _ = lost => tracing::debug!("connection is closed for another"),
                }
            });
            tokio::task::yield_now().await;
        }
    };
    let reading = tls.keep_reading(|news| tell(news));
    let _: ((), (), ()) = tokio::join!(accepting, reading, seats.keep_sweeping());
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
        if let Some(stream) = accepted(listener).await {
            seats.start(stream, peer.clone(), service).await;
        }
    }
}

/// The next connection; `None`: it could not be accepted, and a pause has been made.
async fn accepted(listener: &TcpListener) -> Option<TcpStream> {
    match listener.accept().await {
        Ok((stream, _)) => {
            // Otherwise the end of an answer waits for an acknowledgement, which clients may delay by 40 ms.
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "failed to have a connection send at once");
            }
            Some(stream)
        }
        Err(error) => {
            tracing::warn!(%error, "failed to accept a connection");
            tokio::time::sleep(PAUSE).await;
            None
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
        let service = service.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = connection(stream, peer, seated, service, std::future::pending()) => {}
                _ = lost => tracing::debug!("connection is closed for another"),
            }
        });
        // Its request may be there already. It is read before many others are accepted, for which it would be closed.
        tokio::task::yield_now().await;
    }
}
