//! An answer, or why there is none.

use std::io;
use std::time::Duration;

use thiserror::Error;

/// An answer that is whole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Response {
    /// Of HTTP, such as 200.
    pub status: u16,
    /// The fields of its head.
    pub fields: Fields,
    /// Its body.
    pub body: Vec<u8>,
}

/// The fields of a head.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Fields(pub Vec<(String, String)>);

impl Fields {
    /// The value of the first field of that name, in whichever case it is written.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum ExchangeError {
    /// The connection fails.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It ends before the answer does.
    #[error("the answer broke off")]
    BrokeOff,
    /// What comes is not HTTP.
    #[error("the answer is not HTTP")]
    NotHttp,
    /// The body ends with the connection alone.
    #[error("the answer has no length")]
    NoLength,
    /// The body is larger than this many bytes.
    #[error("the answer is larger than {} MiB", .0 >> 20)]
    TooLarge(usize),
    /// It takes longer than this.
    #[error("no whole answer within {0:?}")]
    Late(Duration),
}

/// What an error of reading or writing stands for: a [`Timed`](crate::Timed) connection and a [`Body`](crate::Body) carry their own in it.
pub(crate) fn carried(error: io::Error) -> ExchangeError {
    match error.downcast::<ExchangeError>() {
        Ok(own) => own,
        Err(error) => ExchangeError::Io(error),
    }
}
