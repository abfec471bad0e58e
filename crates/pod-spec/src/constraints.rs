//! What a pod says of the node on which it may run, and what it takes of it besides resources.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use k8s_quantity::Quantity;

use crate::selector::NodeSelectorTerm;
use crate::{ClaimPlaces, ContainerName, PodClaim, Wishes};

/// What a pod demands of a node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Constraints {
    /// The pod's own label `kubernetes.io/os`.
    pub os_label: Option<String>,
    /// `spec.os.name`.
    pub os: Option<String>,
    /// `spec.nodeName`: the node that it was given to.
    pub node_name: Option<String>,
    /// `spec.nodeSelector`: labels that the node must have.
    pub node_selector: BTreeMap<String, String>,
    /// `spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution`: one of these must hold. `None`
    /// demands nothing, no terms demand what no node has.
    pub node_affinity: Option<Vec<NodeSelectorTerm>>,
    /// Ports of the node that its containers take.
    pub host_ports: Vec<HostPort>,
    /// `spec.tolerations`.
    pub tolerations: Vec<Toleration>,
    /// `spec.priority`; 0 unless set.
    pub priority: i32,
    /// Where the pod comes from.
    pub origin: Origin,
    /// `spec.securityContext.supplementalGroupsPolicy`.
    pub supplemental_groups: SupplementalGroups,
    /// Annotations by which the pod chooses its rules.
    pub wishes: Wishes,
    /// Its claims of devices: `spec.resourceClaims`, and those that only containers name.
    pub claims: Vec<PodClaim>,
    /// Where the devices of its claims are. No field of a manifest: a node sets it where CPUs and memory follow them.
    pub claim_places: ClaimPlaces,
    /// Containers that get CPUs for themselves whatever the QoS class, and the CPU request that each had before
    /// it became its limit. No field of a manifest: a node sets it when it grants a wish.
    pub exclusive: BTreeMap<ContainerName, Option<Quantity>>,
}

/// Priorities from here on are those of critical pods.
const SYSTEM_CRITICAL: i32 = 2_000_000_000;

impl Constraints {
    /// Whether other pods may be preempted for this one.
    #[must_use]
    pub fn is_critical(&self) -> bool {
        self.origin != Origin::ApiServer || self.priority >= SYSTEM_CRITICAL
    }
}

/// Where a pod comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Origin {
    /// An API server.
    #[default]
    ApiServer,
    /// A file or address that the kubelet watches: a static pod.
    Static,
    /// An API server, as the mirror of a static pod.
    Mirror,
}

/// A port of the node.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct HostPort {
    /// Address; `0.0.0.0` is all of them.
    pub address: String,
    /// `TCP`, `UDP` or `SCTP`.
    pub protocol: String,
    /// Number, from 1.
    pub port: u16,
}

const ANY_ADDRESS: &str = "0.0.0.0";

impl HostPort {
    /// Whether two pods cannot both have theirs.
    #[must_use]
    pub fn conflicts_with(&self, other: &Self) -> bool {
        let same_address =
            self.address == other.address || self.address == ANY_ADDRESS || other.address == ANY_ADDRESS;
        self.port == other.port && self.protocol == other.protocol && same_address
    }
}

/// What a container's processes get of supplementary groups.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SupplementalGroups {
    /// Those of the pod and those of the image.
    #[default]
    Merge,
    /// Those of the pod alone; the runtime must know how.
    Strict,
}

/// What a node keeps pods away with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Taint {
    /// Its key.
    pub key: String,
    /// Its value; empty if none.
    pub value: String,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: String,
}

/// What a pod puts up with.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Toleration {
    /// Of this key; empty: of every key.
    pub key: String,
    /// Of which values.
    pub values: Tolerated,
    /// Of this effect; empty: of every effect.
    pub effect: String,
}

/// Which values of a taint are tolerated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Tolerated {
    /// This one.
    Equal(String),
    /// All.
    Exists,
}

impl Default for Tolerated {
    fn default() -> Self {
        Self::Equal(String::new())
    }
}

impl Toleration {
    /// Whether it tolerates the taint.
    #[must_use]
    pub fn tolerates(&self, taint: &Taint) -> bool {
        let same = |own: &str, theirs: &str| own.is_empty() || own == theirs;
        let value = match &self.values {
            Tolerated::Equal(value) => *value == taint.value,
            Tolerated::Exists => true,
        };
        same(&self.effect, &taint.effect) && same(&self.key, &taint.key) && value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_conflict_on_the_same_or_on_all_addresses() {
        let port = |address: &str, protocol: &str, port| HostPort {
            address: address.into(),
            protocol: protocol.into(),
            port,
        };
        let one = port("10.0.0.1", "TCP", 80);
        for (other, conflict) in [
            (port("10.0.0.1", "TCP", 80), true),
            (port("0.0.0.0", "TCP", 80), true),
            (port("10.0.0.2", "TCP", 80), false),
            (port("10.0.0.1", "UDP", 80), false),
            (port("10.0.0.1", "TCP", 81), false),
        ] {
            assert_eq!(one.conflicts_with(&other), conflict, "{other:?}");
            assert_eq!(other.conflicts_with(&one), conflict, "{other:?}");
        }
    }

    #[test]
    fn an_empty_key_or_effect_tolerates_all() {
        let taint = Taint { key: "gpu".into(), value: "only".into(), effect: "NoExecute".into() };
        let toleration =
            |key: &str, values, effect: &str| Toleration { key: key.into(), values, effect: effect.into() };
        for (toleration, tolerates) in [
            (toleration("gpu", Tolerated::Equal("only".into()), "NoExecute"), true),
            (toleration("gpu", Tolerated::Equal("only".into()), ""), true),
            (toleration("gpu", Tolerated::Equal(String::new()), ""), false),
            (toleration("gpu", Tolerated::Exists, "NoSchedule"), false),
            (toleration("", Tolerated::Exists, ""), true),
            (toleration("nic", Tolerated::Exists, ""), false),
        ] {
            assert_eq!(toleration.tolerates(&taint), tolerates, "{toleration:?}");
        }
    }
}
