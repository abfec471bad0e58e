//! A domain of libvirt: a virtual machine, as `virsh dumpxml` prints it.

use std::collections::BTreeMap;

use cpuset::{CpuId, CpuSet};
use roxmltree::Node as Element;

use super::elements::{children, number};
use super::libvirt::bytes;
use crate::error::MachineTextError;
use crate::form::Form;
use crate::guest::{Cell, Guest, Levels};
use crate::machine_text::MachineText;

/// Reads a machine from the root element.
pub(super) fn read(root: Element<'_, '_>) -> Result<MachineText, MachineTextError> {
    let child = |name: &'static str| children(root, name).next();
    let amount = |name| child(name).and_then(|element| bytes(element, element.text()?));
    let vcpu = child("vcpu");
    let most = vcpu.and_then(|vcpu| vcpu.text()?.trim().parse().ok()).unwrap_or(1);
    let current = vcpu.and_then(|vcpu| number(vcpu, "current")).unwrap_or(most);
    let mut assumed = Vec::new();
    let levels = child("cpu").and_then(|cpu| children(cpu, "topology").next()).map(levels);
    let levels = levels.unwrap_or_else(|| {
        if most > 1 {
            assumed
                .push("each CPU is taken as a package, as libvirt does where it has no topology".to_owned());
        }
        Levels { packages: most, dies: 1, clusters: 1, cores: 1, threads: 1 }
    });
    if levels.cpus() != Some(most) {
        return Err(MachineTextError::Contradiction {
            one: Form::LibvirtDomain,
            what: format!("{most} CPUs by its vcpu"),
            other: Form::LibvirtDomain,
            other_what: levels
                .cpus()
                .map_or("more by its topology".to_owned(), |cpus| format!("{cpus} by its topology")),
        });
    }
    Guest {
        form: Form::LibvirtDomain,
        online: online(root, current),
        levels,
        cells: cells(root)?,
        memory: amount("memory"),
        assumed,
    }
    .machine()
}

fn levels(topology: Element<'_, '_>) -> Levels {
    let level = |name| number(topology, name).filter(|count| *count > 0).unwrap_or(1);
    Levels {
        packages: level("sockets"),
        dies: level("dies"),
        clusters: level("clusters"),
        cores: level("cores"),
        threads: level("threads"),
    }
}

/// The CPUs that run when it starts: those that are enabled one by one, or the first ones.
fn online(root: Element<'_, '_>, current: usize) -> CpuSet {
    let enabled = root.descendants().filter(|cpu| {
        cpu.has_tag_name("vcpu")
            && cpu.attribute("enabled") == Some("yes")
            && cpu.parent().is_some_and(|above| above.has_tag_name("vcpus"))
    });
    let enabled: CpuSet = enabled.filter_map(|cpu| CpuId::new(number(cpu, "id")?).ok()).collect();
    if enabled.is_empty() { (0..current).map_while(|cpu| CpuId::new(cpu).ok()).collect() } else { enabled }
}

fn cells(root: Element<'_, '_>) -> Result<BTreeMap<i64, Cell>, MachineTextError> {
    let cells = root.descendants().filter(|cell| {
        cell.has_tag_name("cell") && cell.parent().is_some_and(|above| above.has_tag_name("numa"))
    });
    let mut read = BTreeMap::new();
    for (cell, at) in cells.zip(0_i64..) {
        let distances = cell.descendants().filter(|sibling| sibling.has_tag_name("sibling"));
        let distances =
            distances.filter_map(|sibling| Some((number(sibling, "id")?, number(sibling, "value")?)));
        let cpus = cell.attribute("cpus").map_or(Some(CpuSet::new()), list);
        let cpus = cpus.ok_or_else(|| MachineTextError::Definition {
            form: Form::LibvirtDomain,
            reason: format!("cpus {:?} is no list of CPUs", cell.attribute("cpus").unwrap_or_default()),
        })?;
        let memory = cell.attribute("memory").and_then(|memory| bytes(cell, memory));
        read.insert(number(cell, "id").unwrap_or(at), Cell { cpus, memory, distances: distances.collect() });
    }
    Ok(read)
}

/// `0-3,^2`: a list in which a part can be taken out again.
fn list(text: &str) -> Option<CpuSet> {
    let mut cpus = CpuSet::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        match part.strip_prefix('^') {
            Some(out) => cpus -= &CpuSet::from_kernel_list(out).ok()?,
            None => cpus |= &CpuSet::from_kernel_list(part).ok()?,
        }
    }
    Some(cpus)
}
