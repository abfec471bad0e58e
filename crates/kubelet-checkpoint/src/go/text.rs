//! Strings in JSON: written with Go's escapes, read as Go does, which replaces what is not UTF-8.

use alloc::borrow::Cow;
use alloc::string::String;

/// Writes a string in double quotes. `<`, `>`, `&` and the two separators of U+2028 are escaped besides what must be.
pub(crate) fn quote(json: &mut String, text: &str) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    json.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => json.extend(['\\', c]),
            '\x08' => json.push_str("\\b"),
            '\x0c' => json.push_str("\\f"),
            '\n' => json.push_str("\\n"),
            '\r' => json.push_str("\\r"),
            '\t' => json.push_str("\\t"),
            '\0'..' ' | '<' | '>' | '&' => {
                let byte = c as usize;
                json.push_str("\\u00");
                json.extend([HEX[byte >> 4], HEX[byte & 15]].map(char::from));
            }
            '\u{2028}' => json.push_str("\\u2028"),
            '\u{2029}' => json.push_str("\\u2029"),
            _ => json.push(c),
        }
    }
    json.push('"');
}

/// The string that `raw`, without its quotes, stands for; the text around it has been checked. The second is whether
/// bytes or escapes that are no characters were replaced.
pub(crate) fn unquote(raw: &[u8]) -> (Cow<'_, str>, bool) {
    if !raw.contains(&b'\\')
        && let Ok(text) = core::str::from_utf8(raw)
    {
        return (Cow::Borrowed(text), false);
    }
    let mut text = String::with_capacity(raw.len());
    let mut replaced = false;
    let mut rest = raw;
    while let Some((&byte, after)) = rest.split_first() {
        if byte == b'\\' {
            let (c, length) = unescape(rest);
            replaced |= c.is_none();
            text.push(c.unwrap_or(char::REPLACEMENT_CHARACTER));
            rest = rest.get(length..).unwrap_or_default();
            continue;
        }
        let end = rest.iter().position(|byte| *byte == b'\\').unwrap_or(rest.len());
        match core::str::from_utf8(rest.get(..end).unwrap_or_default()) {
            Ok(plain) => {
                text.push_str(plain);
                rest = rest.get(end..).unwrap_or_default();
            }
            Err(error) if error.valid_up_to() > 0 => {
                let (plain, tail) = rest.split_at_checked(error.valid_up_to()).unwrap_or_default();
                text.push_str(core::str::from_utf8(plain).unwrap_or_default());
                rest = tail;
            }
            // Go replaces byte by byte.
            Err(_) => {
                text.push(char::REPLACEMENT_CHARACTER);
                replaced = true;
                rest = after;
            }
        }
    }
    (Cow::Owned(text), replaced)
}

/// What an escape stands for, and its length. `None`: half of a surrogate pair.
fn unescape(raw: &[u8]) -> (Option<char>, usize) {
    let c = match raw.get(1) {
        Some(b'b') => '\x08',
        Some(b'f') => '\x0c',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => {
            let first = unit(raw);
            if let (Some(high @ 0xd800..0xdc00), Some(low @ 0xdc00..0xe000)) =
                (first, unit(raw.get(6..).unwrap_or_default()))
            {
                return (char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)), 12);
            }
            return (first.and_then(char::from_u32), 6);
        }
        Some(other) => char::from(*other),
        None => char::REPLACEMENT_CHARACTER,
    };
    (Some(c), 2)
}

/// The number of an escape `\uXXXX`.
fn unit(raw: &[u8]) -> Option<u32> {
    let digits = raw.strip_prefix(b"\\u")?.get(..4)?;
    digits.iter().try_fold(0, |number, digit| Some(number * 16 + char::from(*digit).to_digit(16)?))
}

/// Whether Go takes `key` for the member `name`: letters of either case, and the two letters beyond ASCII that fold to
/// one of it.
pub(crate) fn is_folded(key: &str, name: &str) -> bool {
    let fold = |c: char| match c {
        'ſ' => 'S',
        '\u{212a}' => 'K',
        _ => c.to_ascii_uppercase(),
    };
    key.chars().map(fold).eq(name.chars().map(fold))
}
