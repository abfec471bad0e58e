//! The release of the kubelet that a node or the file with its configuration tells.

use std::path::Path;

use node_config::Version;
use node_output::manifest_error;
use topology_manifest::{Source, read_node};

use crate::configuration::is_built_in;
use crate::kubelet_version::KubeletVersion;
use crate::packed::Packed;
use crate::sources::{IdentitySource, ResidentsSource, RulesSource};
use crate::stated_release::stated_by;

impl RulesSource {
    /// With the release that the node tells where none is given: the Node object's kubelet, else the one that runs, else the one that
    /// the file of the configuration states, else one that writes state files in the form of the node's. Without either there is still none.
    ///
    /// # Errors
    /// The Node object cannot be read.
    pub fn of_node(
        self,
        identity: &IdentitySource,
        residents: &ResidentsSource,
        packed: Option<&Packed>,
    ) -> anyhow::Result<Self> {
        if self.kubelet.is_some() {
            return Ok(self);
        }
        let reported = identity.node.as_deref().map(reported).transpose()?.flatten();
        // A folder that cannot be read is reported where the running pods are read from it.
        let given = residents.state.as_deref().map(|root| crate::folder::any_state_of(root).ok());
        let written = match &given {
            Some(folder) => folder.as_ref().and_then(KubeletVersion::of_files),
            None => packed.and_then(|packed| packed.state.as_ref()).and_then(KubeletVersion::of_files),
        };
        // Of the default release it is all the same who names it.
        let written = written.filter(|version| version.version() != Version::default());
        let runs = packed.filter(|_| residents.state.is_none()).and_then(|packed| packed.release);
        let stated = || self.config.as_deref().filter(|name| !is_built_in(name)).and_then(stated_by);
        let kubelet = reported.or(runs).or_else(stated).or(written);
        Ok(Self { kubelet, ..self })
    }
}

/// The version in a Node object; `None`: its kubelet has not reported, or not a version.
fn reported(path: &Path) -> anyhow::Result<Option<KubeletVersion>> {
    let text = crate::files::read(path)?;
    let node = Source::from_bytes(&path.display().to_string(), &text)
        .and_then(|source| read_node(&source))
        .map_err(manifest_error)?;
    Ok(node.kubelet_version.as_deref().and_then(KubeletVersion::of_node_object))
}
