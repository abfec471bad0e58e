//! A runtime for one plugin. It shares no code with the crate but the messages: frames are written and read here once
//! more.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::Duration;

use nri_plugin::messages::{
    ConfigureRequest, ConfigureResponse, Container, EventRequest, PodSandbox, RegisterPluginRequest,
    SynchronizeRequest, SynchronizeResponse,
};
use prost::Message;

/// How long a test waits for what has to come.
const PATIENCE: Duration = Duration::from_secs(20);

/// Envelopes of ttrpc, as its specification has them.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Request {
    #[prost(string, tag = "1")]
    pub(crate) service: String,
    #[prost(string, tag = "2")]
    pub(crate) method: String,
    #[prost(bytes = "vec", tag = "3")]
    pub(crate) payload: Vec<u8>,
    #[prost(int64, tag = "4")]
    pub(crate) timeout_nano: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Status {
    #[prost(int32, tag = "1")]
    pub(crate) code: i32,
    #[prost(string, tag = "2")]
    pub(crate) message: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Response {
    #[prost(message, optional, tag = "1")]
    pub(crate) status: Option<Status>,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) payload: Vec<u8>,
}

/// A message as it came, with the lengths of its frames.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Received {
    pub(crate) connection: u32,
    pub(crate) stream: u32,
    pub(crate) kind: u8,
    pub(crate) body: Vec<u8>,
    pub(crate) frames: Vec<usize>,
}

/// Where a runtime listens.
pub(crate) struct Listening {
    _folder: tempfile::TempDir,
    pub(crate) socket: PathBuf,
    listener: UnixListener,
}

impl Listening {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("nri.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        Self { _folder: folder, socket, listener }
    }

    /// The next plugin that connects.
    pub(crate) fn accept(&self) -> Runtime {
        let (socket, _) = self.listener.accept().unwrap();
        Runtime::of(socket)
    }
}

/// The runtime's end of a connection.
pub(crate) struct Runtime {
    pub(crate) socket: UnixStream,
    /// Bytes are written in pieces of this length.
    pub(crate) piece: usize,
    next: u32,
    /// The deadline that requests have; 0: none.
    pub(crate) timeout: Duration,
}

/// An answer of the plugin.
pub(crate) type Answer = Result<Vec<u8>, Status>;

impl Runtime {
    pub(crate) fn of(socket: UnixStream) -> Self {
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { socket, piece: usize::MAX, next: 1, timeout: Duration::from_secs(2) }
    }

