//! What somebody may have meant by a name that there is not.

/// The name nearest to `written`: the same but for capitals, or a few letters apart, or with words left out. Of
/// several the nearest, and of equals the first. `None`: nothing is near.
pub(crate) fn nearest<'n>(written: &str, names: &[&'n str]) -> Option<&'n str> {
    let near = names.iter().filter_map(|name| distance(written, name).map(|distance| (distance, *name)));
    near.min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

/// No field of Kubernetes is longer; what is need not be compared.
const LONGEST: usize = 64;

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
    use crate::kubelet_fields::READ;

    #[test]
    fn what_was_meant() {
        let rows = [
            ("CPUManagerPolicy", Some("cpuManagerPolicy")),
            ("cpuManagerPolicyOption", Some("cpuManagerPolicyOptions")),
            ("topologyPolicy", Some("topologyManagerPolicy")),
            ("topologyManagerPolcy", Some("topologyManagerPolicy")),
            ("memoryPolicy", Some("memoryManagerPolicy")),
            ("reservedMemories", Some("reservedMemory")),
            ("reservedSystemCpu", Some("reservedSystemCPUs")),
            ("reservedCPUs", Some("reservedSystemCPUs")),
            ("evictionhard", Some("evictionHard")),
            ("sysReserved", Some("systemReserved")),
            ("nodeName", None),
            ("x", None),
            ("", None),
        ];
        for (written, meant) in rows {
            assert_eq!(nearest(written, READ), meant, "{written}");
        }
        assert_eq!(nearest(&"a".repeat(10_000), READ), None);
    }
}
