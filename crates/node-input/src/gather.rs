//! What goes into a node file: what is given, else what another node file has, else what lies where a kubelet of this
//! machine keeps it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use node_config::{DecidedBy, Release, Rules};
use node_state::{PodNames, StateFolder};
use pod_spec::PodUid;
use topology_model::KubeletView;

use crate::configuration::{from_file as read_configuration, own_options};
use crate::devices::DeviceText;
use crate::files;
use crate::folder::state_of;
use crate::machine::LoadedMachine;
use crate::packed::{Contents, Devices, Packed};
use crate::pod_names::{OWN, POD_LOGS, from_path as pod_names_of, of_logs};

/// Where a kubelet's configuration usually is.
pub(crate) const CONFIGS: [&str; 5] = [
    "/var/lib/kubelet/config.yaml",
    "/etc/kubernetes/kubelet.conf",
    "/etc/kubernetes/kubelet/config.json",
    "/etc/kubernetes/kubelet/kubelet-config.json",
    "/home/kubernetes/kubelet-config.yaml",
];

/// The parts that are given.
pub struct Given<'a> {
    /// A kubelet's root folder.
    pub state: Option<&'a Path>,
    /// A kubelet's configuration.
    pub config: Option<&'a Path>,
    /// Options of topolet's own.
    pub own_config: Option<&'a Path>,
    /// A list of pods.
    pub pods: Option<&'a Path>,
    /// An inventory.
    pub devices: Option<&'a Path>,
}

/// Whether what is not given is looked for where this machine's kubelet keeps it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Elsewhere {
    /// It is.
    ThisMachine,
    /// It is not there.
    Nowhere,
}

/// The parts, and a line about each.
pub struct Gathered {
    /// What is packed.
    pub contents: Contents,
    /// The part, and where it is from.
    pub told: Vec<Vec<String>>,
}

impl Given<'_> {
    /// Collects the parts for `machine`.
    ///
    /// # Errors
    /// A part cannot be read.
    pub fn gather(&self, machine: &LoadedMachine, elsewhere: Elsewhere) -> anyhow::Result<Gathered> {
        let gathering = Gathering { machine, packed: machine.packed.as_deref(), elsewhere, told: Vec::new() };
        gathering.gather(self)
    }
}

struct Gathering<'a> {
    machine: &'a LoadedMachine,
    packed: Option<&'a Packed>,
    elsewhere: Elsewhere,
    told: Vec<Vec<String>>,
}

