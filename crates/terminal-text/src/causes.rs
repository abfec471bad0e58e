//! Causes that the system and parsers name, in the words of a message.

use alloc::borrow::{Cow, ToOwned as _};
use alloc::format;
use alloc::string::String;

/// What stands between the system's words and the number of its error.
const NUMBER: &str = " (os error ";

/// A message with its causes as fragments: an error of the system is written `No such file or directory (os error 2)`
/// by the standard library, and stands here as `no such file`.
///
/// ```
/// let text = "failed to read a.yaml: No such file or directory (os error 2)";
/// assert_eq!(terminal_text::plain_causes(text), "failed to read a.yaml: no such file");
/// ```
#[must_use]
pub fn plain_causes(text: &str) -> Cow<'_, str> {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once(NUMBER) {
        let digits = behind.len() - behind.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, after) = behind.split_at(digits);
        let Some(after) = after.strip_prefix(')').filter(|_| !number.is_empty()) else {
            plain.push_str(before);
            plain.push_str(NUMBER);
            rest = behind;
            continue;
        };
        // The system's words have none of these; what stands before them ends in one.
        let colon = before.rfind(": ").map_or(0, |at| at + 2);
        let start = before.rfind(['"', '(', '=', '\n']).map_or(colon, |at| colon.max(at + 1));
        let (head, words) = before.split_at(start);
        plain.push_str(head);
        match words {
            "No such file or directory" => plain.push_str("no such file"),
            words => {
                let mut letters = words.chars();
                // Words in capitals are names, as in `RPC`.
                let first = letters.next().map(|first| match letters.clone().next() {
                    Some(second) if second.is_uppercase() => first,
                    _ => first.to_ascii_lowercase(),
                });
                plain.extend(first);
                plain.push_str(letters.as_str());
            }
        }
        rest = after;
    }
    if plain.is_empty() {
        return Cow::Borrowed(text);
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// What to give in place of a value that is no number or no address, where the parsers of the standard library and of
/// clap name only what they cannot do with it. `None`: it is none of their causes.
///
/// ```
/// use terminal_text::expected_value;
///
/// assert_eq!(expected_value("9 is not in 1..=8").as_deref(), Some("expected 1 to 8"));
/// assert_eq!(expected_value("expected a name"), None);
/// ```
#[must_use]
pub fn expected_value(cause: &str) -> Option<String> {
    Some(match cause {
        "number would be zero for non-zero type" => "expected 1 or more".to_owned(),
        "invalid digit found in string" | "cannot parse integer from empty string" => {
            "expected a number".to_owned()
        }
        "number too large to fit in target type" => "expected a smaller number".to_owned(),
        "number too small to fit in target type" => "expected a larger number".to_owned(),
        "invalid float literal" | "cannot parse float from empty string" => {
            "expected a number such as 0.5".to_owned()
        }
        "invalid socket address syntax" => "expected ADDRESS:PORT such as 127.0.0.1:8080".to_owned(),
        other => {
            let (_, range) = other.split_once(" is not in ")?;
            match range.split_once("..=") {
                Some((least, most)) => format!("expected {least} to {most}"),
                None => format!("expected {} or more", range.strip_suffix("..")?),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::{expected_value, plain_causes};

    #[test]
    fn errors_of_the_system_are_fragments_without_numbers() {
        for (text, plain) in [
            ("failed to open x: No such file or directory (os error 2)", "failed to open x: no such file"),
            ("No space left on device (os error 28)", "no space left on device"),
            (
                "a: Is a directory (os error 21); b: File exists (os error 17)",
                "a: is a directory; b: file exists",
            ),
            ("http://h: Connection refused (os error 111)", "http://h: connection refused"),
            ("failed to open x: RPC struct is bad (os error 72)", "failed to open x: RPC struct is bad"),
            ("nothing of the system: Here", "nothing of the system: Here"),
            ("{\"error\":\"Permission denied (os error 13)\"}", "{\"error\":\"permission denied\"}"),
            ("odd (os error x)", "odd (os error x)"),
        ] {
            assert_eq!(plain_causes(text), plain);
        }
    }

    #[test]
    fn a_parser_s_words_become_what_to_give() {
        for (cause, said) in [
            ("9 is not in 1..=8", Some("expected 1 to 8")),
            ("0 is not in 1..", Some("expected 1 or more")),
            ("invalid digit found in string", Some("expected a number")),
            ("expected none, eks:TYPE such as eks:m5.large", None),
        ] {
            assert_eq!(expected_value(cause).as_deref(), said);
        }
    }
}
