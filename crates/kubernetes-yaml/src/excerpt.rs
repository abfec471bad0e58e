//! The lines of a text that an error shows.

use core::ops::Range;

use crate::position::{Position, before, boundary};

/// What of a text is shown under an error: the line, and where it is short enough the two before it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Excerpt {
    /// Whole lines, or of a long line a part of 160 bytes at most.
    pub text: String,
    /// Number of the first line in `text`.
    pub first_line: usize,
    /// The bytes of `text` that are pointed at: never empty unless `text` is.
    pub marked: Range<usize>,
}

/// Lines above the faulty one.
const LINES_BEFORE: usize = 2;
/// Of a longer line only a part is shown.
const MAX_LINE: usize = 160;
/// How much of such a line is shown before the fault.
const SHOWN_BEFORE: usize = 40;

impl Excerpt {
    /// The lines around a part of a text.
    #[must_use]
    pub fn around(text: &str, span: &Range<usize>) -> Self {
        let head = before(text, span.start);
        let offset = head.len();
        let line = head.rfind('\n').map_or(0, |end| end + 1);
        let tail = text.get(offset..).unwrap_or_default();
        let line_end = offset + tail.find(['\n', '\r']).unwrap_or(tail.len());
        let number = head.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let (start, end, first_line) = if line_end - line > MAX_LINE {
            let start = boundary(text, offset.saturating_sub(SHOWN_BEFORE).max(line));
            (start, boundary(text, (start + MAX_LINE).min(line_end)), number)
        } else {
            let start = start_of_lines_before(text, line);
            let skipped = text.get(start..line).unwrap_or_default().matches('\n').count();
            (start, line_end, number - skipped)
        };
        let last = boundary(text, span.end.min(end));
        let marked_end = if last > offset { last } else { next_boundary(text, offset).min(end) };
        let shown = text.get(start..end).unwrap_or_default();
        // Where a line ends too early there is no character to point at, so one is added.
        let at_end = marked_end <= offset;
        let text = if at_end { format!("{shown} ") } else { shown.to_owned() };
        let marked = offset - start..if at_end { text.len() } else { marked_end - start };
        Self { text, first_line, marked }
    }

    /// Whether the mark has this column in the text that is shown too.
    #[must_use]
    pub fn shows_column(&self, column: usize) -> bool {
        Position::of(&self.text, self.marked.start).column == column
    }
}

fn start_of_lines_before(text: &str, line: usize) -> usize {
    let mut start = line;
    for _ in 0..LINES_BEFORE {
        let Some(end) = start.checked_sub(1) else { break };
        let above = before(text, end).rfind('\n').map_or(0, |end| end + 1);
        if end - above > MAX_LINE {
            break;
        }
        start = above;
    }
    start
}

fn next_boundary(text: &str, offset: usize) -> usize {
    text.get(offset..).and_then(|rest| rest.chars().next()).map_or(offset, |next| offset + next.len_utf8())
}
