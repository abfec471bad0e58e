//! `memory_manager_state`: the books of every node, and the blocks of each container.
//!
//! What can be null in the file is an `Option` here, since the checksum tells null from empty.

mod state;
mod wire;

pub use state::{Block, MemoryFormat, MemoryState, MemoryTable, NodeState, PodEntry};

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::string::String;

use cpuset::go_quote;
use thiserror::Error;

use kubelet_release::CheckpointForm;

use crate::embedded;
use crate::format::{Attempt, unknown};
use crate::go::{Go, TypeName, checksum, dumped, outline, parse, whole_outline};
use crate::{FileError, Forms, Oddities, Oddity, PodLevel, Refused, UnknownFormat};
use wire::{Any, Data, NamedV2, NewestV1, V1, V2, V3};

/// A file that was accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemoryFile {
    /// What it was read as.
    pub format: MemoryFormat,
    /// What is in it.
    pub state: MemoryState,
    /// Its checksum; 0 if it has none.
    pub checksum: u64,
    /// Of a file of format V3, what kubelets of older releases take it for, and the text that they pass over.
    pub embedded: Option<EmbeddedMemory>,
    /// What of it the kubelet does not write.
    pub oddities: Oddities,
}

/// What stands beside the contents in a file of format V3.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EmbeddedMemory {
    /// The members of format V1.
    pub older: MemoryState,
    /// The contents, as text.
    pub data: String,
    /// The checksum of that text.
    pub data_checksum: u64,
}

/// Why a kubelet does not start from a file. The texts are its own; [`MemoryError::refused`] gives the whole message.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// It cannot be read. Of two formats that were tried the kubelet reports the older.
    #[error(transparent)]
    File(#[from] FileError),
    /// Another policy wrote it.
    #[error(
        "[memorymanager] configured policy {} differs from state checkpoint policy {}",
        go_quote(.configured), go_quote(.stored)
    )]
    OtherPolicy {
        /// That of the configuration.
        configured: String,
        /// That of the file.
        stored: String,
    },
}

impl MemoryError {
    /// The message with which the kubelet ends; `path` is the file's.
    #[must_use]
    pub const fn refused<'a>(&'a self, path: &'a str) -> Refused<'a, Self> {
        Refused { cause: self, manager: "memory", path }
    }
}

/// Format V3 in the kubelet's words.
const FORMAT: embedded::Format = embedded::Format { name: "v3", manager: "memory" };

/// The name that all formats have in the text that is hashed.
const HASHED: TypeName = TypeName::Plain("*state.MemoryManagerCheckpoint");

impl MemoryState {
    /// The file's text.
    #[must_use]
    pub fn encode(&self, format: MemoryFormat) -> String {
        let mut file = String::new();
        match format {
            MemoryFormat::V1 => self.sealed(V1, |wire| &mut wire.0.checksum).write(&mut file),
            MemoryFormat::V2 => self.sealed(V2, |wire| &mut wire.0.checksum).write(&mut file),
            MemoryFormat::V3 => {
                let V1(older) = self.sealed(V1, |wire| &mut wire.0.checksum);
                let data = self.data();
                V3 { older, data_checksum: embedded::sum(&data).into(), data }.write(&mut file);
            }
        }
        file
    }

    /// The text under the checksum of the data in a file of format V3.
    #[must_use]
    pub fn hashed_data(&self) -> String {
        embedded::hashed(&self.data())
    }

    fn data(&self) -> String {
        let mut data = String::new();
        Data(wire::Body::from(self)).write(&mut data);
        data
    }

    /// The text under the file's checksum.
    #[must_use]
    pub fn hashed(&self, format: MemoryFormat) -> String {
        let body = wire::Body::from(self);
        match format {
            MemoryFormat::V1 | MemoryFormat::V3 => dumped(&V1(body), HASHED),
            MemoryFormat::V2 => dumped(&V2(body), HASHED),
        }
    }

    fn sealed<T: Go>(&self, wrap: fn(wire::Body) -> T, sum: fn(&mut T) -> &mut u64) -> T {
        let mut wire = wrap(wire::Body::from(self));
        *sum(&mut wire) = checksum(&wire, HASHED).into();
        wire
    }
}

impl MemoryFile {
    /// Reads a file as a kubelet does: the newest format of its release and gate first, then the older ones, and what is
    /// wrong is what is wrong with the oldest.
    pub fn read(file: &[u8], forms: Forms) -> Result<Self, FileError> {
        let file = &*outline(file)?;
        match (forms.checkpoint, forms.pod_level) {
            (CheckpointForm::Single, _) => Self::only_v1(file),
            (CheckpointForm::Plain, PodLevel::Off) => Self::v1(file, forms),
            (CheckpointForm::Plain, PodLevel::On) => Self::v2_or_older(file, forms),
            (CheckpointForm::Embedded, _) => Self::v3_or_older(file, forms),
        }
    }

    /// Reads a file as one format; `forms` decide which checksums of format V1 are right, and on names in errors.
    pub fn read_as(format: MemoryFormat, file: &[u8], forms: Forms) -> Result<Self, FileError> {
        match format {
            MemoryFormat::V1 => match forms.checkpoint {
                CheckpointForm::Single => Self::only_v1(file),
                CheckpointForm::Plain | CheckpointForm::Embedded => Self::v1(file, forms),
            },
            MemoryFormat::V2 => {
                let (read, fault) = Self::v2(file, forms);
                fault.map_or(Ok(read), Err)
            }
            MemoryFormat::V3 => {
                let (read, attempt) = Self::v3(file);
                let embedded = |fault| FileError::Embedded { format: FORMAT.name, fault: Box::new(fault) };
                attempt.read.map_err(embedded)?;
                Ok(read)
            }
        }
    }

