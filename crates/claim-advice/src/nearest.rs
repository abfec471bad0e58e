//! The name that a misspelt one probably means.

use alloc::vec;
use alloc::vec::Vec;

/// The name with the smallest edit distance from `written`, ignoring case, of at most a quarter of its length; of equals the first.
pub(crate) fn nearest<'n>(written: &str, names: &[&'n str]) -> Option<&'n str> {
    let letters = |text: &str| text.to_ascii_lowercase().chars().collect::<Vec<char>>();
    let written = letters(written);
    let near = names.iter().filter_map(|name| {
        let edits = edits(&written, &letters(name));
        (edits <= (written.len() / 4).max(1)).then_some((edits, *name))
    });
    near.min_by_key(|(edits, _)| *edits).map(|(_, name)| name)
}

/// Levenshtein's distance, row by row.
fn edits(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (at, letter) in a.iter().enumerate() {
        let mut next = vec![at + 1];
        for (pair, other) in row.windows(2).zip(b) {
            let &[diagonal, above] = pair else { continue };
            let left = next.last().copied().unwrap_or_default();
            next.push((diagonal + usize::from(letter != other)).min(above + 1).min(left + 1));
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn what_was_meant() {
        let names = ["gpu.example.com/model", "gpu.example.com/numa", "resource.kubernetes.io/numaNode"];
        for (written, meant) in [
            ("gpu.example.com/modle", Some(names[0])),
            ("gpu.example.com/Model", Some(names[0])),
            ("resource.kubernetes.io/numanode", Some(names[2])),
            ("fabric.example.net/rack", None),
            ("", None),
        ] {
            assert_eq!(nearest(written, &names), meant, "{written}");
        }
    }
}
