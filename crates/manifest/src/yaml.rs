//! From text to trees: the only module that knows the YAML parser.
//!
//! JSON is read as the YAML that it is, so that it has places and duplicate keys are seen; only what YAML does not
//! take of it is evened out before: documents without `---` between them, and tabs.
//!
//! Numbers are kept as written. The parser turns a bare `0644` or `1e3` into a number before anyone sees its text,
//! so the text is taken from the source again, by its place.

use core::fmt;
use core::ops::Range;
use std::borrow::Cow;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::{
    DuplicateKeyPolicy, Error, Location, MessageFormatter, NonFiniteFloatPolicy, Options, Spanned,
    UserMessageFormatter,
};

use crate::node::{Entry, Node, Value};
use crate::outline::{self, Outline};
use crate::position::Position;
use crate::source::MAX_DEPTH;
use crate::{MAX_BYTES, ManifestError, Problem, Source};

/// What happens to a key that its mapping already has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RepeatedKey {
    /// The text is refused.
    Refused,
    /// The last one counts.
    LastCounts,
}

/// Every document that is not empty; at least one.
pub(crate) fn documents(source: &Source<'_>, repeated: RepeatedKey) -> Result<Vec<Node>, ManifestError> {
    source.check_size()?;
    let mut nodes = Vec::new();
    for part in parts(source) {
        nodes.extend(part.read(source, repeated)?);
    }
    if nodes.is_empty() {
        return Err(ManifestError::at(source, "", &(0..0), Problem::Empty));
    }
    Ok(nodes)
}

/// Limits that keep a megabyte of text from becoming more than some tens of megabytes of values.
fn options(repeated: RepeatedKey) -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            max_documents: 10_000,
            max_total_scalar_bytes: 8 << 20,
            max_recorded_anchor_bytes: 8 << 20,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 100_000 },
        duplicate_keys: match repeated {
            RepeatedKey::Refused => DuplicateKeyPolicy::Error,
            RepeatedKey::LastCounts => DuplicateKeyPolicy::LastWins,
        },
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        with_snippet: false,
    }
}

/// A part of the source that the YAML parser is given.
struct SourcePart<'a> {
    text: Cow<'a, str>,
    /// Where in the source it starts, in bytes.
    start: usize,
}

impl<'a> SourcePart<'a> {
    /// A range of a source, which is JSON or else YAML.
    fn of(source: &Source<'a>, range: Range<usize>, language: Language) -> Self {
        let text = source.text.get(range.clone()).unwrap_or_default();
        let text = match language {
            // Strings of JSON have no tabs in them, so each one is a blank between values.
            Language::Json if text.contains('\t') => Cow::Owned(text.replace('\t', " ")),
            Language::Json | Language::Yaml => Cow::Borrowed(text),
        };
        Self { text, start: range.start }
    }

    fn read(&self, source: &Source<'_>, repeated: RepeatedKey) -> Result<Vec<Node>, ManifestError> {
        let found = serde_saphyr::from_multiple_with_options::<Spanned<Raw>>(&self.text, options(repeated))
            .map_err(|error| refused(source, self.start, &error))?;
        Ok(found.into_iter().map(|raw| node(raw, source.text, self.start)).collect())
    }
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

/// A part of a text, as a text of its own.
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

    pub(crate) fn read(&self, piece: &Piece<'_>) -> Result<Vec<Node>, ManifestError> {
        let source = &piece.source;
        let bytes = source.text.len();
        let read = if bytes > MAX_BYTES {
            Err(ManifestError::at(source, "", &(0..0), Problem::ObjectTooLarge { bytes }))
        } else {
            SourcePart::of(source, 0..bytes, self.language).read(source, RepeatedKey::Refused)
        };
        read.map_err(|error| error.after(piece.start))
    }

