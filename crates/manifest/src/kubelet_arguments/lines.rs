//! Files of variables: `NAME=VALUE` a line, as systemd's `EnvironmentFile=` and shells read them.

use core::ops::Range;

use super::words::Letters;

/// Whether a line sets a variable with a name in capitals: `KUBELET_EXTRA_ARGS=--v=2`.
pub(super) fn is_setting(line: &str) -> bool {
    let line = line.strip_prefix("export ").unwrap_or(line);
    line.split_once('=')
        .is_some_and(|(name, _)| is_name(name) && !name.contains(|letter: char| letter.is_ascii_lowercase()))
}

/// Whether a word can be the name of a variable.
pub(super) fn is_name(word: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    word.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
        && word.chars().all(is_letter)
}

/// The variables of a text with their values. A value is quoted, as a whole or in parts, or ends with its line; a backslash
/// at the end of a line continues it.
///
/// # Errors
/// A quote that does not end: its bytes.
pub(super) fn settings(text: &str) -> Result<Vec<(String, Letters)>, Range<usize>> {
    let mut found = Vec::new();
    let mut letters = text.char_indices().peekable();
    loop {
        while letters.next_if(|(_, letter)| letter.is_whitespace()).is_some() {}
        let Some((start, _)) = letters.peek().copied() else { return Ok(found) };
        let line = text.get(start..).and_then(|rest| rest.lines().next()).unwrap_or_default();
        if !is_setting(line) {
            while letters.next_if(|(_, letter)| *letter != '\n').is_some() {}
            continue;
        }
        let mut name = String::new();
        for (_, letter) in letters.by_ref().take_while(|(_, letter)| *letter != '=') {
            name.push(letter);
        }
        let name = name.trim_start_matches("export ").to_owned();
        found.push((name, value(&mut letters)?));
    }
}

/// A value up to the end of its line. Quotes count where they stand at its beginning or behind the end of others; elsewhere they
/// are letters.
fn value(letters: &mut impl Iterator<Item = (usize, char)>) -> Result<Letters, Range<usize>> {
    let mut value = Letters::new();
    let mut quote: Option<(char, usize)> = None;
    let mut is_inside = false;
    let mut last = 0;
    while let Some((at, letter)) = letters.next() {
        last = at;
        match (letter, quote) {
            ('\\', None | Some(('"', _))) => match letters.next() {
                Some((_, '\n')) => {}
                Some(next @ (_, '"' | '\\' | '$' | '`')) if quote.is_some() => value.push(next),
                Some(next) if quote.is_some() => value.extend([(at, '\\'), next]),
                Some(next) => value.push(next),
                None => break,
            },
            (letter, Some((own, _))) if letter == own => quote = None,
            (letter, Some(_)) => value.push((at, letter)),
            ('\n', None) => break,
            ('\'' | '"', None) if !is_inside => quote = Some((letter, at)),
            (letter, None) => {
                is_inside |= !letter.is_whitespace();
                value.push((at, letter));
            }
        }
    }
    if let Some((_, start)) = quote {
        return Err(start..last + 1);
    }
    while value.last().is_some_and(|(_, letter)| letter.is_whitespace()) {
        value.pop();
    }
    Ok(value)
}
