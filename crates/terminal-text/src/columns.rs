//! Tables without borders.

use alloc::string::String;
use alloc::vec::Vec;

use unicode_width::UnicodeWidthStr;

/// Blanks between two columns.
const GAP: usize = 2;

/// The rows as left-aligned columns, each as wide as its widest cell, two blanks apart.
///
/// Every line starts with `indent`, has no blanks after its last cell and ends in a newline. A row may have fewer
/// cells than others. A cell of several lines makes its row as many lines high. A column of empty cells is one blank
/// wide.
pub fn columns(rows: impl IntoIterator<Item = Vec<String>>, indent: &str) -> String {
    let rows: Vec<Vec<String>> = rows.into_iter().collect();
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.flat_map(|cell| cell.lines()).map(UnicodeWidthStr::width).max().unwrap_or(0).max(1)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let height = row.iter().map(|cell| cell.lines().count()).max().unwrap_or(0).max(1);
        for at in 0..height {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                let part = cell.lines().nth(at).unwrap_or_default();
                line.push_str(part);
                line.extend(core::iter::repeat_n(' ', width - part.width() + GAP));
            }
            text.push_str(indent);
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use alloc::borrow::ToOwned;

    use super::*;

    #[track_caller]
    fn check(rows: &[&[&str]], indent: &str, expected: &str) {
        let rows = rows.iter().map(|row| row.iter().map(|cell| (*cell).to_owned()).collect());
        assert_eq!(columns(rows, indent), expected);
    }

    #[test]
    fn a_column_is_as_wide_as_its_widest_cell() {
        check(&[], " ", "");
        check(&[&["A", "LONG"], &["wide", "1"]], " ", " A     LONG\n wide  1\n");
        check(&[&["A", "B", "C"], &["1"], &["", "", "2"]], "", "A  B  C\n1\n      2\n");
        check(&[&["8×1Gi", "x"], &["節点", "y"]], "", "8×1Gi  x\n節点   y\n");
        check(&[&["a", "", "b"], &["c", "", "d"]], "", "a     b\nc     d\n");
        check(&[&["a", "one\ntwo", "b"], &["c", "d", "e"]], "", "a  one  b\n   two\nc  d    e\n");
    }
}
