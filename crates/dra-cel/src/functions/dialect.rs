//! From RE2's syntax, as Go has it, to the syntax of the crate that matches.
//!
//! The two differ: perl classes and word boundaries are ASCII in RE2, brackets in a class nest in Rust's, and a brace that
//! begins no repetition is a brace in RE2. What RE2 refuses is refused here.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

/// The most repetitions, nested ones multiplied.
const MOST: u64 = 1000;

/// The same pattern in the other syntax; an error if RE2 refuses it.
pub(super) fn translated(pattern: &str) -> Result<String, String> {
    let mut translator =
        Translator { rest: pattern, out: String::new(), open: Vec::new(), last: Last::Nothing, inside: 1 };
    while !translator.rest.is_empty() {
        translator.step()?;
    }
    if translator.open.is_empty() {
        Ok(translator.out)
    } else {
        Err(parse_error("missing closing ): ", pattern))
    }
}

fn parse_error(reason: &str, what: &str) -> String {
    format!("error parsing regexp: {reason}`{what}`")
}

/// What a repetition would repeat.
#[derive(Clone, Copy, PartialEq)]
enum Last {
    Nothing,
    /// Something whose repetitions multiply to this number.
    Item(u64),
    Repetition,
}

struct Translator<'a> {
    rest: &'a str,
    out: String,
    /// What `inside` was before each parenthesis that is open.
    open: Vec<u64>,
    last: Last,
    /// The largest product of repetitions in the group so far.
    inside: u64,
}

