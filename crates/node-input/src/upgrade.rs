//! A node before an upgrade of its kubelet: its configuration as each release reads it, and what runs there.

use std::path::PathBuf;

use node_config::{KubeletConfiguration, Release, Rules};
use node_state::StateFolder;
use pod_spec::{Origin, Pod};
use topology_admission::Identity;
use topology_model::KubeletView;

use crate::base_choice::Reading;
use crate::devices::DeviceText;
use crate::kubelet_flags::{self, OverConfiguration};
use crate::kubelet_version::{KubeletVersion, NamedBy};
use crate::machine::LoadedMachine;
use crate::node::{LoadedNode, configuration_with_flags};
use crate::read_configuration::{CommandLine, ReadConfiguration};
use crate::removed_files::Removed;
use crate::residents::Residents;
use crate::sources::{IdentitySource, ResidentsSource, RulesSource};

/// The configuration as a kubelet of each release reads it.
pub struct ReleaseConfigurations {
    /// What it is called.
    pub name: String,
    /// Where the kubelet reads static pods; `None`: it does not say.
    pub static_pods: Option<PathBuf>,
    by_release: Vec<(Rules, ReadConfiguration)>,
}

impl ReleaseConfigurations {
    /// Of the configuration and flags that are named, else of those that the machine's kubelet has.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(machine: &LoadedMachine, named: &RulesSource, view: &KubeletView) -> anyhow::Result<Self> {
        let read = |release| {
            let rules = Rules::of(release);
            let reading = Reading { rules, named_by: NamedBy::Nobody, ..named.reading() };
            let read = configuration_with_flags(machine, named.config.as_deref(), view, reading)?;
            anyhow::Ok((rules, read))
        };
        let by_release = Release::ALL.into_iter().map(read).collect::<anyhow::Result<Vec<_>>>()?;
        let (name, static_pods) = by_release
            .last()
            .map(|(_, newest)| (newest.name.clone(), newest.static_pods.clone()))
            .unwrap_or_default();
        Ok(Self { name, static_pods, by_release })
    }

    /// As a kubelet with these rules reads it, without flags with which that does not start.
    #[must_use]
    pub fn of(&self, rules: Rules) -> KubeletConfiguration {
        let Some(read) = self.read_alike(rules) else {
            return KubeletConfiguration { rules, ..KubeletConfiguration::default() };
        };
        match Self::with_flags(read, rules) {
            Some(over) => over.config,
            None => KubeletConfiguration { rules, ..read.config.clone() },
        }
    }

    /// What of the flags keeps a kubelet with these rules from starting, in its words.
    #[must_use]
    pub fn refused_flag(&self, rules: Rules) -> Option<String> {
        Self::with_flags(self.read_alike(rules)?, rules)?.refusal?.stops()
    }

    /// Which fields are read depends on one of the rules.
    fn read_alike(&self, rules: Rules) -> Option<&ReadConfiguration> {
        let alike = |(read, _): &&(Rules, ReadConfiguration)| read.pod_sysctls == rules.pod_sysctls;
        self.by_release.iter().find(alike).map(|(_, read)| read)
    }

    /// Flags are read by each release anew; `None`: there are none.
    fn with_flags(read: &ReadConfiguration, rules: Rules) -> Option<OverConfiguration> {
        let CommandLine { beneath, arguments } = read.command_line.as_ref()?;
        Some(kubelet_flags::over(KubeletConfiguration { rules, ..beneath.clone() }, arguments))
    }
}

/// What becomes of the node's state files in an upgrade.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UpgradeWay {
    /// The node restarts with them, and containers keep what they hold.
    Restarted,
    /// The node is drained and they are deleted: every pod is placed anew.
    Drained,
}

/// Which upgrade of which node.
#[derive(Clone, Copy, Debug)]
pub struct UpgradeSource<'a> {
    /// What the node is called, its labels and taints.
    pub identity: &'a IdentitySource,
    /// What runs on it.
    pub residents: &'a ResidentsSource,
    /// The kubelet that it gets.
    pub to: KubeletVersion,
    /// What becomes of its state files.
    pub way: UpgradeWay,
}

