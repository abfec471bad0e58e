//! What goes into a node file: what is given, else what another node file has, else what lies where a kubelet of this
//! machine keeps it.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Context as _;
use node_config::{DecidedBy, Release, Rules};
use node_state::{PodNames, StateFolder};
use pod_claims::ClusterObjects;
use pod_spec::PodUid;
use topology_model::KubeletView;

use crate::configuration::{from_file, is_built_in, own_options, read};
use crate::devices::DeviceText;
use crate::files;
use crate::folder::state_of;
use crate::machine::LoadedMachine;
use crate::node::device_text;
use crate::object_text::ObjectText;
use crate::packed::{Contents, Devices, Packed};
use crate::packed_claims;
use crate::pod_names::from_path as pod_names_of;

/// The parts that are given.
pub struct Given<'a> {
    /// A kubelet's root folder.
    pub state: Option<&'a Path>,
    /// A kubelet's configuration, or the name of a built-in one.
    pub config: Option<&'a Path>,
    /// Options of topolet's own.
    pub own_config: Option<&'a Path>,
    /// A list of pods.
    pub pods: Option<&'a Path>,
    /// An inventory.
    pub devices: Option<&'a Path>,
    /// Slices, device classes, claims and templates; none: those of another node file.
    pub objects: &'a [ObjectText],
    /// What slices call the node; `None`: the devices of all nodes are packed.
    pub node_name: Option<&'a str>,
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
    pub fn gather(&self, machine: &LoadedMachine) -> anyhow::Result<Gathered> {
        let gathering = Gathering { machine, packed: machine.packed.as_deref(), told: Vec::new() };
        gathering.gather(self)
    }
}

struct Gathering<'a> {
    machine: &'a LoadedMachine,
    packed: Option<&'a Packed>,
    told: Vec<Vec<String>>,
}

impl Gathering<'_> {
    fn gather(mut self, given: &Given<'_>) -> anyhow::Result<Gathered> {
        let (config, own_config) = (self.config(given.config)?, self.own_config(given.own_config)?);
        let state = self.state(given.state)?;
        let holders = state.as_ref().and_then(StateFolder::holders);
        let pods = self.pods(given.pods, holders.as_ref())?;
        let devices = self.devices(given.devices)?;
        let objects = self.objects(given)?;
        let decided_by = match (&own_config, self.packed) {
            (Some(_), _) => DecidedBy::Topolet,
            (None, packed) => packed.map(|packed| packed.decided_by).unwrap_or_default(),
        };
        let running = self.packed.map(|packed| packed.running).unwrap_or_default();
        let contents = Contents { config, own_config, decided_by, running, state, pods, devices, objects };
        Ok(Gathered { contents, told: self.told })
    }

    fn tell(&mut self, part: &str, text: String) {
        self.told.push(vec![part.to_owned(), text]);
    }

    /// Where a part is from that the machine itself has.
    fn own(&self, place: impl FnOnce(&Path) -> String) -> String {
        match self.packed.and_then(Packed::state_root) {
            Some(root) => place(root),
            None => format!("as {} has it", self.machine.name),
        }
    }

    fn config(&mut self, given: Option<&Path>) -> anyhow::Result<Option<String>> {
        // The newest release knows every field.
        let rules = Rules::of(Release::V1_37);
        let cpus = usize::try_from(self.machine.info.num_cpus).unwrap_or(0);
        let found = self.packed.and_then(|packed| packed.config.as_ref());
        let read = match (given, found) {
            (Some(given), _) => {
                let name = given.display().to_string();
                if is_built_in(&name) {
                    read(Some(&name), &KubeletView::new(&self.machine.info)?, rules.into())?
                } else {
                    from_file(&name, cpus, rules.into())?.accepted()?
                }
            }
            (None, Some(found)) => found.read(cpus, rules.into())?,
            (None, None) => {
                let none = "none: commands that read the file use the built-in configuration `pinned`; add one \
                            with --config FILE";
                self.tell("config", none.to_owned());
                return Ok(None);
            }
        };
        let is_own = given.is_none();
        let fields = format!("{}: the fields that decide, no others", read.name);
        let place = if is_own { self.own(|_| fields) } else { fields };
        self.tell("config", place);
        Ok(Some(serde_saphyr::to_string(&read.config)?))
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
        let without = |root: &Path| format!("{}, without what plugins answered", root.display());
        if let Some(root) = given {
            self.tell("state", without(root));
            return state_of(root).map(Some);
        }
        let packed = self.packed.and_then(|packed| packed.state.clone());
        let place = match &packed {
            Some(_) => self.own(without),
            None => {
                "none: commands that read the file take the node as empty; add it with --state DIR".to_owned()
            }
        };
        self.tell("state", place);
        Ok(packed)
    }

    fn pods(&mut self, given: Option<&Path>, holders: Option<&BTreeSet<PodUid>>) -> anyhow::Result<PodNames> {
        let names = given.map(|given| pod_names_of(given, holders)).transpose()?;
        let names = names.or_else(|| self.packed.map(|packed| packed.pods.clone())).unwrap_or_default();
        let path = given.map(|path| path.display().to_string());
        let path = path.or_else(|| self.packed.and_then(Packed::pods_root).map(str::to_owned));
        let place = match (path, names.known()) {
            (Some(path), Some(known)) => format!("{path}: {} names and UIDs", known.len()),
            (None, Some(_)) => self.own(|root| root.display().to_string()),
            (_, None) => "none: pods are called by their UIDs (--pods PATH)".to_owned(),
        };
        self.tell("pods", place);
        Ok(names)
    }

    /// What decides on claims. There is a line about it only if there is some.
    fn objects(&mut self, given: &Given<'_>) -> anyhow::Result<ClusterObjects> {
        let (objects, place) = if given.objects.is_empty() {
            let packed = self.packed.map(|packed| packed.objects.clone()).unwrap_or_default();
            (packed, format!("as {} has it", self.machine.name))
        } else {
            let names: BTreeSet<&str> = given.objects.iter().map(ObjectText::name).collect();
            let names: Vec<&str> = names.into_iter().collect();
            (ObjectText::objects(given.objects)?, names.join(", "))
        };
        let objects = packed_claims::packed(objects, given.node_name);
        if let Some(line) = packed_claims::line(&objects) {
            self.tell("claims", format!("{place}: {line}; without configuration of drivers, with other serial numbers and addresses"));
        }
        Ok(objects)
    }

    fn devices(&mut self, given: Option<&Path>) -> anyhow::Result<Devices> {
        let given = given.map(DeviceText::read).transpose()?;
        let Some(text) = device_text(self.machine, given) else {
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
