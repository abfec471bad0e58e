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
