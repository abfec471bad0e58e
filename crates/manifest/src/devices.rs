//! Device inventories: which devices a node has, where no plugin tells.
//!
//! ```yaml
//! devices:
//! - resource: example.com/card        # each device by name
//!   list:
//!   - {id: card-0, nodes: [0]}
//!   - {id: card-1, nodes: [1], unhealthy: true}
//!   - {id: card-2, nodes: [1], pci: "0000:86:00.0"}
//! - resource: example.com/accelerator # so many on each NUMA node
//!   perNode: {0: 4, 1: 4}
//! - resource: intel.com/sriov_vf      # what the machine has of it
//!   pci: {class: "0200", vendor: "8086", device: "1889"}
//! ```
//!
//! It is the project's own format, so unlike in Kubernetes' an unknown field is an error. Formats of others say the same and are read
//! too: what a kubelet answers at its podresources socket; the configurations of the SR-IOV network device plugin and of NVIDIA's
//! plugin, alone or in the `ConfigMap` that they are kept in, and of the generic device plugin; policies and states of the SR-IOV network operator; a Node object or
//! its amounts; a `NodeResourceTopology`; the matrix of `nvidia-smi`; and what `rocm-smi --showtoponuma` prints.

mod amounts;
mod entry;
mod generic_plugin;
mod matrix;
mod nvidia_plugin;
mod rocm_topology;
mod sriov_operator;

use std::collections::{BTreeMap, BTreeSet};

use pod_spec::ResourceName;

use crate::names::is_resource;
use crate::node::{Field, MapEntry, Value, known_fields};
use crate::pci_selector::read_selector;
use crate::pod_resources::{MAX_NODE_ID, NODE_ID};
use crate::yaml::{RepeatedKey, documents};
use crate::{ManifestError, PodResourcesRead, Problem, Source, function_pool, pod_resources};
use entry::MAX_PER_NODE;

pub use entry::{CardFunctions, DeviceEntry, DeviceHealth, DeviceSource, ListedDevice, MigStrategy};

/// Reads an inventory; entries come in the order in which they are written. See the module's example for the format.
///
/// # Errors
/// The first thing that is wrong, with its place.
pub fn read_devices(source: &Source<'_>) -> Result<Vec<DeviceEntry>, ManifestError> {
    if matrix::is_one(source.text) {
        return matrix::read(source);
    }
    if rocm_topology::is_one(source.text) {
        return Ok(rocm_topology::read(source));
    }
    let mut read = Inventory::default();
    for node in &documents(source, RepeatedKey::Refused)? {
        read.read_document(&Field::document(source, node))?;
    }
    read.add_answers();
    Ok(read.entries)
}

/// What has been read.
#[derive(Default)]
struct Inventory {
    entries: Vec<DeviceEntry>,
    resources: BTreeSet<ResourceName>,
    answers: PodResourcesRead,
}

impl Inventory {
    fn read_document(&mut self, document: &Field<'_>) -> Result<(), ManifestError> {
        const FIELDS: &str = "the field devices";
        if document.get("resourceList")?.is_some() {
            return self.read_pools(document);
        }
        if document.get("kind")?.is_some() {
            return self.read_object(document);
        }
        if nvidia_plugin::is_one(document)? {
            return self.add(nvidia_plugin::read(document)?, document);
        }
        if amounts::are_amounts(document) {
            return self.add_all(amounts::read(document)?, document);
        }
        if pod_resources::is_answer(document)? {
            return self.answers.add(document);
        }
        if generic_plugin::is_one(document) {
            return self.add_all(generic_plugin::read(document)?, document);
        }
        known_fields(document, &["devices"], FIELDS)?;
        for field in document.require("devices", "a list of resources")?.items()? {
            let entry = read_entry(&field)?;
            let place = field.get("resource")?.unwrap_or(field);
            self.add(entry, &place)?;
        }
        Ok(())
    }

    fn add(&mut self, entry: DeviceEntry, place: &Field<'_>) -> Result<(), ManifestError> {
        if !self.resources.insert(entry.resource.clone()) {
            return Err(place.fail(Problem::DuplicateResource(entry.resource.to_string())));
        }
        self.entries.push(entry);
        Ok(())
    }

    fn add_all(&mut self, entries: Vec<DeviceEntry>, place: &Field<'_>) -> Result<(), ManifestError> {
        entries.into_iter().try_for_each(|entry| self.add(entry, place))
    }

