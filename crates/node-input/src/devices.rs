//! The devices of a node from an inventory file: counts per node and PCI selectors become single devices.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use admission_report::Notice;
use anyhow::{Context as _, bail};
use cpuset::{CpuId, CpuSet};
use device_manager::{Device, DeviceId, Health};
use node_output::manifest_error;
use pod_spec::ResourceName;
use topology_manifest::{
    DeviceEntry, DeviceHealth, DeviceSource, FunctionFacts, FunctionPart, FunctionPool, MigStrategy,
    PciSelector, ReportedNodes, Source, read_devices, read_pod_resources,
};
use topology_model::{Machine, NodeId, Nodes, PciAddress, PciDevice, Sriov};

use crate::listed_holders::ListedHolders;
use crate::machine::LoadedMachine;
use crate::plugin_functions::{self, Placed};
use crate::sources::{MachineSource, ResidentsSource, RulesSource};
use crate::sriov_policy;

/// One resource and its devices.
type Resource = (ResourceName, Vec<Device>);

/// An inventory file that has not been looked into.
#[derive(Clone)]
pub struct DeviceText {
    /// What messages call it.
    pub name: String,
    /// YAML or JSON.
    pub text: Vec<u8>,
}

impl DeviceText {
    /// The file at `path`.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        Ok(Self { name: path.display().to_string(), text: crate::files::read(path)? })
    }

    /// What names the devices of a node; `None`: nothing does.
    ///
    /// # Errors
    /// The file cannot be read, or a selection is none.
    pub fn of(rules: &RulesSource) -> anyhow::Result<Option<Self>> {
        if rules.selected.is_empty() {
            return rules.devices.as_deref().map(Self::read).transpose();
        }
        let mut text = "devices:\n".to_owned();
        for selection in &rules.selected {
            text.push_str(&selected(selection)?);
        }
        Ok(Some(Self { name: "--device".to_owned(), text: text.into_bytes() }))
    }

    /// The same; where nothing names them, those that a plugin would offer on a built-in machine. With a state there
    /// is no such default: the state belongs to a node with other devices.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn on(
        rules: &RulesSource,
        machine: &MachineSource,
        residents: &ResidentsSource,
    ) -> anyhow::Result<Option<Self>> {
        let built_in = || {
            if residents.state.is_some() {
                return None;
            }
            Self::built_in(&machine.machine)
        };
        Ok(Self::of(rules)?.or_else(built_in))
    }

    /// The devices of the built-in machine of this name; `None`: there is none, or it has no devices.
    #[must_use]
    pub fn built_in(machine: &str) -> Option<Self> {
        let text = machine_fixtures::devices(machine)?;
        Some(Self { name: format!("devices of {machine}"), text: text.as_bytes().to_vec() })
    }

    /// The devices on `machine`, by resource.
    pub fn devices(&self, machine: &LoadedMachine, nodes: &Nodes) -> anyhow::Result<Vec<Resource>> {
        let mut pooled = BTreeSet::new();
        let mut resources = Vec::new();
        for entry in &self.entries()? {
            let devices = devices(entry, &self.name, machine, nodes, &mut pooled)?;
            // A plugin does not register a pool of nothing.
            if !(devices.is_empty() && matches!(entry.source, DeviceSource::Pool(_))) {
                resources.push((entry.resource.clone(), devices));
            }
        }
        Ok(resources)
    }

    /// The PCI addresses that the file gives to devices.
    ///
    /// # Errors
    /// It cannot be read, or gives two addresses to one id.
    pub fn addresses(&self) -> anyhow::Result<BTreeMap<DeviceId, PciAddress>> {
        let mut addresses = BTreeMap::new();
        for entry in &self.entries()? {
            let DeviceSource::Listed(listed) = &entry.source else { continue };
            for device in listed {
                let Some(text) = &device.pci else { continue };
                let place = || format!("{}: {} {}: pci {text:?}", self.name, entry.resource, device.id);
                let address: PciAddress = text.parse().with_context(place)?;
                let before = addresses.insert(DeviceId::new(&device.id), address);
                if let Some(other) = before.filter(|other| *other != address) {
                    bail!("{}, and of another resource {other}", place());
                }
            }
        }
        Ok(addresses)
    }

    /// What of the file is taken to hold because the description of the machine does not tell it.
    pub fn not_judged(&self, machine: &LoadedMachine) -> anyhow::Result<Vec<Notice>> {
        let mut warnings = Vec::new();
        let has_names = machine.machine.as_ref().is_some_and(has_names);
        let has_drivers = machine.machine.as_ref().is_some_and(has_drivers);
        for entry in self.entries()? {
            let of_amount = taken_of_amount(&entry, machine).or_else(|| not_partitioned(&entry, machine));
            for assumed in entry.assumed.iter().chain(&of_amount) {
                warnings.push(Notice::warning(format!("{}: {}: {assumed}", self.name, entry.resource)));
            }
            let drivers = match &entry.source {
                DeviceSource::Pool(pool) if !has_drivers => pool.drivers(),
                _ => Vec::new(),
            };
            let names = match &entry.source {
                _ if has_names => Vec::new(),
                DeviceSource::Pool(pool) => pool.names(),
                DeviceSource::Functions(cards) => sriov_policy::names(cards),
                _ => Vec::new(),
            };
            let judged = match &entry.source {
                DeviceSource::Pool(pool) => pool.not_judged(),
                _ => Vec::new(),
            };
            let parts: Vec<String> =
                judged.iter().chain(&drivers).chain(&names).map(ToString::to_string).collect();
            if !parts.is_empty() {
                warnings.push(Notice::warning(format!(
                    "{}: {} is selected by {}, which a machine's description does not tell: taken to hold",
                    self.name,
                    entry.resource,
                    parts.join(" and ")
                )));
            }
        }
        Ok(warnings)
    }

    /// That other devices of a built-in machine are not there, since these take their place.
    pub(crate) fn replaces_built_in(&self, machine: &LoadedMachine) -> anyhow::Result<Option<Notice>> {
        let Some(built_in) = Self::built_in(&machine.name).filter(|own| own.name != self.name) else {
            return Ok(None);
        };
        let given: BTreeSet<ResourceName> = self.entries()?.into_iter().map(|entry| entry.resource).collect();
        let gone: Vec<String> = built_in
            .entries()?
            .into_iter()
            .filter(|entry| !given.contains(&entry.resource))
            .map(|entry| entry.resource.to_string())
            .collect();
        Ok((!gone.is_empty()).then(|| {
            let (name, machine) = (&self.name, &machine.name);
            Notice::warning(format!(
                "{name}: takes the place of all devices of {machine}: it has no {}",
                gone.join(" and no ")
            ))
        }))
    }

    /// What pods hold by the file, if it has a kubelet's answer of `List`.
    pub(crate) fn holders(&self) -> Option<ListedHolders> {
        let source = Source::from_bytes(&self.name, &self.text).ok()?;
        ListedHolders::of(&self.name, read_pod_resources(&source).ok()?.pods)
    }

    /// Pools that get nothing, since one before them has all that they select: where the two differ by what a machine's description
    /// does not tell, which device is whose is not known.
    pub(crate) fn empty_pools(&self, machine: &LoadedMachine, nodes: &Nodes) -> anyhow::Result<Vec<Notice>> {
        let mut pooled = BTreeSet::new();
        let mut owners: BTreeMap<DeviceId, ResourceName> = BTreeMap::new();
        let mut notices = Vec::new();
        for entry in &self.entries()? {
            let DeviceSource::Pool(pool) = &entry.source else { continue };
            let alone = devices(entry, &self.name, machine, nodes, &mut BTreeSet::new())?;
            let own = devices(entry, &self.name, machine, nodes, &mut pooled)?;
            let before = alone.iter().find_map(|device| owners.get(&device.id));
            let has_drivers = machine.machine.as_ref().is_some_and(has_drivers);
            let mut not_judged = pool.not_judged();
            not_judged.extend(pool.drivers().into_iter().filter(|_| !has_drivers));
            if let (true, false, Some(before)) = (own.is_empty(), not_judged.is_empty(), before) {
                notices.push(Notice::warning(format!(
                    "{}: {} gets no devices, since {before} before it selects them too, and which of them differ by {} is not known: a \
                     `list` of `devices:` says whose they are",
                    self.name,
                    entry.resource,
                    not_judged.iter().map(|part| part.field).collect::<Vec<_>>().join(" and ")
                )));
            }
            owners.extend(own.iter().map(|device| (device.id.clone(), entry.resource.clone())));
        }
        Ok(notices)
    }

    fn entries(&self) -> anyhow::Result<Vec<DeviceEntry>> {
        let read = Source::from_bytes(&self.name, &self.text).and_then(|source| read_devices(&source));
        Ok(read.map_err(manifest_error)?)
    }
}

