//! Two schedulers that look at NUMA nodes by what nodes publish of them: amounts by zone, policy and scope.
//!
//! Both read the `NodeResourceTopology` of a node. Here it is as new as it can be: each node publishes what is free after
//! every change. What a manager does not manage is published as free, and is not compared. The rules are those of the
//! published programs, in our words:
//!
//! - *`NodeResourceTopologyMatch`* of the scheduler plugins filters under `single-numa-node` alone, and lets every
//!   pod pass under the other policies. Each init container must fit one zone. Each app container must, too, on what the
//!   ones before it have left of the lowest zone that has enough; or, by scope, the pod as a whole. CPUs, memory and huge
//!   pages are compared for Guaranteed pods only, devices for all. CPUs are compared by amount, whole or not.
//! - *`numa`* of KAI-Scheduler filters under `single-numa-node` and `restricted`. It compares what a kubelet
//!   aligns: whole CPUs, memory and huge pages of Guaranteed pods, and devices. Under `restricted` each resource has a
//!   width: the fewest zones whose allocatable amounts are enough. All widths must be equal, and some set of so many zones
//!   must have enough now. Containers that run together take from the same zones; an init container is compared with all
//!   that is free. Of the nodes that pass, the one with the fewest zones wins.

use alloc::vec::Vec;

use node_config::Scope;
use node_cover::{Cover, Row, Steps};
use numa_bitmask::NodeMask;
use pod_spec::{Amounts, Container, Pod, QosClass, ResourceList, ResourceName, Role};
use topology_policy::KubeletPolicy;

use crate::host::Host;

/// What a container asks for: position of the resource, and thousandths of CPUs or whole units.
type Asked = Vec<(usize, i64)>;

/// What of a pod a scheduler compares with zones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Needs {
    /// Compared one by one with all that is free.
    alone: Vec<Asked>,
    /// One after the other, each with what is left by those before it.
    together: Vec<Asked>,
}

/// What one machine publishes.
pub(crate) struct Zones {
    numa: usize,
    /// By resource and zone, resource after resource.
    free: Vec<i64>,
    allocatable: Vec<i64>,
}

impl Zones {
    pub(crate) fn new(host: &Host<'_>, free: &[u64]) -> Self {
        let numa = host.numa();
        let is_cpu = host.resources.first().is_some_and(|first| first.as_str() == "cpu");
        let amounts = |of: &[u64]| {
            let scaled = of.iter().enumerate().map(|(at, amount)| {
                let scale = if is_cpu && at < numa { 1000 } else { 1 };
                i64::try_from(*amount).unwrap_or(i64::MAX).saturating_mul(scale)
            });
            scaled.collect()
        };
        Self { numa, free: amounts(free), allocatable: amounts(&host.capacity) }
    }

    fn row<'a>(&self, amounts: &'a [i64], resource: usize) -> &'a [i64] {
        amounts.get(resource * self.numa..(resource + 1) * self.numa).unwrap_or_default()
    }

    fn is_enough(&self, zones: NodeMask, asked: &Asked) -> bool {
        asked.iter().all(|(resource, amount)| {
            let row = self.row(&self.free, *resource);
            let has = zones.iter().filter_map(|zone| row.get(zone.get()));
            has.fold(0_i64, |sum, own| sum.saturating_add((*own).max(0))) >= *amount
        })
    }

    /// The lowest zone that has enough of everything.
    fn first(&self, asked: &Asked) -> Option<NodeMask> {
        let zones = NodeMask::all(self.numa).iter().map(NodeMask::single);
        zones.into_iter().find(|zone| self.is_enough(*zone, asked))
    }

    /// The smallest set of zones that has enough together; of equal ones the lowest.
    fn smallest(&self, asked: &Asked) -> Option<NodeMask> {
        let all = NodeMask::all(self.numa);
        let unsigned = |amount: i64| u64::try_from(amount).unwrap_or(0);
        let rows = asked.iter().map(|(resource, amount)| {
            let own = self.row(&self.free, *resource).iter().map(|own| unsigned(*own));
            Row::per_node(unsigned(*amount), all.iter().zip(own))
        });
        Some(Cover::new(all, rows)?.smallest(&mut Steps::default()).into_inner())
    }

    fn take(&mut self, zones: NodeMask, asked: &Asked) {
        for (resource, amount) in asked {
            let mut left = *amount;
            for zone in zones {
                let Some(cell) = self.free.get_mut(resource * self.numa + zone.get()) else { continue };
                let taken = left.min((*cell).max(0));
                *cell -= taken;
                left -= taken;
            }
        }
    }

    /// The fewest zones that could have so much if nothing were held; `None` if all of them could not.
    fn width(&self, resource: usize, amount: i64) -> Option<u32> {
        let mut row = self.row(&self.allocatable, resource).to_vec();
        row.sort_unstable_by(|one, other| other.cmp(one));
        let mut sum = 0_i64;
        let enough = row.iter().position(|own| {
            sum = sum.saturating_add(*own);
            sum >= amount
        })?;
        u32::try_from(enough + 1).ok()
    }
}

