//! Links: what several PCI devices are plugged into together, and on which traffic between them stays.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;

use super::{Machine, PciAddress, PciDevice};

/// A switch, a port or a domain with the functions behind it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    /// What it is.
    pub kind: LinkKind,
    /// The address of a bridge, or the name of a domain.
    pub name: String,
    /// The functions on it, bridges left out.
    pub members: BTreeSet<PciAddress>,
}

/// What a link is. In the order of their words in a sentence.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LinkKind {
    /// A port below a switch, with a card of several functions.
    Port,
    /// The upstream port of a switch.
    Switch,
    /// A port of a root complex without a switch below it.
    RootPort,
    /// Devices that reach each other beside PCI: over `NVLink` or xGMI.
    Domain,
}

impl LinkKind {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Port => "PCI port",
            Self::Switch => "PCI switch",
            Self::RootPort => "root port",
            Self::Domain => "domain",
        }
    }

    /// The kind of this word.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Port, Self::Switch, Self::RootPort, Self::Domain].into_iter().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for Link {
    /// `PCI switch 0000:21:00.0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.name(), self.name)
    }
}

impl Machine {
    /// The bridges with several functions behind them, by address, then the hives of several GPUs. Of bridges with the same
    /// functions behind them there is the one that is nearest to these.
    #[must_use]
    pub fn links(&self) -> Vec<Link> {
        let bridges = self.devices().iter().filter(|device| device.is_bridge());
        let links = bridges.filter_map(|bridge| {
            let members = self.behind(bridge.address);
            let mut below = self.devices_behind(Some(bridge.address)).filter(|below| below.is_bridge());
            let is_outer = below.any(|below| self.behind(below.address) == members);
            (members.len() > 1 && !is_outer).then(|| Link {
                kind: self.kind_of(bridge),
                name: bridge.address.to_string(),
                members,
            })
        });
        links.chain(self.hives()).collect()
    }

    fn hives(&self) -> impl Iterator<Item = Link> {
        let mut hives: BTreeMap<u64, BTreeSet<PciAddress>> = BTreeMap::new();
        for device in self.devices() {
            if let Some(hive) = device.hive {
                hives.entry(hive).or_default().insert(device.address);
            }
        }
        let several = hives.into_iter().filter(|(_, members)| members.len() > 1);
        several.map(|(hive, members)| Link {
            kind: LinkKind::Domain,
            name: alloc::format!("xgmi-{hive:x}"),
            members,
        })
    }

    fn behind(&self, bridge: PciAddress) -> BTreeSet<PciAddress> {
        let is_behind = |device: &&PciDevice| {
            !device.is_bridge() && self.bridges_above(device).any(|above| above.address == bridge)
        };
        self.devices().iter().filter(is_behind).map(|device| device.address).collect()
    }

    fn kind_of(&self, bridge: &PciDevice) -> LinkKind {
        let has_bridges = self.devices_behind(Some(bridge.address)).any(PciDevice::is_bridge);
        match (bridge.parent, has_bridges) {
            (_, true) => LinkKind::Switch,
            (Some(_), false) => LinkKind::Port,
            (None, false) => LinkKind::RootPort,
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    fn machine(devices: &[(&str, &str)]) -> Machine {
        let machine: Machine = "pack:1 [numa] core:1 pu:1".parse().unwrap();
        let mut parts = machine.into_parts();
        let is_above = |address: &str| devices.iter().any(|(_, parent)| *parent == address);
        parts.devices = devices
            .iter()
            .map(|(address, parent)| PciDevice {
                parent: parent.parse().ok(),
                ..PciDevice::new(
                    address.parse().unwrap(),
                    if is_above(address) { 0x06_0400 } else { 0x03_0200 },
                )
            })
            .collect();
        Machine::new(parts).unwrap()
    }

    fn shown(machine: &Machine) -> Vec<(String, Vec<String>)> {
        let members = |link: &Link| link.members.iter().map(ToString::to_string).collect();
        machine.links().iter().map(|link| (link.to_string(), members(link))).collect()
    }

    fn link(name: &str, members: &[&str]) -> (String, Vec<String>) {
        (name.into(), members.iter().map(|member| (*member).into()).collect())
    }

    #[test]
    fn a_switch_a_card_and_a_root_port_are_links() {
        let machine = machine(&[
            // A switch with a card of two functions and a single one; one root port with two; one with one.
            ("0000:00:01.0", ""),
            ("0000:01:00.0", "0000:00:01.0"),
            ("0000:02:00.0", "0000:01:00.0"),
            ("0000:02:01.0", "0000:01:00.0"),
            ("0000:03:00.0", "0000:02:00.0"),
            ("0000:03:00.1", "0000:02:00.0"),
            ("0000:04:00.0", "0000:02:01.0"),
            ("0000:00:02.0", ""),
            ("0000:05:00.0", "0000:00:02.0"),
            ("0000:05:00.1", "0000:00:02.0"),
            ("0000:00:03.0", ""),
            ("0000:06:00.0", "0000:00:03.0"),
        ]);
        let expected = [
            link("root port 0000:00:02.0", &["0000:05:00.0", "0000:05:00.1"]),
            link("PCI switch 0000:01:00.0", &["0000:03:00.0", "0000:03:00.1", "0000:04:00.0"]),
            link("PCI port 0000:02:00.0", &["0000:03:00.0", "0000:03:00.1"]),
        ];
        assert_eq!(shown(&machine), expected);
    }

    #[test]
    fn bridges_behind_each_other_are_no_link() {
        let machine = machine(&[("0000:00:01.0", "0000:01:00.0"), ("0000:01:00.0", "0000:00:01.0")]);
        assert_eq!(shown(&machine), []);
    }

    #[test]
    fn kinds_have_names() {
        for kind in [LinkKind::Port, LinkKind::Switch, LinkKind::RootPort, LinkKind::Domain] {
            assert_eq!(LinkKind::from_name(kind.name()), Some(kind));
        }
        assert_eq!(LinkKind::from_name("bus"), None);
    }
}
