//! What must hold of a node while no request is in progress: of its files alone, of its files and its answers, and of its
//! answers and what it acknowledged before.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context as _, ensure};
use cpuset::CpuSet;
use fs_err as fs;
use serde_json::Value;
use workspace_tools::client::Client;

use super::load::Load;

/// The kubelet's state files, below the root.
pub(crate) const STATE: [&str; 3] =
    ["cpu_manager_state", "memory_manager_state", "device-plugins/kubelet_internal_checkpoint"];
/// Where pods' own files are.
pub(crate) const PODS: &str = "topolet/pods";
/// The status of a pod that may not have what it was granted.
const QUARANTINED: &str = "Quarantined";
/// CPUs of the machine.
const CPUS: usize = 96;
/// How often files are read again that change meanwhile.
const LOOKS: usize = 200;

/// What a container holds; sets of numbers are written as the kernel does.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct Held {
    cpus: String,
    /// Resource, NUMA nodes and bytes.
    memory: BTreeSet<(String, String, u64)>,
    /// Resource and id.
    devices: BTreeSet<(String, String)>,
}

/// By UID and container.
type Holdings = BTreeMap<(String, String), Held>;

/// The files of a node's folder.
#[derive(PartialEq, Debug)]
struct Files {
    cpu: Value,
    memory: Value,
    devices: Value,
    /// UIDs of the pods that have a file.
    pods: BTreeSet<String>,
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) violations: Vec<String>,
    /// The pods that are admitted, with their exclusive CPUs.
    pub(crate) admitted: BTreeMap<String, String>,
    /// Pods in quarantine.
    pub(crate) quarantined: BTreeSet<String>,
}

/// What happened to the files of a node besides crashes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Disk {
    /// Nothing: a pod in quarantine is a violation.
    Whole,
    /// A file was damaged that named the pods with these UIDs: only they may be in quarantine.
    Damaged(BTreeSet<String>),
}

impl Disk {
    /// Whether the pod may be in quarantine.
    fn names(&self, uid: &str) -> bool {
        match self {
            Self::Whole => false,
            Self::Damaged(named) => named.contains(uid),
        }
    }
}

/// The UIDs of the pods that one of the kubelet's state files names; none if it cannot be read.
pub(crate) fn named(state: &[u8]) -> BTreeSet<String> {
    let file: Value = serde_json::from_slice(state).unwrap_or_default();
    let managers = file["entries"].as_object().into_iter().flatten().map(|(uid, _)| uid.clone());
    let devices = file["Data"]["PodDeviceEntries"].as_array().into_iter().flatten();
    managers.chain(devices.map(|entry| text(&entry["PodUID"]))).collect()
}

/// Checks a node that serves while no client sends requests. `loads` are the clients that sent requests before.
pub(crate) fn check<'a>(
    root: &Path,
    loads: impl IntoIterator<Item = &'a Load>,
    disk: &Disk,
) -> anyhow::Result<Found> {
    let (files, pods) = settled(root)?;
    let mut found = Found { violations: files.violations(), ..Found::default() };
    let answered = answered(&pods);
    let held = files.holdings();
    for key in held.keys().chain(answered.keys()).collect::<BTreeSet<_>>() {
        let (disk, answer) = (held.get(key), answered.get(key));
        if disk != answer {
            let (pod, container) = key;
            found
                .violations
                .push(format!("{pod}/{container} holds {disk:?} on disk and {answer:?} in answers"));
        }
    }
    let listed = pods["pods"].as_array().into_iter().flatten();
    let (mut uids, mut quarantined) = (BTreeSet::new(), BTreeMap::new());
    for pod in listed {
        match pod["status"].as_str() {
            Some("Admitted") => {}
            Some(QUARANTINED) => {
                uids.insert(text(&pod["uid"]));
                quarantined.insert(text(&pod["uid"]), text(&pod["name"]));
                found.quarantined.insert(text(&pod["name"]));
                continue;
            }
            // A refused pod has no file.
            _ => continue,
        }
        uids.insert(text(&pod["uid"]));
        let cpus = text(&pod["containers"][0]["exclusiveCpus"]);
        found.admitted.insert(text(&pod["name"]), cpus);
    }
    let without = uids.difference(&files.pods).map(|uid| format!("{uid} is admitted and has no file"));
    found.violations.extend(without);
    let forgotten = files.pods.difference(&uids).map(|uid| format!("{uid} has a file and is not admitted"));
    found.violations.extend(forgotten);
    let unasked = quarantined.into_iter().filter(|(uid, _)| !disk.names(uid));
    found.violations.extend(unasked.map(|(uid, name)| match disk {
        Disk::Whole => format!("{name} is in quarantine, and no file was damaged"),
        Disk::Damaged(_) => format!("{name} ({uid}) is in quarantine, and the damaged file did not name it"),
    }));
    for load in loads {
        found.violations.extend(acknowledged(load, &found.admitted, &found.quarantined));
    }
    Ok(found)
}

