//! Names of devices, with runs of consecutive ones folded.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

/// So many names and runs are listed.
const MOST: usize = 6;
/// A run of fewer names is listed name by name.
const SHORTEST_RUN: usize = 3;

/// Names in their order: `vf-00 to vf-15, pf-0 and 3 more`. A run is of names that differ in one number, each one higher than the one
/// before.
#[must_use]
pub fn folded<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    let mut parts: Vec<String> = Vec::new();
    let mut at = 0;
    while at < names.len() && parts.len() < MOST {
        let length = run(&names[at..]);
        if length >= SHORTEST_RUN {
            parts.push(format!("{} to {}", names[at], names[at + length - 1]));
            at += length;
        } else {
            parts.push(names[at].to_string());
            at += 1;
        }
    }
    let rest = names.len() - at;
    let text = parts.join(", ");
    if rest == 0 { text } else { format!("{text} and {rest} more") }
}

/// How many of the first names form a run.
fn run(names: &[&str]) -> usize {
    1 + names.windows(2).take_while(|pair| follows(pair[0], pair[1])).count()
}

/// Whether the second name is the first with its last differing number one higher.
fn follows(first: &str, second: &str) -> bool {
    let same_start = first.bytes().zip(second.bytes()).take_while(|(one, other)| one == other).count();
    let is_digit = |byte: &u8| byte.is_ascii_digit();
    // The number begins before the first difference.
    let start =
        same_start - first.as_bytes()[..same_start].iter().rev().take_while(|byte| is_digit(byte)).count();
    let number = |name: &str| {
        let name = name.get(start..)?;
        let (digits, rest) = name.split_at(name.bytes().take_while(|byte| is_digit(byte)).count());
        Some((digits.parse::<u64>().ok()?, rest.to_string()))
    };
    match (number(first), number(second)) {
        (Some((one, rest)), Some((other, other_rest))) => {
            one.checked_add(1) == Some(other) && rest == other_rest
        }
        _ => false,
    }
}

/// Texts as people list them: `a, b and c`.
pub(crate) fn listed(texts: &[String]) -> String {
    match texts {
        [] => String::new(),
        [one] => one.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_folded_and_many_names_are_counted() {
        for (names, expected) in [
            (&["gpu-0"][..], "gpu-0"),
            (&["gpu-0", "gpu-1"], "gpu-0, gpu-1"),
            (&["gpu-0", "gpu-1", "gpu-2"], "gpu-0 to gpu-2"),
            (&["cpudev009", "cpudev010", "cpudev011", "nic"], "cpudev009 to cpudev011, nic"),
            (&["0-a", "1-a", "2-a", "2-b"], "0-a to 2-a, 2-b"),
            (&["a", "b", "c", "d", "e", "f", "g", "h"], "a, b, c, d, e, f and 2 more"),
            (&["gpu-0-128", "gpu-1-136", "gpu-2-144"], "gpu-0-128, gpu-1-136, gpu-2-144"),
            (&[], ""),
        ] {
            assert_eq!(folded(names.iter().copied()), expected, "{names:?}");
        }
        assert_eq!(listed(&["a".into(), "b".into(), "c".into()]), "a, b and c");
    }

    #[test]
    fn names_of_any_form_are_listed() {
        for names in
            [["é1", "é2", "é3"], ["é1", "è1", "ê1"], ["", "1", "2"], ["18446744073709551615", "0", "1"]]
        {
            assert!(!folded(names).is_empty());
        }
    }
}
