//! Heads and bodies of answers.

use std::io::{self, BufRead, BufReader, Read};

use crate::answer::{ExchangeError, Fields, carried};

/// The most bytes of a head: 64 KiB.
const HEAD: usize = 64 << 10;
/// The most fields of a head.
const FIELDS: usize = 128;
/// The most bytes of the line before a chunk.
const LINE: u64 = 1 << 10;

/// How the end of a body is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Framing {
    /// So many bytes are left.
    Length(u64),
    /// So many bytes are left of a chunk, before its end.
    Chunk(u64),
    /// The line before a chunk is next.
    ChunkLine,
}

pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) fields: Fields,
    pub(crate) framing: Framing,
}

/// Reads the head of an answer, after those that only announce it (100 to 199).
pub(crate) fn head(from: &mut impl BufRead) -> Result<Head, ExchangeError> {
    loop {
        let text = head_bytes(from)?;
        let mut fields = [httparse::EMPTY_HEADER; FIELDS];
        let mut response = httparse::Response::new(&mut fields);
        let parsed = response.parse(&text).map_err(|_| ExchangeError::NotHttp)?;
        let (httparse::Status::Complete(_), Some(status)) = (parsed, response.code) else {
            return Err(ExchangeError::NotHttp);
        };
        let field = |field: &httparse::Header<'_>| {
            (field.name.to_owned(), String::from_utf8_lossy(field.value).into_owned())
        };
        let fields = Fields(response.headers.iter().map(field).collect());
        match status {
            100..200 => {}
            204 | 304 => return Ok(Head { status, fields, framing: Framing::Length(0) }),
            _ => return framing(&fields).map(|framing| Head { status, fields, framing }),
        }
    }
}

/// The bytes of a head with the empty line that ends it.
fn head_bytes(from: &mut impl BufRead) -> Result<Vec<u8>, ExchangeError> {
    let mut head = Vec::new();
    loop {
        let (begins, left) = (head.len(), HEAD.saturating_sub(head.len()));
        let read = from.by_ref().take(left as u64).read_until(b'\n', &mut head).map_err(carried)?;
        let line = head.get(begins..).unwrap_or_default();
        if read == 0 || !line.ends_with(b"\n") {
            return Err(if left == read { ExchangeError::NotHttp } else { ExchangeError::BrokeOff });
        }
        if begins == 0 && !line.starts_with(b"HTTP/") {
            return Err(ExchangeError::NotHttp);
        }
        if matches!(line, b"\n" | b"\r\n") {
            return Ok(head);
        }
    }
}

fn framing(fields: &Fields) -> Result<Framing, ExchangeError> {
    match (fields.get("transfer-encoding"), fields.get("content-length")) {
        (Some(encoding), _) if encoding.eq_ignore_ascii_case("chunked") => Ok(Framing::ChunkLine),
        (Some(_), _) => Err(ExchangeError::NotHttp),
        (None, Some(length)) => length.parse().map(Framing::Length).map_err(|_| ExchangeError::NotHttp),
        (None, None) => Err(ExchangeError::NoLength),
    }
}

/// A body: reads to its end, and fails where the connection ends before.
#[derive(Debug)]
pub struct Body<S> {
    from: BufReader<S>,
    framing: Framing,
}

impl<S: Read> Body<S> {
    pub(crate) const fn new(from: BufReader<S>, framing: Framing) -> Self {
        Self { from, framing }
    }

    /// At most so many bytes as are `left` of a part.
    fn part(&mut self, left: u64, buffer: &mut [u8]) -> io::Result<u64> {
        let most = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let read = self.from.read(buffer.get_mut(..most).unwrap_or_default())?;
        if read == 0 && most > 0 {
            return Err(broke_off());
        }
        Ok(read as u64)
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.from.by_ref().take(LINE).read_line(&mut line)?;
        line.strip_suffix("\r\n").map(str::to_owned).ok_or_else(broke_off)
    }
}

impl<S: Read> Read for Body<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = match self.framing {
            Framing::Length(0) => 0,
            Framing::Length(left) => {
                let read = self.part(left, buffer)?;
                self.framing = Framing::Length(left - read);
                read
            }
            Framing::ChunkLine => {
                let line = self.line()?;
                // What follows `;` is for servers that agreed on it.
                let size = line.split(';').next().unwrap_or_default().trim();
                let size = u64::from_str_radix(size, 16)
                    .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, ExchangeError::NotHttp))?;
                self.framing = Framing::Chunk(size);
                if size == 0 {
                    // Fields after the last chunk.
                    while !self.line()?.is_empty() {}
                    self.framing = Framing::Length(0);
                    return Ok(0);
                }
                return self.read(buffer);
            }
            Framing::Chunk(left) => {
                let read = self.part(left, buffer)?;
                self.framing = Framing::Chunk(left - read);
                if left == read {
                    self.line()?;
                    self.framing = Framing::ChunkLine;
                }
                read
            }
        };
        Ok(usize::try_from(read).unwrap_or(usize::MAX))
    }
}

fn broke_off() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, ExchangeError::BrokeOff)
}
