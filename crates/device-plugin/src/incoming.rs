//! Connections as the server reads them: through a [`Rewriter`], and never too many at once.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use kept_socket::KeptListener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_stream::Stream;
use tonic::transport::server::Connected;

use crate::authority::Rewriter;

/// How much is read at once.
const READ: usize = 8 * 1024;

/// The connections that come in on a socket, so many at once; the next ones wait. The socket goes when the server is
/// stopped, or when this stream is dropped.
pub(crate) fn connections(
    mut listener: KeptListener,
    at_once: usize,
    stopped: watch::Receiver<bool>,
) -> impl Stream<Item = io::Result<Incoming>> {
    let places = Arc::new(Semaphore::new(at_once));
    let (sender, receiver) = tokio::sync::mpsc::channel(1);
    let gone = sender.clone();
    let accept = async move {
        loop {
            // The socket is kept at its path while all places are taken, too.
            let place = tokio::select! {
                place = Arc::clone(&places).acquire_owned() => place,
                never = listener.keep() => match never {},
            };
            let Ok(place) = place else { return };
            // An error is of one connection only, or passes, as a lack of file descriptors does.
            let connection = listener.accept().await.map(|stream| Incoming::new(stream, place));
            if connection.is_err() {
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            } else if sender.send(connection).await.is_err() {
                return;
            }
        }
    };
    tokio::spawn(async move {
        tokio::select! {
            () = accept => {}
            () = gone.closed() => {}
            () = end(stopped) => {}
        }
    });
    Receiving(receiver)
}

/// Returns when the server is stopped.
pub(crate) async fn end(mut stopped: watch::Receiver<bool>) {
    // A server that has been dropped has stopped, too.
    let _ = stopped.wait_for(|is_stopped| *is_stopped).await;
}

struct Receiving(tokio::sync::mpsc::Receiver<io::Result<Incoming>>);

impl Stream for Receiving {
    type Item = io::Result<Incoming>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context)
    }
}

/// One connection.
pub(crate) struct Incoming {
    stream: UnixStream,
    rewriter: Rewriter,
    /// What has come in and has not been rewritten.
    raw: Box<[u8; READ]>,
    raw_at: std::ops::Range<usize>,
    /// What the server is to read, and how much of it it has.
    ready: Vec<u8>,
    ready_at: usize,
    _place: OwnedSemaphorePermit,
}

impl Incoming {
    fn new(stream: UnixStream, place: OwnedSemaphorePermit) -> Self {
        Self {
            stream,
            rewriter: Rewriter::new(),
            raw: Box::new([0; READ]),
            raw_at: 0..0,
            ready: Vec::new(),
            ready_at: 0,
            _place: place,
        }
    }
}

impl Connected for Incoming {
    type ConnectInfo = ();

    fn connect_info(&self) -> Self::ConnectInfo {}
}

impl AsyncRead for Incoming {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        loop {
            let ready = this.ready.get(this.ready_at..).unwrap_or_default();
            if !ready.is_empty() {
                let count = ready.len().min(buffer.remaining());
                buffer.put_slice(&ready[..count]);
                this.ready_at += count;
                return Poll::Ready(Ok(()));
            }
            this.ready.clear();
            this.ready_at = 0;
            if this.raw_at.is_empty() {
                let mut raw = ReadBuf::new(&mut *this.raw);
                ready!(Pin::new(&mut this.stream).poll_read(context, &mut raw))?;
                let count = raw.filled().len();
                if count == 0 {
                    return Poll::Ready(Ok(()));
                }
                this.raw_at = 0..count;
            }
            let raw = this.raw.get(this.raw_at.clone()).unwrap_or_default();
            this.raw_at.start += this.rewriter.rewrite(raw, &mut this.ready);
        }
    }
}

impl AsyncWrite for Incoming {
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

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