    pub(crate) fn frame(connection: u32, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len()).unwrap();
        [&connection.to_be_bytes(), &length.to_be_bytes(), body].concat()
    }

    pub(crate) fn message(stream: u32, kind: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len()).unwrap();
        [&length.to_be_bytes(), &stream.to_be_bytes()[..], &[kind, 0], body].concat()
    }

    /// Writes bytes as they are, in pieces.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        for piece in bytes.chunks(self.piece) {
            self.socket.write_all(piece).unwrap();
        }
    }

    /// Writes a message as Go does: 4,096 bytes, then the rest.
    pub(crate) fn send(&mut self, connection: u32, stream: u32, kind: u8, body: &[u8]) {
        let message = Self::message(stream, kind, body);
        let (first, rest) = message.split_at(message.len().min(4096));
        let frames = [first, rest].into_iter().filter(|part| !part.is_empty());
        let bytes: Vec<u8> = frames.flat_map(|part| Self::frame(connection, part)).collect();
        self.write(&bytes);
    }

    /// The next message; an error where the plugin has closed the connection.
    pub(crate) fn receive(&mut self) -> io::Result<Received> {
        let (mut bytes, mut frames, mut of) = (Vec::new(), Vec::new(), None);
        loop {
            let mut head = [0; 8];
            self.socket.read_exact(&mut head)?;
            let number = |at: usize| u32::from_be_bytes(head[at..at + 4].try_into().unwrap());
            let connection = *of.get_or_insert(number(0));
            assert_eq!(number(0), connection, "messages are not interleaved");
            let mut frame = vec![0; usize::try_from(number(4)).unwrap()];
            self.socket.read_exact(&mut frame)?;
            frames.push(frame.len());
            bytes.extend(frame);
            let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
            if bytes.len() >= 10 && bytes.len() == 10 + usize::try_from(number(0)).unwrap() {
                let (stream, kind) = (number(4), bytes[8]);
                return Ok(Received { connection, stream, kind, body: bytes.split_off(10), frames });
            }
        }
    }

    /// The next stream of the runtime.
    pub(crate) fn stream(&mut self) -> u32 {
        self.next += 2;
        self.next - 2
    }

    /// Sends a request and does not wait for its answer.
    pub(crate) fn ask(&mut self, method: &str, request: &impl Message) -> u32 {
        let stream = self.stream();
        let request = Request {
            service: "nri.pkg.api.v1alpha1.Plugin".to_owned(),
            method: method.to_owned(),
            payload: request.encode_to_vec(),
            timeout_nano: i64::try_from(self.timeout.as_nanos()).unwrap(),
        };
        self.send(1, stream, 1, &request.encode_to_vec());
        stream
    }

    /// The answer to a request.
    pub(crate) fn answer(&mut self, stream: u32) -> Answer {
        let received = self.receive().unwrap();
        assert_eq!((received.connection, received.stream, received.kind), (1, stream, 2));
        let response = Response::decode(&*received.body).unwrap();
        response.status.map_or(Ok(response.payload), Err)
    }

    /// A request and its answer.
    pub(crate) fn call(&mut self, method: &str, request: &impl Message) -> Answer {
        let stream = self.ask(method, request);
        self.answer(stream)
    }

    /// The plugin's registration, without an answer to it.
    pub(crate) fn registration(&mut self) -> (RegisterPluginRequest, u32) {
        let received = self.receive().unwrap();
        assert_eq!((received.connection, received.kind), (2, 1));
        let request = Request::decode(&*received.body).unwrap();
        assert_eq!(request.method, "RegisterPlugin");
        (RegisterPluginRequest::decode(&*request.payload).unwrap(), received.stream)
    }

    /// The next call of the plugin after its registration, which is answered.
    pub(crate) fn asked(&mut self, respond: impl FnOnce(&Request) -> Response) -> Request {
        let received = self.receive().unwrap();
        assert_eq!((received.connection, received.kind), (2, 1));
        let request = Request::decode(&*received.body).unwrap();
        let response = respond(&request).encode_to_vec();
        self.send(2, received.stream, 2, &response);
        request
    }

    /// Registers the plugin and configures it, as a runtime with a version of NRI does.
    pub(crate) fn configure(&mut self, nri: &str) -> ConfigureResponse {
        let (_, stream) = self.registration();
        self.send(2, stream, 2, &[]);
        let answer = self.call("Configure", &configuration(nri)).unwrap();
        ConfigureResponse::decode(&*answer).unwrap()
    }

    /// The whole handshake, on a node without pods.
    pub(crate) fn synchronize(&mut self, nri: &str) -> SynchronizeResponse {
        self.configure(nri);
        let answer = self.call("Synchronize", &SynchronizeRequest::default()).unwrap();
        SynchronizeResponse::decode(&*answer).unwrap()
    }

    /// Waits until the plugin has closed the connection.
    pub(crate) fn until_closed(&mut self) {
        let error = loop {
            if let Err(error) = self.receive() {
                break error;
            }
        };
        let closed = [io::ErrorKind::UnexpectedEof, io::ErrorKind::ConnectionReset];
        assert!(closed.contains(&error.kind()), "{error}");
    }
}

pub(crate) fn configuration(nri: &str) -> ConfigureRequest {
    ConfigureRequest {
        runtime_name: "scripted".to_owned(),
        runtime_version: "v0.0.0".to_owned(),
        registration_timeout: 5000,
        request_timeout: 2000,
        nri_version: nri.to_owned(),
        ..ConfigureRequest::default()
    }
}

/// A pod `p1` with a container.
pub(crate) fn event(container: &str) -> EventRequest {
    EventRequest { pod: Some(pod()), container: Some(self::container(container)) }
}

pub(crate) fn pod() -> PodSandbox {
    PodSandbox { id: "p1".to_owned(), name: "p1".to_owned(), ..PodSandbox::default() }
}

pub(crate) fn container(id: &str) -> Container {
    Container { id: id.to_owned(), name: id.to_owned(), ..Container::default() }
}
