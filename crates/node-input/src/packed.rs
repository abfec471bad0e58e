//! Node files: everything that a decision was made from, in one archive.
//!
//! A node file is a captured machine (`sys`, `proc`) with a folder `node` beside it: the kubelet's state files, the
//! fields of its configuration that decide, names and UIDs of the pods, and the devices. What a plugin answered
//! (environment, mounts) is left out of the state, and devices that are named by a UUID or an address of a network
//! card get other names in the same order. Slices, device classes and claims of the node's cluster lie there too.

use core::fmt;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use device_manager::{Device, Health};
use kubelet_checkpoint::device::{DeviceFile, DeviceState};
use kubelet_checkpoint::store::StateFile;
use node_config::DecidedBy;
use node_output::RELEASE;
use node_state::{PodNames, StateFolder};
use pod_claims::ClusterObjects;
use pod_spec::{PodUid, ResourceName};
use serde::{Deserialize, Serialize};
use topology_discovery::SysfsTree;
use topology_manifest::plain_json;

use crate::device_names::DeviceNames;
use crate::found_config::FoundConfig;
use crate::kubelet_version::KubeletVersion;
use crate::packed_claims;

/// The devices of each resource.
pub(crate) type Devices = Vec<(ResourceName, Vec<Device>)>;

/// What tells a node file from a captured machine.
const HEAD: &str = "node/node.json";
const CONFIG: &str = "node/kubelet.yaml";
const OWN_CONFIG: &str = "node/topolet.yaml";
const STATE: &str = "node/state";
const PODS: &str = "node/pods.json";
const DEVICES: &str = "node/devices.json";
const CLAIMS: &str = "node/claims.json";

const API_VERSION: &str = "topolet.dev/v1alpha1";
const KIND: &str = "Node";

/// The first thing that is read: whether the rest can be.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    api_version: String,
    kind: String,
    /// The release of topolet that wrote it.
    written_by: String,
    /// The kubelet release whose rules that topolet knew.
    rules_of: String,
    /// The program that decides on the node; absent: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    decided_by: Option<String>,
    /// Whether a kubelet ran; absent: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kubelet_runs: Option<bool>,
    /// Which files there are in the folder `node`; one that a reader does not know may change decisions.
    files: Vec<String>,
}

/// A pod by name.
#[derive(Debug, Serialize, Deserialize)]
struct NamedPod {
    uid: String,
    name: String,
}

/// What is packed, as it was found.
#[derive(Default)]
pub struct Contents {
    /// Only the fields that decide.
    pub config: Option<String>,
    /// This project's own options.
    pub own_config: Option<String>,
    /// The program that decides there.
    pub decided_by: DecidedBy,
    /// Whether its kubelet ran.
    pub running: Running,
    /// The kubelet's files.
    pub state: Option<StateFolder>,
    /// Which pods there are.
    pub pods: PodNames,
    pub(crate) devices: Devices,
    /// What decides on claims, as it is packed.
    pub(crate) objects: ClusterObjects,
}

/// Whether the kubelet of a node runs. One that runs goes on with what its machine had when it started.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Running {
    /// It does.
    Yes,
    /// None runs.
    No,
    /// It is not known.
    #[default]
    NotKnown,
}

impl Running {
    const fn known(self) -> Option<bool> {
        match self {
            Self::Yes => Some(true),
            Self::No => Some(false),
            Self::NotKnown => None,
        }
    }

    const fn of(known: Option<bool>) -> Self {
        match known {
            Some(true) => Self::Yes,
            Some(false) => Self::No,
            None => Self::NotKnown,
        }
    }
}

/// Where the parts of a node come from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// A node file.
    File,
    /// The folders of the machine's own kubelet.
    Kubelet {
        /// Its root folder.
        root: PathBuf,
        /// The folder that names its pods, if one was found.
        pods: Option<String>,
    },
}

/// A part of a node that could not be read, as text to be shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Gap {
    /// Its configuration.
    Config(String),
    /// What runs there.
    Residents(String),
}

impl Packed {
    /// A configuration alone, of a machine on which no kubelet runs.
    pub(crate) fn of_configuration(config: FoundConfig) -> Self {
        Self {
            config: Some(config),
            own_config: None,
            decided_by: DecidedBy::default(),
            running: Running::No,
            release: None,
            state: None,
            pods: PodNames::default(),
            devices: None,
            objects: ClusterObjects::default(),
            source: Source::File,
            gaps: Vec::new(),
        }
    }

