//! The object of a node, made from its managers and its ledger.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use device_manager::{Endpoint, Health};
use node_config::Scope;
use numa_bitmask::NodeIndex;
use topology_admission::{Node, Rules};
use topology_model::{NodeId, NodeMemory};
use topology_policy::KubeletPolicy;

use crate::facts::NodeFacts;
use crate::fingerprint::{Fingerprint, FingerprintMethod};
use crate::names;
use crate::object::{Attribute, Cost, Metadata, NodeResourceTopology, Resource, Zone};
use crate::placement::Placement;

/// The option of the topology manager that raises the number of NUMA nodes, and that number without it.
const MAX_NODES: &str = "max-allowable-numa-nodes";
const DEFAULT_MAX_NODES: usize = 8;

impl NodeResourceTopology {
    /// The object of the node that its cluster calls `name`. Without a fingerprint the attributes of one are left out.
    pub fn new(name: &str, facts: NodeFacts<'_>, fingerprint: Option<&Fingerprint>) -> Self {
        let mut attributes = facts.attributes();
        let mut metadata = Metadata { name: name.to_owned(), annotations: BTreeMap::new() };
        if let Some(fingerprint) = fingerprint {
            attributes.push(attribute(names::FINGERPRINT, fingerprint.as_str()));
            attributes.push(attribute(names::FINGERPRINT_METHOD, fingerprint.method().name()));
            // Who reads the annotation does not look at the method.
            if fingerprint.method() == FingerprintMethod::All {
                metadata
                    .annotations
                    .insert(names::FINGERPRINT_ANNOTATION.to_owned(), fingerprint.as_str().to_owned());
            }
        }
        let placement = Placement::of(&facts);
        attributes.extend(
            placement.as_ref().map(|placement| attribute(names::PLACEMENT_METADATA, placement.metadata())),
        );
        let nodes = facts.node.nodes().iter();
        Self {
            api_version: "topology.node.k8s.io/v1alpha2".to_owned(),
            kind: "NodeResourceTopology".to_owned(),
            metadata,
            topology_policies: vec![policy_and_scope(facts.node).to_owned()],
            attributes,
            zones: nodes.map(|(index, id)| facts.zone(index, id, placement.as_ref())).collect(),
        }
    }
}

fn attribute(name: &str, value: impl Into<String>) -> Attribute {
    Attribute { name: name.to_owned(), value: value.into() }
}

/// Policy and scope in one word, as `topologyPolicies` has them.
fn policy_and_scope(node: &Node) -> &'static str {
    match (node.policy(), node.scope()) {
        (KubeletPolicy::None, _) => "None",
        (KubeletPolicy::BestEffort, Scope::Container) => "BestEffortContainerLevel",
        (KubeletPolicy::BestEffort, Scope::Pod) => "BestEffortPodLevel",
        (KubeletPolicy::Restricted, Scope::Container) => "RestrictedContainerLevel",
        (KubeletPolicy::Restricted, Scope::Pod) => "RestrictedPodLevel",
        (KubeletPolicy::SingleNumaNode, Scope::Container) => "SingleNUMANodeContainerLevel",
        (KubeletPolicy::SingleNumaNode, Scope::Pod) => "SingleNUMANodePodLevel",
    }
}

fn options(options: &BTreeMap<String, String>) -> Option<String> {
    let shown: Vec<String> = options.iter().map(|(name, value)| format!("{name}={value}")).collect();
    (!shown.is_empty()).then(|| shown.join(","))
}

