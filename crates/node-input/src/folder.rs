//! A kubelet's root folder, or a copy of it, as an argument names it.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use kubelet_checkpoint::store::StateFile;
use node_state::StateFolder;

/// That a file or folder may be a support bundle, as the end of an error.
pub(crate) fn diagnosed(path: &str) -> String {
    format!("`topolet diagnose {path}` reads a support bundle such as a must-gather")
}

/// Whether there is such a folder; what is there instead if not.
pub fn must_be_folder(root: &Path) -> anyhow::Result<()> {
    let shown = root.display();
    match root.metadata() {
        Ok(about) if about.is_dir() => Ok(()),
        Ok(_) => bail!("{shown} is a file; the state is a kubelet's root folder, such as /var/lib/kubelet"),
        Err(error) if error.kind() == ErrorKind::NotFound => bail!("state folder {shown} does not exist"),
        Err(error) => Err(error).with_context(|| format!("failed to read state folder {shown}")),
    }
}

/// A folder that should have a kubelet's state files has none.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{} has no state of a kubelet: none of {} is there", .root.display(), StateFile::ALL.map(StateFile::path).join(", "))]
pub struct NoState {
    /// The folder.
    pub root: PathBuf,
}

/// The state files of a folder that must have some.
pub fn state_of(root: &Path) -> anyhow::Result<StateFolder> {
    must_be_folder(root)?;
    let folder = any_state_of(root)?;
    if folder.is_empty() {
        return Err(NoState { root: root.to_path_buf() }.into());
    }
    Ok(folder)
}

/// The state files of a folder that may have none.
pub fn any_state_of(root: &Path) -> anyhow::Result<StateFolder> {
    StateFolder::state_files(root).with_context(|| format!("failed to read the state in {}", root.display()))
}
