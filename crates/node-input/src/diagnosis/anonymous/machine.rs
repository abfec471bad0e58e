//! A machine: of its files those that a capture has, of its texts the lines that tell nothing else.

use kubelet_checkpoint::store::StateFile;
use serde_json::{Value, json};
use support_bundle::{DocumentKind, MachineFiles, NodeEvidence, Sourced, StateName};
use topology_discovery::{Capture, SysfsTree};

use super::archive::without_names;
use super::config::{Chosen, of_other_form};
use super::names::{NameKind, Names};
use super::plain::is_plain;
use super::shape::{LeftOut, Shape};
use super::state;
use crate::base_choice::Reading;
use crate::machine::LoadedMachine;
use crate::packed::{Packed, PackedTexts};

/// The files of a machine, captured.
pub(super) struct Captured {
    capture: Capture,
    packed: Option<Packed>,
}

/// Captures the machines of a node, and loads the first. `notes` hear of those that cannot be read.
pub(super) fn captured(evidence: &mut NodeEvidence, notes: &mut Vec<String>) -> Vec<Captured> {
    let mut all = Vec::new();
    let mut failed = 0;
    for Sourced { path, value } in std::mem::take(&mut evidence.machines) {
        let tree = match value {
            MachineFiles::Folder(folder) => SysfsTree::directory(folder).map_err(anyhow::Error::from),
            MachineFiles::Tree(tree) => Ok(SysfsTree::from(*tree)),
        };
        let captured = tree.and_then(|tree| {
            let packed = Packed::read(&path, "the machine", &tree)?;
            Ok(Captured { capture: Capture::of(&tree)?, packed })
        });
        match captured {
            Ok(captured) => all.push(captured),
            Err(_) => failed += 1,
        }
    }
    if all.is_empty() && failed > 0 {
        notes.push("files of a machine: no machine is read from them".to_owned());
    }
    all
}

impl Captured {
    pub(super) fn cpus(&self) -> usize {
        usize::try_from(self.capture.found().info.num_cpus).unwrap_or(1)
    }

    /// The files as an archive: a captured machine, or a node file.
    pub(super) fn archive(
        &self,
        reading: Reading<'_>,
        names: &mut Names,
        left_out: &mut LeftOut,
    ) -> anyhow::Result<Vec<u8>> {
        let mut capture = self.capture.clone();
        if let Some(packed) = &self.packed {
            for (path, content) in packed_files(packed, self.cpus(), reading, names, left_out)? {
                capture = capture.with_file(&path, &content);
            }
        }
        without_names(&capture.archive()?)
    }
}

/// What a node file has beside the machine. Its own options decide nothing for a kubelet.
fn packed_files(
    packed: &Packed,
    cpus: usize,
    reading: Reading<'_>,
    names: &mut Names,
    left_out: &mut LeftOut,
) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    const DEVICES: Shape = Shape::Object(&[(
        "devices",
        Shape::List(&Shape::Object(&[
            ("resource", Shape::Resource),
            (
                "list",
                Shape::List(&Shape::Object(&[
                    ("id", Shape::Device),
                    ("nodes", Shape::List(&Shape::Number)),
                    ("unhealthy", Shape::Scalar),
                ])),
            ),
        ])),
    )]);
    let chosen = Chosen { config: packed.config.as_ref(), reading, cpus };
    let config = chosen.config.and_then(|config| of_other_form(config, &chosen, names, left_out));
    let mut state = Vec::new();
    if let Some(folder) = &packed.state {
        for (file, name, text) in [
            (StateFile::Cpu, StateName::Cpu, &folder.cpu),
            (StateFile::Memory, StateName::Memory, &folder.memory),
            (StateFile::Device, StateName::Device, &folder.device),
        ] {
            if let Some(text) = text {
                state.push((file, state::renamed(name, text, names, left_out)));
            }
        }
    }
    let pods = packed.pods.known().map(|known| {
        let pod = |(uid, name): (&pod_spec::PodUid, &String)| {
            let (namespace, name) = name.split_once('/').unwrap_or(("", name));
            let name = format!("{}/{}", names.namespace(namespace), names.name(NameKind::Pod, name));
            json!({"uid": names.name(NameKind::Uid, uid.as_str()), "name": name})
        };
        Value::Array(known.iter().map(pod).collect())
    });
    let devices = packed.devices.as_ref().and_then(|text| serde_json::from_slice::<Value>(text).ok());
    let devices = devices.map(|devices| DEVICES.kept(&devices, names, left_out));
    PackedTexts { config, state, pods, devices }.files(packed.running)
}

