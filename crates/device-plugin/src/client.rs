//! One plugin, as it is called.

use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout_at};
use tonic::transport::{Channel, Endpoint};

/// Between two tries to reach a socket: what grows from the first to the second.
const PAUSES: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(500));

/// The plugin's socket did not answer in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NotReached;

/// Connects to a plugin. As the kubelet, it tries for the whole of `within`, since plugins may register before they
/// listen; and what does not speak HTTP/2 is not reached.
pub(crate) async fn dial(socket: &Path, within: Duration) -> Result<Channel, NotReached> {
    let deadline = Instant::now() + within;
    let mut pause = PAUSES.0;
    loop {
        if let Ok(Ok(channel)) = timeout_at(deadline, connect(socket)).await {
            return Ok(channel);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(NotReached);
        }
        sleep(pause.min(left)).await;
        pause = (2 * pause).min(PAUSES.1);
    }
}

/// Connects to a server that listens, or does not: a socket that is not there, or that its server has left behind, will
/// not come to life.
pub(crate) async fn reach(socket: &Path, within: Duration) -> Result<Channel, NotReached> {
    match timeout_at(Instant::now() + within, connect(socket)).await {
        Ok(Ok(channel)) => Ok(channel),
        Ok(Err(_)) | Err(_) => Err(NotReached),
    }
}

/// Connects once, and waits for the first word of the other side. The connection is never made anew.
async fn connect(socket: &Path) -> Result<Channel, tonic::transport::Error> {
    let (heard, first_word) = oneshot::channel();
    let once = Once { socket: socket.to_path_buf(), heard: Arc::new(Mutex::new(Some(heard))) };
    // The name that the kubelet gives every plugin.
    let endpoint = Endpoint::from_static("http://localhost");
    let channel = endpoint.connect_with_connector(once).await?;
    // If the connection has been closed instead, the first call will say so.
    let _ = first_word.await;
    Ok(channel)
}

/// Makes one connection.
#[derive(Clone)]
struct Once {
    socket: PathBuf,
    heard: Arc<Mutex<Option<oneshot::Sender<()>>>>,
}

impl tower::Service<tonic::codegen::http::Uri> for Once {
    type Response = TokioIo<Outgoing>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<TokioIo<Outgoing>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: tonic::codegen::http::Uri) -> Self::Future {
        let heard = self.heard.lock().take();
        let socket = self.socket.clone();
        Box::pin(async move {
            // A plugin that went away must register; another process at the same path is not the same plugin.
            let heard = heard.ok_or_else(|| io::Error::from(io::ErrorKind::NotConnected))?;
            let stream = UnixStream::connect(&socket).await?;
            Ok(TokioIo::new(Outgoing { stream, heard: Some(heard) }))
        })
    }
}

/// A connection that tells when the first word has been heard.
struct Outgoing {
    stream: UnixStream,
    heard: Option<oneshot::Sender<()>>,
}

impl AsyncRead for Outgoing {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        if let Some(heard) = self.heard.take() {
            // The receiver may have given up.
            let _ = heard.send(());
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Outgoing {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, buffer)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
