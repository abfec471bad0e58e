//! Archives: whatever the bytes, unpacking ends within bounds, and a machine that is read from them can be captured
//! and packed, and what is unpacked again is what was captured.
//!
//! `cargo fuzz run archive`, with `crates/machine-fixtures/machines` as seeds.
#![no_main]

use topology_discovery::{Capture, SysfsTree, read};

libfuzzer_sys::fuzz_target!(|archive: &[u8]| {
    let Ok(tree) = SysfsTree::archive(archive) else { return };
    let Ok(capture) = Capture::of(&tree) else { return };
    if let Ok(packed) = capture.archive() {
        let again = SysfsTree::archive(&packed).expect("what was packed is unpacked");
        assert_eq!(read(&again).as_ref(), Ok(capture.found()));
    }
});