    /// Why what runs there is not known, as text to be shown.
    pub fn resident_gaps(&self) -> impl Iterator<Item = &str> {
        self.gaps.iter().filter_map(|gap| match gap {
            Gap::Residents(text) => Some(text.as_str()),
            Gap::Config(_) => None,
        })
    }
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(text) | Self::Residents(text) => f.write_str(text),
        }
    }
}

/// The parts of a node beside its machine, as commands take them: from a node file, or from where a kubelet keeps them.
#[derive(Clone, Debug)]
pub struct Packed {
    /// The kubelet's configuration.
    pub config: Option<FoundConfig>,
    /// The text of this project's own options.
    pub own_config: Option<Vec<u8>>,
    /// The program that decides there.
    pub decided_by: DecidedBy,
    /// Whether its kubelet runs.
    pub running: Running,
    /// The release of its kubelet, by the executable of one that runs.
    pub release: Option<KubeletVersion>,
    /// The kubelet's files; `None`: there are none.
    pub state: Option<StateFolder>,
    /// Which pods there are.
    pub pods: PodNames,
    /// The text of an inventory file.
    pub devices: Option<Vec<u8>>,
    /// What decides on claims; nothing: it is not known.
    pub objects: ClusterObjects,
    /// Where all this is from.
    pub source: Source,
    /// What could not be read, so that decisions may be about another node.
    pub gaps: Vec<Gap>,
}

/// Files to be packed by path, and notes about them.
pub struct Packing {
    /// Paths in the archive and contents.
    pub files: Vec<(String, Vec<u8>)>,
    /// As text to be shown.
    pub notes: Vec<String>,
}

impl Contents {
    /// The files of the folder `node`.
    pub fn pack(&self) -> anyhow::Result<Packing> {
        let mut notes = Vec::new();
        let mut files: Vec<(String, Vec<u8>)> = Vec::new();
        let mut add = |path: &str, content: Vec<u8>| files.push((path.to_owned(), content));
        if let Some(config) = &self.config {
            add(CONFIG, config.clone().into_bytes());
        }
        if let Some(config) = &self.own_config {
            add(OWN_CONFIG, config.clone().into_bytes());
        }
        let devices_held =
            self.state.as_ref().and_then(|state| state.device.as_deref()).map(DeviceFile::read);
        let names = DeviceNames::new(&self.device_ids(devices_held.as_ref().map(|file| &file.state)));
        if !names.is_empty() {
            notes.push("devices named by a serial number have other names, in the same order".to_owned());
        }
        if let Some(state) = &self.state {
            for (file, content) in [(StateFile::Cpu, &state.cpu), (StateFile::Memory, &state.memory)] {
                if let Some(content) = content {
                    add(&format!("{STATE}/{}", file.path()), content.clone());
                }
            }
        }
        match devices_held {
            Some(file) if file.fault.is_none() => {
                let content = without_replies(file.state, &names).encode().into_bytes();
                add(&format!("{STATE}/{}", StateFile::Device.path()), content);
            }
            Some(_) => notes.push(format!(
                "{} is left out: it cannot be read, and the kubelet starts as if it were not there",
                StateFile::Device.path()
            )),
            None => {}
        }
        if let Some(known) = self.pods.known() {
            let pods: Vec<NamedPod> = known
                .iter()
                .map(|(uid, name)| NamedPod { uid: uid.to_string(), name: name.clone() })
                .collect();
            add(PODS, serde_json::to_vec_pretty(&pods)?);
        }
        if !self.devices.is_empty() {
            let devices = inventory(&self.devices, |resource, id| names.name(resource, id));
            add(DEVICES, plain_json(&serde_json::to_string_pretty(&devices)?).into_bytes());
        }
        if !self.objects.is_empty() {
            add(CLAIMS, packed_claims::text_of(&self.objects)?);
        }
        with_head(&mut files, self.decided_by, self.running)?;
        Ok(Packing { files, notes })
    }

