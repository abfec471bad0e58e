//! Files that have their data once more as text: CPU format V4 and memory format V3.
//!
//! The members around the text are those of an older format, with its checksum, for kubelets of older releases. A
//! kubelet that knows the text takes nothing from them, and does not try an older format once the text or its checksum
//! is there.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::string::String;

use kubelet_release::CheckpointForm;

use crate::error::EmbeddedFault;
use crate::go::{Go, Step, TypeName, checksum, dumped, members_of, parse, whole};
use crate::{FileError, Oddities, Oddity};

/// A format of this kind.
#[derive(Clone, Copy)]
pub(crate) struct Format {
    /// In the kubelet's words.
    pub(crate) name: &'static str,
    /// Whose file it is, in the kubelet's words.
    pub(crate) manager: &'static str,
}

/// The members around the data, with the data as text and its checksum.
pub(crate) trait Outer: Go {
    /// The text and its checksum.
    fn data(&self) -> (&str, u64);
}

/// How a file of this kind was read.
pub(crate) struct Attempt {
    pub(crate) read: Result<(), EmbeddedFault>,
    /// What is odd about the file and about its data.
    pub(crate) oddities: Oddities,
    /// Members of the data that no known format has.
    pub(crate) strange: BTreeSet<String>,
    /// Whether the text or its checksum is there, so that the file is of this format, damaged or not.
    pub(crate) is_embedded: bool,
}

/// Reads a file over `outer`, and its data over `data`.
pub(crate) fn read(format: Format, file: &[u8], outer: &mut impl Outer, data: &mut impl Go) -> Attempt {
    let manager = format.manager;
    let (read, mut oddities) = parse(file, outer);
    let (text, stored) = outer.data();
    let is_embedded = !text.is_empty() || stored != 0;
    let mut strange = BTreeSet::new();
    let mut read = read.map_err(|error| EmbeddedFault::File { manager, error });
    if read.is_ok() {
        let (inner, odd) = parse(text.as_bytes(), data);
        let at = file.windows(DATA.len()).position(|bytes| bytes == DATA).unwrap_or(file.len());
        strange.extend(odd.iter().filter_map(|(_, odd)| match odd {
            Oddity::UnknownMember(name) | Oddity::NewerFormat(name) => Some(name.to_owned()),
            _ => None,
        }));
        oddities.extend_at(at, odd);
        read = inner.map_err(|error| EmbeddedFault::Data { manager, error });
    }
    if read.is_ok() {
        let computed = sum(text);
        if stored != computed.into() {
            read = Err(EmbeddedFault::Corrupt { stored, computed });
        }
    }
    Attempt { read, oddities, strange, is_embedded }
}

/// The member that has the text.
const DATA: &[u8] = b"\"data\"";

impl Attempt {
    /// The kubelet's error if the file is of this format and damaged.
    pub(crate) fn refused(self, format: Format) -> Result<Self, FileError> {
        match self.read {
            Err(fault) if self.is_embedded => {
                Err(FileError::Embedded { format: format.name, fault: Box::new(fault) })
            }
            _ => Ok(self),
        }
    }
}

/// The form of a file of CPUs or memory, damaged or not: whether it has its data as text. `None`: it has no member at
/// all.
#[must_use]
pub fn form_of(file: &[u8]) -> Option<CheckpointForm> {
    const DATA: [&str; 2] = ["data", "dataChecksum"];
    let read = whole(file);
    let is_data = |name: &str| DATA.iter().any(|data| name.eq_ignore_ascii_case(data));
    let members = members_of(&read.text);
    let is_cut = matches!(read.cut.first(), Some(Step::Key(name)) if is_data(name));
    if is_cut
        || members.iter().any(|(name, value)| is_data(name) && ![&b"null"[..], b"\"\"", b"0"].contains(value))
    {
        return Some(CheckpointForm::Embedded);
    }
    (!members.is_empty() || !read.cut.is_empty()).then_some(CheckpointForm::Plain)
}

/// The checksum of a text.
pub(crate) fn sum(text: &str) -> u32 {
    checksum(&String::from(text), TypeName::Plain("string"))
}

/// What that is the hash of.
pub(crate) fn hashed(text: &str) -> String {
    dumped(&String::from(text), TypeName::Plain("string"))
}