fn devices(
    entry: &DeviceEntry,
    file: &str,
    machine: &LoadedMachine,
    nodes: &Nodes,
    pooled: &mut BTreeSet<PciAddress>,
) -> anyhow::Result<Vec<Device>> {
    let resource = &entry.resource;
    if !device_manager::is_extended_resource(resource.as_str()) {
        bail!("{file}: {resource} is no name for devices: they have a domain, as in example.com/gpu");
    }
    let check = |id: u32| {
        let node = NodeId(i64::from(id));
        if nodes.index_of(node).is_none() {
            let ids = nodes.show(nodes.all());
            bail!("{file}: {resource} is on NUMA node {id}; {} has nodes {ids}", machine.name);
        }
        Ok(node.0)
    };
    match &entry.source {
        DeviceSource::Listed(listed) => listed
            .iter()
            .map(|device| {
                let ids = device.nodes.iter().map(|id| check(*id)).collect::<anyhow::Result<Vec<_>>>()?;
                let health = match device.health {
                    DeviceHealth::Healthy => Health::Healthy,
                    DeviceHealth::Unhealthy => Health::said("Unhealthy"),
                };
                Ok(Device::new(&device.id, &ids).with_health(health))
            })
            .collect(),
        DeviceSource::PerNode(counts) => {
            let short = resource.as_str().rsplit('/').next().unwrap_or_default();
            let mut devices = Vec::new();
            for (node, count) in counts {
                let id = check(*node)?;
                devices.extend((0..*count).map(|at| Device::new(&format!("{short}-{id}-{at}"), &[id])));
            }
            Ok(devices)
        }
        DeviceSource::Pci(selector) => pci(selector, machine.hardware(file, resource)?, || {
            format!("{file}: {resource} matches no PCI function of {}", machine.name)
        }),
        DeviceSource::Pool(pool) => Ok(self::pool(pool, machine.hardware(file, resource)?, pooled)),
        DeviceSource::Counted(count) => Ok(nowhere(resource, *count)),
        DeviceSource::Amount(count) => match of_amount(resource, *count, machine) {
            Placed::Functions { devices, .. } => Ok(devices),
            Placed::NotKnown | Placed::Nowhere | Placed::Differs(_) => Ok(nowhere(resource, *count)),
        },
        DeviceSource::Near(devices) => Ok(devices.iter().map(|(id, cpus)| near(id, cpus, machine)).collect()),
        DeviceSource::Addresses(addresses) => {
            let hardware = machine.hardware(file, resource)?;
            addresses.iter().map(|address| at(address, hardware, file, &machine.name)).collect()
        }
        DeviceSource::Functions(cards) => {
            let functions = sriov_policy::functions(cards, machine.hardware(file, resource)?);
            if functions.is_empty() {
                bail!("{file}: {resource} matches no network card of {}", machine.name);
            }
            Ok(functions)
        }
        DeviceSource::Gpus { replicas, .. } => gpus(*replicas, machine.hardware(file, resource)?, || {
            format!("{file}: {} has no PCI device that is a GPU of NVIDIA", machine.name)
        }),
    }
}

