//! What a pod asks NUMA nodes for, beside what an object says that they have: amounts, and nothing else.
//!
//! This is less than a kubelet's answer. Which CPUs are free decides where whole cores are asked for, which devices are
//! near several nodes is not published, and containers of one pod are compared one by one. So amounts can show that a
//! pod does not fit, and never that it does.

use alloc::vec::Vec;

use node_config::Scope;
use pod_spec::{
    Amounts, Container, ContainerName, Pod, PodLevelResources, QosClass, ResourceList, ResourceName,
};
use topology_model::NodeId;
use topology_policy::KubeletPolicy;

use crate::amounts::{Allocates, PublishedPolicies, ZoneAmount, ZoneAmounts};

/// What is aligned together, and what there is for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnitComparison {
    /// `None`: the pod as a whole.
    pub container: Option<ContainerName>,
    /// What it asks for, by resource.
    pub asked: Vec<AskedAmount>,
    /// Where there is enough of what is published.
    pub enough: Enough,
}

/// An amount that is asked for, and what each NUMA node has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AskedAmount {
    /// Of which resource.
    pub resource: ResourceName,
    /// CPUs, bytes or devices.
    pub amount: u64,
    /// `None`: the node does not publish the resource.
    pub nodes: Vec<(NodeId, Option<ZoneAmount>)>,
}

/// Where there is enough of everything that is asked for and published.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Enough {
    /// Nothing is asked for that a kubelet allocates by NUMA node, or nothing of it is published.
    NotAsked,
    /// On each of these NUMA nodes alone.
    OnOne(Vec<NodeId>),
    /// On no single NUMA node, on all together.
    Together {
        /// Each of these would have enough alone if no pod held anything.
        if_empty: Vec<NodeId>,
    },
    /// Not even on all together, of these resources.
    Nowhere(Vec<ResourceName>),
}

impl AskedAmount {
    /// Whether any NUMA node says what it has of it.
    #[must_use]
    pub fn is_published(&self) -> bool {
        self.nodes.iter().any(|(_, own)| own.is_some())
    }
}

impl Enough {
    /// Whether a kubelet refuses the pod by its Topology Manager policy or for want of a resource, as far as amounts show
    /// it. Under `restricted` a pod of which one empty NUMA node has enough is admitted on one node or not at all.
    #[must_use]
    pub const fn is_refused(&self, policy: Option<KubeletPolicy>) -> bool {
        match (self, policy) {
            (Self::Nowhere(_), _) | (Self::Together { .. }, Some(KubeletPolicy::SingleNumaNode)) => true,
            (Self::Together { if_empty }, Some(KubeletPolicy::Restricted)) => !if_empty.is_empty(),
            _ => false,
        }
    }
}

impl ZoneAmounts {
    /// Compares what `pod` asks for, for each container or for the pod as a whole. A manager whose policy is not known is
    /// taken to allocate.
    #[must_use]
    pub fn compare(&self, pod: &Pod, policies: PublishedPolicies) -> Vec<UnitComparison> {
        match policies.scope.unwrap_or(Scope::Container) {
            Scope::Container => pod
                .containers
                .iter()
                .map(|container| (container, aligned(pod, container, policies)))
                .filter(|(_, asked)| !asked.is_empty())
                .map(|(container, asked)| self.unit(Some(container.name.clone()), &asked))
                .collect(),
            Scope::Pod => {
                let asked = policies.aligned(pod);
                if asked.is_empty() { Vec::new() } else { Vec::from([self.unit(None, &asked)]) }
            }
        }
    }

    fn unit(&self, container: Option<ContainerName>, asked: &ResourceList) -> UnitComparison {
        let asked: Vec<AskedAmount> = asked
            .iter()
            .map(|(resource, amount)| AskedAmount {
                resource: resource.clone(),
                amount: u64::try_from(amount.value()).unwrap_or(u64::MAX),
                nodes: self.of(resource).collect(),
            })
            .collect();
        let published: Vec<&AskedAmount> = asked.iter().filter(|asked| asked.is_published()).collect();
        UnitComparison { container, enough: self.enough(&published), asked }
    }

