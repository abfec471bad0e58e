//! `kubelet_internal_checkpoint`: the devices of each container, what plugins answered, and the registered resources.
//!
//! What can be null in the file is an `Option` here, since the checksum tells null from empty.

mod state;
mod wire;

pub use state::{DeviceEntry, DeviceState};

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use crate::format::{Attempt, unknown};
use crate::go::{Go as _, checksum, dumped, outline, parse, whole_outline};
use crate::{FileError, Oddities, UnknownFormat};
use wire::File;

/// What came of reading a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeviceFile {
    /// What could be read of it.
    pub state: DeviceState,
    /// Why the kubelet does not take it, if so. It starts with nothing then, and says so in its log only.
    pub fault: Option<FileError>,
    /// What of it the kubelet does not write.
    pub oddities: Oddities,
}

impl DeviceState {
    /// The file's text.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut file = File { data: wire::Data(self.clone()), checksum: 0 };
        file.checksum = checksum(&file.data, wire::Data::TYPE).into();
        let mut text = String::new();
        file.write(&mut text);
        text
    }

    /// The text under the file's checksum.
    #[must_use]
    pub fn hashed(&self) -> String {
        dumped(&wire::Data(self.clone()), wire::Data::TYPE)
    }
}

impl DeviceFile {
    /// Reads a file as a kubelet does.
    #[must_use]
    pub fn read(file: &[u8]) -> Self {
        let begun = DeviceState { entries: Some(Vec::new()), registered: Some(BTreeMap::new()) };
        let outline = outline(file);
        let file = match &outline {
            Ok(outline) => &**outline,
            Err(error) => {
                let (fault, oddities) = (Some(error.clone().into()), Oddities::default());
                return Self { state: begun, fault, oddities };
            }
        };
        let mut read = File { data: wire::Data(begun), checksum: 0 };
        let (result, oddities) = parse(file, &mut read);
        let computed = checksum(&read.data, wire::Data::TYPE);
        let fault = match result {
            Err(error) => Some(error.into()),
            Ok(()) if read.checksum == computed.into() => None,
            Ok(()) => Some(FileError::Corrupt { stored: read.checksum, computed }),
        };
        Self { state: read.data.0, fault, oddities }
    }

    /// What is in a whole file that no known format has: v1.36 starts with nothing then. `None`: its format is known,
    /// or it is no whole JSON text.
    #[must_use]
    pub fn unknown_format(file: &[u8]) -> Option<UnknownFormat> {
        let file = &*whole_outline(file).ok()?;
        let is_sealed = Self::read(file).fault.is_none();
        let newest = Attempt::of(file, File { data: wire::Data(DeviceState::default()), checksum: 0 });
        unknown(&newest, &[], is_sealed, BTreeSet::new(), "that with the members \"Data\" and \"Checksum\"")
    }
}
