//! The standard attributes of devices, as the helpers for drivers read them from sysfs.

use std::fs;

use serde_json::{Map, Value, json};
use topology_discovery::{DeviceAttributes, MemoryTree, NumaNodeList, PciAddress, SysfsTree, published_node};

use crate::case::{Case, Outcome, numbers, text};
use crate::corpus::Corpus;

/// Where small trees are put: an absolute link leads nowhere in them, as in those that were asked.
const SMALL: &str = "small";

pub(super) fn numa(corpus: &Corpus, case: &Case) -> Outcome {
    match read(corpus, &case.input) {
        Ok((tree, root)) => case.compare(in_recorded_words(answer(&tree, root, &case.input), &case.input)),
        Err(error) => Outcome::unreadable(format!("{error:#}")),
    }
}

/// The tree of a case and where sysfs lies in it.
fn read(corpus: &Corpus, input: &Value) -> anyhow::Result<(SysfsTree, &'static str)> {
    if let Some(name) = input["machine"].as_str() {
        let archive = fs::read(corpus.machine_archive(name)?)?;
        return Ok((SysfsTree::archive(&archive)?, "sys"));
    }
    let mut tree = MemoryTree::new();
    for (path, content) in input["files"].as_object().into_iter().flatten() {
        tree.add_file(&format!("{SMALL}/{path}"), text(content).as_bytes());
    }
    for (path, target) in input["links"].as_object().into_iter().flatten() {
        tree.add_link(&format!("{SMALL}/{path}"), text(target));
    }
    Ok((tree.into(), SMALL))
}

fn answer(tree: &SysfsTree, root: &str, input: &Value) -> Value {
    let sysfs = DeviceAttributes::at(tree, root);
    let names = |folder: &str| tree.list(&format!("{root}/{folder}")).unwrap_or_default();
    let asked = input["ask"].as_array().into_iter().flatten().map(|address| text(address).to_owned());
    let addresses = asked.chain(names("bus/pci/devices"));
    let pci: Map<String, Value> =
        addresses.map(|address| (address.clone(), device(&sysfs, &address))).collect();
    let known = numbered(&names("devices/system/node"), "node");
    let nodes: Map<String, Value> = numbers(&input["nodes"])
        .into_iter()
        .chain(known)
        .map(|node| {
            let list = value(sysfs.list_of_node(node), |list| shown(&list));
            (node.to_string(), json!({ "scalar": value(published_node(node), Value::from), "list": list }))
        })
        .collect();
    let cpus: Map<String, Value> = numbered(&names("devices/system/cpu"), "cpu")
        .into_iter()
        .map(|cpu| (cpu.to_string(), value(sysfs.node_of_cpu(cpu), Value::from)))
        .collect();
    json!({ "pci": pci, "nodes": nodes, "cpus": cpus })
}

fn device(sysfs: &DeviceAttributes<'_>, address: &str) -> Value {
    match address.parse::<PciAddress>() {
        Err(error) => {
            let error = json!({ "error": error.to_string() });
            json!({ "numaNode": error, "numaNodeList": error, "pcieRoot": error, "pciBusID": error })
        }
        Ok(address) => json!({
            "numaNode": value(sysfs.numa_node(&address), Value::from),
            "numaNodeList": value(sysfs.numa_node_list(&address), |list| shown(&list)),
            "pcieRoot": value(sysfs.pcie_root(&address), Value::from),
            "pciBusID": address.as_str(),
        }),
    }
}

fn value<T, E: ToString>(answer: Result<T, E>, shown: impl FnOnce(T) -> Value) -> Value {
    answer.map_or_else(|error| json!({ "error": error.to_string() }), shown)
}

fn shown(list: &NumaNodeList) -> Value {
    match list.fixed() {
        Some(nodes) => json!(nodes),
        None => json!({ "varies": true, "always": list.always(), "sometimes": list.sometimes() }),
    }
}

/// The numbers behind a prefix in some names.
fn numbered(names: &[String], prefix: &str) -> Vec<i64> {
    names.iter().filter_map(|name| cpuset::go_atoi(name.strip_prefix(prefix)?).ok()).collect()
}

/// The same with the words of who was asked: a tree in memory names faults otherwise than Linux, and an unpacked machine lies
/// in a folder, which the fault of a link names.
fn in_recorded_words(answer: Value, input: &Value) -> Value {
    let folder = match input["machine"].as_str() {
        Some(machine) => format!("readlink machines/{machine}/sys/"),
        None => "readlink ".to_owned(),
    };
    let words = |text: &str| {
        let text = text.replace("readlink /sys/", &folder);
        let in_memory = input["machine"].is_null();
        if in_memory { text.replace("no such file or directory", "file does not exist") } else { text }
    };
    match answer {
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| match value {
                Value::String(text) if name == "error" => (name, words(&text).into()),
                value => (name, in_recorded_words(value, input)),
            })
            .collect::<Map<_, _>>()
            .into(),
        other => other,
    }
}
