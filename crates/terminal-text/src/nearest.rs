//! Which name a misspelt one means.

use alloc::vec;
use alloc::vec::Vec;

/// The name nearest to `written`: the same but for capitals, or a few letters apart, or with words left out. Of
/// several the nearest, and of equals the first. `None`: nothing is near.
///
/// ```
/// use terminal_text::nearest;
///
/// let names = ["cpuManagerPolicy", "topologyManagerPolicy"];
/// assert_eq!(nearest("topologyPolicy", &names), Some("topologyManagerPolicy"));
/// assert_eq!(nearest("nodeName", &names), None);
/// ```
#[must_use]
pub fn nearest<'n>(written: &str, names: &[&'n str]) -> Option<&'n str> {
    let near = names.iter().filter_map(|name| distance(written, name).map(|distance| (distance, *name)));
    near.min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

/// No field or attribute of Kubernetes is longer; what is need not be compared.
const LONGEST: usize = 128;

fn distance(written: &str, name: &str) -> Option<usize> {
    if written.eq_ignore_ascii_case(name) {
        return Some(0);
    }
    if written.len() > LONGEST {
        return None;
    }
    let (a, b) = (written.to_ascii_lowercase(), name.to_ascii_lowercase());
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let edits = edits(&a, &b);
    let few = edits <= (a.len() / 4).max(1);
    let left_out = 2 * a.len() >= b.len() && is_subsequence(&a, &b);
    (few || left_out).then_some(edits)
}

/// The distance of Damerau and Levenshtein, row by row: letters that are left out, put in, replaced, or swapped with the next one.
fn edits(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    let mut row_before: Vec<usize> = Vec::new();
    let mut letter_before = None;
    for (at, letter) in a.iter().enumerate() {
        let mut next = vec![at + 1];
        let mut other_before = None;
        for (column, (pair, other)) in row.windows(2).zip(b).enumerate() {
            let &[diagonal, above] = pair else { continue };
            let left = next.last().copied().unwrap_or_default();
            let mut least = (diagonal + usize::from(letter != other)).min(above + 1).min(left + 1);
            let is_swapped = letter_before == Some(other) && other_before == Some(letter);
            if let Some(start) = column.checked_sub(1).and_then(|start| row_before.get(start))
                && is_swapped
            {
                least = least.min(start + 1);
            }
            next.push(least);
            other_before = Some(other);
        }
        (row_before, row) = (row, next);
        letter_before = Some(letter);
    }
    row.last().copied().unwrap_or_default()
}

fn is_subsequence(a: &[char], b: &[char]) -> bool {
    let mut rest = b.iter();
    a.iter().all(|letter| rest.any(|other| other == letter))
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn what_was_meant() {
        let fields = [
            "cpuManagerPolicy",
            "cpuManagerPolicyOptions",
            "topologyManagerPolicy",
            "memoryManagerPolicy",
            "reservedMemory",
            "reservedSystemCPUs",
            "evictionHard",
            "systemReserved",
        ];
        let attributes = ["gpu.example.com/model", "gpu.example.com/numa", "resource.kubernetes.io/numaNode"];
        for (written, names, meant) in [
            ("CPUManagerPolicy", &fields[..], Some("cpuManagerPolicy")),
            ("cpuManagerPolicyOption", &fields, Some("cpuManagerPolicyOptions")),
            ("topologyPolicy", &fields, Some("topologyManagerPolicy")),
            ("topologyManagerPolcy", &fields, Some("topologyManagerPolicy")),
            ("memoryPolicy", &fields, Some("memoryManagerPolicy")),
            ("reservedMemories", &fields, Some("reservedMemory")),
            ("reservedSystemCpu", &fields, Some("reservedSystemCPUs")),
            ("reservedCPUs", &fields, Some("reservedSystemCPUs")),
            ("evictionhard", &fields, Some("evictionHard")),
            ("sysReserved", &fields, Some("systemReserved")),
            ("Pdo", &["Job", "Pod"], Some("Pod")),
            ("oPd", &["Pod"], Some("Pod")),
            ("dPo", &["Pod"], None),
            ("nodeName", &fields, None),
            ("x", &fields, None),
            ("", &fields, None),
            ("gpu.example.com/modle", &attributes, Some(attributes[0])),
            ("gpu.example.com/Model", &attributes, Some(attributes[0])),
            ("resource.kubernetes.io/numanode", &attributes, Some(attributes[2])),
            ("fabric.example.net/rack", &attributes, None),
            ("", &attributes, None),
        ] {
            assert_eq!(nearest(written, names), meant, "{written}");
        }
        assert_eq!(nearest(&"a".repeat(10_000), &fields), None);
    }
}
