//! What a text is written on: which marks it shows, and how wide it is.

use alloc::string::String;
use alloc::vec::Vec;

use unicode_width::UnicodeWidthStr;

use crate::breaks::parts;
use crate::columns::fitted;
use crate::glyphs::Glyphs;
use crate::quotation;

/// A terminal, a file or a pipe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Page {
    /// The marks that it can show.
    pub glyphs: Glyphs,
    /// How many letters a line has; `None`: as many as it takes, as in a file.
    pub width: Option<usize>,
}

impl Page {
    /// A page whose lines are as long as it takes.
    #[must_use]
    pub const fn endless(glyphs: Glyphs) -> Self {
        Self { glyphs, width: None }
    }

    /// The rows as left-aligned columns, as [`columns`](crate::columns) writes them. Where they do not fit the page, long
    /// cells are written in several lines, which end after a comma or before a blank; and if that is not enough, the later
    /// columns below the earlier ones, each time beside the first one.
    pub fn columns(self, rows: impl IntoIterator<Item = Vec<String>>, indent: &str) -> String {
        self.table(rows, 1, indent)
    }

    /// The same, of rows whose first `keys` cells say what the row is about.
    pub fn table(self, rows: impl IntoIterator<Item = Vec<String>>, keys: usize, indent: &str) -> String {
        fitted(rows.into_iter().collect(), keys, indent, self.width)
    }

    /// A text under a head: `head` is as wide as `column`, an empty one goes on with the one above. What does not fit
    /// the page goes on below the text.
    #[must_use]
    pub fn under(self, head: &str, column: usize, text: &str) -> String {
        let head = alloc::format!("{head:column$}");
        self.wrapped(&alloc::format!("{head}{text}"), head.width())
    }

    /// One line, or several where it does not fit the page, of which the later ones begin with so many blanks. Ends in a
    /// newline. A word that is longer than the page stays whole.
    #[must_use]
    pub fn wrapped(self, line: &str, indent: usize) -> String {
        let width = self.width.map_or(usize::MAX, |width| width.max(indent + 10));
        let mut text = String::new();
        for (at, part) in parts(line, width, width.saturating_sub(indent)).iter().enumerate() {
            if at > 0 {
                text.extend(core::iter::repeat_n(' ', indent));
            }
            text.push_str(part);
            text.push('\n');
        }
        text
    }

    /// Each line of a text as [`wrapped`](Self::wrapped) has it; what goes on begins two blanks further in than its line.
    #[must_use]
    pub fn filled(self, text: &str) -> String {
        let indent = |line: &str| line.width() - line.trim_start().width() + 2;
        text.lines().map(|line| self.wrapped(line, indent(line))).collect()
    }

    /// A text that quotes lines of a file, with marks and labels below them: the sentences and labels fit the page, what is quoted
    /// stays as it is. Each line ends in a newline.
    #[must_use]
    pub fn quoted(self, text: &str) -> String {
        quotation::fitted(text, self.width.unwrap_or(usize::MAX))
    }

    /// A line in parts that fit the page beside so much else; at least one.
    #[must_use]
    pub fn parts(self, line: &str, beside: usize) -> Vec<String> {
        let width = self.width.map_or(usize::MAX, |width| width.saturating_sub(beside).max(10));
        parts(line, width, width)
    }

    /// See [`Glyphs::yes`].
    #[must_use]
    pub const fn yes(self) -> &'static str {
        self.glyphs.yes()
    }

    /// See [`Glyphs::no`].
    #[must_use]
    pub const fn no(self) -> &'static str {
        self.glyphs.no()
    }

    /// See [`Glyphs::arrow`].
    #[must_use]
    pub const fn arrow(self) -> &'static str {
        self.glyphs.arrow()
    }

    /// See [`Glyphs::dot`].
    #[must_use]
    pub const fn dot(self) -> &'static str {
        self.glyphs.dot()
    }

    /// See [`Glyphs::times`].
    #[must_use]
    pub const fn times(self) -> &'static str {
        self.glyphs.times()
    }

    /// See [`Glyphs::plus_minus`].
    #[must_use]
    pub const fn plus_minus(self) -> &'static str {
        self.glyphs.plus_minus()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NARROW: Page = Page { glyphs: Glyphs::Ascii, width: Some(20) };

    #[test]
    fn lines_break_before_words_and_after_commas() {
        for (line, indent, expected) in [
            ("", 4, "\n"),
            ("a short line", 4, "a short line\n"),
            ("  why  two words, and then three", 7, "  why  two words,\n       and then\n       three\n"),
            ("CPUs 0,2,4,6,8,10,12,14,16", 5, "CPUs 0,2,4,6,8,10,\n     12,14,16\n"),
            ("the cells are on NUMA 0 now", 2, "the cells are on\n  NUMA 0 now\n"),
            ("as configured: - (1)", 2, "as configured: - (1)\n"),
            ("is as configured: - (1)", 2, "is as configured:\n  - (1)\n"),
            ("averylongwordthatdoesnotbreak at all", 2, "averylongwordthatdoesnotbreak\n  at all\n"),
        ] {
            assert_eq!(NARROW.wrapped(line, indent), expected, "{line:?}");
        }
        let line = "as long as it takes, and longer than that";
        assert_eq!(Page::endless(Glyphs::Ascii).wrapped(line, 2), alloc::format!("{line}\n"));
        let text = "  a text of several\nlines, of which one is wide\n";
        assert_eq!(NARROW.filled(text), "  a text of several\nlines, of which one\n  is wide\n");
        assert_eq!(NARROW.under("  why", 7, "cpu is short"), "  why  cpu is short\n");
    }
}
