//! How cAdvisor finds things in texts: Go's regular expressions and `Sscanf`, each written out for the one pattern
//! that is used.

use cpuset::go_quote;
use thiserror::Error;

/// What Go's `\s` matches.
const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0c)
}

/// `NAME\s*([0-9]+) kB`: the digits of the first match. The match need not start a line.
pub(super) fn kilobytes<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.match_indices(name).find_map(|(at, _)| {
        let rest = skip_space(text.get(at + name.len()..)?);
        let digits = leading_digits(rest);
        (!digits.is_empty() && rest.get(digits.len()..)?.starts_with(" kB")).then_some(digits)
    })
}

/// `(?:cpu MHz|CPU MHz|clock)\s*:\s*([0-9]+\.[0-9]+)`: the number of the first match.
pub(super) fn clock_mhz(text: &str) -> Option<f64> {
    const NAMES: [&str; 3] = ["cpu MHz", "CPU MHz", "clock"];
    let candidates = text.match_indices(['c', 'C']).filter_map(|(at, _)| text.get(at..));
    candidates.into_iter().find_map(|here| {
        let rest = NAMES.iter().find_map(|name| here.strip_prefix(name))?;
        let number = skip_space(skip_space(rest).strip_prefix(':')?);
        let whole = leading_digits(number);
        let part = leading_digits(number.get(whole.len()..)?.strip_prefix('.')?);
        if whole.is_empty() || part.is_empty() {
            return None;
        }
        number.get(..whole.len() + 1 + part.len())?.parse().ok()
    })
}

/// `vendor_id\s*:\s*(\w+)`: the word of the first match, or nothing.
pub(super) fn vendor(text: &str) -> &str {
    const NAME: &str = "vendor_id";
    let words = text.match_indices(NAME).filter_map(|(at, _)| {
        let word = skip_space(skip_space(text.get(at + NAME.len()..)?).strip_prefix(':')?);
        let end = word.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(word.len());
        word.get(..end).filter(|word| !word.is_empty())
    });
    words.into_iter().next().unwrap_or("")
}

/// `(?m)^NAME\s*:\s*([0-9]+)$`: the texts of all matches.
pub(super) fn property_lines<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if let Some(length) = property_line(rest, name) {
            found.extend(rest.get(..length));
            at += length;
        }
        // On to the next start of a line.
        match text.get(at..).and_then(|rest| rest.find('\n')) {
            Some(end) => at += end + 1,
            None => break,
        }
    }
    found
}

fn property_line(line: &str, name: &str) -> Option<usize> {
    let value = skip_space(skip_space(line.strip_prefix(name)?).strip_prefix(':')?);
    let digits = leading_digits(value);
    let after = value.get(digits.len()..)?;
    (!digits.is_empty() && (after.is_empty() || after.starts_with('\n'))).then_some(line.len() - after.len())
}

/// `%d` into an unsigned number: blanks, then digits. Also what follows them.
pub(super) fn unsigned(text: &str) -> Option<(u64, &str)> {
    let text = text.trim_start_matches([' ', '\t']);
    let digits = leading_digits(text);
    Some((digits.parse().ok()?, text.get(digits.len()..)?))
}

/// `%d` into a signed number.
pub(super) fn signed(text: &str) -> Option<i64> {
    let text = text.trim_start_matches([' ', '\t']);
    let sign = usize::from(text.starts_with(['+', '-']));
    let digits = leading_digits(text.get(sign..)?);
    text.get(..sign + digits.len())?.parse().ok()
}

/// A text that Go's `strconv.ParseUint` refuses.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ParseUintError {
    /// Not decimal digits.
    #[error("strconv.ParseUint: parsing {}: invalid syntax", go_quote(.0))]
    InvalidSyntax(String),
    /// More than 64 bits.
    #[error("strconv.ParseUint: parsing {}: value out of range", go_quote(.0))]
    OutOfRange(String),
}

/// Go's `strconv.ParseUint` in base 10 and 64 bits.
pub(super) fn parse_uint(text: &str) -> Result<u64, ParseUintError> {
    if text.is_empty() {
        return Err(ParseUintError::InvalidSyntax(String::new()));
    }
    // Go reads from the left and stops at whatever is wrong first: a digit too many, or no digit.
    let mut value: u64 = 0;
    for byte in text.bytes() {
        if !byte.is_ascii_digit() {
            return Err(ParseUintError::InvalidSyntax(text.to_owned()));
        }
        let longer = value.checked_mul(10).and_then(|tens| tens.checked_add(u64::from(byte - b'0')));
        value = longer.ok_or_else(|| ParseUintError::OutOfRange(text.to_owned()))?;
    }
    Ok(value)
}

/// The digits that follow `/PREFIX` where it first has some, as `/cpu(\d+)` finds them.
pub(super) fn digits_after<'a>(name: &'a str, prefix: &str) -> Option<&'a str> {
    Some(leading_digits(name.strip_prefix(prefix)?)).filter(|digits| !digits.is_empty())
}

pub(super) fn leading_digits(text: &str) -> &str {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    text.get(..end).unwrap_or("")
}

fn skip_space(text: &str) -> &str {
    let start = text.bytes().position(|byte| !is_space(byte)).unwrap_or(text.len());
    text.get(start..).unwrap_or("")
}
