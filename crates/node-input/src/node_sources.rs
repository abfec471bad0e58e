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

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=,@+".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// A node that was read, with its machine.
pub struct LoadedSources {
    /// The machine.
    pub machine: LoadedMachine,
    /// The node, without what runs on it.
    pub node: LoadedNode,
}

impl NodeSources {
    /// The options of a command that name the machine, the configuration and what runs, each behind a blank; empty for this machine as
    /// it is.
    #[must_use]
    pub fn as_options(&self) -> String {
        let Self { machine, rules, residents, .. } = self;
        let own = Some(machine.machine.clone()).filter(|name| name != crate::LIVE);
        let path = |path: &Option<std::path::PathBuf>| path.as_ref().map(|path| path.display().to_string());
        let kubelet = rules.kubelet.filter(|version| version.named_by() == crate::NamedBy::Argument);
        let one = [
            ("-m", own),
            ("--memory", machine.memory.clone()),
            ("--hugepages", machine.hugepages.clone()),
            ("-c", rules.config.clone()),
            ("--base", rules.base.map(|base| base.to_string())),
            ("--kubelet", kubelet.map(|version| version.version().to_string())),
            ("--state", path(&residents.state)),
            ("--pods", path(&residents.pods)),
        ];
        let one = one.into_iter().filter_map(|(option, value)| Some((option, value?)));
        let flags = rules.kubelet_flags.iter().map(|flags| ("--kubelet-flags", flags.clone()));
        one.chain(flags).map(|(option, value)| format!(" {option} {}", quoted(&value))).collect()
    }

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
