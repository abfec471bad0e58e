//! The words of an expression.

use alloc::format;
use alloc::vec::Vec;

use crate::fault::Place;

/// A word and where it stands.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Token<'a> {
    pub(crate) kind: TokenKind,
    pub(crate) text: &'a str,
    pub(crate) offset: usize,
}

/// The kinds of words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TokenKind {
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Identifier,
    /// A name in backticks.
    Escaped,
    /// An operator, bracket, or reserved word of the grammar.
    Symbol,
    End,
}

/// Longer ones first, so that the first that fits is the one.
const SYMBOLS: [&str; 27] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?", ":",
    "+", "*", "/", "%", "#", "@", "=",
];

/// These have the form of a symbol but are none of the grammar.
const FOREIGN: [&str; 3] = ["#", "@", "="];

/// Cuts a source into its words; the last one is the end.
pub(crate) fn tokens(source: &str) -> Result<Vec<Token<'_>>, Place> {
    let mut tokens = Vec::new();
    let mut at = 0;
    loop {
        at += skipped(&source[at..]);
        let rest = &source[at..];
        let (kind, length) = match rest.bytes().next() {
            None => (TokenKind::End, 0),
            Some(_) => word(rest).ok_or_else(|| unknown(at, rest))?,
        };
        tokens.push(Token { kind, text: &rest[..length], offset: at });
        if kind == TokenKind::End {
            return Ok(tokens);
        }
        at += length;
    }
}

fn unknown(at: usize, rest: &str) -> Place {
    let shown = rest.chars().next().map_or_else(Default::default, |first| format!("{first}"));
    Place::new(at, format!("Syntax error: token recognition error at: '{shown}'"))
}

/// How many bytes of white space and comments a text begins with.
fn skipped(text: &str) -> usize {
    let mut rest = text;
    loop {
        let trimmed = rest.trim_start_matches(['\t', ' ', '\r', '\n', '\u{c}']);
        let Some(comment) = trimmed.strip_prefix("//") else { return text.len() - trimmed.len() };
        rest = comment.find('\n').map_or("", |end| &comment[end..]);
    }
}

fn word(rest: &str) -> Option<(TokenKind, usize)> {
    string(rest).or_else(|| number(rest)).or_else(|| name(rest)).or_else(|| {
        let symbol = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol))?;
        (!FOREIGN.contains(symbol)).then_some((TokenKind::Symbol, symbol.len()))
    })
}

fn name(rest: &str) -> Option<(TokenKind, usize)> {
    if let Some(inside) = rest.strip_prefix('`') {
        let is_part =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | b'/' | b' ');
        let end = inside.bytes().position(|byte| !is_part(byte))?;
        return (end > 0 && inside[end..].starts_with('`')).then_some((TokenKind::Escaped, end + 2));
    }
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let length = rest.bytes().position(|byte| !is_part(byte)).unwrap_or(rest.len());
    let first = rest.bytes().next()?;
    if length == 0 || first.is_ascii_digit() {
        return None;
    }
    let is_reserved = matches!(&rest[..length], "in" | "true" | "false" | "null");
    Some((if is_reserved { TokenKind::Symbol } else { TokenKind::Identifier }, length))
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

fn number(rest: &str) -> Option<(TokenKind, usize)> {
    if let Some(hex) = rest.strip_prefix("0x") {
        let count = hex.bytes().take_while(u8::is_ascii_hexdigit).count();
        if count > 0 {
            return Some(unsigned(rest, 2 + count));
        }
    }
    let whole = digits(rest);
    let mut length = whole;
    if let Some(fraction) = rest[length..].strip_prefix('.').map(digits).filter(|count| *count > 0) {
        length += 1 + fraction;
    }
    if length == 0 {
        return None;
    }
    if let Some(exponent) = rest[length..].strip_prefix(['e', 'E']) {
        let sign = usize::from(exponent.starts_with(['+', '-']));
        let count = digits(&exponent[sign..]);
        length += if count > 0 { 1 + sign + count } else { 0 };
    }
    Some(if length == whole { unsigned(rest, length) } else { (TokenKind::Double, length) })
}

/// An integer of so many bytes, or the unsigned one of one more.
fn unsigned(rest: &str, length: usize) -> (TokenKind, usize) {
    if rest[length..].starts_with(['u', 'U']) {
        (TokenKind::Uint, length + 1)
    } else {
        (TokenKind::Int, length)
    }
}

fn string(rest: &str) -> Option<(TokenKind, usize)> {
    let plain = rest.strip_prefix(['b', 'B']);
    let (kind, text) = plain.map_or((TokenKind::String, rest), |plain| (TokenKind::Bytes, plain));
    let raw = text.strip_prefix(['r', 'R']);
    let (escapes, text) = raw.map_or((Escapes::Yes, text), |raw| (Escapes::No, raw));
    let before = rest.len() - text.len();
    ["\"\"\"", "'''", "\"", "'"].iter().find_map(|quote| {
        let inside = text.strip_prefix(quote)?;
        Some((kind, before + quote.len() + closed(inside, quote, escapes)?))
    })
}

#[derive(Clone, Copy, PartialEq)]
enum Escapes {
    Yes,
    No,
}

/// How many bytes there are up to the end of the closing quote.
fn closed(inside: &str, quote: &str, escapes: Escapes) -> Option<usize> {
    let mut at = 0;
    loop {
        let rest = &inside[at..];
        if rest.starts_with(quote) {
            return Some(at + quote.len());
        }
        let first = rest.chars().next()?;
        if quote.len() == 1 && matches!(first, '\n' | '\r') {
            return None;
        }
        at += if first == '\\' && escapes == Escapes::Yes { escaped(rest)? } else { first.len_utf8() };
    }
}

/// The length of an escape sequence, with its backslash.
fn escaped(rest: &str) -> Option<usize> {
    let hexadecimal = |count: usize| {
        let digits = rest.as_bytes().get(2..2 + count)?;
        digits.iter().all(u8::is_ascii_hexdigit).then_some(2 + count)
    };
    match rest.as_bytes().get(1)? {
        b'a' | b'b' | b'f' | b'n' | b'r' | b't' | b'v' | b'"' | b'\'' | b'\\' | b'?' | b'`' => Some(2),
        b'x' | b'X' => hexadecimal(2),
        b'u' => hexadecimal(4),
        b'U' => hexadecimal(8),
        b'0'..=b'3' => {
            let digits = rest.as_bytes().get(2..4)?;
            digits.iter().all(|digit| matches!(digit, b'0'..=b'7')).then_some(4)
        }
        _ => None,
    }
}
