//! Where the devices of a container's claims lie, beside the CPUs and memory that the managers give it.
//!
//! The kubelet's managers know nothing of claims, so that nothing aligns the two; where topolet decides, an option does. A device is *elsewhere* if its NUMA node is none of
//! those of the container's exclusive CPUs, or none of those of its bound memory; memory of a device, such as that of a GPU of GB200, is
//! a NUMA node too, and memory there is near the device. Where the managers give no CPUs and the CPU driver `dra.cpu` does, its devices
//! are the container's CPUs. A device whose node is not known counts neither as aligned nor as elsewhere, and neither do the devices of
//! a claim that other pods share, as their CPUs can lie elsewhere. Devices with admin access are left out: they are looked at, not used.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use claim_explanation::folded;
use pod_spec::Pod;
use serde::{Serialize, Serializer};
use topology_admission::Node;
use topology_model::{NodeId, NodeIds};
use topology_policy::KubeletPolicy;

use crate::claim_remedy::ClaimRemedy;
use crate::decided_claims::{ClaimedDevice, DecidedClaim, DecidedClaims};
use crate::json;
use crate::words::{and_more, joined};

/// So many pods that share a claim are named.
const MOST_NAMED: usize = 3;

/// A claim of a container, beside its CPUs and memory.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ContainerClaim {
    /// What the pod calls the claim; that of its extended resources is called `extended resources`.
    pub claim: String,
    /// Whether its devices lie where the container's CPUs and memory are.
    pub alignment: Alignment,
    /// The NUMA nodes of its devices, as far as they are known; `None`: of none.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "json::some_text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub device_nodes: Option<NodeIds>,
    /// The NUMA nodes of the container's CPUs, as far as it has exclusive ones; `None`: it has none.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "json::some_text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub cpu_nodes: Option<NodeIds>,
    /// The NUMA nodes of the container's bound memory; `None`: it has none.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "json::some_text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub memory_nodes: Option<NodeIds>,
    /// The devices that lie elsewhere, by their NUMA nodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<DevicesOnNode>,
    /// What is not known of its devices.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<UnknownDevices>,
    /// Changes that were tried and align them, of each kind the first; absent if none was tried: nothing is elsewhere, the pod is not
    /// shown, or it comes after the first 64 such pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub would_align: Option<Vec<ClaimRemedy>>,
    /// How many of its devices lie where, by driver; none where the container has neither exclusive CPUs nor bound memory.
    #[serde(skip)]
    pub drivers: BTreeMap<String, DeviceCounts>,
}

/// How many devices lie where the CPUs and memory of their container are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DeviceCounts {
    /// So many do.
    pub aligned: usize,
    /// So many lie elsewhere.
    pub elsewhere: usize,
    /// Of so many it is not known.
    pub unknown: usize,
}

/// Whether the devices of a claim lie where the CPUs and memory of a container are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Alignment {
    /// All of them do.
    Aligned,
    /// Some lie elsewhere.
    Elsewhere,
    /// None is known to lie elsewhere, and not all are known.
    Unknown,
    /// The container has neither exclusive CPUs nor bound memory.
    NothingPinned,
}

impl Alignment {
    /// In a word, as documents have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Aligned => "aligned",
            Self::Elsewhere => "elsewhere",
            Self::Unknown => "unknown",
            Self::NothingPinned => "nothingPinned",
        }
    }

    /// All of them.
    pub const ALL: [Self; 4] = [Self::Aligned, Self::Elsewhere, Self::Unknown, Self::NothingPinned];
}

impl Serialize for Alignment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Alignment {
    fn schema_name() -> alloc::borrow::Cow<'static, str> {
        "Alignment".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "enum": Self::ALL.map(Self::name) })
    }
}

/// Why devices of a claim can lie elsewhere than the CPUs and memory of its container. Displays as a clause.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WhyElsewhere {
    /// A kubelet decides, whose managers know nothing of claims.
    Kubelet,
    /// topolet decides, and its option is off.
    NotFollowed,
    /// CPUs and memory follow claims (`devices.claims: hint`), as far as this policy has it.
    Policy(KubeletPolicy),
}

impl WhyElsewhere {
    /// For a pod on a node.
    #[must_use]
    pub fn of(node: &Node, pod: &Pod) -> Self {
        if node.has_claim_hints() {
            Self::Policy(node.rules_of(pod).policy)
        } else if node.compat().is_kubelet() {
            Self::Kubelet
        } else {
            Self::NotFollowed
        }
    }
}

