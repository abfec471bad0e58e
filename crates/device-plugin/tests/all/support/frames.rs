//! Frames of HTTP/2 as tests write and read them: simple, and sharing nothing with the crate.

use std::io::{Read, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const GOAWAY: u8 = 7;
pub const CONTINUATION: u8 = 9;
pub const END_STREAM: u8 = 1;
pub const END_HEADERS: u8 = 4;
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

impl Frame {
    pub fn new(kind: u8, flags: u8, stream: u32, payload: impl Into<Vec<u8>>) -> Self {
        Self { kind, flags, stream, payload: payload.into() }
    }

    pub fn bytes(&self) -> Vec<u8> {
        let length = u32::try_from(self.payload.len()).unwrap().to_be_bytes();
        let mut bytes = length[1..].to_vec();
        bytes.extend([self.kind, self.flags]);
        bytes.extend(self.stream.to_be_bytes());
        bytes.extend(&self.payload);
        bytes
    }

    /// The next frame; `None` at the end of the bytes.
    pub fn read(from: &mut impl Read) -> Option<Self> {
        let mut head = [0; 9];
        from.read_exact(&mut head).ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        from.read_exact(&mut payload).ok()?;
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        Some(Self { kind: head[3], flags: head[4], stream, payload })
    }
}

/// What came of a first flight.
#[derive(PartialEq, Eq, Debug)]
pub enum Answer {
    /// The fields of all header blocks on the stream.
    Fields(Vec<(String, String)>),
    /// The stream was reset, for this reason.
    Reset(u32),
    /// The connection was closed, for this reason.
    CloseSignal(u32),
    /// Nothing came back.
    Nothing,
}

impl Answer {
    pub fn field(&self, name: &str) -> Option<&str> {
        let Self::Fields(fields) = self else { return None };
        fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str())
    }
}

/// Sends bytes and waits for the end of the answer on stream 1. The flight acknowledges the server's settings.
pub fn exchange(socket: &Path, flight: &[u8]) -> Answer {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(super::PATIENCE)).unwrap();
    stream.write_all(flight).unwrap();
    answer(&mut stream, 1)
}

pub fn answer(stream: &mut UnixStream, of: u32) -> Answer {
    let mut decoder = loona_hpack::Decoder::new();
    let mut fields = Vec::new();
    while let Some(frame) = Frame::read(stream) {
        let code = |at: usize| u32::from_be_bytes(frame.payload[at..at + 4].try_into().unwrap());
        match frame.kind {
            HEADERS => {
                assert_eq!(frame.flags & END_HEADERS, END_HEADERS);
                let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
                // Those of other streams too: they fill the table.
                let read = decoder.decode(&frame.payload).unwrap();
                if frame.stream != of {
                    continue;
                }
                fields.extend(read.into_iter().map(|(name, value)| (text(name), text(value))));
                if frame.flags & END_STREAM != 0 {
                    return Answer::Fields(fields);
                }
            }
            RST_STREAM if frame.stream == of => return Answer::Reset(code(0)),
            GOAWAY if code(4) != 0 => return Answer::CloseSignal(code(4)),
            _ => {}
        }
    }
    Answer::Nothing
}
