//! The daemon's log: one line for each event, on standard error.
//!
//! When standard error takes no lines, the daemon loses and counts them, and serves the node all the same: see
//! [`lines`].

mod lines;
mod one_line;

use std::panic::PanicHookInfo;
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use prometheus_client::metrics::counter::Counter;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use self::lines::Lines;
use self::one_line::OneLine;

/// How long the end of the program waits for standard error to take what is left.
const LAST: Duration = Duration::from_secs(1);

/// How lines are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoggingFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// The least that a line must matter to be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LogLevel {
    /// Only what keeps the node from being served as it should be.
    Error,
    /// What an operator should look at, too.
    Warn,
    /// Decisions and what plugins do, too.
    #[default]
    Info,
    /// What libraries say, too.
    Debug,
}

impl From<LogLevel> for tracing::Level {
    fn from(level: LogLevel) -> Self {
        match level {
            LogLevel::Error => Self::ERROR,
            LogLevel::Warn => Self::WARN,
            LogLevel::Info => Self::INFO,
            LogLevel::Debug => Self::DEBUG,
        }
    }
}

/// The log of a daemon. Dropping it writes the lines that wait, for at most a second.
pub struct Log(Lines);

impl Log {
    /// From now on everything of that level is logged in that format, panics too.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub fn start(format: LoggingFormat, level: LogLevel) -> anyhow::Result<Self> {
        let tell = |lost| {
            tracing::warn!(lines = lost, "lines of the log were lost: standard error did not take them");
        };
        let lines = Lines::start(std::io::stderr(), tell).context("failed to start the log's thread")?;
        let writer = lines.clone();
        let events = tracing_subscriber::fmt()
            .with_writer(move || OneLine(writer.clone()))
            .with_ansi(false)
            .with_target(false)
            .with_max_level(tracing::Level::from(level))
            // It would write to standard error by itself, and panic if it cannot.
            .log_internal_errors(false);
        let filter = filter(level);
        // A second daemon in one process would keep the first one's log.
        let _ = match format {
            LoggingFormat::Text => events.finish().with(filter).try_init(),
            LoggingFormat::Json => events.json().flatten_event(true).finish().with(filter).try_init(),
        };
        // The usual hook waits for standard error, and the thread would never end.
        std::panic::set_hook(Box::new(panicked));
        Ok(Self(lines))
    }

    /// One line more, of level info.
    pub fn note(&self, text: &str) {
        tracing::info!("{text}");
    }

    /// How many lines were lost.
    pub(super) fn lost(&self) -> Counter {
        self.0.lost()
    }

    /// Ends the log; then `tell` writes to standard error, for at most a second.
    pub fn end_with(self, tell: impl FnOnce() + Send + 'static) {
        self.0.finish(LAST);
        let (done, ended) = crossbeam::channel::bounded::<()>(0);
        let telling = thread::Builder::new().name("last words".to_owned()).spawn(move || {
            tell();
            drop(done);
        });
        if telling.is_ok() {
            // Nothing is ever sent: the wait ends when `tell` returns, or in time.
            let _ = ended.recv_timeout(LAST);
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.0.finish(LAST);
    }
}

/// Everything of that level, but for kube's client, which is heard at debug only: of a request that fails it says neither server nor
/// node, which the code that sends the request logs.
fn filter(level: LogLevel) -> Targets {
    let client = match level {
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Error | LogLevel::Warn | LogLevel::Info => LevelFilter::OFF,
    };
    Targets::new().with_default(tracing::Level::from(level)).with_target("kube_client", client)
}

fn panicked(panic: &PanicHookInfo<'_>) {
    let thread = thread::current();
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    let what = panic.payload_as_str().unwrap_or("no text");
    tracing::error!(thread = thread.name().unwrap_or("?"), place, "panicked: {what}");
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn kubes_client_is_heard_at_debug() {
        let client = "kube_client::client::builder";
        assert!(!filter(LogLevel::Info).would_enable(client, &Level::ERROR));
        assert!(filter(LogLevel::Debug).would_enable(client, &Level::ERROR));
        assert!(filter(LogLevel::Info).would_enable("node_daemon::owner", &Level::INFO));
        assert!(!filter(LogLevel::Warn).would_enable("node_daemon::owner", &Level::INFO));
    }
}