/// So many devices that are near no NUMA node.
fn nowhere(resource: &ResourceName, count: u32) -> Vec<Device> {
    let short = resource.as_str().rsplit('/').next().unwrap_or_default();
    (0..count).map(|at| Device::new(&format!("{short}-{at}"), &[])).collect()
}

/// What the devices are that a node's amounts count.
fn of_amount(resource: &ResourceName, count: u32, machine: &LoadedMachine) -> Placed {
    let known = machine.machine.as_ref().filter(|machine| !machine.devices().is_empty());
    known.map_or(Placed::NotKnown, |machine| plugin_functions::placed(resource, count, machine))
}

/// What is taken to hold of devices that a node's amounts count; `None`: nothing.
fn taken_of_amount(entry: &DeviceEntry, machine: &LoadedMachine) -> Option<String> {
    const NOWHERE: &str = "its devices are taken as near no NUMA node";
    let DeviceSource::Amount(count) = entry.source else { return None };
    match of_amount(&entry.resource, count, machine) {
        Placed::NotKnown => {
            Some(format!("{NOWHERE}: amounts of a node do not tell that, and `perNode` does"))
        }
        Placed::Nowhere => None,
        Placed::Functions { devices, .. } if devices.is_empty() => None,
        Placed::Functions { devices, what } => {
            let devices = if devices.len() == 1 { "device is" } else { "devices are" };
            Some(format!(
                "its {devices} taken as {what}, each on the NUMA node of its function; `perNode` tells another place"
            ))
        }
        Placed::Differs(why) => Some(format!("{NOWHERE}: {why}; `perNode` tells where they are")),
    }
}

