//! YAML and JSON as trees, with errors that name their source.
//!
//! Manifests are read as kubectl reads them, configurations as the kubelet does; `kubernetes-yaml` has the reader.

use core::ops::Range;

use kubernetes_yaml::{Node, Outline, Position, TextError, TextProblem, read_single, read_stream};

use crate::template::or_template;
use crate::{ManifestError, Problem, Source};

/// What happens to a key that its mapping already has, and to text behind a document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RepeatedKey {
    /// The text is refused.
    Refused,
    /// The last one counts.
    LastCounts,
}

/// The documents of a text that are not empty, and what kubectl takes in silence.
pub(crate) struct Documents {
    pub(crate) nodes: Vec<Node>,
    /// Repeated keys, and text behind a document, which is not read.
    pub(crate) unnoticed: Vec<ManifestError>,
}

impl Documents {
    fn of(source: &Source<'_>, read: kubernetes_yaml::Documents) -> Self {
        let unnoticed = read.unnoticed.into_iter().map(|error| refused(source, error)).collect();
        Self { nodes: read.nodes, unnoticed }
    }
}

/// An error of the reader, in its source.
fn refused(source: &Source<'_>, TextError { span, problem }: TextError) -> ManifestError {
    let problem = match problem {
        TextProblem::Syntax(words) => Problem::Syntax(words),
        TextProblem::TooDeep => Problem::TooDeep,
        TextProblem::ObjectTooLarge { bytes } => Problem::ObjectTooLarge { bytes },
        TextProblem::DuplicateKey(key) => Problem::DuplicateKey(key),
        TextProblem::Unread(what) => {
            Problem::Useless { what: what.to_owned(), expected: "one document, or `---` between several" }
        }
    };
    ManifestError::at(source, "", &span, problem)
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
    read(source, read_stream)
}

/// The one document of a text that a kubelet reads.
pub(crate) fn configuration(source: &Source<'_>) -> Result<Documents, ManifestError> {
    read(source, read_single)
}

fn read(
    source: &Source<'_>,
    reader: fn(&str) -> Result<kubernetes_yaml::Documents, TextError>,
) -> Result<Documents, ManifestError> {
    source.check_size()?;
    let documents = reader(source.text).map_err(|error| or_template(source, refused(source, error)))?;
    if documents.nodes.is_empty() {
        return Err(ManifestError::at(source, "", &(0..0), Problem::Empty));
    }
    Ok(Documents::of(source, documents))
}

/// A text of many objects, of which not all are in memory as trees at a time.
pub(crate) struct Pieces<'a> {
    name: &'a str,
    pieces: kubernetes_yaml::Pieces<'a>,
}

/// A part of a text, as a separate source.
pub(crate) struct Piece<'a> {
    pub(crate) source: Source<'a>,
    /// Where it begins in the whole.
    pub(crate) start: Position,
    part: kubernetes_yaml::Piece<'a>,
}

impl<'a> Pieces<'a> {
    /// A text that may be as large as a list, and its documents, of which there is at least one.
    pub(crate) fn new(source: &Source<'a>) -> Result<(Self, Vec<Outline>), ManifestError> {
        source.check_list_size()?;
        let (pieces, outlines) = kubernetes_yaml::Pieces::new(source.text);
        Ok((Self { name: source.name, pieces }, outlines))
    }

    /// A document or an item of one. They are to be taken in their order, so that lines are counted once.
    pub(crate) fn next(&mut self, range: Range<usize>) -> Piece<'a> {
        let part = self.pieces.next(range);
        Piece { source: Source { name: self.name, text: part.text }, start: part.start, part }
    }

    pub(crate) fn read(&self, piece: &Piece<'_>) -> Result<Documents, ManifestError> {
        piece.documents(self.pieces.read(&piece.part))
    }

    /// What a list is without its items, which are empty lines in `header`.
    pub(crate) fn read_header(&self, header: &Source<'_>) -> Result<Documents, ManifestError> {
        let read = self.pieces.read_header(header.text).map_err(|error| refused(header, error))?;
        Ok(Documents::of(header, read))
    }

    /// An item of a list, which in YAML is a list of one.
    pub(crate) fn read_item(&self, piece: &Piece<'_>) -> Result<Documents, ManifestError> {
        piece.documents(self.pieces.read_item(&piece.part))
    }
}

impl Piece<'_> {
    /// What was read of it; an error has its place in the whole.
    fn documents(
        &self,
        read: Result<kubernetes_yaml::Documents, TextError>,
    ) -> Result<Documents, ManifestError> {
        let read = read.map_err(|error| refused(&self.source, error).after(self.start))?;
        Ok(Documents::of(&self.source, read))
    }
}