    /// An object of a cluster, or a list of them.
    fn read_object(&mut self, object: &Field<'_>) -> Result<(), ManifestError> {
        const KIND: &str = "kind ConfigMap, SriovNetworkNodePolicy, SriovNetworkNodeState, NodeResourceTopology or Node, or no kind \
                            at all";
        let kind = object.require("kind", KIND)?;
        match kind.text(KIND)? {
            "ConfigMap" => self.read_config_map(object),
            "SriovNetworkNodePolicy" => self.read_policy(object),
            "SriovNetworkNodeState" => self.add_all(sriov_operator::read_state(object)?, object),
            "NodeResourceTopology" => self.add_all(amounts::read_zones(object)?, object),
            "Node" => self.add_all(amounts::read_node(object)?, object),
            list if list == "List" || list.ends_with("List") && object.get("items")?.is_some() => {
                let items = object.get("items")?.map_or(Ok(Vec::new()), |items| items.items())?;
                items.iter().try_for_each(|item| self.read_object(item))
            }
            other => Err(kind.fail(Problem::Kind { found: other.to_owned(), expected: KIND })),
        }
    }

    /// Policies of one resource count together.
    fn read_policy(&mut self, policy: &Field<'_>) -> Result<(), ManifestError> {
        let (resource, cards, assumed) = sriov_operator::read_policy(policy)?;
        let known = self.entries.iter_mut().find(|entry| entry.resource == resource);
        if let Some(DeviceEntry { source: DeviceSource::Functions(all), assumed: own, .. }) = known {
            all.push(cards);
            own.extend(assumed);
            own.sort();
            own.dedup();
            return Ok(());
        }
        let source = DeviceSource::Functions(vec![cards]);
        self.add(DeviceEntry { resource, source, assumed }, policy)
    }

    fn read_pools(&mut self, document: &Field<'_>) -> Result<(), ManifestError> {
        const NAME: &str = "the name of a resource without its domain";
        known_fields(document, &["resourceList"], "the field resourceList")?;
        for field in document.require("resourceList", "a list of resources")?.items()? {
            let source = DeviceSource::Pool(function_pool::read_pool(&field)?);
            let name = field.require("resourceName", NAME)?;
            let prefix = field.get("resourcePrefix")?;
            let prefix = prefix.map_or(Ok(""), |prefix| prefix.text("a domain such as intel.com"))?;
            let prefix = if prefix.is_empty() { DEFAULT_PREFIX } else { prefix };
            let resource = format!("{prefix}/{}", name.text(NAME)?);
            if !is_resource(&resource) {
                return Err(name.unexpected(NAME));
            }
            let resource = ResourceName::new(&resource);
            self.add(DeviceEntry { resource, source, assumed: Vec::new() }, &name)?;
        }
        Ok(())
    }

    /// Every file in a `ConfigMap`; errors name the file and the line in it.
    fn read_config_map(&mut self, document: &Field<'_>) -> Result<(), ManifestError> {
        for file in document.require("data", "the files of the ConfigMap")?.entries()? {
            let name = format!("{} ({})", document.source.name, file.key);
            let source = Source { name: &name, text: file.value.text("the text of a file")? };
            for node in &documents(&source, RepeatedKey::Refused)? {
                let document = Field::document(&source, node);
                if nvidia_plugin::is_one(&document)? {
                    self.add(nvidia_plugin::read(&document)?, &document)?;
                } else {
                    self.read_pools(&document)?;
                }
            }
        }
        Ok(())
    }

    /// The devices of a kubelet's answers. What is held and cannot be given out (any more) is unhealthy.
    fn add_answers(&mut self) {
        let PodResourcesRead { allocatable, pods } = core::mem::take(&mut self.answers);
        let health_of_held =
            if allocatable.is_some() { DeviceHealth::Unhealthy } else { DeviceHealth::Healthy };
        let held = pods.into_iter().flat_map(|pod| pod.containers).flat_map(|(_, held)| held.devices);
        let listed = allocatable.into_iter().flat_map(|all| all.devices);
        let listed = listed.map(|devices| (devices, DeviceHealth::Healthy));
        let mut by_resource: BTreeMap<ResourceName, BTreeMap<String, ListedDevice>> = BTreeMap::new();
        for (devices, health) in listed.chain(held.map(|devices| (devices, health_of_held))) {
            let of_resource = by_resource.entry(devices.resource).or_default();
            for id in devices.ids {
                let new = || ListedDevice { id: id.clone(), nodes: Vec::new(), health, pci: None };
                let device = of_resource.entry(id.clone()).or_insert_with(new);
                device.nodes.extend(&devices.nodes);
                device.nodes.sort_unstable();
                device.nodes.dedup();
            }
        }
        for (resource, devices) in by_resource {
            // Where an inventory lists the resource too, the inventory counts.
            if self.resources.insert(resource.clone()) {
                let source = DeviceSource::Listed(devices.into_values().collect());
                self.entries.push(DeviceEntry { resource, source, assumed: Vec::new() });
            }
        }
    }
}

