//! What Go says of a text that is no moment in RFC 3339.

/// Go's layout for it.
const LAYOUT: &str = "2006-01-02T15:04:05Z07:00";

/// One part of the layout.
enum Part {
    /// This text.
    Literal(&'static str),
    /// A number of so many digits, at least and at most that.
    Number { element: &'static str, digits: usize, range: (u32, u32), name: &'static str },
}
use Part::{Literal, Number};

const fn two(element: &'static str, range: (u32, u32), name: &'static str) -> Part {
    Number { element, digits: 2, range, name }
}

const PARTS: [Part; 11] = [
    Number { element: "2006", digits: 4, range: (0, 9999), name: "year" },
    Literal("-"),
    two("01", (1, 12), "month"),
    Literal("-"),
    two("02", (1, 31), "day"),
    Literal("T"),
    two("15", (0, 23), "hour"),
    Literal(":"),
    two("04", (0, 59), "minute"),
    Literal(":"),
    two("05", (0, 59), "second"),
];

/// The text of `time.Parse`'s error; `None` for a moment.
pub(super) fn fault(text: &str) -> Option<String> {
    let cannot = |rest: &str, element: &str| {
        Some(format!("parsing time {text:?} as {LAYOUT:?}: cannot parse {rest:?} as {element:?}"))
    };
    let mut rest = text;
    for part in PARTS {
        match part {
            Literal(literal) => match rest.strip_prefix(literal) {
                Some(after) => rest = after,
                None => return cannot(rest, literal),
            },
            Number { element, digits, range, name } => {
                let number =
                    rest.get(..digits).filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
                let Some(number) = number.and_then(|number| number.parse::<u32>().ok()) else {
                    return cannot(rest, element);
                };
                if number < range.0 || number > range.1 {
                    return Some(format!("parsing time {text:?}: {name} out of range"));
                }
                rest = rest.get(digits..).unwrap_or_default();
            }
        }
    }
    let rest = without_fraction(rest);
    match zone(rest) {
        Some("") => None,
        Some(extra) => Some(format!("parsing time {text:?}: extra text: {extra:?}")),
        None => cannot(rest, "Z07:00"),
    }
}

/// Seconds may have a fraction that the layout does not have.
fn without_fraction(rest: &str) -> &str {
    let Some(after) = rest.strip_prefix(['.', ',']) else { return rest };
    let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
    if end == 0 { rest } else { after.get(end..).unwrap_or_default() }
}

/// What is behind `Z` or an offset.
fn zone(rest: &str) -> Option<&str> {
    if let Some(after) = rest.strip_prefix('Z') {
        return Some(after);
    }
    let (offset, after) = rest.split_at_checked(6)?;
    let bytes = offset.as_bytes();
    let digits = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let is_offset = matches!(bytes.first(), Some(b'+' | b'-'))
        && bytes.get(3) == Some(&b':')
        && [1, 2, 4, 5].into_iter().all(digits);
    is_offset.then_some(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_part_that_does_not_match_is_named() {
        const AS: &str = "as \"2006-01-02T15:04:05Z07:00\": cannot parse";
        for (text, expected) in [
            ("2026-11-29T02:40:48Z", None),
            ("2026-11-29T02:40:48.123+01:00", None),
            ("yesterday", Some(format!("parsing time \"yesterday\" {AS} \"yesterday\" as \"2006\""))),
            ("2026-11-29", Some(format!("parsing time \"2026-11-29\" {AS} \"\" as \"T\""))),
            ("2026-13-29", Some("parsing time \"2026-13-29\": month out of range".to_owned())),
            (
                "2026-11-29T02:40:48Zx",
                Some("parsing time \"2026-11-29T02:40:48Zx\": extra text: \"x\"".to_owned()),
            ),
        ] {
            assert_eq!(fault(text), expected, "{text}");
        }
    }
}