impl fmt::Display for WhyElsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kubelet => f.write_str("the kubelet does not align claims"),
            Self::NotFollowed => f.write_str("CPUs and memory follow claims only with devices.claims: hint"),
            Self::Policy(KubeletPolicy::None) => {
                f.write_str("policy none merges no hints, and none of claims")
            }
            Self::Policy(KubeletPolicy::BestEffort) => {
                f.write_str("policy best-effort prefers the NUMA nodes of claims and does not require them")
            }
            Self::Policy(policy) => write!(
                f,
                "policy {} admits on several NUMA nodes, and CPUs or memory are on some of them",
                policy.name()
            ),
        }
    }
}

/// Devices on one NUMA node; shown as `gpu-0, gpu-1 on NUMA 1`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DevicesOnNode {
    /// The node.
    #[serde(serialize_with = "json::node")]
    #[cfg_attr(feature = "schema", schemars(with = "i64"))]
    pub node: NodeId,
    /// Their names.
    pub devices: Vec<String>,
}

impl fmt::Display for DevicesOnNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on NUMA {}", folded(self.devices.iter().map(String::as_str)), self.node)
    }
}

/// Devices of which it is not known whether they lie where the CPUs and memory are.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnknownDevices {
    /// Why: a sentence without a full stop.
    pub why: String,
    /// Their names; none: it is about the claim as a whole.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<String>,
}

impl fmt::Display for UnknownDevices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.devices.as_slice() {
            [] => f.write_str(&self.why),
            some => write!(f, "{}: {}", folded(some.iter().map(String::as_str)), self.why),
        }
    }
}

impl ContainerClaim {
    /// Of the claims that a container uses, beside its exclusive CPUs and its bound memory, each by NUMA node: no CPUs if it shares
    /// them. In the order of `decided`; none where the places of devices were not looked at.
    #[must_use]
    pub fn beside(
        container: &str,
        cpu_nodes: Option<&NodeIds>,
        memory_nodes: BTreeSet<NodeId>,
        decided: &DecidedClaims,
    ) -> Vec<Self> {
        Self::all(container, Own { cpu_nodes, memory_nodes }, decided)
    }

    /// Of the claims that a container uses, in the order of `decided`. None where the places of devices were not looked at.
    pub(crate) fn all(container: &str, own: Own<'_>, decided: &DecidedClaims) -> Vec<Self> {
        let pinned = Pinned::of(container, own, decided);
        let used = decided.claims.iter().filter_map(|claim| {
            let devices = claim.devices_of(container).filter(|device| device.is_located());
            let devices: Vec<&ClaimedDevice> = devices.filter(|device| !device.admin_access).collect();
            (!devices.is_empty()).then(|| pinned.beside(claim, &devices))
        });
        used.collect()
    }

    /// What lies elsewhere: `claim gpu NOT aligned: gpu-1 on NUMA 1, CPUs on NUMA 0`.
    #[must_use]
    pub fn misalignment(&self) -> String {
        format!("claim {} NOT aligned: {}, {}", self.claim, joined(&self.elsewhere, ", "), self.pinned())
    }

    /// What is not known: `whether claim gpu is aligned (CPUs on NUMA 0) is not known: gpu-1: driver d publishes no NUMA node`.
    #[must_use]
    pub fn doubt(&self) -> String {
        let (name, pinned) = (&self.claim, self.pinned());
        let beside = if pinned.is_empty() { String::new() } else { format!(" ({pinned})") };
        let unknown = joined(&self.unknown, "; ");
        format!("whether claim {name} is aligned{beside} is not known: {unknown}")
    }

    /// The CPUs and memory that its devices are compared with: `CPUs on NUMA 0, memory on NUMA 0`.
    pub(crate) fn pinned(&self) -> String {
        let cpus = self.cpu_nodes.as_ref().map(|nodes| format!("CPUs on NUMA {nodes}"));
        let memory = self.memory_nodes.as_ref().map(|nodes| format!("memory on NUMA {nodes}"));
        joined(cpus.into_iter().chain(memory), ", ")
    }
}

impl fmt::Display for ContainerClaim {
    /// `claim devices on NUMA 1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "claim {}", self.claim)?;
        match &self.device_nodes {
            Some(nodes) => write!(f, " on NUMA {nodes}")?,
            None => return f.write_str(" on NUMA ?"),
        }
        let is_unknown = |unknown: &UnknownDevices| !unknown.devices.is_empty();
        if self.unknown.iter().any(is_unknown) { f.write_str(" and ?") } else { Ok(()) }
    }
}

