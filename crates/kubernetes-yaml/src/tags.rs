//! Tokens that say something about values: directives, anchors, aliases and tags.
//!
//! After libyaml, Copyright (c) 2006 Kirill Simonov, MIT licence.

use crate::cursor::Mark;
use crate::scanner::Scanner;
use crate::token::{SyntaxError, Token, TokenKind};

impl Scanner<'_> {
    /// `%YAML 1.1` or `%TAG !handle! prefix`, with the line's end.
    pub(crate) fn scan_directive(&mut self) -> Result<Token, SyntaxError> {
        let start = self.cursor.mark;
        self.cursor.skip();
        let name = self.word();
        let kind = match name.as_str() {
            _ if !self.cursor.is_gap(0) => {
                return Err(SyntaxError::new(start, "found unexpected non-alphabetical character"));
            }
            "YAML" => self.version()?,
            "TAG" => self.tag_directive(start)?,
            "" => return Err(SyntaxError::new(start, "could not find expected directive name")),
            _ => return Err(SyntaxError::new(start, "found unknown directive name")),
        };
        let end = self.cursor.mark;
        self.cursor.skip_blanks();
        self.cursor.skip_comment();
        if !self.cursor.is_line_end() {
            return Err(SyntaxError::new(start, "did not find expected comment or line break"));
        }
        self.cursor.skip_line();
        Ok(Token { kind, start, end })
    }

    fn word(&mut self) -> String {
        let mut word = String::new();
        while self.cursor.is_word() {
            self.cursor.read(&mut word);
        }
        word
    }

    fn version(&mut self) -> Result<TokenKind, SyntaxError> {
        self.cursor.skip_blanks();
        let major = self.version_number()?;
        if !self.cursor.is(b'.') {
            return Err(SyntaxError::new(self.cursor.mark, "did not find expected digit or '.' character"));
        }
        self.cursor.skip();
        Ok(TokenKind::VersionDirective { major, minor: self.version_number()? })
    }

    /// One or two digits.
    fn version_number(&mut self) -> Result<u8, SyntaxError> {
        let start = self.cursor.mark;
        let mut digits = String::new();
        while self.cursor.byte(0).is_ascii_digit() {
            self.cursor.read(&mut digits);
        }
        match digits.len() {
            0 => Err(SyntaxError::new(start, "did not find expected version number")),
            1 | 2 => Ok(digits.parse().unwrap_or(u8::MAX)),
            _ => Err(SyntaxError::new(start, "found extremely long version number")),
        }
    }

    fn tag_directive(&mut self, start: Mark) -> Result<TokenKind, SyntaxError> {
        self.cursor.skip_blanks();
        let handle = self.tag_handle(start)?;
        if !(handle == "!" || handle.len() > 1 && handle.ends_with('!')) {
            return Err(SyntaxError::new(start, "did not find expected '!'"));
        }
        if !self.cursor.is_blank() {
            return Err(SyntaxError::new(start, "did not find expected whitespace"));
        }
        self.cursor.skip_blanks();
        let prefix = self.tag_uri("", start)?;
        if !self.cursor.is_gap(0) {
            return Err(SyntaxError::new(start, "did not find expected whitespace or line break"));
        }
        Ok(TokenKind::TagDirective { handle, prefix })
    }

    /// `&name` or `*name`.
    pub(crate) fn scan_anchor(&mut self) -> Result<Token, SyntaxError> {
        let start = self.cursor.mark;
        let is_alias = self.cursor.is(b'*');
        self.cursor.skip();
        let name = self.word();
        if name.is_empty() || !(self.cursor.is_gap(0) || self.cursor.is_any(b"?:,]}%@`")) {
            return Err(SyntaxError::new(start, "did not find expected alphabetic or numeric character"));
        }
        let kind = if is_alias { TokenKind::Alias(name) } else { TokenKind::Anchor(name) };
        Ok(Token { kind, start, end: self.cursor.mark })
    }

    /// `!<uri>`, `!suffix`, `!handle!suffix` or `!`.
    pub(crate) fn scan_tag(&mut self) -> Result<Token, SyntaxError> {
        let start = self.cursor.mark;
        let (handle, suffix) = if self.cursor.byte(1) == b'<' {
            self.cursor.skip();
            self.cursor.skip();
            let suffix = self.tag_uri("", start)?;
            if !self.cursor.is(b'>') {
                return Err(SyntaxError::new(start, "did not find the expected '>'"));
            }
            self.cursor.skip();
            (String::new(), suffix)
        } else {
            let handle = self.tag_handle(start)?;
            if handle.len() > 1 && handle.ends_with('!') {
                let suffix = self.tag_uri("", start)?;
                (handle, suffix)
            } else {
                match self.tag_uri(&handle, start)? {
                    none if none.is_empty() => (none, "!".to_owned()),
                    suffix => ("!".to_owned(), suffix),
                }
            }
        };
        if !self.cursor.is_gap(0) {
            return Err(SyntaxError::new(start, "did not find expected whitespace or line break"));
        }
        Ok(Token { kind: TokenKind::Tag { handle, suffix }, start, end: self.cursor.mark })
    }

    /// `!`, `!word` or `!word!`.
    fn tag_handle(&mut self, start: Mark) -> Result<String, SyntaxError> {
        if !self.cursor.is(b'!') {
            return Err(SyntaxError::new(start, "did not find expected '!'"));
        }
        self.cursor.skip();
        let mut handle = format!("!{}", self.word());
        if self.cursor.is(b'!') {
            self.cursor.read(&mut handle);
        }
        Ok(handle)
    }

    /// What is left of a tag of which `head` was read, without its `!`.
    fn tag_uri(&mut self, head: &str, start: Mark) -> Result<String, SyntaxError> {
        let mut uri = head.get(1..).unwrap_or_default().as_bytes().to_vec();
        let mut is_there = !head.is_empty();
        while self.cursor.is_word() || self.cursor.is_any(b";/?:@&=+$,.!~*'()[]%") {
            is_there = true;
            if self.cursor.is(b'%') {
                let digit = |ahead| char::from(self.cursor.byte(ahead)).to_digit(16);
                let octet = digit(1).zip(digit(2)).and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
                uri.push(octet.ok_or(SyntaxError::new(start, "did not find URI escaped octet"))?);
                for _ in 0..3 {
                    self.cursor.skip();
                }
            } else {
                uri.push(self.cursor.byte(0));
                self.cursor.skip();
            }
        }
        if !is_there {
            return Err(SyntaxError::new(start, "did not find expected tag URI"));
        }
        String::from_utf8(uri).map_err(|_| SyntaxError::new(start, "found an incorrect UTF-8 octet"))
    }
}
