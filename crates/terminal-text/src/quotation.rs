//! Texts that quote lines of a file with marks below them. What is quoted stays as it is, since marks point at its columns; the
//! sentences around it fit the page.

use alloc::string::String;
use alloc::vec::Vec;

use unicode_width::UnicodeWidthStr;

use crate::breaks::parts;

/// What marks a column below a quoted line.
const MARKS: [char; 2] = ['━', '^'];
/// What a line of a quotation has between its number and its text.
const GUTTERS: [char; 4] = ['│', '|', '╭', '╰'];
/// A label with less room goes below its mark.
const LEAST_ROOM: usize = 24;

/// The text on a page of that width. Colours (`ESC [ … m`) take no room.
pub(crate) fn fitted(text: &str, width: usize) -> String {
    let mut fitted = String::new();
    for line in text.lines() {
        let plain = without_colours(line);
        match kind(&plain) {
            Kind::Quoted => fitted.push_str(line),
            Kind::Label(start) => fitted.push_str(&broken(line, &label_parts(&plain, start, width))),
            Kind::Sentence => {
                let indent = plain.width() - plain.trim_start().width() + 2;
                fitted.push_str(&broken(line, &Parts::of(&plain, 0, width, indent)));
            }
        }
        fitted.push('\n');
    }
    fitted
}

enum Kind {
    /// As it is in the file, or a place in it.
    Quoted,
    /// A mark, and from this byte on its sentence.
    Label(usize),
    /// A sentence.
    Sentence,
}

fn kind(plain: &str) -> Kind {
    let inner = plain.trim_start_matches(|letter: char| letter == ' ' || letter.is_ascii_digit());
    let Some(gutter) = inner.chars().next().filter(|first| GUTTERS.contains(first)) else {
        let is_place = inner.starts_with("-->") || inner.starts_with("::: ");
        return if is_place || inner == "..." { Kind::Quoted } else { Kind::Sentence };
    };
    let marks = inner[gutter.len_utf8()..].trim_start_matches([' ', '╴', '|', '│']);
    if marks.starts_with("note:") {
        return Kind::Label(plain.len() - marks.len());
    }
    // A quoted line has its number before the gutter.
    let is_quoted = plain.trim_start().starts_with(|letter: char| letter.is_ascii_digit());
    let label = marks.trim_start_matches(MARKS);
    if is_quoted || label.len() == marks.len() || label.trim().is_empty() {
        return Kind::Quoted;
    }
    Kind::Label(plain.len() - label.trim_start().len())
}

/// Where a line is broken.
struct Parts {
    /// The bytes of each part in the line without colours.
    ranges: Vec<core::ops::Range<usize>>,
    /// How many blanks the later ones begin with.
    indent: usize,
}

impl Parts {
    /// What begins at the byte `start`, before which the line is not broken.
    fn of(plain: &str, start: usize, width: usize, indent: usize) -> Self {
        let (before, rest) = plain.split_at(start);
        let first = width.saturating_sub(before.width());
        let mut ranges = Vec::new();
        let mut at = start;
        for part in parts(rest, first, width.saturating_sub(indent)) {
            let begin = plain[at..].find(part.as_str()).map_or(at, |found| at + found);
            at = begin + part.len();
            ranges.push(begin..at);
        }
        if let Some(first) = ranges.first_mut() {
            first.start = 0;
        }
        Self { ranges, indent }
    }
}

fn label_parts(plain: &str, start: usize, width: usize) -> Parts {
    let column = plain[..start].width();
    if column + plain[start..].width() <= width || column + LEAST_ROOM <= width {
        return Parts::of(plain, start, width, column);
    }
    // The whole label goes below the mark.
    let indent = 4;
    let mut below = Parts::of(plain, start, usize::MAX, indent);
    below.ranges.clear();
    let mark = 0..plain[..start].trim_end().len();
    let mut at = start;
    let room = width.saturating_sub(indent);
    below.ranges.push(mark);
    for part in parts(&plain[start..], room, room) {
        let begin = plain[at..].find(part.as_str()).map_or(at, |found| at + found);
        at = begin + part.len();
        below.ranges.push(begin..at);
    }
    below
}

/// The line in these parts, with its colours.
fn broken(line: &str, Parts { ranges, indent }: &Parts) -> String {
    let mut text = String::new();
    let mut part = 0;
    // Bytes of letters that were seen, without colours.
    let mut at = 0;
    let mut rest = line;
    while let Some(letter) = rest.chars().next() {
        if let Some(colour) = colour(rest) {
            text.push_str(&rest[..colour]);
            rest = &rest[colour..];
            continue;
        }
        if ranges.get(part + 1).is_some_and(|next| at >= next.start) {
            part += 1;
            text.push('\n');
            text.extend(core::iter::repeat_n(' ', *indent));
        }
        if ranges.get(part).is_some_and(|range| range.contains(&at)) {
            text.push(letter);
        }
        at += letter.len_utf8();
        rest = &rest[letter.len_utf8()..];
    }
    text
}

/// How many bytes the colour has that the text begins with.
fn colour(text: &str) -> Option<usize> {
    let codes = text.strip_prefix("\u{1b}[")?;
    let end = codes.find(|letter: char| !letter.is_ascii_digit() && letter != ';')?;
    codes[end..].starts_with('m').then_some("\u{1b}[".len() + end + 1)
}

fn without_colours(line: &str) -> String {
    let mut plain = String::new();
    let mut rest = line;
    while let Some(letter) = rest.chars().next() {
        if let Some(colour) = colour(rest) {
            rest = &rest[colour..];
        } else {
            plain.push(letter);
            rest = &rest[letter.len_utf8()..];
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::*;

    #[track_caller]
    fn check(text: &str, width: usize, expected: &str) {
        assert_eq!(fitted(text, width), expected.to_string() + "\n");
    }

    #[test]
    fn sentences_and_labels_fit_and_quoted_lines_stay() {
        let wide = "4 │ a quoted line that is wider than the page, and stays as it is";
        check(wide, 30, wide);
        check("error: three words that are wide", 20, "error: three words\n  that are wide");
        check("  ╰╴ ━━━ short label", 40, "  ╰╴ ━━━ short label");
        check(
            "  ╰╴ ━━━ a label that does not fit its line",
            34,
            "  ╰╴ ━━━ a label that does not fit\n         its line",
        );
        check(
            "  |             ^^^^^^^^ a label without room",
            40,
            "  |             ^^^^^^^^\n    a label without room",
        );
    }

    #[test]
    fn colours_take_no_room() {
        check(
            "\u{1b}[1m\u{1b}[31merror\u{1b}[0m: two words",
            12,
            "\u{1b}[1m\u{1b}[31merror\u{1b}[0m: two\n  words",
        );
    }
}
