//! Names of types, as Go has them.

use core::fmt;

/// How Go's reflection spells a type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TypeName {
    /// A name.
    Plain(&'static str),
    /// `[]T`
    List(&'static TypeName),
    /// `map[K]V`
    Map(&'static TypeName, &'static TypeName),
    /// `*T`
    Pointer(&'static TypeName),
}

impl fmt::Display for TypeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(name) => f.write_str(name),
            Self::List(item) => write!(f, "[]{item}"),
            Self::Map(key, value) => write!(f, "map[{key}]{value}"),
            Self::Pointer(to) => write!(f, "*{to}"),
        }
    }
}
