//! Lists, amounts and damage in words, the same wherever state is told of.

use cpuset::CpuSet;
use kubelet_checkpoint::{FileError, JsonFault};

/// `a`, `a and b`, `a, b and c`.
#[must_use]
pub fn list(items: impl IntoIterator<Item = String>) -> String {
    let mut items: Vec<String> = items.into_iter().collect();
    let last = items.pop().unwrap_or_default();
    if items.is_empty() { last } else { format!("{} and {last}", items.join(", ")) }
}

/// `CPU 3` or `CPUs 3-5`.
#[must_use]
pub fn cpus(cpus: &CpuSet) -> String {
    let noun = if cpus.len() == 1 { "CPU" } else { "CPUs" };
    format!("{noun} {cpus}")
}

/// `is` or `are`, of CPUs.
#[must_use]
pub fn are(cpus: &CpuSet) -> &'static str {
    if cpus.len() == 1 { "is" } else { "are" }
}

/// Bytes, exactly: `4Gi`, `1536Mi` or `1000 bytes`.
#[must_use]
pub fn bytes(bytes: u64) -> String {
    match bytes.trailing_zeros() {
        _ if bytes == 0 => "0 bytes".to_owned(),
        30.. => format!("{}Gi", bytes >> 30),
        20.. => format!("{}Mi", bytes >> 20),
        _ => format!("{bytes} bytes"),
    }
}

/// What is wrong with a state file that cannot be read.
#[must_use]
pub fn damage(error: &FileError, file: &[u8]) -> String {
    match error {
        FileError::Json(error) => match &error.fault {
            JsonFault::UnexpectedEnd if file.is_empty() => "empty: a write never got any further".to_owned(),
            JsonFault::UnexpectedEnd => format!("torn: it breaks off after {} bytes", file.len()),
            JsonFault::InvalidCharacter { .. } => {
                format!("no JSON at {}: {error}", place(file, error.offset))
            }
            _ => format!("not of the kubelet's form at {}: {error}", place(file, error.offset)),
        },
        FileError::Corrupt { stored, computed } => format!(
            "changed after it was written: its checksum is {stored}, and that of its contents is {computed}"
        ),
        other => other.to_string(),
    }
}

/// A byte of a file as line and column, from 1.
fn place(file: &[u8], offset: usize) -> String {
    let before = file.get(..offset).unwrap_or(file);
    let line = before.split(|byte| *byte == b'\n').count();
    let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
    format!("line {line}, column {column}")
}
