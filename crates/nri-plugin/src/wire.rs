//! Bytes of the connection between a runtime and a plugin: frames that carry two connections, and messages of ttrpc
//! in them.
//!
//! A frame is a connection id of 4 bytes, a length of 4 bytes, and so many bytes. A message is a length of 4 bytes, a
//! stream id of 4 bytes, a kind, flags, and a body of that length. All numbers are big endian. Frames may cut
//! messages anywhere, and reads may cut frames anywhere.
//!
//! # How messages are written
//!
//! Runtimes read through a buffer of 4,096 bytes: a frame that begins a message and is longer ends the connection, by
//! chance with the request failed or carried out without the plugin. More than 256 frames that are not read yet end
//! it too. So [`encode`] writes one frame of at most [`FIRST_FRAME`] bytes, and one with the whole rest.
//!
//! # What is refused
//!
//! A length is compared with [`LARGEST_FRAME`] or [`LARGEST_BODY`] when it is read, and no memory is reserved by it:
//! a buffer grows by what arrives. Bytes of a connection that is not known are passed over, as runtimes do.

/// The length of a frame's head.
const FRAME_HEAD: usize = 8;
/// The length of a message's head.
const MESSAGE_HEAD: usize = 10;
/// The most bytes of a message's body, 4 MiB.
pub const LARGEST_BODY: usize = 4 << 20;
/// The most bytes of a frame: a whole message.
pub const LARGEST_FRAME: usize = LARGEST_BODY + MESSAGE_HEAD;
/// The most bytes of a frame that begins a message.
pub const FIRST_FRAME: usize = 4096;

/// One of the two connections that share a socket.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Connection {
    /// The runtime asks, the plugin answers: id 1.
    Plugin,
    /// The plugin asks, the runtime answers: id 2.
    Runtime,
}

impl Connection {
    const fn id(self) -> u32 {
        match self {
            Self::Plugin => 1,
            Self::Runtime => 2,
        }
    }

    const fn of(id: u32) -> Option<Self> {
        match id {
            1 => Some(Self::Plugin),
            2 => Some(Self::Runtime),
            _ => None,
        }
    }
}

/// What a message is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// A call.
    Request,
    /// The answer to a call.
    Response,
    /// A part of a stream, which NRI does not use.
    Data,
    /// Any other number.
    Other(u8),
}

impl Kind {
    const fn number(self) -> u8 {
        match self {
            Self::Request => 1,
            Self::Response => 2,
            Self::Data => 3,
            Self::Other(number) => number,
        }
    }

    const fn of(number: u8) -> Self {
        match number {
            1 => Self::Request,
            2 => Self::Response,
            3 => Self::Data,
            other => Self::Other(other),
        }
    }
}

/// A whole message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// On which connection it came.
    pub connection: Connection,
    /// Which call it belongs to.
    pub stream: u32,
    /// What it is.
    pub kind: Kind,
    /// The envelope, at most [`LARGEST_BODY`] bytes.
    pub body: Vec<u8>,
}

/// Why bytes are no frames or messages. The connection cannot go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WireError {
    /// A frame claims to be longer than any may be.
    #[error("a frame claims {0} bytes, more than the {LARGEST_FRAME} that are allowed")]
    Frame(u32),
    /// A message claims to be longer than any may be.
    #[error("a message claims {0} bytes, more than the {LARGEST_BODY} that are allowed")]
    Message(u32),
}

/// A body that is too long to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the message has {0} bytes, more than the {LARGEST_BODY} that are allowed")]
pub struct TooLong(pub usize);

