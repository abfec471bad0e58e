//! Tokens that are text: plain, in quotes, and as blocks of lines.
//!
//! After libyaml, Copyright (c) 2006 Kirill Simonov, MIT licence.

use super::scanner::Scanner;
use super::token::{ScalarStyle, SyntaxError, Token, TokenKind};

/// Which lines a block scalar ends with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chomping {
    /// `-`: none.
    Strip,
    /// The last one's break.
    Clip,
    /// `+`: all.
    Keep,
}

/// Blanks and line breaks between words, which are folded once it is known that a word follows.
#[derive(Default)]
struct Gap {
    blanks: String,
    first_break: String,
    more_breaks: String,
    has_break: bool,
}

impl Gap {
    /// One line break is a blank, each further one is itself. An escaped one is nothing.
    fn fold_into(&mut self, text: &mut String) {
        if !self.has_break {
            text.push_str(&self.blanks);
        } else if self.first_break.starts_with('\n') {
            text.push_str(if self.more_breaks.is_empty() { " " } else { &self.more_breaks });
        } else {
            text.push_str(&self.first_break);
            text.push_str(&self.more_breaks);
        }
        *self = Self::default();
    }
}

impl Scanner<'_> {
    /// `|` or `>` and the lines below.
    pub(super) fn scan_block_scalar(&mut self) -> Result<Token, SyntaxError> {
        let start = self.cursor.mark;
        let is_literal = self.cursor.is(b'|');
        self.cursor.skip();
        let (chomping, increment) = self.block_header()?;
        let mut end = self.cursor.mark;
        let mut indent = match increment {
            0 => 0,
            more => usize::try_from(self.indent).unwrap_or(0) + more,
        };
        let (mut text, mut first_break, mut more_breaks) = (String::new(), String::new(), String::new());
        let mut was_blank = false;
        self.block_breaks(&mut indent, &mut more_breaks, &mut end)?;
        while self.cursor.mark.column == indent && !self.cursor.is_end() {
            let is_blank = self.cursor.is_blank();
            if !is_literal && !was_blank && !is_blank && first_break.starts_with('\n') {
                if more_breaks.is_empty() {
                    text.push(' ');
                }
            } else {
                text.push_str(&first_break);
            }
            text.push_str(&more_breaks);
            first_break.clear();
            more_breaks.clear();
            was_blank = is_blank;
            while !self.cursor.is_line_end() {
                self.cursor.read(&mut text);
            }
            self.cursor.read_line(&mut first_break);
            self.block_breaks(&mut indent, &mut more_breaks, &mut end)?;
        }
        if chomping != Chomping::Strip {
            text.push_str(&first_break);
        }
        if chomping == Chomping::Keep {
            text.push_str(&more_breaks);
        }
        Ok(Token { kind: TokenKind::Scalar { text, style: ScalarStyle::Text }, start, end })
    }

    /// What is behind `|` or `>` up to the end of its line: chomping and indentation, in any order.
    fn block_header(&mut self) -> Result<(Chomping, usize), SyntaxError> {
        let (mut chomping, mut increment) = (Chomping::Clip, 0);
        let is_sign_first = self.cursor.is_any(b"+-");
        for is_sign in [is_sign_first, !is_sign_first] {
            let byte = self.cursor.byte(0);
            if is_sign && matches!(byte, b'+' | b'-') {
                chomping = if byte == b'+' { Chomping::Keep } else { Chomping::Strip };
            } else if !is_sign && byte.is_ascii_digit() {
                increment = usize::from(byte - b'0');
                if increment == 0 {
                    let problem = "found an indentation indicator equal to 0";
                    return Err(SyntaxError::new(self.cursor.mark, problem));
                }
            } else if is_sign == is_sign_first {
                break;
            } else {
                continue;
            }
            self.cursor.skip();
        }
        self.cursor.skip_blanks();
        self.cursor.skip_comment();
        if !self.cursor.is_line_end() {
            return Err(SyntaxError::new(self.cursor.mark, "did not find expected comment or line break"));
        }
        self.cursor.skip_line();
        Ok((chomping, increment))
    }

    /// Passes indentation and empty lines. An `indent` of 0 becomes that of the first line that is not empty.
    fn block_breaks(
        &mut self,
        indent: &mut usize,
        breaks: &mut String,
        end: &mut super::cursor::Mark,
    ) -> Result<(), SyntaxError> {
        *end = self.cursor.mark;
        let mut deepest = 0;
        loop {
            let is_left = |column: usize, indent: usize| indent == 0 || column < indent;
            while is_left(self.cursor.mark.column, *indent) && self.cursor.is(b' ') {
                self.cursor.skip();
            }
            deepest = deepest.max(self.cursor.mark.column);
            if is_left(self.cursor.mark.column, *indent) && self.cursor.is(b'\t') {
                let problem = "found a tab character where an indentation space is expected";
                return Err(SyntaxError::new(self.cursor.mark, problem));
            }
            if !self.cursor.is_break(0) {
                break;
            }
            self.cursor.read_line(breaks);
            *end = self.cursor.mark;
        }
        if *indent == 0 {
            *indent = deepest.max(usize::try_from(self.indent + 1).unwrap_or(0)).max(1);
        }
        Ok(())
    }

    /// Text in single or double quotes.
    pub(super) fn scan_quoted(&mut self) -> Result<Token, SyntaxError> {
        let start = self.cursor.mark;
        let quote = self.cursor.byte(0);
        self.cursor.skip();
        let mut text = String::new();
        loop {
            if self.cursor.is_document_marker() {
                return Err(SyntaxError::new(start, "found unexpected document indicator in a quoted text"));
            }
            if self.cursor.is_end() {
                return Err(SyntaxError::new(start, "found unexpected end of stream: a quote is not closed"));
            }
            let mut gap = Gap { has_break: self.quoted_word(quote, &mut text)?, ..Gap::default() };
            if self.cursor.is(quote) {
                break;
            }
            self.gap(&mut gap);
            gap.fold_into(&mut text);
        }
        self.cursor.skip();
        let kind = TokenKind::Scalar { text, style: ScalarStyle::Text };
        Ok(Token { kind, start, end: self.cursor.mark })
    }

    /// Reads up to a blank, a line's end or the closing quote. Whether that was an escaped line break.
    fn quoted_word(&mut self, quote: u8, text: &mut String) -> Result<bool, SyntaxError> {
        while !self.cursor.is_gap(0) {
            let byte = self.cursor.byte(0);
            if quote == b'\'' && byte == quote && self.cursor.byte(1) == quote {
                text.push('\'');
                self.cursor.skip();
                self.cursor.skip();
            } else if byte == quote {
                break;
            } else if quote == b'"' && byte == b'\\' && self.cursor.is_break(1) {
                self.cursor.skip();
                self.cursor.skip_line();
                return Ok(true);
            } else if quote == b'"' && byte == b'\\' {
                self.escape(text)?;
            } else {
                self.cursor.read(text);
            }
        }
        Ok(false)
    }

    /// A backslash and what it stands for.
    fn escape(&mut self, text: &mut String) -> Result<(), SyntaxError> {
        let start = self.cursor.mark;
        let (literal, digits) = match self.cursor.byte(1) {
            b'0' => ('\0', 0),
            b'a' => ('\x07', 0),
            b'b' => ('\x08', 0),
            b't' | b'\t' => ('\t', 0),
            b'n' => ('\n', 0),
            b'v' => ('\x0b', 0),
            b'f' => ('\x0c', 0),
            b'r' => ('\r', 0),
            b'e' => ('\x1b', 0),
            byte @ (b' ' | b'"' | b'\'' | b'\\') => (char::from(byte), 0),
            b'N' => ('\u{85}', 0),
            b'_' => ('\u{a0}', 0),
            b'L' => ('\u{2028}', 0),
            b'P' => ('\u{2029}', 0),
            b'x' => ('\0', 2),
            b'u' => ('\0', 4),
            b'U' => ('\0', 8),
            _ => return Err(SyntaxError::new(start, "found unknown escape character")),
        };
        self.cursor.skip();
        self.cursor.skip();
        if digits == 0 {
            text.push(literal);
            return Ok(());
        }
        let mut code = 0_u32;
        for _ in 0..digits {
            let Some(digit) = char::from(self.cursor.byte(0)).to_digit(16) else {
                return Err(SyntaxError::new(start, "did not find expected hexdecimal number"));
            };
            code = (code << 4) | digit;
            self.cursor.skip();
        }
        let invalid = SyntaxError::new(start, "found invalid Unicode character escape code");
        text.push(char::from_u32(code).ok_or(invalid)?);
        Ok(())
    }

    /// Passes blanks and line breaks.
    fn gap(&mut self, gap: &mut Gap) {
        while self.cursor.is_blank() || self.cursor.is_break(0) {
            self.add_to_gap(gap);
        }
    }

    /// Passes a blank or a line break.
    fn add_to_gap(&mut self, gap: &mut Gap) {
        match (self.cursor.is_blank(), gap.has_break) {
            (true, true) => self.cursor.skip(),
            (true, false) => self.cursor.read(&mut gap.blanks),
            (false, true) => self.cursor.read_line(&mut gap.more_breaks),
            (false, false) => {
                self.cursor.read_line(&mut gap.first_break);
                gap.has_break = true;
            }
        }
    }

    /// Words without quotes.
    pub(super) fn scan_plain(&mut self) -> Result<Token, SyntaxError> {
        let (start, mut end) = (self.cursor.mark, self.cursor.mark);
        let indent = self.indent + 1;
        let is_left = |column: usize| isize::try_from(column).is_ok_and(|column| column < indent);
        let (mut text, mut gap) = (String::new(), Gap::default());
        loop {
            if self.cursor.is_document_marker() || self.cursor.is(b'#') {
                break;
            }
            while !self.cursor.is_gap(0) && !self.ends_plain() {
                gap.fold_into(&mut text);
                self.cursor.read(&mut text);
                end = self.cursor.mark;
            }
            if !(self.cursor.is_blank() || self.cursor.is_break(0)) {
                break;
            }
            self.plain_gap(&mut gap, is_left)?;
            if !self.in_flow() && is_left(self.cursor.mark.column) {
                break;
            }
        }
        // A line break was passed, after which a key may start.
        if gap.has_break {
            self.may_start_key = true;
        }
        Ok(Token { kind: TokenKind::Scalar { text, style: ScalarStyle::Plain }, start, end })
    }

    fn ends_plain(&self) -> bool {
        (self.cursor.is(b':') && self.cursor.is_gap(1)) || (self.in_flow() && self.cursor.is_any(b",?[]{}"))
    }

    /// The same as [`gap`](Self::gap), but no tab is indentation.
    fn plain_gap(&mut self, gap: &mut Gap, is_left: impl Fn(usize) -> bool) -> Result<(), SyntaxError> {
        while self.cursor.is_blank() || self.cursor.is_break(0) {
            if gap.has_break && is_left(self.cursor.mark.column) && self.cursor.is(b'\t') {
                let problem = "found a tab character that violates indentation";
                return Err(SyntaxError::new(self.cursor.mark, problem));
            }
            self.add_to_gap(gap);
        }
        Ok(())
    }
}
