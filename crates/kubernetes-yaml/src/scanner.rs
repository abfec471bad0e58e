//! From text to tokens, as libyaml's scanner goes: the one that stands in `go.yaml.in/yaml/v2`, below kubectl and the
//! kubelet. It is older than YAML 1.2 and than today's libyaml, and both read some texts otherwise.
//!
//! A key is only known by the `:` after it, so the place of each value that may be one is kept, one for each flow
//! collection that is open. When the `:` comes, the key's token is put in before its value.
//!
//! After libyaml, Copyright (c) 2006 Kirill Simonov, MIT licence.

use std::collections::{HashMap, VecDeque};

use crate::cursor::{Cursor, Mark};
use crate::token::{SyntaxError, Token, TokenKind};

/// How far from its start the `:` of a key may be, in characters.
const LONGEST_KEY: usize = 1024;
/// How many collections may be open: the Go library's limit.
const MAX_OPEN: usize = 10_000;

/// Cuts a text into tokens.
pub(crate) struct Scanner<'a> {
    pub(crate) cursor: Cursor<'a>,
    tokens: VecDeque<Token>,
    /// How many tokens were handed out.
    taken: usize,
    state: StreamState,
    /// The column of the innermost block collection; -1 outside of all.
    pub(crate) indent: isize,
    indents: Vec<isize>,
    /// Where the flow collections begin that are open.
    pub(crate) brackets: Vec<Mark>,
    keys: Vec<PossibleKey>,
    /// Places in `keys` by the number of the token.
    keys_by_token: HashMap<usize, usize>,
    pub(crate) may_start_key: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StreamState {
    New,
    Open,
    Ended,
}

/// A value that may turn out to be a key.
#[derive(Clone, Copy)]
struct PossibleKey {
    state: KeyState,
    token: usize,
    mark: Mark,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum KeyState {
    None,
    Possible,
    /// At the column of a block mapping there is nothing but keys.
    Required,
}

impl PossibleKey {
    const fn none(token: usize, mark: Mark) -> Self {
        Self { state: KeyState::None, token, mark }
    }
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self {
            cursor: Cursor::new(text),
            tokens: VecDeque::new(),
            taken: 0,
            state: StreamState::New,
            indent: -1,
            indents: Vec::new(),
            brackets: Vec::new(),
            keys: vec![PossibleKey::none(0, Mark::default())],
            keys_by_token: HashMap::new(),
            may_start_key: true,
        }
    }

    /// The next token, which stays the next one.
    pub(crate) fn peek(&mut self) -> Result<&Token, SyntaxError> {
        while self.state != StreamState::Ended && self.needs_more()? {
            self.fetch()?;
        }
        let end = SyntaxError::new(self.cursor.mark, "did not find expected node content");
        self.tokens.front().ok_or(end)
    }

    /// Takes the next token.
    pub(crate) fn take(&mut self) -> Result<Token, SyntaxError> {
        self.peek()?;
        self.taken += 1;
        let end = SyntaxError::new(self.cursor.mark, "did not find expected node content");
        self.tokens.pop_front().ok_or(end)
    }

    /// Whether the next token is not known yet: there is none, or it may be a key.
    fn needs_more(&mut self) -> Result<bool, SyntaxError> {
        if self.tokens.is_empty() {
            return Ok(true);
        }
        match self.keys_by_token.get(&self.taken).copied() {
            Some(place) => self.is_valid(place),
            None => Ok(false),
        }
    }

    pub(crate) fn in_flow(&self) -> bool {
        !self.brackets.is_empty()
    }

    fn push(&mut self, kind: TokenKind, start: Mark, end: Mark) {
        self.tokens.push_back(Token { kind, start, end });
    }

    /// Puts a token before the one with a number; at the end if that is taken.
    fn insert(&mut self, number: usize, kind: TokenKind, mark: Mark) {
        let end = self.tokens.len();
        let at = number.checked_sub(self.taken).map_or(end, |at| at.min(end));
        self.tokens.insert(at, Token { kind, start: mark, end: mark });
    }

