//! One edit: a key of a mapping is set, or removed, in the style in which the mapping is written.
//!
//! ```
//! use kubernetes_yaml::{edit, read_single};
//!
//! let text = "maxPods: 110 # as before\nfeatureGates: {A: true}\n";
//! let document = &read_single(text)?.nodes[0];
//! let text = edit::set(text, document, &["featureGates", "B"], &false.into()).unwrap();
//! assert_eq!(text, "maxPods: 110 # as before\nfeatureGates: {A: true, B: false}\n");
//! # Ok::<(), kubernetes_yaml::TextError>(())
//! ```

mod flow;
mod write;

use core::ops::Range;

use serde_json::{Value as Json, json};

use self::flow::{Enclosure, quoted, value as value_range};
pub use self::write::{Language, document};
use self::write::{block, flow as in_flow, pretty};
use crate::{Entry, Node, Value};

/// Why a text cannot be edited at a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Obstacle {
    /// A part of the mapping stands elsewhere.
    Elsewhere,
    /// A key does not stand plainly at the start of a line, or in brackets.
    Keys,
    /// In brackets, a value has an anchor or a tag, or a key has no value.
    Values,
}

/// The text with a value at the end of a path of keys, all of which but the last are there.
///
/// # Errors
/// What of the text is written in a way that is not edited.
pub fn set(text: &str, document: &Node, path: &[&str], value: &Json) -> Result<String, Obstacle> {
    let (key, parents, inner) = descend(document, path).ok_or(Obstacle::Elsewhere)?;
    // What has no keys yet is written anew.
    if matches!(&inner.value, Value::Map(entries) if entries.is_empty()) && !parents.is_empty() {
        return set(text, document, parents, &json!({ key: value }));
    }
    let written = MappingText::of(text, inner)?;
    match written.entries.iter().rposition(|own| own.key == *key) {
        Some(at) => written.replace(text, at, value),
        None => written.insert(text, key, value),
    }
    .ok_or(Obstacle::Values)
}

/// The text without the key at the end of a path.
///
/// # Errors
/// What of the text is written in a way that is not edited.
pub fn remove(text: &str, document: &Node, path: &[&str]) -> Result<String, Obstacle> {
    let (key, _, inner) = descend(document, path).ok_or(Obstacle::Elsewhere)?;
    let written = MappingText::of(text, inner)?;
    let at = written.entries.iter().rposition(|own| own.key == *key).ok_or(Obstacle::Elsewhere)?;
    written.remove(text, at).ok_or(Obstacle::Values)
}

/// The last key of a path, those before it and the mapping at their end.
fn descend<'a, 'p>(document: &'a Node, path: &'p [&'p str]) -> Option<(&'p str, &'p [&'p str], &'a Node)> {
    let (key, parents) = path.split_last()?;
    let inner = parents.iter().try_fold(document, |node, key| node.value.get(key))?;
    Some((key, parents, inner))
}

/// A mapping as it stands in the text.
struct MappingText<'a> {
    entries: &'a [Entry],
    /// Where each key begins.
    keys: Vec<usize>,
    style: Style,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Style {
    /// A key a line, at this many blanks.
    Block { indent: usize },
    /// In brackets.
    Flow,
}

impl<'a> MappingText<'a> {
    fn of(text: &str, mapping: &'a Node) -> Result<Self, Obstacle> {
        let Value::Map(entries) = &mapping.value else { return Err(Obstacle::Keys) };
        let keys: Option<Vec<usize>> = entries.iter().map(|own| key_start(text, own)).collect();
        let keys = keys.ok_or(Obstacle::Keys)?;
        let first = *keys.first().ok_or(Obstacle::Keys)?;
        let style = match significant_before(text, first) {
            Some(b'{' | b',') => Style::Flow,
            _ => Style::Block { indent: indent_of(text, first).ok_or(Obstacle::Keys)? },
        };
        // Keys that are merged from elsewhere stand elsewhere.
        let is_in_order = keys.windows(2).all(|pair| pair.first() < pair.get(1));
        if !is_in_order {
            return Err(Obstacle::Elsewhere);
        }
        if let Style::Block { indent } = style {
            for key in &keys {
                if indent_of(text, *key).ok_or(Obstacle::Keys)? != indent {
                    return Err(Obstacle::Elsewhere);
                }
            }
        }
        Ok(Self { entries, keys, style })
    }

