//! Archives: whatever the bytes, unpacking ends within bounds, and a machine that is read from them can be captured
//! and packed, and what is unpacked again is what was captured.
//!
//! The bytes are read as they are, and as what has been packed, since no change of packed bytes leaves a checksum
//! right. `cargo xtask fuzz archive`.
#![no_main]

use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use topology_discovery::{Capture, SysfsTree, read};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    check(&compress_to_vec(bytes, CompressionLevel::Uncompressed));
});

fn check(archive: &[u8]) {
    let Ok(tree) = SysfsTree::archive(archive) else { return };
    let Ok(capture) = Capture::of(&tree) else { return };
    if let Ok(packed) = capture.archive() {
        let again = SysfsTree::archive(&packed).expect("what was packed is unpacked");
        assert_eq!(read(&again).as_ref(), Ok(capture.found()));
    }
}
