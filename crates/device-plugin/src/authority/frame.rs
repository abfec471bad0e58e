//! Frames of HTTP/2 (RFC 9113, section 4), as far as header blocks are concerned.

/// The largest payload, since the server never grants more.
pub(super) const MAX_PAYLOAD: usize = 16_384;

const END_HEADERS: u8 = 0x4;
const PADDED: u8 = 0x8;
const PRIORITY: u8 = 0x20;
/// What a frame says of priority, if it says so.
const PRIORITY_SIZE: usize = 5;

/// The first nine bytes of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Head {
    /// Of the payload.
    pub(super) length: usize,
    pub(super) kind: Kind,
    flags: u8,
    /// With the reserved bit, as it came.
    pub(super) stream: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Headers,
    Continuation,
    Other(u8),
}

impl Kind {
    const fn new(code: u8) -> Self {
        match code {
            1 => Self::Headers,
            9 => Self::Continuation,
            other => Self::Other(other),
        }
    }

    const fn code(self) -> u8 {
        match self {
            Self::Headers => 1,
            Self::Continuation => 9,
            Self::Other(other) => other,
        }
    }
}

impl Head {
    pub(super) const SIZE: usize = 9;

    /// `None` if there are fewer bytes than it has.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let [l0, l1, l2, kind, flags, s0, s1, s2, s3] = *bytes.first_chunk()?;
        Some(Self {
            length: usize::try_from(u32::from_be_bytes([0, l0, l1, l2])).ok()?,
            kind: Kind::new(kind),
            flags,
            stream: u32::from_be_bytes([s0, s1, s2, s3]),
        })
    }

    pub(super) fn write(&self, output: &mut Vec<u8>) {
        let length = u32::try_from(self.length).unwrap_or(u32::MAX);
        output.extend_from_slice(&length.to_be_bytes()[1..]);
        output.extend_from_slice(&[self.kind.code(), self.flags]);
        output.extend_from_slice(&self.stream.to_be_bytes());
    }

    pub(super) const fn ends_headers(&self) -> bool {
        self.flags & END_HEADERS != 0
    }

    /// What a HEADERS frame says of priority, and its part of the header block. `None` if the padding is larger than
    /// the frame.
    pub(super) fn unpadded<'a>(&self, payload: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
        let payload = if self.flags & PADDED == 0 {
            payload
        } else {
            let (padding, rest) = payload.split_first()?;
            rest.get(..rest.len().checked_sub(usize::from(*padding))?)?
        };
        payload.split_at_checked(if self.flags & PRIORITY == 0 { 0 } else { PRIORITY_SIZE })
    }
}

/// Writes a header block as the frame that `first` was, without padding, and as many more as it takes.
pub(super) fn write_headers(first: &Head, priority: &[u8], fields: &[u8], output: &mut Vec<u8>) {
    let (part, mut rest) = fields.split_at(fields.len().min(MAX_PAYLOAD - priority.len()));
    let kept = first.flags & !(END_HEADERS | PADDED);
    let head = |kind, flags, length, rest: &[u8]| {
        let end = if rest.is_empty() { END_HEADERS } else { 0 };
        Head { length, kind, flags: flags | end, stream: first.stream }
    };
    head(Kind::Headers, kept, priority.len() + part.len(), rest).write(output);
    output.extend_from_slice(priority);
    output.extend_from_slice(part);
    while !rest.is_empty() {
        let part;
        (part, rest) = rest.split_at(rest.len().min(MAX_PAYLOAD));
        head(Kind::Continuation, 0, part.len(), rest).write(output);
        output.extend_from_slice(part);
    }
}

/// A header block that no server can read: an index of zero. It closes the connection for that reason.
pub(super) fn unreadable(stream: u32, output: &mut Vec<u8>) {
    const INDEX_ZERO: u8 = 0x80;
    Head { length: 1, kind: Kind::Headers, flags: END_HEADERS, stream }.write(output);
    output.push(INDEX_ZERO);
}

/// A frame that may not be where it is: data outside any stream. The server closes the connection.
pub(super) fn out_of_order(output: &mut Vec<u8>) {
    Head { length: 0, kind: Kind::Other(0), flags: 0, stream: 0 }.write(output);
}
