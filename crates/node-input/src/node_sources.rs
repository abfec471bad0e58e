//! All that names a node with what runs on it, and what it becomes.

use crate::devices::DeviceText;
use crate::machine::LoadedMachine;
use crate::node::LoadedNode;
use crate::sources::{IdentitySource, MachineSource, ResidentsSource, RulesSource};

/// What names a node with what runs on it.
#[derive(Clone, Debug)]
pub struct NodeSources {
    /// Its machine.
    pub machine: MachineSource,
    /// By which rules it decides, and its devices.
    pub rules: RulesSource,
    /// What it is called, its labels and taints.
    pub identity: IdentitySource,
    /// What runs on it.
    pub residents: ResidentsSource,
}

/// A node that was read, with its machine.
pub struct LoadedSources {
    /// The machine.
    pub machine: LoadedMachine,
    /// The node, without what runs on it.
    pub node: LoadedNode,
}

impl NodeSources {
    /// Reads the machine, the rules as the node has them, the devices and the identity, in this order.
    ///
    /// # Errors
    /// Something cannot be read, or a kubelet does not start.
    pub fn load(&self) -> anyhow::Result<LoadedSources> {
        let Self { machine: source, rules, identity, residents } = self;
        let machine = LoadedMachine::load_node(source)?;
        let rules = rules.clone().of_node(identity, residents, machine.packed.as_deref())?;
        let devices = DeviceText::on(&rules, source, residents)?;
        let node = LoadedNode::on(&machine, &rules, devices)?.with_identity(identity)?;
        Ok(LoadedSources { machine, node })
    }
}
