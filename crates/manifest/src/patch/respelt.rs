//! A text whose misspelt fields have the names that were meant.

use crate::{Problem, Source, Warning};

/// The text with each field that these warnings call misspelt under the name that was meant; every other byte stays as it was. Of
/// warnings about other files, and of fields that do not stand where a warning says, nothing is changed.
#[must_use]
pub fn respelt(source: &Source<'_>, warnings: &[Warning]) -> String {
    let mut text = source.text.to_owned();
    let misspelt = warnings.iter().map(Warning::as_error).filter(|error| error.file() == source.name);
    let mut places: Vec<(usize, &str, &str)> = misspelt
        .filter_map(|error| match error.problem() {
            Problem::MisspeltField { found, meant } => {
                let at = offset(source.text, error.line(), error.column())?;
                let quote = source.text.get(at..)?.starts_with(['"', '\'']);
                let at = at + usize::from(quote);
                source.text.get(at..)?.starts_with(found.as_str()).then_some((at, found.as_str(), *meant))
            }
            _ => None,
        })
        .collect();
    // From behind, so that the places before stay.
    places.sort_unstable();
    places.dedup();
    for (at, found, meant) in places.into_iter().rev() {
        text.replace_range(at..at + found.len(), meant);
    }
    text
}

/// Where a line and a column, both from 1 and the column in characters, are in a text.
fn offset(text: &str, line: usize, column: usize) -> Option<usize> {
    let before: usize = text.split_inclusive('\n').take(line.checked_sub(1)?).map(str::len).sum();
    let mut letters = text.get(before..)?.char_indices();
    letters.nth(column.checked_sub(1)?).map(|(at, _)| before + at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read_kubelet_config;

    #[track_caller]
    fn check(fields: &str, expected: &str) {
        let head = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
        let text = format!("{head}{fields}");
        let source = Source { name: "kubelet.yaml", text: &text };
        let read = read_kubelet_config(&source).unwrap();
        assert_eq!(respelt(&source, &read.warnings), format!("{head}{expected}"), "{fields}");
    }

    #[test]
    fn only_misspelt_fields_change() {
        check("maxPods: 3\n", "maxPods: 3\n");
        check("topologyManagerScop: pod # ä\nmaxPodz: 3\n", "topologyManagerScope: pod # ä\nmaxPods: 3\n");
        check("'maxPodz': 3\nunheardOf: {maxPodz: 1}\n", "'maxPods': 3\nunheardOf: {maxPodz: 1}\n");
    }
}
