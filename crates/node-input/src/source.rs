//! Which state a command means: a folder's, or the node's own.

use std::path::{Path, PathBuf};

use node_state::{PodNames, StateFolder};

use crate::folder::state_of;
use crate::packed::Packed;
use crate::pod_names::{from_path as pod_names_of, of_state as pod_names_of_state};

/// State files and the pods that they are about.
pub struct Resident {
    /// The files.
    pub folder: StateFolder,
    /// The pods.
    pub names: PodNames,
    /// Where they are from, as text to be shown.
    pub from: String,
    /// What names the pods, as text to be shown, where no argument names it.
    pub names_from: Option<String>,
    /// The kubelet's root folder; `None`: a node file.
    pub root: Option<PathBuf>,
}

impl Resident {
    /// The same with other files in their place.
    pub(crate) fn with_folder(&self, folder: StateFolder) -> Self {
        let Self { names, from, names_from, root, .. } = self;
        let (names, root) = (names.clone(), root.clone());
        Self { folder, names, from: from.clone(), names_from: names_from.clone(), root }
    }
}

/// The state that is given, else the node's own, with the pods that there are; `None` if neither has any.
///
/// # Errors
/// It cannot be read, or pods are named without a state.
pub fn of_node(
    state: Option<&Path>,
    pods: Option<&Path>,
    packed: Option<&Packed>,
) -> anyhow::Result<Option<Resident>> {
    if let Some(path) = state {
        let folder = state_of(path)?;
        let names = pod_names_of_state(pods, path, folder.holders().as_ref())?;
        let from = path.display().to_string();
        return Ok(Some(Resident { folder, names, from, names_from: None, root: Some(path.to_path_buf()) }));
    }
    let Some((packed, folder)) = packed.and_then(|packed| Some((packed, packed.state.as_ref()?))) else {
        anyhow::ensure!(
            pods.is_none(),
            "--pods says which pods there are, and nothing says what they hold: expected --state, or a node file as --machine"
        );
        return Ok(None);
    };
    let names = match pods {
        Some(path) => pod_names_of(path, folder.holders().as_ref())?,
        None => packed.pods.clone(),
    };
    let root = packed.state_root();
    let from = root.map_or_else(|| "the node file".to_owned(), |root| root.display().to_string());
    let names_from = packed.pods_root().filter(|_| pods.is_none()).map(str::to_owned);
    let root = root.map(Path::to_path_buf);
    Ok(Some(Resident { folder: folder.clone(), names, from, names_from, root }))
}