/// That GPUs are taken as whole where a plugin is configured to list partitions; `None`: it is not.
fn not_partitioned(entry: &DeviceEntry, machine: &LoadedMachine) -> Option<String> {
    let DeviceSource::Gpus { partitions: MigStrategy::Single | MigStrategy::Mixed, .. } = entry.source else {
        return None;
    };
    let whole = "no GPU is taken as partitioned (MIG), which a machine's description does not tell";
    let resources = machine.machine.as_ref().map(plugin_functions::mig_resources).unwrap_or_default();
    let called = match entry.source {
        DeviceSource::Gpus { partitions: MigStrategy::Mixed, .. } if !resources.is_empty() => {
            format!(": partitions would be called {}", resources.join(", "))
        }
        _ => String::new(),
    };
    Some(format!("{whole}{called}; a Node object in the place of this file counts them"))
}

/// A device near CPUs: on the NUMA nodes that have some of them.
fn near(id: &str, cpus: &CpuSet, machine: &LoadedMachine) -> Device {
    let nodes = machine.info.topology.iter().flatten().filter(|node| {
        let mut threads = node.cores.iter().flatten().flat_map(|core| core.thread_ids.iter().flatten());
        threads.any(|id| {
            let cpu = usize::try_from(*id).ok().and_then(|id| CpuId::new(id).ok());
            cpu.is_some_and(|cpu| cpus.contains(cpu))
        })
    });
    Device::new(id, &nodes.map(|node| node.id).collect::<Vec<_>>())
}

/// The function at an address.
fn at(address: &str, machine: &Machine, file: &str, name: &str) -> anyhow::Result<Device> {
    let parsed: PciAddress = address.parse().with_context(|| format!("{file}: {address:?}"))?;
    let Some(function) = machine.device(parsed) else {
        bail!("{file} is of another node than {name}, which has no PCI function {address}");
    };
    let node: Vec<i64> = function.node.reported().map(|id| id.0).into_iter().collect();
    Ok(Device::new(&parsed.to_string(), &node))
}

/// Each GPU of NVIDIA, so many times; more than once with a number behind its address, as the plugin has it behind a UUID.
fn gpus(replicas: u32, machine: &Machine, none: impl FnOnce() -> String) -> anyhow::Result<Vec<Device>> {
    const NVIDIA: u16 = 0x10de;
    let is_gpu =
        |device: &&PciDevice| device.vendor == Some(NVIDIA) && matches!(device.class >> 8, 0x0300 | 0x0302);
    let mut devices = Vec::new();
    for gpu in machine.devices().iter().filter(is_gpu) {
        let node: Vec<i64> = gpu.node.reported().map(|id| id.0).into_iter().collect();
        let id =
            |at: u32| if replicas == 1 { gpu.address.to_string() } else { format!("{}::{at}", gpu.address) };
        devices.extend((0..replicas).map(|at| Device::new(&id(at), &node)));
    }
    if devices.is_empty() {
        bail!(none());
    }
    Ok(devices)
}

/// Whether drivers of network cards and accelerators were recorded.
fn has_drivers(machine: &Machine) -> bool {
    machine.devices().iter().any(|device| !device.is_bridge() && device.driver.is_some())
}

/// Whether names of network interfaces were recorded.
fn has_names(machine: &Machine) -> bool {
    machine.devices().iter().any(|device| device.class >> 16 == 0x02 && !device.kernel_names.is_empty())
}

impl LoadedMachine {
    /// The machine's PCI functions are known of this.
    fn hardware(&self, file: &str, resource: &ResourceName) -> anyhow::Result<&Machine> {
        let Some(machine) = &self.machine else {
            bail!(
                "{file}: {resource} is selected by PCI numbers, and {} says nothing about PCI devices",
                self.name
            );
        };
        Ok(machine)
    }
}

