//! Requests as gRPC clients send them over unix sockets, made such that an HTTP server accepts them.
//!
//! A [`Rewriter`] stands between a socket and an HTTP/2 server, and knows of HTTP/2 only what it must: where frames
//! begin, and what is in header blocks. Frames without headers pass as they are. Header blocks are decoded, since what
//! they mean depends on those before them, and written anew, each meaning the same by itself, with `localhost` as
//! their `:authority`.
//!
//! What is not HTTP/2 is not its business: it passes on what the server will find fault with, and nothing after that.

mod block;
mod frame;

use block::Blocks;
use frame::{Head, Kind, MAX_PAYLOAD};

/// What a client says first; checked by the server.
const PREFACE: usize = 24;
/// The largest header block that is put together, as it comes in.
const MAX_BLOCK: usize = 4 * MAX_PAYLOAD;
/// When so much is ready to be read, no more is taken in.
const ENOUGH: usize = 4 * MAX_PAYLOAD;

/// The bytes of one connection from the client, on their way to the server.
pub struct Rewriter {
    at: At,
    blocks: Blocks,
}

/// Where in the bytes of a connection.
enum At {
    /// In what passes as it is.
    Passing { left: usize },
    /// In the head of a frame.
    Head { read: Vec<u8>, block: Option<Block> },
    /// In a frame with a header block, or a part of one.
    Payload { head: Head, read: Vec<u8>, block: Option<Block> },
    /// Behind a fault.
    Lost,
}

/// A header block that is not complete.
struct Block {
    /// The frame that began it.
    head: Head,
    /// The priority field of that frame.
    priority: Vec<u8>,
    compressed: Vec<u8>,
}

impl Default for Rewriter {
    fn default() -> Self {
        Self { at: At::Passing { left: PREFACE }, blocks: Blocks::default() }
    }
}

impl std::fmt::Debug for Rewriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rewriter").finish_non_exhaustive()
    }
}

impl Rewriter {
    /// At the beginning of a connection.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes of `input` what has come in, and appends to `output` what the server is to read. Returns how much it
    /// has taken: not all, once there is enough to be read. Of what is incomplete it keeps no more than a header block
    /// may be large.
    pub fn rewrite(&mut self, input: &[u8], output: &mut Vec<u8>) -> usize {
        let mut rest = input;
        while !rest.is_empty() && output.len() < ENOUGH {
            rest = self.step(rest, output);
        }
        input.len() - rest.len()
    }

    /// Takes up to the next place where something is to be decided; returns what is left.
    fn step<'a>(&mut self, input: &'a [u8], output: &mut Vec<u8>) -> &'a [u8] {
        match std::mem::replace(&mut self.at, At::Lost) {
            At::Lost => &[],
            At::Passing { left } => {
                let (pass, rest) = input.split_at(left.min(input.len()));
                output.extend_from_slice(pass);
                self.at = match left - pass.len() {
                    0 => At::Head { read: Vec::new(), block: None },
                    left => At::Passing { left },
                };
                rest
            }
            At::Head { mut read, block } => {
                let rest = fill(&mut read, Head::SIZE, input);
                match Head::read(&read) {
                    None => self.at = At::Head { read, block },
                    Some(head) => self.begin(head, block, output),
                }
                rest
            }
            At::Payload { head, mut read, block } => {
                let rest = fill(&mut read, head.length, input);
                if read.len() < head.length {
                    self.at = At::Payload { head, read, block };
                } else {
                    self.payload(head, &read, block, output);
                }
                rest
            }
        }
    }

    /// A frame begins.
    fn begin(&mut self, head: Head, block: Option<Block>, output: &mut Vec<u8>) {
        let is_next = |block: &Block| head.kind == Kind::Continuation && head.stream == block.head.stream;
        match (&block, head.kind) {
            // Nothing may come between the parts of a header block.
            (Some(block), _) if !is_next(block) => frame::out_of_order(output),
            // The server finds fault with these by their heads.
            (None, Kind::Continuation) => head.write(output),
            (_, Kind::Headers | Kind::Continuation) if head.length > MAX_PAYLOAD => head.write(output),
            (_, Kind::Headers | Kind::Continuation) => {
                // An empty one is complete: there may be nothing more to wait for.
                if head.length == 0 {
                    self.payload(head, &[], block, output);
                } else {
                    self.at = At::Payload { head, read: Vec::new(), block };
                }
            }
            (_, Kind::Other(_)) => {
                head.write(output);
                self.at = match head.length {
                    0 => At::Head { read: Vec::new(), block: None },
                    left => At::Passing { left },
                };
            }
        }
    }

    /// A frame with a header block, or a part of one, is complete.
    fn payload(&mut self, head: Head, payload: &[u8], block: Option<Block>, output: &mut Vec<u8>) {
        let block = match block {
            Some(mut block) => {
                block.compressed.extend_from_slice(payload);
                block
            }
            None => match head.unpadded(payload) {
                Some((priority, compressed)) => {
                    Block { head, priority: priority.to_vec(), compressed: compressed.to_vec() }
                }
                None => return frame::out_of_order(output),
            },
        };
        if !head.ends_headers() {
            if block.compressed.len() > MAX_BLOCK {
                return frame::unreadable(block.head.stream, output);
            }
            self.at = At::Head { read: Vec::new(), block: Some(block) };
            return;
        }
        match self.blocks.rewritten(&block.compressed) {
            Some(fields) => {
                frame::write_headers(&block.head, &block.priority, &fields, output);
                self.at = At::Head { read: Vec::new(), block: None };
            }
            None => frame::unreadable(block.head.stream, output),
        }
    }
}

/// Moves bytes from `input` until there are `wanted`; returns what is left.
fn fill<'a>(read: &mut Vec<u8>, wanted: usize, input: &'a [u8]) -> &'a [u8] {
    let (more, rest) = input.split_at(wanted.saturating_sub(read.len()).min(input.len()));
    read.extend_from_slice(more);
    rest
}
