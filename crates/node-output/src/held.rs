//! What state files say, pod by pod.

use std::collections::BTreeMap;

use kubelet_checkpoint::store::StateFile;
use node_state::{Contents, PodNames, Quarantined, files::UnknownFile};
use pod_spec::{ContainerName, PodUid, ResourceName};
use serde::Serialize;

/// The files, and what each container holds.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Shown {
    /// Each file.
    pub files: Vec<FileLine>,
    /// What each container holds; ordered by pod.
    pub containers: Vec<ContainerLine>,
    /// Pods that a repair left in conflict, by UID.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub quarantined: BTreeMap<String, Quarantined>,
}

/// One file in a few words.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FileLine {
    /// Its path below the root.
    pub file: &'static str,
    /// What it has, or why it cannot be read.
    pub contents: String,
    /// Whether the kubelet could read it.
    pub readable: bool,
}

/// What a container holds.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContainerLine {
    /// `NAMESPACE/NAME`, or the UID where the name is not known.
    pub pod: String,
    /// Of the pod.
    pub uid: String,
    /// Empty for what the pod holds as a whole.
    pub container: String,
    /// What it holds.
    #[serde(flatten)]
    pub held: Held,
}

/// What is held.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Held {
    /// As a list; empty: the shared pool.
    pub cpus: String,
    /// Blocks of memory and huge pages.
    pub memory: Vec<MemoryHeld>,
    /// Devices by resource.
    pub devices: Vec<DevicesHeld>,
}

/// Memory of one kind.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryHeld {
    /// `memory`, a size of huge pages, or a device's resource.
    pub resource: String,
    /// How much.
    pub bytes: u64,
    /// Ids of the NUMA nodes.
    pub nodes: Vec<i64>,
}

/// Devices of one resource.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DevicesHeld {
    /// `memory`, a size of huge pages, or a device's resource.
    pub resource: String,
    /// Each once, in order.
    pub ids: Vec<String>,
}

/// Owners in the order in which they are shown: what a pod holds as a whole comes first.
type Owners = BTreeMap<(PodUid, ContainerName), Held>;

/// What the files hold, with the `names` of pods.
#[must_use]
pub fn shown(contents: &Contents, names: &PodNames) -> Shown {
    let mut owners = Owners::new();
    let files =
        vec![cpus(contents, &mut owners), memory(contents, &mut owners), devices(contents, &mut owners)];
    let mut containers: Vec<ContainerLine> = owners
        .into_iter()
        .map(|((pod, container), held)| ContainerLine {
            pod: names.name(&pod),
            uid: pod.to_string(),
            container: container.to_string(),
            held,
        })
        .collect();
    containers.sort_by(|a, b| (&a.pod, &a.uid, &a.container).cmp(&(&b.pod, &b.uid, &b.container)));
    Shown { files, containers, quarantined: BTreeMap::new() }
}

fn line(file: StateFile, contents: String) -> FileLine {
    FileLine { file: file.path(), contents, readable: true }
}

fn unreadable(file: StateFile, error: &impl std::fmt::Display) -> FileLine {
    FileLine { file: file.path(), contents: format!("cannot be read: {error}"), readable: false }
}

fn of_unknown_format(UnknownFile { file, format }: &UnknownFile) -> FileLine {
    FileLine { file: file.path(), contents: format!("is {format}"), readable: false }
}

fn none(file: StateFile) -> FileLine {
    line(file, "is not there".to_owned())
}

fn of<'o>(owners: &'o mut Owners, pod: &PodUid, container: &ContainerName) -> &'o mut Held {
    owners.entry((pod.clone(), container.clone())).or_default()
}

fn cpus(contents: &Contents, owners: &mut Owners) -> FileLine {
    let file = StateFile::Cpu;
    if let Some(unknown) = contents.unknown.iter().find(|unknown| unknown.file == file) {
        return of_unknown_format(unknown);
    }
    let read = match &contents.cpu {
        None => return none(file),
        Some(Err(error)) => return unreadable(file, error),
        Some(Ok(read)) => read,
    };
    // Texts are shown as they are, also where they are no list of CPUs.
    for (pod, containers) in &read.entries {
        for (container, cpus) in containers {
            of(owners, pod, container).cpus.clone_from(cpus);
        }
    }
    for (pod, cpus) in &read.pod_entries {
        of(owners, pod, &ContainerName::new("")).cpus = cpus.to_string();
    }
    let pool = match read.default_cpu_set.as_str() {
        "" => "no shared pool".to_owned(),
        pool => format!("shared pool {pool}"),
    };
    line(file, format!("policy {}, format {:?}, {pool}", read.policy, read.format))
}

fn memory(contents: &Contents, owners: &mut Owners) -> FileLine {
    let file = StateFile::Memory;
    if let Some(unknown) = contents.unknown.iter().find(|unknown| unknown.file == file) {
        return of_unknown_format(unknown);
    }
    let read = match &contents.memory {
        None => return none(file),
        Some(Err(error)) => return unreadable(file, error),
        Some(Ok(read)) => read,
    };
    let held = |block: &kubelet_checkpoint::memory::Block| MemoryHeld {
        resource: block.resource.to_string(),
        bytes: block.size,
        nodes: block.nodes.iter().flatten().map(|id| id.0).collect(),
    };
    for (pod, containers) in &read.state.entries {
        for (container, blocks) in containers.iter().flatten() {
            of(owners, pod, container).memory.extend(blocks.iter().flatten().map(held));
        }
    }
    for (pod, entry) in &read.state.pod_entries {
        let whole = of(owners, pod, &ContainerName::new(""));
        whole.memory.extend(entry.blocks.iter().flatten().map(held));
    }
    let nodes = read.state.nodes.as_ref().map_or(0, BTreeMap::len);
    line(file, format!("policy {}, format {:?}, {nodes} NUMA nodes", read.state.policy, read.format))
}

fn devices(contents: &Contents, owners: &mut Owners) -> FileLine {
    let file = StateFile::Device;
    if let Some(unknown) = contents.unknown.iter().find(|unknown| unknown.file == file) {
        return of_unknown_format(unknown);
    }
    let Some(read) = &contents.device else { return none(file) };
    if let Some(fault) = &read.fault {
        return unreadable(file, fault);
    }
    for entry in read.state.entries.iter().flatten() {
        let mut ids: Vec<String> =
            entry.devices.iter().flatten().flat_map(|(_, ids)| ids.iter().flatten().cloned()).collect();
        ids.sort();
        ids.dedup();
        let resource = entry.resource.to_string();
        of(owners, &entry.pod, &entry.container).devices.push(DevicesHeld { resource, ids });
    }
    let registered: Vec<&str> =
        read.state.registered.iter().flatten().map(|(name, _)| ResourceName::as_str(name)).collect();
    let plugins = if registered.is_empty() {
        "no plugins".to_owned()
    } else {
        format!("plugins of {}", registered.join(", "))
    };
    line(file, plugins)
}