impl NodeFacts<'_> {
    fn attributes(&self) -> Vec<Attribute> {
        let Self { node, config, .. } = self;
        let mut attributes = vec![
            attribute(names::TOPOLOGY_MANAGER_POLICY, node.policy().name()),
            attribute(names::TOPOLOGY_MANAGER_SCOPE, node.scope().name()),
            attribute(names::TOPOLOGY_MANAGER_MAX_NUMA_NODES, self.max_nodes().to_string()),
        ];
        attributes.extend(
            options(&config.topology_manager_policy_options)
                .map(|options| attribute(names::TOPOLOGY_MANAGER_POLICY_OPTIONS, options)),
        );
        attributes.push(attribute(
            names::CPU_MANAGER_POLICY,
            if node.cpus().is_some() { "static" } else { "none" },
        ));
        attributes.extend(
            options(&config.cpu_manager_policy_options)
                .map(|options| attribute(names::CPU_MANAGER_POLICY_OPTIONS, options)),
        );
        attributes.push(attribute(
            names::MEMORY_MANAGER_POLICY,
            if node.memory().is_some() { "Static" } else { "None" },
        ));
        if node.pod_policy().is_on() {
            attributes.push(attribute(names::POD_POLICY, node.pod_policy().words().join(",")));
            attributes.extend(self.chosen_policies().map(|pods| attribute(names::CHOSEN_POLICIES, pods)));
        }
        attributes.extend(self.late_plugins().map(|late| attribute(names::LATE_PLUGINS, late)));
        attributes
    }

    /// The resources whose plugins are not back yet, where pods wait for them.
    fn late_plugins(&self) -> Option<String> {
        let inventory = self.ledger.inventory();
        let late = inventory.resources().filter(|resource| inventory.late_since(resource).is_some());
        let late: Vec<&str> = late.map(pod_spec::ResourceName::as_str).collect();
        (!late.is_empty() && !self.node.defers_for().is_zero()).then(|| late.join(","))
    }

    /// The running pods for which policy and scope of the node are not true.
    fn chosen_policies(&self) -> Option<String> {
        let chosen = self.ledger.pods().filter_map(|pod| {
            let chosen = self.node.chosen(pod).ok()?;
            if chosen.policy.is_none() && chosen.scope.is_none() {
                return None;
            }
            let Rules { policy, scope } = self.node.rules_of(pod);
            Some(format!("{}/{}={}/{}", pod.namespace, pod.name, policy.name(), scope.name()))
        });
        let mut chosen: Vec<String> = chosen.collect();
        chosen.sort();
        (!chosen.is_empty()).then(|| chosen.join(","))
    }

    /// How many NUMA nodes the topology manager accepts: as many as its option says, and those that there are.
    fn max_nodes(&self) -> usize {
        let option = self.config.topology_manager_policy_options.get(MAX_NODES);
        let limit = option.and_then(|limit| limit.parse().ok()).unwrap_or(DEFAULT_MAX_NODES);
        self.node.nodes().len().max(limit)
    }

    fn zone(&self, index: NodeIndex, id: NodeId, placement: Option<&Placement>) -> Zone {
        let memory = self.view.node_memory().iter().find(|memory| memory.id == id);
        let vector = placement.and_then(|placement| placement.vector(id));
        let vector = vector.map(|vector| attribute(names::PLACEMENT_VECTOR, vector));
        Zone {
            name: zone_name(id),
            kind: "Node".to_owned(),
            costs: memory.map(|memory| self.costs(memory)).unwrap_or_default(),
            attributes: vector
                .into_iter()
                .chain(self.memory_group(index))
                .chain(self.free_cores(id))
                .collect(),
            resources: self.resources(index, id, memory),
        }
    }

    /// A row of distances has one entry for each node, in ascending order of ids.
    fn costs(&self, memory: &NodeMemory) -> Vec<Cost> {
        let row = memory.distances.iter().flatten();
        let cost = |(id, value): (NodeId, &u64)| {
            Some(Cost { name: zone_name(id), value: i64::try_from(*value).ok()? })
        };
        self.node.nodes().ids().zip(row).filter_map(cost).collect()
    }

    /// The group of nodes that memory of containers binds together with this one.
    fn memory_group(&self, index: NodeIndex) -> Option<Attribute> {
        let group = self.ledger.memory()?.group(index).mask();
        let ids: Vec<String> = self.node.nodes().ids_of(group).map(|id| id.to_string()).collect();
        (ids.len() > 1).then(|| attribute(names::MEMORY_GROUP, ids.join(",")))
    }

    /// Cores of which every CPU can become exclusive; nothing where the CPU manager gives none, or a node has none.
    fn free_cores(&self, id: NodeId) -> Option<Attribute> {
        let (policy, held) = self.node.cpus().zip(self.ledger.cpus())?;
        let own = self.view.cpus().cpus_in_node(id)?;
        let free = &policy.available(held) & own;
        let cores = self.view.cpus().cores().filter(|(_, cpus)| cpus.is_subset(&free)).count();
        Some(attribute(names::FREE_CORES, cores.to_string()))
    }

    fn resources(&self, index: NodeIndex, id: NodeId, memory: Option<&NodeMemory>) -> Vec<Resource> {
        let mut resources = Vec::new();
        resources.extend(self.cpus(id));
        match (self.node.memory(), self.ledger.memory()) {
            (Some(policy), Some(held)) => {
                let pods = pod_spec::PodUid::new("");
                for resource in policy.resources().iter().rev() {
                    let own = policy.on_nodes(held, &pods, resource).find(|own| own.node == index);
                    resources.extend(
                        own.and_then(|own| amounts(resource.as_str(), own.total, own.allocatable, own.free)),
                    );
                }
            }
            _ => resources.extend(memory.into_iter().flat_map(unmanaged)),
        }
        resources.extend(self.devices(id));
        resources
    }

    fn cpus(&self, id: NodeId) -> Option<Resource> {
        let own = self.view.cpus().cpus_in_node(id)?;
        let all = own.len() as u64;
        let (allocatable, available) = match (self.node.cpus(), self.ledger.cpus()) {
            (Some(policy), Some(held)) => {
                (own.intersection_len(&policy.allocatable()), own.intersection_len(&policy.available(held)))
            }
            _ => (own.len(), own.len()),
        };
        amounts("cpu", all, allocatable as u64, available as u64)
    }

    /// Devices whose plugin names this node.
    fn devices(&self, id: NodeId) -> Vec<Resource> {
        let inventory = self.ledger.inventory();
        let of_resource = |resource: &pod_spec::ResourceName| {
            let taken = self.ledger.devices().taken(resource);
            let (mut capacity, mut allocatable, mut available) = (0, 0, 0);
            for device in inventory.devices(resource).filter(|device| device.topology.ids().contains(&id)) {
                capacity += 1;
                let healthy = device.health == Health::Healthy;
                allocatable += u64::from(healthy);
                available += u64::from(healthy && !taken.is_some_and(|taken| taken.contains(&device.id)));
            }
            amounts(resource.as_str(), capacity, allocatable, available)
        };
        // Of one that only a checkpoint names the NUMA nodes of most devices are not known.
        let listed =
            |resource: &&pod_spec::ResourceName| inventory.endpoint(resource) != Some(Endpoint::Checkpoint);
        inventory.registered().filter(listed).filter_map(of_resource).collect()
    }
}

fn zone_name(id: NodeId) -> String {
    format!("node-{id}")
}

/// `None` for a resource of which the zone has nothing.
fn amounts(name: &str, capacity: u64, allocatable: u64, available: u64) -> Option<Resource> {
    (capacity > 0).then(|| Resource {
        name: name.to_owned(),
        capacity: capacity.to_string(),
        allocatable: allocatable.to_string(),
        available: available.to_string(),
    })
}

/// All memory and huge pages of a node whose memory no manager allocates.
fn unmanaged(memory: &NodeMemory) -> Vec<Resource> {
    let mut pages_in_all = 0_u64;
    let mut resources = Vec::new();
    for pages in &memory.hugepages {
        let bytes = pages.page_size_kib.saturating_mul(1024).saturating_mul(pages.num_pages);
        pages_in_all = pages_in_all.saturating_add(bytes);
        let name = k8s_quantity::hugepage_resource_name(pages.page_size_kib);
        resources.extend(amounts(&name, bytes, bytes, bytes));
    }
    let left = memory.memory.saturating_sub(pages_in_all);
    resources.splice(0..0, amounts("memory", memory.memory, left, left));
    resources
}
