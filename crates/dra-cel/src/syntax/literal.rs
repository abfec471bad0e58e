//! The value of a quoted text.

use alloc::string::String;
use alloc::vec::Vec;

/// The text of a string token. `None` if an escape names no character.
pub(crate) fn string(token: &str) -> Option<String> {
    let (inside, escapes) = unquoted(token)?;
    let mut text = String::new();
    pieces(inside, escapes, |piece| {
        match piece {
            Piece::Character(character) => text.push(character),
            Piece::Byte(byte) => text.push(char::from(byte)),
        }
        Some(())
    })?;
    Some(text)
}

/// The bytes of a token without its `b`. `None` if an escape is none of bytes.
pub(crate) fn bytes(token: &str) -> Option<Vec<u8>> {
    let (inside, escapes) = unquoted(token)?;
    let mut bytes = Vec::new();
    pieces(inside, escapes, |piece| {
        match piece {
            Piece::Character(character) => {
                bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            Piece::Byte(byte) => bytes.push(byte),
        }
        Some(())
    })?;
    Some(bytes)
}

enum Piece {
    Character(char),
    /// Of `\x41` and `\101`: a code point in a string, a byte in bytes.
    Byte(u8),
}

#[derive(Clone, Copy, PartialEq)]
enum Escapes {
    Yes,
    No,
}

fn unquoted(token: &str) -> Option<(&str, Escapes)> {
    let raw = token.strip_prefix(['r', 'R']);
    let (text, escapes) = raw.map_or((token, Escapes::Yes), |raw| (raw, Escapes::No));
    let quotes = ["\"\"\"", "'''", "\"", "'"];
    let inside =
        quotes.iter().find_map(|quote| text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)))?;
    Some((inside, escapes))
}

fn pieces(inside: &str, escapes: Escapes, mut take: impl FnMut(Piece) -> Option<()>) -> Option<()> {
    let mut rest = inside;
    while let Some(first) = rest.chars().next() {
        if first != '\\' || escapes == Escapes::No {
            // Line ends are those of Unix.
            let end = if rest.starts_with("\r\n") { "\r\n".len() } else { first.len_utf8() };
            take(Piece::Character(if first == '\r' { '\n' } else { first }))?;
            rest = &rest[end..];
            continue;
        }
        let (piece, length) = escape(&rest[1..])?;
        take(piece)?;
        rest = &rest[1 + length..];
    }
    Some(())
}

/// What stands behind a backslash, and its length.
fn escape(rest: &str) -> Option<(Piece, usize)> {
    let character = |character| Some((Piece::Character(character), 1));
    match rest.bytes().next()? {
        b'a' => character('\u{7}'),
        b'b' => character('\u{8}'),
        b'f' => character('\u{c}'),
        b'n' => character('\n'),
        b'r' => character('\r'),
        b't' => character('\t'),
        b'v' => character('\u{b}'),
        b'x' | b'X' => Some((Piece::Byte(u8::from_str_radix(rest.get(1..3)?, 16).ok()?), 3)),
        b'u' => code_point(rest, 4),
        b'U' => code_point(rest, 8),
        b'0'..=b'3' => Some((Piece::Byte(u8::from_str_radix(rest.get(..3)?, 8).ok()?), 3)),
        _ => character(rest.chars().next()?),
    }
}

fn code_point(rest: &str, digits: usize) -> Option<(Piece, usize)> {
    let number = u32::from_str_radix(rest.get(1..=digits)?, 16).ok()?;
    Some((Piece::Character(char::from_u32(number)?), 1 + digits))
}