    fn fetch(&mut self) -> Result<(), SyntaxError> {
        if self.state == StreamState::New {
            self.state = StreamState::Open;
            self.push(TokenKind::StreamStart, self.cursor.mark, self.cursor.mark);
            return Ok(());
        }
        self.skip_to_token();
        self.unroll(self.column());
        let in_flow = self.in_flow();
        let cursor = &self.cursor;
        let is_word_like = |ahead| !cursor.is_gap(ahead);
        match cursor.byte(0) {
            0 => self.fetch_end(),
            b'%' if cursor.mark.column == 0 => self.fetch_directive(),
            b'-' | b'.' if cursor.is_document_marker() => self.fetch_document_marker(),
            b'[' => self.fetch_flow_start(TokenKind::FlowSequenceStart),
            b'{' => self.fetch_flow_start(TokenKind::FlowMappingStart),
            b']' => self.fetch_flow_end(TokenKind::FlowSequenceEnd),
            b'}' => self.fetch_flow_end(TokenKind::FlowMappingEnd),
            b',' => self.fetch_flow_entry(),
            b'-' if !is_word_like(1) => self.fetch_block_entry(),
            b'?' if in_flow || !is_word_like(1) => self.fetch_key(),
            b':' if in_flow || !is_word_like(1) => self.fetch_value(),
            b'*' | b'&' => self.fetch_as_key(Self::scan_anchor),
            b'!' => self.fetch_as_key(Self::scan_tag),
            b'|' | b'>' if !in_flow => self.fetch_block_scalar(),
            b'\'' | b'"' => self.fetch_as_key(Self::scan_quoted),
            b'-' => self.fetch_as_key(Self::scan_plain),
            b'?' | b':' if !in_flow => self.fetch_as_key(Self::scan_plain),
            b'?' | b':' | b'#' | b'|' | b'>' | b'%' | b'@' | b'`' => self.no_token(),
            _ if cursor.is_gap(0) => self.no_token(),
            _ => self.fetch_as_key(Self::scan_plain),
        }
    }

    fn no_token(&self) -> Result<(), SyntaxError> {
        let is_tab = self.cursor.is(b'\t');
        let tab = "found a tab where a token begins: indentation is of spaces alone";
        let other = "found character that cannot start any token";
        Err(SyntaxError::new(self.cursor.mark, if is_tab { tab } else { other }))
    }

    fn column(&self) -> isize {
        isize::try_from(self.cursor.mark.column).unwrap_or(isize::MAX)
    }

    /// Passes blanks, comments and line breaks. A tab is no indentation.
    fn skip_to_token(&mut self) {
        loop {
            while self.cursor.is(b' ') || (self.cursor.is(b'\t') && (self.in_flow() || !self.may_start_key)) {
                self.cursor.skip();
            }
            self.cursor.skip_comment();
            if !self.cursor.is_break(0) {
                return;
            }
            self.cursor.skip_line();
            if !self.in_flow() {
                self.may_start_key = true;
            }
        }
    }

    /// Whether a place still holds what may be a key.
    fn is_valid(&mut self, place: usize) -> Result<bool, SyntaxError> {
        let here = self.cursor.mark;
        let Some(key) = self.keys.get_mut(place).filter(|key| key.state != KeyState::None) else {
            return Ok(false);
        };
        if key.mark.line >= here.line && key.mark.index + LONGEST_KEY >= here.index {
            return Ok(true);
        }
        if key.state == KeyState::Required {
            return Err(SyntaxError::new(key.mark, "could not find expected ':'"));
        }
        key.state = KeyState::None;
        Ok(false)
    }

    /// Keeps the place of what comes next if it may be a key.
    fn save_key(&mut self) -> Result<(), SyntaxError> {
        if !self.may_start_key {
            return Ok(());
        }
        let is_required = !self.in_flow() && self.indent == self.column();
        let state = if is_required { KeyState::Required } else { KeyState::Possible };
        let token = self.taken + self.tokens.len();
        self.drop_key()?;
        let place = self.keys.len().saturating_sub(1);
        if let Some(key) = self.keys.last_mut() {
            *key = PossibleKey { state, token, mark: self.cursor.mark };
        }
        self.keys_by_token.insert(token, place);
        Ok(())
    }

    /// What was kept in this collection is no key.
    fn drop_key(&mut self) -> Result<(), SyntaxError> {
        let Some(key) = self.keys.last_mut() else { return Ok(()) };
        match key.state {
            KeyState::None => {}
            KeyState::Required => {
                return Err(SyntaxError::new(key.mark, "could not find expected ':'"));
            }
            KeyState::Possible => {
                key.state = KeyState::None;
                let token = key.token;
                self.keys_by_token.remove(&token);
            }
        }
        Ok(())
    }

    /// Opens a block collection at a column, before the token with a number, if none is open there.
    fn roll(
        &mut self,
        column: isize,
        before: Option<usize>,
        kind: TokenKind,
        mark: Mark,
    ) -> Result<(), SyntaxError> {
        if self.in_flow() || self.indent >= column {
            return Ok(());
        }
        self.indents.push(self.indent);
        self.indent = column;
        if self.indents.len() > MAX_OPEN {
            return Err(SyntaxError::new(mark, "exceeded max depth of 10000"));
        }
        self.insert(before.unwrap_or(self.taken + self.tokens.len()), kind, mark);
        Ok(())
    }

