//! What the SR-IOV network operator is given and reports: `SriovNetworkNodePolicy` and `SriovNetworkNodeState`.
//!
//! A policy makes so many virtual functions of each card that it selects, and a resource of them. A state has the cards of a node,
//! their virtual functions, and which of these are of which resource.

use std::collections::BTreeMap;

use pod_spec::ResourceName;

use super::entry::{CardFunctions, DeviceEntry, DeviceSource};
use crate::ManifestError;
use crate::function_pool::{ReportedNodes, numbers};
use crate::names::is_resource;
use crate::node::Field;

/// The domain of the operator's resources, unless its variable `RESOURCE_PREFIX` names another.
const PREFIX: &str = "openshift.io";

const ASSUMED_PREFIX: &str =
    "its domain is taken to be openshift.io, as the operator has it without RESOURCE_PREFIX";

/// The most virtual functions that a card can have.
const MAX_FUNCTIONS: u32 = 65_535;

fn resource(name: &Field<'_>) -> Result<ResourceName, ManifestError> {
    const NAME: &str = "the name of a resource without its domain";
    let resource = format!("{PREFIX}/{}", name.text(NAME)?);
    if is_resource(&resource) { Ok(ResourceName::new(&resource)) } else { Err(name.unexpected(NAME)) }
}

/// Reads a policy.
pub(super) fn read_policy(
    policy: &Field<'_>,
) -> Result<(ResourceName, CardFunctions, Vec<String>), ManifestError> {
    const COUNT: &str = "how many virtual functions each card has";
    const NAME: &str = "the name of a resource without its domain";
    let spec = policy.require("spec", "what the policy sets")?;
    let name = spec.require("resourceName", NAME)?;
    let count = spec.require("numVfs", COUNT)?;
    let number = count.scalar(COUNT)?.parse().ok().filter(|count| *count <= MAX_FUNCTIONS);
    let selector = spec.require("nicSelector", "the cards of which it makes virtual functions")?;
    let texts = |key: &str| -> Result<Vec<String>, ManifestError> {
        let items = selector.get(key)?.map_or(Ok(Vec::new()), |list| list.items())?;
        items.iter().map(|item| Ok(item.text("a text in quotes")?.to_owned())).collect()
    };
    let hex = |key: &str| -> Result<Option<String>, ManifestError> {
        let field = selector.get(key)?;
        field.map(|field| Ok(field.written("four hexadecimal digits")?.to_ascii_lowercase())).transpose()
    };
    let mut names = Vec::new();
    for item in selector.get("pfNames")?.map_or(Ok(Vec::new()), |list| list.items())? {
        names.push(numbers(&item)?);
    }
    let mut assumed = vec![ASSUMED_PREFIX.to_owned()];
    if let Some(filter) = selector.get("netFilter")? {
        assumed.push(format!("netFilter {} is taken to hold", filter.text("a filter")?));
    }
    let withheld = spec.get("excludeTopology")?.is_some_and(|field| field.is_true());
    let cards = CardFunctions {
        vendor: hex("vendor")?,
        device: hex("deviceID")?,
        addresses: texts("rootDevices")?,
        names,
        count: number.ok_or_else(|| count.unexpected(COUNT))?,
        nodes: if withheld { ReportedNodes::Withheld } else { ReportedNodes::Reported },
    };
    Ok((resource(&name)?, cards, assumed))
}

/// Reads the state of a node: the virtual functions of each resource, by address.
pub(super) fn read_state(state: &Field<'_>) -> Result<Vec<DeviceEntry>, ManifestError> {
    const ADDRESS: &str = "a PCI address such as 0000:3b:00.0";
    let interfaces = |place: &str| -> Result<Vec<Field<'_>>, ManifestError> {
        state.descend(&[place, "interfaces"])?.map_or(Ok(Vec::new()), |list| list.items())
    };
    // The functions that there are, by card and number.
    let mut functions: BTreeMap<(String, usize), String> = BTreeMap::new();
    for card in interfaces("status")? {
        let own = card.require("pciAddress", ADDRESS)?.text(ADDRESS)?;
        let all = card.get("Vfs")?.map_or(Ok(Vec::new()), |list| list.items())?;
        for (function, at) in all.iter().zip(0..) {
            let number =
                function.get("vfID")?.map_or(Some(at), |id| id.scalar("a number").ok()?.parse().ok());
            let address = function.require("pciAddress", ADDRESS)?.text(ADDRESS)?;
            functions.insert((own.to_owned(), number.unwrap_or(at)), address.to_owned());
        }
    }
    let mut resources: BTreeMap<ResourceName, Vec<String>> = BTreeMap::new();
    for card in interfaces("spec")? {
        let own = card.require("pciAddress", ADDRESS)?.text(ADDRESS)?;
        for group in card.get("vfGroups")?.map_or(Ok(Vec::new()), |list| list.items())? {
            let name = group.require("resourceName", "the name of a resource without its domain")?;
            let range = group.get("vfRange")?.map(|range| range.text("a range such as 0-7")).transpose()?;
            let range = range.map(|range| {
                let (first, last) = range.split_once('-').unwrap_or((range, range));
                Some(first.parse::<usize>().ok()?..=last.parse().ok()?)
            });
            if range == Some(None) {
                return Err(group.unexpected("vfRange as a range such as 0-7"));
            }
            let range = range.flatten();
            let is_own = |(card, number): &(String, usize)| {
                card == own && range.as_ref().is_none_or(|range| range.contains(number))
            };
            let own = functions.iter().filter(|(key, _)| is_own(key)).map(|(_, address)| address.clone());
            resources.entry(resource(&name)?).or_default().extend(own);
        }
    }
    let entry = |(resource, addresses)| DeviceEntry {
        resource,
        source: DeviceSource::Addresses(addresses),
        assumed: vec![ASSUMED_PREFIX.to_owned()],
    };
    Ok(resources.into_iter().map(entry).collect())
}
