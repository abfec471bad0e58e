//! Header blocks (RFC 7541), read with the table that the blocks before have left, and written without one.

use loona_hpack::Decoder;

/// What `:authority` becomes.
const LOCALHOST: &[u8] = b"localhost";
/// The size of the table that the server grants: the protocol's default, which it never changes.
const TABLE: usize = 4096;
/// Fields beyond this are left out. It is more than the server takes, which answers that it is too much.
const MAX_FIELDS: usize = 48 * 1024;

/// The header blocks of one connection.
pub(super) struct Blocks(Decoder<'static>);

impl Default for Blocks {
    fn default() -> Self {
        let mut decoder = Decoder::new();
        decoder.set_max_allowed_table_size(TABLE);
        Self(decoder)
    }
}

impl Blocks {
    /// The next block; `None` if it cannot be read, and then no later one can.
    pub(super) fn rewritten(&mut self, compressed: &[u8]) -> Option<Vec<u8>> {
        let mut fields = Vec::with_capacity(2 * compressed.len());
        let read = self.0.decode_with_cb(compressed, |name, value| {
            let value = if *name == *b":authority" { LOCALHOST } else { &*value };
            if fields.len() < MAX_FIELDS {
                fields.push(NOT_INDEXED);
                write_text(&name, &mut fields);
                write_text(value, &mut fields);
            }
        });
        read.ok().map(|()| fields)
    }
}

/// A field of which neither name nor value is in a table, and which is not put into one.
const NOT_INDEXED: u8 = 0;

/// A text without compression: its length, then itself.
fn write_text(text: &[u8], output: &mut Vec<u8>) {
    const PREFIX: usize = 127;
    match u8::try_from(text.len()) {
        Ok(short) if text.len() < PREFIX => output.push(short),
        _ => {
            output.push(127);
            let mut left = text.len() - PREFIX;
            while left >= 128 {
                output.push(u8::try_from(left % 128).unwrap_or_default() | 128);
                left /= 128;
            }
            output.push(u8::try_from(left).unwrap_or_default());
        }
    }
    output.extend_from_slice(text);
}
