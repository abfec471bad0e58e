//! Where the machine, configuration and identity of the served node are read from, at the start and on a reload.

use std::path::PathBuf;

use node_input::{
    DeviceText, IdentitySource, LoadedMachine, LoadedNode, MachineSource, NodeRecorder, ResidentsSource,
    RulesSource, Running,
};

use crate::Mode;

/// Where installers put the kubelet's configuration, below its root.
const CONFIG: &str = "config.yaml";

/// Where the parts of a node are read from.
#[derive(Clone)]
pub struct NodeSources {
    /// The folder with the state files.
    pub root: PathBuf,
    /// In mode `Observe` the parts are read from where the kubelet has them.
    pub mode: Mode,
    /// The machine.
    pub machine: MachineSource,
    /// The configuration by which it decides.
    pub rules: RulesSource,
    /// The name of the node.
    pub identity: IdentitySource,
}

impl NodeSources {
    /// Reads them.
    ///
    /// # Errors
    /// One cannot be read, or a kubelet would not start with them.
    pub fn load(&self) -> anyhow::Result<(LoadedNode, LoadedMachine)> {
        let machine = match self.mode {
            Mode::Serve => self.machine_now()?,
            Mode::Observe => LoadedMachine::load_node(&self.machine)?.of_kubelet_at(&self.root),
        };
        let devices = DeviceText::of(&self.rules)?;
        let node =
            LoadedNode::on(&machine, &self.rules(&machine)?, devices)?.with_identity(&self.identity)?;
        Ok((node, machine))
    }

    /// Reads the machine alone, as it is.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn machine_now(&self) -> anyhow::Result<LoadedMachine> {
        LoadedMachine::load(&self.machine)
    }

    /// The configuration file: the one that was given, else that of the watched kubelet.
    fn config(&self, machine: &LoadedMachine) -> Option<String> {
        let is_own = self.mode == Mode::Serve || runs(machine);
        self.rules.config.clone().or_else(|| {
            let usual = self.root.join(CONFIG);
            // A path that exists and is no file is an error; no default takes its place.
            (!is_own && usual.symlink_metadata().is_ok()).then(|| usual.display().to_string())
        })
    }

    /// Why the configuration of the watched kubelet is not known; `None`: it is known.
    pub fn no_config(&self, machine: &LoadedMachine) -> Option<String> {
        let is_packed = machine.packed.as_ref().is_some_and(|packed| packed.config.is_some());
        if is_packed || self.config(machine).is_some() {
            return None;
        }
        Some(if runs(machine) {
            let gaps = machine.config_gaps().into_iter().map(|gap| gap.text);
            gaps.collect::<Vec<_>>().join("; ")
        } else {
            let root = self.root.display();
            format!(
                "the kubelet's configuration is not known: there is no {CONFIG} in {root}, and no --config"
            )
        })
    }

    /// What is not known of the watched kubelet where its configuration is assumed to be the file in its root folder.
    pub fn doubts(&self, machine: &LoadedMachine) -> Vec<String> {
        let is_guessed = self.rules.config.is_none() && self.config(machine).is_some();
        let gaps = machine.config_gaps().into_iter().filter(|_| is_guessed);
        gaps.map(|gap| gap.text).collect()
    }

    /// The rules, of the release of the running kubelet, else of the release that wrote the state files.
    fn rules(&self, machine: &LoadedMachine) -> anyhow::Result<RulesSource> {
        let rules = RulesSource { config: self.config(machine), ..self.rules.clone() };
        let packed = machine.packed.as_deref().filter(|packed| packed.state_root().is_some());
        let state = match packed {
            Some(_) => ResidentsSource::default(),
            None => ResidentsSource { state: Some(self.root.clone()), ..ResidentsSource::default() },
        };
        rules.of_node(&self.identity, &state, packed)
    }

    /// A recorder that writes node files of this node.
    ///
    /// # Errors
    /// The machine has no files to pack, or something cannot be read.
    pub fn recorder(&self, machine: &LoadedMachine) -> anyhow::Result<NodeRecorder> {
        NodeRecorder::new(&self.machine, machine, &self.rules(machine)?, &self.identity)
    }
}

/// Whether the process of the machine's kubelet was found.
pub fn runs(machine: &LoadedMachine) -> bool {
    machine
        .packed
        .as_ref()
        .is_some_and(|packed| packed.state_root().is_some() && packed.running == Running::Yes)
}