/// The bytes of a message, to be written at once.
///
/// # Errors
/// The body is longer than [`LARGEST_BODY`].
pub fn encode(connection: Connection, stream: u32, kind: Kind, body: &[u8]) -> Result<Vec<u8>, TooLong> {
    let length = u32::try_from(body.len()).ok().filter(|_| body.len() <= LARGEST_BODY);
    let length = length.ok_or(TooLong(body.len()))?;
    let first = body.len().min(FIRST_FRAME - MESSAGE_HEAD);
    let mut bytes = Vec::with_capacity(2 * FRAME_HEAD + MESSAGE_HEAD + body.len());
    let frame_head = |bytes: &mut Vec<u8>, length: usize| {
        bytes.extend(connection.id().to_be_bytes());
        // A body's length fits, and with it that of its parts.
        bytes.extend(u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
    };
    frame_head(&mut bytes, MESSAGE_HEAD + first);
    bytes.extend(length.to_be_bytes());
    bytes.extend(stream.to_be_bytes());
    bytes.extend([kind.number(), 0]);
    bytes.extend(&body[..first]);
    if first < body.len() {
        frame_head(&mut bytes, body.len() - first);
        bytes.extend(&body[first..]);
    }
    Ok(bytes)
}

/// Takes messages out of bytes, however these are cut.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    frame: FrameState,
    plugin: Partial,
    runtime: Partial,
}

/// Where in a frame the next byte lies.
#[derive(Clone, Debug)]
enum FrameState {
    Head {
        bytes: [u8; FRAME_HEAD],
        filled: usize,
    },
    /// So many bytes of it are to come; without a connection they are passed over.
    Body {
        connection: Option<Connection>,
        left: usize,
    },
}

impl Default for FrameState {
    fn default() -> Self {
        Self::Head { bytes: [0; FRAME_HEAD], filled: 0 }
    }
}

/// A message of which some bytes are there.
#[derive(Clone, Debug, Default)]
struct Partial {
    head: [u8; MESSAGE_HEAD],
    filled: usize,
    body: Vec<u8>,
}

impl Decoder {
    /// At the beginning of a connection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes bytes from the front of `bytes` up to the end of the next message, and gives it; `None` when all bytes
    /// are taken.
    ///
    /// # Errors
    /// The bytes are no frames; call it no more.
    pub fn next(&mut self, bytes: &mut &[u8]) -> Result<Option<Message>, WireError> {
        loop {
            match &mut self.frame {
                FrameState::Head { bytes: head, filled } => {
                    fill(head, filled, bytes);
                    if *filled < FRAME_HEAD {
                        return Ok(None);
                    }
                    let [id, length] = [number(head, 0), number(head, 4)];
                    let left = usize::try_from(length).ok().filter(|length| *length <= LARGEST_FRAME);
                    let left = left.ok_or(WireError::Frame(length))?;
                    self.frame = FrameState::Body { connection: Connection::of(id), left };
                }
                FrameState::Body { left: 0, .. } => self.frame = FrameState::default(),
                FrameState::Body { left, .. } if bytes.is_empty() && *left > 0 => return Ok(None),
                FrameState::Body { connection, left } => {
                    let here = bytes.len().min(*left);
                    let (mut part, rest) = bytes.split_at(here);
                    let Some(connection) = *connection else {
                        *left -= here;
                        *bytes = rest;
                        continue;
                    };
                    let partial = match connection {
                        Connection::Plugin => &mut self.plugin,
                        Connection::Runtime => &mut self.runtime,
                    };
                    let message = partial.next(connection, &mut part)?;
                    let taken = here - part.len();
                    *left -= taken;
                    *bytes = &bytes[taken..];
                    if message.is_some() {
                        return Ok(message);
                    }
                }
            }
        }
    }

    /// Whether bytes of a frame or a message are missing: an end here is in the middle of something.
    pub fn is_inside(&self) -> bool {
        let of_frame = match self.frame {
            FrameState::Head { filled, .. } => filled > 0,
            FrameState::Body { left, .. } => left > 0,
        };
        of_frame || self.plugin.filled > 0 || self.runtime.filled > 0
    }
}

