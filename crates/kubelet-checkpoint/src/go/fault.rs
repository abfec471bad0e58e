//! What Go's decoder says of a text that it does not take.

use alloc::format;
use alloc::string::String;
use core::fmt;

use cpuset::{ParseError, go_quote};
use thiserror::Error;

use super::{Kind, TypeName};

/// A text is not JSON, or not of the right types. Displays itself with Go's words, which do not say where.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{fault}")]
pub struct JsonError {
    /// What is wrong.
    pub fault: JsonFault,
    /// At which byte of the file, from 0; its length if something is missing at the end.
    pub offset: usize,
}

/// What is wrong with a text.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum JsonFault {
    /// It ends too early.
    UnexpectedEnd,
    /// A byte that cannot be there.
    InvalidCharacter {
        /// The byte; a blank where the text ends inside a word or number.
        byte: u8,
        /// Where it stands, in Go's words.
        place: &'static str,
    },
    /// A value of another type.
    WrongType {
        /// What it is: `array`, `number -1`.
        found: String,
        /// Go's structure and the path of the member from the outermost one: `MemoryTable`, `machineState.memoryMap`.
        /// `None`: the whole text.
        member: Option<(&'static str, String)>,
        /// The Go type of the place.
        wanted: String,
    },
    /// Bytes in base64 have a wrong character.
    Base64 {
        /// Which byte of the text.
        at: usize,
    },
    /// A pod's CPUs are no list of CPUs.
    Cpus(ParseError),
    /// An amount is no quantity.
    Quantity(k8s_quantity::ParseError),
}

impl fmt::Display for JsonFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnexpectedEnd => f.write_str("unexpected end of JSON input"),
            Self::InvalidCharacter { byte, place } => {
                f.write_str("invalid character ")?;
                match byte {
                    b'\'' => f.write_str(r"'\''")?,
                    b'"' => f.write_str("'\"'")?,
                    // Go takes the byte for a code point.
                    _ => {
                        let text = String::from(char::from(*byte));
                        let quoted = format!("{}", go_quote(&text));
                        write!(f, "'{}'", quoted.trim_matches('"'))?;
                    }
                }
                write!(f, " {place}")
            }
            Self::WrongType { found, member: None, wanted } => {
                write!(f, "json: cannot unmarshal {found} into Go value of type {wanted}")
            }
            Self::WrongType { found, member: Some((structure, path)), wanted } => {
                write!(
                    f,
                    "json: cannot unmarshal {found} into Go struct field {structure}.{path} of type {wanted}"
                )
            }
            Self::Base64 { at } => write!(f, "illegal base64 data at input byte {at}"),
            Self::Cpus(error) => write!(f, "failed to parse cpuset: {error}"),
            Self::Quantity(error) => error.fmt(f),
        }
    }
}

/// What stands where another type is wanted.
#[derive(Clone, Copy)]
pub(crate) enum Found<'a> {
    /// A value of another kind.
    Kind(Kind),
    /// A number that the type cannot hold.
    Number(&'a str),
}

impl JsonFault {
    pub(crate) fn wrong_type(found: Found<'_>, wanted: TypeName) -> Self {
        let found = match found {
            Found::Kind(kind) => kind.name().into(),
            Found::Number(text) => format!("number {text}"),
        };
        Self::WrongType { found, member: None, wanted: format!("{wanted}") }
    }
}
