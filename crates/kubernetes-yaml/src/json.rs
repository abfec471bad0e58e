//! JSON with places, as `encoding/json` of Go takes it. YAML takes most of it too, but neither surrogates nor tabs.

use core::ops::Range;

use crate::mapping::{Mapping, Set};
use crate::{Entry, MAX_DEPTH, Node, TextError, TextProblem, Value};

/// One document, where it ends, and the keys that it repeats.
pub(crate) struct JsonDocument {
    pub(crate) node: Node,
    pub(crate) end: usize,
    pub(crate) repeated: Vec<(String, Range<usize>)>,
}

/// The document that starts at a byte of a text; `None`: nothing follows but blanks.
pub(crate) fn read_json(text: &str, at: usize) -> Result<Option<JsonDocument>, TextError> {
    let mut reader = Reader { text, at, depth: 0, repeated: Vec::new() };
    reader.skip_blanks();
    if reader.byte() == 0 && reader.at >= text.len() {
        return Ok(None);
    }
    let node = reader.value()?;
    Ok(Some(JsonDocument { node, end: reader.at, repeated: reader.repeated }))
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    repeated: Vec<(String, Range<usize>)>,
}

impl Reader<'_> {
    fn byte(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    fn skip_blanks(&mut self) {
        while matches!(self.byte(), b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
    }

    fn fail<T>(&self, wanted: &str) -> Result<T, TextError> {
        let found = match self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            None => "unexpected end of JSON input".to_owned(),
            Some(c) => format!("invalid character {c:?}"),
        };
        Err(TextError::at(self.at, TextProblem::Syntax(format!("{found} {wanted}"))))
    }

    fn value(&mut self) -> Result<Node, TextError> {
        self.skip_blanks();
        let start = self.at;
        let value = match self.byte() {
            b'"' => Value::Text(self.string()?),
            b'-' | b'0'..=b'9' => Value::Number(self.number()?),
            b'{' => self.nested(Self::object)?,
            b'[' => self.nested(Self::array)?,
            b't' => self.word("true", Value::Bool(true))?,
            b'f' => self.word("false", Value::Bool(false))?,
            b'n' => self.word("null", Value::Null)?,
            _ => return self.fail("looking for beginning of value"),
        };
        // The place of a collection is where it begins.
        let end = if matches!(value, Value::List(_) | Value::Map(_)) { start + 1 } else { self.at };
        Ok(Node { value, span: start..end })
    }

    fn nested(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<Value, TextError>,
    ) -> Result<Value, TextError> {
        if self.depth == MAX_DEPTH {
            return Err(TextError::at(self.at, TextProblem::TooDeep));
        }
        self.depth += 1;
        self.at += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, TextError> {
        for letter in word.bytes() {
            if self.byte() != letter {
                return self.fail(&format!("in literal {word}"));
            }
            self.at += 1;
        }
        Ok(value)
    }

    fn array(&mut self) -> Result<Value, TextError> {
        let mut items = Vec::new();
        self.skip_blanks();
        if self.byte() == b']' {
            self.at += 1;
            return Ok(Value::List(items));
        }
        loop {
            items.push(self.value()?);
            self.skip_blanks();
            match self.byte() {
                b',' => self.at += 1,
                b']' => {
                    self.at += 1;
                    return Ok(Value::List(items));
                }
                _ => return self.fail("after array element"),
            }
        }
    }

    fn object(&mut self) -> Result<Value, TextError> {
        let mut mapping = Mapping::default();
        self.skip_blanks();
        if self.byte() == b'}' {
            self.at += 1;
            return Ok(Value::Map(mapping.entries));
        }
        loop {
            self.skip_blanks();
            let start = self.at;
            if self.byte() != b'"' {
                return self.fail("looking for beginning of object key string");
            }
            let key = self.string()?;
            let key_span = start..self.at;
            self.skip_blanks();
            if self.byte() != b':' {
                return self.fail("after object key");
            }
            self.at += 1;
            let value = self.value()?;
            if mapping.set(Entry { key: key.clone(), key_span: key_span.clone(), value }) == Set::Again {
                self.repeated.push((key, key_span));
            }
            self.skip_blanks();
            match self.byte() {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Ok(Value::Map(mapping.entries));
                }
                _ => return self.fail("after object key:value pair"),
            }
        }
    }

    /// A number as it is written.
    fn number(&mut self) -> Result<String, TextError> {
        let start = self.at;
        if self.byte() == b'-' {
            self.at += 1;
        }
        match self.byte() {
            b'0' => self.at += 1,
            _ => self.digits()?,
        }
        if self.byte() == b'.' {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.byte(), b'e' | b'E') {
            self.at += 1;
            if matches!(self.byte(), b'+' | b'-') {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(self.text.get(start..self.at).unwrap_or_default().to_owned())
    }

    /// One digit or more.
    fn digits(&mut self) -> Result<(), TextError> {
        if !self.byte().is_ascii_digit() {
            return self.fail("in numeric literal");
        }
        while self.byte().is_ascii_digit() {
            self.at += 1;
        }
        Ok(())
    }

    fn string(&mut self) -> Result<String, TextError> {
        self.at += 1;
        let mut text = String::new();
        loop {
            let rest = self.text.get(self.at..).unwrap_or_default();
            match rest.chars().next() {
                Some('"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some('\\') => text.push(self.escape()?),
                Some(c) if c >= ' ' => {
                    text.push(c);
                    self.at += c.len_utf8();
                }
                _ => return self.fail("in string literal"),
            }
        }
    }

    fn escape(&mut self) -> Result<char, TextError> {
        self.at += 1;
        let byte = self.byte();
        let c = match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\x08',
            b'f' => '\x0c',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.code(),
            _ => return self.fail("in string escape code"),
        };
        self.at += 1;
        Ok(c)
    }

    /// `uXXXX`, or a pair of surrogates; a surrogate alone is U+FFFD.
    fn code(&mut self) -> Result<char, TextError> {
        let code = self.hex()?;
        if let Some(c) = char::from_u32(code) {
            return Ok(c);
        }
        let after = self.at;
        if code < 0xdc00 && self.byte() == b'\\' {
            self.at += 1;
            if self.byte() == b'u' {
                let low = self.hex()?;
                if (0xdc00..0xe000).contains(&low) {
                    let code = 0x1_0000 + ((code - 0xd800) << 10) + (low - 0xdc00);
                    return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
            }
        }
        self.at = after;
        Ok(char::REPLACEMENT_CHARACTER)
    }

    /// Four digits behind a letter.
    fn hex(&mut self) -> Result<u32, TextError> {
        let mut code = 0;
        for _ in 0..4 {
            self.at += 1;
            let Some(digit) = char::from(self.byte()).to_digit(16) else {
                return self.fail("in \\u hexadecimal character escape");
            };
            code = code << 4 | digit;
        }
        self.at += 1;
        Ok(code)
    }
}