    /// Everything that a device is called anywhere.
    fn device_ids(&self, held: Option<&DeviceState>) -> BTreeMap<ResourceName, BTreeSet<String>> {
        let mut ids: BTreeMap<ResourceName, BTreeSet<String>> = BTreeMap::new();
        for (resource, devices) in &self.devices {
            ids.entry(resource.clone())
                .or_default()
                .extend(devices.iter().map(|device| device.id.to_string()));
        }
        for entry in held.iter().flat_map(|state| state.entries.iter().flatten()) {
            let own = entry.devices.iter().flatten().flat_map(|(_, ids)| ids.iter().flatten().cloned());
            ids.entry(entry.resource.clone()).or_default().extend(own);
        }
        for (resource, registered) in held.iter().flat_map(|state| state.registered.iter().flatten()) {
            ids.entry(resource.clone()).or_default().extend(registered.iter().flatten().cloned());
        }
        ids
    }
}

/// Adds what tells a node file from a captured machine, behind all other files.
fn with_head(
    files: &mut Vec<(String, Vec<u8>)>,
    decided_by: DecidedBy,
    running: Running,
) -> anyhow::Result<()> {
    let head = Head {
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        written_by: env!("CARGO_PKG_VERSION").to_owned(),
        rules_of: RELEASE.to_owned(),
        decided_by: Some(decided_by.name().to_owned()),
        kubelet_runs: running.known(),
        files: files.iter().map(|(path, _)| path.clone()).collect(),
    };
    files.push((HEAD.to_owned(), serde_json::to_vec_pretty(&head)?));
    Ok(())
}

/// Parts of a node file as texts.
#[derive(Default)]
pub(crate) struct PackedTexts {
    /// The configuration.
    pub(crate) config: Option<String>,
    /// Files of the kubelet.
    pub(crate) state: Vec<(StateFile, Vec<u8>)>,
    /// A list of pods with `uid` and `name`.
    pub(crate) pods: Option<serde_json::Value>,
    /// An inventory of devices.
    pub(crate) devices: Option<serde_json::Value>,
}

impl PackedTexts {
    /// The files of the folder `node`, of a node on which a kubelet decides.
    pub(crate) fn files(self, running: Running) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
        let Self { config, state, pods, devices } = self;
        let mut files: Vec<(String, Vec<u8>)> = Vec::new();
        files.extend(config.map(|config| (CONFIG.to_owned(), config.into_bytes())));
        files.extend(state.into_iter().map(|(file, text)| (format!("{STATE}/{}", file.path()), text)));
        for (path, value) in [(PODS, pods), (DEVICES, devices)] {
            if let Some(value) = value {
                files
                    .push((path.to_owned(), plain_json(&serde_json::to_string_pretty(&value)?).into_bytes()));
            }
        }
        with_head(&mut files, DecidedBy::Kubelet, running)?;
        Ok(files)
    }
}

/// The state without what plugins answered: that has environment and mounts, and decides nothing.
fn without_replies(mut state: DeviceState, names: &DeviceNames) -> DeviceState {
    for entry in state.entries.iter_mut().flatten() {
        if let Some(reply) = &mut entry.reply {
            reply.clear();
        }
        for ids in entry.devices.iter_mut().flatten().filter_map(|(_, ids)| ids.as_mut()) {
            for id in ids {
                *id = names.name(&entry.resource, id);
            }
        }
    }
    for (resource, ids) in state.registered.iter_mut().flatten() {
        for id in ids.iter_mut().flatten() {
            *id = names.name(resource, id);
        }
    }
    state
}

/// The devices in the format of an inventory file.
fn inventory(
    devices: &[(ResourceName, Vec<Device>)],
    name: impl Fn(&ResourceName, &str) -> String,
) -> serde_json::Value {
    let resources = devices.iter().map(|(resource, devices)| {
        let listed = devices.iter().map(|device| {
            serde_json::json!({
                "id": name(resource, device.id.as_str()),
                "nodes": device.topology.ids().iter().map(|node| node.0).collect::<Vec<_>>(),
                "unhealthy": device.health != Health::Healthy,
            })
        });
        serde_json::json!({ "resource": resource.as_str(), "list": listed.collect::<Vec<_>>() })
    });
    serde_json::json!({ "devices": resources.collect::<Vec<_>>() })
}

/// The devices as the text of an inventory file.
#[cfg(feature = "sockets")]
pub(crate) fn inventory_text(devices: &Devices) -> String {
    inventory(devices, |_, id| id.to_owned()).to_string()
}

