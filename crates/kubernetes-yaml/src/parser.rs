//! From tokens to events: which collections begin and end, and what is in them.
//!
//! A state machine with a stack, so that no nesting of a text is one of calls.
//!
//! After libyaml, Copyright (c) 2006 Kirill Simonov, MIT licence.

use core::ops::Range;

use crate::cursor::Mark;
use crate::scanner::Scanner;
use crate::token::{ScalarStyle, SyntaxError, Token, TokenKind};

/// Something in a text, and the bytes it is in.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Event {
    pub(crate) kind: EventKind,
    pub(crate) span: Range<usize>,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum EventKind {
    StreamEnd,
    DocumentStart,
    DocumentEnd,
    Alias(String),
    Scalar {
        anchor: Option<String>,
        /// In full, such as `tag:yaml.org,2002:int`; empty if there is none.
        tag: String,
        text: String,
        /// Whether it may be something else than text: written plain without a tag, or with the tag `!`.
        is_plain: bool,
    },
    SequenceStart {
        anchor: Option<String>,
    },
    SequenceEnd,
    MappingStart {
        anchor: Option<String>,
    },
    MappingEnd,
}

/// Reads a text event by event.
pub(crate) struct Parser<'a> {
    scanner: Scanner<'a>,
    state: State,
    states: Vec<State>,
    tags: Vec<(String, String)>,
}

/// What is expected next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    ImplicitDocumentStart,
    DocumentStart,
    DocumentContent,
    DocumentEnd,
    BlockNode,
    BlockSequenceEntry,
    IndentlessSequenceEntry,
    BlockMappingKey,
    BlockMappingValue,
    FlowSequenceFirstEntry,
    FlowSequenceEntry,
    FlowSequenceEntryKey,
    FlowSequenceEntryValue,
    FlowSequenceEntryEnd,
    FlowMappingFirstKey,
    FlowMappingKey,
    FlowMappingValue,
    FlowMappingEmptyValue,
    End,
}

/// Where a node stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In flow collections.
    Flow,
    /// A block.
    Block,
    /// The key or value of a block mapping, where a sequence needs no indentation.
    BlockOfMapping,
}