/// `NodeResourceTopologyMatch` of the scheduler plugins.
pub(crate) mod topology_match {
    use super::{
        Amounts, Container, Host, KubeletPolicy, Needs, Pod, QosClass, ResourceList, Role, Scope, Zones,
        asked,
    };

    pub(crate) fn needs(host: &Host<'_>, pod: &Pod) -> Needs {
        let is_guaranteed = pod.qos_class(host.node.pod_rules()) == QosClass::Guaranteed;
        let own =
            |list: &ResourceList| asked(host, list, |name, _| is_guaranteed || name.as_str().contains('/'));
        let is_app = |container: &&Container| container.role == Role::App;
        match host.node.scope() {
            Scope::Pod => Needs {
                together: [own(&pod.containers_amounts(Amounts::Requests))].into(),
                ..Needs::default()
            },
            Scope::Container => {
                let each = || pod.containers.iter();
                Needs {
                    alone: each().filter(|own| !is_app(own)).map(|init| own(&init.requests)).collect(),
                    together: each().filter(is_app).map(|app| own(&app.requests)).collect(),
                }
            }
        }
    }

    /// Whether a node that publishes these zones passes.
    pub(crate) fn passes(policy: KubeletPolicy, needs: &Needs, mut zones: Zones) -> bool {
        if policy != KubeletPolicy::SingleNumaNode {
            return true;
        }
        needs.alone.iter().all(|init| zones.first(init).is_some())
            && needs.together.iter().all(|app| {
                zones.first(app).is_some_and(|zone| {
                    zones.take(zone, app);
                    true
                })
            })
    }
}

/// `numa` of KAI-Scheduler.
pub(crate) mod kai {
    use super::{
        Amounts, Asked, Container, Host, KubeletPolicy, Needs, NodeMask, Pod, QosClass, ResourceList, Role,
        Scope, Zones, asked,
    };

    pub(crate) fn needs(host: &Host<'_>, pod: &Pod) -> Needs {
        let is_guaranteed = pod.qos_class(host.node.pod_rules()) == QosClass::Guaranteed;
        let own = |list: &ResourceList| {
            asked(host, list, |name, amount| match name.as_str() {
                "cpu" => is_guaranteed && amount % 1000 == 0,
                name => is_guaranteed || name.contains('/'),
            })
        };
        let runs_alone = |container: &&Container| container.role == Role::Init;
        match host.node.scope() {
            Scope::Pod => {
                let mut whole = pod.clone();
                for container in &mut whole.containers {
                    // CPUs of containers that share constrain no zone.
                    let shares = |amount: &k8s_quantity::Quantity| amount.milli_value() % 1000 != 0;
                    if container.requests.get("cpu").is_some_and(shares) {
                        container.requests.remove("cpu");
                    }
                }
                let whole = own(&whole.containers_amounts(Amounts::Requests));
                Needs { together: [whole].into(), ..Needs::default() }
            }
            Scope::Container => {
                let each = || pod.containers.iter();
                Needs {
                    alone: each().filter(runs_alone).map(|init| own(&init.requests)).collect(),
                    together: each().filter(|own| !runs_alone(own)).map(|it| own(&it.requests)).collect(),
                }
            }
        }
    }

    /// How many zones the pod would be on; `None`: the node does not pass.
    pub(crate) fn zones(policy: KubeletPolicy, needs: &Needs, mut zones: Zones) -> Option<u32> {
        if !needs.alone.iter().all(|init| fit(policy, init, &zones).is_some()) {
            return None;
        }
        let mut used = NodeMask::EMPTY;
        for unit in &needs.together {
            let mask = fit(policy, unit, &zones)?;
            zones.take(mask, unit);
            used |= mask;
        }
        Some(used.len())
    }

    fn fit(policy: KubeletPolicy, unit: &Asked, zones: &Zones) -> Option<NodeMask> {
        let all = NodeMask::all(zones.numa);
        match policy {
            KubeletPolicy::None => Some(all),
            KubeletPolicy::SingleNumaNode => zones.first(unit),
            KubeletPolicy::BestEffort => Some(zones.smallest(unit).unwrap_or(all)),
            KubeletPolicy::Restricted => {
                let mut width = None;
                for (resource, amount) in unit {
                    let own = zones.width(*resource, *amount)?;
                    if *width.get_or_insert(own) != own {
                        return None;
                    }
                }
                let Some(width) = width else { return Some(NodeMask::EMPTY) };
                zones.smallest(unit).filter(|zones| zones.len() <= width)
            }
        }
    }
}

