//! Node files of a node's moments, made while it is watched: the machine and the rules are those that it was started with,
//! what pods hold is that of the moment.

use anyhow::{Context as _, ensure};
use device_manager::Inventory;
use node_config::{DecidedBy, KubeletConfiguration};
use node_state::{PodNames, StateFolder};
use pod_claims::ClusterObjects;
use topology_discovery::Capture;

use crate::machine::{LoadedMachine, files_of};
use crate::node::{LoadedNode, decided_by};
use crate::packed::{Contents, Devices, Running};
use crate::sources::{IdentitySource, MachineSource, RulesSource};

/// Makes node files of one node.
#[derive(Clone)]
pub struct NodeRecorder {
    capture: Capture,
    config: String,
    own_config: Option<String>,
    decided_by: DecidedBy,
    arguments: Vec<String>,
}

impl NodeRecorder {
    /// Captures the machine, and keeps the rules by which `machine` decides.
    ///
    /// # Errors
    /// The machine has no files to pack, such as one that cAdvisor tells; or something cannot be read.
    pub fn new(
        source: &MachineSource,
        machine: &LoadedMachine,
        rules: &RulesSource,
        identity: &IdentitySource,
    ) -> anyhow::Result<Self> {
        let name = &source.machine;
        ensure!(
            machine.machine.is_some(),
            "machine {name} is as cAdvisor tells it, without files that a node file could be made of: expected live, a built-in \
             machine, a folder or an archive"
        );
        let (shown, tree) = files_of(name)?;
        let capture = Capture::of(&tree).with_context(|| format!("failed to capture {shown}"))?;
        let mut config = KubeletConfiguration::default();
        LoadedNode::changed(machine, rules, None, |given| config = given.clone())?;
        let own_config = match &rules.topolet_config {
            Some(source) => Some(source.text()?),
            None => machine
                .packed
                .as_deref()
                .and_then(|packed| packed.own_config.as_deref())
                .map(|text| String::from_utf8_lossy(text).into_owned()),
        };
        let config = serde_saphyr::to_string(&config)?;
        let decided_by = decided_by(machine, rules)?;
        let arguments = arguments(source, rules, identity);
        Ok(Self { capture, config, own_config, decided_by, arguments })
    }

    /// A node file with what pods hold by `state`.
    ///
    /// # Errors
    /// None that a captured machine is known to lead to.
    pub fn file(&self, state: StateFolder, pods: PodNames, inventory: &Inventory) -> anyhow::Result<Vec<u8>> {
        let devices: Devices = inventory
            .registered()
            .map(|resource| (resource.clone(), inventory.devices(resource).cloned().collect()))
            .collect();
        let contents = Contents {
            config: Some(self.config.clone()),
            own_config: self.own_config.clone(),
            decided_by: self.decided_by,
            // It is made beside a kubelet that decides.
            running: if self.decided_by == DecidedBy::Kubelet { Running::Yes } else { Running::NotKnown },
            state: (!state.is_empty()).then_some(state),
            pods,
            devices,
            objects: ClusterObjects::default(),
        };
        let packing = contents.pack()?;
        let files = packing.files.iter();
        let capture =
            files.fold(self.capture.clone(), |capture, (path, content)| capture.with_file(path, content));
        Ok(capture.archive()?)
    }

    /// Options of a command that decides on the file as the node does, beside the file itself: what it does not hold.
    #[must_use]
    pub fn arguments(&self) -> &[String] {
        &self.arguments
    }
}

/// What was given beside files that are packed.
fn arguments(machine: &MachineSource, rules: &RulesSource, identity: &IdentitySource) -> Vec<String> {
    let labels = (!identity.node_labels.is_empty()).then(|| identity.node_labels.join(","));
    let options = [
        ("--memory", machine.memory.clone()),
        ("--hugepages", machine.hugepages.clone()),
        ("--kubelet", rules.kubelet.map(|kubelet| format!("v{}", kubelet.version()))),
        ("--node", identity.node.as_ref().map(|path| path.display().to_string())),
        ("--node-name", identity.node_name.clone()),
        ("--node-labels", labels),
    ];
    let given = options.into_iter().filter_map(|(option, value)| Some([option.to_owned(), value?]));
    given.flatten().collect()
}
