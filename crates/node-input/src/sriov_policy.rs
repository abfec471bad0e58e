//! The virtual functions that policies of the SR-IOV network operator make of a machine's network cards.

use device_manager::Device;
use topology_manifest::{CardFunctions, NotJudged, ReportedNodes};
use topology_model::{Machine, PciDevice, Sriov};

/// The functions of all cards that a policy selects: those that are there, and for those still to be made the address of their
/// card with a number.
pub(crate) fn functions(policies: &[CardFunctions], machine: &Machine) -> Vec<Device> {
    let has_names =
        machine.devices().iter().any(|device| is_network(device) && !device.kernel_names.is_empty());
    let mut devices = Vec::new();
    for card in machine.devices().iter().filter(|device| is_network(device)) {
        let there = match &card.sriov {
            Sriov::Virtual(_) => continue,
            Sriov::Physical(functions) => functions.as_slice(),
            Sriov::None => &[],
        };
        let Some((policy, numbers)) =
            policies.iter().find_map(|policy| Some((policy, selects(policy, card, has_names)?)))
        else {
            continue;
        };
        let node = card.node.reported().filter(|_| policy.nodes == ReportedNodes::Reported);
        let node: Vec<i64> = node.map(|id| id.0).into_iter().collect();
        let own = (0..policy.count as usize).filter(|number| numbers.has(*number)).map(|number| {
            let id =
                there.get(number).map_or_else(|| format!("{}#{number}", card.address), ToString::to_string);
            Device::new(&id, &node)
        });
        devices.extend(own);
    }
    devices
}

/// Which numbers of a card's functions a policy means.
struct Numbers<'p>(Option<&'p [core::ops::RangeInclusive<usize>]>);

impl Numbers<'_> {
    fn has(&self, number: usize) -> bool {
        self.0.is_none_or(|ranges| ranges.iter().any(|range| range.contains(&number)))
    }
}

/// The functions of a card that a policy means; `None`: it does not select the card.
fn selects<'p>(policy: &'p CardFunctions, card: &PciDevice, has_names: bool) -> Option<Numbers<'p>> {
    let is = |wanted: &Option<String>, number: Option<u16>| {
        wanted.as_ref().is_none_or(|wanted| number.is_some_and(|number| format!("{number:04x}") == *wanted))
    };
    let address = card.address.to_string();
    let is_there = policy.addresses.is_empty() || policy.addresses.contains(&address);
    if !(is(&policy.vendor, card.vendor) && is(&policy.device, card.device) && is_there) {
        return None;
    }
    if policy.names.is_empty() {
        return Some(Numbers(None));
    }
    let named = policy.names.iter().find(|(name, _)| !has_names || card.kernel_names.contains(name))?;
    Some(Numbers(named.1.as_deref()))
}

fn is_network(device: &PciDevice) -> bool {
    device.class >> 16 == 0x02
}

/// The names by which cards are selected.
pub(crate) fn names(policies: &[CardFunctions]) -> Vec<NotJudged> {
    let named = policies.iter().filter(|policy| !policy.names.is_empty());
    let names = named.map(|policy| NotJudged {
        field: "pfNames",
        values: policy.names.iter().map(|(name, _)| name.clone()).collect(),
    });
    names.collect()
}
