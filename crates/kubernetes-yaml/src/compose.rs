//! From events to trees, as `go.yaml.in/yaml/v2` and `sigs.k8s.io/yaml` do it: one document, its aliases resolved, its
//! mappings merged, and every key a text.

use core::ops::Range;
use std::collections::HashMap;

use crate::mapping::{Mapping, Set};
use crate::parser::{Event, EventKind, Parser};
use crate::resolve::{Scalar, Unfit, json_float, key_float, resolve};
use crate::token::SyntaxError;
use crate::{Entry, MAX_DEPTH, Node, TextError, TextProblem, Value};

/// What anchors and aliases may copy: each value counts as much as it takes in memory, and texts their bytes.
const MAX_COPIED: usize = 32 << 20;
/// What a value of a tree takes, with its key.
const VALUE: usize = 128;

/// One document, and what of the text around it has no effect.
pub(crate) struct Composed {
    /// `None`: there is no document.
    pub(crate) node: Option<Node>,
    /// Keys whose mapping has them already: the last one counts.
    pub(crate) repeated: Vec<(String, Range<usize>)>,
    /// Keys over those of a mapping that is merged: the kubelet's strict decoder refuses them too.
    pub(crate) over_merged: Vec<(String, Range<usize>)>,
    /// Where what follows the document begins; it is not read.
    pub(crate) rest: Option<usize>,
}

fn fail<T>(span: &Range<usize>, problem: &str) -> Result<T, TextError> {
    Err(TextError { span: span.clone(), problem: TextProblem::Syntax(problem.to_owned()) })
}

/// The first document of a text that is the `within` of a larger one; all places are in that.
pub(crate) fn compose(text: &str, within: Range<usize>) -> Result<Composed, TextError> {
    if let Some((at, c)) = text.char_indices().find(|(at, c)| is_forbidden(*at, *c)) {
        let at = at + within.start;
        let mark = "a byte order mark stands at the start of a text only";
        return fail(&(at..at), if c == MARK { mark } else { "control characters are not allowed" });
    }
    let mut composer = Composer {
        parser: Parser::new(text),
        within,
        anchors: HashMap::new(),
        keeps_anchors: text.contains('*'),
        repeated: Vec::new(),
        over_merged: Vec::new(),
        depth: 0,
        decoded: 0,
        aliased: 0,
        copied: 0,
    };
    if composer.next()?.kind == EventKind::StreamEnd {
        return Ok(Composed { node: None, repeated: Vec::new(), over_merged: Vec::new(), rest: None });
    }
    let event = composer.next()?;
    let node = composer.node(event)?;
    composer.next()?;
    let rest = match composer.next() {
        Ok(Event { kind: EventKind::StreamEnd, .. }) => None,
        Ok(event) => Some(event.span.start),
        Err(error) => Some(error.span.start),
    };
    let Composer { repeated, over_merged, .. } = composer;
    Ok(Composed { node: Some(node), repeated, over_merged, rest })
}

const MARK: char = '\u{feff}';

fn is_forbidden(at: usize, c: char) -> bool {
    match c {
        '\t' | '\n' | '\r' | '\u{85}' => false,
        // The library takes one for a character, and sometimes drops one of each line then.
        MARK => at > 0,
        _ => c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}'),
    }
}

struct Composer<'a> {
    parser: Parser<'a>,
    within: Range<usize>,
    /// By name; the latest counts.
    anchors: HashMap<String, Anchored>,
    keeps_anchors: bool,
    repeated: Vec<(String, Range<usize>)>,
    over_merged: Vec<(String, Range<usize>)>,
    depth: usize,
    /// Values so far, and how many of them are those of aliases.
    decoded: usize,
    aliased: usize,
    copied: usize,
}

/// The value of an anchor.
struct Anchored {
    /// How many values were before it.
    start: usize,
    /// `None` while it is being read.
    node: Option<Node>,
}