impl Translator<'_> {
    fn take(&mut self, length: usize) {
        self.rest = &self.rest[length..];
    }

    fn item(&mut self, text: &str) {
        self.out.push_str(text);
        self.last = Last::Item(1);
    }

    fn literal(&mut self, character: char) {
        self.item(&literal(character));
    }

    fn step(&mut self) -> Result<(), String> {
        let Some(first) = self.rest.chars().next() else { return Ok(()) };
        match first {
            '(' => self.group(),
            ')' => self.close(),
            '|' => {
                self.out.push('|');
                self.last = Last::Nothing;
                self.take(1);
                Ok(())
            }
            '[' => self.class(),
            '\\' => self.escape(),
            '*' | '+' | '?' => self.repetition(1, MOST + 1),
            '{' => match repetition(self.rest) {
                Some(found) => self.counted(&found),
                None => {
                    self.take(1);
                    self.literal('{');
                    Ok(())
                }
            },
            '^' | '$' | '.' => {
                self.take(1);
                self.item(first.encode_utf8(&mut [0; 4]));
                Ok(())
            }
            _ => {
                self.take(first.len_utf8());
                self.literal(first);
                Ok(())
            }
        }
    }

    fn group(&mut self) -> Result<(), String> {
        let refused = || Err(parse_error("invalid or unsupported Perl syntax: ", self.rest));
        let length = match self.rest.strip_prefix("(?") {
            None => 1,
            Some(rest) if rest.starts_with("P<") || rest.starts_with('<') => {
                let end = rest.find('>').map_or(0, |end| end + 1);
                let name = rest.trim_start_matches('P').get(1..).and_then(|rest| rest.split('>').next());
                let is_name = name.is_some_and(|name| {
                    !name.is_empty() && name.chars().all(|part| part.is_alphanumeric() || part == '_')
                });
                if end == 0 || !is_name {
                    return refused();
                }
                2 + end
            }
            Some(rest) => {
                let end = rest.find([':', ')']).unwrap_or(rest.len());
                let flags = &rest[..end];
                let is_set =
                    flags.chars().all(|flag| "imsU-".contains(flag)) && flags.matches('-').count() < 2;
                if end == rest.len() || !is_set || flags.ends_with('-') {
                    return refused();
                }
                if rest[end..].starts_with(')') {
                    if flags.is_empty() {
                        return Err(parse_error("missing argument to repetition operator: ", "?"));
                    }
                    self.out.push_str(&self.rest[..=2 + end]);
                    self.take(2 + end + 1);
                    self.last = Last::Nothing;
                    return Ok(());
                }
                2 + end + 1
            }
        };
        // Names of groups are not asked for.
        let opening = if self.rest.starts_with("(?P<") || self.rest.starts_with("(?<") {
            "("
        } else {
            &self.rest[..length]
        };
        self.out.push_str(opening);
        self.take(length);
        self.open.push(self.inside);
        self.inside = 1;
        self.last = Last::Nothing;
        Ok(())
    }

    fn close(&mut self) -> Result<(), String> {
        let Some(outside) = self.open.pop() else { return Err(parse_error("unexpected ): ", self.rest)) };
        self.out.push(')');
        self.take(1);
        self.last = Last::Item(self.inside);
        self.inside = self.inside.max(outside);
        Ok(())
    }

    /// A repetition operator of so many bytes, which repeats at most so often; more than [`MOST`] is without bound.
    fn repetition(&mut self, length: usize, times: u64) -> Result<(), String> {
        let operator = &self.rest[..length];
        let before = match self.last {
            Last::Nothing => return Err(parse_error("missing argument to repetition operator: ", operator)),
            Last::Repetition => return Err(parse_error("invalid nested repetition operator: ", operator)),
            Last::Item(before) => before,
        };
        let product = if times > MOST { before } else { before * times.max(1) };
        if product > MOST {
            return Err(parse_error("invalid repeat count: ", operator));
        }
        self.inside = self.inside.max(product);
        self.out.push_str(operator);
        self.take(length);
        if self.rest.starts_with('?') {
            self.out.push('?');
            self.take(1);
        }
        self.last = Last::Repetition;
        Ok(())
    }

    fn counted(&mut self, found: &Counted) -> Result<(), String> {
        let refused = |rest: &str| Err(parse_error("invalid repeat count: ", &rest[..found.length]));
        if found.least > MOST || found.most.is_some_and(|most| most > MOST || most < found.least) {
            return refused(self.rest);
        }
        self.repetition(found.length, found.most.unwrap_or(found.least))
    }

    fn escape(&mut self) -> Result<(), String> {
        let rest = &self.rest[1..];
        let Some(first) = rest.chars().next() else {
            return Err(parse_error("trailing backslash at end of expression: ", ""));
        };
        let replacement = match first {
            'A' => Some("\\A"),
            'z' => Some("\\z"),
            'b' => Some("(?-u:\\b)"),
            'B' => Some("(?-u:\\B)"),
            _ => perl_class(first),
        };
        if let Some(replacement) = replacement {
            self.take(2);
            self.item(replacement);
            return Ok(());
        }
        if first == 'Q' {
            let quoted = rest[1..].split("\\E").next().unwrap_or_default().to_string();
            let length = (2 + quoted.len() + 2).min(self.rest.len());
            self.take(length);
            quoted.chars().for_each(|character| self.literal(character));
            return Ok(());
        }
        if matches!(first, 'p' | 'P') {
            let length =
                property(rest).ok_or_else(|| parse_error("invalid character class range: ", self.rest))?;
            let text = self.rest[..=length].to_string();
            self.take(1 + length);
            self.item(&text);
            return Ok(());
        }
        let (character, length) = character(self.rest)
            .ok_or_else(|| parse_error("invalid escape sequence: ", &self.rest[..=first.len_utf8()]))?;
        self.take(length);
        self.literal(character);
        Ok(())
    }

    fn class(&mut self) -> Result<(), String> {
        let whole = self.rest;
        let missing = || parse_error("missing closing ]: ", whole);
        let mut out = String::from("[");
        let mut rest = &whole[1..];
        if let Some(inside) = rest.strip_prefix('^') {
            out.push('^');
            rest = inside;
        }
        let mut is_first = true;
        loop {
            if !is_first && rest.starts_with(']') {
                break;
            }
            is_first = false;
            let (text, length) = class_item(rest).ok_or_else(missing)??;
            out.push_str(&text);
            rest = &rest[length..];
        }
        out.push(']');
        let length = whole.len() - rest.len() + 1;
        self.take(length);
        self.item(&out);
        Ok(())
    }
}

type ClassItem = Result<(String, usize), String>;

/// A range, character or class in brackets, and its length. `None` at the end of the pattern.
fn class_item(rest: &str) -> Option<ClassItem> {
    if let Some(name) = rest.strip_prefix("[:").and_then(|rest| rest.split_once(":]")).map(|(name, _)| name) {
        const NAMES: [&str; 14] = [
            "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
            "space", "upper", "word", "xdigit",
        ];
        if NAMES.contains(&name.trim_start_matches('^')) {
            let length = name.len() + 4;
            return Some(Ok((rest[..length].to_string(), length)));
        }
        if name.chars().all(|part| part.is_ascii_alphabetic() || part == '^') {
            return Some(Err(parse_error("invalid character class range: ", &rest[..name.len() + 4])));
        }
    }
    if let Some(escaped) = rest.strip_prefix('\\') {
        let first = escaped.chars().next()?;
        if let Some(class) = perl_class(first) {
            return Some(Ok((class.to_string(), 2)));
        }
        if matches!(first, 'p' | 'P') {
            let length = property(escaped);
            let refused = || parse_error("invalid character class range: ", rest);
            return Some(length.map(|length| (rest[..=length].to_string(), 1 + length)).ok_or_else(refused));
        }
    }
    Some(range(rest))
}