/// What the managers give one container alone.
pub(crate) struct Own<'a> {
    /// The NUMA nodes of its CPUs; `None`: it shares CPUs.
    pub(crate) cpu_nodes: Option<&'a NodeIds>,
    /// Those of its bound memory; none: it has none.
    pub(crate) memory_nodes: BTreeSet<NodeId>,
}

/// The NUMA nodes of the CPUs and memory that one container has alone; `None`: it has none.
struct Pinned {
    cpus: Option<BTreeSet<NodeId>>,
    /// The CPUs are devices of claims.
    by_driver: bool,
    /// Why the nodes of some of these are not known.
    unknown: Option<String>,
    memory: Option<BTreeSet<NodeId>>,
}

impl Pinned {
    fn of(container: &str, own: Own<'_>, decided: &DecidedClaims) -> Self {
        let memory = Some(own.memory_nodes).filter(|nodes| !nodes.is_empty());
        if let Some(cpus) = own.cpu_nodes {
            return Self { cpus: Some(cpus.iter().collect()), by_driver: false, unknown: None, memory };
        }
        let claims = decided.claims.iter();
        let of_driver = claims.flat_map(|claim| claim.devices_of(container));
        let of_driver: Vec<&ClaimedDevice> = of_driver
            .filter(|device| device.is_cpu() && device.is_located() && !device.admin_access)
            .collect();
        let unknown = of_driver.iter().find_map(|device| {
            let why = device.unknown_place.as_ref()?;
            Some(format!("CPU {} of the container: {why}", device.device))
        });
        let known: BTreeSet<NodeId> = of_driver.iter().filter_map(|device| device.node()).collect();
        let cpus = (!known.is_empty() && unknown.is_none()).then_some(known);
        Self { cpus, by_driver: !of_driver.is_empty(), unknown, memory }
    }

    /// The devices of a claim beside it.
    fn beside(&self, claim: &DecidedClaim, devices: &[&ClaimedDevice]) -> ContainerClaim {
        let mut elsewhere: BTreeMap<NodeId, Vec<String>> = BTreeMap::new();
        let mut unknown: Vec<UnknownDevices> = Vec::new();
        let mut nodes = BTreeSet::new();
        let mut drivers: BTreeMap<String, DeviceCounts> = BTreeMap::new();
        let mut is_compared = false;
        for device in devices {
            // The CPUs themselves are beside the memory.
            let cpus = self.cpus.as_ref().filter(|_| !(self.by_driver && device.is_cpu()));
            is_compared |= cpus.is_some() || self.memory.is_some();
            let name = device.device.clone();
            let counts = drivers.entry(device.driver.clone()).or_default();
            let Some(node) = device.node() else {
                counts.unknown += 1;
                let why = device.unknown_place.clone().unwrap_or_default();
                match unknown.iter_mut().find(|known| known.why == why) {
                    Some(known) => known.devices.push(name),
                    None => unknown.push(UnknownDevices { why, devices: [name].into() }),
                }
                continue;
            };
            nodes.insert(node);
            let is_off_memory = |own: &BTreeSet<NodeId>| {
                !own.contains(&node) && device.published_node.is_none_or(|node| !own.contains(&NodeId(node)))
            };
            if cpus.is_some_and(|own| !own.contains(&node)) || self.memory.as_ref().is_some_and(is_off_memory)
            {
                counts.elsewhere += 1;
                elsewhere.entry(node).or_default().push(name);
            } else {
                counts.aligned += 1;
            }
        }
        // CPUs are not compared with each other.
        if let Some(why) = self.unknown.as_ref().filter(|_| !devices.iter().all(|device| device.is_cpu())) {
            is_compared = true;
            // Its own devices are among the unknown ones already.
            if !devices.iter().any(|device| device.is_cpu() && device.node().is_none()) {
                unknown.push(UnknownDevices { why: why.clone(), devices: Vec::new() });
            }
        }
        if !claim.shared_with.is_empty() {
            let pods = and_more(&claim.shared_with, MOST_NAMED, " and ");
            let why = format!("other pods share the claim, and their CPUs can lie elsewhere: {pods}");
            unknown.push(UnknownDevices { why, devices: Vec::new() });
        }
        if !is_compared {
            drivers.clear();
        } else if unknown.iter().any(|unknown| unknown.devices.is_empty()) {
            // What is not known of the claim as a whole is known of none of its devices.
            for counts in drivers.values_mut() {
                counts.unknown += core::mem::take(&mut counts.aligned);
            }
        }
        let alignment = match (is_compared, elsewhere.is_empty(), unknown.is_empty()) {
            (false, ..) => Alignment::NothingPinned,
            (true, false, _) => Alignment::Elsewhere,
            (true, true, false) => Alignment::Unknown,
            (true, true, true) => Alignment::Aligned,
        };
        let listed = |nodes: &BTreeSet<NodeId>| nodes.iter().copied().collect::<NodeIds>();
        ContainerClaim {
            claim: claim.name.clone(),
            alignment,
            device_nodes: (!nodes.is_empty()).then(|| listed(&nodes)),
            cpu_nodes: self.cpus.as_ref().map(listed),
            memory_nodes: self.memory.as_ref().map(listed),
            elsewhere: elsewhere.into_iter().map(|(node, devices)| DevicesOnNode { node, devices }).collect(),
            unknown,
            would_align: None,
            drivers,
        }
    }
}

