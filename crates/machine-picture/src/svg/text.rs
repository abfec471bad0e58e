//! Lengths, and texts in lines: how wide they are drawn, and where they are broken.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

/// A length in pixels of the picture at its natural size.
pub type Pixels = u32;

pub(super) const FONT: Pixels = 12;
pub(super) const SMALL_FONT: Pixels = 10;
/// Height of a line of text with a box around it.
pub(super) const BAR: Pixels = 20;
/// Between a box and what is in it, and between boxes.
pub(super) const GAP: Pixels = 6;

/// About how wide a text is drawn: letters of ordinary fonts are no wider.
pub fn text_width(text: &str, size: Pixels) -> Pixels {
    let letters = Pixels::try_from(text.chars().count()).unwrap_or(Pixels::MAX / 100);
    letters.saturating_mul(size * 6) / 10
}

/// A line of parts between dots, folded to a width.
pub(super) fn folded(line: &str, width: Pixels) -> Vec<String> {
    pub(super) const DOT: &str = " · ";
    let mut lines: Vec<String> = Vec::new();
    for part in line.split(DOT) {
        match lines.last_mut() {
            Some(last) if text_width(last, SMALL_FONT) + text_width(part, SMALL_FONT) + 3 * GAP <= width => {
                last.push_str(DOT);
                last.push_str(part);
            }
            _ => lines.push(part.to_owned()),
        }
    }
    lines
}

/// A text in lines no wider than that, broken after spaces and commas.
pub(super) fn wrapped(text: &str, width: Pixels, size: Pixels) -> Vec<String> {
    let mut lines = vec![String::new()];
    for part in text.split_inclusive([' ', ',']) {
        let Some(last) = lines.last_mut() else { break };
        if last.is_empty() || text_width(last, size) + text_width(part.trim_end(), size) <= width {
            last.push_str(part);
        } else {
            lines.push(part.to_owned());
        }
    }
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_broken_after_spaces_and_commas() {
        assert_eq!(wrapped("one two three", 50, SMALL_FONT), ["one two", "three"]);
        assert_eq!(wrapped("0-3,8-11,16", 50, SMALL_FONT), ["0-3,", "8-11,16"]);
        assert_eq!(wrapped("", 60, SMALL_FONT), [""]);
    }
}