/// What runs on a node before an upgrade.
#[derive(Debug, Default)]
pub struct BeforeUpgrade {
    /// Its state files.
    pub folder: Option<StateFolder>,
    /// Its pods.
    pub pods: Vec<Pod>,
    /// What it is called, its labels and taints.
    pub identity: Option<Identity>,
    /// What is not known, and not looked at therefore, as text to be shown.
    pub notes: Vec<String>,
    /// Whether no kubelet starts beside the files of what pods were admitted with.
    pub is_not_started_again: bool,
}

impl BeforeUpgrade {
    /// Reads what runs on a node of `machine` that decides by `rules`, whose kubelet is that before the upgrade.
    ///
    /// # Errors
    /// The identity or the state cannot be read.
    pub fn read(
        machine: &LoadedMachine,
        rules: &RulesSource,
        devices: Option<DeviceText>,
        upgrade: UpgradeSource<'_>,
    ) -> anyhow::Result<Self> {
        let UpgradeSource { identity, residents: source, to, way } = upgrade;
        // Where one of the releases does not start, the other reads what runs.
        let newer = RulesSource { kubelet: Some(to), ..rules.clone() };
        let node = LoadedNode::on(machine, rules, devices.clone())
            .or_else(|error| LoadedNode::on(machine, &newer, devices).map_err(|_| error));
        let node = match node {
            Ok(node) => node.with_identity(identity)?,
            Err(error) => {
                let note = format!("not looked at: what runs here, since the node does not start: {error:#}");
                return Ok(Self { notes: vec![note], ..Self::default() });
            }
        };
        let resident = source.of_node(machine.packed.as_deref())?;
        let removed = resident
            .as_ref()
            .filter(|_| way == UpgradeWay::Restarted)
            .and_then(|resident| Removed::by_upgrade(&node, &resident.folder));
        let residents = match (node.residents(source), &resident, &removed) {
            (Err(_), Some(resident), Some(removed)) => {
                Residents::new(&node, source, &resident.with_folder(removed.folder.clone()))?
            }
            (residents, ..) => residents?,
        };
        let mut pods: Vec<Pod> = residents.ledger.pods().cloned().collect();
        if way == UpgradeWay::Drained {
            // A new pod has no class yet; of one that only state files list, the class is all that is known.
            let known = resident.as_ref().map(|resident| resident.names.specs());
            let made_anew = |pod: &&mut Pod| known.is_some_and(|known| known.contains_key(&pod.uid));
            pods.iter_mut().filter(made_anew).for_each(|pod| pod.status_qos = None);
        }
        let mut notes: Vec<String> = node.first_notes().chain(residents.not_looked_at()).collect();
        // What comes with the upgrade says more.
        let said = removed.as_ref().map(Removed::sentence);
        notes.retain(|note| said.as_ref() != Some(note));
        if pods.len() > 1 {
            notes.push(
                "running pods are placed here in order of UID; a kubelet takes them in order of creation"
                    .to_owned(),
            );
        }
        let new_uids = pods.iter().filter(|pod| pod.constraints.origin == Origin::Static).count();
        let from = rules.kubelet.unwrap_or(KubeletVersion::DEFAULT).version();
        if new_uids > 0 && to.version().release() != from.release() {
            notes.push(format!(
                "not looked at: whether the manifests of the {new_uids} static pods have a metadata.uid; without one a \
                 static pod gets another by another release, which ends it and starts it anew, on what is free then"
            ));
        }
        let identity = node.node.identity().cloned();
        let is_not_started_again = residents.not_again.is_some() && way == UpgradeWay::Restarted;
        notes.extend(removed.as_ref().map(Removed::of_upgrade));
        let folder = removed.map(|removed| removed.folder).or(resident.map(|resident| resident.folder));
        Ok(Self { folder, pods, identity, notes, is_not_started_again })
    }
}
