//! What a kubelet answers at its podresources socket, as JSON: `List`, `Get` and `GetAllocatableResources`.
//!
//! ```json
//! {"devices": [{"resourceName": "nvidia.com/gpu", "deviceIds": ["gpu-0"], "topology": {"nodes": [{"ID": "1"}]}}],
//!  "cpuIds": ["2", "3"], "memory": [{"memoryType": "memory", "size": "1024", "topology": {"nodes": [{}]}}]}
//! ```
//!
//! Tools print the same message in several ways, and all are read: fields in camel case or with underscores, 64-bit
//! numbers as text or bare. What is zero is left out, so `{}` in a list of nodes is node 0. Unknown fields are later
//! kubelets', and no mistake.

use cpuset::{CpuId, CpuSet};
use pod_spec::{ContainerName, ResourceName};

use crate::names::{check_name, check_namespace, is_resource};
use crate::node::Field;
use crate::yaml::{RepeatedKey, documents};
use crate::{ManifestError, Problem, Source};

/// The highest id of a NUMA node that the kernel gives (`MAX_NUMNODES` is at most 1024).
pub(crate) const MAX_NODE_ID: u32 = 1023;
pub(crate) const NODE_ID: &str = "the id of a NUMA node, 0 to 1023";

/// All answers of a text together.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PodResourcesRead {
    /// What can be given out, taken or not; `None`: `GetAllocatableResources` was not asked.
    pub allocatable: Option<NodeHoldings>,
    /// What pods hold, in order; those of `List` and of each `Get`.
    pub pods: Vec<PodHoldings>,
}

/// A pod and what its containers hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PodHoldings {
    /// `namespace` of the answer.
    pub namespace: String,
    /// Its name; the answer has no UID.
    pub name: String,
    /// Its containers, in order.
    pub containers: Vec<(ContainerName, NodeHoldings)>,
}

/// Parts of a node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NodeHoldings {
    /// Devices, in order; one on several nodes has several entries.
    pub devices: Vec<DeviceGroup>,
    /// Exclusive CPUs.
    pub cpus: CpuSet,
    /// Memory and huge pages.
    pub memory: Vec<MemoryGroup>,
}

/// Devices of a resource on the same nodes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeviceGroup {
    /// Their resource.
    pub resource: ResourceName,
    /// Device ids as the plugin listed them.
    pub ids: Vec<String>,
    /// Ids of the NUMA nodes; empty if the answer names none.
    pub nodes: Vec<u32>,
}

/// Memory of a type on nodes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemoryGroup {
    /// `memory`, or huge pages of a size.
    pub memory_type: ResourceName,
    /// How much, in bytes.
    pub bytes: u64,
    /// Ids of the NUMA nodes, together.
    pub nodes: Vec<u32>,
}

/// Reads one or many answers, after each other, as JSON (or YAML) of at most 1 MiB.
///
/// # Errors
/// The first thing that is wrong, with its place.
pub fn read_pod_resources(source: &Source<'_>) -> Result<PodResourcesRead, ManifestError> {
    let mut read = PodResourcesRead::default();
    for node in &documents(source, RepeatedKey::Refused)? {
        read.add(&Field::document(source, node))?;
    }
    Ok(read)
}

/// Whether a document is such an answer: no other that is read here has these fields.
pub(crate) fn is_answer(document: &Field<'_>) -> Result<bool, ManifestError> {
    if either(document, "podResources", "pod_resources")?.is_some()
        || either(document, "cpuIds", "cpu_ids")?.is_some()
        || document.get("memory")?.is_some()
    {
        return Ok(true);
    }
    let devices = document.get("devices")?.and_then(|devices| devices.items().ok()).unwrap_or_default();
    Ok(devices
        .first()
        .is_some_and(|first| either(first, "resourceName", "resource_name").is_ok_and(|name| name.is_some())))
}

impl PodResourcesRead {
    pub(crate) fn add(&mut self, document: &Field<'_>) -> Result<(), ManifestError> {
        let Some(pods) = either(document, "podResources", "pod_resources")? else {
            let more = holdings(document)?;
            let all = self.allocatable.get_or_insert_default();
            all.devices.extend(more.devices);
            all.cpus |= &more.cpus;
            all.memory.extend(more.memory);
            return Ok(());
        };
        // `Get` answers with one pod and no list.
        let pods = if pods.is_mapping() { vec![pods] } else { pods.items()? };
        for pod in pods {
            self.pods.push(read_pod(&pod)?);
        }
        Ok(())
    }
}

