//! A text as a terminal shows it: a picture with letters of one width.

use std::fmt::Write as _;

/// Size of a letter's cell, and the margin, in pixels.
const WIDTH: usize = 8;
const HEIGHT: usize = 17;
const MARGIN: usize = 12;

/// The drawing of a terminal with so many columns; longer lines go on in the next row, as they do there.
pub(super) fn drawing(text: &str, columns: usize) -> String {
    let rows: Vec<String> = text.lines().flat_map(|line| rows_of(line, columns)).collect();
    let (width, height) = (2 * MARGIN + WIDTH * columns, 2 * MARGIN + HEIGHT * rows.len());
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"#1e1e1e\"/>\n\
         <g font-family=\"DejaVu Sans Mono, ui-monospace, monospace\" font-size=\"13\" fill=\"#e0e0e0\">\n"
    );
    for (at, row) in rows.iter().enumerate().filter(|(_, row)| !row.is_empty()) {
        let y = MARGIN + HEIGHT * (at + 1) - 4;
        // The font's own width is not quite that of a cell.
        let length = WIDTH * row.chars().count();
        // Writing to a String cannot fail.
        let _ = writeln!(
            svg,
            "<text x=\"{MARGIN}\" y=\"{y}\" textLength=\"{length}\" xml:space=\"preserve\">{}</text>",
            coloured(row)
        );
    }
    svg + "</g>\n</svg>\n"
}

/// A row with the colours that topolet gives its marks.
fn coloured(row: &str) -> String {
    let escaped = row.replace('&', "&amp;").replace('<', "&lt;");
    let in_colour = |mark: &str, colour: &str| format!("<tspan fill=\"{colour}\">{mark}</tspan>");
    escaped.replace('✔', &in_colour("✔", "#6cc06c")).replace('✘', &in_colour("✘", "#f07070"))
}

fn rows_of(line: &str, columns: usize) -> Vec<String> {
    let letters: Vec<char> = line.chars().collect();
    let rows: Vec<String> = letters.chunks(columns).map(|row| row.iter().collect()).collect();
    if rows.is_empty() { vec![String::new()] } else { rows }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_goes_on_in_the_next_row() {
        assert_eq!(rows_of("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(rows_of("", 3), [""]);
    }

    #[test]
    fn marks_have_colours_and_texts_are_escaped() {
        let expected = "<tspan fill=\"#f07070\">✘</tspan> a &lt; b &amp; c";
        assert_eq!(coloured("✘ a < b & c"), expected);
    }
}
