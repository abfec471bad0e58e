//! On which NUMA node of a machine each device of a node's slices is, as seen from the CPUs.
//!
//! A device that reports a NUMA node of memory alone, as GPUs of GH200 and GB200 do, belongs to the node with CPUs that is nearest by
//! the distances of the machine. Where several are equally near, where the machine has no such node, or where two drivers publish
//! one PCI device, the place is unknown, for a reason: nothing is guessed.

use alloc::collections::{BTreeMap, BTreeSet};
use core::fmt;

use dra_model::{Device, DeviceId, DriverName, Features, Node, ResourceSlice, node_devices};
use topology_model::{KubeletView, Machine, NodeId, PciAddress};

use crate::places::{KnownBy, Located, numa_node, pci_address};

/// The places of the devices that the slices of a node list.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DevicePlaces(BTreeMap<DeviceId, Result<DevicePlace, UnknownPlace>>);

/// The NUMA node of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DevicePlace {
    /// The node with CPUs that it belongs to.
    pub node: NodeId,
    /// The node that is reported; another one if that has no CPUs.
    pub reported: NodeId,
    /// How that is known.
    pub by: KnownBy,
}

/// Why the NUMA node of a device is not known. Displays as a sentence without a full stop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum UnknownPlace {
    /// No slice of the node lists the device.
    NotListed,
    /// Neither an attribute of [`PLACES`](crate::PLACES) nor its PCI address on the machine gives one.
    NotPublished(DriverName),
    /// The machine does not have the node that is reported.
    NotOnMachine(NodeId),
    /// The node that is reported has no CPUs, and no single node with CPUs is the nearest one.
    NoneNearest(NodeId),
    /// Two drivers publish the device at this PCI address; this is the other one.
    OfTwoDrivers(PciAddress, DriverName),
}

impl fmt::Display for UnknownPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotListed => f.write_str("no slice of the node lists it"),
            Self::NotPublished(driver) => write!(f, "driver {driver} publishes no NUMA node"),
            Self::NotOnMachine(node) => {
                write!(f, "NUMA {node} is published, which the machine does not have")
            }
            Self::NoneNearest(node) => {
                write!(
                    f,
                    "NUMA {node} is published, which has no CPUs, and no single node with CPUs is nearest to it"
                )
            }
            Self::OfTwoDrivers(address, other) => write!(f, "driver {other} publishes PCI {address} too"),
        }
    }
}

impl DevicePlaces {
    /// Of the devices that `slices` have for a node with a machine, in a cluster with these feature gates. Without `machine` PCI
    /// addresses lead nowhere.
    #[must_use]
    pub fn of(
        slices: &[ResourceSlice],
        node: &Node,
        features: Features,
        view: &KubeletView,
        machine: Option<&Machine>,
    ) -> Self {
        let listed = node_devices(slices, node, features).into_iter();
        let listed = listed.map(|(slice, device)| {
            let (driver, pool) = (slice.driver.clone(), slice.pool.name.clone());
            (DeviceId { driver, pool, device: device.name.clone() }, device)
        });
        let devices: BTreeMap<DeviceId, &Device> = listed.collect();
        let mut drivers: BTreeMap<PciAddress, BTreeSet<&DriverName>> = BTreeMap::new();
        for (id, device) in &devices {
            if let Some(address) = pci_address(&id.driver, device) {
                drivers.entry(address).or_default().insert(&id.driver);
            }
        }
        let place = |id: &DeviceId, device: &Device| {
            let address = pci_address(&id.driver, device);
            let other = address.and_then(|address| {
                let other = drivers.get(&address)?.iter().find(|driver| ***driver != id.driver)?;
                Some(UnknownPlace::OfTwoDrivers(address, (*other).clone()))
            });
            if let Some(other) = other {
                return Err(other);
            }
            let Located { place: reported, by } = numa_node(&id.driver, device, machine)
                .ok_or_else(|| UnknownPlace::NotPublished(id.driver.clone()))?;
            Ok(DevicePlace { node: cpu_node(view, reported)?, reported, by })
        };
        Self(devices.iter().map(|(id, device)| (id.clone(), place(id, device))).collect())
    }

    /// The places that are known.
    pub fn known(&self) -> impl Iterator<Item = &DevicePlace> {
        self.0.values().filter_map(|place| place.as_ref().ok())
    }

    /// The place of a device.
    ///
    /// # Errors
    /// Why it is not known.
    pub fn place(&self, id: &DeviceId) -> Result<DevicePlace, UnknownPlace> {
        self.0.get(id).cloned().unwrap_or(Err(UnknownPlace::NotListed))
    }
}

/// The node with CPUs that a node belongs to: itself, or the nearest one.
fn cpu_node(view: &KubeletView, node: NodeId) -> Result<NodeId, UnknownPlace> {
    let has_cpus = |node: NodeId| view.cpus().cpus_in_node(node).is_some_and(|cpus| !cpus.is_empty());
    if has_cpus(node) {
        return Ok(node);
    }
    let own = view.node_memory().iter().find(|own| own.id == node);
    let own = own.ok_or(UnknownPlace::NotOnMachine(node))?;
    // A row has an entry for each node, by ascending id.
    let row = own.distances.as_deref().filter(|row| row.len() == view.nodes().len()).unwrap_or_default();
    let with_cpus = row.iter().zip(view.nodes().ids()).filter(|(_, other)| has_cpus(*other));
    let with_cpus: alloc::vec::Vec<(&u64, NodeId)> = with_cpus.collect();
    let least = with_cpus.iter().map(|(distance, _)| *distance).min();
    let mut nearest = with_cpus.iter().filter(|(distance, _)| Some(*distance) == least);
    match (nearest.next(), nearest.next()) {
        (Some((_, only)), None) => Ok(*only),
        _ => Err(UnknownPlace::NoneNearest(node)),
    }
}

