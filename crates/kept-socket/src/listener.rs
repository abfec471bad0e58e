//! A listener that makes its socket again when another process has removed or replaced the file: plugins and clients
//! find the socket by its path.

use std::io;
use std::time::Duration;

use tokio::net::{UnixListener, UnixStream};
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::file::ListeningSocket;

/// How often the path is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// What has become of a socket.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SocketChange {
    /// Its file was removed or replaced, and has been made again.
    Remade,
    /// Its file is at its path again, after [`SocketChange::Gone`], and was not made again.
    Back,
    /// Its file is not at its path, and cannot be made again, for this reason. The listener tries again every second,
    /// and tells a reason once.
    Gone(String),
}

/// Makes the socket again.
type Make = Box<dyn FnMut() -> io::Result<ListeningSocket> + Send>;
/// Is called with every [`SocketChange`].
type Tell = Box<dyn FnMut(SocketChange) + Send>;

/// A listener whose socket stays at its path. Dropping it removes the socket, unless another file has taken its place.
pub struct KeptListener {
    // Removed before the listener is closed: until then no other process takes the file for a dead one's.
    socket: ListeningSocket,
    listener: UnixListener,
    look: Interval,
    make: Make,
    tell: Tell,
    /// The reason of the last [`SocketChange::Gone`], until the socket is there again.
    told: Option<String>,
}

impl std::fmt::Debug for KeptListener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeptListener").field("path", &self.socket.path()).finish_non_exhaustive()
    }
}

impl KeptListener {
    /// Keeps `socket` at its path. The task that accepts calls `make` when the file is not there, and `tell` with the
    /// result; neither may wait. To be called inside a runtime.
    ///
    /// # Errors
    /// The runtime does not take the socket.
    pub fn new(
        socket: ListeningSocket,
        make: impl FnMut() -> io::Result<ListeningSocket> + Send + 'static,
        tell: impl FnMut(SocketChange) + Send + 'static,
    ) -> io::Result<Self> {
        let listener = listener(&socket)?;
        let mut look = interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(Self { socket, listener, look, make: Box::new(make), tell: Box::new(tell), told: None })
    }

    /// The next connection. A call that is given up loses none.
    ///
    /// # Errors
    /// As the operating system has them.
    pub async fn accept(&mut self) -> io::Result<UnixStream> {
        loop {
            tokio::select! {
                accepted = self.listener.accept() => return accepted.map(|(stream, _)| stream),
                _ = self.look.tick() => self.look(),
            }
        }
    }

    /// Keeps the socket at its path, and accepts nothing.
    pub async fn keep(&mut self) -> std::convert::Infallible {
        loop {
            self.look.tick().await;
            self.look();
        }
    }

    fn look(&mut self) {
        if self.socket.is_there() {
            if self.told.take().is_some() {
                (self.tell)(SocketChange::Back);
            }
            return;
        }
        let made = (self.make)().and_then(|socket| Ok((listener(&socket)?, socket)));
        match made {
            Ok((listener, socket)) => {
                (self.listener, self.socket) = (listener, socket);
                self.told = None;
                (self.tell)(SocketChange::Remade);
            }
            Err(error) => {
                let why = error.to_string();
                if self.told.as_ref() != Some(&why) {
                    self.told = Some(why.clone());
                    (self.tell)(SocketChange::Gone(why));
                }
            }
        }
    }
}

/// The runtime's own handle of the listener.
fn listener(socket: &ListeningSocket) -> io::Result<UnixListener> {
    UnixListener::from_std(socket.listener().try_clone()?)
}