impl Packed {
    /// The folder that the state was read from; `None`: a node file.
    pub fn state_root(&self) -> Option<&Path> {
        match &self.source {
            Source::Kubelet { root, .. } => Some(root),
            Source::File => None,
        }
    }

    /// The folder that names the pods; `None`: none does, or a node file.
    pub fn pods_root(&self) -> Option<&str> {
        match &self.source {
            Source::Kubelet { pods, .. } => pods.as_deref(),
            Source::File => None,
        }
    }

    /// What a node file says beside the machine, which is called `machine`; `None` for a captured machine, which has nothing
    /// else.
    pub fn read(file: &str, machine: &str, tree: &SysfsTree) -> anyhow::Result<Option<Self>> {
        let content = |path: &str| -> anyhow::Result<Option<Vec<u8>>> {
            let content = tree.read(path).with_context(|| format!("failed to read {path} in {file}"))?;
            Ok(content.map(std::borrow::Cow::into_owned))
        };
        let Some(head) = content(HEAD)? else { return Ok(None) };
        let known = |path: &String| {
            [CONFIG, OWN_CONFIG, PODS, DEVICES, CLAIMS].contains(&path.as_str())
                || StateFile::ALL.iter().any(|file| *path == format!("{STATE}/{}", file.path()))
        };
        let head = head_of(file, &head)?;
        let own_config = content(OWN_CONFIG)?;
        let decided_by = match &head.decided_by {
            Some(name) => DecidedBy::named(name).with_context(|| {
                format!("{file} is of a node on which {name:?} decides, expected kubelet or topolet")
            })?,
            // Releases before did not say it.
            None if own_config.is_some() => DecidedBy::Topolet,
            None => DecidedBy::Kubelet,
        };
        if let Some(unknown) = head.files.iter().find(|path| !known(path)) {
            bail!(
                "{file} was written by topolet {} and has {unknown}, which topolet {} does not know: install the newer release",
                head.written_by,
                env!("CARGO_PKG_VERSION")
            );
        }
        for path in &head.files {
            if content(path)?.is_none() {
                bail!("{file} is no whole node file: it names {path} and does not have it; capture it again");
            }
        }
        let state = |of: StateFile| content(&format!("{STATE}/{}", of.path()));
        let state = StateFolder {
            cpu: state(StateFile::Cpu)?,
            memory: state(StateFile::Memory)?,
            device: state(StateFile::Device)?,
            ..StateFolder::default()
        };
        let pods = match content(PODS)? {
            None => PodNames::default(),
            Some(text) => {
                let pods: Vec<NamedPod> = serde_json::from_slice(&text).with_context(|| {
                    format!("failed to read {PODS} in {file}, expected a list of pods with uid and name")
                })?;
                PodNames::of(pods.into_iter().map(|pod| (PodUid::new(&pod.uid), pod.name)))
            }
        };
        let objects = content(CLAIMS)?.map(|text| packed_claims::objects_of(file, text)).transpose()?;
        Ok(Some(Self {
            config: content(CONFIG)?.map(|text| FoundConfig::new(format!("of {machine}"), text)),
            own_config,
            decided_by,
            running: Running::of(head.kubelet_runs),
            release: None,
            state: (!state.is_empty()).then_some(state),
            pods,
            devices: content(DEVICES)?,
            objects: objects.unwrap_or_default(),
            source: Source::File,
            gaps: Vec::new(),
        }))
    }
}

fn head_of(file: &str, text: &[u8]) -> anyhow::Result<Head> {
    /// What every release says in the same way.
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Version {
        api_version: String,
        #[serde(default)]
        written_by: String,
    }
    let failed =
        || format!("failed to read {HEAD} in {file}, expected apiVersion {API_VERSION} and kind {KIND}");
    let version: Version = serde_json::from_slice(text).with_context(failed)?;
    if version.api_version != API_VERSION {
        bail!(
            "{file} is a node file of topolet {}, in format {}; topolet {} reads {API_VERSION}: install the newer release",
            if version.written_by.is_empty() { "(unknown)" } else { &version.written_by },
            version.api_version,
            env!("CARGO_PKG_VERSION")
        );
    }
    let head: Head = serde_json::from_slice(text).with_context(failed)?;
    if head.kind != KIND {
        bail!("{file} has a {} in {HEAD}, expected kind {KIND}", head.kind);
    }
    Ok(head)
}