#[cfg(test)]
mod tests {
    use alloc::borrow::ToOwned as _;
    use alloc::string::ToString as _;
    use alloc::vec::Vec;

    use dra_model::{Attribute, NodeSelection, Pool};
    use topology_model::MachineInfo;

    use super::*;

    /// Two nodes with CPUs, then nodes of memory alone, each with its distances.
    fn view(memory_only: &[&[u64]]) -> KubeletView {
        let machine: Machine = "pack:2 [numa] core:2 pu:1".parse().unwrap();
        let info = MachineInfo::from(&machine);
        let plain = KubeletView::new(&info).unwrap();
        let mut memory = plain.node_memory().to_vec();
        for (id, row) in (2..).zip(memory_only) {
            let distances = Some(row.to_vec());
            memory.push(topology_model::NodeMemory { id: NodeId(id), distances, ..memory[0].clone() });
        }
        KubeletView::from_parts(plain.cpus().clone(), memory, 0, Vec::new()).unwrap()
    }

    fn slice(driver: &str, node: &str, devices: &[(&str, &str, Attribute)]) -> ResourceSlice {
        let devices = devices.iter().map(|(name, attribute, value)| {
            let mut device = Device::new(name);
            device.attributes.insert((*attribute).into(), value.clone());
            device
        });
        ResourceSlice {
            driver: driver.into(),
            pool: Pool { name: node.into(), generation: 1, slice_count: 1 },
            nodes: NodeSelection { node_name: Some(node.to_owned()), ..NodeSelection::default() },
            devices: Some(devices.collect()),
            ..ResourceSlice::default()
        }
    }

    fn id(driver: &str, pool: &str, device: &str) -> DeviceId {
        DeviceId { driver: driver.into(), pool: pool.into(), device: device.into() }
    }

    #[track_caller]
    fn check(slices: &[ResourceSlice], view: &KubeletView, device: &DeviceId, expected: Result<i64, &str>) {
        let node = Node { name: "a".to_owned(), ..Node::default() };
        let found = DevicePlaces::of(slices, &node, Features::DEFAULT, view, None).place(device);
        let found = found.map(|place| place.node.0).map_err(|why| why.to_string());
        assert_eq!(found, expected.map_err(str::to_owned));
    }

    const NUMA: &str = "resource.kubernetes.io/numaNode";
    const PCI: &str = "resource.kubernetes.io/pciBusID";

    #[test]
    fn a_node_of_memory_alone_belongs_to_the_one_nearest_node_with_cpus() {
        let of = |node: i64| [slice("d", "a", &[("x", NUMA, node.into())])];
        let x = id("d", "a", "x");
        let view = view(&[&[80, 40, 10, 40], &[40, 40, 40, 10]]);
        check(&of(1), &view, &x, Ok(1));
        check(&of(2), &view, &x, Ok(1));
        let none = "NUMA 3 is published, which has no CPUs, and no single node with CPUs is nearest to it";
        check(&of(3), &view, &x, Err(none));
        check(&of(4), &view, &x, Err("NUMA 4 is published, which the machine does not have"));
    }

    #[test]
    fn a_row_of_distances_that_does_not_name_each_node_says_nothing() {
        let of = [slice("d", "a", &[("x", NUMA, 2.into())])];
        let none = "NUMA 2 is published, which has no CPUs, and no single node with CPUs is nearest to it";
        check(&of, &view(&[&[80, 40]]), &id("d", "a", "x"), Err(none));
        check(&of, &view(&[&[]]), &id("d", "a", "x"), Err(none));
    }

    #[test]
    fn devices_of_two_drivers_of_other_nodes_and_of_none_are_unknown() {
        let view = view(&[]);
        let address: Attribute = "0000:3b:00.0".into();
        let slices = [
            slice("d", "a", &[("x", PCI, address.clone()), ("y", NUMA, 0.into())]),
            slice("e", "a", &[("z", PCI, address.clone())]),
            slice("d", "b", &[("x", PCI, address.clone()), ("w", NUMA, 0.into())]),
            slice("f", "a", &[("v", "f/node", 0.into())]),
        ];
        check(&slices, &view, &id("d", "a", "y"), Ok(0));
        check(&slices, &view, &id("d", "a", "x"), Err("driver e publishes PCI 0000:3b:00.0 too"));
        check(&slices, &view, &id("e", "a", "z"), Err("driver d publishes PCI 0000:3b:00.0 too"));
        check(&slices, &view, &id("d", "b", "w"), Err("no slice of the node lists it"));
        check(&slices, &view, &id("d", "a", "gone"), Err("no slice of the node lists it"));
        check(&slices, &view, &id("f", "a", "v"), Err("driver f publishes no NUMA node"));
    }

    #[test]
    fn only_the_newest_slices_of_a_pool_count() {
        let old = slice("d", "a", &[("x", NUMA, 0.into()), ("gone", NUMA, 0.into())]);
        let mut new = slice("d", "a", &[("x", NUMA, 1.into())]);
        new.pool.generation = 2;
        for slices in [[old.clone(), new.clone()], [new, old]] {
            check(&slices, &view(&[]), &id("d", "a", "x"), Ok(1));
            check(&slices, &view(&[]), &id("d", "a", "gone"), Err("no slice of the node lists it"));
        }
    }

    #[test]
    fn a_newer_slice_for_another_node_replaces_none_of_this_one() {
        let own = slice("d", "a", &[("x", NUMA, 0.into())]);
        let mut other = slice("d", "b", &[("y", NUMA, 0.into())]);
        other.pool = Pool { generation: 2, ..own.pool.clone() };
        check(&[own, other], &view(&[]), &id("d", "a", "x"), Ok(0));
    }
}
