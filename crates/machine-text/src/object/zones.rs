//! A `NodeResourceTopology`: a zone for each NUMA node, with amounts of resources and costs to other zones.

use std::collections::BTreeMap;

use cpuset::{CpuId, CpuSet};
use k8s_quantity::Quantity;
use kubernetes_yaml::{Node as Value, Value as Content};
use topology_model::{Core, CoreKind, HugePages, MachineParts, Node, NodeId, Package, PackageId};

use super::described::{Described, items, string};
use crate::lack::Lack;

/// What a zone says.
#[derive(Default)]
struct Zone {
    amounts: BTreeMap<String, i64>,
    costs: BTreeMap<i64, u32>,
}

/// Reads it; the error is what is wrong with it.
pub(super) fn read(object: &Value) -> Result<Described, String> {
    let mut zones: BTreeMap<i64, Zone> = BTreeMap::new();
    let mut assumed = Vec::new();
    for zone in items(object.value.get("zones")) {
        let is_node =
            zone.value.get("type").and_then(string).is_some_and(|kind| kind.eq_ignore_ascii_case("node"));
        if !is_node {
            continue;
        }
        let name = zone.value.get("name").and_then(string).unwrap_or_default();
        let id =
            id(name).ok_or_else(|| format!("zone {name:?} has no number of a NUMA node: expected node-0"))?;
        if zones.insert(id, self::zone(zone, name, &mut assumed)?).is_some() {
            return Err(format!("two zones are of NUMA node {id}"));
        }
    }
    if zones.is_empty() {
        return Err("it has no zone of type Node".to_owned());
    }
    assumed.push(
        "CPUs are numbered by NUMA node, each a core, and those of a node are one package: it has their number alone"
            .to_owned(),
    );
    let ids: Vec<i64> = zones.keys().copied().collect();
    let mut parts = MachineParts::default();
    let mut next = 0_usize;
    for (id, zone) in &zones {
        let count = zone.amounts.get("cpu").copied().unwrap_or(0);
        let count = usize::try_from(count).ok().filter(|count| *count <= CpuId::LIMIT);
        let count = count.ok_or_else(|| format!("NUMA node {id} has more CPUs than there can be"))?;
        let cpus: CpuSet = (next..next + count).filter_map(|cpu| CpuId::new(cpu).ok()).collect();
        if cpus.len() < count {
            return Err(format!("there are more than {} CPUs", CpuId::LIMIT));
        }
        next += count;
        parts.cpus.online |= &cpus;
        let core = |(cpu, at): (CpuId, i64)| Core {
            id: at,
            die: None,
            cluster: None,
            kind: CoreKind::Plain,
            cpus: CpuSet::from(cpu),
        };
        parts.cores.extend(cpus.iter().zip(0..).map(core));
        if !cpus.is_empty() {
            parts.packages.push(Package { id: PackageId(*id), cpus: cpus.clone() });
        }
        let amount = |name: &str| zone.amounts.get(name).and_then(|amount| u64::try_from(*amount).ok());
        let distances = if ids.len() == 1 {
            Some(Vec::from([10]))
        } else {
            ids.iter().map(|other| zone.costs.get(other).copied().filter(|cost| *cost > 0)).collect()
        };
        let hugepages = zone.amounts.iter().filter_map(|(name, bytes)| {
            let size = name.strip_prefix("hugepages-")?.parse::<Quantity>().ok()?.value();
            let (size, bytes) =
                (u64::try_from(size).ok().filter(|size| *size >= 1024)?, u64::try_from(*bytes).ok()?);
            Some(HugePages { page_size_kib: size / 1024, num_pages: bytes / size })
        });
        let mut hugepages: Vec<HugePages> = hugepages.collect();
        hugepages.sort_by_key(|pages| pages.page_size_kib);
        parts.nodes.push(Node { id: NodeId(*id), cpus, memory: amount("memory"), hugepages, distances });
    }
    Ok(Described { parts, lacks: Vec::from([Lack::Cores]), assumed })
}

fn zone(zone: &Value, name: &str, assumed: &mut Vec<String>) -> Result<Zone, String> {
    let mut read = Zone::default();
    for resource in items(zone.value.get("resources")) {
        let Some(resource_name) = resource.value.get("name").and_then(string) else { continue };
        let amount = |key: &str| resource.value.get(key).and_then(string);
        let (text, is_whole) = match amount("capacity") {
            Some(text) => (text, true),
            None => (amount("allocatable").unwrap_or("0"), false),
        };
        let quantity: Quantity = text
            .parse()
            .map_err(|_| format!("zone {name} has {resource_name} {text:?}, which is no amount"))?;
        if !is_whole && matches!(resource_name, "cpu" | "memory") {
            assumed.push(format!("zone {name} has all of its {resource_name}, since it has no capacity"));
        }
        read.amounts.insert(resource_name.to_owned(), quantity.value());
    }
    // Version v1alpha1 has a mapping.
    let costs = zone.value.get("costs");
    if let Some(Content::Map(entries)) = costs.map(|costs| &costs.value) {
        let cost =
            |entry: &kubernetes_yaml::Entry| Some((id(&entry.key)?, string(&entry.value)?.parse().ok()?));
        read.costs.extend(entries.iter().filter_map(cost));
    }
    let cost = |cost: &Value| {
        Some((id(string(cost.value.get("name")?)?)?, string(cost.value.get("value")?)?.parse().ok()?))
    };
    read.costs.extend(items(costs).iter().filter_map(cost));
    Ok(read)
}

/// The number that the name of a zone ends with.
fn id(name: &str) -> Option<i64> {
    let digits = name.len() - name.trim_end_matches(|letter: char| letter.is_ascii_digit()).len();
    name.get(name.len() - digits..)?.parse::<u32>().ok().map(i64::from)
}
