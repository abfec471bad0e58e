//! Why a text is not read, and where.

use core::ops::Range;

use thiserror::Error;

/// What is wrong with a text, and the place in it.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{problem}")]
pub struct TextError {
    /// In bytes of the text; empty where it is one place.
    pub span: Range<usize>,
    /// What is wrong there.
    pub problem: TextProblem,
}

/// What is wrong.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum TextProblem {
    /// It is no YAML or JSON; the parser's words.
    #[error("{0}")]
    Syntax(String),
    /// More than [`MAX_DEPTH`](crate::MAX_DEPTH) mappings and lists within each other.
    #[error("values are nested too deeply")]
    TooDeep,
    /// A part of a text, or an item of a list, is larger than [`MAX_BYTES`](crate::MAX_BYTES).
    #[error("what begins here has {bytes} bytes")]
    ObjectTooLarge {
        /// How large it is.
        bytes: usize,
    },
    /// A key that its mapping already has.
    #[error("key {0:?} is given twice")]
    DuplicateKey(String),
    /// Text behind a document that is not read; what it is.
    #[error("{0}")]
    Unread(&'static str),
}

impl TextError {
    /// At one place.
    pub(crate) const fn at(place: usize, problem: TextProblem) -> Self {
        Self { span: place..place, problem }
    }
}