fn read_pod(pod: &Field<'_>) -> Result<PodHoldings, ManifestError> {
    let name = check_name(&pod.require("name", "the pod's name")?)?.to_owned();
    let namespace = check_namespace(&pod.require("namespace", "the pod's namespace")?)?.to_owned();
    let mut containers = Vec::new();
    for container in list(pod, "containers", "containers")? {
        let name = container.require("name", "the container's name")?;
        containers.push((ContainerName::new(check_name(&name)?), holdings(&container)?));
    }
    Ok(PodHoldings { namespace, name, containers })
}

fn holdings(field: &Field<'_>) -> Result<NodeHoldings, ManifestError> {
    const CPU: &str = "the id of a CPU";
    let mut read = NodeHoldings::default();
    for devices in list(field, "devices", "devices")? {
        read.devices.push(read_devices_on(&devices)?);
    }
    for cpu in list(field, "cpuIds", "cpu_ids")? {
        let id: i64 = number(&cpu, CPU)?;
        read.cpus.insert(CpuId::try_from(id).map_err(|_| out_of_range(&cpu, id, CPU))?);
    }
    for memory in list(field, "memory", "memory")? {
        const TYPE: &str = "memory, or a resource such as hugepages-1Gi";
        let name = either(&memory, "memoryType", "memory_type")?;
        let name =
            name.ok_or_else(|| memory.fail(Problem::Missing { field: "memoryType", expected: TYPE }))?;
        let size = memory.get("size")?;
        read.memory.push(MemoryGroup {
            memory_type: resource(&name, TYPE)?,
            bytes: size.map_or(Ok(0), |size| number(&size, "a number of bytes"))?,
            nodes: nodes(&memory)?,
        });
    }
    Ok(read)
}

fn read_devices_on(field: &Field<'_>) -> Result<DeviceGroup, ManifestError> {
    const NAME: &str = "the name of a resource such as nvidia.com/gpu";
    const ID: &str = "the device's id as text";
    let name = either(field, "resourceName", "resource_name")?;
    let name = name.ok_or_else(|| field.fail(Problem::Missing { field: "resourceName", expected: NAME }))?;
    let mut ids = Vec::new();
    for id in list(field, "deviceIds", "device_ids")? {
        let text = id.text(ID)?;
        if text.is_empty() || text.chars().any(char::is_control) {
            return Err(id.unexpected(ID));
        }
        ids.push(text.to_owned());
    }
    Ok(DeviceGroup { resource: resource(&name, NAME)?, ids, nodes: nodes(field)? })
}

fn resource(field: &Field<'_>, expected: &'static str) -> Result<ResourceName, ManifestError> {
    let name = field.text(expected)?;
    if is_resource(name) { Ok(ResourceName::new(name)) } else { Err(field.unexpected(expected)) }
}

fn nodes(field: &Field<'_>) -> Result<Vec<u32>, ManifestError> {
    let Some(topology) = field.get("topology")? else { return Ok(Vec::new()) };
    let mut ids = Vec::new();
    for node in list(&topology, "nodes", "nodes")? {
        let id = match either(&node, "ID", "id")? {
            None => 0,
            Some(field) => {
                let id: u32 = number(&field, NODE_ID)?;
                if id > MAX_NODE_ID {
                    return Err(out_of_range(&field, id.into(), NODE_ID));
                }
                id
            }
        };
        ids.push(id);
    }
    Ok(ids)
}

fn out_of_range(field: &Field<'_>, id: i64, expected: &'static str) -> ManifestError {
    field.fail(Problem::Range { found: id.to_string(), expected })
}

fn list<'a>(field: &Field<'a>, camel: &str, snake: &str) -> Result<Vec<Field<'a>>, ManifestError> {
    either(field, camel, snake)?.map_or(Ok(Vec::new()), |list| list.items())
}

fn either<'a>(field: &Field<'a>, camel: &str, snake: &str) -> Result<Option<Field<'a>>, ManifestError> {
    Ok(match field.get(camel)? {
        Some(value) => Some(value),
        None => field.get(snake)?,
    })
}

/// A number, as text or bare.
fn number<T: core::str::FromStr>(field: &Field<'_>, expected: &'static str) -> Result<T, ManifestError> {
    field.scalar(expected)?.parse().map_err(|_| field.unexpected(expected))
}
