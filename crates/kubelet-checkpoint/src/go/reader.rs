//! Decoding of a checked text.

use alloc::borrow::{Cow, ToOwned};
use alloc::string::String;
use alloc::vec::Vec;

use super::text::{is_folded, unquote};
use super::{Found, JsonError, JsonFault, Kind, TypeName, syntax};
use crate::oddity::{Oddities, Oddity};

/// What `read` makes of a text, and what was odd about the text.
pub(super) fn read_text<'a>(
    text: &'a [u8],
    read: impl FnOnce(&mut Reader<'a>) -> Result<(), JsonError>,
) -> (Result<(), JsonError>, Oddities) {
    if let Err(error) = syntax::check(text) {
        return (Err(error), Oddities::default());
    }
    let mut reader = Reader::on(text);
    let stopped = read(&mut reader);
    let result = stopped.and_then(|()| reader.error.map_or(Ok(()), Err));
    (result, reader.odd)
}

/// What decides of a text that is read as one structure after the other: of an object all of it. Of any other value nothing
/// but its kind, which each refuses, so that a short value of that kind stands for it.
///
/// # Errors
/// Such a text is not JSON. That is what reading it as any structure comes to.
pub(crate) fn outline(text: &[u8]) -> Result<Cow<'_, [u8]>, JsonError> {
    let blanks = text.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')).count();
    let short: &[u8] = match text.get(blanks) {
        Some(b'{') => return Ok(Cow::Borrowed(text)),
        Some(b'[') => b"[]",
        Some(b'"') => b"\"\"",
        Some(b't' | b'f') => b"true",
        Some(b'n') => b"null",
        _ => b"0",
    };
    syntax::check(text)?;
    Ok(Cow::Owned([text.get(..blanks).unwrap_or_default(), short].concat()))
}

/// The same of a text of any kind that is read many times: one that is not JSON is looked through once.
pub(crate) fn whole_outline(text: &[u8]) -> Result<Cow<'_, [u8]>, JsonError> {
    syntax::check(text)?;
    outline(text)
}

/// The members of an object and the texts of their values; none of any other text.
pub(crate) fn members_of(text: &[u8]) -> Vec<(String, &[u8])> {
    let mut members = Vec::new();
    if syntax::check(text).is_err() {
        return members;
    }
    let mut reader = Reader::on(text);
    if reader.kind() == Kind::Object {
        let read = reader.object(|reader, name, _| {
            members.push((name.into_owned(), reader.skipped()));
            Ok(())
        });
        debug_assert!(read.is_ok(), "skipping does not fail");
    }
    members
}

/// The texts of the items of an array; none of any other text.
pub(crate) fn items_of(text: &[u8]) -> Vec<&[u8]> {
    let mut items = Vec::new();
    if syntax::check(text).is_err() {
        return items;
    }
    let mut reader = Reader::on(text);
    if reader.kind() == Kind::Array {
        let read = reader.array(|reader| {
            items.push(reader.skipped());
            Ok(())
        });
        debug_assert!(read.is_ok(), "skipping does not fail");
    }
    items
}

/// A place in a text.
pub(crate) struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    /// The first value of another type.
    error: Option<JsonError>,
    /// The innermost structure whose member is being read.
    within: Option<&'static str>,
    /// The members that are being read, outermost first.
    path: Vec<&'static str>,
    odd: Oddities,
}

impl<'a> Reader<'a> {
    /// At the begin of a text.
    fn on(text: &'a [u8]) -> Self {
        Self { text, at: 0, error: None, within: None, path: Vec::new(), odd: Oddities::default() }
    }

