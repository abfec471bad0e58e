//! Errors as ttrpc carries them.

use std::fmt;

/// Why a request fails, by the numbers of gRPC. Runtimes make no difference between them but for `Unimplemented`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Code {
    /// A refusal of the handler: 2.
    Unknown,
    /// The request is not as it should be: 3.
    InvalidArgument,
    /// More than a limit allows: 8.
    ResourceExhausted,
    /// Out of order: 9.
    FailedPrecondition,
    /// The method is not known: 12. Runtimes with NRI 0.12 then try `StateChange`.
    Unimplemented,
    /// Any other number.
    Other(i32),
}

impl Code {
    /// The number.
    pub const fn number(self) -> i32 {
        match self {
            Self::Unknown => 2,
            Self::InvalidArgument => 3,
            Self::ResourceExhausted => 8,
            Self::FailedPrecondition => 9,
            Self::Unimplemented => 12,
            Self::Other(number) => number,
        }
    }

    /// The code of a number other than 0.
    pub(crate) const fn of(number: i32) -> Self {
        match number {
            2 => Self::Unknown,
            3 => Self::InvalidArgument,
            8 => Self::ResourceExhausted,
            9 => Self::FailedPrecondition,
            12 => Self::Unimplemented,
            other => Self::Other(other),
        }
    }
}

/// An error in the place of an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Status {
    /// The kind.
    pub code: Code,
    /// A text for people.
    pub message: String,
}

impl Status {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (code {})", self.message, self.code.number())
    }
}
