//! The release of an executable, read from it. The documentation of the crate has the order of the places.

use std::fs::File;
use std::io::{Read, Seek};

use crate::build_info;
use crate::elf::Elf;
use crate::linked_version;

/// Larger files are not read; a kubelet has 60 to 130 MiB.
const MOST_OF_EXECUTABLE: u64 = 512 << 20;

/// The version of the kubelet in an executable, without `v`.
pub(crate) fn release(file: &mut File) -> Option<String> {
    let length = file.metadata().ok()?.len();
    release_in(file, length)
}

/// The same of anything that has so many bytes.
fn release_in<F: Read + Seek>(file: &mut F, length: u64) -> Option<String> {
    if length > MOST_OF_EXECUTABLE {
        return None;
    }
    let mut elf = Elf::read(file, length)?;
    let info = build_info::modules(&mut elf)?;
    if !build_info::is_of_kubernetes(&info) {
        return None;
    }
    let version = build_info::linker_flag(&info)
        .or_else(|| linked_version::find(&mut elf))
        .or_else(|| build_info::module_version(&info))?;
    Some(version.trim_start_matches('v').to_owned())
}

#[cfg(test)]
#[path = "executable_tests.rs"]
mod tests;
