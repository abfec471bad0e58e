//! A node before an upgrade of its kubelet: its configuration as each release reads it, and what runs there.

use std::path::PathBuf;

use node_config::{KubeletConfiguration, Release, Rules};
use node_state::StateFolder;
use pod_spec::{Origin, Pod};
use topology_admission::Identity;
use topology_model::KubeletView;

use crate::devices::DeviceText;
use crate::kubelet_version::KubeletVersion;
use crate::machine::LoadedMachine;
use crate::node::{LoadedNode, configuration_of};
use crate::sources::{IdentitySource, ResidentsSource, RulesSource};

/// The configuration as a kubelet of each release reads it.
pub struct ReleaseConfigurations {
    /// What it is called.
    pub name: String,
    /// Where the kubelet reads static pods; `None`: it does not say.
    pub static_pods: Option<PathBuf>,
    by_release: Vec<(Rules, KubeletConfiguration)>,
}

impl ReleaseConfigurations {
    /// Of a configuration that is named, else of the one that the machine's kubelet has.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(machine: &LoadedMachine, config: Option<&str>, view: &KubeletView) -> anyhow::Result<Self> {
        let read = |release| {
            let rules = Rules::of(release);
            let read = configuration_of(machine, config, view, rules.into())?;
            anyhow::Ok((rules, read))
        };
        let read = Release::ALL.into_iter().map(read).collect::<anyhow::Result<Vec<_>>>()?;
        let (name, static_pods) = read
            .last()
            .map(|(_, newest)| (newest.name.clone(), newest.static_pods.clone()))
            .unwrap_or_default();
        let by_release = read.into_iter().map(|(rules, read)| (rules, read.config)).collect();
        Ok(Self { name, static_pods, by_release })
    }

    /// As a kubelet with these rules reads it: which fields are read depends on one of them.
    #[must_use]
    pub fn of(&self, rules: Rules) -> KubeletConfiguration {
        let alike = |(read, _): &&(Rules, KubeletConfiguration)| read.pod_sysctls == rules.pod_sysctls;
        let config = self.by_release.iter().find(alike).map(|(_, config)| config.clone());
        KubeletConfiguration { rules, ..config.unwrap_or_default() }
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
        let residents = node.residents(source)?;
        let resident = source.of_node(machine.packed.as_deref())?;
        let mut pods: Vec<Pod> = residents.ledger.pods().cloned().collect();
        if way == UpgradeWay::Drained {
            // A new pod has no class yet; of one that only state files list, the class is all that is known.
            let known = resident.as_ref().map(|resident| resident.names.specs());
            let made_anew = |pod: &&mut Pod| known.is_some_and(|known| known.contains_key(&pod.uid));
            pods.iter_mut().filter(made_anew).for_each(|pod| pod.status_qos = None);
        }
        let mut notes: Vec<String> = node.first_notes().chain(residents.not_looked_at()).collect();
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
        let folder = resident.map(|resident| resident.folder);
        Ok(Self { folder, pods, identity, notes, is_not_started_again })
    }
}
