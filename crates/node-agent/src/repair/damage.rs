//! State files that a kubelet does not take: what is wrong, and what can be read all the same.

use kubelet_checkpoint::PodLevel;
use kubelet_checkpoint::cpu::{ContainerIds, CpuError, CpuFile, CpuFormat, CpuState};
use kubelet_checkpoint::memory::{MemoryFile, MemoryState};
use kubelet_checkpoint::{FileError, Oddities};

use super::Cause;
use crate::words;

/// A file as far as it can be read.
pub(super) struct Read<T> {
    /// `None`: nothing of it can be believed.
    pub(super) state: Option<T>,
    /// What is wrong with it, if anything.
    pub(super) fault: Option<Fault>,
}

/// What is wrong with a file as a whole.
pub(super) struct Fault {
    pub(super) cause: Cause,
    pub(super) found: String,
    /// What is believed of it all the same.
    pub(super) assumed: String,
}

impl Fault {
    fn new(cause: Cause, found: impl Into<String>, assumed: &str) -> Self {
        Self { cause, found: found.into(), assumed: assumed.to_owned() }
    }
}

const AS_WRITTEN: &str = "that what it says is true, where nothing contradicts it";

pub(super) fn cpus(file: &[u8], pod_level: PodLevel) -> Read<CpuState> {
    if let Some(format) = CpuFile::unknown_format(file) {
        return Read { state: None, fault: Some(Fault::new(Cause::Unreadable, format.to_string(), "")) };
    }
    let read = |file: &[u8], pod_level| CpuFile::read(file, pod_level, &ContainerIds::new());
    let state = |read: CpuFile| {
        let odd = odd(&read.oddities);
        read.state().map(|state| (state, odd))
    };
    let error = match read(file, pod_level).and_then(state) {
        Ok((state, odd)) => return Read { state: Some(state), fault: odd },
        Err(error) => error,
    };
    if let Ok((state, _)) = read(file, other(pod_level)).and_then(state) {
        return Read { state: Some(state), fault: Some(other_gate(pod_level)) };
    }
    // What the kubelet reports is what is wrong with the oldest format, whichever it is of.
    let formats = [CpuFormat::from(pod_level), CpuFormat::V2];
    let changed = formats.into_iter().find_map(|format| match CpuFile::fault_as(format, file) {
        Some(error @ FileError::Corrupt { stored, .. }) => Some((error, stored)),
        _ => None,
    });
    if let Some((error, stored)) = changed
        && let Ok((state, _)) = read(&unsealed(file, stored), pod_level).and_then(state)
    {
        let fault = Fault::new(Cause::Unreadable, words::damage(&error, file), AS_WRITTEN);
        return Read { state: Some(state), fault: Some(fault) };
    }
    let found = match &error {
        CpuError::File(error) => words::damage(error, file),
        other => other.to_string(),
    };
    Read { state: None, fault: Some(Fault::new(Cause::Unreadable, found, "")) }
}

pub(super) fn memory(file: &[u8], pod_level: PodLevel) -> Read<MemoryState> {
    if let Some(format) = MemoryFile::unknown_format(file) {
        return Read { state: None, fault: Some(Fault::new(Cause::Unreadable, format.to_string(), "")) };
    }
    let error = match MemoryFile::read(file, pod_level) {
        Ok(read) => return Read { fault: odd(&read.oddities), state: Some(read.state) },
        Err(error) => error,
    };
    if let Ok(read) = MemoryFile::read(file, other(pod_level)) {
        return Read { state: Some(read.state), fault: Some(other_gate(pod_level)) };
    }
    let state = match &error {
        FileError::Corrupt { stored, .. } => {
            MemoryFile::read(&unsealed(file, *stored), pod_level).ok().map(|read| read.state)
        }
        _ => None,
    };
    let assumed = if state.is_some() { AS_WRITTEN } else { "" };
    Read { fault: Some(Fault::new(Cause::Unreadable, words::damage(&error, file), assumed)), state }
}

/// What is taken of a file of devices whose checksum is wrong.
pub(super) const fn as_written() -> &'static str {
    AS_WRITTEN
}

const fn other(pod_level: PodLevel) -> PodLevel {
    match pod_level {
        PodLevel::Off => PodLevel::On,
        PodLevel::On => PodLevel::Off,
    }
}

fn other_gate(configured: PodLevel) -> Fault {
    let gate = match configured {
        PodLevel::Off => "on",
        PodLevel::On => "off",
    };
    let found =
        format!("written with feature gate PodLevelResourceManagers {gate}, which the configuration has not");
    Fault::new(Cause::OtherGate, found, "")
}

/// What a kubelet takes and did not write.
pub(super) fn odd(oddities: &Oddities) -> Option<Fault> {
    let (_, first) = oddities.iter().next()?;
    let others = oddities.iter().count() - 1;
    let more = if others == 0 { String::new() } else { format!(", and {others} more such things") };
    Some(Fault::new(Cause::Odd, format!("not as a kubelet writes it: {first}{more}"), AS_WRITTEN))
}

/// The file without its checksum, which a kubelet takes as it is.
fn unsealed(file: &[u8], checksum: u64) -> Vec<u8> {
    let text = String::from_utf8_lossy(file);
    let number = checksum.to_string();
    match text.rfind(&number) {
        Some(at) => format!("{}0{}", &text[..at], &text[at + number.len()..]).into_bytes(),
        None => file.to_vec(),
    }
}