/// What of a list is compared with zones: what the machine publishes by zone and `counts` says yes to.
fn asked(host: &Host<'_>, list: &ResourceList, counts: impl Fn(&ResourceName, i64) -> bool) -> Asked {
    let position = |name: &ResourceName| host.resources.iter().position(|own| own == name);
    let own = list.iter().filter_map(|(name, amount)| {
        let amount = if name.as_str() == "cpu" { amount.milli_value() } else { amount.value() };
        (amount > 0 && counts(name, amount)).then_some((position(name)?, amount))
    });
    own.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CPUs in thousandths, then GiB, on two zones.
    fn zones(cpus: [i64; 2], memory: [i64; 2]) -> Zones {
        let free = [cpus.map(|own| own * 1000), memory].concat();
        Zones { numa: 2, free, allocatable: [[8000; 2], [16; 2]].concat() }
    }

    fn unit(cpus: i64, memory: i64) -> Asked {
        [(0, cpus * 1000), (1, memory)].into_iter().filter(|(_, amount)| *amount > 0).collect()
    }

    fn needs(alone: &[Asked], together: &[Asked]) -> Needs {
        Needs { alone: alone.to_vec(), together: together.to_vec() }
    }

    #[test]
    fn topology_match_filters_by_single_zones_alone() {
        let passes = |policy, needs: &Needs| topology_match::passes(policy, needs, zones([3, 5], [8, 2]));
        let strict = |alone: &[Asked], together: &[Asked]| {
            passes(KubeletPolicy::SingleNumaNode, &needs(alone, together))
        };
        assert!(strict(&[], &[unit(5, 2)]));
        assert!(!strict(&[], &[unit(5, 3)]), "CPUs on one, memory on the other");
        assert!(strict(&[], &[unit(3, 1), unit(5, 1)]));
        assert!(
            !strict(&[], &[unit(2, 1), unit(2, 1), unit(4, 1)]),
            "the lowest zone that has enough is taken"
        );
        assert!(strict(&[unit(5, 2)], &[unit(5, 2)]), "what an init container has is free again");
        assert!(!strict(&[unit(6, 0)], &[]));
        for policy in [KubeletPolicy::None, KubeletPolicy::BestEffort, KubeletPolicy::Restricted] {
            assert!(passes(policy, &needs(&[], &[unit(100, 0)])), "{policy:?}");
        }
    }

    #[test]
    fn kai_filters_by_widths_under_restricted() {
        let placed = |policy, free: [i64; 2], together: &[Asked]| {
            kai::zones(policy, &needs(&[], together), zones(free, [16, 16]))
        };
        let (restricted, strict) = (KubeletPolicy::Restricted, KubeletPolicy::SingleNumaNode);
        assert_eq!(placed(strict, [3, 5], &[unit(5, 1)]), Some(1));
        assert_eq!(placed(strict, [3, 4], &[unit(5, 1)]), None);
        assert_eq!(placed(restricted, [3, 4], &[unit(5, 1)]), None, "one zone would do if nothing were held");
        assert_eq!(placed(restricted, [8, 4], &[unit(12, 20)]), Some(2));
        assert_eq!(placed(restricted, [7, 4], &[unit(12, 20)]), None);
        assert_eq!(placed(restricted, [8, 8], &[unit(12, 1)]), None, "widths differ");
        assert_eq!(placed(restricted, [8, 8], &[unit(17, 20)]), None);
        assert_eq!(placed(restricted, [0, 0], &[Vec::new()]), Some(0));
        assert_eq!(placed(restricted, [4, 4], &[unit(4, 1), unit(4, 1)]), Some(2));
        assert_eq!(placed(restricted, [4, 3], &[unit(4, 1), unit(4, 1)]), None);
        assert_eq!(placed(KubeletPolicy::BestEffort, [3, 4], &[unit(5, 1)]), Some(2));
        assert_eq!(placed(KubeletPolicy::BestEffort, [3, 4], &[unit(50, 1)]), Some(2));
        assert_eq!(placed(KubeletPolicy::None, [8, 8], &[unit(1, 1)]), Some(2));
        let init = |cpus| needs(&[unit(cpus, 1)], &[unit(5, 1), unit(5, 1)]);
        assert_eq!(kai::zones(strict, &init(6), zones([5, 5], [16, 16])), None);
        assert_eq!(
            kai::zones(strict, &init(5), zones([5, 5], [16, 16])),
            Some(2),
            "init containers run before"
        );
    }
}
