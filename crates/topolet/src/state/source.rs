//! Which state a command means: a folder's, or a node file's.

use std::path::Path;

use super::{PodNames, StateFolder};
use crate::node_file::Packed;

/// The state that is given, else that of the node file, with the pods that there are; `None` if neither has any.
pub(crate) fn of_node(
    state: Option<&Path>,
    pods: Option<&Path>,
    packed: Option<&Packed>,
) -> anyhow::Result<Option<(StateFolder, PodNames)>> {
    if let Some(path) = state {
        return Ok(Some((StateFolder::read(path)?, PodNames::read(pods, path)?)));
    }
    let Some((packed, folder)) = packed.and_then(|packed| Some((packed, packed.state.as_ref()?))) else {
        anyhow::ensure!(
            pods.is_none(),
            "--pods says which pods there are, and nothing says what they hold: expected --state, or a node file as --machine"
        );
        return Ok(None);
    };
    let names = match pods {
        Some(path) => PodNames::from_path(path)?,
        None => packed.pods.clone(),
    };
    Ok(Some((folder.clone(), names)))
}
