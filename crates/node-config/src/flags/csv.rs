//! Lists in a flag, as Go's `encoding/csv` reads the first record of a text.
//!
//! Fields are separated by commas. A field that begins with a quote ends at the next single one, may hold commas and
//! line ends, and has two quotes where one is meant. Empty lines in front are skipped; what follows the line of the
//! record does not count.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use thiserror::Error;

/// Why a list cannot be read. The texts are Go's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum CsvError {
    /// There are lines, and all of them are empty.
    #[error("EOF")]
    Empty,
    /// A quote inside a field that does not begin with one.
    #[error("{}parse error on line {line}, column {column}: bare \" in non-quoted-field", record(*.start, *.line))]
    BareQuote {
        /// The line in which the record begins, from 1 on.
        start: usize,
        /// The line, from 1 on.
        line: usize,
        /// The byte in the line, from 1 on.
        column: usize,
    },
    /// No quote at the end of a field that begins with one, or one within.
    #[error(
        "{}parse error on line {line}, column {column}: extraneous or missing \" in quoted-field",
        record(*.start, *.line)
    )]
    Quote {
        /// The line in which the record begins, from 1 on.
        start: usize,
        /// The line, from 1 on.
        line: usize,
        /// The byte in the line, from 1 on.
        column: usize,
    },
}

/// Where the record begins, if that is another line.
fn record(start: usize, line: usize) -> String {
    if start == line { String::new() } else { alloc::format!("record on line {start}; ") }
}

/// The fields of the first record. An empty text has none.
///
/// # Errors
/// What is wrong first, from the left.
pub(super) fn fields(text: &str) -> Result<Vec<String>, CsvError> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let mut lines = Lines { rest: text, number: 0 };
    let line = lines.by_ref().find(|line| !line.text.is_empty()).ok_or(CsvError::Empty)?;
    let start = lines.number;
    let mut record = Record { start, lines, line, at: 0 };
    let mut fields = Vec::new();
    loop {
        let (field, next) = if record.rest().starts_with('"') { record.quoted()? } else { record.plain()? };
        fields.push(field);
        if next == Next::End {
            return Ok(fields);
        }
    }
}

/// What follows a field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// Another field.
    Field,
    /// The end of the record.
    End,
}

/// A record that is being read.
struct Record<'a> {
    /// The line in which it begins.
    start: usize,
    lines: Lines<'a>,
    line: Line<'a>,
    /// How many bytes of the line were read.
    at: usize,
}

impl<'a> Record<'a> {
    fn rest(&self) -> &'a str {
        self.line.text.get(self.at..).unwrap_or_default()
    }

    fn plain(&mut self) -> Result<(String, Next), CsvError> {
        let rest = self.rest();
        let (field, next) = rest.split_once(',').map_or((rest, Next::End), |(field, _)| (field, Next::Field));
        if let Some(quote) = field.find('"') {
            let (start, line) = (self.start, self.lines.number);
            return Err(CsvError::BareQuote { start, line, column: self.at + quote + 1 });
        }
        self.at += field.len() + 1;
        Ok((field.to_owned(), next))
    }

    fn quoted(&mut self) -> Result<(String, Next), CsvError> {
        let mut field = String::new();
        self.at += 1;
        loop {
            let Some((before, after)) = self.rest().split_once('"') else {
                self.next_line(&mut field)?;
                continue;
            };
            field.push_str(before);
            self.at += before.len() + 1;
            match after.as_bytes() {
                [] => return Ok((field, Next::End)),
                [b',', ..] => {
                    self.at += 1;
                    return Ok((field, Next::Field));
                }
                [b'"', ..] => {
                    field.push('"');
                    self.at += 1;
                }
                _ => return Err(self.unmatched(self.lines.number, self.at)),
            }
        }
    }

    /// Goes on in the next line, which belongs to the same field.
    fn next_line(&mut self, field: &mut String) -> Result<(), CsvError> {
        field.push_str(self.rest());
        let (number, length) = (self.lines.number, self.line.text.len());
        if self.line.end == LineEnd::Text {
            return Err(self.unmatched(number, length + 1));
        }
        field.push('\n');
        self.line = self.lines.next().ok_or_else(|| self.unmatched(number, length + 2))?;
        self.at = 0;
        Ok(())
    }

    const fn unmatched(&self, line: usize, column: usize) -> CsvError {
        CsvError::Quote { start: self.start, line, column }
    }
}

/// What a line ends with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineEnd {
    /// A line end.
    Newline,
    /// The end of the text.
    Text,
}

/// A line without its end.
#[derive(Clone, Copy)]
struct Line<'a> {
    text: &'a str,
    end: LineEnd,
}

/// The lines of a text; `\r` before a line end and at the end of the text is cut off.
struct Lines<'a> {
    rest: &'a str,
    /// That of the last line, from 1 on.
    number: usize,
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        // A lone `\r` at the end is no line.
        if matches!(self.rest, "" | "\r") {
            return None;
        }
        self.number += 1;
        let (text, end) = match self.rest.split_once('\n') {
            Some((text, rest)) => {
                self.rest = rest;
                (text, LineEnd::Newline)
            }
            None => (core::mem::take(&mut self.rest), LineEnd::Text),
        };
        Some(Line { text: text.strip_suffix('\r').unwrap_or(text), end })
    }
}
