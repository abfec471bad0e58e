//! Large texts, object by object.

use core::ops::Range;

use crate::documents::{Documents, read_single};
use crate::edit::Language;
use crate::outline::{self, Outline};
use crate::{MAX_BYTES, Node, Position, TextError, TextProblem};

/// A text of many objects, of which not all are in memory as trees at a time.
#[derive(Debug)]
pub struct Pieces<'a> {
    text: &'a str,
    language: Language,
    /// So many bytes have been passed, and what is after them.
    passed: (usize, Position),
}

/// A part of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece<'a> {
    /// What there is of it; errors have their places in this.
    pub text: &'a str,
    /// Where it begins in the whole.
    pub start: Position,
}

impl<'a> Pieces<'a> {
    /// A text of any size, and its documents, of which there is at least one.
    #[must_use]
    pub fn new(text: &'a str) -> (Self, Vec<Outline>) {
        let (language, outlines) = match json_ranges(text) {
            Some(ranges) => {
                let outline = |range| outline::of_json(text, range);
                (Language::Json, ranges.into_iter().map(outline).collect())
            }
            None => (Language::Yaml, outline::of_yaml(text)),
        };
        (Self { text, language, passed: (0, Position::START) }, outlines)
    }

    /// A document or an item of one. They are to be taken in their order, so that lines are counted once.
    pub fn next(&mut self, range: Range<usize>) -> Piece<'a> {
        let (bytes, before) = self.passed;
        let passed = self.text.get(bytes..range.start).unwrap_or_default();
        let start = Position::of(passed, passed.len()).after(before);
        self.passed = (range.start, start);
        let text = self.text.get(range).unwrap_or_default();
        Piece { text, start }
    }

    /// The document of a part.
    ///
    /// # Errors
    /// It is larger than [`MAX_BYTES`], or what [`read_stream`](crate::read_stream) refuses.
    pub fn read(&self, piece: &Piece<'_>) -> Result<Documents, TextError> {
        let bytes = piece.text.len();
        if bytes > MAX_BYTES {
            return Err(TextError::at(0, TextProblem::ObjectTooLarge { bytes }));
        }
        self.part(piece.text)
    }

    fn part(&self, text: &str) -> Result<Documents, TextError> {
        match self.language {
            Language::Json => read_single(text),
            Language::Yaml => {
                let mut documents = Documents::default();
                documents.read_part(text, 0..text.len())?;
                Ok(documents)
            }
        }
    }

    /// What a list is without its items, which are empty lines in `header`: see [`Outline::header`].
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub fn read_header(&self, header: &str) -> Result<Documents, TextError> {
        let bytes = header.bytes().filter(|byte| *byte != b'\n').count();
        if bytes > MAX_BYTES {
            return Err(TextError::at(0, TextProblem::ObjectTooLarge { bytes }));
        }
        self.part(header)
    }

    /// An item of a list, which in YAML is a list of one.
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub fn read_item(&self, piece: &Piece<'_>) -> Result<Documents, TextError> {
        let mut documents = self.read(piece)?;
        if self.language == Language::Yaml {
            documents.nodes = documents.nodes.into_iter().flat_map(Node::into_items).collect();
        }
        Ok(documents)
    }
}

fn json_ranges(text: &str) -> Option<Vec<Range<usize>>> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<serde::de::IgnoredAny>();
    let mut ranges = Vec::new();
    let mut start = 0;
    while let Some(document) = stream.next() {
        document.ok()?;
        let end = stream.byte_offset();
        ranges.push(start..end);
        start = end;
    }
    Some(ranges)
}
