//! PCI devices, by what `lspci` lists.

use std::collections::BTreeMap;

use topology_model::{DeviceNode, Node, NodeId, PciAddress, PciDevice, Sriov};

use crate::error::MachineTextError;
use crate::facts::{Facts, PciFacts};
use crate::form::Form;
use crate::lack::Lack;

/// Devices, with what was taken for granted, and what of them is not known.
pub(super) struct Devices {
    pub(super) all: Vec<PciDevice>,
    pub(super) assumed: Option<String>,
    pub(super) lack: Option<Lack>,
}

/// The devices of a machine with these NUMA nodes, which are by the output `of_nodes`.
pub(super) fn devices(facts: &Facts, nodes: &[Node], of_nodes: Form) -> Result<Devices, MachineTextError> {
    let mut found: BTreeMap<PciAddress, &PciFacts> = BTreeMap::new();
    for function in &facts.devices {
        // The same function can be listed shortly and at length.
        let known = found.entry(function.address).or_insert(function);
        if function.is_verbose {
            *known = function;
        }
    }
    if found.is_empty() {
        return Ok(Devices { all: Vec::new(), assumed: None, lack: Some(Lack::Devices) });
    }
    if found.values().all(|function| function.class.is_none() || function.vendor.is_none()) {
        return Ok(Devices { all: Vec::new(), assumed: None, lack: Some(Lack::DeviceNumbers) });
    }
    let virtuals: BTreeMap<PciAddress, PciAddress> = found
        .values()
        .flat_map(|card| card.functions.of(card.address).map(|own| (own, card.address)))
        .filter(|(own, _)| found.contains_key(own))
        .collect();
    let mut all = Vec::new();
    for function in found.values() {
        all.push(device(function, &virtuals, nodes, of_nodes)?);
    }
    let has_places = nodes.len() < 2 || found.values().any(|function| function.node.is_some());
    Ok(Devices {
        all,
        assumed: Some("PCI devices are taken as plugged in without bridges above them".to_owned()),
        lack: (!has_places).then_some(Lack::DeviceNodes),
    })
}

fn device(
    function: &PciFacts,
    virtuals: &BTreeMap<PciAddress, PciAddress>,
    nodes: &[Node],
    of_nodes: Form,
) -> Result<PciDevice, MachineTextError> {
    let address = function.address;
    let node = match function.node {
        None => None,
        Some(id) => Some(nodes.iter().find(|node| node.id == NodeId(id)).ok_or_else(|| {
            let ids: Vec<String> = nodes.iter().map(|node| node.id.to_string()).collect();
            MachineTextError::Contradiction {
                one: Form::Lspci,
                what: format!("{address} on NUMA node {id}"),
                other: of_nodes,
                other_what: format!("NUMA nodes {}", ids.join(", ")),
            }
        })?),
    };
    let own: Vec<PciAddress> =
        virtuals.iter().filter(|(_, card)| **card == address).map(|(own, _)| *own).collect();
    let sriov = match virtuals.get(&address) {
        Some(card) => Sriov::Virtual(*card),
        None if !own.is_empty() => Sriov::Physical(own),
        None => Sriov::None,
    };
    Ok(PciDevice {
        vendor: function.vendor,
        device: function.device,
        driver: function.driver.clone(),
        node: node.map_or(DeviceNode::Unknown, |node| DeviceNode::Known(node.id)),
        local_cpus: node.map(|node| node.cpus.clone()).unwrap_or_default(),
        sriov,
        ..PciDevice::new(address, function.class.unwrap_or(0))
    })
}
