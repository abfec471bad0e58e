//! The end of a plugin, from any thread.

use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Ends the plugin that it was taken from with [`Plugin::stop`](crate::Plugin::stop), for good: it does not run
/// again, and neither do clones of it.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    stopped: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_stopped: bool,
    /// The socket that is read.
    socket: Option<UnixStream>,
}

impl Stop {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the connection, and makes no new one. A method of the handler that is at work ends first.
    pub fn stop(&self) {
        let mut state = self.state();
        state.is_stopped = true;
        if let Some(socket) = &state.socket {
            // It may be closed already.
            let _ = socket.shutdown(Shutdown::Both);
        }
        drop(state);
        self.0.stopped.notify_all();
    }

    /// Whether it was stopped.
    pub fn is_stopped(&self) -> bool {
        self.state().is_stopped
    }

    /// The socket to close; `None` after the connection. If it was stopped before, the socket is closed at once.
    pub(crate) fn watch(&self, socket: Option<UnixStream>) {
        let mut state = self.state();
        if let Some(socket) = socket.as_ref().filter(|_| state.is_stopped) {
            let _ = socket.shutdown(Shutdown::Both);
        }
        state.socket = socket;
    }

    /// Waits for a time, or until it is stopped.
    pub(crate) fn wait(&self, time: Duration) {
        let until = Instant::now() + time;
        let mut state = self.state();
        while !state.is_stopped {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self.0.stopped.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
