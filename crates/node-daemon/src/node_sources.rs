//! What names the node that is served, so that it can be read again.

use std::path::PathBuf;

use node_input::{
    DeviceText, IdentitySource, LoadedMachine, LoadedNode, MachineSource, NodeRecorder, ResidentsSource,
    RulesSource,
};

use super::Setup;

/// Where a node's parts are.
pub(super) struct NodeSources {
    root: PathBuf,
    machine: MachineSource,
    rules: RulesSource,
    identity: IdentitySource,
}

impl Setup<'_> {
    /// Those of the node that the daemon is about.
    pub(super) fn sources(&self) -> NodeSources {
        let Self { root, machine, rules, identity, .. } = self;
        NodeSources {
            root: root.clone(),
            machine: machine.clone(),
            rules: rules.clone(),
            identity: identity.clone(),
        }
    }
}

impl NodeSources {
    /// Reads them.
    ///
    /// # Errors
    /// One cannot be read, or a kubelet would not start with them.
    pub(super) fn load(&self) -> anyhow::Result<(LoadedNode, LoadedMachine)> {
        let machine = LoadedMachine::load(&self.machine)?;
        let devices = DeviceText::of(&self.rules)?;
        let node = LoadedNode::on(&machine, &self.rules()?, devices)?.with_identity(&self.identity)?;
        Ok((node, machine))
    }

    /// The rules, of the release whose state files are there.
    fn rules(&self) -> anyhow::Result<RulesSource> {
        let state = ResidentsSource { state: Some(self.root.clone()), ..ResidentsSource::default() };
        self.rules.clone().of_node(&self.identity, &state, None)
    }

    /// What makes node files of the node on this machine.
    ///
    /// # Errors
    /// The machine has no files to pack, or something cannot be read.
    pub(super) fn recorder(&self, machine: &LoadedMachine) -> anyhow::Result<NodeRecorder> {
        NodeRecorder::new(&self.machine, machine, &self.rules()?, &self.identity)
    }
}