    fn v3_or_older(file: &[u8], forms: Forms) -> Result<Self, FileError> {
        let (newest, attempt) = Self::v3(file);
        let mut read = if attempt.refused(FORMAT)?.read.is_ok() {
            newest
        } else {
            match Self::v2(file, forms) {
                (read, None) => read,
                // Nothing of a failed attempt is kept.
                (_, Some(_)) => Self::v1(file, forms)?,
            }
        };
        // With the gate off they are lost at the next write.
        if forms.pod_level == PodLevel::Off {
            read.state.pod_entries.clear();
        }
        Ok(read)
    }

    /// Also what could be read of a file that is refused.
    fn v3(file: &[u8]) -> (Self, embedded::Attempt) {
        let (mut outer, mut data) = (V3::begun(), Data(wire::Body::begun()));
        let mut attempt = embedded::read(FORMAT, file, &mut outer, &mut data);
        let oddities = core::mem::take(&mut attempt.oddities);
        let V3 { older, data: text, data_checksum } = outer;
        let checksum = older.checksum;
        let embedded = Some(EmbeddedMemory { older: older.into(), data: text, data_checksum });
        (Self { format: MemoryFormat::V3, state: data.0.into(), checksum, embedded, oddities }, attempt)
    }

    fn v2_or_older(file: &[u8], forms: Forms) -> Result<Self, FileError> {
        let (newer, fault) = Self::v2(file, forms);
        if fault.is_none() {
            return Ok(newer);
        }
        let mut read = Self::v1(file, forms)?;
        // What the older format has nothing of stays as the failed attempt left it: kubelets keep pods' entries that
        // no checksum covers.
        let own = core::mem::replace(&mut read.state, newer.state);
        if !own.policy.is_empty() {
            read.state.policy = own.policy;
        }
        if own.nodes.is_some() {
            read.state.nodes = own.nodes;
        }
        if !own.entries.is_empty() {
            read.state.entries = own.entries;
        }
        Ok(read)
    }

    /// Also what could be read of a file that is refused.
    fn v2(file: &[u8], forms: Forms) -> (Self, Option<FileError>) {
        let mut wire = V2(wire::Body::begun());
        let (read, oddities) = match forms.checkpoint {
            CheckpointForm::Single | CheckpointForm::Plain => parse(file, &mut wire),
            CheckpointForm::Embedded => {
                let mut named = NamedV2(wire.0);
                let parsed = parse(file, &mut named);
                wire = V2(named.0);
                parsed
            }
        };
        let stored = core::mem::take(&mut wire.0.checksum);
        let computed = checksum(&wire, HASHED);
        let fault = match read {
            Err(error) => Some(error.into()),
            Ok(()) if stored == computed.into() => None,
            Ok(()) => Some(FileError::Corrupt { stored, computed }),
        };
        let state = wire.0.into();
        (Self { format: MemoryFormat::V2, state, checksum: stored, embedded: None, oddities }, fault)
    }

    fn v1(file: &[u8], forms: Forms) -> Result<Self, FileError> {
        let mut wire = V1(wire::Body::begun());
        let (read, mut oddities) = parse(file, &mut wire);
        read?;
        let stored = core::mem::take(&mut wire.0.checksum);
        let computed = checksum(&wire, HASHED);
        let takes_own_name = forms == Forms::plain(PodLevel::Off);
        let of_own_name = || checksum(&wire, TypeName::Pointer(&V1::TYPE));
        if stored == 0 {
            oddities.push(file.len(), Oddity::NoChecksum);
        } else if stored != computed.into() && !(takes_own_name && stored == of_own_name().into()) {
            return Err(FileError::Corrupt { stored, computed });
        }
        let state = wire.0.into();
        Ok(Self { format: MemoryFormat::V1, state, checksum: stored, embedded: None, oddities })
    }

    /// V1 as releases read it that know no other format: nothing is accepted without its checksum.
    fn only_v1(file: &[u8]) -> Result<Self, FileError> {
        let mut wire = NewestV1(wire::Body::begun());
        let (read, oddities) = parse(file, &mut wire);
        read?;
        let stored = core::mem::take(&mut wire.0.checksum);
        let computed = checksum(&wire, HASHED);
        if stored != computed.into() {
            return Err(FileError::Corrupt { stored, computed });
        }
        let state = wire.0.into();
        Ok(Self { format: MemoryFormat::V1, state, checksum: stored, embedded: None, oddities })
    }

    /// What is in a whole file that no known format has: a kubelet may refuse it for any reason, or take it for empty.
    /// `None`: its format is known, or it is no whole JSON text.
    #[must_use]
    pub fn unknown_format(file: &[u8]) -> Option<UnknownFormat> {
        let file = &*whole_outline(file).ok()?;
        let is_sealed = Forms::ALL.into_iter().any(|forms| {
            // An editor may remove the checksum by hand; the entries still say what each container holds.
            Self::read(file, forms)
                .is_ok_and(|read| !read.oddities.has_no_checksum() || !read.state.entries.is_empty())
        });
        let newest = Attempt::of(file, Any::default());
        let older = [Attempt::of(file, V1(wire::Body::begun()))];
        let (mut outer, mut data) = (V3::begun(), Data(wire::Body::begun()));
        let strange = embedded::read(FORMAT, file, &mut outer, &mut data).strange;
        unknown(&newest, &older, is_sealed, strange, "V1 to V3, which kubelets up to v1.37 write")
    }

    /// What a manager of that policy starts with.
    pub fn restore(&self, policy: &str) -> Result<&MemoryState, MemoryError> {
        if self.state.policy == policy {
            return Ok(&self.state);
        }
        Err(MemoryError::OtherPolicy { configured: policy.to_owned(), stored: self.state.policy.clone() })
    }
}
