//! Errors that quote lines of a file, drawn with the characters that the locale allows.

use std::fmt::{self, Display};

use terminal_text::Glyphs;
use topology_manifest::{ManifestError, Style};

/// What the locale of this process allows; UTF-8 where it names none.
#[must_use]
pub fn locale_glyphs() -> Glyphs {
    let value_of = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    match ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(value_of) {
        Some(value) if !value.to_ascii_lowercase().replace('-', "").contains("utf8") => Glyphs::Ascii,
        _ => Glyphs::Unicode,
    }
}

/// How manifests are quoted in errors. Colours are taken out again where they are not wanted.
#[must_use]
pub fn manifest_style() -> Style {
    match locale_glyphs() {
        Glyphs::Unicode => Style::Coloured,
        Glyphs::Ascii => Style::Ascii,
    }
}

/// An error that quotes lines of a manifest. Its text begins with the word `error` itself.
#[derive(Debug)]
pub struct QuotedError {
    text: String,
    /// The same without the lines, for a log.
    line: Option<String>,
    /// What to do instead, where the error names it.
    next_step: Option<String>,
}

impl Display for QuotedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for QuotedError {}

/// The error with the lines that it is about.
#[expect(clippy::needless_pass_by_value, reason = "results are mapped with it")]
#[must_use]
pub fn manifest_error(error: ManifestError) -> QuotedError {
    let next_step = error.problem().next_step().map(str::to_owned);
    QuotedError { text: error.render(manifest_style()), line: Some(error.to_string()), next_step }
}

/// An error that was rendered before; `text` begins with the word `error`.
#[must_use]
pub fn quoted_error(text: String) -> QuotedError {
    QuotedError { text, line: None, next_step: None }
}

/// What an error quotes, in one line and without the quotation: for a log. `None` if it quotes nothing.
#[must_use]
pub fn in_one_line<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a str> {
    error.downcast_ref::<QuotedError>()?.line.as_deref()
}

/// What an error in a manifest says to do instead; `None`: it says what is wrong alone, or is another error.
#[must_use]
pub fn next_step<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a str> {
    error.downcast_ref::<QuotedError>()?.next_step.as_deref()
}

/// Whether it is such an error.
#[must_use]
pub fn is_quoted(error: &(dyn std::error::Error + 'static)) -> bool {
    error.is::<QuotedError>()
}
