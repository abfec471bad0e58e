//! The terminal: what it can show, and how it is written to.

use std::fmt::Display;
use std::io::Write;

use anstream::AutoStream;
use clap::ColorChoice;
use node_output::{is_quoted, locale_glyphs};
use terminal_text::Glyphs;

/// Standard output and standard error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    pub(crate) glyphs: Glyphs,
    color: anstream::ColorChoice,
}

impl Screen {
    pub(crate) fn new(color: ColorChoice) -> Self {
        let color = match color {
            ColorChoice::Auto => anstream::ColorChoice::Auto,
            ColorChoice::Always => anstream::ColorChoice::Always,
            ColorChoice::Never => anstream::ColorChoice::Never,
        };
        Self { glyphs: locale_glyphs(), color }
    }

    /// Prints text for a person, with its marks in colour.
    pub(crate) fn show(self, text: &str) -> anyhow::Result<()> {
        self.print(&coloured(text))
    }

    /// Prints text as it is. That nobody reads any further is no error.
    pub(crate) fn print(self, text: &str) -> anyhow::Result<()> {
        let mut out = AutoStream::new(std::io::stdout(), self.color);
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            other => Ok(other?),
        }
    }

    pub(crate) fn warn(self, text: impl Display) {
        self.to_stderr(&format!("{text}\n"));
    }

    pub(crate) fn error(self, error: &anyhow::Error) {
        let head = if error.chain().next().is_some_and(is_quoted) { "" } else { "error: " };
        self.to_stderr(&format!("{head}{error:#}\n"));
    }

    fn to_stderr(self, text: &str) {
        // Nothing is left to be told if standard error is gone.
        let _ = AutoStream::new(std::io::stderr(), self.color).write_all(text.as_bytes());
    }
}

/// Green for what fits, red for what does not.
fn coloured(text: &str) -> String {
    text.replace('✔', "\x1b[32m✔\x1b[0m").replace('✘', "\x1b[31m✘\x1b[0m")
}