impl Composer<'_> {
    /// The next event, at its place in the whole text.
    fn next(&mut self) -> Result<Event, TextError> {
        let place = |at: usize| (at + self.within.start).min(self.within.end);
        match self.parser.next() {
            Ok(Event { kind, span }) => Ok(Event { kind, span: place(span.start)..place(span.end) }),
            Err(SyntaxError { at, problem }) => fail(&(place(at)..place(at)), problem),
        }
    }

    fn node(&mut self, event: Event) -> Result<Node, TextError> {
        self.decoded += 1;
        let Event { kind, span } = event;
        match kind {
            EventKind::Alias(name) => self.alias(&name, &span),
            EventKind::Scalar { anchor, tag, text, is_plain } => {
                let scalar = scalar(&tag, &text, is_plain, &span)?;
                let value = value(&scalar, text, &span)?;
                self.anchored(anchor, |_| Ok(Node { value, span }))
            }
            EventKind::SequenceStart { anchor } => {
                self.anchored(anchor, |composer| composer.nested(&span, |own| own.sequence(&span)))
            }
            EventKind::MappingStart { anchor } => {
                self.anchored(anchor, |composer| composer.nested(&span, |own| own.mapping(&span)))
            }
            _ => fail(&span, "did not find expected node content"),
        }
    }

    /// Reads a value and keeps it for its aliases.
    fn anchored(
        &mut self,
        anchor: Option<String>,
        read: impl FnOnce(&mut Self) -> Result<Node, TextError>,
    ) -> Result<Node, TextError> {
        let Some(anchor) = anchor.filter(|_| self.keeps_anchors) else { return read(self) };
        let start = self.decoded;
        self.anchors.insert(anchor.clone(), Anchored { start, node: None });
        let node = read(self)?;
        self.copy(&node)?;
        // One inside may have taken the name.
        if let Some(own) = self.anchors.get_mut(&anchor).filter(|own| own.start == start) {
            own.node = Some(node.clone());
        }
        Ok(node)
    }

    /// Counts a copy.
    fn copy(&mut self, node: &Node) -> Result<usize, TextError> {
        let (values, bytes) = amount(node);
        self.copied = self.copied.saturating_add(values.saturating_mul(VALUE)).saturating_add(bytes);
        if self.copied > MAX_COPIED {
            return fail(&node.span, "document contains excessive aliasing");
        }
        Ok(values)
    }

    fn alias(&mut self, name: &str, span: &Range<usize>) -> Result<Node, TextError> {
        let Some(anchored) = self.anchors.get(name) else {
            return fail(span, &format!("unknown anchor '{name}' referenced"));
        };
        let Some(node) = anchored.node.clone() else {
            return fail(span, &format!("anchor '{name}' value contains itself"));
        };
        let values = self.copy(&node)?;
        self.decoded += values;
        self.aliased += values;
        if self.aliased > 100 && self.decoded > 1000 && self.is_mostly_aliases() {
            return fail(span, "document contains excessive aliasing");
        }
        Ok(node)
    }

    /// The Go library's limit: 99 of 100 values of a small document, and 10 of 100 of a large one.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
    fn is_mostly_aliases(&self) -> bool {
        const SMALL: f64 = 400_000.0;
        const LARGE: f64 = 4_000_000.0;
        let decoded = self.decoded as f64;
        let large = ((decoded - SMALL) / (LARGE - SMALL)).clamp(0.0, 1.0);
        self.aliased as f64 / decoded > 0.99 - 0.89 * large
    }

    fn nested(
        &mut self,
        span: &Range<usize>,
        read: impl FnOnce(&mut Self) -> Result<Node, TextError>,
    ) -> Result<Node, TextError> {
        if self.depth == MAX_DEPTH {
            return Err(TextError { span: span.clone(), problem: TextProblem::TooDeep });
        }
        self.depth += 1;
        let node = read(self);
        self.depth -= 1;
        node
    }

    fn sequence(&mut self, start: &Range<usize>) -> Result<Node, TextError> {
        let mut items = Vec::new();
        loop {
            let event = self.next()?;
            if event.kind == EventKind::SequenceEnd {
                return Ok(Node { value: Value::List(items), span: start.clone() });
            }
            items.push(self.node(event)?);
        }
    }

    fn mapping(&mut self, start: &Range<usize>) -> Result<Node, TextError> {
        let mut mapping = Mapping::default();
        loop {
            let event = self.next()?;
            if event.kind == EventKind::MappingEnd {
                return Ok(Node { value: Value::Map(mapping.entries), span: start.clone() });
            }
            if is_merge(&event) {
                // It may have an anchor.
                self.node(event)?;
                self.merge(&mut mapping)?;
                continue;
            }
            let key_span = event.span.clone();
            let key = self.key(event)?;
            let event = self.next()?;
            let value = self.node(event)?;
            match mapping.set(Entry { key: key.clone(), key_span: key_span.clone(), value }) {
                Set::New => {}
                Set::OverMerged => self.over_merged.push((key, key_span)),
                Set::Again => self.repeated.push((key, key_span)),
            }
        }
    }

    /// Keys that are no text become one; nothing, lists and mappings do not.
    fn key(&mut self, event: Event) -> Result<String, TextError> {
        let span = event.span.clone();
        let scalar = match &event.kind {
            EventKind::Scalar { tag, text, is_plain, .. } => Some(scalar(tag, text, *is_plain, &span)?),
            _ => None,
        };
        // Infinity is a key, though no value.
        if let Some(Scalar::Float(value)) = scalar {
            return Ok(key_float(value));
        }
        let Node { value, .. } = self.node(event)?;
        match value {
            Value::Text(text) => Ok(text),
            Value::Bool(value) => Ok(value.to_string()),
            Value::Number(text) if text.parse::<i64>().is_ok() => Ok(text),
            Value::Number(text) if text.parse::<u64>().is_err() => Ok(text.parse().map_or(text, key_float)),
            Value::Number(_) | Value::Null => fail(&span, "unsupported map key: it is no text"),
            Value::List(_) | Value::Map(_) => fail(&span, "invalid map key"),
        }
    }

    /// What is behind `<<:`, put where it stands: what is written further below counts.
    fn merge(&mut self, mapping: &mut Mapping) -> Result<(), TextError> {
        const WANTED: &str = "map merge requires map or sequence of maps as the value";
        let event = self.next()?;
        let span = event.span.clone();
        let is_sequence = matches!(event.kind, EventKind::SequenceStart { .. });
        let node = self.node(event)?;
        let mut merged = match node.value {
            // An alias of a sequence is none.
            Value::List(items) if is_sequence => items,
            _ => vec![node],
        };
        // Of mappings with the same key the first counts.
        merged.reverse();
        for node in merged {
            let Value::Map(entries) = node.value else { return fail(&span, WANTED) };
            for entry in entries {
                mapping.merge(entry);
            }
        }
        Ok(())
    }
}

