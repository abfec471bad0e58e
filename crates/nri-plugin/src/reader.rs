//! The reading half of a connection: bytes to requests, and deadlines.

use std::io::{self, Read as _};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use prost::Message as _;

use crate::link::{CallError, Link, Open, REGISTRATION, answer_of};
use crate::messages::ttrpc;
use crate::notice::Ended;
use crate::runtime_info::DEFAULT_REQUEST_TIMEOUT;
use crate::settings::Settings;
use crate::status::{Code, Status};
use crate::wire::{Connection, Decoder, Kind, Message};

/// What a runtime asks of a plugin.
const SERVICE: &str = "nri.pkg.api.v1alpha1.Plugin";
/// How much is read at once.
const READ: usize = 64 << 10;

/// A request for the handler.
pub(crate) struct Request {
    pub(crate) stream: u32,
    pub(crate) method: String,
    pub(crate) payload: Vec<u8>,
    pub(crate) due: Option<Instant>,
}

/// Reads until the connection ends.
pub(crate) struct Reader<'a> {
    pub(crate) socket: UnixStream,
    pub(crate) link: &'a Link,
    pub(crate) requests: Sender<Request>,
    pub(crate) settings: &'a Settings,
    pub(crate) stage: Stage,
}

/// How far the registration is. Synchronize has no deadline: it waits until no call of the kubelet is under way.
pub(crate) struct Stage {
    is_registered: bool,
    is_configured: bool,
    /// When which step has to be done, and how long it was given.
    due: Option<(Instant, &'static str, Duration)>,
}

impl Stage {
    /// The registration is about to be sent.
    pub(crate) fn begin(now: Instant, limit: Duration) -> Self {
        let due = Some((now + limit, "answer the registration", limit));
        Self { is_registered: false, is_configured: false, due }
    }

    fn registered(&mut self, now: Instant, limit: Duration) {
        self.is_registered = true;
        self.due = (!self.is_configured).then_some((now + limit, "configure the plugin", limit));
    }

    /// Configure may come before the answer to the registration.
    fn configured(&mut self) {
        self.is_configured = true;
        if self.is_registered {
            self.due = None;
        }
    }
}

impl Reader<'_> {
    /// Why it has ended.
    pub(crate) fn run(mut self) -> Ended {
        let mut decoder = Decoder::new();
        let mut buffer = vec![0; READ];
        loop {
            let now = Instant::now();
            if let Some((_, step, limit)) = self.stage.due.filter(|(due, ..)| *due <= now) {
                return Ended::NotInTime { step, limit };
            }
            let name = &self.settings.full_name;
            self.link.expire(now, |request| too_late(name, request));
            let next = [self.link.next_due(), self.stage.due.map(|(due, ..)| due)];
            let next = next.into_iter().flatten().min();
            // A time of nothing is not allowed; what is due now is answered with the next turn.
            let wait = next.map(|due| due.saturating_duration_since(now).max(Duration::from_millis(1)));
            let read = self.socket.set_read_timeout(wait).and_then(|()| self.socket.read(&mut buffer));
            let mut bytes = match read {
                Ok(0) if decoder.is_inside() => return Ended::Cut,
                Ok(0) => return Ended::Closed,
                Ok(length) => &buffer[..length],
                Err(error) if is_nothing(&error) => continue,
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ended::Closed,
                Err(error) => return error.into(),
            };
            loop {
                match decoder.next(&mut bytes) {
                    Ok(None) => break,
                    Ok(Some(message)) => {
                        if let Err(ended) = self.message(&message) {
                            return ended;
                        }
                    }
                    Err(error) => return error.into(),
                }
            }
        }
    }

    fn message(&mut self, message: &Message) -> Result<(), Ended> {
        match (message.connection, message.kind) {
            (Connection::Plugin, Kind::Request) => self.request(message),
            (Connection::Runtime, Kind::Response) if message.stream == REGISTRATION => {
                match answer_of(&message.body) {
                    Ok(_) => {
                        self.stage.registered(Instant::now(), self.settings.times.configure);
                        Ok(())
                    }
                    Err(CallError::Refused(status)) => Err(Ended::Rejected(status.message)),
                    Err(_) => Err(Ended::Rejected("the answer is no message of ttrpc".to_owned())),
                }
            }
            (Connection::Runtime, Kind::Response) => {
                self.link.complete(message.stream, &message.body);
                Ok(())
            }
            // Answers that were not asked for, streams, and kinds that are not known.
            _ => Ok(()),
        }
    }

    fn request(&mut self, message: &Message) -> Result<(), Ended> {
        let now = Instant::now();
        let request = ttrpc::Request::decode(&*message.body);
        let left = match &request {
            Ok(request) => u64::try_from(request.timeout_nano).ok().filter(|left| *left > 0),
            Err(_) => None,
        };
        let limit = left.map_or(DEFAULT_REQUEST_TIMEOUT, Duration::from_nanos);
        let due = self.settings.own_deadline.within(limit).and_then(|within| now.checked_add(within));
        let method = request.as_ref().map(|request| request.method.clone()).unwrap_or_default();
        if !self.link.begin(message.stream, Open { method, began: now, due }) {
            return Ok(());
        }
        match request {
            Ok(request) if request.service == SERVICE => {
                if request.method == "Configure" {
                    self.stage.configured();
                }
                let (method, payload) = (request.method, request.payload);
                let request = Request { stream: message.stream, method, payload, due };
                // Without a receiver the handler has ended, and with it the connection.
                self.requests.send(request).map_err(|_| Ended::Closed)
            }
            Ok(request) => {
                let text = format!("service {} is not known", request.service);
                self.link.answer(message.stream, Err(Status::new(Code::Unimplemented, text)));
                Ok(())
            }
            Err(error) => {
                let text = format!("the request is no message of ttrpc: {error}");
                self.link.answer(message.stream, Err(Status::new(Code::InvalidArgument, text)));
                Ok(())
            }
        }
    }
}

/// Whether there was nothing to read until a deadline.
fn is_nothing(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}

/// The text of a request that is not answered in time, which the runtime shows.
fn too_late(name: &str, request: &Open) -> String {
    let within = request.due.map_or(Duration::ZERO, |due| due.saturating_duration_since(request.began));
    format!("{name} did not decide on {} within {:.1} s", request.method, within.as_secs_f64())
}
