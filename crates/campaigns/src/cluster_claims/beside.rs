//! Where the devices of a pod are beside its CPUs and memory, by brute force: from what is published, and from the machine's `/sys`.
//!
//! This is written without the crates that decide the same for topolet.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use cpuset::CpuSet;
use fs_err as fs;
use serde_json::Value;

use super::allocated::Allocated;

const CPUS: &str = "dra.cpu";
/// The attributes that say the NUMA node, in the order in which they count.
const NUMA: [&str; 4] = [
    "resource.kubernetes.io/numaNode",
    "dra.cpu/numaNodeID",
    "dra.net/numaNode",
    "cpu.example.com/numaNodeID",
];
const ADDRESS: &str = "resource.kubernetes.io/pciBusID";

/// The machine of the nodes, all of whose NUMA nodes have CPUs.
pub(super) struct Machine {
    sysfs: PathBuf,
    /// The CPUs of each NUMA node.
    nodes: BTreeMap<i64, CpuSet>,
}

impl Machine {
    /// By its `/sys`.
    pub(super) fn of(sysfs: &Path) -> anyhow::Result<Self> {
        let mut nodes = BTreeMap::new();
        for entry in fs::read_dir(sysfs.join("devices/system/node"))? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let Some(Ok(id)) = name.strip_prefix("node").map(str::parse) else { continue };
            let cpus: CpuSet = fs::read_to_string(path.join("cpulist"))?.trim().parse()?;
            ensure!(
                !cpus.is_empty(),
                "NUMA node {id} has no CPUs; the brute force knows machines whose nodes have some"
            );
            nodes.insert(id, cpus);
        }
        Ok(Self { sysfs: sysfs.to_path_buf(), nodes })
    }

    pub(super) fn sysfs(&self) -> &Path {
        &self.sysfs
    }

    /// How many NUMA nodes it has.
    pub(super) fn count(&self) -> usize {
        self.nodes.len()
    }

    fn nodes_of(&self, cpus: &CpuSet) -> BTreeSet<i64> {
        let has_some = |(_, own): &(&i64, &CpuSet)| own.iter().any(|cpu| cpus.contains(cpu));
        self.nodes.iter().filter(has_some).map(|(id, _)| *id).collect()
    }

    fn node_of_function(&self, address: &str) -> Option<i64> {
        let text =
            fs::read_to_string(self.sysfs.join("bus/pci/devices").join(address).join("numa_node")).ok()?;
        text.trim().parse().ok().filter(|node| *node >= 0)
    }
}

/// The NUMA node of each published device, by driver, pool and name; `None`: nothing says it.
pub(super) struct Places(BTreeMap<[String; 3], Option<i64>>);

impl Places {
    pub(super) fn of(slices: &Value, machine: &Machine) -> Self {
        let mut places = BTreeMap::new();
        for slice in slices["items"].as_array().into_iter().flatten().map(|slice| &slice["spec"]) {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let driver = text(&slice["driver"]);
            for device in slice["devices"].as_array().into_iter().flatten() {
                let value = |name: &str| {
                    let attributes = &device["attributes"];
                    let own = name.strip_prefix(&driver).and_then(|rest| rest.strip_prefix('/'));
                    attributes.get(name).or_else(|| attributes.get(own?))
                };
                let published =
                    NUMA.iter().find_map(|name| value(name)?["int"].as_i64().filter(|node| *node >= 0));
                let place =
                    published.or_else(|| machine.node_of_function(value(ADDRESS)?["string"].as_str()?));
                places.insert([driver.clone(), text(&slice["pool"]["name"]), text(&device["name"])], place);
            }
        }
        Self(places)
    }
}

/// Where topolet says the devices of a decision's one claim are: in a word, and again where the notes say something else.
pub(super) fn said(decision: &Value) -> Vec<&str> {
    let mut said = vec![decision["containers"][0]["claimed"][0]["alignment"].as_str().unwrap_or("nothing")];
    let notes = decision["notes"].as_array().into_iter().flatten();
    let notes: Vec<&str> = notes.filter_map(|note| note["text"].as_str()).collect();
    for (word, part) in [("elsewhere", " NOT aligned: "), ("unknown", "whether claim ")] {
        if notes.iter().any(|note| note.contains(part)) != (said[0] == word) {
            said.push(word);
        }
    }
    said
}

