//! Large texts, which are not read as one tree: where their documents begin, and in lists the items.
//!
//! What a cluster lists is one document of many mebibytes, and a tree takes many times its text. So the items of a list
//! are read one by one. Only lists as programs print them are cut: JSON, and YAML with `items:` at the left margin and
//! its items in block style. No line inside an item begins as its `- ` does, since all that belongs to it is indented.

use core::ops::Range;

/// One document of a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outline {
    /// The bytes of the document in the text.
    pub whole: Range<usize>,
    /// The items of its `items`, each with all it takes to be read alone; none if it is no list that can be cut.
    pub items: Vec<Range<usize>>,
}

impl Outline {
    /// The document without its items, every line at its place.
    #[must_use]
    pub fn header(&self, text: &str) -> Option<String> {
        let (first, last) = (self.items.first()?, self.items.last()?);
        let lines = text.get(first.start..last.end)?.bytes().filter(|byte| *byte == b'\n').count();
        let (before, after) = (text.get(..first.start)?, text.get(last.end..self.whole.end)?);
        // What is before the document is left out, but not its lines.
        let above = text.get(..self.whole.start)?.bytes().filter(|byte| *byte == b'\n').count();
        let before = before.get(self.whole.start..)?;
        let mut header = "\n".repeat(above);
        header.push_str(before);
        header.extend(core::iter::repeat_n('\n', lines));
        header.push_str(after);
        Some(header)
    }
}

/// The documents of YAML: what is between lines that begin with `---`.
pub(crate) fn of_yaml(text: &str) -> Vec<Outline> {
    let mut outlines = Vec::new();
    let mut start = 0;
    for (at, line) in lines(text) {
        if at > start && is_marker(line) {
            outlines.push(of_document(text, start..at));
            start = at;
        }
    }
    outlines.push(of_document(text, start..text.len()));
    outlines
}

fn is_marker(line: &str) -> bool {
    line.strip_prefix("---").is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r']))
}

fn of_document(text: &str, whole: Range<usize>) -> Outline {
    let mut items: Vec<Range<usize>> = Vec::new();
    let mut below = LineOwner::Other;
    for (at, line) in lines(text.get(whole.clone()).unwrap_or_default()) {
        let at = whole.start + at;
        let indented = line.len() - line.trim_start_matches(' ').len();
        let rest = line.get(indented..).unwrap_or_default().trim_end();
        let is_item = rest == "-" || rest.starts_with("- ");
        match below {
            _ if rest.is_empty() || rest.starts_with('#') => {}
            LineOwner::Other if line.trim_end() == "items:" && items.is_empty() => {
                below = LineOwner::Items(None);
            }
            LineOwner::Other => {}
            LineOwner::Items(None) if is_item => {
                items.push(at..whole.end);
                below = LineOwner::Items(Some(indented));
            }
            LineOwner::Items(Some(margin)) if is_item && indented == margin => {
                if let Some(last) = items.last_mut() {
                    last.end = at;
                }
                items.push(at..whole.end);
            }
            LineOwner::Items(Some(margin)) if indented > margin => {}
            LineOwner::Items(_) => {
                if let Some(last) = items.last_mut() {
                    last.end = at;
                }
                below = LineOwner::Other;
            }
        }
    }
    Outline { whole, items }
}

/// What lines belong to.
#[derive(Clone, Copy)]
enum LineOwner {
    Other,
    /// `items:`, and how far its items are indented, once there is one.
    Items(Option<usize>),
}

/// Lines without their end, and where they begin.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut start = 0;
    text.split_inclusive('\n').map(move |line| {
        let at = start;
        start += line.len();
        (at, line.trim_end_matches(['\n', '\r']))
    })
}