/// The texts of a machine with the lines of which every word is known.
pub(super) fn texts(evidence: &NodeEvidence, notes: &mut Vec<String>) -> Vec<String> {
    let documents: Vec<_> = evidence.of_kind(DocumentKind::Machine).collect();
    let kept: Vec<String> =
        documents.iter().map(|document| text(&String::from_utf8_lossy(&document.text))).collect();
    let info = |texts: Vec<(&str, &[u8])>| {
        LoadedMachine::of_texts("the machine", &texts).map(|machine| machine.info).ok()
    };
    let before =
        info(documents.iter().map(|document| (document.path.as_str(), document.text.as_slice())).collect());
    let after = info(kept.iter().map(|text| ("text", text.as_bytes())).collect());
    if before.is_some() && before != after {
        notes.push(
            "of the texts of a machine some is left out that is not known: the machine is another one"
                .to_owned(),
        );
    }
    kept.into_iter().filter(|text| !text.is_empty()).collect()
}

fn text(text: &str) -> String {
    let trimmed = text.trim_start_matches('\u{feff}').trim_start();
    if let Ok(info) = topology_discovery::machine_info_from_json(trimmed.as_bytes()) {
        return topology_discovery::machine_info_to_json(&info).unwrap_or_default();
    }
    if trimmed.starts_with('{') {
        return serde_json::from_str::<Value>(trimmed)
            .ok()
            .and_then(|value| known(&value))
            .map(|value| value.to_string())
            .unwrap_or_default();
    }
    if trimmed.starts_with('<') {
        return super::xml::kept(trimmed).unwrap_or_default();
    }
    let lines = text.lines().filter(|line| is_known(line)).map(|line| format!("{line}\n"));
    lines.collect()
}

/// Of `lscpu -J` the objects whose texts are known.
fn known(value: &Value) -> Option<Value> {
    match value {
        Value::String(text) => is_known(text).then(|| value.clone()),
        Value::Array(items) => Some(items.iter().filter_map(known).collect()),
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(key, value)| is_known(key).then(|| Some((key.clone(), known(value)?)))?);
            members.collect::<Option<serde_json::Map<_, _>>>().map(Value::Object)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Some(value.clone()),
    }
}

/// Whether every word of a line is known.
fn is_known(line: &str) -> bool {
    // The address of a network card may be of digits alone.
    let is_address = |word: &str| word.matches(':').count() >= 5;
    !line.split_whitespace().any(is_address)
        && line
            .split(|letter: char| letter.is_whitespace() || "():=#,|+\"[]".contains(letter))
            .filter(|word| !word.is_empty())
            .all(is_known_word)
}

fn is_known_word(word: &str) -> bool {
    let bare = word.trim_end_matches(|letter: char| letter.is_ascii_digit());
    is_plain(word)
        || WORDS.contains(&word)
        || bare != word && word.len() - bare.len() <= 5 && NUMBERED.contains(&bare)
        || ["KiB", "MiB", "GiB", "KB", "MB", "GB", "TB", "K", "M", "G", "kB"]
            .iter()
            .any(|unit| word.strip_suffix(unit).is_some_and(|amount| !amount.is_empty() && is_plain(amount)))
}

/// Words that have a number behind them.
const NUMBERED: &[&str] = &["node", "cpu", "Hugepagesize", "L", "Node"];

/// Words of the outputs of `lscpu`, `numactl`, `/proc/meminfo` and `lstopo`.
const WORDS: &[&str] = &[
    "Architecture",
    "x86_64",
    "aarch64",
    "ppc64le",
    "s390x",
    "CPU",
    "CPUs",
    "s",
    "On-line",
    "Off-line",
    "list",
    "Thread",
    "per",
    "core",
    "Core",
    "socket",
    "Socket",
    "NUMA",
    "node",
    "nodes",
    "Node",
    "NODE",
    "SOCKET",
    "CORE",
    "CLUSTER",
    "ONLINE",
    "MAXMHZ",
    "MINMHZ",
    "MHZ",
    "yes",
    "no",
    "-",
    "L1d",
    "L1i",
    "L2",
    "L3",
    "L4",
    "cache",
    "KiB",
    "MiB",
    "GiB",
    "instances",
    "instance",
    "Byte",
    "Order",
    "Little",
    "Big",
    "Endian",
    "op-mode",
    "32-bit",
    "64-bit",
    "Cluster",
    "cluster",
    "Book",
    "Drawer",
    "Die",
    "available",
    "cpus",
    "size",
    "free",
    "distances",
    "MB",
    "kB",
    "GB",
    "MemTotal",
    "MemFree",
    "MemAvailable",
    "HugePages_Total",
    "HugePages_Free",
    "HugePages_Rsvd",
    "HugePages_Surp",
    "Hugepagesize",
    "Hugetlb",
    "Machine",
    "total",
    "Package",
    "Die",
    "NUMANode",
    "Group0",
    "Group",
    "PU",
    "P",
    "L",
    "Socket",
    "L1",
    "L1Cache",
    "L2Cache",
    "L3Cache",
    "HostBridge",
    "PCIBridge",
    "PCI",
    "field",
    "data",
    "lscpu",
    "cpu",
    "online",
    "maxmhz",
    "minmhz",
    "mhz",
    "l1d:l1i:l2:l3",
    "l1d",
    "l1i",
    "l2",
    "l3",
    "children",
    "null",
    "MemCache",
    "Cpu",
];