/// What was acknowledged and is no longer so.
fn acknowledged(
    load: &Load,
    admitted: &BTreeMap<String, String>,
    quarantined: &BTreeSet<String>,
) -> Vec<String> {
    let lost =
        load.live.iter().filter(|(name, _)| !quarantined.contains(*name)).filter_map(|(name, granted)| {
            match admitted.get(name) {
                None => Some(format!("{name} was admitted and is lost")),
                Some(now) if !granted.allows(name, &set(now)) => {
                    Some(format!("{name} was given CPUs {} and has {now}", granted.cpus))
                }
                Some(_) => None,
            }
        });
    let back = load.deleted.iter().filter(|name| admitted.contains_key(*name));
    let others = admitted.keys().filter(|name| {
        load.is_own(name)
            && !load.live.contains_key(*name)
            && !load.deferred.contains(*name)
            && !load.unknown.contains(*name)
            && !load.deleted.contains(*name)
    });
    lost.chain(back.map(|name| format!("{name} was deleted and is back")))
        .chain(others.map(|name| format!("{name} is admitted, and its client did not ask for it")))
        .collect()
}

/// The files, and the pods of the answer, of one moment: what is on disk before and after the answer is the same.
fn settled(root: &Path) -> anyhow::Result<(Files, Value)> {
    let client = Client::of(root);
    for _ in 0..LOOKS {
        let before = Files::read(root);
        let reply = client.get("/v1/pods").context("the daemon does not list its pods")?;
        ensure!(reply.status == 200, "the daemon answers {} when asked for its pods", reply.status);
        if let (Ok(before), Ok(after)) = (before, Files::read(root))
            && before == after
        {
            return Ok((after, reply.json()));
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    // What cannot be read says why.
    let files = Files::read(root)?;
    anyhow::bail!("the files of {} pods change while no request is in progress", files.pods.len())
}

impl Files {
    fn read(root: &Path) -> anyhow::Result<Self> {
        let [cpu, memory, devices] = STATE.map(|file| -> anyhow::Result<Value> {
            let path = root.join(file);
            let text = fs::read_to_string(&path)?;
            serde_json::from_str(&text).with_context(|| format!("{file} is no JSON"))
        });
        let mut pods = BTreeSet::new();
        for entry in fs::read_dir(root.join(PODS))? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            pods.extend(name.strip_suffix(".json").filter(|uid| !uid.starts_with('.')).map(str::to_owned));
        }
        Ok(Self { cpu: cpu?, memory: memory?, devices: devices?, pods })
    }

    /// What the files say alone.
    fn violations(&self) -> Vec<String> {
        let mut violations = self.cpu_violations();
        violations.extend(self.memory_violations());
        let mut owners = BTreeMap::new();
        for (key, held) in self.holdings() {
            for device in held.devices {
                if let Some(other) = owners.insert(device.clone(), key.clone()) {
                    violations.push(format!("device {device:?} is held by {other:?} and by {key:?}"));
                }
            }
        }
        violations
    }

    /// Exclusive CPUs and the shared pool are disjoint, and together they are all CPUs.
    fn cpu_violations(&self) -> Vec<String> {
        let mut violations = Vec::new();
        let mut owners = BTreeMap::new();
        let pool = ("the shared pool".to_owned(), numbers(&self.cpu["defaultCpuSet"]));
        let held = self.holdings();
        let held =
            held.iter().map(|((uid, container), held)| (format!("{uid}/{container}"), set(&held.cpus)));
        for (owner, cpus) in held.chain([pool]) {
            for cpu in &cpus {
                if let Some(other) = owners.insert(cpu, owner.clone()) {
                    violations.push(format!("CPU {cpu} is held by {other} and by {owner}"));
                }
            }
        }
        if owners.len() != CPUS {
            violations.push(format!("{} of {CPUS} CPUs are in the CPU manager's file", owners.len()));
        }
        violations
    }

    /// What is reserved on each group of NUMA nodes is the sum of what containers hold there, and the rest is free.
    fn memory_violations(&self) -> Vec<String> {
        let mut held: BTreeMap<(String, String), u64> = BTreeMap::new();
        for (resource, nodes, bytes) in self.holdings().into_values().flat_map(|held| held.memory) {
            *held.entry((resource, nodes)).or_default() += bytes;
        }
        let mut reserved: BTreeMap<(String, String), u64> = BTreeMap::new();
        let mut violations = Vec::new();
        for (id, node) in self.memory["machineState"].as_object().into_iter().flatten() {
            let group = list(&node["cells"]);
            for (resource, table) in node["memoryMap"].as_object().into_iter().flatten() {
                let bytes = |field: &str| table[field].as_u64().unwrap_or_default();
                *reserved.entry((resource.clone(), group.clone())).or_default() += bytes("reserved");
                if bytes("reserved") + bytes("free") != bytes("allocatable") {
                    violations
                        .push(format!("{resource} of node {id}: reserved and free are not all: {table}"));
                }
            }
        }
        for key in held.keys().chain(reserved.keys()).collect::<BTreeSet<_>>() {
            let (held, reserved) = (held.get(key).unwrap_or(&0), reserved.get(key).unwrap_or(&0));
            if held != reserved {
                violations.push(format!(
                    "{} of nodes {}: {held} bytes are held and {reserved} reserved",
                    key.0, key.1
                ));
            }
        }
        violations
    }

    fn holdings(&self) -> Holdings {
        let mut holdings = Holdings::new();
        let mut of = |uid: &str, container: &str, change: &mut dyn FnMut(&mut Held)| {
            change(holdings.entry((uid.to_owned(), container.to_owned())).or_default());
        };
        for (uid, container, cpus) in entries(&self.cpu) {
            of(uid, container, &mut |held| held.cpus = numbers(cpus).to_string());
        }
        for (uid, container, blocks) in entries(&self.memory) {
            for block in blocks.as_array().into_iter().flatten() {
                let block = (
                    text(&block["type"]),
                    list(&block["numaAffinity"]),
                    block["size"].as_u64().unwrap_or_default(),
                );
                of(uid, container, &mut |held| held.memory.extend([block.clone()]));
            }
        }
        for entry in self.devices["Data"]["PodDeviceEntries"].as_array().into_iter().flatten() {
            let ids = entry["DeviceIDs"].as_object().into_iter().flat_map(|nodes| nodes.values());
            for id in ids.filter_map(Value::as_array).flatten() {
                let device = (text(&entry["ResourceName"]), text(id));
                let (uid, container) = (text(&entry["PodUID"]), text(&entry["ContainerName"]));
                of(&uid, &container, &mut |held| held.devices.extend([device.clone()]));
            }
        }
        holdings.retain(|_, held| *held != Held::default());
        holdings
    }
}

/// What the pods of an answer hold.
fn answered(pods: &Value) -> Holdings {
    let mut holdings = Holdings::new();
    for pod in pods["pods"].as_array().into_iter().flatten() {
        for container in pod["containers"].as_array().into_iter().flatten() {
            let memory = container["memory"].as_array().into_iter().flatten();
            let memory = memory.map(|block| {
                let bytes = block["bytes"].as_u64().unwrap_or_default();
                (text(&block["resource"]), numbers(&block["nodes"]).to_string(), bytes)
            });
            let devices = container["devices"].as_array().into_iter().flatten();
            let devices = devices.flat_map(|of| {
                let ids = of["ids"].as_array().into_iter().flatten();
                ids.map(|id| (text(&of["resource"]), text(id)))
            });
            let held = Held {
                cpus: numbers(&container["exclusiveCpus"]).to_string(),
                memory: memory.collect(),
                devices: devices.collect(),
            };
            if held != Held::default() {
                holdings.insert((text(&pod["uid"]), text(&container["name"])), held);
            }
        }
    }
    holdings
}

/// The entries of the CPU or memory manager's file: UID, container, what it has.
fn entries(file: &Value) -> impl Iterator<Item = (&str, &str, &Value)> {
    let pods = file["entries"].as_object().into_iter().flatten();
    pods.flat_map(|(uid, containers)| {
        let containers = containers.as_object().into_iter().flatten();
        containers.map(move |(container, held)| (uid.as_str(), container.as_str(), held))
    })
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// A list such as `0-3,8`; what is none is empty, and missed then.
fn set(text: &str) -> CpuSet {
    text.parse().unwrap_or_default()
}

fn numbers(value: &Value) -> CpuSet {
    set(value.as_str().unwrap_or_default())
}

/// A JSON list of numbers, written as above.
fn list(value: &Value) -> String {
    let numbers = value.as_array().into_iter().flatten().map(Value::to_string);
    set(&numbers.collect::<Vec<_>>().join(",")).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::load::Granted;
    use super::*;

    /// A node on which pod `a` has two CPUs, memory and a device, and pod `b` two CPUs.
    fn whole() -> Files {
        let table = |reserved: u64| json!({ "memory": { "allocatable": 100, "reserved": reserved, "free": 100 - reserved } });
        Files {
            cpu: json!({ "defaultCpuSet": "0,3-48,51-95", "entries": { "a": { "main": "1,49" }, "b": { "main": "2,50" } } }),
            memory: json!({
                "machineState": {
                    "0": { "memoryMap": table(30), "cells": [0] },
                    "1": { "memoryMap": table(0), "cells": [1] },
                },
                "entries": { "a": { "main": [{ "numaAffinity": [0], "type": "memory", "size": 30 }] } },
            }),
            devices: json!({ "Data": { "PodDeviceEntries": [
                { "PodUID": "a", "ContainerName": "main", "ResourceName": "vf", "DeviceIDs": { "0": ["vf-0"] } },
            ] } }),
            pods: ["a", "b"].map(str::to_owned).into(),
        }
    }

    fn doctored(change: impl FnOnce(&mut Files)) -> String {
        let mut files = whole();
        change(&mut files);
        files.violations().join("; ")
    }

    #[test]
    fn a_state_file_names_the_pods_that_hold_something() {
        let files = whole();
        let of = |file: &Value| named(file.to_string().as_bytes()).into_iter().collect::<Vec<_>>().join(" ");
        assert_eq!([of(&files.cpu), of(&files.memory), of(&files.devices)], ["a b", "a", "a"]);
        assert!(named(b"{torn").is_empty());
        let damaged = Disk::Damaged(named(files.devices.to_string().as_bytes()));
        assert!(damaged.names("a") && !damaged.names("b") && !Disk::Whole.names("a"));
    }

    #[test]
    fn a_node_that_is_in_order_has_no_violations() {
        assert_eq!(whole().violations(), [""; 0]);
    }

    #[test]
    fn each_violation_of_the_files_is_found() {
        let found = doctored(|files| files.cpu["entries"]["b"]["main"] = json!("1,50"));
        assert!(found.contains("CPU 1 is held by a/main and by b/main"), "{found}");
        assert!(found.contains("95 of 96 CPUs"), "{found}");
        let found = doctored(|files| files.cpu["defaultCpuSet"] = json!("0-48,51-95"));
        assert!(found.contains("CPU 1 is held by a/main and by the shared pool"), "{found}");
        let found = doctored(|files| files.memory["entries"]["a"]["main"][0]["size"] = json!(40));
        assert!(found.contains("40 bytes are held and 30 reserved"), "{found}");
        let found =
            doctored(|files| files.memory["machineState"]["1"]["memoryMap"]["memory"]["free"] = json!(99));
        assert!(found.contains("memory of node 1: reserved and free are not all"), "{found}");
        let found = doctored(|files| {
            let mut other = files.devices["Data"]["PodDeviceEntries"][0].clone();
            other["PodUID"] = json!("b");
            files.devices["Data"]["PodDeviceEntries"] =
                json!([files.devices["Data"]["PodDeviceEntries"][0], other]);
        });
        assert!(found.contains("is held by (\"a\", \"main\") and by (\"b\", \"main\")"), "{found}");
    }

    #[test]
    fn answers_are_compared_with_what_is_on_disk() {
        let pods = json!({ "pods": [
            { "uid": "a", "name": "a", "status": "Admitted", "containers": [{
                "name": "main", "exclusiveCpus": "1,49",
                "memory": [{ "resource": "memory", "bytes": 30, "nodes": "0" }],
                "devices": [{ "resource": "vf", "ids": ["vf-0"] }],
            }] },
            { "uid": "b", "name": "b", "status": "Admitted", "containers": [{ "name": "main", "exclusiveCpus": "2,50" }] },
        ] });
        assert_eq!(answered(&pods), whole().holdings());
        let mut other = pods;
        other["pods"][1]["containers"][0]["exclusiveCpus"] = json!("2,51");
        assert_ne!(answered(&other), whole().holdings());
    }

    #[test]
    fn what_was_acknowledged_is_missed_and_what_was_deleted_is_noticed() {
        let mut load = Load::new(0, 1, 1);
        load.live = [
            ("kept-3", "1"),
            ("moved-3", "2"),
            ("moved-2", "8-9"),
            ("shrunk-2", "10-11"),
            ("cut-3", "12"),
            ("lost-3", "3"),
            ("hurt-3", "4"),
        ]
        .map(|(name, cpus)| (name.to_owned(), Granted::from(cpus)))
        .into();
        load.live.entry("cut-3".to_owned()).and_modify(|granted| granted.or_count = Some(3));
        load.deferred.insert("client-0-late".to_owned());
        load.deleted.insert("back".to_owned());
        load.unknown.insert("client-0-cut".to_owned());
        let admitted = [
            ("kept-3", "1"),
            ("moved-3", "7"),
            ("moved-2", "5-6"),
            ("shrunk-2", "10"),
            ("cut-3", "12-14"),
            ("client-0-late", "15"),
            ("back", ""),
            ("client-0-cut", ""),
            ("client-0-explained", "5"),
            ("client-1-7", ""),
        ]
        .map(|(name, cpus)| (name.to_owned(), cpus.to_owned()))
        .into();
        let found = acknowledged(&load, &admitted, &["hurt-3".to_owned()].into());
        let expected = [
            "lost-3 was admitted and is lost",
            "moved-3 was given CPUs 2 and has 7",
            "shrunk-2 was given CPUs 10-11 and has 10",
            "back was deleted and is back",
            "client-0-explained is admitted, and its client did not ask for it",
        ];
        assert_eq!(found, expected);
    }
}