/// A document of JSON, which is known to be such.
pub(crate) fn of_json(text: &str, whole: Range<usize>) -> Outline {
    let bytes = text.as_bytes().get(whole.clone()).unwrap_or_default();
    let (mut items, mut item) = (Vec::new(), None);
    let (mut depth, mut is_list) = (0_usize, false);
    // A second list of that name stays where it is, and is refused as one.
    let mut was_list = false;
    let mut string = None;
    let (mut last, mut key) = (&bytes[..0], &bytes[..0]);
    let mut is_escaped = false;
    for (at, byte) in bytes.iter().enumerate() {
        if let Some(begin) = string {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = true,
                b'"' => {
                    last = bytes.get(begin..at).unwrap_or_default();
                    string = None;
                }
                _ => {}
            }
            continue;
        }
        let is_end = is_list && depth == 2 && matches!(byte, b',' | b']');
        if is_end && let Some(begin) = item.take() {
            items.push(whole.start + begin..whole.start + at);
        }
        if is_list && depth == 2 && item.is_none() && !is_end && !byte.is_ascii_whitespace() {
            item = Some(at);
        }
        match byte {
            b'"' => string = Some(at + 1),
            b':' if depth == 1 => key = last,
            b'[' | b'{' => {
                if depth == 1 && *byte == b'[' && key == b"items" {
                    is_list = !was_list;
                    was_list = true;
                }
                depth += 1;
            }
            b']' | b'}' => {
                depth = depth.saturating_sub(1);
                is_list &= depth > 1;
            }
            _ => {}
        }
    }
    Outline { whole, items }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str, outline: &Outline) -> Vec<String> {
        outline.items.iter().map(|item| text[item.clone()].to_owned()).collect()
    }

    #[test]
    fn lists_are_cut_into_items() {
        for (text, items, header) in [
            (
                "a: 1\nitems:\n- x: 1\n  y: 2\n- z\nkind: L\n",
                vec!["- x: 1\n  y: 2\n", "- z\n"],
                "a: 1\nitems:\n\n\n\nkind: L\n",
            ),
            (
                "items:\n  # why\n  - x: |\n      - no\n\n  -\n    y: 1\n",
                vec!["  - x: |\n      - no\n\n", "  -\n    y: 1\n"],
                "items:\n  # why\n\n\n\n\n\n",
            ),
            ("items: [1, 2]\nkind: L\n", vec![], ""),
            ("spec:\n  items:\n  - x\n", vec![], ""),
        ] {
            let outlines = of_yaml(text);
            assert_eq!(outlines.len(), 1, "{text:?}");
            assert_eq!(cut(text, &outlines[0]), items, "{text:?}");
            assert_eq!(outlines[0].header(text).unwrap_or_default(), header, "{text:?}");
        }
        for (text, items, header) in [
            (
                "{\"items\": [{\"a\": \"]\\\"}\"}, [1,2]\n , 3], \"kind\": \"L\"}",
                vec!["{\"a\": \"]\\\"}\"}", "[1,2]\n ", "3"],
                "{\"items\": [\n], \"kind\": \"L\"}",
            ),
            ("{\"x\": {\"items\": [1]}, \"items\": []}", vec![], ""),
            ("[1, 2]", vec![], ""),
            ("{\"items\": [1], \"items\": [2]}", vec!["1"], "{\"items\": [], \"items\": [2]}"),
        ] {
            let outline = of_json(text, 0..text.len());
            assert_eq!(cut(text, &outline), items, "{text}");
            assert_eq!(outline.header(text).unwrap_or_default(), header, "{text}");
        }
    }

    #[test]
    fn documents_begin_at_markers() {
        let text = "a: 1\n---\nitems:\n- b\n--- # c\nx: |\n  ---\n";
        let outlines = of_yaml(text);
        let whole: Vec<&str> = outlines.iter().map(|outline| &text[outline.whole.clone()]).collect();
        assert_eq!(whole, ["a: 1\n", "---\nitems:\n- b\n", "--- # c\nx: |\n  ---\n"]);
        assert_eq!(outlines[1].header(text).unwrap(), "\n---\nitems:\n\n");
    }
}
