//! Connections: a bounded number, each with a bounded patience.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener as StdUnixListener, UnixStream as StdUnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use axum::{Extension, Router};
use device_plugin::{Fate, KeptListener};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::access::{Peer, Token};

/// Connections at once; more wait until one ends.
const CONNECTIONS: usize = 256;
/// How long the head of a request may take, and how long a connection may be silent.
const HEAD: Duration = Duration::from_secs(10);
/// The largest head of a request, in bytes.
const LARGEST_HEAD: usize = 16 * 1024;
/// A pause after a failed accept, which is for want of something.
const PAUSE: Duration = Duration::from_millis(100);
/// Everybody may connect; who may change something is asked of the kernel.
const MODE: u32 = 0o666;
/// Longer paths do not fit a socket's address.
const LONGEST: usize = 107;

/// Where requests come in.
pub(in crate::serve) struct Listeners {
    unix: KeptListener,
    gone: RemovedAtEnd,
    tcp: Option<(TcpListener, Option<Token>)>,
}

impl Listeners {
    /// Listens at the path, and at the address if there is one.
    pub(in crate::serve) fn open(
        path: &Path,
        tcp: Option<(SocketAddr, Option<Token>)>,
    ) -> anyhow::Result<Self> {
        let shown = path.display();
        if path.as_os_str().len() > LONGEST {
            bail!(
                "socket path {shown} is too long: {LONGEST} bytes are possible; give another with --socket"
            );
        }
        if let Some((address, _)) = tcp.as_ref().filter(|(address, _)| !address.ip().is_loopback()) {
            bail!("{address} can be reached from elsewhere: only loopback addresses are listened at");
        }
        let at = path.to_path_buf();
        let unix = KeptListener::new(path, move || listen(&at), tell(path))
            .with_context(|| format!("failed to listen at {shown}"))?;
        let gone = RemovedAtEnd(path.to_path_buf());
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
        Ok(Self { unix, gone, tcp })
    }

    /// The address of TCP, with the port that was chosen if 0 was asked for.
    pub(in crate::serve) fn tcp_address(&self) -> Option<SocketAddr> {
        self.tcp.as_ref().and_then(|(listener, _)| listener.local_addr().ok())
    }
}

/// Listens at a path where nobody answers.
fn listen(path: &Path) -> io::Result<StdUnixListener> {
    remove_old(path).map_err(|error| io::Error::other(format!("{error:#}")))?;
    let unix = StdUnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(MODE))?;
    Ok(unix)
}

/// Logs what becomes of the socket.
fn tell(path: &Path) -> impl FnMut(Fate) + Send + use<> {
    let path = path.to_path_buf();
    move |fate| match fate {
        Fate::Remade => {
            tracing::warn!(socket = %path.display(), "the socket was gone and has been made again");
        }
        Fate::Gone(why) => {
            tracing::error!(socket = %path.display(), why, "the socket is gone and cannot be made again");
        }
    }
}

/// A socket that a dead program left is removed; one that answers is not.
fn remove_old(path: &Path) -> anyhow::Result<()> {
    let shown = path.display();
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error).with_context(|| format!("failed to look at {shown}")),
        Ok(about) if !about.file_type().is_socket() => bail!("{shown} is there already and no socket"),
        Ok(_) if StdUnixStream::connect(path).is_ok() => bail!("somebody serves {shown} already"),
        Ok(_) => fs::remove_file(path).with_context(|| format!("failed to remove {shown}")),
    }
}

/// Serves until the future that this is raced with is done.
pub(in crate::serve) async fn serve(listeners: Listeners, router: Router) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let Listeners { mut unix, gone: _gone, tcp } = listeners;
    let on_unix = async {
        loop {
            let Ok(place) = places.clone().acquire_owned().await else { return };
            match unix.accept().await {
                Ok(stream) => match stream.peer_cred() {
                    Ok(peer) => {
                        let router = router.clone().layer(Extension(Peer::Unix { user: peer.uid() }));
                        tokio::spawn(async move {
                            connection(stream, router).await;
                            drop(place);
                        });
                    }
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
            let Ok(place) = places.clone().acquire_owned().await else { return };
            match listener.accept().await {
                Ok((stream, _)) => {
                    let router = router.clone().layer(Extension(Peer::Tcp { token: token.clone() }));
                    tokio::spawn(async move {
                        connection(stream, router).await;
                        drop(place);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "failed to accept a connection");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    };
    let mut unix_done = std::pin::pin!(on_unix);
    let mut tcp_done = std::pin::pin!(on_tcp);
    std::future::poll_fn(|context| {
        let _ = unix_done.as_mut().poll(context);
        tcp_done.as_mut().poll(context)
    })
    .await;
}

async fn connection(stream: impl AsyncRead + AsyncWrite + Unpin + 'static, router: Router) {
    let service = TowerToHyperService::new(router);
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(LARGEST_HEAD.max(8192))
        .serve_connection(TokioIo::new(stream), service)
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "connection ended early");
    }
}

/// A socket that nobody serves any more misleads.
struct RemovedAtEnd(PathBuf);

impl Drop for RemovedAtEnd {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = fs::remove_file(&self.0);
    }
}
