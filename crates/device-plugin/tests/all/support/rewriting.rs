//! What holds of the rewriting of any bytes: the body of a fuzz target and of a test.
#![allow(unreachable_pub, reason = "a fuzz target uses it too")]

use device_plugin::authority::Rewriter;

/// No more than this comes out of a connection for each byte that goes in, and a constant.
const GROWTH: usize = 16 * 1024;

/// Rewrites all of `bytes`, given in pieces of `piece` bytes.
pub fn rewritten(bytes: &[u8], piece: usize) -> Vec<u8> {
    let (mut rewriter, mut all) = (Rewriter::new(), Vec::new());
    for piece in bytes.chunks(piece.max(1)) {
        let mut rest = piece;
        while !rest.is_empty() {
            let mut output = Vec::new();
            let taken = rewriter.rewrite(rest, &mut output);
            assert!(taken > 0, "it goes on");
            assert!(output.len() <= 8 * GROWTH, "what is ready to be read is bounded: {}", output.len());
            rest = &rest[taken..];
            all.extend(output);
        }
    }
    all
}

/// What is true whatever the bytes are.
pub fn check(bytes: &[u8]) {
    let whole = rewritten(bytes, usize::MAX);
    assert_eq!(whole, rewritten(bytes, 1), "it does not matter how the bytes come");
    // Every header block means the same by itself, and names this machine.
    let Some(mut rest) = whole.get(24..) else { return };
    let mut block = Vec::new();
    while let Some((head, more)) = rest.split_first_chunk::<9>() {
        let length = usize::try_from(u32::from_be_bytes([0, head[0], head[1], head[2]])).unwrap();
        let Some((payload, more)) = more.split_at_checked(length) else { return };
        rest = more;
        match head[3] {
            1 => block = payload[if head[4] & 0x20 == 0 { 0 } else { 5 }..].to_vec(),
            9 => block.extend(payload),
            _ => continue,
        }
        if head[4] & 4 != 0 && block != [0x80] {
            let mut decoder = loona_hpack::Decoder::new();
            decoder.set_max_table_size(0);
            for (name, value) in decoder.decode(&block).unwrap() {
                assert!(name != b":authority" || value == b"localhost");
            }
        }
    }
}