/// The sentence about devices that lie elsewhere.
pub(crate) fn elsewhere(
    f: &mut fmt::Formatter<'_>,
    claim: &ContainerClaim,
    why: WhyElsewhere,
) -> fmt::Result {
    write!(f, "admitted, {}; {why}", claim.misalignment())?;
    if !claim.unknown.is_empty() {
        write!(f, "; not known: {}", joined(&claim.unknown, "; "))?;
    }
    let has_none = claim.would_align.as_ref().is_some_and(Vec::is_empty);
    if has_none { f.write_str("; no change that was tried aligns them") } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use alloc::borrow::ToOwned as _;

    use claim_explanation::CPU_DRIVER;
    use dra_model::DeviceId;

    use super::*;

    /// A device of a driver on a node, or on one that is not known.
    fn device(driver: &str, name: &str, node: Option<i64>) -> ClaimedDevice {
        let id = DeviceId { driver: driver.into(), pool: "w".into(), device: name.into() };
        ClaimedDevice {
            numa_node: node,
            unknown_place: node.is_none().then(|| "it is not published".to_owned()),
            ..ClaimedDevice::new("r", &id)
        }
    }

    fn decided(devices: Vec<ClaimedDevice>, shared_with: &[&str]) -> DecidedClaims {
        let claim = DecidedClaim {
            name: "d".to_owned(),
            state: "pending",
            containers: ["main".to_owned()].into(),
            shared_with: shared_with.iter().map(|pod| (*pod).to_owned()).collect(),
            devices,
        };
        DecidedClaims { decided_as: String::new(), claims: [claim].into(), search: None, remarks: Vec::new() }
    }

    /// The alignment of the claim of container `main`, which has CPUs and memory on these nodes.
    fn alignment(cpus: &[i64], memory: &[i64], decided: &DecidedClaims) -> Option<Alignment> {
        let cpus: NodeIds = cpus.iter().copied().map(NodeId).collect();
        let own = Own {
            cpu_nodes: (cpus.iter().len() > 0).then_some(&cpus),
            memory_nodes: memory.iter().copied().map(NodeId).collect(),
        };
        ContainerClaim::all("main", own, decided).first().map(|claim| claim.alignment)
    }

    #[test]
    fn a_device_is_elsewhere_if_it_is_off_the_cpus_or_off_the_memory() {
        use Alignment::{Aligned, Elsewhere, NothingPinned, Unknown};
        for (cpus, memory, devices, expected) in [
            (&[0][..], &[0][..], &[Some(0)][..], Aligned),
            (&[0], &[0], &[Some(1)], Elsewhere),
            (&[0, 1], &[0, 1], &[Some(1)], Aligned),
            (&[0, 1], &[0], &[Some(1)], Elsewhere),
            (&[], &[0], &[Some(1)], Elsewhere),
            (&[0], &[], &[Some(0), Some(1)], Elsewhere),
            (&[0], &[0], &[Some(0), None], Unknown),
            (&[0], &[0], &[Some(1), None], Elsewhere),
            (&[], &[], &[Some(1), None], NothingPinned),
        ] {
            let devices = devices.iter().map(|node| device("gpu.example.com", "g", *node)).collect();
            let found = alignment(cpus, memory, &decided(devices, &[]));
            assert_eq!(found, Some(expected), "{cpus:?} {memory:?}");
        }
    }

    #[test]
    fn a_shared_claim_is_never_aligned() {
        let of = |node| decided([device("gpu.example.com", "g", Some(node))].into(), &["default/other"]);
        assert_eq!(alignment(&[0], &[], &of(0)), Some(Alignment::Unknown));
        assert_eq!(alignment(&[0], &[], &of(1)), Some(Alignment::Elsewhere));
        assert_eq!(alignment(&[], &[], &of(1)), Some(Alignment::NothingPinned));
    }

    #[test]
    fn the_devices_of_the_cpu_driver_are_the_cpus_where_the_kubelet_gives_none() {
        let of = |cpu, gpu| {
            let devices = [device(CPU_DRIVER, "c", cpu), device("gpu.example.com", "g", Some(gpu))];
            decided(devices.into(), &[])
        };
        for (cpus, memory, cpu, gpu, expected) in [
            (&[][..], &[][..], Some(1), 1, Alignment::Aligned),
            (&[], &[], Some(0), 1, Alignment::Elsewhere),
            (&[], &[0], Some(1), 1, Alignment::Elsewhere),
            (&[], &[], None, 1, Alignment::Unknown),
            (&[], &[1], None, 1, Alignment::Unknown),
            (&[1], &[], Some(0), 1, Alignment::Elsewhere),
        ] {
            assert_eq!(alignment(cpus, memory, &of(cpu, gpu)), Some(expected), "{cpus:?} {cpu:?} {gpu}");
        }
    }

    #[test]
    fn cpus_of_another_claim_whose_place_is_not_known_leave_a_claim_unknown() {
        let of = |devices: Vec<ClaimedDevice>, other: ClaimedDevice| {
            let mut decided = decided(devices, &[]);
            let other = DecidedClaim { devices: [other].into(), ..decided.claims[0].clone() };
            decided.claims.push(other);
            decided
        };
        let cpu = |node| device(CPU_DRIVER, "c", node);
        let gpu = |node| device("gpu.example.com", "g", Some(node));
        let unknown = of([cpu(Some(0)), gpu(1)].into(), cpu(None));
        assert_eq!(alignment(&[], &[], &unknown), Some(Alignment::Unknown));
        // A claim of CPUs alone is beside the memory, whatever other CPUs there are.
        let of_cpus = |memory: &[i64]| alignment(&[], memory, &of([cpu(Some(0))].into(), cpu(None)));
        assert_eq!(of_cpus(&[]), Some(Alignment::NothingPinned));
        assert_eq!(of_cpus(&[0]), Some(Alignment::Aligned));
        // Devices that are only looked at are no CPUs of the container.
        let looked_at = ClaimedDevice { admin_access: true, ..cpu(Some(0)) };
        let found = alignment(&[], &[], &of([gpu(1)].into(), looked_at));
        assert_eq!(found, Some(Alignment::NothingPinned));
    }

    #[test]
    fn memory_on_the_node_that_a_device_publishes_is_near_it_and_cpus_are_not() {
        let own = ClaimedDevice { published_node: Some(2), ..device("gpu.example.com", "g", Some(0)) };
        let of = |cpus: &[i64], memory: &[i64]| alignment(cpus, memory, &decided([own.clone()].into(), &[]));
        for (cpus, memory, expected) in [
            (&[0][..], &[2][..], Alignment::Aligned),
            (&[0], &[0], Alignment::Aligned),
            (&[0], &[3], Alignment::Elsewhere),
            (&[2], &[2], Alignment::Elsewhere),
        ] {
            assert_eq!(of(cpus, memory), Some(expected), "{cpus:?} {memory:?}");
        }
    }

    #[test]
    fn devices_of_other_containers_and_those_that_are_only_looked_at_are_left_out() {
        let far = || device("gpu.example.com", "far", Some(1));
        let near = || device("gpu.example.com", "near", Some(0));
        let of_other = ClaimedDevice { containers: Some(["other".to_owned()].into()), ..far() };
        let looked_at = ClaimedDevice { admin_access: true, ..far() };
        let not_located = ClaimedDevice { numa_node: None, unknown_place: None, ..far() };
        for left_out in [of_other, looked_at, not_located] {
            let found = alignment(&[0], &[], &decided([near(), left_out.clone()].into(), &[]));
            assert_eq!(found, Some(Alignment::Aligned), "{left_out:?}");
            assert_eq!(alignment(&[0], &[], &decided([left_out].into(), &[])), None);
        }
    }
}