    fn enough(&self, asked: &[&AskedAmount]) -> Enough {
        if asked.is_empty() {
            return Enough::NotAsked;
        }
        let alone = |amount: fn(&ZoneAmount) -> u64| {
            self.nodes_where(|zone| {
                asked.iter().all(|asked| zone.get(&asked.resource).map_or(0, amount) >= asked.amount)
            })
        };
        let one = alone(|own| own.available);
        if !one.is_empty() {
            return Enough::OnOne(one);
        }
        let sum = |asked: &&&AskedAmount| {
            let each = asked.nodes.iter().filter_map(|(_, own)| *own);
            each.fold(0_u64, |sum, own| sum.saturating_add(own.available))
        };
        let lacking: Vec<ResourceName> = asked
            .iter()
            .filter(|asked| sum(asked) < asked.amount)
            .map(|asked| asked.resource.clone())
            .collect();
        if lacking.is_empty() {
            Enough::Together { if_empty: alone(|own| own.allocatable) }
        } else {
            Enough::Nowhere(lacking)
        }
    }
}

impl PublishedPolicies {
    /// What of a pod's requests a kubelet with these policies allocates by NUMA node, as the pod needs it at its peak.
    #[must_use]
    pub fn aligned(self, pod: &Pod) -> ResourceList {
        let containers = pod
            .containers
            .iter()
            .map(|container| Container { requests: aligned(pod, container, self), ..container.clone() });
        Pod { containers: containers.collect(), ..pod.clone() }.containers_amounts(Amounts::Requests)
    }
}

