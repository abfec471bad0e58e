//! Go's integer parser and string quoting, which the kubelet's error texts are made with.

use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt::{self, Write};

use thiserror::Error;

/// Why [`go_atoi`] refused a text. The texts are Go's.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum AtoiError {
    /// Not an optional sign and decimal digits.
    #[error("strconv.Atoi: parsing {}: invalid syntax", go_quote(.0))]
    InvalidSyntax(String),
    /// More than 64 bits.
    #[error("strconv.Atoi: parsing {}: value out of range", go_quote(.0))]
    OutOfRange(String),
}

/// Reads an integer as Go's `strconv.Atoi` does on a 64-bit machine: optional `+` or `-`, decimal digits, leading
/// zeros allowed; no blanks, prefixes or underscores.
pub fn go_atoi(text: &str) -> Result<i64, AtoiError> {
    let syntax = || AtoiError::InvalidSyntax(text.to_owned());
    let range = || AtoiError::OutOfRange(text.to_owned());
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() {
        return Err(syntax());
    }
    // Go reads from the left and stops at whatever is wrong first: a digit too many, or no digit.
    let mut magnitude: u64 = 0;
    for byte in digits.bytes() {
        if !byte.is_ascii_digit() {
            return Err(syntax());
        }
        let longer = magnitude.checked_mul(10).and_then(|tens| tens.checked_add(u64::from(byte - b'0')));
        magnitude = longer.ok_or_else(range)?;
    }
    let value =
        if text.starts_with('-') { 0i64.checked_sub_unsigned(magnitude) } else { magnitude.try_into().ok() };
    value.ok_or_else(range)
}

/// `text` in double quotes as Go's `strconv.Quote` and `%q` write it.
///
/// Letters, marks, numbers, punctuation and symbols stay; so does the ASCII blank. Other characters become
/// `\n`, `\x7f`, `\u00a0` or `\U000e0001`. Which characters are assigned at all is a matter of the Unicode
/// version: Rust's here, so a character that is newer than Go's tables is shown where Go escapes it.
///
/// ```
/// assert_eq!(cpuset::go_quote("0-3\n").to_string(), r#""0-3\n""#);
/// ```
pub fn go_quote(text: &str) -> GoQuoted<'_> {
    GoQuoted(text)
}

/// A text that displays itself as Go quotes it; made by [`go_quote`].
#[derive(Clone, Copy, Debug)]
pub struct GoQuoted<'a>(&'a str);

impl fmt::Display for GoQuoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                '\x07' => f.write_str("\\a")?,
                '\x08' => f.write_str("\\b")?,
                '\x0c' => f.write_str("\\f")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                '\x0b' => f.write_str("\\v")?,
                ' '..='~' => f.write_char(c)?,
                '\0'..='\x7f' => write!(f, "\\x{:02x}", u32::from(c))?,
                _ if is_printable(c) => f.write_char(c)?,
                '\u{80}'..='\u{ffff}' => write!(f, "\\u{:04x}", u32::from(c))?,
                _ => write!(f, "\\U{:08x}", u32::from(c))?,
            }
        }
        f.write_char('"')
    }
}

/// Whether `c`, which is not ASCII, is a letter, mark, number, punctuation or symbol.
///
/// The standard library has this table, but shows it only through its own escaping. A combining mark is escaped
/// there when it comes first, hence the letter before it.
fn is_printable(c: char) -> bool {
    let after_letter = String::from_iter(['x', c]);
    after_letter.escape_debug().eq(after_letter.chars())
}
