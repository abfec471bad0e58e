//! From text to trees: the only module that knows YAML and JSON.
//!
//! Manifests are read as kubectl reads them, configurations as the kubelet does; both stand on `sigs.k8s.io/yaml`, which
//! makes JSON of YAML. A number is what it is in that JSON.
//!
//! `cargo xtask texts` compares this with the Go code; README.md has the figures.

mod cursor;
mod token;
mod scanner;
mod scalars;
mod tags;
mod parser;
mod resolve;
mod mapping;
mod compose;
mod json;
mod documents;

use core::ops::Range;

pub(crate) use self::documents::Documents;
use self::documents::{read_single, read_stream};
use crate::node::Node;
use crate::outline::{self, Outline};
use crate::position::Position;
use crate::template::or_template;
use crate::{MAX_BYTES, ManifestError, Problem, Source};

/// What happens to a key that its mapping already has, and to text behind a document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RepeatedKey {
    /// The text is refused.
    Refused,
    /// The last one counts.
    LastCounts,
}

/// Every document that is not empty; at least one.
pub(crate) fn documents(source: &Source<'_>, repeated: RepeatedKey) -> Result<Vec<Node>, ManifestError> {
    let Documents { nodes, unnoticed } = manifests(source)?;
    match unnoticed.into_iter().next() {
        Some(error) if repeated == RepeatedKey::Refused => Err(error),
        _ => Ok(nodes),
    }
}

/// The documents of a text as kubectl reads them; at least one.
pub(crate) fn manifests(source: &Source<'_>) -> Result<Documents, ManifestError> {
    source.check_size()?;
    let documents = read_stream(source).map_err(|error| or_template(source, error))?;
    not_empty(source, documents)
}

/// The one document of a text that a kubelet reads.
pub(crate) fn configuration(source: &Source<'_>) -> Result<Documents, ManifestError> {
    source.check_size()?;
    let documents = read_single(source).map_err(|error| or_template(source, error))?;
    not_empty(source, documents)
}

fn not_empty(source: &Source<'_>, documents: Documents) -> Result<Documents, ManifestError> {
    if documents.nodes.is_empty() {
        return Err(ManifestError::at(source, "", &(0..0), Problem::Empty));
    }
    Ok(documents)
}

/// In which language a text is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Language {
    Json,
    Yaml,
}

/// A text of many objects, of which not all are in memory as trees at a time.
pub(crate) struct Pieces<'a> {
    source: &'a Source<'a>,
    language: Language,
    /// So many bytes have been passed, and what is after them.
    passed: (usize, Position),
}

/// A part of a text, as a separate source.
pub(crate) struct Piece<'a> {
    pub(crate) source: Source<'a>,
    /// Where it begins in the whole.
    pub(crate) start: Position,
}

impl<'a> Pieces<'a> {
    /// A text that may be as large as a list, and its documents, of which there is at least one.
    pub(crate) fn new(source: &'a Source<'a>) -> Result<(Self, Vec<Outline>), ManifestError> {
        source.check_list_size()?;
        let (language, outlines) = match json_ranges(source.text) {
            Some(ranges) => {
                let outline = |range| outline::of_json(source.text, range);
                (Language::Json, ranges.into_iter().map(outline).collect())
            }
            None => (Language::Yaml, outline::of_yaml(source.text)),
        };
        Ok((Self { source, language, passed: (0, Position::START) }, outlines))
    }

    /// A document or an item of one. They are to be taken in their order, so that lines are counted once.
    pub(crate) fn next(&mut self, range: Range<usize>) -> Piece<'a> {
        let (bytes, before) = self.passed;
        let passed = self.source.text.get(bytes..range.start).unwrap_or_default();
        let start = Position::of(passed, passed.len()).after(before);
        self.passed = (range.start, start);
        let text = self.source.text.get(range).unwrap_or_default();
        Piece { source: Source { name: self.source.name, text }, start }
    }

    pub(crate) fn read(&self, piece: &Piece<'_>) -> Result<Documents, ManifestError> {
        let source = &piece.source;
        let bytes = source.text.len();
        let read = if bytes > MAX_BYTES {
            Err(ManifestError::at(source, "", &(0..0), Problem::ObjectTooLarge { bytes }))
        } else {
            self.part(source)
        };
        read.map_err(|error| error.after(piece.start))
    }

    fn part(&self, source: &Source<'_>) -> Result<Documents, ManifestError> {
        match self.language {
            Language::Json => read_single(source),
            Language::Yaml => {
                let mut documents = Documents::default();
                documents.read_part(source, 0..source.text.len())?;
                Ok(documents)
            }
        }
    }

    /// What a list is without its items, which are empty lines in `header`.
    pub(crate) fn read_header(&self, header: &Source<'_>) -> Result<Documents, ManifestError> {
        let bytes = header.text.bytes().filter(|byte| *byte != b'\n').count();
        if bytes > MAX_BYTES {
            return Err(ManifestError::at(header, "", &(0..0), Problem::ObjectTooLarge { bytes }));
        }
        self.part(header)
    }

    /// An item of a list, which in YAML is a list of one.
    pub(crate) fn read_item(&self, piece: &Piece<'_>) -> Result<Documents, ManifestError> {
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
