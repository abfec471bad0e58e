//! The writing half of a connection, shared by three kinds of threads: the reader, which sees requests come and
//! deadlines pass, the thread of the handler, which answers, and those that send updates.
//!
//! Each request is answered once: its entry is removed under the lock by the thread that then writes the answer. A
//! thread that finds no entry is late, and writes nothing. Streams of calls have to grow on the wire, so that their
//! numbers are drawn under the lock of the output. That lock is taken before that of the table, never behind it.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use prost::Message as _;

use crate::messages::ttrpc;
use crate::status::{Code, Status};
use crate::sync::{Condvar, Mutex, lock};
use crate::wire::{Connection, Kind, TooLong, encode};

/// The most requests that are open at once. Runtimes have one, or two after one that was late.
const MOST_OPEN: usize = 64;
/// What a plugin asks of a runtime.
pub(crate) const RUNTIME_SERVICE: &str = "nri.pkg.api.v1alpha1.Runtime";
/// The stream of the registration, the first call of a connection.
pub(crate) const REGISTRATION: u32 = 1;

/// Where bytes go.
pub(crate) trait Output {
    /// Writes all bytes of a message.
    fn put(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Ends both directions: the reader finds the end too.
    fn close(&mut self);
}

impl Output for UnixStream {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    fn close(&mut self) {
        // It is closed already, or will be when the process ends.
        let _ = self.shutdown(Shutdown::Both);
    }
}

/// One connection.
pub(crate) struct Link<W = UnixStream> {
    output: Mutex<W>,
    table: Mutex<Table>,
    answered: Condvar,
}

struct Table {
    /// Requests of the runtime without an answer, by stream.
    open: BTreeMap<u32, Open>,
    /// The highest stream of the runtime so far.
    last: u32,
    /// Calls of the plugin that wait, by stream; with an answer when it is there.
    calls: BTreeMap<u32, Option<Result<Vec<u8>, CallError>>>,
    /// The stream of the next call.
    next: u32,
    has_ended: bool,
}

/// A request without an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Open {
    pub(crate) method: String,
    pub(crate) began: Instant,
    /// When it is answered with an error.
    pub(crate) due: Option<Instant>,
}

/// What became of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answered {
    /// It was written, or the connection has failed.
    Sent,
    /// The request was answered before, by its deadline, or the connection has ended.
    Late,
}

/// Why a call has no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum CallError {
    Closed,
    NotInTime,
    TooLong(TooLong),
    Refused(Status),
    Malformed,
}

impl<W> fmt::Debug for Link<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").finish_non_exhaustive()
    }
}

impl<W: Output> Link<W> {
    pub(crate) fn new(output: W) -> Self {
        let table = Table {
            open: BTreeMap::new(),
            last: 0,
            calls: BTreeMap::new(),
            next: REGISTRATION + 2,
            has_ended: false,
        };
        Self { output: Mutex::new(output), table: Mutex::new(table), answered: Condvar::new() }
    }

    /// A request has come. `false`: it is refused, with an answer that says why.
    pub(crate) fn begin(&self, stream: u32, request: Open) -> bool {
        let refusal = {
            let mut table = lock(&self.table);
            if stream.is_multiple_of(2) || stream <= table.last {
                Some((Code::InvalidArgument, format!("stream {stream} is even, or was used before")))
            } else {
                table.last = stream;
                if table.open.len() < MOST_OPEN {
                    table.open.insert(stream, request);
                    None
                } else {
                    let text = format!("{MOST_OPEN} requests wait for an answer");
                    Some((Code::ResourceExhausted, text))
                }
            }
        };
        let is_taken = refusal.is_none();
        if let Some((code, text)) = refusal {
            self.write_answer(stream, Err(Status::new(code, text)));
        }
        is_taken
    }

    /// Whether a request still waits for its answer.
    pub(crate) fn is_open(&self, stream: u32) -> bool {
        lock(&self.table).open.contains_key(&stream)
    }

    /// Answers a request, if that has not been done.
    pub(crate) fn answer(&self, stream: u32, result: Result<Vec<u8>, Status>) -> Answered {
        let entry = lock(&self.table).open.remove(&stream);
        if entry.is_none() {
            return Answered::Late;
        }
        self.write_answer(stream, result);
        Answered::Sent
    }