    /// What a list is without its items, which are empty lines in `header`.
    pub(crate) fn read_header(&self, header: &Source<'_>) -> Result<Option<Node>, ManifestError> {
        let bytes = header.text.bytes().filter(|byte| *byte != b'\n').count();
        if bytes > MAX_BYTES {
            return Err(ManifestError::at(header, "", &(0..0), Problem::ObjectTooLarge { bytes }));
        }
        let part = SourcePart::of(header, 0..header.text.len(), self.language);
        Ok(part.read(header, RepeatedKey::Refused)?.into_iter().next())
    }

    /// An item of a list, which in YAML is a list of one.
    pub(crate) fn read_item(&self, piece: &Piece<'_>) -> Result<Vec<Node>, ManifestError> {
        let nodes = self.read(piece)?;
        Ok(match self.language {
            Language::Json => nodes,
            Language::Yaml => nodes.into_iter().flat_map(Node::into_items).collect(),
        })
    }
}

/// The JSON documents, if there is nothing but such; else the whole text.
fn parts<'a>(source: &Source<'a>) -> Vec<SourcePart<'a>> {
    json_ranges(source.text).map_or_else(
        || vec![SourcePart { text: Cow::Borrowed(source.text), start: 0 }],
        |ranges| {
            let part = |range| SourcePart::of(source, range, Language::Json);
            ranges.into_iter().map(part).collect()
        },
    )
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

/// The parser's error as ours.
fn refused(source: &Source<'_>, start: usize, error: &Error) -> ManifestError {
    let error = error.without_snippet();
    let span = error.location().map_or(start..start, |location| span(location, source.text, start));
    let problem = match error {
        Error::DuplicateMappingKey { key, .. } => Problem::DuplicateKey(key.clone().unwrap_or_default()),
        Error::Budget { breach: BudgetBreach::Depth { .. }, .. } => Problem::TooDeep,
        other => Problem::Syntax(UserMessageFormatter.format_message(other).into_owned()),
    };
    ManifestError::at(source, "", &span, problem)
}

/// The bytes of the source at a location. The parser counts characters where it does not know bytes.
fn span(location: Location, source: &str, start: usize) -> Range<usize> {
    let span = location.span();
    let bytes =
        span.byte_offset().zip(span.byte_len()).map(|(offset, len)| (to_usize(offset), to_usize(len)));
    let (offset, len) = bytes.unwrap_or_else(|| {
        let text = source.get(start..).unwrap_or_default();
        let byte = |characters: u64| {
            text.char_indices().nth(to_usize(characters)).map_or(text.len(), |(byte, _)| byte)
        };
        let offset = byte(span.offset());
        (offset, byte(span.offset().saturating_add(span.len())) - offset)
    });
    let begin = start.saturating_add(offset).min(source.len());
    begin..begin.saturating_add(len).min(source.len())
}

fn to_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// A value as the parser hands it over.
enum Raw {
    Null,
    Bool(bool),
    /// A bare number, whose text is in the source.
    Number,
    Text(String),
    List(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<String>, Spanned<Raw>)>),
}

fn node(raw: Spanned<Raw>, source: &str, start: usize) -> Node {
    let place = span(raw.defined, source, start);
    let value = match raw.value {
        Raw::Null => Value::Null,
        Raw::Bool(value) => Value::Bool(value),
        Raw::Number => Value::Number(source.get(place.clone()).unwrap_or_default().trim().to_owned()),
        Raw::Text(text) => Value::Text(text),
        Raw::List(items) => Value::List(items.into_iter().map(|item| node(item, source, start)).collect()),
        Raw::Map(entries) => Value::Map(
            entries
                .into_iter()
                .map(|(key, value)| Entry {
                    key_span: span(key.defined, source, start),
                    key: key.value,
                    value: node(value, source, start),
                })
                .collect(),
        ),
    };
    Node { value, span: place }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Bool(value))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Raw, E> {
        Ok(Raw::Number)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Raw, E> {
        Ok(Raw::Number)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Raw, E> {
        Ok(Raw::Number)
    }

    fn visit_str<E>(self, text: &str) -> Result<Raw, E> {
        Ok(Raw::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Raw, E> {
        Ok(Raw::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Raw, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Raw::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Raw, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(Raw::Map(map))
    }
}