impl<'a> Parser<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self {
            scanner: Scanner::new(text),
            state: State::ImplicitDocumentStart,
            states: Vec::new(),
            tags: Vec::new(),
        }
    }

    /// The next event; after the stream's end, that again.
    pub(crate) fn next(&mut self) -> Result<Event, SyntaxError> {
        match self.state {
            State::ImplicitDocumentStart => {
                if self.scanner.peek()?.kind == TokenKind::StreamStart {
                    self.scanner.take()?;
                }
                self.document_start()
            }
            State::DocumentStart => self.document_start(),
            State::DocumentContent => self.document_content(),
            State::DocumentEnd => self.document_end(),
            State::BlockNode => self.node(Place::Block),
            State::BlockSequenceEntry => self.block_sequence_entry(),
            State::IndentlessSequenceEntry => self.indentless_sequence_entry(),
            State::BlockMappingKey => self.block_mapping_key(),
            State::BlockMappingValue => self.block_mapping_value(),
            State::FlowSequenceFirstEntry | State::FlowSequenceEntry => self.flow_sequence_entry(),
            State::FlowSequenceEntryKey => self.flow_sequence_entry_key(),
            State::FlowSequenceEntryValue => self.flow_sequence_entry_value(),
            State::FlowSequenceEntryEnd => {
                self.state = State::FlowSequenceEntry;
                let mark = self.scanner.peek()?.start;
                Ok(event(EventKind::MappingEnd, mark, mark))
            }
            State::FlowMappingFirstKey | State::FlowMappingKey => self.flow_mapping_key(),
            State::FlowMappingValue => self.flow_mapping_value(),
            State::FlowMappingEmptyValue => self.empty_here(State::FlowMappingKey),
            State::End => {
                let mark = self.scanner.cursor.mark;
                Ok(event(EventKind::StreamEnd, mark, mark))
            }
        }
    }

    fn is_next(&mut self, kinds: &[TokenKind]) -> Result<bool, SyntaxError> {
        Ok(kinds.contains(&self.scanner.peek()?.kind))
    }

    /// Back to what encloses this.
    fn pop(&mut self) {
        self.state = self.states.pop().unwrap_or(State::End);
    }

    /// The next token is none that may stand there.
    fn fail<T>(&mut self, problem: &'static str) -> Result<T, SyntaxError> {
        let at = self.scanner.peek()?.start;
        match self.scanner.brackets.last().copied() {
            Some(open) if self.is_next(&[TokenKind::StreamEnd])? => {
                Err(SyntaxError::new(open, "this bracket is not closed"))
            }
            _ => Err(SyntaxError::new(at, problem)),
        }
    }

    fn document_start(&mut self) -> Result<Event, SyntaxError> {
        let is_implicit = self.state == State::ImplicitDocumentStart;
        while !is_implicit && self.is_next(&[TokenKind::DocumentEnd])? {
            self.scanner.take()?;
        }
        let first = self.scanner.peek()?;
        let (start, end) = (first.start, first.end);
        let is_directive = |kind: &TokenKind| {
            matches!(kind, TokenKind::VersionDirective { .. } | TokenKind::TagDirective { .. })
        };
        match &first.kind {
            TokenKind::StreamEnd => {
                self.state = State::End;
                return Ok(event(EventKind::StreamEnd, start, end));
            }
            kind if is_implicit && !is_directive(kind) && *kind != TokenKind::DocumentStart => {
                self.directives()?;
                self.state = State::BlockNode;
            }
            _ => {
                self.directives()?;
                if !self.is_next(&[TokenKind::DocumentStart])? {
                    return self.fail("did not find expected <document start>");
                }
                self.scanner.take()?;
                self.state = State::DocumentContent;
            }
        }
        self.states.push(State::DocumentEnd);
        Ok(event(EventKind::DocumentStart, start, end))
    }

    /// The directives before a document, and the tags that always are.
    fn directives(&mut self) -> Result<(), SyntaxError> {
        let mut has_version = false;
        loop {
            let token = self.scanner.peek()?;
            let at = token.start;
            match &token.kind {
                TokenKind::VersionDirective { .. } if has_version => {
                    return Err(SyntaxError::new(at, "found duplicate %YAML directive"));
                }
                TokenKind::VersionDirective { major: 1, minor: 1 } => has_version = true,
                TokenKind::VersionDirective { .. } => {
                    return Err(SyntaxError::new(
                        at,
                        "found incompatible YAML document: only %YAML 1.1 is read",
                    ));
                }
                TokenKind::TagDirective { handle, prefix } => {
                    if self.tags.iter().any(|(own, _)| own == handle) {
                        return Err(SyntaxError::new(at, "found duplicate %TAG directive"));
                    }
                    self.tags.push((handle.clone(), prefix.clone()));
                }
                _ => break,
            }
            self.scanner.take()?;
        }
        for (handle, prefix) in [("!", "!"), ("!!", "tag:yaml.org,2002:")] {
            if !self.tags.iter().any(|(own, _)| own == handle) {
                self.tags.push((handle.to_owned(), prefix.to_owned()));
            }
        }
        Ok(())
    }

    fn document_content(&mut self) -> Result<Event, SyntaxError> {
        let next = &self.scanner.peek()?.kind;
        let is_empty = matches!(
            next,
            TokenKind::VersionDirective { .. }
                | TokenKind::TagDirective { .. }
                | TokenKind::DocumentStart
                | TokenKind::DocumentEnd
                | TokenKind::StreamEnd
        );
        if is_empty {
            self.pop();
            return self.empty_here(self.state);
        }
        self.node(Place::Block)
    }

    fn document_end(&mut self) -> Result<Event, SyntaxError> {
        let token = self.scanner.peek()?;
        let (start, mut end) = (token.start, token.start);
        if token.kind == TokenKind::DocumentEnd {
            end = self.scanner.take()?.end;
        }
        self.tags.clear();
        self.state = State::DocumentStart;
        Ok(event(EventKind::DocumentEnd, start, end))
    }

    /// A value with its anchor and its tag.
    fn node(&mut self, place: Place) -> Result<Event, SyntaxError> {
        if matches!(self.scanner.peek()?.kind, TokenKind::Alias(_)) {
            let Token { kind, start, end } = self.scanner.take()?;
            self.pop();
            let TokenKind::Alias(name) = kind else { return self.fail("did not find expected node content") };
            return Ok(event(EventKind::Alias(name), start, end));
        }
        let start = self.scanner.peek()?.start;
        let (anchor, tag, properties_end) = self.properties()?;
        let has_properties = anchor.is_some() || !tag.is_empty();
        let token = self.scanner.peek()?;
        let end = token.end;
        let (kind, state) = match &token.kind {
            TokenKind::BlockEntry if place == Place::BlockOfMapping => {
                (EventKind::SequenceStart { anchor }, State::IndentlessSequenceEntry)
            }
            TokenKind::Scalar { .. } => return self.scalar(anchor, tag),
            TokenKind::FlowSequenceStart => {
                (EventKind::SequenceStart { anchor }, State::FlowSequenceFirstEntry)
            }
            TokenKind::FlowMappingStart => (EventKind::MappingStart { anchor }, State::FlowMappingFirstKey),
            TokenKind::BlockSequenceStart if place != Place::Flow => {
                (EventKind::SequenceStart { anchor }, State::BlockSequenceEntry)
            }
            TokenKind::BlockMappingStart if place != Place::Flow => {
                (EventKind::MappingStart { anchor }, State::BlockMappingKey)
            }
            _ if has_properties => {
                self.pop();
                let is_plain = tag.is_empty();
                let kind = EventKind::Scalar { anchor, tag, text: String::new(), is_plain };
                return Ok(event(kind, start, properties_end));
            }
            _ => return self.fail("did not find expected node content"),
        };
        if state != State::IndentlessSequenceEntry {
            self.scanner.take()?;
        }
        self.state = state;
        Ok(event(kind, start, end))
    }

    /// An anchor and a tag, in any order, and where they end.
    fn properties(&mut self) -> Result<(Option<String>, String, Mark), SyntaxError> {
        let (mut anchor, mut tag) = (None, None);
        let mut end = self.scanner.peek()?.start;
        loop {
            match &self.scanner.peek()?.kind {
                TokenKind::Anchor(name) if anchor.is_none() => anchor = Some(name.clone()),
                TokenKind::Tag { handle, suffix } if tag.is_none() => {
                    tag = Some((handle.clone(), suffix.clone(), self.scanner.peek()?.start));
                }
                _ => break,
            }
            end = self.scanner.take()?.end;
        }
        let tag = match tag {
            None => String::new(),
            Some((handle, suffix, _)) if handle.is_empty() => suffix,
            Some((handle, suffix, at)) => {
                let prefix = self.tags.iter().find(|(own, _)| *own == handle);
                let (_, prefix) = prefix.ok_or(SyntaxError::new(at, "found undefined tag handle"))?;
                format!("{prefix}{suffix}")
            }
        };
        Ok((anchor, tag, end))
    }

    fn scalar(&mut self, anchor: Option<String>, tag: String) -> Result<Event, SyntaxError> {
        let Token { kind, start, end } = self.scanner.take()?;
        self.pop();
        let TokenKind::Scalar { text, style } = kind else {
            return Err(SyntaxError::new(start, "did not find expected node content"));
        };
        let is_plain = (tag.is_empty() && style == ScalarStyle::Plain) || tag == "!";
        Ok(event(EventKind::Scalar { anchor, tag, text, is_plain }, start, end))
    }

    fn block_sequence_entry(&mut self) -> Result<Event, SyntaxError> {
        if self.is_next(&[TokenKind::BlockEnd])? {
            return self.end(EventKind::SequenceEnd);
        }
        if !self.is_next(&[TokenKind::BlockEntry])? {
            return self.fail("did not find expected '-' indicator");
        }
        let mark = self.scanner.take()?.end;
        if self.is_next(&[TokenKind::BlockEntry, TokenKind::BlockEnd])? {
            return Ok(self.empty(mark, State::BlockSequenceEntry));
        }
        self.states.push(State::BlockSequenceEntry);
        self.node(Place::Block)
    }

    fn indentless_sequence_entry(&mut self) -> Result<Event, SyntaxError> {
        if !self.is_next(&[TokenKind::BlockEntry])? {
            self.pop();
            let mark = self.scanner.peek()?.start;
            return Ok(event(EventKind::SequenceEnd, mark, mark));
        }
        let mark = self.scanner.take()?.end;
        let ends = [TokenKind::BlockEntry, TokenKind::Key, TokenKind::Value, TokenKind::BlockEnd];
        if self.is_next(&ends)? {
            return Ok(self.empty(mark, State::IndentlessSequenceEntry));
        }
        self.states.push(State::IndentlessSequenceEntry);
        self.node(Place::Block)
    }

    fn block_mapping_key(&mut self) -> Result<Event, SyntaxError> {
        if self.is_next(&[TokenKind::BlockEnd])? {
            return self.end(EventKind::MappingEnd);
        }
        if !self.is_next(&[TokenKind::Key])? {
            return self.fail("did not find expected key");
        }
        self.block_mapping_part(State::BlockMappingValue)
    }

    fn block_mapping_value(&mut self) -> Result<Event, SyntaxError> {
        if self.is_next(&[TokenKind::Value])? {
            return self.block_mapping_part(State::BlockMappingKey);
        }
        self.empty_here(State::BlockMappingKey)
    }

    /// What is behind `?` or `:`.
    fn block_mapping_part(&mut self, then: State) -> Result<Event, SyntaxError> {
        let mark = self.scanner.take()?.end;
        if self.is_next(&[TokenKind::Key, TokenKind::Value, TokenKind::BlockEnd])? {
            return Ok(self.empty(mark, then));
        }
        self.states.push(then);
        self.node(Place::BlockOfMapping)
    }

    fn flow_sequence_entry(&mut self) -> Result<Event, SyntaxError> {
        let is_first = self.state == State::FlowSequenceFirstEntry;
        if !is_first && self.is_next(&[TokenKind::FlowEntry])? {
            self.scanner.take()?;
        } else if !is_first && !self.is_next(&[TokenKind::FlowSequenceEnd])? {
            return self.fail("did not find expected ',' or ']'");
        }
        if self.is_next(&[TokenKind::FlowSequenceEnd])? {
            return self.end(EventKind::SequenceEnd);
        }
        if self.is_next(&[TokenKind::Key])? {
            let Token { start, end, .. } = self.scanner.take()?;
            self.state = State::FlowSequenceEntryKey;
            return Ok(event(EventKind::MappingStart { anchor: None }, start, end));
        }
        self.states.push(State::FlowSequenceEntry);
        self.node(Place::Flow)
    }

    fn flow_sequence_entry_key(&mut self) -> Result<Event, SyntaxError> {
        if self.is_next(&[TokenKind::Value, TokenKind::FlowEntry, TokenKind::FlowSequenceEnd])? {
            // The library passes what is behind the key, even if that is the collection's end.
            let mark = self.scanner.take()?.end;
            return Ok(self.empty(mark, State::FlowSequenceEntryValue));
        }
        self.states.push(State::FlowSequenceEntryValue);
        self.node(Place::Flow)
    }

    fn flow_sequence_entry_value(&mut self) -> Result<Event, SyntaxError> {
        if self.is_next(&[TokenKind::Value])? {
            self.scanner.take()?;
            if !self.is_next(&[TokenKind::FlowEntry, TokenKind::FlowSequenceEnd])? {
                self.states.push(State::FlowSequenceEntryEnd);
                return self.node(Place::Flow);
            }
        }
        self.empty_here(State::FlowSequenceEntryEnd)
    }

    fn flow_mapping_key(&mut self) -> Result<Event, SyntaxError> {
        let is_first = self.state == State::FlowMappingFirstKey;
        if !is_first && self.is_next(&[TokenKind::FlowEntry])? {
            self.scanner.take()?;
        } else if !is_first && !self.is_next(&[TokenKind::FlowMappingEnd])? {
            return self.fail("did not find expected ',' or '}'");
        }
        if self.is_next(&[TokenKind::FlowMappingEnd])? {
            return self.end(EventKind::MappingEnd);
        }
        if !self.is_next(&[TokenKind::Key])? {
            self.states.push(State::FlowMappingEmptyValue);
            return self.node(Place::Flow);
        }
        self.scanner.take()?;
        if self.is_next(&[TokenKind::Value, TokenKind::FlowEntry, TokenKind::FlowMappingEnd])? {
            return self.empty_here(State::FlowMappingValue);
        }
        self.states.push(State::FlowMappingValue);
        self.node(Place::Flow)
    }

    fn flow_mapping_value(&mut self) -> Result<Event, SyntaxError> {
        if self.is_next(&[TokenKind::Value])? {
            self.scanner.take()?;
            if !self.is_next(&[TokenKind::FlowEntry, TokenKind::FlowMappingEnd])? {
                self.states.push(State::FlowMappingKey);
                return self.node(Place::Flow);
            }
        }
        self.empty_here(State::FlowMappingKey)
    }

    /// Takes the token that ends a collection.
    fn end(&mut self, kind: EventKind) -> Result<Event, SyntaxError> {
        let Token { start, end, .. } = self.scanner.take()?;
        self.pop();
        Ok(event(kind, start, end))
    }

    /// A value that is not there.
    fn empty(&mut self, mark: Mark, then: State) -> Event {
        self.state = then;
        let kind =
            EventKind::Scalar { anchor: None, tag: String::new(), text: String::new(), is_plain: true };
        event(kind, mark, mark)
    }

    fn empty_here(&mut self, then: State) -> Result<Event, SyntaxError> {
        let mark = self.scanner.peek()?.start;
        Ok(self.empty(mark, then))
    }
}

const fn event(kind: EventKind, start: Mark, end: Mark) -> Event {
    Event { kind, span: start.byte..end.byte }
}
