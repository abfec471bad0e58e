//! Where a line may break, and its parts.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use unicode_width::UnicodeWidthStr;

/// A text in parts of which none is wider than the page, the first and the later ones; a part ends after a comma or where
/// a blank was. At least one part.
pub(crate) fn parts(text: &str, first: usize, later: usize) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = String::new();
    for piece in pieces(text) {
        let width = if parts.is_empty() { first } else { later };
        if !part.trim_start().is_empty() && part.width() + piece.trim_end().width() > width {
            parts.push(part.trim_end().to_owned());
            part = String::new();
        }
        // A part begins with a word, the whole text with what it begins with.
        if part.is_empty() && !parts.is_empty() {
            part.push_str(piece.trim_start());
        } else {
            part.push_str(piece);
        }
    }
    if parts.is_empty() || !part.trim_end().is_empty() {
        parts.push(part.trim_end().to_owned());
    }
    parts
}

/// Words that a number follows: `NUMA 0` and `core 5` stay in one line.
const NUMBERED: [&str; 14] = [
    "CPU",
    "CPUs",
    "Kubernetes",
    "NUMA",
    "core",
    "cores",
    "kubelet",
    "line",
    "lines",
    "node",
    "nodes",
    "package",
    "release",
    "socket",
];

/// Whether a text ends in a word that the number behind it belongs to.
fn ends_in_numbered(text: &str) -> bool {
    let word = text.trim_end_matches(' ').rsplit([' ', '(', ',']).next().unwrap_or_default();
    NUMBERED.contains(&word)
}

/// Whether a text begins with the number of a note below, `(1)`, which stays beside what it is about.
fn begins_with_note(text: &str) -> bool {
    let number =
        text.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or("", |(number, _)| number);
    !number.is_empty() && number.bytes().all(|letter| letter.is_ascii_digit())
}

/// The text up to each place where it may break: behind blanks that follow a word, and behind a comma between two words; not
/// between a word and its number, nor before the number of a note.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    core::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut seen_word = false;
        let mut end = rest.len();
        let mut letters = rest.char_indices().peekable();
        while let Some((_, letter)) = letters.next() {
            let Some((at, next)) = letters.peek().copied() else { break };
            seen_word |= letter != ' ';
            let is_number = next.is_ascii_digit() && ends_in_numbered(rest.get(..at).unwrap_or_default());
            let is_note = begins_with_note(rest.get(at..).unwrap_or_default());
            let is_after_blank = letter == ' ' && next != ' ' && seen_word && !is_number && !is_note;
            let is_after_comma = letter == ',' && next != ' ';
            if is_after_blank || is_after_comma {
                end = at;
                break;
            }
        }
        let (piece, left) = rest.split_at(end);
        rest = left;
        Some(piece)
    })
}

/// How wide the widest piece of a text is that cannot be broken.
pub(crate) fn widest_piece(text: &str) -> usize {
    pieces(text).map(|piece| piece.trim_end().width()).max().unwrap_or(0)
}
