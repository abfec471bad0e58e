//! Values as Go has them: how `encoding/json` reads and writes each, and how the kubelet prints it for a checksum.
//!
//! The kubelet's formats are whatever Go makes of a few structures. So those structures are described here once, by
//! their names and members ([`structure!`]), and three small programs work on any of them: a reader that takes and
//! refuses exactly what Go does, a writer, and a printer of the text that is hashed.

mod base64;
mod dump;
mod fault;
mod kind;
mod reader;
mod salvage;
mod syntax;
mod text;
mod type_name;
mod values;

use alloc::string::String;

use crate::Oddities;
use dump::{hash_of, text_of};
use reader::read_text;

pub(crate) use dump::Dump;
pub(crate) use fault::Found;
pub use fault::{JsonError, JsonFault};
pub(crate) use kind::Kind;
pub(crate) use reader::{Reader, items_of, members_of, outline, whole_outline};
pub(crate) use salvage::{Step, whole};
pub(crate) use text::quote;
pub(crate) use type_name::TypeName;
pub(crate) use values::pointed_to;

/// What may be null: Go's nil and an empty list are not the same, in the file and in the checksum.
pub type List<T> = Option<alloc::vec::Vec<T>>;

/// What may be null: Go's nil and an empty map are not the same, in the file and in the checksum.
pub type Map<K, V> = Option<alloc::collections::BTreeMap<K, V>>;

/// A value of a Go type.
pub(crate) trait Go: Sized {
    /// The type, unless a structure gives the member another name.
    const TYPE: TypeName;

    /// Reads what the reader stands at over what is there: members that are not named keep what they have. A value
    /// of another type is noted with the reader, and reading goes on; an error ends it.
    fn read(&mut self, reader: &mut Reader<'_>, of: TypeName) -> Result<(), JsonError>;

    /// As JSON, without blanks.
    fn write(&self, json: &mut String);

    /// For the checksum.
    fn dump(&self, dump: &mut Dump, of: TypeName);

    /// Whether a member that may be left out is.
    fn is_left_out(&self) -> bool {
        false
    }
}

/// Reads a text over `value`. The value is what Go has after that, also where it refuses the text; with it, what
/// was odd about the text.
pub(crate) fn parse<T: Go>(text: &[u8], value: &mut T) -> (Result<(), JsonError>, Oddities) {
    read_text(text, |reader| value.read(reader, T::TYPE))
}

/// The text for a value, seen through a pointer to a type of that name.
pub(crate) fn dumped(value: &impl Go, of: TypeName) -> String {
    text_of(|dump| value.dump(dump, of))
}

/// FNV-1a of that text.
pub(crate) fn checksum(value: &impl Go, of: TypeName) -> u32 {
    hash_of(|dump| value.dump(dump, of))
}

/// An item of a list or a map.
pub(crate) trait Item: Go {
    /// What it is before it is read.
    fn zero() -> Self;
}

/// The key of a map.
pub(crate) trait Key: Ord + Sized {
    /// Its type.
    const TYPE: TypeName;
    /// `None`: not of the type.
    fn parse(text: &str) -> Option<Self>;
    /// As JSON has it.
    fn shown(&self) -> alloc::borrow::Cow<'_, str>;
}

/// The type of a member, unless the structure gives it another name.
pub(crate) const fn type_of<T: Go>(_: &T) -> TypeName {
    T::TYPE
}

/// Makes a type a Go structure: `Type: "package" "Name" { member => "GoName" "jsonName" ["type"] left_out; … }`.
/// The type is named where Go's declaration has a name for it; `left_out` members are not written when empty. A member
/// of an embedded structure is `in "Name"`, by which Go's errors place it.
macro_rules! structure {
    ($type:ty: $package:literal $name:literal {
        $($($field:tt).+ => $(in $embedded:literal)? $go:literal $json:literal $([$named:literal])? $($left_out:ident)?;)*
    }) => {
        impl $crate::go::Go for $type {
            const TYPE: $crate::go::TypeName = $crate::go::TypeName::Plain(concat!($package, ".", $name));

            fn read(
                &mut self,
                reader: &mut $crate::go::Reader<'_>,
                of: $crate::go::TypeName,
            ) -> Result<(), $crate::go::JsonError> {
                reader.structure(of, &[$($json),*], |reader, member| {
                    $(if member == $json {
                        let of = structure!(@type self.$($field).+, $($named)?);
                        let path = concat!($($embedded, ".",)? $json);
                        return reader.within($name, path, |reader| self.$($field).+.read(reader, of));
                    })*
                    Ok(())
                })
            }

            fn write(&self, json: &mut alloc::string::String) {
                let mut before = '{';
                $(if structure!(@written self.$($field).+, $($left_out)?) {
                    json.push(before);
                    json.push_str(concat!("\"", $json, "\":"));
                    self.$($field).+.write(json);
                    before = ',';
                })*
                if before == '{' {
                    json.push('{');
                }
                json.push('}');
            }

            fn dump(&self, dump: &mut $crate::go::Dump, of: $crate::go::TypeName) {
                dump.begin(of);
                let mut before = "{";
                $(
                    dump.put(before);
                    dump.put(concat!($go, ":"));
                    self.$($field).+.dump(dump, structure!(@type self.$($field).+, $($named)?));
                    before = " ";
                )*
                let _ = before;
                dump.put("}");
            }
        }
    };
    (@type $value:expr,) => { $crate::go::type_of(&$value) };
    (@type $value:expr, $named:literal) => { $crate::go::TypeName::Plain($named) };
    (@written $value:expr,) => { true };
    (@written $value:expr, left_out) => { !$value.is_left_out() };
}
pub(crate) use structure;

/// Makes structures items of lists and maps.
macro_rules! items {
    ($($type:ty),*) => {$(
        impl $crate::go::Item for $type {
            fn zero() -> Self {
                Self::default()
            }
        }
    )*};
}
pub(crate) use items;