fn range(rest: &str) -> ClassItem {
    let refused = |rest: &str| parse_error("invalid escape sequence: ", rest.get(..2).unwrap_or(rest));
    let (low, length) = character(rest).ok_or_else(|| refused(rest))?;
    let behind = &rest[length..];
    let Some(high) = behind.strip_prefix('-').filter(|high| !high.is_empty() && !high.starts_with(']'))
    else {
        return Ok((literal(low), length));
    };
    let (high, high_length) = character(high).ok_or_else(|| refused(high))?;
    let length = length + 1 + high_length;
    if high < low {
        return Err(parse_error("invalid character class range: ", &rest[..length]));
    }
    Ok((format!("{}-{}", literal(low), literal(high)), length))
}

fn literal(character: char) -> String {
    if character.is_ascii_alphanumeric() || !character.is_ascii() {
        character.to_string()
    } else {
        format!("\\x{{{:x}}}", u32::from(character))
    }
}

fn perl_class(letter: char) -> Option<&'static str> {
    Some(match letter {
        'd' => "[0-9]",
        'D' => "[^0-9]",
        's' => "[\\t\\n\\x0C\\r ]",
        'S' => "[^\\t\\n\\x0C\\r ]",
        'w' => "[0-9A-Za-z_]",
        'W' => "[^0-9A-Za-z_]",
        _ => return None,
    })
}

/// The length of `pL` or `p{Greek}`.
fn property(rest: &str) -> Option<usize> {
    let second = rest.chars().nth(1)?;
    if second == '{' { rest.find('}').map(|end| end + 1) } else { Some(1 + second.len_utf8()) }
}

/// A character that stands for itself or is escaped, and its length.
fn character(rest: &str) -> Option<(char, usize)> {
    let first = rest.chars().next()?;
    let Some(escaped) = rest.strip_prefix('\\') else { return Some((first, first.len_utf8())) };
    let letter = escaped.chars().next()?;
    let simple = match letter {
        'a' => '\u{7}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        'x' => return hexadecimal(escaped).map(|(character, length)| (character, 1 + length)),
        '0'..='7' => return octal(escaped).map(|(character, length)| (character, 1 + length)),
        _ if letter.is_ascii_punctuation() || letter.is_ascii_control() || letter == ' ' => letter,
        _ => return None,
    };
    Some((simple, 1 + letter.len_utf8()))
}

fn hexadecimal(escaped: &str) -> Option<(char, usize)> {
    let (digits, length) = match escaped.strip_prefix("x{") {
        Some(rest) => {
            let end = rest.find('}')?;
            (&rest[..end], end + 3)
        }
        None => (escaped.get(1..3)?, 3),
    };
    let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_number.then(|| Some((char::from_u32(u32::from_str_radix(digits, 16).ok()?)?, length)))?
}

/// `\012`; a single digit but zero would be a reference to a group, which RE2 does not have.
fn octal(escaped: &str) -> Option<(char, usize)> {
    let count = escaped.bytes().take(3).take_while(|digit| matches!(digit, b'0'..=b'7')).count();
    if count == 1 && !escaped.starts_with('0') {
        return None;
    }
    Some((char::from_u32(u32::from_str_radix(&escaped[..count], 8).ok()?)?, count))
}

/// `{2}`, `{2,}` or `{2,5}`.
struct Counted {
    least: u64,
    most: Option<u64>,
    length: usize,
}

fn repetition(rest: &str) -> Option<Counted> {
    let (inside, _) = rest.strip_prefix('{')?.split_once('}')?;
    let number = |text: &str| -> Option<u64> {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let has_zeros = text.len() > 1 && text.starts_with('0');
        (is_number && !has_zeros).then(|| text.parse().unwrap_or(u64::MAX))
    };
    let length = inside.len() + 2;
    Some(match inside.split_once(',') {
        None => Counted { least: number(inside)?, most: Some(number(inside)?), length },
        Some((least, "")) => Counted { least: number(least)?, most: None, length },
        Some((least, most)) => Counted { least: number(least)?, most: Some(number(most)?), length },
    })
}
