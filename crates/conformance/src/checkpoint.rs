//! State files: the kubelet's bytes, the texts under their checksums, and what is read back from them.

mod cpu;
mod device;
mod members;
mod memory;

use crate::runner::Runner;

pub(crate) fn runner(domain: &str, kind: &str) -> Option<Runner> {
    Some(match (domain, kind) {
        ("cpu", "checkpoint") => cpu::checkpoint,
        ("memory", "checkpoint") => memory::checkpoint,
        ("device", "golden") => device::golden,
        _ => return None,
    })
}
