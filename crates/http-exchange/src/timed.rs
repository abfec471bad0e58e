//! A connection that is given up after a time.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use crate::answer::ExchangeError;

/// A connection whose reads and writes can be given up.
pub trait Timeout: Read + Write {
    /// Limits each read and each write.
    ///
    /// # Errors
    /// It cannot be limited so.
    fn limit(&self, within: Duration) -> io::Result<()>;
}

impl Timeout for UnixStream {
    fn limit(&self, within: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(within))?;
        self.set_write_timeout(Some(within))
    }
}

impl Timeout for TcpStream {
    fn limit(&self, within: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(within))?;
        self.set_write_timeout(Some(within))
    }
}

/// A connection that is given up after a time, however many bytes come until then.
#[derive(Debug)]
pub struct Timed<S> {
    connection: S,
    within: Duration,
    began: Instant,
}

impl<S: Timeout> Timed<S> {
    /// The time begins now.
    pub fn new(connection: S, within: Duration) -> Self {
        Self { connection, within, began: Instant::now() }
    }

    /// Has something done as long as time is left.
    fn retried<T>(&mut self, mut act: impl FnMut(&mut S) -> io::Result<T>) -> io::Result<T> {
        loop {
            let left = self.within.saturating_sub(self.began.elapsed());
            if left.is_zero() {
                return Err(io::Error::new(io::ErrorKind::TimedOut, ExchangeError::Late(self.within)));
            }
            self.connection.limit(left)?;
            match act(&mut self.connection) {
                // The time is looked at first.
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                result => return result,
            }
        }
    }
}

impl<S: Timeout> Read for Timed<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.retried(|connection| connection.read(buffer))
    }
}

impl<S: Timeout> Write for Timed<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.retried(|connection| connection.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.connection.flush()
    }
}