    /// Where the value of an entry may begin: after the colon.
    fn after_colon(&self, text: &str, at: usize) -> Option<usize> {
        let start = *self.keys.get(at)?;
        let end = match text.as_bytes().get(start)? {
            b'"' | b'\'' => quoted(text, start)?,
            _ => start + self.entries.get(at)?.key.len(),
        };
        let colon = text.get(end..)?.find(':')?;
        text.get(end..end + colon)?.trim().is_empty().then_some(end + colon + 1)
    }

    /// The value of an entry if it ends on its line, or with its bracket.
    fn value(&self, text: &str, at: usize) -> Option<Range<usize>> {
        let inside = if self.style == Style::Flow { Enclosure::Flow } else { Enclosure::Block };
        let range = value_range(text, self.after_colon(text, at)?, inside)?;
        // A plain text may go on in the next line; then all of the entry is written anew.
        let is_whole = match self.style {
            Style::Flow => true,
            Style::Block { .. } => {
                let rest = text.get(range.end..self.lines(text, at)?.end)?;
                let (line, others) = rest.split_once('\n').unwrap_or((rest, ""));
                let line = line.trim();
                (line.is_empty() || line.starts_with('#')) && others.trim().is_empty()
            }
        };
        is_whole.then_some(range)
    }

    /// The lines of an entry in block style, without blank lines and comments that belong to what follows.
    fn lines(&self, text: &str, at: usize) -> Option<Range<usize>> {
        let Style::Block { indent } = self.style else { return None };
        let start = line_start(text, *self.keys.get(at)?);
        let limit = self.keys.get(at + 1).map_or(text.len(), |next| line_start(text, *next));
        let mut end = start;
        let mut line_begins = start;
        for line in text.get(start..limit)?.split_inclusive('\n') {
            let blanks = line.len() - line.trim_start_matches(' ').len();
            let rest = line.trim();
            let is_first = line_begins == start;
            let is_item = blanks == indent && (rest == "-" || rest.starts_with("- "));
            // What follows the mapping, or the document.
            if !is_first && !rest.is_empty() && !rest.starts_with('#') && blanks <= indent && !is_item {
                break;
            }
            line_begins += line.len();
            let is_own = is_first || blanks > indent || is_item;
            if !rest.is_empty() && is_own && (is_first || !rest.starts_with('#') || blanks > indent) {
                end = line_begins;
            }
        }
        Some(start..end)
    }

    fn replace(&self, text: &str, at: usize, value: &Json) -> Option<String> {
        let entry = self.entries.get(at)?;
        let old_value = self.value(text, at);
        if let Some(range) = old_value.clone() {
            let old = text.get(range.clone())?;
            let is_empty = matches!(&entry.value.value, Value::Map(own) if own.is_empty())
                || matches!(&entry.value.value, Value::List(own) if own.is_empty());
            let is_flow = old.starts_with(['{', '[']) && !is_empty;
            let is_nested = value.is_object() || value.is_array();
            // A scalar or an empty list in block style that becomes a list is written as lines.
            if self.style == Style::Flow || is_flow || !is_nested {
                let language = self.language(text);
                return Some(replaced(text, range.clone(), &in_line(text, value, range.start, language)));
            }
        }
        let Style::Block { indent } = self.style else { return None };
        let lines = self.lines(text, at)?;
        let written = block(&entry.key, value, indent);
        // A comment behind the key, or its value, stays there.
        let after = match old_value {
            Some(range) => range.end,
            None => self.after_colon(text, at)?,
        };
        let behind = text.get(after..)?.lines().next().unwrap_or_default();
        let comment = behind.trim().starts_with('#').then(|| behind.trim_end());
        let written = match comment {
            Some(comment) => written.replacen('\n', &format!("{comment}\n"), 1),
            None => written,
        };
        Some(replaced(text, lines, &ended(text, &written)))
    }

