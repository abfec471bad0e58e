//! The terminal: what it can show, and how it is written to.

use std::fmt::Display;
use std::io::{IsTerminal as _, Write};

use anstream::AutoStream;
use anyhow::ensure;
use clap::ColorChoice;
use node_input::{ConfigurationRefused, StartFailed};
use node_output::{is_quoted, locale_glyphs};
use terminal_text::{Page, plain_causes};

/// Standard output and standard error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    pub(crate) page: Page,
    color: anstream::ColorChoice,
}

impl Screen {
    pub(crate) fn new(color: ColorChoice) -> Self {
        let color = match color {
            ColorChoice::Auto => anstream::ColorChoice::Auto,
            ColorChoice::Always => anstream::ColorChoice::Always,
            ColorChoice::Never => anstream::ColorChoice::Never,
        };
        Self { page: Page { glyphs: locale_glyphs(), width: width() }, color }
    }

    /// Prints text for a person, with its marks in colour.
    pub(crate) fn show(self, text: &str) -> anyhow::Result<()> {
        self.print(&coloured(text))
    }

    /// Prints text as it is. A closed pipe is no error.
    pub(crate) fn print(self, text: &str) -> anyhow::Result<()> {
        let mut out = AutoStream::new(std::io::stdout(), self.color);
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            other => Ok(other?),
        }
    }

    /// Prints a picture, which no terminal shows; `name` is what its file could be called.
    pub(crate) fn print_picture(self, svg: &str, name: &str) -> anyhow::Result<()> {
        ensure!(
            !std::io::stdout().is_terminal(),
            "a picture is a file for a browser and not for a terminal: add '> {name}'"
        );
        self.print(svg)
    }

    /// A sentence on standard error, with or without the lines that it is about.
    pub(crate) fn warn(self, text: impl Display) {
        self.to_stderr(&self.told(&text.to_string()));
    }

    pub(crate) fn error(self, error: &anyhow::Error) {
        let head = if error.chain().next().is_some_and(is_quoted) { "" } else { "error: " };
        self.to_stderr(&self.told(&format!("{head}{error:#}")));
        if error.is::<StartFailed>() || error.is::<ConfigurationRefused>() {
            self.warn("`topolet config check` with the same --config and --machine says what to change");
        }
    }

    /// The sentences on the page. Quoted lines stay as they are: marks in them point at columns.
    fn told(self, text: &str) -> String {
        self.page.quoted(&plain_causes(text))
    }

    fn to_stderr(self, text: &str) {
        // This fails only if standard error is gone.
        let _ = AutoStream::new(std::io::stderr(), self.color).write_all(text.as_bytes());
    }
}

/// How many letters a line has: as many as `COLUMNS` says, else those of the terminal; `None` in a file or a pipe.
fn width() -> Option<usize> {
    let named = std::env::var("COLUMNS").ok().and_then(|text| text.trim().parse().ok());
    let own = || terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0));
    named.or_else(own).filter(|width| *width >= NARROWEST)
}

/// Narrower terminals break lines themselves: nothing useful fits.
const NARROWEST: usize = 40;

/// Green for what fits, red for what does not.
fn coloured(text: &str) -> String {
    text.replace('✔', "\x1b[32m✔\x1b[0m").replace('✘', "\x1b[31m✘\x1b[0m")
}