impl LoadedMachine {
    /// Devices that a plugin lists without a NUMA node, though the kernel has one for their PCI functions; `addresses` has
    /// those whose ids are none.
    pub(crate) fn without_nodes(
        &self,
        resource: &ResourceName,
        devices: &[Device],
        addresses: &BTreeMap<DeviceId, PciAddress>,
    ) -> Option<Notice> {
        let machine = self.machine.as_ref().filter(|machine| machine.nodes().len() > 1)?;
        let near = devices.iter().filter(|device| device.topology.ids().is_empty()).filter_map(|device| {
            let address = addresses.get(&device.id).copied().or_else(|| device.id.as_str().parse().ok())?;
            let node = machine.device(address)?.node.reported()?;
            Some(format!("{address} on NUMA {node}"))
        });
        let near: Vec<String> = near.collect();
        let first = near.first()?;
        let (count, more) = match near.len() {
            1 => ("1 device".to_owned(), String::new()),
            many => (format!("{many} devices"), " the first of them".to_owned()),
        };
        let comma = if more.is_empty() { "" } else { "," };
        Some(Notice::warning(format!(
            "{resource}: the plugin lists {count} without a NUMA node, and the kernel has one, {first}{comma}{more}: the kubelet \
             aligns nothing with them, so CPUs and memory of a pod may be on another NUMA node than its devices"
        )))
    }
}

/// The functions that a pool takes of those that no pool before it has.
fn pool(pool: &FunctionPool, machine: &Machine, pooled: &mut BTreeSet<PciAddress>) -> Vec<Device> {
    let (has_names, has_drivers) = (has_names(machine), has_drivers(machine));
    let mut devices = Vec::new();
    for function in machine.devices() {
        let address = function.address.to_string();
        let card = match &function.sriov {
            Sriov::Virtual(card) => card.to_string(),
            Sriov::None | Sriov::Physical(_) => String::new(),
        };
        let facts = FunctionFacts {
            address: &address,
            class: function.class,
            vendor: function.vendor,
            device: function.device,
            part: part(function, machine, &card),
            card_names: has_names.then(|| card_names(function, machine)),
            driver: has_drivers.then(|| function.driver.as_deref().unwrap_or_default()),
        };
        if pool.takes(&facts) && pooled.insert(function.address) {
            let node = function.node.reported().filter(|_| pool.nodes() == ReportedNodes::Reported);
            let nodes: Vec<i64> = node.map(|id| id.0).into_iter().collect();
            devices.push(Device::new(&address, &nodes));
        }
    }
    devices
}

/// What the kernel calls the interfaces of the card that a function is of.
fn card_names<'m>(function: &'m PciDevice, machine: &'m Machine) -> &'m [String] {
    let card = match function.sriov {
        Sriov::Virtual(card) => machine.device(card).unwrap_or(function),
        Sriov::None | Sriov::Physical(_) => function,
    };
    &card.kernel_names
}

/// `card` is the address of the card that a virtual function is of.
fn part<'a>(function: &PciDevice, machine: &Machine, card: &'a str) -> FunctionPart<'a> {
    match &function.sriov {
        Sriov::None => FunctionPart::Whole,
        Sriov::Physical(functions) if functions.is_empty() => FunctionPart::Whole,
        Sriov::Physical(_) => FunctionPart::Shared,
        Sriov::Virtual(physical) => {
            // Ascending addresses are ascending numbers.
            let number = machine.device(*physical).and_then(|device| match &device.sriov {
                Sriov::Physical(functions) => functions.iter().position(|own| *own == function.address),
                Sriov::None | Sriov::Virtual(_) => None,
            });
            FunctionPart::Virtual { of: card, number: number.unwrap_or_default() }
        }
    }
}

/// The functions that match, named by their address as a plugin names them.
fn pci(
    selector: &PciSelector,
    machine: &Machine,
    none: impl FnOnce() -> String,
) -> anyhow::Result<Vec<Device>> {
    let matching = machine.devices().iter().filter(|function| {
        // A selector by number does not match a function whose numbers are not known.
        let numbers = function.vendor.zip(function.device);
        numbers.is_some_and(|(vendor, device)| selector.matches(function.class, vendor, device))
    });
    let devices: Vec<Device> = matching
        .map(|function| {
            let node: Vec<i64> = function.node.id().map(|id| id.0).into_iter().collect();
            Device::new(&function.address.to_string(), &node)
        })
        .collect();
    if devices.is_empty() {
        bail!(none());
    }
    Ok(devices)
}

