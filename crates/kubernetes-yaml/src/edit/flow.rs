//! Where values end in a text: what the parser knows only of scalars.

use core::ops::Range;

/// The value that begins at or after `from`, on the same line or within brackets; `None` where it is in block style,
/// has an anchor, a tag or is a block scalar. `inside` says whether commas and brackets end it.
pub(super) fn value(text: &str, from: usize, inside: Enclosure) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let mut start = from;
    while bytes.get(start).is_some_and(|byte| match inside {
        Enclosure::Block => matches!(byte, b' ' | b'\t'),
        Enclosure::Flow => byte.is_ascii_whitespace(),
    }) {
        start += 1;
    }
    let end = match bytes.get(start)? {
        b'{' | b'[' => bracket(text, start)?,
        b'"' | b'\'' => quoted(text, start)?,
        b'\n' | b'\r' | b'#' | b'&' | b'!' | b'|' | b'>' => return None,
        _ => plain(text, start, inside),
    };
    Some(start..end)
}

/// What surrounds a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Enclosure {
    /// Lines and their indentation.
    Block,
    /// Brackets.
    Flow,
}

/// The end of a quoted text.
pub(super) fn quoted(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let quote = *bytes.get(start)?;
    let mut at = start + 1;
    loop {
        match *bytes.get(at)? {
            b'\\' if quote == b'"' => at += 2,
            byte if byte == quote && quote == b'\'' && bytes.get(at + 1) == Some(&quote) => at += 2,
            byte if byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
}

/// The end of a mapping or list in brackets.
fn bracket(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    let mut at = start;
    loop {
        match *bytes.get(at)? {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            // A quote begins a text only where a value may begin.
            b'"' | b'\'' if begins_value(bytes, at) => {
                at = quoted(text, at)?;
                continue;
            }
            b'#' if at > 0 && bytes.get(at - 1).is_some_and(u8::is_ascii_whitespace) => {
                at += text.get(at..)?.find('\n')?;
            }
            _ => {}
        }
        at += 1;
    }
}

fn begins_value(bytes: &[u8], at: usize) -> bool {
    let before = bytes.get(..at).unwrap_or_default().iter().rev().find(|byte| !byte.is_ascii_whitespace());
    before.is_none_or(|byte| matches!(byte, b'{' | b'[' | b',' | b':'))
}

/// The end of a plain scalar of one line.
fn plain(text: &str, start: usize, inside: Enclosure) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    let line = rest.split(['\n', '\r']).next().unwrap_or_default();
    let line = match inside {
        Enclosure::Block => line,
        Enclosure::Flow => line.split([',', '}', ']']).next().unwrap_or_default(),
    };
    let line =
        line.find(" #").or_else(|| line.find("\t#")).map_or(line, |end| line.get(..end).unwrap_or_default());
    start + line.trim_end().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_end_where_a_reader_ends_them() {
        for (text, inside, found) in [
            (" static # why", Enclosure::Block, Some("static")),
            (" \"a # b\" # why", Enclosure::Block, Some("\"a # b\"")),
            (" 'it''s'", Enclosure::Block, Some("'it''s'")),
            (" {a: \"}\", b: [1, 2]} # }", Enclosure::Block, Some("{a: \"}\", b: [1, 2]}")),
            ("\n  a: 1", Enclosure::Block, None),
            (" &anchor x", Enclosure::Block, None),
            (" |\n  x", Enclosure::Block, None),
            ("\n  [1, # ]\n 2], x", Enclosure::Flow, Some("[1, # ]\n 2]")),
            (" a b, c", Enclosure::Flow, Some("a b")),
            (" {a: it's}", Enclosure::Flow, Some("{a: it's}")),
            (" \"never closed", Enclosure::Flow, None),
        ] {
            assert_eq!(value(text, 0, inside).map(|range| &text[range]), found, "{text}");
        }
    }
}
