//! A published object, read back: what each NUMA node has, and by which policies its kubelet decides.
//!
//! Exporters differ in what they publish. What an object does not have is not known, and never zero.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use k8s_quantity::Quantity;
use node_config::{KubeletConfiguration, Scope};
use pod_spec::ResourceName;
use thiserror::Error;
use topology_model::NodeId;
use topology_policy::KubeletPolicy;

use crate::object::{NodeResourceTopology, Resource, Zone};

/// What a NUMA node has of a resource: whole CPUs, bytes or devices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ZoneAmount {
    /// What pods may hold.
    pub allocatable: u64,
    /// What no pod holds.
    pub available: u64,
}

/// The NUMA nodes of an object, in ascending order of id, with what each publishes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ZoneAmounts(BTreeMap<NodeId, BTreeMap<ResourceName, ZoneAmount>>);

/// An object from which no amounts can be read.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum UnreadableZones {
    /// It has no zone of type `Node`.
    #[error("it has no zone of type Node")]
    None,
    /// A zone is not called `node-NUMBER`, so its NUMA node is unknown.
    #[error("zone {0} is not called node-NUMBER")]
    Name(String),
    /// An amount is no quantity, or below zero.
    #[error("zone {zone} has {amount} of {resource}, which is no amount")]
    Amount {
        /// Which zone.
        zone: String,
        /// Which resource.
        resource: String,
        /// What it has instead of an amount.
        amount: String,
    },
}

/// By what a kubelet decides, as far as an object says it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PublishedPolicies {
    /// The Topology Manager's policy.
    pub policy: Option<KubeletPolicy>,
    /// The Topology Manager's scope.
    pub scope: Option<Scope>,
    /// Whether containers are given exclusive CPUs.
    pub cpus: Option<Allocates>,
    /// Whether containers are given memory of NUMA nodes.
    pub memory: Option<Allocates>,
}

/// Whether a manager allocates by NUMA node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Allocates {
    /// Its policy is `static`.
    Statically,
    /// Its policy is `none`.
    Nothing,
}

impl Allocates {
    /// `None`: no kubelet has a policy of that name.
    fn under(policy: &str) -> Option<Self> {
        match policy {
            "static" | "Static" => Some(Self::Statically),
            "none" | "None" => Some(Self::Nothing),
            _ => None,
        }
    }
}

impl NodeResourceTopology {
    /// What each NUMA node has. Zones of other types are left out.
    ///
    /// # Errors
    /// It has no NUMA node, or one that cannot be read.
    pub fn amounts(&self) -> Result<ZoneAmounts, UnreadableZones> {
        let zones = self.zones.iter().filter(|zone| zone.kind == "Node");
        let read =
            zones.map(|zone| Ok((id(zone)?, of_zone(zone)?))).collect::<Result<BTreeMap<_, _>, _>>()?;
        if read.is_empty() { Err(UnreadableZones::None) } else { Ok(ZoneAmounts(read)) }
    }

    /// What it says of the kubelet's policies: its attributes, else the deprecated `topologyPolicies`.
    #[must_use]
    pub fn policies(&self) -> PublishedPolicies {
        let attribute = |name: &str| {
            let found = self.attributes.iter().find(|attribute| attribute.name == name);
            found.map(|attribute| attribute.value.as_str())
        };
        let allocates = |name: &str| attribute(name).and_then(Allocates::under);
        let (policy, scope) = self.topology_policies.first().and_then(|word| in_one_word(word)).unzip();
        PublishedPolicies {
            policy: attribute("topologyManagerPolicy").and_then(policy_named).or(policy),
            scope: attribute("topologyManagerScope").and_then(Scope::from_name).or(scope),
            cpus: allocates("cpuManagerPolicy"),
            memory: allocates("memoryManagerPolicy"),
        }
    }
}

impl From<&KubeletConfiguration> for PublishedPolicies {
    fn from(config: &KubeletConfiguration) -> Self {
        let scope = config.topology_manager_scope.as_deref().filter(|scope| !scope.is_empty());
        Self {
            policy: policy_named(config.topology_policy()),
            scope: scope.map_or(Some(Scope::Container), Scope::from_name),
            cpus: Allocates::under(config.cpu_policy()),
            memory: Allocates::under(config.memory_policy()),
        }
    }
}

/// The Topology Manager policy of that name.
fn policy_named(name: &str) -> Option<KubeletPolicy> {
    let all = [
        KubeletPolicy::None,
        KubeletPolicy::BestEffort,
        KubeletPolicy::Restricted,
        KubeletPolicy::SingleNumaNode,
    ];
    all.into_iter().find(|policy| policy.name() == name)
}

/// Policy and scope in one word, as `topologyPolicies` has them.
fn in_one_word(word: &str) -> Option<(KubeletPolicy, Scope)> {
    let (policy, scope) = match word.strip_suffix("PodLevel") {
        Some(policy) => (policy, Scope::Pod),
        None => (word.strip_suffix("ContainerLevel").unwrap_or(word), Scope::Container),
    };
    let policy = match policy {
        "None" => KubeletPolicy::None,
        "BestEffort" => KubeletPolicy::BestEffort,
        "Restricted" => KubeletPolicy::Restricted,
        "SingleNUMANode" => KubeletPolicy::SingleNumaNode,
        _ => return None,
    };
    Some((policy, scope))
}

fn id(zone: &Zone) -> Result<NodeId, UnreadableZones> {
    let number = zone.name.strip_prefix("node-").and_then(|number| number.parse().ok());
    number.map(NodeId).ok_or_else(|| UnreadableZones::Name(zone.name.clone()))
}

