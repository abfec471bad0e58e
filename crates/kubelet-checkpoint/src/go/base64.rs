//! Bytes as Go writes them in JSON: base64 with padding.

use alloc::string::String;
use alloc::vec::Vec;

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Writes bytes.
pub(crate) fn encode(text: &mut String, bytes: &[u8]) {
    for group in bytes.chunks(3) {
        let byte = |at: usize| group.get(at).copied().map_or(0, usize::from);
        let number = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let digit = DIGITS[number >> (18 - 6 * place) & 63];
            text.push(if place <= group.len() { char::from(digit) } else { '=' });
        }
    }
}

/// Reads bytes; line ends do not count. An error is the position of what is wrong, as Go counts it.
pub(crate) fn decode(text: &[u8]) -> Result<Vec<u8>, usize> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let mut at = 0;
    loop {
        let mut group = [0; 4];
        let mut filled = 0;
        while filled < 4 {
            let Some(&byte) = text.get(at) else {
                return if filled == 0 { Ok(bytes) } else { Err(at - filled) };
            };
            at += 1;
            match (value(byte), byte) {
                (Some(value), _) => {
                    group[filled] = value;
                    filled += 1;
                }
                (None, b'\n' | b'\r') => {}
                (None, b'=') => {
                    padding(text, at, filled)?;
                    push(&mut bytes, group, filled);
                    return Ok(bytes);
                }
                (None, _) => return Err(at - 1),
            }
        }
        push(&mut bytes, group, filled);
    }
}

/// Whether the text ends as it must, the first padding character having been read.
fn padding(text: &[u8], mut at: usize, filled: usize) -> Result<(), usize> {
    let is_line_end = |at: usize| matches!(text.get(at), Some(b'\n' | b'\r'));
    if filled < 2 {
        return Err(at - 1);
    }
    if filled == 2 {
        while is_line_end(at) {
            at += 1;
        }
        match text.get(at) {
            None => return Err(text.len()),
            Some(b'=') => at += 1,
            Some(_) => return Err(at - 1),
        }
    }
    while is_line_end(at) {
        at += 1;
    }
    if at < text.len() { Err(at) } else { Ok(()) }
}

fn push(bytes: &mut Vec<u8>, group: [u8; 4], filled: usize) {
    let number = group.into_iter().fold(0, |number: u32, digit| number << 6 | u32::from(digit));
    let [_, all @ ..] = number.to_be_bytes();
    bytes.extend(all.into_iter().take(filled - 1));
}

fn value(digit: u8) -> Option<u8> {
    Some(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}
