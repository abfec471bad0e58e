//! A text with a name, and places in it.

use core::fmt;
use core::ops::Range;

use crate::{ManifestError, Problem};

/// The largest text that is read: 1 MiB, more than an API server stores of one object.
pub const MAX_BYTES: usize = 1 << 20;

/// The largest text with objects of a cluster that is read: 64 MiB, the pods of some ten thousand lines of `kubectl get
/// pods`. No object in it is larger than [`MAX_BYTES`].
pub const MAX_LIST_BYTES: usize = 64 << 20;

/// A text to read, and what to call it in errors.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The file as the user named it, or a word such as `stdin`.
    pub name: &'a str,
    /// The whole text, in UTF-8.
    pub text: &'a str,
}

impl<'a> Source<'a> {
    /// The text of a file that was read as bytes.
    ///
    /// # Errors
    /// [`Problem::TooLarge`] and [`Problem::NotUtf8`].
    pub fn from_bytes(name: &'a str, bytes: &'a [u8]) -> Result<Self, ManifestError> {
        if bytes.len() > MAX_BYTES {
            return Err(Self::too_large(name, Problem::TooLarge { bytes: bytes.len() }));
        }
        Self::from_utf8(name, bytes)
    }

    /// The same for [`read_manifests`](crate::read_manifests), which takes as much as [`MAX_LIST_BYTES`].
    ///
    /// # Errors
    /// [`Problem::ListTooLarge`] and [`Problem::NotUtf8`].
    pub fn from_list(name: &'a str, bytes: &'a [u8]) -> Result<Self, ManifestError> {
        if bytes.len() > MAX_LIST_BYTES {
            return Err(Self::too_large(name, Problem::ListTooLarge { bytes: bytes.len() }));
        }
        Self::from_utf8(name, bytes)
    }

    fn from_utf8(name: &'a str, bytes: &'a [u8]) -> Result<Self, ManifestError> {
        match core::str::from_utf8(bytes) {
            Ok(text) => Ok(Self { name, text }),
            Err(error) => {
                let end = error.valid_up_to();
                let valid = bytes.get(..end).and_then(|valid| core::str::from_utf8(valid).ok());
                let before = Self { name, text: valid.unwrap_or_default() };
                Err(ManifestError::at(&before, "", &(end..end), Problem::NotUtf8))
            }
        }
    }

    /// Refuses a text past [`MAX_BYTES`].
    pub(crate) fn check_size(&self) -> Result<(), ManifestError> {
        let bytes = self.text.len();
        if bytes > MAX_BYTES { Err(Self::too_large(self.name, Problem::TooLarge { bytes })) } else { Ok(()) }
    }

    /// Refuses a text past [`MAX_LIST_BYTES`].
    pub(crate) fn check_list_size(&self) -> Result<(), ManifestError> {
        let bytes = self.text.len();
        if bytes > MAX_LIST_BYTES {
            return Err(Self::too_large(self.name, Problem::ListTooLarge { bytes }));
        }
        Ok(())
    }

    fn too_large(name: &str, problem: Problem) -> ManifestError {
        ManifestError::at(&Source { name, text: "" }, "", &(0..0), problem)
    }
}

/// Where something is: both count from 1, columns in characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Position {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl Position {
    /// Where every text begins.
    pub(crate) const START: Self = Self { line: 1, column: 1 };

    /// The position in a text of which this one's begins at `start`.
    pub(crate) const fn after(self, start: Self) -> Self {
        let column = if self.line == 1 { self.column + start.column - 1 } else { self.column };
        Self { line: self.line + start.line - 1, column }
    }

    /// The position of a byte; past the end, that of the end.
    pub(crate) fn of(text: &str, offset: usize) -> Self {
        let before = before(text, offset);
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        let column = before.get(line_start..).unwrap_or_default().chars().count() + 1;
        Self { line: before.bytes().filter(|byte| *byte == b'\n').count() + 1, column }
    }
}

/// Where something is, for a person. Displays as `pods.yaml:3:5`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct TextPosition {
    pub(crate) file: String,
    pub(crate) position: Position,
}

impl fmt::Display for TextPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { line, column } = self.position;
        write!(f, "{}:{line}:{column}", self.file)
    }
}

/// What of a text is shown under an error: the line, and where it is short enough the two before it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Excerpt {
    pub(crate) text: String,
    /// Number of the first line in `text`.
    pub(crate) first_line: usize,
    /// The bytes of `text` that are pointed at: never empty unless `text` is.
    pub(crate) marked: Range<usize>,
}

/// Lines above the faulty one.
const LINES_BEFORE: usize = 2;
/// Of a longer line only a part is shown.
const MAX_LINE: usize = 160;
/// How much of such a line is shown before the fault.
const SHOWN_BEFORE: usize = 40;

impl Excerpt {
    pub(crate) fn around(text: &str, span: &Range<usize>) -> Self {
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
    pub(crate) fn shows_column(&self, column: usize) -> bool {
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

/// The text before a byte; an offset inside a character counts as its start.
fn before(text: &str, offset: usize) -> &str {
    text.get(..boundary(text, offset)).unwrap_or_default()
}

fn boundary(text: &str, offset: usize) -> usize {
    text.floor_char_boundary(offset)
}

fn next_boundary(text: &str, offset: usize) -> usize {
    text.get(offset..).and_then(|rest| rest.chars().next()).map_or(offset, |next| offset + next.len_utf8())
}