/// Where the devices of a container's one claim are, by brute force, in topolet's words.
pub(super) fn word(
    container: &Value,
    devices: &[Allocated],
    places: &Places,
    machine: &Machine,
) -> anyhow::Result<&'static str> {
    let places = devices.iter().map(|[_, driver, pool, device, _]| {
        let key = [driver, pool, device].map(Clone::clone);
        let place = places.0.get(&key).with_context(|| format!("no slice has {key:?}"))?;
        Ok((driver.as_str(), *place))
    });
    let places = places.collect::<anyhow::Result<Vec<(&str, Option<i64>)>>>()?;
    let mut cpus = match container["exclusiveCpus"].as_str() {
        Some(cpus) => Some(machine.nodes_of(&cpus.parse()?)),
        None => None,
    };
    let memory = container["memory"].as_array().into_iter().flatten();
    // A list of NUMA nodes has the form of a list of CPUs.
    let memory = memory.filter_map(|block| block["nodes"].as_str()).map(str::parse::<CpuSet>);
    let memory = memory.collect::<Result<Vec<CpuSet>, _>>()?;
    let memory: BTreeSet<i64> = memory
        .iter()
        .flat_map(CpuSet::iter)
        .map(|node| node.to_string().parse())
        .collect::<Result<_, _>>()?;
    // Without CPUs of the kubelet those of the driver are the container's.
    let by_driver = cpus.is_none() && places.iter().any(|(driver, _)| *driver == CPUS);
    if by_driver {
        cpus = Some(
            places.iter().filter(|(driver, _)| *driver == CPUS).filter_map(|(_, place)| *place).collect(),
        );
    }
    let mut found = "nothingPinned";
    for (driver, place) in places {
        let cpus = cpus.as_ref().filter(|_| !(by_driver && driver == CPUS));
        let memory = Some(&memory).filter(|memory| !memory.is_empty());
        let mut beside = [cpus, memory].into_iter().flatten().peekable();
        if beside.peek().is_none() {
            continue;
        }
        let now = match place {
            None => "unknown",
            Some(node) if beside.all(|nodes| nodes.contains(&node)) => "aligned",
            Some(_) => "elsewhere",
        };
        found = match (found, now) {
            ("elsewhere", _) | (_, "elsewhere") => "elsewhere",
            ("unknown", _) | (_, "unknown") => "unknown",
            _ => "aligned",
        };
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn devices_are_compared_with_cpus_and_memory() {
        let nodes = [(0, "0-3"), (1, "4-7")].map(|(id, cpus)| (id, cpus.parse().unwrap()));
        let machine = Machine { sysfs: PathBuf::new(), nodes: nodes.into() };
        let device = |name: &str, attributes: &Value| json!({"name": name, "attributes": attributes});
        let slice = |driver: &str, devices: &[Value]| json!({"spec": {"driver": driver, "pool": {"name": "w"}, "devices": devices}});
        let slices = json!({"items": [
            slice("a", &[device("zero", &json!({NUMA[0]: {"int": 0}})), device("none", &json!({"numaNodeID": {"int": 0}}))]),
            slice("cpu.example.com", &[device("one", &json!({"numaNodeID": {"int": 1}}))]),
            slice(CPUS, &[device("four", &json!({NUMA[1]: {"int": 1}}))]),
        ]});
        let places = Places::of(&slices, &machine);
        let of = |driver: &str, device: &str| ["r", driver, "w", device, ""].map(str::to_owned);
        let (zero, none, one, four) =
            (of("a", "zero"), of("a", "none"), of("cpu.example.com", "one"), of(CPUS, "four"));
        let container = |cpus: Option<&str>, memory: Option<&str>| {
            let memory: Vec<Value> = memory.into_iter().map(|nodes| json!({"nodes": nodes})).collect();
            json!({"exclusiveCpus": cpus, "memory": memory})
        };
        for (container, devices, expected) in [
            (container(Some("1-2"), None), vec![zero.clone()], "aligned"),
            (container(Some("3-4"), Some("0-1")), vec![zero.clone(), one.clone()], "aligned"),
            (container(Some("1-2"), Some("0")), vec![zero.clone(), one.clone()], "elsewhere"),
            (container(None, Some("0")), vec![one.clone()], "elsewhere"),
            (container(Some("1"), None), vec![zero.clone(), none.clone()], "unknown"),
            (container(Some("1"), None), vec![none.clone(), one], "elsewhere"),
            (container(None, None), vec![none], "nothingPinned"),
            (container(None, None), vec![four.clone()], "nothingPinned"),
            (container(None, None), vec![zero, four], "elsewhere"),
        ] {
            let found = word(&container, &devices, &places, &machine).unwrap();
            assert_eq!(found, expected, "{container} {devices:?}");
        }
    }
}