fn of_zone(zone: &Zone) -> Result<BTreeMap<ResourceName, ZoneAmount>, UnreadableZones> {
    let of_resource = |resource: &Resource| {
        let amount = |text: &String| {
            let whole = text.parse::<Quantity>().ok().and_then(|amount| u64::try_from(amount.value()).ok());
            whole.ok_or_else(|| UnreadableZones::Amount {
                zone: zone.name.clone(),
                resource: resource.name.clone(),
                amount: text.clone(),
            })
        };
        let (allocatable, available) = (amount(&resource.allocatable)?, amount(&resource.available)?);
        Ok((ResourceName::new(&resource.name), ZoneAmount { allocatable, available }))
    };
    zone.resources.iter().map(of_resource).collect()
}

impl ZoneAmounts {
    /// The NUMA nodes, in ascending order.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> {
        self.0.keys().copied()
    }

    /// Every resource that some NUMA node publishes, by name.
    #[must_use]
    pub fn resources(&self) -> BTreeSet<&ResourceName> {
        self.0.values().flat_map(BTreeMap::keys).collect()
    }

    /// What each NUMA node has of a resource; `None`: it does not publish it.
    pub fn of<'a>(
        &'a self,
        resource: &'a ResourceName,
    ) -> impl Iterator<Item = (NodeId, Option<ZoneAmount>)> {
        self.0.iter().map(|(id, zone)| (*id, zone.get(resource).copied()))
    }

    /// Whether any NUMA node publishes it.
    #[must_use]
    pub fn publishes(&self, resource: &ResourceName) -> bool {
        self.0.values().any(|zone| zone.contains_key(resource))
    }

    /// The NUMA nodes for which something holds of what they have.
    pub(crate) fn nodes_where(
        &self,
        holds: impl Fn(&BTreeMap<ResourceName, ZoneAmount>) -> bool,
    ) -> Vec<NodeId> {
        self.0.iter().filter(|(_, zone)| holds(zone)).map(|(id, _)| *id).collect()
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::*;

    fn object(json: &str) -> NodeResourceTopology {
        let head = r#"{"apiVersion":"topology.node.k8s.io/v1alpha2","kind":"NodeResourceTopology",
            "metadata":{"name":"worker-1"},"#;
        serde_json::from_str(&alloc::format!("{head}{json}}}")).unwrap()
    }

    #[test]
    fn what_is_not_published_is_not_zero() {
        let published = object(
            r#""zones":[{"name":"node-0","type":"Node","resources":[
                {"name":"cpu","capacity":"48","allocatable":"46","available":"4"},
                {"name":"memory","capacity":"64Gi","allocatable":"63Gi","available":"1536Mi"}]},
               {"name":"node-1","type":"Node","resources":[
                {"name":"cpu","capacity":"48","allocatable":"46","available":"46"}]},
               {"name":"socket-0","type":"Socket"}]"#,
        );
        let amounts = published.amounts().unwrap();
        assert_eq!(amounts.nodes().collect::<Vec<_>>(), [NodeId(0), NodeId(1)]);
        let free = |name: &str| {
            let name = ResourceName::new(name);
            amounts.of(&name).map(|(_, own)| own.map(|own| own.available)).collect::<Vec<_>>()
        };
        assert_eq!(free("cpu"), [Some(4), Some(46)]);
        assert_eq!(free("memory"), [Some(1536 << 20), None]);
        assert!(!amounts.publishes(&ResourceName::new("example.com/gpu")));
    }

    #[test]
    fn an_object_that_cannot_be_read_says_which_zone() {
        let zone = |name: &str, amount: &str| {
            object(&alloc::format!(
                r#""zones":[{{"name":"{name}","type":"Node","resources":[
                    {{"name":"cpu","capacity":"4","allocatable":"4","available":"{amount}"}}]}}]"#
            ))
        };
        let said = |object: &NodeResourceTopology| object.amounts().unwrap_err().to_string();
        assert_eq!(said(&zone("numa0", "4")), "zone numa0 is not called node-NUMBER");
        assert_eq!(said(&zone("node-0", "-1")), "zone node-0 has -1 of cpu, which is no amount");
        assert_eq!(said(&zone("node-0", "many")), "zone node-0 has many of cpu, which is no amount");
        assert_eq!(said(&object(r#""zones":[]"#)), "it has no zone of type Node");
    }

    #[test]
    fn policies_are_read_in_their_old_and_new_form() {
        let old = object(r#""zones":[],"topologyPolicies":["SingleNUMANodePodLevel"]"#).policies();
        assert_eq!((old.policy, old.scope), (Some(KubeletPolicy::SingleNumaNode), Some(Scope::Pod)));
        let new = object(
            r#""zones":[],"topologyPolicies":["None"],"attributes":[
                {"name":"topologyManagerPolicy","value":"restricted"},
                {"name":"topologyManagerScope","value":"container"},
                {"name":"cpuManagerPolicy","value":"static"}]"#,
        )
        .policies();
        let expected = PublishedPolicies {
            policy: Some(KubeletPolicy::Restricted),
            scope: Some(Scope::Container),
            cpus: Some(Allocates::Statically),
            memory: None,
        };
        assert_eq!(new, expected);
        let config = KubeletConfiguration {
            cpu_manager_policy: Some("static".into()),
            topology_manager_policy: Some("restricted".into()),
            ..KubeletConfiguration::default()
        };
        let own = PublishedPolicies { memory: Some(Allocates::Nothing), ..expected };
        assert_eq!(PublishedPolicies::from(&config), own);
        let unknown = object(r#""zones":[],"topologyPolicies":["Sideways"]"#);
        assert_eq!(unknown.policies(), PublishedPolicies::default());
    }
}
