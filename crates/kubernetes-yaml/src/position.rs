//! Places in a text, by line and column.

use core::fmt;

/// Where something is: both count from 1, columns in characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Position {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
}

impl Position {
    /// Where every text begins.
    pub const START: Self = Self { line: 1, column: 1 };

    /// The position in a text of which this one's begins at `start`.
    #[must_use]
    pub const fn after(self, start: Self) -> Self {
        let column = if self.line == 1 { self.column + start.column - 1 } else { self.column };
        Self { line: self.line + start.line - 1, column }
    }

    /// The position of a byte; past the end, that of the end.
    #[must_use]
    pub fn of(text: &str, offset: usize) -> Self {
        let before = before(text, offset);
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        let column = before.get(line_start..).unwrap_or_default().chars().count() + 1;
        Self { line: before.bytes().filter(|byte| *byte == b'\n').count() + 1, column }
    }
}

/// Where something is, for a person. Displays as `pods.yaml:3:5`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextPosition {
    /// The name of the text.
    pub file: String,
    /// Where in it.
    pub position: Position,
}

impl fmt::Display for TextPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { line, column } = self.position;
        write!(f, "{}:{line}:{column}", self.file)
    }
}

/// The text before a byte; an offset inside a character counts as its start.
pub(crate) fn before(text: &str, offset: usize) -> &str {
    text.get(..boundary(text, offset)).unwrap_or_default()
}

pub(crate) fn boundary(text: &str, offset: usize) -> usize {
    text.floor_char_boundary(offset)
}