    /// Closes the block collections right of a column.
    fn unroll(&mut self, column: isize) {
        while !self.in_flow() && self.indent > column {
            self.push(TokenKind::BlockEnd, self.cursor.mark, self.cursor.mark);
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }

    /// Passes so many characters, which are a token.
    fn indicator(&mut self, kind: TokenKind, characters: usize) {
        let start = self.cursor.mark;
        for _ in 0..characters {
            self.cursor.skip();
        }
        self.push(kind, start, self.cursor.mark);
    }

    fn fetch_end(&mut self) -> Result<(), SyntaxError> {
        self.unroll(-1);
        self.drop_key()?;
        self.may_start_key = false;
        self.state = StreamState::Ended;
        self.push(TokenKind::StreamEnd, self.cursor.mark, self.cursor.mark);
        Ok(())
    }

    fn fetch_directive(&mut self) -> Result<(), SyntaxError> {
        self.unroll(-1);
        self.drop_key()?;
        self.may_start_key = false;
        let token = self.scan_directive()?;
        self.tokens.push_back(token);
        Ok(())
    }

    fn fetch_document_marker(&mut self) -> Result<(), SyntaxError> {
        self.unroll(-1);
        self.drop_key()?;
        self.may_start_key = false;
        let is_start = self.cursor.is(b'-');
        self.indicator(if is_start { TokenKind::DocumentStart } else { TokenKind::DocumentEnd }, 3);
        Ok(())
    }

    fn fetch_flow_start(&mut self, kind: TokenKind) -> Result<(), SyntaxError> {
        self.save_key()?;
        // The number is that of the bracket: when it closes without a key in it, the library forgets that the collection
        // may be a key itself.
        self.keys.push(PossibleKey::none(self.taken + self.tokens.len(), self.cursor.mark));
        self.brackets.push(self.cursor.mark);
        if self.brackets.len() > MAX_OPEN {
            return Err(SyntaxError::new(self.cursor.mark, "exceeded max depth of 10000"));
        }
        self.may_start_key = true;
        self.indicator(kind, 1);
        Ok(())
    }

    fn fetch_flow_end(&mut self, kind: TokenKind) -> Result<(), SyntaxError> {
        self.drop_key()?;
        if self.brackets.pop().is_some()
            && let Some(key) = self.keys.pop()
        {
            self.keys_by_token.remove(&key.token);
        }
        self.may_start_key = false;
        self.indicator(kind, 1);
        Ok(())
    }

    fn fetch_flow_entry(&mut self) -> Result<(), SyntaxError> {
        self.drop_key()?;
        self.may_start_key = true;
        self.indicator(TokenKind::FlowEntry, 1);
        Ok(())
    }

    fn fetch_block_entry(&mut self) -> Result<(), SyntaxError> {
        if !self.in_flow() {
            self.open_block(
                TokenKind::BlockSequenceStart,
                "block sequence entries are not allowed in this context",
            )?;
        }
        self.drop_key()?;
        self.may_start_key = true;
        self.indicator(TokenKind::BlockEntry, 1);
        Ok(())
    }

    fn fetch_key(&mut self) -> Result<(), SyntaxError> {
        if !self.in_flow() {
            self.open_block(TokenKind::BlockMappingStart, "mapping keys are not allowed in this context")?;
        }
        self.drop_key()?;
        self.may_start_key = !self.in_flow();
        self.indicator(TokenKind::Key, 1);
        Ok(())
    }

    fn fetch_value(&mut self) -> Result<(), SyntaxError> {
        let place = self.keys.len().saturating_sub(1);
        if self.is_valid(place)? {
            let Some(key) = self.keys.last_mut() else { return self.no_token() };
            key.state = KeyState::None;
            let PossibleKey { token, mark, .. } = *key;
            self.insert(token, TokenKind::Key, mark);
            let column = isize::try_from(mark.column).unwrap_or(isize::MAX);
            self.roll(column, Some(token), TokenKind::BlockMappingStart, mark)?;
            self.keys_by_token.remove(&token);
            self.may_start_key = false;
        } else {
            if !self.in_flow() {
                self.open_block(
                    TokenKind::BlockMappingStart,
                    "mapping values are not allowed in this context",
                )?;
            }
            self.may_start_key = !self.in_flow();
        }
        self.indicator(TokenKind::Value, 1);
        Ok(())
    }

    /// Opens a block collection here, where a key may start.
    fn open_block(&mut self, kind: TokenKind, refusal: &'static str) -> Result<(), SyntaxError> {
        if !self.may_start_key {
            return Err(SyntaxError::new(self.cursor.mark, refusal));
        }
        self.roll(self.column(), None, kind, self.cursor.mark)
    }

    /// Something that may be a key or stand before one.
    fn fetch_as_key(&mut self, scan: fn(&mut Self) -> Result<Token, SyntaxError>) -> Result<(), SyntaxError> {
        self.save_key()?;
        self.may_start_key = false;
        let token = scan(self)?;
        self.tokens.push_back(token);
        Ok(())
    }

    fn fetch_block_scalar(&mut self) -> Result<(), SyntaxError> {
        self.drop_key()?;
        self.may_start_key = true;
        let token = self.scan_block_scalar()?;
        self.tokens.push_back(token);
        Ok(())
    }
}
