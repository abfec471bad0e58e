//! Why a file cannot be parsed, with the place in it.

use std::fmt;

use kubelet_checkpoint::pods::PodsError;
use kubelet_checkpoint::{EmbeddedFault, FileError, JsonError, JsonFault};

/// Why a state file cannot be parsed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Damage {
    error: DamageError,
    length: usize,
    /// Of the byte at which parsing failed, from 1.
    line: usize,
    column: usize,
}

/// What parsing came to.
#[derive(Clone, PartialEq, Eq, Debug)]
enum DamageError {
    /// Of a file.
    File(FileError),
    /// Of a text in it.
    Text(JsonError),
}

impl Damage {
    /// The error of parsing `file`.
    #[must_use]
    pub fn new(error: FileError, file: &[u8]) -> Self {
        let offset = if let FileError::Json(error) = &error { error.offset } else { 0 };
        Self::at(DamageError::File(error), offset, file)
    }

    /// The error of parsing a file of what pods were admitted or run with.
    #[must_use]
    pub fn of_pods(error: PodsError, file: &[u8]) -> Self {
        match error {
            PodsError::Data(error) => Self::at(DamageError::Text(error), 0, file),
            PodsError::File(error) => Self::new(error, file),
        }
    }

    fn at(error: DamageError, offset: usize, file: &[u8]) -> Self {
        let before = file.get(..offset).unwrap_or(file);
        let line = before.split(|byte| *byte == b'\n').count();
        let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
        Self { error, length: file.len(), line, column }
    }
}

impl Damage {
    /// Whether the file has its data as text, so that kubelets up to v1.36 read other members of it.
    #[must_use]
    pub const fn is_of_embedded(&self) -> bool {
        matches!(self.error, DamageError::File(FileError::Embedded { .. }))
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { error, length, line, column } = self;
        let error = match error {
            DamageError::File(error) => error,
            DamageError::Text(error) => return write!(f, "not of the kubelet's form: {error}"),
        };
        match error {
            FileError::Json(error) => match &error.fault {
                JsonFault::UnexpectedEnd if *length == 0 => {
                    f.write_str("empty: it was never written, or its contents are lost")
                }
                JsonFault::UnexpectedEnd => write!(f, "torn: it breaks off after {length} bytes"),
                JsonFault::InvalidCharacter { .. } => {
                    write!(f, "no JSON at line {line}, column {column}: {error}")
                }
                _ => write!(f, "not of the kubelet's form at line {line}, column {column}: {error}"),
            },
            FileError::Corrupt { stored, computed } => write!(
                f,
                "changed after it was written: its checksum is {stored}, and that of its contents is {computed}"
            ),
            FileError::Embedded { fault, .. } => match &**fault {
                EmbeddedFault::Corrupt { stored, computed } => write!(
                    f,
                    "changed after it was written: the checksum of its data is {stored}, and that of its contents is \
                     {computed}"
                ),
                other => write!(f, "not of the kubelet's form: {other}"),
            },
            other => other.fmt(f),
        }
    }
}
