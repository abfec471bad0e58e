//! The documents of a text, as `YAMLOrJSONDecoder` of apimachinery hands them to kubectl one by one.
//!
//! A text that begins with `{` is JSON, document after document; if the first or second is none, what is left is YAML.
//! YAML is cut before lines that begin with `---`, and of each part only the first document is read.

use core::ops::Range;
use std::borrow::Cow;

use crate::compose::{Composed, compose};
use crate::json::{JsonDocument, read_json};
use crate::{Node, TextError, TextProblem, Value};

/// So many things are named that kubectl takes in silence: each takes as long to place as its text is long.
const MAX_UNNOTICED: usize = 20;

/// The documents of a text that are not empty, and what kubectl takes in silence.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Documents {
    /// A tree for each document, in their order.
    pub nodes: Vec<Node>,
    /// Repeated keys, and text behind a document, which is not read; the first twenty.
    pub unnoticed: Vec<TextError>,
}

/// Reads a text as kubectl does: document after document. How large it is, is left to the caller.
///
/// # Errors
/// It is neither YAML nor JSON, nested deeper than [`MAX_DEPTH`](crate::MAX_DEPTH), or of aliases that copy too much.
pub fn read_stream(text: &str) -> Result<Documents, TextError> {
    let mut documents = Documents::default();
    let mut start = 0;
    if text.trim_start().starts_with('[')
        && let Ok(read) = read_single_json(text)
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
                    documents.add_json(document);
                }
                Err(error) if count > 1 => return Err(error),
                Err(error) => {
                    let rest = text.get(start..).unwrap_or_default();
                    let blanks = rest.find(|c: char| c == '\n' || !c.is_whitespace()).unwrap_or(rest.len());
                    let rest = rest.get(blanks..).unwrap_or_default();
                    start += blanks + usize::from(rest.starts_with('\n'));
                    // kubectl looks at four characters to find out what is next.
                    let read = if rest.len() < 4 { None } else { Some(documents.read_yaml(text, start)) };
                    return match read {
                        Some(Ok(())) => Ok(documents),
                        // Behind JSON stands YAML.
                        Some(Err(yaml)) if count > 0 => Err(yaml),
                        _ => Err(error),
                    };
                }
            }
        }
    }
    documents.read_yaml(text, start)?;
    Ok(documents)
}

/// Reads a text as the kubelet does: JSON if it begins with `{`, or the first document of YAML.
///
/// # Errors
/// Those of [`read_stream`], and text behind JSON.
pub fn read_single(text: &str) -> Result<Documents, TextError> {
    let mut documents = Documents::default();
    let whole = 0..text.len();
    if !text.trim_start().starts_with('{') {
        let mut composed = compose(text, whole);
        if let Ok(Composed { repeated, over_merged, .. }) = &mut composed {
            repeated.append(over_merged);
            repeated.sort_by_key(|(_, span)| span.start);
        }
        documents.add(composed, "this is behind the first document, and the kubelet reads no other")?;
        return Ok(documents);
    }
    read_single_json(text)
}

fn read_single_json(text: &str) -> Result<Documents, TextError> {
    let mut documents = Documents::default();
    let Some(document) = read_json(text, 0)? else {
        return Ok(documents);
    };
    let rest = text.get(document.end..).unwrap_or_default();
    // JSON has no other blanks.
    let blanks = rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
    if blanks < rest.len() {
        let at = document.end + blanks;
        let problem = TextProblem::Syntax("invalid character after top-level value".to_owned());
        return Err(TextError::at(at, problem));
    }
    documents.add_json(document);
    Ok(documents)
}

impl Documents {
    fn repeated(&mut self, keys: Vec<(String, Range<usize>)>) {
        let error = |(key, span)| TextError { span, problem: TextProblem::DuplicateKey(key) };
        let left = MAX_UNNOTICED.saturating_sub(self.unnoticed.len());
        self.unnoticed.extend(keys.into_iter().take(left).map(error));
    }

    fn add_json(&mut self, JsonDocument { node, repeated, .. }: JsonDocument) {
        self.repeated(repeated);
        self.nodes.extend(Some(node).filter(|node| node.value != Value::Null));
    }

    /// The YAML from a byte on.
    fn read_yaml(&mut self, text: &str, start: usize) -> Result<(), TextError> {
        for part in parts(text, start)? {
            self.read_part(text, part)?;
        }
        Ok(())
    }

    /// The first document of a part of the text.
    pub(crate) fn read_part(&mut self, whole: &str, part: Range<usize>) -> Result<(), TextError> {
        let mut text = Cow::Borrowed(whole.get(part.clone()).unwrap_or_default());
        // kubectl reads line by line, takes LF or CRLF off each one, and gives it an LF.
        if text.contains("\r\r\n") {
            text = Cow::Owned(text.replace("\r\r\n", "\r\n"));
        }
        if !text.ends_with('\n') {
            text.to_mut().push('\n');
        }
        let composed = compose(&text, part);
        self.add(composed, "this is behind the end of a document, where kubectl reads nothing")
    }

    /// A document of YAML.
    fn add(
        &mut self,
        composed: Result<Composed, TextError>,
        what_rest_is: &'static str,
    ) -> Result<(), TextError> {
        let Composed { node, repeated, rest, .. } = composed?;
        self.repeated(repeated);
        if let Some(rest) = rest.filter(|_| self.unnoticed.len() < MAX_UNNOTICED) {
            self.unnoticed.push(TextError::at(rest, TextProblem::Unread(what_rest_is)));
        }
        self.nodes.extend(node.filter(|node| node.value != Value::Null));
        Ok(())
    }
}

/// The text between lines that begin with `---`; the first such line of a part stays with it if nothing is before.
fn parts(text: &str, start: usize) -> Result<Vec<Range<usize>>, TextError> {
    let mut parts = Vec::new();
    let (mut begin, mut at) = (start, start);
    for line in text.get(start..).unwrap_or_default().split_inclusive('\n') {
        let end = at + line.len();
        if let Some(rest) = line.strip_prefix("---") {
            let rest = rest.trim();
            if !rest.is_empty() && !rest.starts_with('#') {
                let problem = TextProblem::Syntax(format!("invalid Yaml document separator: {rest}"));
                return Err(TextError { span: at..at + 3, problem });
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