/// An entry of a file of devices from `RESOURCE=VENDOR:DEVICE:CLASS`, the parts of a function as `lspci -d` takes them:
/// hexadecimal, and empty where any will do.
fn selected(selection: &str) -> anyhow::Result<String> {
    let parsed = || {
        let (resource, function) = selection.split_once('=')?;
        let parts: Vec<&str> = function.split(':').collect();
        let is_hex = |part: &&str| part.chars().all(|digit| digit.is_ascii_hexdigit());
        let is_function = (2..=3).contains(&parts.len()) && parts.iter().all(is_hex);
        let is_any = parts.iter().all(|part| part.is_empty());
        (is_function && !is_any && !resource.is_empty()).then_some((resource, parts))
    };
    let Some((resource, parts)) = parsed() else {
        bail!(
            "--device {selection:?}: expected RESOURCE=VENDOR:DEVICE:CLASS in hexadecimal as lspci -d takes it, such as \
             nvidia.com/gpu=10de::0302"
        );
    };
    let fields = ["vendor", "device", "class"].iter().zip(parts).filter(|(_, part)| !part.is_empty());
    let fields = fields.map(|(name, part)| format!("{name}: {part:?}")).collect::<Vec<_>>().join(", ");
    Ok(format!("- resource: {resource:?}\n  pci: {{{fields}}}\n"))
}

#[cfg(test)]
mod tests {
    use topology_model::KubeletView;

    use super::*;

    const POOLS: &str = r#"{"resourceList": [
        {"resourceName": "kernel", "selectors": {"vendors": ["8086"], "drivers": ["iavf"]}},
        {"resourceName": "dpdk", "selectors": {"vendors": ["8086"], "drivers": ["vfio-pci"]}}]}"#;

    /// Four virtual functions as `lspci -nn` lists them, with `-k` those that are bound to a driver.
    fn machine(drivers: [&str; 4]) -> LoadedMachine {
        let driver = |own: &str| {
            if own.is_empty() { String::new() } else { format!("\tKernel driver in use: {own}\n") }
        };
        let functions = drivers.iter().zip(0..).map(|(own, at)| {
            format!(
                "18:01.{at} Ethernet controller [0200]: Intel [8086:1889]\n\tNUMA node: 0\n{}",
                driver(own)
            )
        });
        let text = format!(
            "{}available: 1 nodes (0)\nnode 0 cpus: 0 1\nnode 0 size: 900 MB\n",
            functions.collect::<String>()
        );
        LoadedMachine::of_texts("m", &[("lspci.txt", text.as_bytes())]).unwrap()
    }

    fn counts(machine: &LoadedMachine) -> (Vec<(String, usize)>, Vec<String>) {
        let text = DeviceText { name: "pools.json".to_owned(), text: POOLS.as_bytes().to_vec() };
        let view = KubeletView::new(&machine.info).unwrap();
        let devices = text.devices(machine, view.nodes()).unwrap();
        let counts = devices.into_iter().map(|(resource, devices)| (resource.to_string(), devices.len()));
        let mut notices = text.not_judged(machine).unwrap();
        notices.extend(text.empty_pools(machine, view.nodes()).unwrap());
        (counts.collect(), notices.into_iter().map(|notice| notice.text).collect())
    }

    #[test]
    fn pools_by_driver_are_judged_where_drivers_are_known_and_contradict_each_other_where_not() {
        let (found, notices) = counts(&machine(["iavf", "vfio-pci", "vfio-pci", ""]));
        assert_eq!(found, [("intel.com/kernel".to_owned(), 1), ("intel.com/dpdk".to_owned(), 2)]);
        assert_eq!(notices, Vec::<String>::new());
        let (found, notices) = counts(&machine([""; 4]));
        assert_eq!(found, [("intel.com/kernel".to_owned(), 4)]);
        assert_eq!(
            notices,
            [
                "pools.json: intel.com/kernel is selected by drivers \"iavf\", which a machine's description does not tell: taken to hold",
                "pools.json: intel.com/dpdk is selected by drivers \"vfio-pci\", which a machine's description does not tell: taken to hold",
                "pools.json: intel.com/dpdk gets no devices, since intel.com/kernel before it selects them too, and which of them differ by drivers is not known: a `list` of `devices:` says whose they are",
            ]
        );
    }
}