/// The domain of the SR-IOV network device plugin's resources where none is named.
const DEFAULT_PREFIX: &str = "intel.com";

fn read_entry(field: &Field<'_>) -> Result<DeviceEntry, ManifestError> {
    const ONE_OF: &str = "exactly one of list, perNode and pci";
    const RESOURCE: &str = "the name of a resource such as nvidia.com/gpu";
    known_fields(field, &["resource", "list", "perNode", "pci"], "resource, list, perNode or pci")?;
    let name = field.require("resource", RESOURCE)?;
    let resource = name.text(RESOURCE)?;
    if !is_resource(resource) {
        return Err(name.unexpected(RESOURCE));
    }
    let source = match (field.get("list")?, field.get("perNode")?, field.get("pci")?) {
        (Some(list), None, None) => DeviceSource::Listed(read_list(&list)?),
        (None, Some(counts), None) => DeviceSource::PerNode(read_counts(&counts)?),
        (None, None, Some(selector)) => DeviceSource::Pci(read_selector(&selector)?),
        (None, None, None) => {
            return Err(field.fail(Problem::Missing { field: "list, perNode or pci", expected: ONE_OF }));
        }
        _ => {
            let found = "more than one of them".to_owned();
            return Err(field.fail(Problem::Unexpected { found, expected: ONE_OF }));
        }
    };
    Ok(DeviceEntry { resource: ResourceName::new(resource), source, assumed: Vec::new() })
}

fn read_list(list: &Field<'_>) -> Result<Vec<ListedDevice>, ManifestError> {
    const ID: &str = "the device's id as text";
    let mut devices: Vec<ListedDevice> = Vec::new();
    let mut ids = BTreeSet::new();
    for field in list.items()? {
        known_fields(&field, &["id", "nodes", "unhealthy", "pci"], "id, nodes, unhealthy or pci")?;
        let id_field = field.require("id", ID)?;
        let id = id_field.written(ID)?;
        if id.is_empty() || id.chars().any(char::is_control) {
            return Err(id_field.unexpected(ID));
        }
        if !ids.insert(id) {
            return Err(id_field.fail(Problem::DuplicateDevice(id.to_owned())));
        }
        let nodes = field.get("nodes")?.map_or(Ok(Vec::new()), |nodes| nodes.items())?;
        let nodes = nodes.iter().map(|node| number(node, MAX_NODE_ID, NODE_ID)).collect::<Result<_, _>>()?;
        let health = match field.get("unhealthy")? {
            None => DeviceHealth::Healthy,
            Some(flag) => match flag.node.value {
                Value::Bool(true) => DeviceHealth::Unhealthy,
                Value::Bool(false) => DeviceHealth::Healthy,
                _ => return Err(flag.unexpected("true or false")),
            },
        };
        let pci = field.get("pci")?.map(|pci| pci.text(PCI).map(str::to_owned)).transpose()?;
        devices.push(ListedDevice { id: id.to_owned(), nodes, health, pci });
    }
    Ok(devices)
}

/// What tells where a device sits.
const PCI: &str = "a PCI address such as 0000:3b:00.0";

fn read_counts(counts: &Field<'_>) -> Result<BTreeMap<u32, u32>, ManifestError> {
    let mut by_node = BTreeMap::new();
    for MapEntry { key, key_span, value } in counts.entries()? {
        let Some(node) = key.parse().ok().filter(|&node: &u32| node <= MAX_NODE_ID) else {
            let problem = Problem::Range { found: key.to_owned(), expected: NODE_ID };
            return Err(counts.fail_at(key_span, problem));
        };
        let count = number(&value, MAX_PER_NODE, "a number of devices, 0 to 65536")?;
        if by_node.insert(node, count).is_some() {
            return Err(counts.fail_at(key_span, Problem::DuplicateKey(key.to_owned())));
        }
    }
    Ok(by_node)
}

fn number(field: &Field<'_>, most: u32, expected: &'static str) -> Result<u32, ManifestError> {
    let Value::Number(text) = &field.node.value else { return Err(field.unexpected(expected)) };
    text.parse()
        .ok()
        .filter(|&number| number <= most)
        .ok_or_else(|| field.fail(Problem::Range { found: text.clone(), expected }))
}
