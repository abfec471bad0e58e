//! Tables without borders.

use alloc::string::String;
use alloc::vec::Vec;

use unicode_width::UnicodeWidthStr;

use crate::breaks::{parts, widest_piece};

/// Blanks between two columns.
const GAP: usize = 2;

/// The rows as left-aligned columns, each as wide as its widest cell, two blanks apart.
///
/// Every line starts with `indent`, has no blanks after its last cell and ends in a newline. A row may have fewer
/// cells than others. A cell of several lines makes its row as many lines high. A column of empty cells is one blank
/// wide.
pub fn columns(rows: impl IntoIterator<Item = Vec<String>>, indent: &str) -> String {
    drawn(rows.into_iter().collect(), indent, None)
}

/// The same, on a page of a width: the widest cells are broken into several lines. Where nothing more can be broken, the
/// columns stand in several tables, one below the other, each of which begins with the first `keys` columns.
pub(crate) fn fitted(rows: Vec<Vec<String>>, keys: usize, indent: &str, page: Option<usize>) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let least: Vec<usize> = (0..count).map(|column| widest(&rows, column, widest_piece) + GAP).collect();
    let (Some(page), true) = (page, count > keys + 1) else { return drawn(rows, indent, page) };
    let room = (page + GAP).saturating_sub(indent.width() + least.iter().take(keys).sum::<usize>());
    // Each table takes as many columns as fit at their least.
    let mut tables: Vec<Vec<usize>> = Vec::new();
    let mut left = 0;
    for (column, least) in least.iter().enumerate().skip(keys) {
        match tables.last_mut() {
            Some(table) if *least <= left => table.push(column),
            _ => {
                tables.push(Vec::from([column]));
                left = room;
            }
        }
        left = left.saturating_sub(*least);
    }
    if tables.len() < 2 {
        return drawn(rows, indent, Some(page));
    }
    let part = |columns: &Vec<usize>| {
        let cell = |row: &Vec<String>, at: usize| row.get(at).cloned().unwrap_or_default();
        let rows =
            rows.iter().map(|row| (0..keys).chain(columns.iter().copied()).map(|at| cell(row, at)).collect());
        drawn(rows.collect(), indent, Some(page))
    };
    tables.iter().map(part).collect::<Vec<_>>().join("\n")
}

fn drawn(mut rows: Vec<Vec<String>>, indent: &str, page: Option<usize>) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let natural = |rows: &[Vec<String>]| -> Vec<usize> {
        (0..count).map(|column| widest(rows, column, UnicodeWidthStr::width)).collect()
    };
    let mut widths = natural(&rows);
    if let Some(page) = page {
        let gaps = indent.width() + GAP * count.saturating_sub(1);
        let least: Vec<usize> = (0..count).map(|column| widest(&rows, column, widest_piece)).collect();
        shrink(&mut widths, &least, page.saturating_sub(gaps));
        for (cell, width) in rows.iter_mut().flat_map(|row| row.iter_mut().zip(&widths)) {
            if cell.lines().any(|line| line.width() > *width) {
                let lines = cell.lines().flat_map(|line| parts(line, *width, *width));
                *cell = lines.collect::<Vec<_>>().join("\n");
            }
        }
        // Where lines broke before the edge, the column is narrower.
        widths = natural(&rows);
    }
    let mut text = String::new();
    for row in &rows {
        let height = row.iter().map(|cell| cell.lines().count()).max().unwrap_or(0).max(1);
        for at in 0..height {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                let part = cell.lines().nth(at).unwrap_or_default();
                line.push_str(part);
                line.extend(core::iter::repeat_n(' ', width.saturating_sub(part.width()) + GAP));
            }
            text.push_str(indent);
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
    text
}

/// The widest line of a column; at least one.
fn widest(rows: &[Vec<String>], column: usize, width: impl Fn(&str) -> usize) -> usize {
    let cells = rows.iter().filter_map(|row| row.get(column));
    cells.flat_map(|cell| cell.lines()).map(width).max().unwrap_or(0).max(1)
}

/// Takes from the widest column that can give, until all columns together are no wider than `room`.
fn shrink(widths: &mut [usize], least: &[usize], room: usize) {
    loop {
        let over = widths.iter().sum::<usize>().saturating_sub(room);
        let giving = (0..widths.len()).filter(|at| widths[*at] > least[*at]).max_by_key(|at| widths[*at]);
        let Some(widest) = giving.filter(|_| over > 0) else { return };
        // Down to the next widest, so that the widest ones share the loss.
        let others = (0..widths.len()).filter(|at| *at != widest && widths[*at] > least[*at]);
        let next = others.map(|at| widths[at]).max().unwrap_or(0);
        let to = next.max(least[widest]).max(widths[widest].saturating_sub(over));
        widths[widest] = to.min(widths[widest] - 1);
    }
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

    #[test]
    fn the_widest_cells_are_broken_on_a_narrow_page() {
        let rows = || {
            [["NUMA", "CPUS", "WHY"], ["0", "0,2,4,6,8,10,12,14", "nothing is free here"]]
                .map(|row| row.map(ToOwned::to_owned).to_vec())
                .to_vec()
        };
        let wide = "NUMA  CPUS                WHY\n0     0,2,4,6,8,10,12,14  nothing is free here\n";
        assert_eq!(fitted(rows(), 1, "", Some(47)), wide);
        assert_eq!(
            fitted(rows(), 1, "", Some(30)),
            "NUMA  CPUS        WHY\n\
             0     0,2,4,6,8,  nothing is\n      10,12,14    free here\n"
        );
        // What cannot be broken stands in another table, or stays.
        assert_eq!(
            fitted(rows(), 1, "", Some(16)),
            "NUMA  CPUS\n0     0,2,4,6,8,\n      10,12,14\n\nNUMA  WHY\n0     nothing is\n      free here\n"
        );
        assert_eq!(fitted([["unbreakable".to_owned()].to_vec()].to_vec(), 1, "", Some(4)), "unbreakable\n");
    }
}
