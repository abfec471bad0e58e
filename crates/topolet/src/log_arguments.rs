//! How a service writes its log, as arguments.

use clap::{Args, ValueEnum};
use node_daemon::{Log, LogLevel, LoggingFormat};

/// How the log is written, and how much of it.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct LogArguments {
    /// How the log on standard error is written.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    logging_format: LogFormat,
    /// The least severe lines that are logged.
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    log_level: Level,
}

impl LogArguments {
    /// From now on everything of that level is logged in that format.
    pub(crate) fn start(self) -> anyhow::Result<Log> {
        Log::start(self.logging_format.into(), self.log_level.into())
    }
}

/// How lines are written.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

impl From<LogFormat> for LoggingFormat {
    fn from(format: LogFormat) -> Self {
        match format {
            LogFormat::Text => Self::Text,
            LogFormat::Json => Self::Json,
        }
    }
}

/// The least severe lines that are logged.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum Level {
    /// Only what keeps the program from its work.
    Error,
    /// What an operator should look at, too.
    Warn,
    /// The normal course of its work, too: what starts, changes and ends, and what is decided.
    Info,
    /// What libraries say, too.
    Debug,
}

impl From<Level> for LogLevel {
    fn from(level: Level) -> Self {
        match level {
            Level::Error => Self::Error,
            Level::Warn => Self::Warn,
            Level::Info => Self::Info,
            Level::Debug => Self::Debug,
        }
    }
}