impl Gathering<'_> {
    fn gather(mut self, given: &Given<'_>) -> anyhow::Result<Gathered> {
        let (config, own_config) = (self.config(given.config)?, self.own_config(given.own_config)?);
        let state = self.state(given.state)?;
        let holders = state.as_ref().and_then(StateFolder::holders);
        let pods = self.pods(given.pods, holders.as_ref())?;
        let devices = self.devices(given.devices)?;
        let decided_by = match (&own_config, self.packed) {
            (Some(_), _) => DecidedBy::Topolet,
            (None, packed) => packed.map(|packed| packed.decided_by).unwrap_or_default(),
        };
        let running = self.packed.map(|packed| packed.running).unwrap_or_default();
        let contents = Contents { config, own_config, decided_by, running, state, pods, devices };
        Ok(Gathered { contents, told: self.told })
    }

    fn tell(&mut self, part: &str, text: String) {
        self.told.push(vec![part.to_owned(), text]);
    }

    /// The given path, else the first that is there.
    fn found(&self, given: Option<&Path>, paths: &[&str]) -> Option<PathBuf> {
        let own = || paths.iter().map(PathBuf::from).find(|path| path.exists());
        given.map(Path::to_path_buf).or_else(|| {
            if self.packed.is_none() && self.elsewhere == Elsewhere::ThisMachine { own() } else { None }
        })
    }

    fn as_packed(&self) -> String {
        format!("as {} has it", self.machine.name)
    }

    fn config(&mut self, given: Option<&Path>) -> anyhow::Result<Option<String>> {
        let packed = self.packed.and_then(|packed| packed.config.as_deref());
        if let Some(path) = self.found(given, &CONFIGS) {
            let shown = path.display().to_string();
            // The newest release knows every field.
            let cpus = usize::try_from(self.machine.info.num_cpus).unwrap_or(0);
            let config = read_configuration(&shown, cpus, Rules::of(Release::V1_37))?.config;
            let text = serde_saphyr::to_string(&config)?;
            self.tell("config", format!("{shown}: the fields that decide, no others"));
            return Ok(Some(text));
        }
        self.tell(
            "config",
            match packed {
                Some(_) => self.as_packed(),
                None => {
                    "none: whoever reads it decides by the built-in configuration `pinned` (--config FILE)"
                        .to_owned()
                }
            },
        );
        Ok(packed.map(|text| String::from_utf8_lossy(text).into_owned()))
    }

    fn own_config(&mut self, given: Option<&Path>) -> anyhow::Result<Option<String>> {
        let Some(path) = given else {
            let packed = self.packed.and_then(|packed| packed.own_config.as_deref());
            return Ok(packed.map(|text| String::from_utf8_lossy(text).into_owned()));
        };
        own_options(path)?;
        self.tell("options", path.display().to_string());
        let text = String::from_utf8(files::read(path)?);
        text.map(Some).with_context(|| format!("failed to read {}", path.display()))
    }

    fn state(&mut self, given: Option<&Path>) -> anyhow::Result<Option<StateFolder>> {
        let root = self.found(given, &[OWN]);
        // A kubelet that pins nothing may not have written any.
        let root = root.filter(|root| given.is_some() || state_of(root).is_ok());
        if let Some(root) = root {
            self.tell("state", format!("{}, without what plugins answered", root.display()));
            return state_of(&root).map(Some);
        }
        let packed = self.packed.and_then(|packed| packed.state.clone());
        self.tell(
            "state",
            match &packed {
                Some(_) => self.as_packed(),
                None => "none: nothing runs there for whoever reads it (--state DIR)".to_owned(),
            },
        );
        Ok(packed)
    }

    fn pods(&mut self, given: Option<&Path>, holders: Option<&BTreeSet<PodUid>>) -> anyhow::Result<PodNames> {
        let path = self.found(given, &[POD_LOGS]);
        let names = match (given, &path) {
            (Some(given), _) => Some(pod_names_of(given, holders)?),
            (None, Some(logs)) => Some(of_logs(logs)?),
            (None, None) => None,
        };
        let names = names.or_else(|| self.packed.map(|packed| packed.pods.clone())).unwrap_or_default();
        self.tell(
            "pods",
            match (&path, names.known()) {
                (Some(path), Some(known)) => format!("{}: {} names and UIDs", path.display(), known.len()),
                (None, Some(_)) => self.as_packed(),
                (_, None) => "none: pods are called by their UIDs (--pods PATH)".to_owned(),
            },
        );
        Ok(names)
    }

    fn devices(&mut self, given: Option<&Path>) -> anyhow::Result<Devices> {
        let packed = self.packed.and_then(|packed| packed.devices.clone());
        let text = match (given, packed) {
            (Some(path), _) => Some(DeviceText::read(path)?),
            (None, Some(text)) => {
                Some(DeviceText { name: format!("devices of {}", self.machine.name), text })
            }
            (None, None) => None,
        };
        let Some(text) = text else {
            self.tell("devices", "none: device plugins are not asked (--devices FILE)".to_owned());
            return Ok(Vec::new());
        };
        let view = KubeletView::new(&self.machine.info)
            .with_context(|| format!("the kubelet could not use machine {}", self.machine.name))?;
        let devices = text.devices(self.machine, view.nodes())?;
        let resources = if devices.len() == 1 { "resource" } else { "resources" };
        self.tell("devices", format!("{}: {} {resources}", text.name, devices.len()));
        Ok(devices)
    }
}