    /// Skips the value at hand, and gives its text.
    pub(crate) fn skipped(&mut self) -> &'a [u8] {
        let start = self.at;
        self.skip();
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// What the next value is.
    pub(crate) fn kind(&mut self) -> Kind {
        match self.next_byte() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::Text,
            Some(b't' | b'f') => Kind::Bool,
            Some(b'n') => Kind::Null,
            _ => Kind::Number,
        }
    }

    /// Skips a value that is not of the wanted type. Null is of every type and changes nothing.
    pub(crate) fn other(&mut self, kind: Kind, wanted: TypeName) {
        if kind != Kind::Null {
            self.refuse(self.at, JsonFault::wrong_type(Found::Kind(kind), wanted));
        }
        self.skip();
    }

    /// Notes a fault; the first counts.
    pub(crate) fn refuse(&mut self, offset: usize, fault: JsonFault) {
        if self.error.is_none() {
            self.error = Some(self.placed(JsonError { fault, offset }));
        }
    }

    /// Where the reader stands.
    pub(crate) const fn at(&self) -> usize {
        self.at
    }

    /// The string at hand.
    pub(crate) fn string(&mut self) -> Cow<'a, str> {
        let start = self.at + 1;
        self.skip_string();
        let (text, replaced) = unquote(self.text.get(start..self.at - 1).unwrap_or_default());
        if replaced {
            self.odd.push(start, Oddity::ReplacedText(text.clone().into_owned()));
        }
        text
    }

    /// The number at hand, as it is written.
    pub(crate) fn number(&mut self) -> &'a str {
        let start = self.at;
        while self
            .text
            .get(self.at)
            .is_some_and(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'))
        {
            self.at += 1;
        }
        core::str::from_utf8(self.text.get(start..self.at).unwrap_or_default()).unwrap_or_default()
    }

    /// Reads the items of the array at hand.
    pub(crate) fn array(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<(), JsonError>,
    ) -> Result<(), JsonError> {
        self.at += 1;
        while self.next_byte() != Some(b']') {
            item(self)?;
            if self.next_byte() == Some(b',') {
                self.at += 1;
            }
        }
        self.at += 1;
        Ok(())
    }

    /// Reads the members of the object at hand; `member` is given the name and where that stands.
    pub(crate) fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, Cow<'a, str>, usize) -> Result<(), JsonError>,
    ) -> Result<(), JsonError> {
        self.at += 1;
        while self.next_byte() != Some(b'}') {
            let offset = self.at;
            let name = self.string();
            if self.next_byte() == Some(b':') {
                self.at += 1;
            }
            self.next_byte();
            member(self, name, offset)?;
            if self.next_byte() == Some(b',') {
                self.at += 1;
            }
        }
        self.at += 1;
        Ok(())
    }

    /// Reads an object into a structure with these members. `read` is given a member's name and reads its value.
    pub(crate) fn structure(
        &mut self,
        of: TypeName,
        members: &[&'static str],
        mut read: impl FnMut(&mut Self, &'static str) -> Result<(), JsonError>,
    ) -> Result<(), JsonError> {
        let kind = self.kind();
        if kind != Kind::Object {
            self.other(kind, of);
            return Ok(());
        }
        let mut seen = 0u32;
        self.object(|reader, name, offset| {
            let exactly = members.iter().position(|member| name == *member);
            let known = exactly.or_else(|| members.iter().position(|member| is_folded(&name, member)));
            let Some((at, known)) = known.and_then(|at| Some((at, *members.get(at)?))) else {
                reader.odd.push(offset, Oddity::UnknownMember(name.into_owned()));
                reader.skip();
                return Ok(());
            };
            if exactly.is_none() {
                reader.odd.push(offset, Oddity::OtherCase { name: name.into_owned(), member: known });
            }
            // Structures have few members.
            if seen >> at & 1 == 1 {
                reader.repeated(offset, known);
            }
            seen |= 1 << at;
            read(reader, known)
        })
    }

    /// Notes a name that an object has had before.
    pub(crate) fn repeated(&mut self, offset: usize, name: &str) {
        self.odd.push(offset, Oddity::Repeated(name.to_owned()));
    }

    /// Reads as a member of a structure; errors name both.
    pub(crate) fn within(
        &mut self,
        structure: &'static str,
        member: &'static str,
        read: impl FnOnce(&mut Self) -> Result<(), JsonError>,
    ) -> Result<(), JsonError> {
        let outer = self.within.replace(structure);
        self.path.push(member);
        // An error ends the reading and names its place already, so that the path may stay.
        read(self)?;
        self.path.pop();
        self.within = outer;
        Ok(())
    }

    /// Reads the value at hand as a separate document, as types do that read themselves. Its error, which does
    /// not say of which member, ends the reading.
    pub(crate) fn document(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<(), JsonError>,
    ) -> Result<(), JsonError> {
        let odd = core::mem::take(&mut self.odd);
        let mut inner =
            Self { text: self.text, at: self.at, error: None, within: None, path: Vec::new(), odd };
        let stopped = read(&mut inner);
        self.at = inner.at;
        self.odd = inner.odd;
        stopped.and_then(|()| inner.error.map_or(Ok(()), Err)).map_err(|error| self.placed(error))
    }

    /// An error with the structure and the path of the member that is being read.
    fn placed(&self, mut error: JsonError) -> JsonError {
        if let (Some(structure), JsonFault::WrongType { member, .. }) = (self.within, &mut error.fault) {
            let mut path: String = self.path.join(".");
            if let Some((_, inner)) = member {
                path.push('.');
                path.push_str(inner);
            }
            *member = Some((structure, path));
        }
        error
    }

    /// Skips the value at hand.
    pub(crate) fn skip(&mut self) {
        let mut depth = 0usize;
        loop {
            match self.next_byte() {
                None => return,
                Some(b'"') => self.skip_string(),
                Some(b'{' | b'[') => {
                    depth += 1;
                    self.at += 1;
                    continue;
                }
                Some(b'}' | b']') => {
                    depth = depth.saturating_sub(1);
                    self.at += 1;
                }
                Some(b',' | b':') => {
                    self.at += 1;
                    continue;
                }
                Some(_) => self.skip_word(),
            }
            if depth == 0 {
                return;
            }
        }
    }

    fn skip_word(&mut self) {
        let is_word = |byte: &u8| !matches!(byte, b',' | b':' | b']' | b'}' | b' ' | b'\t' | b'\r' | b'\n');
        while self.text.get(self.at).is_some_and(is_word) {
            self.at += 1;
        }
    }

    /// Skips the string at hand.
    fn skip_string(&mut self) {
        self.at += 1;
        while let Some(byte) = self.text.get(self.at) {
            match byte {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
    }

    /// The next byte that is no blank.
    fn next_byte(&mut self) -> Option<u8> {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }
}
