//! A request, sent.

use std::io::{self, BufRead as _, BufReader, Read, Write};

use crate::answer::{ExchangeError, Fields, Response, carried};
use crate::read::{self, Body};

/// A request, on a connection that is closed afterwards.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// `GET` and so on.
    pub method: &'a str,
    /// With its query.
    pub path: &'a str,
    /// The value of the field `Host`.
    pub host: &'a str,
    /// Further fields. One whose value has control characters, which would end it, is left out.
    pub fields: &'a [(&'a str, &'a str)],
    /// Empty: none.
    pub body: &'a [u8],
}

/// The head of an answer, and a reader of its body.
#[derive(Debug)]
pub struct Opened<R> {
    /// Of HTTP, such as 200.
    pub status: u16,
    /// The fields of its head.
    pub fields: Fields,
    /// Ends with the body; an error where the connection ends before.
    pub body: BufReader<Body<R>>,
}

impl<'a> Request<'a> {
    /// To `localhost`, without further fields and a body.
    #[must_use]
    pub const fn new(method: &'a str, path: &'a str) -> Self {
        Self { method, path, host: "localhost", fields: &[], body: &[] }
    }

    /// The same with a body.
    #[must_use]
    pub const fn with_body(self, body: &'a [u8]) -> Self {
        Self { body, ..self }
    }

    /// Sends the request and reads the answer, whose body has at most `largest` bytes.
    ///
    /// # Errors
    /// The connection fails, or what comes is no whole answer of that size.
    pub fn exchange(&self, connection: impl Read + Write, largest: usize) -> Result<Response, ExchangeError> {
        let Opened { status, fields, body } = self.open(connection)?;
        let mut read = Vec::new();
        body.take((largest as u64).saturating_add(1)).read_to_end(&mut read).map_err(carried)?;
        if read.len() > largest {
            return Err(ExchangeError::TooLarge(largest));
        }
        Ok(Response { status, fields, body: read })
    }

    /// Sends the request and reads the head of the answer, of at most 64 KiB.
    ///
    /// # Errors
    /// The connection fails, or what comes is no head of an answer.
    pub fn open<S: Read + Write>(&self, mut connection: S) -> Result<Opened<S>, ExchangeError> {
        // A server that turns a request away may close before it has read all of it. Then writing fails, and there may be
        // an answer all the same.
        let sent = self.send(&mut connection);
        let mut from = BufReader::new(connection);
        if let (Err(error), true) = (sent, from.fill_buf().map_or(true, <[u8]>::is_empty)) {
            return Err(carried(error));
        }
        let read::Head { status, fields, framing } = read::head(&mut from)?;
        Ok(Opened { status, fields, body: BufReader::new(Body::new(from, framing)) })
    }

    fn send(&self, to: &mut impl Write) -> io::Result<()> {
        let Self { method, path, host, fields, body } = self;
        let is_whole = |(_, value): &&(&str, &str)| !value.chars().any(char::is_control);
        let fields = fields.iter().filter(is_whole).map(|(name, value)| format!("{name}: {value}\r\n"));
        let fields = fields.collect::<String>();
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{fields}Content-Length: {length}\r\n\r\n"
        );
        to.write_all(&[head.as_bytes(), body].concat())?;
        to.flush()
    }
}
