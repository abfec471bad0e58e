//! A sentence that a program shows beside its results.

use alloc::string::String;
use core::fmt;

/// How much a sentence matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    /// Good to know.
    Info,
    /// The pod does not get what its owner may expect.
    Warning,
    /// Something was not done.
    Error,
}

/// A sentence and how much it matters; shown with the word in front: `warning: pod a has ended and is left out`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Notice {
    /// How much it matters.
    pub severity: Severity,
    /// The sentence, without that word.
    pub text: String,
}

impl Notice {
    /// A warning.
    #[must_use]
    pub fn warning(text: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, text: text.into() }
    }

    /// An error.
    #[must_use]
    pub fn error(text: impl Into<String>) -> Self {
        Self { severity: Severity::Error, text: text.into() }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = match self.severity {
            Severity::Info => "",
            Severity::Warning => "warning: ",
            Severity::Error => "error: ",
        };
        write!(f, "{head}{}", self.text)
    }
}
