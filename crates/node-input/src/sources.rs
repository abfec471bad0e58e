//! What names the parts of a node: values, as a command line or a scenario has them.

use std::path::{Path, PathBuf};

use admission_report::UserAdvice;
use distribution_config::Distribution;
use node_config::{DecidedBy, MixUnit, OwnOptions, Rules};

use crate::addition::Addition;
use crate::base_choice::{BaseChoice, Reading};
use crate::kubelet_version::KubeletVersion;
use crate::{configuration, files};

/// Which options supply what a decision lacked; reports name them.
pub const ADVICE: UserAdvice = UserAdvice {
    no_plugin: ", and no --devices FILE says",
    no_huge_pages: " (--hugepages decides with others than there are)",
    unchecked: " (--devices FILE lists them)",
};

/// Which machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MachineSource {
    /// [`LIVE`](crate::LIVE), the name of a built-in machine, or a path: a word with `/` or `.`.
    pub machine: String,
    /// Huge pages instead of those that the machine has: `NODE:SIZE=PAGES`, several with commas between.
    pub hugepages: Option<String>,
    /// Memory of NUMA nodes instead of what they have: `NODE=SIZE`, several with commas between.
    pub memory: Option<String>,
    /// What it is imagined to have more, beside what its kubelet has written.
    pub add: Vec<Addition>,
    /// The process id of the kubelet that is meant; `None`: the only one.
    pub kubelet_pid: Option<u32>,
}

impl MachineSource {
    /// A machine as it is.
    #[must_use]
    pub fn named(machine: &str) -> Self {
        Self {
            machine: machine.to_owned(),
            hugepages: None,
            memory: None,
            add: Vec::new(),
            kubelet_pid: None,
        }
    }
}

/// Where options of topolet's own are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OptionsSource {
    /// In a file.
    File(PathBuf),
    /// They are given.
    Given(Box<OwnOptions>),
}

impl OptionsSource {
    /// The file; `None`: they are in none.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Given(_) => None,
        }
    }

    /// Where they are, for an error.
    pub(crate) fn name(&self) -> String {
        self.file().map_or_else(|| "topoletConfig".to_owned(), |path| path.display().to_string())
    }

    /// The options.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn options(&self) -> anyhow::Result<OwnOptions> {
        match self {
            Self::File(path) => configuration::own_options(path),
            Self::Given(options) => Ok(OwnOptions::clone(options)),
        }
    }

    /// The units of `placement.mix`, at least one.
    ///
    /// # Errors
    /// The file cannot be read, or has none.
    pub fn mix(&self) -> anyhow::Result<Vec<MixUnit>> {
        let mix = self.options()?.placement.mix;
        anyhow::ensure!(
            !mix.is_empty(),
            "{} has no placement.mix: it lists units as `- {{count: 1, requests: {{cpu: 8, memory: 4Gi}}}}`",
            self.name()
        );
        Ok(mix)
    }

    /// The options as a `TopoletConfiguration`.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn text(&self) -> anyhow::Result<String> {
        match self {
            Self::File(path) => Ok(String::from_utf8_lossy(&files::read(path)?).into_owned()),
            Self::Given(options) => Ok(serde_saphyr::to_string(options)?),
        }
    }
}

/// By which rules a node decides.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RulesSource {
    /// A file, or the name of a built-in configuration; `None`: that of the node, else [`PINNED`](crate::PINNED).
    pub config: Option<String>,
    /// Flags of the kubelet over the configuration: files with them, or flags themselves.
    pub kubelet_flags: Vec<String>,
    /// The base that the configuration lies over; `None`: the one that its form tells.
    pub base: Option<BaseChoice>,
    /// Whose node it is, where an object of the node tells and the configuration does not.
    pub distribution: Option<Distribution>,
    /// The kubelet whose rules apply; `None`: one of the default release.
    pub kubelet: Option<KubeletVersion>,
    /// The program that decides; `None`: the one that decides on the node, as far as its files say, else a kubelet.
    pub decided_by: Option<DecidedBy>,
    /// Options of topolet's own.
    pub topolet_config: Option<OptionsSource>,
    /// Topology Manager policy instead of the configuration's.
    pub policy: Option<String>,
    /// Topology Manager scope instead of the configuration's.
    pub scope: Option<String>,
    /// A file with the devices of the node.
    pub devices: Option<PathBuf>,
    /// PCI functions of the machine that are devices of a resource, instead of that file: `RESOURCE=VENDOR:DEVICE:CLASS`.
    pub selected: Vec<String>,
}

impl RulesSource {
    /// What the kubelet's release decides by.
    #[must_use]
    pub fn kubelet_rules(&self) -> Rules {
        self.kubelet.map_or_else(Rules::default, KubeletVersion::rules)
    }

    /// How its configuration is read.
    #[must_use]
    pub fn reading(&self) -> Reading<'_> {
        let named_by = self.kubelet.unwrap_or(KubeletVersion::DEFAULT).named_by();
        Reading { rules: self.kubelet_rules(), base: self.base, flags: &self.kubelet_flags, named_by }
    }
}

/// What the node is called, its labels and taints.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct IdentitySource {
    /// A file with the Node object.
    pub node: Option<PathBuf>,
    /// The name, of a node without taints.
    pub node_name: Option<String>,
    /// Its labels, as `KEY=VALUE`.
    pub node_labels: Vec<String>,
}

/// What runs on the node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ResidentsSource {
    /// A kubelet's root folder or a copy of it; `None`: the node's own state.
    pub state: Option<PathBuf>,
    /// Which pods run: a file with manifests, or a folder like `/var/log/pods`.
    pub pods: Option<PathBuf>,
    /// Whether nothing runs, whatever state files say.
    pub empty: bool,
}
