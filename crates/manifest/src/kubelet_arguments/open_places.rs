//! Places of templates that are a whole command or path: what they become may configure the kubelet.

use core::ops::Range;
use std::collections::BTreeSet;

use crate::template::OPEN;

/// The bytes of the first line of a text that is nothing but a place to be filled in: `{{ NAME }}`, or `${NAME}` of a variable that
/// the text does not set; or a condition of a template. A line behind one that ends with `\` has arguments.
pub(crate) fn open_line(text: &str) -> Option<Range<usize>> {
    let set = |word: &str| word.split_once('=').map(|(name, _)| name.to_owned());
    let set: BTreeSet<String> = text.split([' ', '\t', '\n', ';']).filter_map(set).collect();
    let is_set =
        |line: &str| line.strip_prefix('$').is_some_and(|name| set.contains(name.trim_matches(['{', '}'])));
    let (mut at, mut is_continued) = (0, false);
    text.split_inclusive('\n').find_map(|line| {
        let start = at + line.len() - line.trim_start().len();
        at += line.len();
        let line = line.trim();
        let is_argument = core::mem::replace(&mut is_continued, line.ends_with('\\'));
        (is_open(line) && !is_set(line) && !is_argument).then_some(start..start + line.len())
    })
}

/// Whether a text begins with a place that a template fills in, or is nothing but a variable.
pub(crate) fn is_open(text: &str) -> bool {
    let text = text.trim();
    let between = |start: &str, end: &str| {
        text.strip_prefix(start)
            .and_then(|rest| rest.strip_suffix(end))
            .is_some_and(|name| !name.is_empty() && !name.contains(['{', '}', '\n']))
    };
    let is_name = |name: &str| {
        let mut letters = name.bytes();
        letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
            && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == b'_')
    };
    text.starts_with("{{")
        || text.starts_with(OPEN)
        || between("{%", "%}")
        || between("%{", "}")
        || between("${", "}")
        || text.strip_prefix('$').is_some_and(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_to_be_filled_in_are_found() {
        for text in [
            "{{ .Values.command }}",
            "${PRE_COMMAND}",
            "$COMMAND",
            "~~~~~~~~",
            "%{ if a }",
            "{{ a }} --b {{ c }}",
            "{% if b %}",
            "ls\n  ${MORE}\n",
        ] {
            assert!(open_line(text).is_some_and(|range| !text[range].contains("ls")), "{text}");
        }
        for text in [
            "echo ${NAME}",
            "set-hostname {{ a }}",
            "A=ls\n$A",
            "~",
            "curl -w %{http_code}",
            "",
            "echo $(ls)",
            "podman run \\\n  $IMAGE\n",
        ] {
            assert_eq!(open_line(text), None, "{text}");
        }
    }
}
