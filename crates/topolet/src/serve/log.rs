//! What the daemon logs while it runs, one line for each event, on standard error.

mod one_line;

use clap::ValueEnum;

use self::one_line::OneLine;

/// How lines are written.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum LoggingFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// From now on everything is logged in that format.
pub(super) fn start(format: LoggingFormat) {
    let lines = tracing_subscriber::fmt()
        .with_writer(|| OneLine(std::io::stderr()))
        .with_ansi(false)
        .with_target(false);
    // A second daemon in one process would keep the first one's log.
    let _ = match format {
        LoggingFormat::Text => lines.try_init(),
        LoggingFormat::Json => lines.json().flatten_event(true).try_init(),
    };
}
