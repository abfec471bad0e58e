//! The terminal: what it can show, and how it is written to.

use std::fmt::{self, Display};
use std::io::Write;

use anstream::AutoStream;
use clap::ColorChoice;
use terminal_text::Glyphs;
use topology_manifest::{ManifestError, Style};

/// What the locale of this process allows; UTF-8 where it names none.
fn glyphs_of_locale() -> Glyphs {
    let value_of = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    match ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(value_of) {
        Some(value) if !value.to_ascii_lowercase().replace('-', "").contains("utf8") => Glyphs::Ascii,
        _ => Glyphs::Unicode,
    }
}

/// How manifests are quoted in errors. Colours are taken out again where they are not wanted.
pub(crate) fn manifest_style() -> Style {
    match glyphs_of_locale() {
        Glyphs::Unicode => Style::Coloured,
        Glyphs::Ascii => Style::Ascii,
    }
}

/// An error that quotes lines of a manifest. Its text begins with the word `error` itself.
#[derive(Debug)]
struct QuotedError(String);

impl Display for QuotedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for QuotedError {}

/// The error with the lines that it is about.
#[expect(clippy::needless_pass_by_value, reason = "results are mapped with it")]
pub(crate) fn manifest_error(error: ManifestError) -> anyhow::Error {
    quoted_error(error.render(manifest_style()))
}

/// An error that was rendered before; `text` begins with the word `error`.
pub(crate) fn quoted_error(text: String) -> anyhow::Error {
    anyhow::Error::new(QuotedError(text))
}

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
        Self { glyphs: glyphs_of_locale(), color }
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
        let quotes = |error: &(dyn std::error::Error + 'static)| error.is::<QuotedError>();
        let is_quoted = error.chain().next().is_some_and(quotes);
        let head = if is_quoted { "" } else { "error: " };
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