/// What of a container's requests a kubelet allocates by NUMA node: whole CPUs, memory and huge pages of Guaranteed pods,
/// and devices.
fn aligned(pod: &Pod, container: &Container, policies: PublishedPolicies) -> ResourceList {
    let is_guaranteed = pod.qos_class(PodLevelResources::Count) == QosClass::Guaranteed;
    let allocates = |manager: Option<Allocates>| is_guaranteed && manager != Some(Allocates::Nothing);
    let requests = container.requests.iter().filter(|(resource, amount)| {
        amount.milli_value() > 0
            && match resource.as_str() {
                "cpu" => allocates(policies.cpus) && amount.milli_value() % 1000 == 0,
                "memory" => allocates(policies.memory),
                _ if resource.is_hugepages() => allocates(policies.memory),
                name => name.contains('/'),
            }
    });
    requests.map(|(resource, amount)| (resource.clone(), amount.clone())).collect()
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;
    use alloc::vec;

    use pod_spec::Role;

    use super::*;
    use crate::object::NodeResourceTopology;

    /// NUMA nodes with `allocatable` and `available` CPUs and as many GiB of memory.
    fn zones(of: &[(u64, u64)]) -> ZoneAmounts {
        let zones = of.iter().enumerate().map(|(id, (allocatable, available))| {
            let amount = |name: &str, unit: &str| {
                format!(
                    r#"{{"name":"{name}","capacity":"{allocatable}{unit}","allocatable":"{allocatable}{unit}","available":"{available}{unit}"}}"#
                )
            };
            let resources = [amount("cpu", ""), amount("memory", "Gi")].join(",");
            format!(r#"{{"name":"node-{id}","type":"Node","resources":[{resources}]}}"#)
        });
        let zones: Vec<String> = zones.collect();
        let json = format!(
            r#"{{"apiVersion":"v","kind":"k","metadata":{{"name":"n"}},"zones":[{}]}}"#,
            zones.join(",")
        );
        serde_json::from_str::<NodeResourceTopology>(&json).unwrap().amounts().unwrap()
    }

    fn container(name: &str, limits: &[(&str, &str)]) -> Container {
        let limits: ResourceList =
            limits.iter().map(|(name, amount)| ((*name).into(), amount.parse().unwrap())).collect();
        Container { name: name.into(), role: Role::App, requests: limits.clone(), limits }
    }

    #[track_caller]
    fn check(free: &[(u64, u64)], cpus: &str, expected: &Enough, refused_by: &[KubeletPolicy]) {
        let pod = Pod::new("default", "a", vec![container("c", &[("cpu", cpus), ("memory", "1Gi")])]);
        let units = zones(free).compare(&pod, PublishedPolicies::default());
        assert_eq!(units.len(), 1);
        assert_eq!(units[0].enough, *expected);
        let all = [
            KubeletPolicy::None,
            KubeletPolicy::BestEffort,
            KubeletPolicy::Restricted,
            KubeletPolicy::SingleNumaNode,
        ];
        let refused: Vec<KubeletPolicy> =
            all.into_iter().filter(|policy| units[0].enough.is_refused(Some(*policy))).collect();
        assert_eq!(refused, refused_by);
    }

    #[test]
    fn amounts_say_where_there_is_enough_and_which_policies_refuse() {
        use KubeletPolicy::{BestEffort, None, Restricted, SingleNumaNode};
        check(&[(8, 2), (8, 6)], "4", &Enough::OnOne(vec![NodeId(1)]), &[]);
        let if_empty = vec![NodeId(0), NodeId(1)];
        check(&[(8, 2), (8, 3)], "4", &Enough::Together { if_empty }, &[Restricted, SingleNumaNode]);
        // No node could ever serve it alone: restricted does not refuse it for that.
        check(&[(8, 8), (8, 8)], "12", &Enough::Together { if_empty: vec![] }, &[SingleNumaNode]);
        let all = [None, BestEffort, Restricted, SingleNumaNode];
        check(&[(8, 2), (8, 1)], "4", &Enough::Nowhere(vec!["cpu".into()]), &all);
    }

    #[test]
    fn only_what_is_allocated_by_numa_node_is_compared() {
        let zones = zones(&[(8, 8)]);
        let units = |limits: &[(&str, &str)], policies| {
            let pod = Pod::new("default", "a", vec![container("c", limits)]);
            let units = zones.compare(&pod, policies);
            let asked = units.into_iter().flat_map(|unit| unit.asked).map(|asked| {
                let unpublished = if asked.is_published() { "" } else { "?" };
                format!("{unpublished}{}", asked.resource.as_str())
            });
            asked.collect::<Vec<_>>()
        };
        let unknown = PublishedPolicies::default();
        assert_eq!(units(&[("cpu", "2"), ("memory", "1Gi")], unknown), ["cpu", "memory"]);
        assert_eq!(units(&[("cpu", "1500m"), ("memory", "1Gi")], unknown), ["memory"]);
        assert_eq!(units(&[("cpu", "2")], unknown), Vec::<String>::new(), "Burstable");
        assert_eq!(units(&[("cpu", "2"), ("example.com/gpu", "1")], unknown), ["?example.com/gpu"]);
        let none = PublishedPolicies { cpus: Some(Allocates::Nothing), ..unknown };
        assert_eq!(units(&[("cpu", "2"), ("memory", "1Gi")], none), ["memory"]);
    }

    #[test]
    fn a_pod_as_a_whole_asks_for_the_sum_of_its_containers() {
        let own = [("cpu", "3"), ("memory", "1Gi")];
        let pod = Pod::new("default", "a", vec![container("a", &own), container("b", &own)]);
        let zones = zones(&[(8, 4), (8, 4)]);
        let of = |scope| zones.compare(&pod, PublishedPolicies { scope: Some(scope), ..Default::default() });
        let each = of(Scope::Container);
        assert_eq!(each.len(), 2);
        assert_eq!(each[0].enough, Enough::OnOne(vec![NodeId(0), NodeId(1)]));
        let whole = of(Scope::Pod);
        assert_eq!(whole[0].asked[0].amount, 6);
        assert_eq!(whole[0].enough, Enough::Together { if_empty: vec![NodeId(0), NodeId(1)] });
    }
}
