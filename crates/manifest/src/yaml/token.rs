//! What a text is cut into before anyone asks what it means.

use super::cursor::Mark;

/// A piece of YAML, and where it is.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) start: Mark,
    pub(super) end: Mark,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum TokenKind {
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
pub(super) enum ScalarStyle {
    /// Without quotes: it may be a number, a boolean or nothing.
    Plain,
    /// In quotes, or as a block of lines: always text.
    Text,
}

/// What is no YAML.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SyntaxError {
    /// Where, in bytes.
    pub(super) at: usize,
    /// The words of libyaml.
    pub(super) problem: &'static str,
}

impl SyntaxError {
    pub(super) const fn new(at: Mark, problem: &'static str) -> Self {
        Self { at: at.byte, problem }
    }
}
