//! What names the node that is served, so that it can be read again.

use std::path::PathBuf;

use node_input::{
    DeviceText, IdentitySource, LoadedMachine, LoadedNode, MachineSource, ResidentsSource, RulesSource,
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
        let state = ResidentsSource { state: Some(self.root.clone()), ..ResidentsSource::default() };
        let rules = self.rules.clone().of_node(&self.identity, &state, None)?;
        let node = LoadedNode::on(&machine, &rules, devices)?.with_identity(&self.identity)?;
        Ok((node, machine))
    }
}
