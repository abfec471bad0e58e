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

const GREEN: &str = "#6cc06c";
const RED: &str = "#f07070";
/// What no NUMA node has.
const LACK: char = '✘';

/// A row with the colours that topolet gives its marks. In the table of a refusal the whole cell that lacks is red, and what is
/// asked for of its resource.
fn coloured(row: &str) -> String {
    let in_colour = |text: &str, colour: &str| format!("<tspan fill=\"{colour}\">{text}</tspan>");
    let marked = |text: &str| text.replace('✔', &in_colour("✔", GREEN)).replace(LACK, &in_colour("✘", RED));
    let cells = cells(row);
    let is_of_table = cells.iter().skip(ASKED + 1).any(|(cell, _)| cell.starts_with(LACK));
    let shown = cells.iter().enumerate().map(|(at, (cell, gap))| {
        let escaped = cell.replace('&', "&amp;").replace('<', "&lt;");
        let is_red = is_of_table && (at == ASKED || cell.starts_with(LACK));
        (if is_red { in_colour(&escaped, RED) } else { marked(&escaped) }) + gap
    });
    shown.collect()
}

/// The column of what is asked for, behind the margin and the resource.
const ASKED: usize = 2;

/// The cells of a row, each with the blanks behind it; at least two separate cells. The first one is the margin.
fn cells(row: &str) -> Vec<(&str, &str)> {
    let (margin, mut rest) = row.split_at(row.len() - row.trim_start().len());
    let mut cells = vec![("", margin)];
    while !rest.is_empty() {
        let (cell, behind) = rest.split_at(rest.find("  ").unwrap_or(rest.len()));
        let (gap, next) = behind.split_at(behind.len() - behind.trim_start().len());
        cells.push((cell, gap));
        rest = next;
    }
    cells
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

    #[test]
    fn what_lacks_in_a_table_is_red_with_what_is_asked_for() {
        let red = |text: &str| format!("<tspan fill=\"{RED}\">{text}</tspan>");
        let green = format!("<tspan fill=\"{GREEN}\">✔</tspan>");
        let expected = format!("  cpu  {}    {green} 9 free  {}", red("8"), red("✘ 1 free of 8 (held by a)"));
        assert_eq!(coloured("  cpu  8    ✔ 9 free  ✘ 1 free of 8 (held by a)"), expected);
        assert_eq!(coloured("  a   b  "), "  a   b  ");
    }
}