    /// Answers what is due with an error, whose text `say` gives.
    pub(crate) fn expire(&self, now: Instant, say: impl Fn(&Open) -> String) {
        let due: Vec<(u32, Open)> = {
            let mut table = lock(&self.table);
            let is_due = |_: &u32, request: &mut Open| request.due.is_some_and(|due| due <= now);
            table.open.extract_if(.., is_due).collect()
        };
        for (stream, request) in due {
            // The code that the stub in Go gives every error of a handler: `DeadlineExceeded` might be taken for the
            // runtime's own.
            self.write_answer(stream, Err(Status::new(Code::Unknown, say(&request))));
        }
    }

    /// When the next request is due.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        lock(&self.table).open.values().filter_map(|request| request.due).min()
    }

    /// Sends the registration. Its answer comes on [`REGISTRATION`], to the reader.
    pub(crate) fn register(&self, request: &ttrpc::Request) {
        if let Ok(bytes) = encode(Connection::Runtime, REGISTRATION, Kind::Request, &request.encode_to_vec())
        {
            let mut output = lock(&self.output);
            self.put(&mut output, &bytes);
        }
    }

    /// Asks the runtime, and waits for its answer.
    pub(crate) fn call(&self, request: &ttrpc::Request, limit: Duration) -> Result<Vec<u8>, CallError> {
        let body = request.encode_to_vec();
        let until = Instant::now() + limit;
        let stream = {
            let mut output = lock(&self.output);
            let stream = {
                let mut table = lock(&self.table);
                if table.has_ended {
                    return Err(CallError::Closed);
                }
                let stream = table.next;
                table.next += 2;
                table.calls.insert(stream, None);
                stream
            };
            match encode(Connection::Runtime, stream, Kind::Request, &body) {
                Ok(bytes) => self.put(&mut output, &bytes),
                Err(error) => {
                    lock(&self.table).calls.remove(&stream);
                    return Err(CallError::TooLong(error));
                }
            }
            stream
        };
        let mut table = lock(&self.table);
        loop {
            if let Some(Some(_)) = table.calls.get(&stream) {
                return table.calls.remove(&stream).flatten().unwrap_or(Err(CallError::Closed));
            }
            if table.has_ended {
                table.calls.remove(&stream);
                return Err(CallError::Closed);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                table.calls.remove(&stream);
                return Err(CallError::NotInTime);
            }
            let waited = self.answered.wait_timeout(table, left);
            table = waited.unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
    }

    /// The answer to a call has come. One to a call that does not wait is passed over.
    pub(crate) fn complete(&self, stream: u32, body: &[u8]) {
        let result = answer_of(body);
        let mut table = lock(&self.table);
        if let Some(slot) = table.calls.get_mut(&stream) {
            *slot = Some(result);
            self.answered.notify_all();
        }
    }

    /// Ends the connection: calls that wait end, and nothing is answered any more.
    pub(crate) fn end(&self) {
        {
            let mut table = lock(&self.table);
            table.has_ended = true;
            table.open.clear();
        }
        self.answered.notify_all();
        lock(&self.output).close();
    }

    fn write_answer(&self, stream: u32, result: Result<Vec<u8>, Status>) {
        let envelope = |result| {
            let (status, payload) = match result {
                Ok(payload) => (None, payload),
                Err(Status { code, message }) => {
                    (Some(ttrpc::Status { code: code.number(), message }), Vec::new())
                }
            };
            ttrpc::Response { status, payload }.encode_to_vec()
        };
        let bytes = encode(Connection::Plugin, stream, Kind::Response, &envelope(result)).or_else(|error| {
            let status = Status::new(Code::ResourceExhausted, error.to_string());
            encode(Connection::Plugin, stream, Kind::Response, &envelope(Err(status)))
        });
        if let Ok(bytes) = bytes {
            let mut output = lock(&self.output);
            self.put(&mut output, &bytes);
        }
    }

    /// Writes a whole message. If that fails, perhaps in the middle, the connection is of no use.
    fn put(&self, output: &mut W, bytes: &[u8]) {
        if output.put(bytes).is_err() {
            let mut table = lock(&self.table);
            table.has_ended = true;
            drop(table);
            self.answered.notify_all();
            output.close();
        }
    }
}

/// The answer in an envelope.
pub(crate) fn answer_of(body: &[u8]) -> Result<Vec<u8>, CallError> {
    let response = ttrpc::Response::decode(body).map_err(|_| CallError::Malformed)?;
    match response.status.filter(|status| status.code != 0) {
        Some(status) => Err(CallError::Refused(Status::new(Code::of(status.code), status.message))),
        None => Ok(response.payload),
    }
}

#[cfg(test)]
mod models;
