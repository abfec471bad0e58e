//! What can be read of a text that is not JSON: the members and items before the first fault.

use alloc::string::String;
use alloc::vec::Vec;

use super::text::unquote;
use super::{JsonError, syntax::Scan};

/// One step from a value to a value in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// A member of an object.
    Key(String),
    /// An item of an array, from 0.
    Item(usize),
}

/// The whole part of a text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Whole {
    /// JSON: the text up to its last whole value, with all that was open closed. Empty if nothing is whole.
    pub(crate) text: Vec<u8>,
    /// The way to the value that is not whole; empty if it is the outermost one, or if all is.
    pub(crate) cut: Vec<Step>,
    /// Where the fault is, in bytes. `None`: the text is JSON, maybe with something else behind it.
    pub(crate) fault: Option<usize>,
}

/// An object or array that has begun.
struct Open {
    within: Within,
    /// Where its last whole member or item ends, or it begins.
    safe: usize,
    /// What is being read in it.
    step: Option<Step>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Array,
    Object,
}

/// Reads `text` up to its first fault. A value counts as whole if what follows it may follow it: a closing quote or a
/// number's last digit may be a damaged byte, a closing bracket ends what it ends.
pub(crate) fn whole(text: &[u8]) -> Whole {
    let mut reading = Reading { scan: Scan { text, at: 0 }, open: Vec::new() };
    let result = reading.document();
    let fault = result.err().map(|_| reading.scan.at);
    let end = match (fault, reading.open.last()) {
        (None, _) => reading.scan.at,
        (Some(_), Some(innermost)) => innermost.safe,
        (Some(_), None) => 0,
    };
    let mut whole = text.get(..end).unwrap_or_default().to_vec();
    whole.extend(reading.open.iter().rev().map(|open| match open.within {
        Within::Array => b']',
        Within::Object => b'}',
    }));
    let cut = reading.open.into_iter().map_while(|open| open.step).collect();
    Whole { text: whole, cut, fault }
}

struct Reading<'a> {
    scan: Scan<'a>,
    open: Vec<Open>,
}

impl Reading<'_> {
    fn document(&mut self) -> Result<(), JsonError> {
        loop {
            // A value begins here.
            let first = self.scan.after_blanks()?;
            let is_closed = match first {
                b'{' => self.enter(Within::Object, b'}')?,
                b'[' => self.enter(Within::Array, b']')?,
                _ => {
                    self.scan.literal(first)?;
                    true
                }
            };
            if is_closed && self.leave(first)? {
                return Ok(());
            }
        }
    }

    /// Whether the object or array is empty, and has ended.
    fn enter(&mut self, within: Within, close: u8) -> Result<bool, JsonError> {
        self.scan.at += 1;
        let step = (within == Within::Array).then_some(Step::Item(0));
        self.open.push(Open { within, safe: self.scan.at, step });
        if self.scan.after_blanks()? == close {
            self.close();
            return Ok(true);
        }
        if within == Within::Object {
            self.key()?;
        }
        Ok(false)
    }

    fn key(&mut self) -> Result<(), JsonError> {
        let start = self.scan.at;
        self.scan.key()?;
        // The name is in quotes, and blanks and a colon are behind it.
        let name = self.scan.text.get(start + 1..self.scan.at).unwrap_or_default();
        let end = name.iter().rposition(|byte| *byte == b'"').unwrap_or_default();
        let (name, _) = unquote(name.get(..end).unwrap_or_default());
        if let Some(open) = self.open.last_mut() {
            open.step = Some(Step::Key(name.into_owned()));
        }
        Ok(())
    }

    /// The innermost object or array ends, and so is whole.
    fn close(&mut self) {
        self.scan.at += 1;
        self.open.pop();
        self.mark(self.scan.at);
    }

    /// A value is whole.
    fn mark(&mut self, end: usize) {
        if let Some(open) = self.open.last_mut() {
            open.safe = end;
            open.step = match open.step.take() {
                Some(Step::Item(at)) => Some(Step::Item(at + 1)),
                _ => None,
            };
        }
    }

    /// After a value that began with `first`: goes to where the next one begins. Whether there is none.
    fn leave(&mut self, first: u8) -> Result<bool, JsonError> {
        let mut is_marked = matches!(first, b'{' | b'[');
        let mut end = self.scan.at;
        loop {
            let Some(within) = self.open.last().map(|open| open.within) else { return Ok(true) };
            let next = self.scan.after_blanks();
            let is_number = matches!(first, b'-' | b'0'..=b'9');
            match (within, next) {
                // More digits of a number may be missing.
                (_, Err(error)) => {
                    if !is_marked && !is_number {
                        self.mark(end);
                    }
                    return Err(error);
                }
                (_, Ok(b',')) => {
                    if !is_marked {
                        self.mark(end);
                    }
                    self.scan.at += 1;
                    self.scan.after_blanks()?;
                    if within == Within::Object {
                        self.key()?;
                    }
                    return Ok(false);
                }
                (Within::Object, Ok(b'}')) | (Within::Array, Ok(b']')) => {
                    if !is_marked {
                        self.mark(end);
                    }
                    self.close();
                    is_marked = true;
                    end = self.scan.at;
                }
                (_, Ok(_)) => return Err(self.scan.refuse("after value")),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, read: &str, cut: &[&str]) {
        let whole = whole(text.as_bytes());
        assert_eq!(String::from_utf8_lossy(&whole.text), read, "{text}");
        let steps = whole.cut.iter().map(|step| match step {
            Step::Key(name) => name.clone(),
            Step::Item(at) => alloc::format!("{at}"),
        });
        assert_eq!(steps.collect::<Vec<_>>(), cut, "{text}");
    }

    #[test]
    fn what_is_before_a_fault_is_read() {
        check(r#"{"a":1}"#, r#"{"a":1}"#, &[]);
        check(r#"{"a":1,"b":"x""#, r#"{"a":1,"b":"x"}"#, &[]);
        check(r#"{"a":1,"b":12"#, r#"{"a":1}"#, &["b"]);
        check(r#"{"a":1,"b":12x,"c":3}"#, r#"{"a":1}"#, &["b"]);
        check(r#"{"a":{"p":"1-4","q":"5"#, r#"{"a":{"p":"1-4"}}"#, &["a", "q"]);
        check(r#"{"a":{"p":"1-4"},"q"#, r#"{"a":{"p":"1-4"}}"#, &[]);
        check(r#"{"a":{"p":"1-4"49"},"q":1}"#, r#"{"a":{}}"#, &["a", "p"]);
        check(r#"{"l":[{"p":1},{"p":2,"#, r#"{"l":[{"p":1},{"p":2}]}"#, &["l", "1"]);
        check(r#"{"l":[{"p":1},"#, r#"{"l":[{"p":1}]}"#, &["l", "1"]);
        check(r#"{"a":{"b":1}}}"#, r#"{"a":{"b":1}}"#, &[]);
        check("\0\0", "", &[]);
        check("", "", &[]);
    }
}
