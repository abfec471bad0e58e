//! What a text is cut into before anyone asks what it means.

use crate::cursor::Mark;

/// A piece of YAML, and where it is.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) start: Mark,
    pub(crate) end: Mark,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum TokenKind {
    StreamStart,
    StreamEnd,
    VersionDirective { major: u8, minor: u8 },
    TagDirective { handle: String, prefix: String },
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias(String),
    Anchor(String),
    Tag { handle: String, suffix: String },
    Scalar { text: String, style: ScalarStyle },
}

/// How a scalar is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ScalarStyle {
    /// Without quotes: it may be a number, a boolean or nothing.
    Plain,
    /// In quotes, or as a block of lines: always text.
    Text,
}

/// What is no YAML.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SyntaxError {
    /// Where, in bytes.
    pub(crate) at: usize,
    /// The words of libyaml.
    pub(crate) problem: &'static str,
}

impl SyntaxError {
    pub(crate) const fn new(at: Mark, problem: &'static str) -> Self {
        Self { at: at.byte, problem }
    }
}
