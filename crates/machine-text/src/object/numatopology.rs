//! A `Numatopology` of Volcano: the NUMA node, socket and core of each CPU.

use std::collections::BTreeMap;

use cpuset::{CpuId, CpuSet};
use kubernetes_yaml::{Node as Value, Value as Content};
use topology_model::{Core, CoreKind, MachineParts, Node, NodeId, Package, PackageId};

use super::described::{Described, string};

/// Reads it; the error is what is wrong with it.
pub(super) fn read(object: &Value) -> Result<Described, String> {
    let details = object.value.get("spec").and_then(|spec| spec.value.get("cpuDetail"));
    let Some(Content::Map(details)) = details.map(|details| &details.value) else {
        return Err("it has no spec.cpuDetail".to_owned());
    };
    let mut parts = MachineParts::default();
    let mut nodes: BTreeMap<i64, CpuSet> = BTreeMap::new();
    let mut packages: BTreeMap<i64, CpuSet> = BTreeMap::new();
    let mut cores: BTreeMap<[i64; 3], CpuSet> = BTreeMap::new();
    for entry in details {
        let cpu = entry.key.parse().ok().and_then(|cpu| CpuId::new(cpu).ok());
        let cpu = cpu.ok_or_else(|| format!("spec.cpuDetail has {:?}, which is no CPU", entry.key))?;
        // What is 0 is left out.
        let place = |key: &str| match entry.value.value.get(key) {
            None => Ok(0_i64),
            Some(value) => string(value)
                .and_then(|text| text.parse().ok())
                .ok_or_else(|| format!("{key} of CPU {cpu} is no number")),
        };
        let (node, socket, core) = (place("numa")?, place("socket")?, place("core")?);
        nodes.entry(node).or_default().insert(cpu);
        packages.entry(socket).or_default().insert(cpu);
        cores.entry([socket, node, core]).or_default().insert(cpu);
        parts.cpus.online.insert(cpu);
    }
    let is_only = nodes.len() == 1;
    let core = |([_, _, id], cpus): ([i64; 3], CpuSet)| Core {
        id,
        die: None,
        cluster: None,
        kind: CoreKind::Plain,
        cpus,
    };
    let node = |(id, cpus): (i64, CpuSet)| Node {
        id: NodeId(id),
        cpus,
        memory: None,
        hugepages: Vec::new(),
        distances: is_only.then(|| Vec::from([10])),
    };
    parts.packages = packages.into_iter().map(|(id, cpus)| Package { id: PackageId(id), cpus }).collect();
    parts.cores = cores.into_iter().map(core).collect();
    parts.nodes = nodes.into_iter().map(node).collect();
    let assumed = Vec::from(["NUMA nodes without CPUs are not in it, and taken as none".to_owned()]);
    Ok(Described { parts, lacks: Vec::new(), assumed })
}