    fn insert(&self, text: &str, key: &str, value: &Json) -> Option<String> {
        let last = self.keys.len().checked_sub(1)?;
        match self.style {
            Style::Block { indent } => {
                let end = self.lines(text, last)?.end;
                let written = ended(text, &block(key, value, indent));
                let is_open = !text.get(..end)?.ends_with('\n');
                let written = if is_open { ended(text, "\n") + written.trim_end() } else { written };
                Some(replaced(text, end..end, &written))
            }
            Style::Flow => {
                let end = self.value(text, last)?.end;
                let before = *self.keys.get(last)?;
                let blanks_start = text.get(..before)?.trim_end_matches([' ', '\t', '\n', '\r']).len();
                let blanks = text.get(blanks_start..before)?;
                let blanks = if self.keys.len() == 1 && blanks.is_empty() { " " } else { blanks };
                let language = self.language(text);
                let name =
                    if language == Language::Json { Json::from(key).to_string() } else { key.to_owned() };
                let written = in_line(text, value, before, language);
                let colon = if blanks.is_empty() { ":" } else { ": " };
                Some(replaced(text, end..end, &format!(",{blanks}{name}{colon}{written}")))
            }
        }
    }

    fn remove(&self, text: &str, at: usize) -> Option<String> {
        let range = match self.style {
            Style::Block { .. } => self.lines(text, at)?,
            Style::Flow => match (at.checked_sub(1), self.keys.get(at + 1)) {
                (_, Some(next)) => *self.keys.get(at)?..*next,
                (Some(before), None) => self.value(text, before)?.end..self.value(text, at)?.end,
                (None, None) => *self.keys.get(at)?..self.value(text, at)?.end,
            },
        };
        Some(replaced(text, range, ""))
    }

    fn language(&self, text: &str) -> Language {
        if self.style == Style::Flow { Language::of(text) } else { Language::Yaml }
    }
}

/// The value as it stands behind a key; in JSON over lines if the text has lines.
fn in_line(text: &str, value: &Json, at: usize, language: Language) -> String {
    let has_lines = text.trim_end().contains('\n');
    match language {
        Language::Json if has_lines => pretty(value, blanks_of_line(text, at)),
        _ => in_flow(value, language),
    }
}

/// Where a key begins, quotes included, if it stands there.
fn key_start(text: &str, entry: &Entry) -> Option<usize> {
    let start = entry.key_span.start;
    let here = text.get(start..)?;
    if here.starts_with(&entry.key) {
        let quote = start.checked_sub(1).and_then(|at| text.as_bytes().get(at));
        let is_quoted = quote.is_some_and(|byte| matches!(byte, b'"' | b'\''));
        return Some(if is_quoted { start - 1 } else { start });
    }
    let inner = here.get(1..)?;
    (here.starts_with(['"', '\'']) && inner.starts_with(&entry.key)).then_some(start)
}

/// The byte before a place that is neither blank nor comment.
fn significant_before(text: &str, at: usize) -> Option<u8> {
    let line = line_start(text, at);
    let own = text.get(line..at)?.trim_end();
    if let Some(byte) = own.bytes().last() {
        return Some(byte);
    }
    let above = text.get(..line)?.lines().rev().map(|line| line.split(" #").next().unwrap_or(line).trim());
    above.filter(|line| !line.is_empty() && !line.starts_with('#')).find_map(|line| line.bytes().last())
}

/// The blanks before a key, if there is nothing else in its line.
fn indent_of(text: &str, at: usize) -> Option<usize> {
    let before = text.get(line_start(text, at)..at)?;
    before.bytes().all(|byte| byte == b' ').then_some(before.len())
}

fn blanks_of_line(text: &str, at: usize) -> usize {
    let line = text.get(line_start(text, at)..).unwrap_or_default();
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

fn line_start(text: &str, at: usize) -> usize {
    text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1)
}

/// With the ends of lines that the text has.
fn ended(text: &str, written: &str) -> String {
    if text.contains("\r\n") { written.replace('\n', "\r\n") } else { written.to_owned() }
}

fn replaced(text: &str, range: Range<usize>, with: &str) -> String {
    let before = text.get(..range.start).unwrap_or_default();
    let after = text.get(range.end..).unwrap_or_default();
    format!("{before}{with}{after}")
}
