//! A plugin with its name, its settings and its connections.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use crate::connection::serve;
use crate::handler::Handler;
use crate::notice::{Ended, Notice};
use crate::policy::{Attempts, Backoff, FailurePolicy, OwnDeadline};
use crate::settings::{Settings, Times};
use crate::stop::Stop;
use crate::updater::Updater;

/// Where runtimes listen.
pub const DEFAULT_SOCKET: &str = "/var/run/nri/nri.sock";

/// Why a plugin cannot be called so.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum IdentityError {
    /// A name has letters, digits, `_`, `.`, `+` and `-`, and at least one of them.
    #[error("the name {0:?} has other characters than letters, digits, _ . + -, or none")]
    Name(String),
    /// An index has two digits.
    #[error("the index {0} is not between 0 and 99")]
    Index(u8),
}

/// What follows when a connection has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reconnect {
    /// Another one, after a time.
    After(Backoff),
    /// The plugin ends.
    Never,
}

impl Default for Reconnect {
    fn default() -> Self {
        Self::After(Backoff::default())
    }
}

/// Why a plugin has ended without being stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// There is no runtime, and it is not to be waited for.
    #[error("failed to connect to {}", .path.display())]
    NotConnected {
        /// The socket.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The connection has ended, and no other is to be made: the runtime refused the plugin, or [`Reconnect::Never`]
    /// is set.
    #[error("the connection to the runtime has ended")]
    Ended(#[source] Ended),
}

/// A plugin that connects by itself to a runtime.
#[derive(Clone, Debug)]
pub struct Plugin {
    settings: Settings,
    socket: PathBuf,
    reconnect: Reconnect,
    stop: Stop,
}

impl Plugin {
    /// A plugin with a name, and an index between 0 and 99: plugins are asked in ascending order of it.
    ///
    /// # Errors
    /// The runtime would refuse the name or the index.
    pub fn new(name: &str, index: u8) -> Result<Self, IdentityError> {
        let is_allowed = |of: char| of.is_ascii_alphanumeric() || "_.+-".contains(of);
        if name.is_empty() || !name.chars().all(is_allowed) {
            return Err(IdentityError::Name(name.to_owned()));
        }
        if index > 99 {
            return Err(IdentityError::Index(index));
        }
        let settings = Settings {
            name: name.to_owned(),
            index: format!("{index:02}"),
            full_name: format!("{index:02}-{name}"),
            policy: FailurePolicy::default(),
            own_deadline: OwnDeadline::default(),
            times: Times::default(),
        };
        let reconnect = Reconnect::default();
        Ok(Self { settings, socket: DEFAULT_SOCKET.into(), reconnect, stop: Stop::default() })
    }

    /// Where the runtime listens, in place of [`DEFAULT_SOCKET`].
    #[must_use]
    pub fn socket(mut self, path: impl Into<PathBuf>) -> Self {
        self.socket = path.into();
        self
    }

    /// What the runtime does when the plugin does not answer in time.
    #[must_use]
    pub fn failure_policy(mut self, policy: FailurePolicy) -> Self {
        self.settings.policy = policy;
        self
    }

    /// When the plugin answers with an error because it has not decided.
    #[must_use]
    pub fn own_deadline(mut self, deadline: OwnDeadline) -> Self {
        self.settings.own_deadline = deadline;
        self
    }

    /// What follows when a connection has ended.
    #[must_use]
    pub fn reconnect(mut self, reconnect: Reconnect) -> Self {
        self.reconnect = reconnect;
        self
    }

    /// How long the plugin waits for the runtime.
    #[must_use]
    pub fn times(mut self, times: Times) -> Self {
        self.settings.times = times;
        self
    }

    /// A handle that ends the plugin, from any thread.
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// Connects, and has the handler answer events on this thread, until the plugin is stopped.
    ///
    /// # Errors
    /// The runtime refuses the plugin; with [`Reconnect::Never`] also that there is no runtime, or that the
    /// connection has ended.
    pub fn run(&self, handler: impl Handler) -> Result<(), RunError> {
        self.run_with(handler, |_| ())
    }

    /// As [`run`](Self::run), with a thread beside it that may send updates. The handler is dropped when the plugin
    /// ends, and with it its end of a channel to that thread, which has to end then.
    ///
    /// # Errors
    /// As of [`run`](Self::run).
    pub fn run_with(
        &self,
        handler: impl Handler,
        beside: impl FnOnce(&Updater) + Send,
    ) -> Result<(), RunError> {
        self.with_updater(handler, beside, |handler, updater| self.connections(handler, updater))
    }

    /// As [`run_with`](Self::run_with) on one connection that is there already, such as the one that a runtime hands
    /// to a plugin that it launches.
    ///
    /// # Errors
    /// The connection has ended before the plugin was stopped.
    pub fn run_on(
        &self,
        socket: UnixStream,
        handler: impl Handler,
        beside: impl FnOnce(&Updater) + Send,
    ) -> Result<(), RunError> {
        self.with_updater(handler, beside, |handler, updater| {
            let (reason, _) = self.connection(socket, handler, updater);
            self.disconnected(handler, reason, None)
        })
    }

    fn with_updater<H: Handler>(
        &self,
        handler: H,
        beside: impl FnOnce(&Updater) + Send,
        run: impl FnOnce(&mut H, &Updater) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let updater = Updater::new(self.settings.times.update);
        thread::scope(|scope| {
            let finishing = Finishing(&updater);
            scope.spawn(|| beside(&updater));
            let mut handler = handler;
            let result = run(&mut handler, &updater);
            drop(finishing);
            result
        })
    }

    fn connections<H: Handler>(&self, handler: &mut H, updater: &Updater) -> Result<(), RunError> {
        let backoff = match self.reconnect {
            Reconnect::After(backoff) => backoff,
            Reconnect::Never => Backoff::default(),
        };
        let mut attempts = Attempts::new(backoff);
        while !self.stop.is_stopped() {
            let next = match UnixStream::connect(&self.socket) {
                Ok(socket) => {
                    let (reason, lasted) = self.connection(socket, handler, updater);
                    let is_final = self.reconnect == Reconnect::Never || matches!(reason, Ended::Rejected(_));
                    let next = (!is_final).then(|| attempts.after(lasted));
                    self.disconnected(handler, reason, next)?;
                    next.unwrap_or_default()
                }
                Err(error) if self.reconnect == Reconnect::Never => {
                    return Err(RunError::NotConnected { path: self.socket.clone(), source: error });
                }
                Err(error) => {
                    let next = attempts.after_none();
                    handler.notice(&Notice::NotConnected { error, next });
                    next
                }
            };
            self.stop.wait(next);
        }
        Ok(())
    }

    /// Serves a connection; gives why it has ended, and how long events came.
    fn connection<H: Handler>(
        &self,
        socket: UnixStream,
        handler: &mut H,
        updater: &Updater,
    ) -> (Ended, Duration) {
        match socket.try_clone() {
            Ok(other) => self.stop.watch(Some(other)),
            Err(error) => return (error.into(), Duration::ZERO),
        }
        let served = serve(socket, &self.settings, handler, updater);
        self.stop.watch(None);
        let lasted = served.synchronized.map_or(Duration::ZERO, |since: Instant| since.elapsed());
        (served.reason, lasted)
    }

    /// Reports the end of a connection. It is an error if no other follows and the plugin was not stopped.
    fn disconnected<H: Handler>(
        &self,
        handler: &mut H,
        reason: Ended,
        next: Option<Duration>,
    ) -> Result<(), RunError> {
        if self.stop.is_stopped() {
            handler.notice(&Notice::Disconnected { reason: Ended::Stopped, next: None });
            return Ok(());
        }
        if next.is_none() {
            return Err(RunError::Ended(reason));
        }
        handler.notice(&Notice::Disconnected { reason, next });
        Ok(())
    }
}

/// Says that the plugin has ended, also when its handler panics.
struct Finishing<'a>(&'a Updater);

impl Drop for Finishing<'_> {
    fn drop(&mut self) {
        self.0.finish();
    }
}

#[cfg(test)]
mod tests {
    use super::{IdentityError, Plugin};

    #[test]
    fn names_and_indexes_are_those_that_runtimes_take() {
        for name in ["guard", "a.b_c+d-9"] {
            assert_eq!(Plugin::new(name, 7).unwrap().settings.full_name, format!("07-{name}"));
        }
        for name in ["", "b c", "ä", "a/b"] {
            assert_eq!(Plugin::new(name, 7).unwrap_err(), IdentityError::Name(name.to_owned()));
        }
        assert_eq!(Plugin::new("a", 100).unwrap_err(), IdentityError::Index(100));
    }
}
