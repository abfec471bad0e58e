//! What the kubelet takes without a word, although it did not write it.

use alloc::string::String;
use alloc::vec::Vec;

use cpuset::go_quote;
use thiserror::Error;

/// Something that the kubelet accepts in a file and never writes.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum Oddity {
    /// A member or key is there again. The last counts; of a map, entry by entry.
    #[error("{} is there more than once; the last counts", go_quote(.0))]
    Repeated(String),
    /// A member in other letters.
    #[error("member {} is taken for {member}", go_quote(.name))]
    OtherCase {
        /// As it is written.
        name: String,
        /// What it is taken for.
        member: &'static str,
    },
    /// A member without a meaning here.
    #[error("member {} has no meaning and is passed over", go_quote(.0))]
    UnknownMember(String),
    /// A string with bytes or escapes that are no characters.
    #[error("not all of a string is text: it is read as {}", go_quote(.0))]
    ReplacedText(String),
    /// The checksum is absent or 0: nothing proves that the file is whole.
    #[error("it has no checksum, so nothing shows whether it is whole")]
    NoChecksum,
    /// Members of a newer kubelet's format (v1.37 and later), which one of an older release passes over.
    #[error("member {} is of a newer kubelet's format", go_quote(.0))]
    NewerFormat(String),
}

/// Oddities with the byte at which each begins, from 0; the first hundred.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Oddities(Vec<(usize, Oddity)>);

/// More are not kept.
const LIMIT: usize = 100;

impl Oddities {
    /// Where and what, as they come.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &Oddity)> {
        self.0.iter().map(|(offset, oddity)| (*offset, oddity))
    }

    /// Whether the file is as the kubelet writes it, but for blanks and the order of members.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether nothing proves that the file is whole.
    #[must_use]
    pub fn has_no_checksum(&self) -> bool {
        self.0.iter().any(|(_, oddity)| *oddity == Oddity::NoChecksum)
    }

    /// Whether a newer kubelet wrote the file.
    #[must_use]
    pub fn is_newer_format(&self) -> bool {
        self.0.iter().any(|(_, oddity)| matches!(oddity, Oddity::NewerFormat(_)))
    }

    /// Those of a text that stands at a byte of the file.
    pub(crate) fn extend_at(&mut self, offset: usize, inner: Self) {
        let room = LIMIT.saturating_sub(self.0.len());
        self.0.extend(inner.0.into_iter().take(room).map(|(_, oddity)| (offset, oddity)));
    }

    pub(crate) fn push(&mut self, offset: usize, oddity: Oddity) {
        let oddity = match oddity {
            Oddity::UnknownMember(name) if is_newer(&name) => Oddity::NewerFormat(name),
            other => other,
        };
        if self.0.len() < LIMIT {
            self.0.push((offset, oddity));
        }
    }
}

/// The checksum of formats that keep their contents as one string beside it.
fn is_newer(member: &str) -> bool {
    member == "dataChecksum"
}
