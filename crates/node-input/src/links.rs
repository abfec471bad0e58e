//! The links that devices of a node come from: those of its machine, and the domains and addresses of the options.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, bail};
use device_manager::{DeviceId, Links};
use node_config::{DeviceLinks, Fit, LinkRule, OwnOptions};
use pod_spec::ResourceName;
use topology_model::{KubeletView, Link, LinkKind, Machine, PciAddress};

/// The links of a machine, if the options have devices come from them, or leave them whole. `listed` are the addresses that an
/// inventory gives to devices.
///
/// # Errors
/// A domain or an address of the options is none.
pub(crate) fn links_of(
    options: &OwnOptions,
    machine: Option<&Machine>,
    view: &KubeletView,
    listed: BTreeMap<DeviceId, PciAddress>,
) -> anyhow::Result<Option<Links>> {
    let fit = options.placement.strategy.fit();
    let options = &options.device_links;
    if options.rule == LinkRule::Ignore && fit == Fit::First {
        return Ok(None);
    }
    let mut links = machine.map(Machine::links).unwrap_or_default();
    links.extend(domains(options)?);
    let mut addresses = listed;
    for (id, text) in &options.addresses {
        let address = address(text).with_context(|| format!("devices.addresses.{id}"))?;
        addresses.insert(DeviceId::new(id), address);
    }
    Ok(Some(linked(options, links, addresses, view)))
}

/// The links that have been found out before: those of the options are among them.
pub(crate) fn linked(
    options: &DeviceLinks,
    links: Vec<Link>,
    addresses: BTreeMap<DeviceId, PciAddress>,
    view: &KubeletView,
) -> Links {
    let groups = options.groups.iter().map(|(name, resources)| {
        let resources: BTreeSet<ResourceName> =
            resources.iter().map(|resource| ResourceName::new(resource)).collect();
        (name.clone(), resources)
    });
    let distances = view.node_memory().iter().map(|node| node.distances.clone()).collect();
    Links::new(options.rule, links, groups.collect(), addresses, distances)
}

fn domains(options: &DeviceLinks) -> anyhow::Result<Vec<Link>> {
    let mut seen: BTreeMap<PciAddress, &str> = BTreeMap::new();
    let mut domains = Vec::new();
    for (name, texts) in &options.domains {
        let mut members = BTreeSet::new();
        for (at, text) in texts.iter().enumerate() {
            let address = address(text).with_context(|| format!("devices.domains.{name}[{at}]"))?;
            if let Some(other) = seen.insert(address, name).filter(|other| *other != name.as_str()) {
                bail!("{address} is in devices.domains.{other} and devices.domains.{name}");
            }
            members.insert(address);
        }
        domains.push(Link { kind: LinkKind::Domain, name: name.clone(), members });
    }
    Ok(domains)
}

fn address(text: &str) -> anyhow::Result<PciAddress> {
    text.parse().with_context(|| format!("{text:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_in_one_domain() {
        let options = |domains: &[(&str, &[&str])]| DeviceLinks {
            rule: LinkRule::Require,
            domains: domains
                .iter()
                .map(|(name, members)| {
                    ((*name).to_owned(), members.iter().map(|member| (*member).to_owned()).collect())
                })
                .collect(),
            ..DeviceLinks::default()
        };
        let error =
            |domains: &[(&str, &[&str])]| format!("{:#}", super::domains(&options(domains)).unwrap_err());
        let twice: &[(&str, &[&str])] =
            &[("a", &["0008:01:00.0", "0009:01:00.0"]), ("b", &["0009:01:00.0", "000a:01:00.0"])];
        assert_eq!(error(twice), "0009:01:00.0 is in devices.domains.a and devices.domains.b");
        let wrong: &[(&str, &[&str])] = &[("a", &["0008:01:00.0", "gpu-1"])];
        assert_eq!(
            error(wrong),
            "devices.domains.a[1]: \"gpu-1\": not a PCI address: expected DOMAIN:BUS:DEVICE.FUNCTION in hexadecimal \
             digits, as 0000:3b:00.1"
        );
    }
}
