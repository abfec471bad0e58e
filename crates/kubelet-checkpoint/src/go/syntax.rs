//! Whether a text is JSON, in Go's words where it is not.
//!
//! Go looks through the whole text before it decodes anything. Nesting costs a byte a level, never the stack.

use alloc::vec::Vec;

use super::{JsonError, JsonFault};

/// Deeper is refused.
const MAX_DEPTH: usize = 10_000;

/// What a value stands in.
#[derive(Clone, Copy)]
enum Within {
    Array,
    Object,
}

/// Checks a text; an error says at which byte.
pub(crate) fn check(text: &[u8]) -> Result<(), JsonError> {
    Scan { text, at: 0 }.document()
}

pub(super) struct Scan<'a> {
    pub(super) text: &'a [u8],
    pub(super) at: usize,
}

impl Scan<'_> {
    fn document(&mut self) -> Result<(), JsonError> {
        let mut open: Vec<Within> = Vec::new();
        loop {
            // A value begins here.
            let entered = match self.after_blanks()? {
                b'{' => Some(Within::Object),
                b'[' => Some(Within::Array),
                first => {
                    self.literal(first)?;
                    None
                }
            };
            if let Some(within) = entered {
                if open.len() == MAX_DEPTH {
                    return Err(self.refuse("exceeded max depth"));
                }
                self.at += 1;
                let first = self.after_blanks()?;
                match (within, first) {
                    (Within::Object, b'}') | (Within::Array, b']') => self.at += 1,
                    (Within::Object, _) => {
                        open.push(within);
                        self.key()?;
                        continue;
                    }
                    (Within::Array, _) => {
                        open.push(within);
                        continue;
                    }
                }
            }
            // A value has ended: so may those it stands in.
            loop {
                let Some(within) = open.last() else { return self.end() };
                let next = self.after_blanks()?;
                match (within, next) {
                    (Within::Object, b',') => {
                        self.at += 1;
                        self.after_blanks()?;
                        self.key()?;
                        break;
                    }
                    (Within::Array, b',') => {
                        self.at += 1;
                        break;
                    }
                    (Within::Object, b'}') | (Within::Array, b']') => {
                        self.at += 1;
                        open.pop();
                    }
                    (Within::Object, _) => return Err(self.refuse("after object key:value pair")),
                    (Within::Array, _) => return Err(self.refuse("after array element")),
                }
            }
        }
    }

    fn end(&mut self) -> Result<(), JsonError> {
        match self.after_blanks() {
            Ok(_) => Err(self.refuse("after top-level value")),
            Err(_) => Ok(()),
        }
    }

    pub(super) fn key(&mut self) -> Result<(), JsonError> {
        if self.byte() != b'"' {
            return Err(self.refuse("looking for beginning of object key string"));
        }
        self.string()?;
        if self.after_blanks()? != b':' {
            return Err(self.refuse("after object key"));
        }
        self.at += 1;
        Ok(())
    }

    pub(super) fn literal(&mut self, first: u8) -> Result<(), JsonError> {
        match first {
            b'"' => self.string(),
            b'-' | b'0'..=b'9' => self.number(first),
            b't' => self.word(&[
                (b'r', "in literal true (expecting 'r')"),
                (b'u', "in literal true (expecting 'u')"),
                (b'e', "in literal true (expecting 'e')"),
            ]),
            b'f' => self.word(&[
                (b'a', "in literal false (expecting 'a')"),
                (b'l', "in literal false (expecting 'l')"),
                (b's', "in literal false (expecting 's')"),
                (b'e', "in literal false (expecting 'e')"),
            ]),
            b'n' => self.word(&[
                (b'u', "in literal null (expecting 'u')"),
                (b'l', "in literal null (expecting 'l')"),
                (b'l', "in literal null (expecting 'l')"),
            ]),
            _ => Err(self.refuse("looking for beginning of value")),
        }
    }

    fn word(&mut self, rest: &[(u8, &'static str)]) -> Result<(), JsonError> {
        for (expected, place) in rest {
            self.at += 1;
            if self.byte() != *expected {
                return Err(self.refuse(place));
            }
        }
        self.at += 1;
        Ok(())
    }

    fn number(&mut self, first: u8) -> Result<(), JsonError> {
        if first == b'-' {
            self.at += 1;
            self.one_digit("in numeric literal")?;
        }
        if self.byte() == b'0' {
            self.at += 1;
        } else {
            self.digits();
        }
        if self.byte() == b'.' {
            self.at += 1;
            self.one_digit("after decimal point in numeric literal")?;
            self.digits();
        }
        if matches!(self.byte(), b'e' | b'E') {
            self.at += 1;
            if matches!(self.byte(), b'+' | b'-') {
                self.at += 1;
            }
            self.one_digit("in exponent of numeric literal")?;
            self.digits();
        }
        Ok(())
    }

    fn one_digit(&self, place: &'static str) -> Result<(), JsonError> {
        if self.byte().is_ascii_digit() { Ok(()) } else { Err(self.refuse(place)) }
    }

    fn digits(&mut self) {
        while self.byte().is_ascii_digit() {
            self.at += 1;
        }
    }

    fn string(&mut self) -> Result<(), JsonError> {
        self.at += 1;
        loop {
            let Some(byte) = self.text.get(self.at) else { return Err(self.ended()) };
            match byte {
                b'"' => break,
                b'\\' => self.escape()?,
                ..b' ' => return Err(self.refuse("in string literal")),
                _ => {}
            }
            self.at += 1;
        }
        self.at += 1;
        Ok(())
    }

    /// Ends at the last byte of the escape.
    fn escape(&mut self) -> Result<(), JsonError> {
        self.at += 1;
        match self.byte() {
            b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => Ok(()),
            b'u' => {
                for _ in 0..4 {
                    self.at += 1;
                    if !self.byte().is_ascii_hexdigit() {
                        return Err(self.refuse(r"in \u hexadecimal character escape"));
                    }
                }
                Ok(())
            }
            _ => Err(self.refuse("in string escape code")),
        }
    }

    /// The byte at hand; Go puts a blank behind the text to end whatever stands last.
    fn byte(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(b' ')
    }

    /// Goes to the next byte that is no blank, and gives it.
    pub(super) fn after_blanks(&mut self) -> Result<u8, JsonError> {
        loop {
            match self.text.get(self.at) {
                None => return Err(self.ended()),
                Some(b' ' | b'\t' | b'\r' | b'\n') => self.at += 1,
                Some(byte) => return Ok(*byte),
            }
        }
    }

    fn ended(&self) -> JsonError {
        JsonError { fault: JsonFault::UnexpectedEnd, offset: self.text.len() }
    }

    pub(super) fn refuse(&self, place: &'static str) -> JsonError {
        JsonError { fault: JsonFault::InvalidCharacter { byte: self.byte(), place }, offset: self.at }
    }
}
