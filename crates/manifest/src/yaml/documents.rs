//! The documents of a text, as `YAMLOrJSONDecoder` of apimachinery hands them to kubectl one by one.
//!
//! A text that begins with `{` is JSON, document after document; if the first or second is none, what is left is YAML.
//! YAML is cut before lines that begin with `---`, and of each part only the first document is read.

use core::ops::Range;
use std::borrow::Cow;

use super::compose::{ComposeError, Composed, compose};
use super::json::{JsonDocument, JsonError, read_json};
use crate::node::{Node, Value};
use crate::{ManifestError, Problem, Source};

/// So many things are named that kubectl takes in silence: each takes as long to place as its text is long.
const MAX_UNNOTICED: usize = 20;

/// The documents of a text that are not empty, and what kubectl takes in silence.
#[derive(Default)]
pub(crate) struct Documents {
    pub(crate) nodes: Vec<Node>,
    /// Repeated keys, and text behind a document, which is not read.
    pub(crate) unnoticed: Vec<ManifestError>,
}

/// Reads a text as kubectl does.
pub(super) fn read_stream(source: &Source<'_>) -> Result<Documents, ManifestError> {
    let mut documents = Documents::default();
    let text = source.text;
    let mut start = 0;
    if text.trim_start().starts_with('[')
        && let Ok(read) = read_single_json(source)
    {
        return Ok(read);
    }
    if text.trim_start().starts_with('{') {
        let mut count = 0;
        loop {
            match read_json(text, start) {
                Ok(None) => return Ok(documents),
                Ok(Some(document)) => {
                    start = document.end;
                    count += 1;
                    documents.add_json(source, document);
                }
                Err(error) if count > 1 => return Err(json_refused(source, error)),
                Err(error) => {
                    let rest = text.get(start..).unwrap_or_default();
                    let blanks = rest.find(|c: char| c == '\n' || !c.is_whitespace()).unwrap_or(rest.len());
                    let rest = rest.get(blanks..).unwrap_or_default();
                    start += blanks + usize::from(rest.starts_with('\n'));
                    // kubectl looks at four characters to find out what is next.
                    let read = if rest.len() < 4 { None } else { Some(documents.read_yaml(source, start)) };
                    return match read {
                        Some(Ok(())) => Ok(documents),
                        // Behind JSON stands YAML.
                        Some(Err(yaml)) if count > 0 => Err(yaml),
                        _ => Err(json_refused(source, error)),
                    };
                }
            }
        }
    }
    documents.read_yaml(source, start)?;
    Ok(documents)
}

/// Reads a text as the kubelet does: JSON if it begins with `{`, or the first document of YAML.
pub(super) fn read_single(source: &Source<'_>) -> Result<Documents, ManifestError> {
    let mut documents = Documents::default();
    let whole = 0..source.text.len();
    if !source.text.trim_start().starts_with('{') {
        let mut composed = compose(source.text, whole);
        if let Ok(Composed { repeated, over_merged, .. }) = &mut composed {
            repeated.append(over_merged);
            repeated.sort_by_key(|(_, span)| span.start);
        }
        documents.add(source, composed, "behind the first document, and the kubelet reads no other")?;
        return Ok(documents);
    }
    read_single_json(source)
}

fn read_single_json(source: &Source<'_>) -> Result<Documents, ManifestError> {
    let mut documents = Documents::default();
    let Some(document) = read_json(source.text, 0).map_err(|error| json_refused(source, error))? else {
        return Ok(documents);
    };
    let rest = source.text.get(document.end..).unwrap_or_default();
    // JSON has no other blanks.
    let blanks = rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
    if blanks < rest.len() {
        let at = document.end + blanks;
        let problem = Problem::Syntax("invalid character after top-level value".to_owned());
        return Err(ManifestError::at(source, "", &(at..at), problem));
    }
    documents.add_json(source, document);
    Ok(documents)
}

fn json_refused(source: &Source<'_>, JsonError { at, problem }: JsonError) -> ManifestError {
    ManifestError::at(source, "", &(at..at), problem)
}

impl Documents {
    fn repeated(&mut self, source: &Source<'_>, keys: Vec<(String, Range<usize>)>) {
        let error = |(key, span)| ManifestError::at(source, "", &span, Problem::DuplicateKey(key));
        let left = MAX_UNNOTICED.saturating_sub(self.unnoticed.len());
        self.unnoticed.extend(keys.into_iter().take(left).map(error));
    }

    fn add_json(&mut self, source: &Source<'_>, JsonDocument { node, repeated, .. }: JsonDocument) {
        self.repeated(source, repeated);
        self.nodes.extend(Some(node).filter(|node| node.value != Value::Null));
    }

    /// The YAML from a byte on.
    fn read_yaml(&mut self, source: &Source<'_>, start: usize) -> Result<(), ManifestError> {
        for part in parts(source, start)? {
            self.read_part(source, part)?;
        }
        Ok(())
    }

    /// The first document of a part of the text.
    pub(super) fn read_part(&mut self, source: &Source<'_>, part: Range<usize>) -> Result<(), ManifestError> {
        let mut text = Cow::Borrowed(source.text.get(part.clone()).unwrap_or_default());
        // kubectl reads line by line, takes LF or CRLF off each one, and gives it an LF.
        if text.contains("\r\r\n") {
            text = Cow::Owned(text.replace("\r\r\n", "\r\n"));
        }
        if !text.ends_with('\n') {
            text.to_mut().push('\n');
        }
        let composed = compose(&text, part);
        self.add(source, composed, "behind the end of a document, where kubectl reads nothing")
    }

    /// A document of YAML.
    fn add(
        &mut self,
        source: &Source<'_>,
        composed: Result<Composed, ComposeError>,
        where_rest_is: &str,
    ) -> Result<(), ManifestError> {
        let Composed { node, repeated, rest, .. } =
            composed.map_err(|error| ManifestError::at(source, "", &error.span, error.problem))?;
        self.repeated(source, repeated);
        if let Some(rest) = rest.filter(|_| self.unnoticed.len() < MAX_UNNOTICED) {
            let problem = Problem::Useless {
                what: format!("this is {where_rest_is}"),
                expected: "one document, or `---` between several",
            };
            self.unnoticed.push(ManifestError::at(source, "", &(rest..rest), problem));
        }
        self.nodes.extend(node.filter(|node| node.value != Value::Null));
        Ok(())
    }
}

/// The text between lines that begin with `---`; the first such line of a part stays with it if nothing is before.
fn parts(source: &Source<'_>, start: usize) -> Result<Vec<Range<usize>>, ManifestError> {
    let mut parts = Vec::new();
    let (mut begin, mut at) = (start, start);
    for line in source.text.get(start..).unwrap_or_default().split_inclusive('\n') {
        let end = at + line.len();
        if let Some(rest) = line.strip_prefix("---") {
            let rest = rest.trim();
            if !rest.is_empty() && !rest.starts_with('#') {
                let problem = Problem::Syntax(format!("invalid Yaml document separator: {rest}"));
                return Err(ManifestError::at(source, "", &(at..at + 3), problem));
            }
            if at > begin {
                parts.push(begin..at);
                begin = end;
            }
        }
        at = end;
    }
    if at > begin {
        parts.push(begin..at);
    }
    Ok(parts)
}