impl Partial {
    fn next(&mut self, connection: Connection, bytes: &mut &[u8]) -> Result<Option<Message>, WireError> {
        fill(&mut self.head, &mut self.filled, bytes);
        if self.filled < MESSAGE_HEAD {
            return Ok(None);
        }
        let length = number(&self.head, 0);
        let whole = usize::try_from(length).ok().filter(|length| *length <= LARGEST_BODY);
        let whole = whole.ok_or(WireError::Message(length))?;
        let here = bytes.len().min(whole - self.body.len());
        self.body.extend_from_slice(&bytes[..here]);
        *bytes = &bytes[here..];
        if self.body.len() < whole {
            return Ok(None);
        }
        self.filled = 0;
        let body = std::mem::take(&mut self.body);
        let kind = Kind::of(self.head[8]);
        Ok(Some(Message { connection, stream: number(&self.head, 4), kind, body }))
    }
}

/// Fills a head from the front of bytes.
fn fill(head: &mut [u8], filled: &mut usize, bytes: &mut &[u8]) {
    let here = bytes.len().min(head.len() - *filled);
    head[*filled..*filled + here].copy_from_slice(&bytes[..here]);
    *filled += here;
    *bytes = &bytes[here..];
}

/// Four bytes of a head.
fn number(head: &[u8], at: usize) -> u32 {
    head[at..at + 4].iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Connection, Decoder, FIRST_FRAME, Kind, LARGEST_BODY, Message, TooLong, WireError, encode};

    fn all(decoder: &mut Decoder, mut bytes: &[u8]) -> Result<Vec<Message>, WireError> {
        let mut messages = Vec::new();
        while let Some(message) = decoder.next(&mut bytes)? {
            messages.push(message);
        }
        assert!(bytes.is_empty());
        Ok(messages)
    }

    fn frame(connection: u32, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len()).unwrap();
        [&connection.to_be_bytes(), &length.to_be_bytes(), body].concat()
    }

    #[test]
    fn a_message_is_one_frame_of_4096_bytes_and_the_rest() {
        for (length, frames) in [
            (0, vec![10]),
            (1, vec![11]),
            (4085, vec![4095]),
            (4086, vec![4096]),
            (4087, vec![4096, 1]),
            (9000, vec![4096, 4914]),
            (LARGEST_BODY, vec![4096, LARGEST_BODY + 10 - 4096]),
        ] {
            let body = vec![7; length];
            let bytes = encode(Connection::Plugin, 3, Kind::Response, &body).unwrap();
            let mut rest = bytes.as_slice();
            let mut found = Vec::new();
            while let [0, 0, 0, 1, a, b, c, d, after @ ..] = rest {
                let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
                found.push(length);
                rest = &after[length..];
            }
            assert!(rest.is_empty() && found[0] <= FIRST_FRAME);
            assert_eq!(found, frames, "{length}");
            let read = all(&mut Decoder::new(), &bytes).unwrap();
            assert_eq!(
                read,
                [Message { connection: Connection::Plugin, stream: 3, kind: Kind::Response, body }]
            );
        }
        let long = vec![0; LARGEST_BODY + 1];
        assert_eq!(encode(Connection::Runtime, 1, Kind::Request, &long), Err(TooLong(LARGEST_BODY + 1)));
    }

    #[test]
    fn what_claims_too_much_is_refused_when_its_head_is_read() {
        let claims = |length: u32| [&1_u32.to_be_bytes()[..], &length.to_be_bytes()].concat();
        let most = u32::try_from(LARGEST_BODY).unwrap();
        let mut decoder = Decoder::new();
        assert_eq!(all(&mut decoder, &claims(most + 10)), Ok(Vec::new()));
        assert_eq!(decoder.plugin.body.capacity(), 0, "nothing is reserved");
        assert_eq!(all(&mut Decoder::new(), &claims(most + 11)), Err(WireError::Frame(most + 11)));
        assert_eq!(all(&mut Decoder::new(), &claims(u32::MAX)), Err(WireError::Frame(u32::MAX)));
        let message = [&(most + 1).to_be_bytes()[..], &[0, 0, 0, 1, 1, 0]].concat();
        assert_eq!(all(&mut Decoder::new(), &frame(1, &message)), Err(WireError::Message(most + 1)));
        assert_eq!(all(&mut Decoder::new(), b"GET / HTTP/1.1\r\n"), Err(WireError::Frame(0x2f20_4854)));
    }

    #[test]
    fn empty_frames_and_unknown_connections_are_passed_over() {
        let good = encode(Connection::Plugin, 5, Kind::Request, b"body").unwrap();
        let bytes = [frame(1, b""), frame(7, b"hello"), frame(0, &[0; 5000]), good.clone(), frame(2, b"")];
        assert_eq!(all(&mut Decoder::new(), &bytes.concat()).unwrap().len(), 1);
    }

    #[test]
    fn two_connections_may_be_interleaved_within_messages() {
        let one = encode(Connection::Plugin, 1, Kind::Request, &[1; 5000]).unwrap();
        let other = encode(Connection::Runtime, 2, Kind::Response, b"x").unwrap();
        let bytes = [&one[..8 + FIRST_FRAME], &other, &one[8 + FIRST_FRAME..]].concat();
        let read = all(&mut Decoder::new(), &bytes).unwrap();
        assert_eq!(read.iter().map(|message| message.stream).collect::<Vec<_>>(), [2, 1]);
    }

    #[test]
    fn an_end_in_the_middle_is_known() {
        let bytes = encode(Connection::Plugin, 1, Kind::Request, b"abc").unwrap();
        for cut in 1..bytes.len() {
            let mut decoder = Decoder::new();
            assert_eq!(all(&mut decoder, &bytes[..cut]), Ok(Vec::new()), "{cut}");
            assert!(decoder.is_inside(), "{cut}");
        }
        let mut decoder = Decoder::new();
        all(&mut decoder, &bytes).unwrap();
        assert!(!decoder.is_inside());
    }

    proptest! {
        /// Messages of any length, in frames cut anywhere, read in pieces of any length.
        #[test]
        fn any_cut_gives_the_same_messages(
            bodies in proptest::collection::vec((any::<bool>(), 0_usize..6000), 1..6),
            frames in proptest::collection::vec(0_usize..5000, 1..20),
            reads in proptest::collection::vec(1_usize..5000, 1..20),
        ) {
            let mut streams: [Vec<u8>; 2] = Default::default();
            let mut expected = [Vec::new(), Vec::new()];
            for (at, (is_plugin, length)) in bodies.into_iter().enumerate() {
                let body: Vec<u8> = (0..length).map(|byte| byte.to_le_bytes()[0]).collect();
                let stream = u32::try_from(at).unwrap();
                let head = [u32::try_from(length).unwrap().to_be_bytes(), stream.to_be_bytes()].concat();
                streams[usize::from(!is_plugin)].extend([&head[..], &[1, 0], &body].concat());
                expected[usize::from(!is_plugin)].push((stream, body));
            }
            let mut bytes = Vec::new();
            let mut cut = frames.iter().cycle();
            let mut rest: [&[u8]; 2] = [&streams[0], &streams[1]];
            // A frame of 0 bytes now and then; at least one byte of each after it.
            while rest.iter().any(|rest| !rest.is_empty()) {
                for (connection, rest) in (1..).zip(&mut rest) {
                    for length in [*cut.next().unwrap(), 1] {
                        let (now, later) = rest.split_at(length.min(rest.len()));
                        bytes.extend(frame(connection, now));
                        *rest = later;
                    }
                }
            }
            let mut decoder = Decoder::new();
            let mut read = [Vec::new(), Vec::new()];
            let mut piece = reads.iter().cycle();
            let mut left = bytes.as_slice();
            while !left.is_empty() {
                let (now, later) = left.split_at((*piece.next().unwrap()).min(left.len()));
                left = later;
                for message in all(&mut decoder, now).unwrap() {
                    read[usize::from(message.connection == Connection::Runtime)].push((message.stream, message.body));
                }
            }
            prop_assert!(!decoder.is_inside());
            prop_assert_eq!(read, expected);
        }
    }
}
