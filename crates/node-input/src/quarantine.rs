//! The file of quarantined pods in a folder.

use std::path::Path;

use anyhow::Context as _;
use kubelet_checkpoint::store;
use node_state::{PodNames, QUARANTINE, Quarantine, StateFolder};

use crate::source::Resident;

/// What is in a folder; nothing, if there is no such file.
///
/// # Errors
/// It cannot be read, or is damaged.
pub fn quarantine_in(root: &Path) -> anyhow::Result<Quarantine> {
    parse_quarantine(root, store::read(&root.join(QUARANTINE))?.as_deref())
}

/// What the file in a folder says; nothing, if there is none.
///
/// # Errors
/// It is damaged.
pub fn parse_quarantine(root: &Path, text: Option<&[u8]>) -> anyhow::Result<Quarantine> {
    let Some(text) = text else { return Ok(Quarantine::default()) };
    Quarantine::parse(text).with_context(|| {
        format!(
            "{} does not say which pods are quarantined, as it should: remove it when you have seen to them",
            root.join(QUARANTINE).display()
        )
    })
}

impl Resident {
    /// The pods of it that are quarantined; a node file says nothing of that.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub fn quarantine(&self) -> anyhow::Result<Quarantine> {
        let Self { folder, names, root, .. } = self;
        let Some(root) = root else { return Ok(Quarantine::default()) };
        still_quarantined(root, folder, names)
    }
}

/// The pods in a folder's file that still hold anything.
///
/// # Errors
/// It cannot be read, or is damaged.
pub fn still_quarantined(root: &Path, folder: &StateFolder, names: &PodNames) -> anyhow::Result<Quarantine> {
    Ok(quarantine_in(root)?.still(folder, names))
}