fn is_merge(event: &Event) -> bool {
    match &event.kind {
        EventKind::Scalar { tag, text, is_plain, .. } => {
            text == "<<" && (*is_plain || tag == "tag:yaml.org,2002:merge")
        }
        _ => false,
    }
}

fn scalar(tag: &str, text: &str, is_plain: bool, span: &Range<usize>) -> Result<Scalar, TextError> {
    if tag.is_empty() && !is_plain {
        return Ok(Scalar::Text);
    }
    resolve(tag, text).or_else(|Unfit(tag)| fail(span, &format!("cannot decode `{text}` as a {tag}")))
}

fn value(scalar: &Scalar, text: String, span: &Range<usize>) -> Result<Value, TextError> {
    Ok(match scalar {
        Scalar::Null => Value::Null,
        Scalar::Bool(value) => Value::Bool(*value),
        Scalar::Integer(value) => Value::Number(value.to_string()),
        Scalar::Unsigned(value) => Value::Number(value.to_string()),
        Scalar::Float(value) => match json_float(*value) {
            Some(text) => Value::Number(text),
            None => return fail(span, "json: unsupported value"),
        },
        Scalar::Text => Value::Text(text),
    })
}

/// How many values a tree has, keys among them, and the bytes of its texts.
fn amount(node: &Node) -> (usize, usize) {
    let add = |one: (usize, usize), other: (usize, usize)| (one.0 + other.0, one.1 + other.1);
    match &node.value {
        Value::Null | Value::Bool(_) => (1, 0),
        Value::Number(text) | Value::Text(text) => (1, text.len()),
        Value::List(items) => items.iter().map(amount).fold((1, 0), add),
        Value::Map(entries) => {
            let entry = |entry: &Entry| add((1, entry.key.len()), amount(&entry.value));
            entries.iter().map(entry).fold((1, 0), add)
        }
    }
}
