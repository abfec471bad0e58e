//! The text that the kubelet hashes, and its hash.
//!
//! It is what the `spew` package prints with `%#v`, sorted keys and no addresses. Members of a structure come with
//! their type in parentheses, items of lists and maps without; a pointer in a map is `<*>`. One flaw of that package
//! is part of the format: after a null pointer the type of whatever comes next is left out.

use alloc::string::String;
use core::fmt::{self, Write};

use super::{Go, TypeName};

/// A printer that writes to a text or a hash.
pub(crate) struct Dump<'a> {
    out: &'a mut dyn Write,
    /// Whether the next value goes without its type.
    bare: bool,
}

/// The text for a value, seen through a pointer to a type of that name.
pub(crate) fn dumped(value: &impl Go, of: TypeName) -> String {
    let mut text = String::new();
    dump(value, of, &mut text);
    text
}

/// FNV-1a of that text.
pub(crate) fn checksum(value: &impl Go, of: TypeName) -> u32 {
    let mut hash = Fnv(0x811c_9dc5);
    dump(value, of, &mut hash);
    hash.0
}

fn dump(value: &impl Go, of: TypeName, out: &mut dyn Write) {
    value.dump(&mut Dump { out, bare: false }, of);
}

impl Dump<'_> {
    /// The type of a value, unless it goes without.
    pub(crate) fn begin(&mut self, of: TypeName) {
        if !core::mem::take(&mut self.bare) {
            self.show(format_args!("({of})"));
        }
    }

    /// The next value is an item of a list or map, or what a pointer points to.
    pub(crate) fn item(&mut self) -> &mut Self {
        self.bare = true;
        self
    }

    pub(crate) fn put(&mut self, text: &str) {
        self.show(format_args!("{text}"));
    }

    pub(crate) fn show(&mut self, text: fmt::Arguments<'_>) {
        // Neither a text nor a hash can fail.
        let _ = self.out.write_fmt(text);
    }
}

struct Fnv(u32);

impl Write for Fnv {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        }
        Ok(())
    }
}
