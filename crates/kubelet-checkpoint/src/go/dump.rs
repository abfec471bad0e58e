//! The text that the kubelet hashes, and its hash.
//!
//! It is what the `spew` package prints with `%#v`, sorted keys and no addresses. Members of a structure come with
//! their type in parentheses, items of lists and maps without; a pointer in a map is `<*>`. One flaw of that package
//! is part of the format: after a null pointer the type of whatever comes next is left out.

use alloc::string::String;
use core::fmt::{self, Write};

use super::TypeName;

/// A printer.
pub(crate) struct Dump {
    out: Out,
    /// Whether the next value goes without its type.
    bare: bool,
}

/// Where the text goes.
enum Out {
    /// To be looked at.
    Text(String),
    /// Into its FNV-1a hash.
    Hash(u32),
}

/// The text that `dump` prints.
pub(super) fn text_of(dump: impl FnOnce(&mut Dump)) -> String {
    match printed(dump, Out::Text(String::new())) {
        Out::Text(text) => text,
        Out::Hash(_) => String::new(),
    }
}

/// FNV-1a of that text.
pub(super) fn hash_of(dump: impl FnOnce(&mut Dump)) -> u32 {
    match printed(dump, Out::Hash(0x811c_9dc5)) {
        Out::Hash(hash) => hash,
        Out::Text(_) => 0,
    }
}

fn printed(dump: impl FnOnce(&mut Dump), out: Out) -> Out {
    let mut printer = Dump { out, bare: false };
    dump(&mut printer);
    printer.out
}

impl Dump {
    /// The type of a value, unless it goes without.
    pub(crate) fn begin(&mut self, of: TypeName) {
        if !core::mem::take(&mut self.bare) {
            self.put("(");
            self.show(of);
            self.put(")");
        }
    }

    /// The next value is an item of a list or map, or what a pointer points to.
    pub(crate) fn item(&mut self) -> &mut Self {
        self.bare = true;
        self
    }

    pub(crate) fn put(&mut self, text: &str) {
        match &mut self.out {
            Out::Text(out) => out.push_str(text),
            Out::Hash(hash) => {
                for byte in text.bytes() {
                    *hash = (*hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
                }
            }
        }
    }

    pub(crate) fn show(&mut self, what: impl fmt::Display) {
        // Neither a text nor a hash can fail.
        let _ = write!(self, "{what}");
    }

    /// A number of at most three digits: replies of plugins have thousands.
    pub(crate) fn byte(&mut self, byte: u8) {
        let digits = [byte / 100, byte / 10 % 10, byte % 10].map(|digit| digit + b'0');
        let from = usize::from(byte < 100) + usize::from(byte < 10);
        self.put(core::str::from_utf8(digits.get(from..).unwrap_or_default()).unwrap_or_default());
    }
}

impl Write for Dump {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.put(text);
        Ok(())
    }
}
