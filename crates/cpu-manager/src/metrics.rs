//! What decisions change in the kubelet's metrics, as values: a change counts only once it is applied.
//!
//! As upstream: CPUs that are used again within a pod are counted at each allocation and released once, so the two
//! gauges drift until the next start, and the last CPU of a node that is released leaves the old value of the node.

use alloc::vec::Vec;
use core::fmt;

use cpuset::CpuSet;
use kubelet_release::MetricPrefix;
use topology_model::NodeId;

use crate::{AllocateError, Collected, Granted, Holdings, PodLevel, Static, WholeCores};

/// A metric with its labels; [`named`](Metric::named) gives it the name that a release has for it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum Metric {
    /// Containers that asked for exclusive CPUs.
    PinningRequests,
    /// Of these, those that could not be served.
    PinningErrors,
    /// Gauge: the shared pool without reserved CPUs, in thousandths.
    SharedPoolMillicores,
    /// Gauge: CPUs that containers hold.
    ExclusiveCpus,
    /// Gauge: the same on one NUMA node.
    AllocationPerNode(NodeId),
    /// Containers whose CPUs are aligned.
    Aligned(Aligned),
    /// Containers that were refused since whole cores were not to be had.
    AlignmentFailures,
    /// Containers served. Only with pod-level resources managed, as the next two.
    Allocations(Source),
    /// Containers or pods not served.
    AllocationErrors(Source),
    /// Containers, by what they were given.
    Assignments(Assigned),
}

/// To what CPUs are aligned.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Aligned {
    /// Whole cores are required.
    PhysicalCpu,
    /// All are in one last-level cache.
    UncoreCache,
}

/// Out of what a container is served.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Source {
    /// The node.
    Node,
    /// What its pod holds as a whole.
    Pod,
}

/// What a container was given.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Assigned {
    /// Exclusive CPUs, out of the node.
    NodeExclusive,
    /// Exclusive CPUs, out of its pod.
    PodExclusive,
    /// The shared CPUs of its pod.
    PodShared,
}

/// One change of one metric.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// It rises by so much, or falls.
    Add(Metric, i64),
    /// It is now so much.
    Set(Metric, i64),
}

/// A metric as a release names it: `name{label=value,…}`, labels in alphabetical order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NamedMetric {
    metric: Metric,
    prefix: MetricPrefix,
}

impl Metric {
    /// The metric as a release names it.
    #[must_use]
    pub const fn named(self, prefix: MetricPrefix) -> NamedMetric {
        NamedMetric { metric: self, prefix }
    }
}

impl fmt::Display for NamedMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (prefix, counted) = match self.prefix {
            MetricPrefix::Bare => ("", ""),
            MetricPrefix::Kubelet => ("kubelet_", "_total"),
        };
        match self.metric {
            Metric::PinningRequests => f.pad("kubelet_cpu_manager_pinning_requests_total"),
            Metric::PinningErrors => f.pad("kubelet_cpu_manager_pinning_errors_total"),
            Metric::SharedPoolMillicores => f.pad("kubelet_cpu_manager_shared_pool_size_millicores"),
            Metric::ExclusiveCpus => f.pad("kubelet_cpu_manager_exclusive_cpu_allocation_count"),
            Metric::AllocationPerNode(NodeId(node)) => {
                write!(f, "kubelet_cpu_manager_allocation_per_numa{{numa_node={node}}}")
            }
            Metric::Aligned(to) => {
                let boundary = match to {
                    Aligned::PhysicalCpu => "physical_cpu",
                    Aligned::UncoreCache => "uncore_cache",
                };
                write!(
                    f,
                    "kubelet_container_aligned_compute_resources_count{{boundary={boundary},scope=container}}"
                )
            }
            Metric::AlignmentFailures => f.pad(
                "kubelet_container_aligned_compute_resources_failure_count{boundary=physical_cpu,scope=container}",
            ),
            Metric::Allocations(source) => {
                write!(f, "{prefix}resource_manager_allocations_total{{resource_name=cpu,source={source}}}")
            }
            Metric::AllocationErrors(source) => {
                write!(f, "{prefix}resource_manager_allocation_errors_total{{resource_name=cpu,source={source}}}")
            }
            Metric::Assignments(assigned) => {
                let kind = match assigned {
                    Assigned::NodeExclusive => "node_exclusive",
                    Assigned::PodExclusive => "pod_exclusive",
                    Assigned::PodShared => "pod_shared",
                };
                write!(
                    f,
                    "{prefix}resource_manager_container_assignments{counted}{{assignment_type={kind},resource_name=cpu}}"
                )
            }
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Node => "node",
            Self::Pod => "pod",
        })
    }
}

/// Whether a container held its CPUs already when it was served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Served {
    /// It did.
    Before,
    /// It was given them.
    Now,
}

/// How many containers of a pod took part. Those that share the pool do once everyone has a share.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) exclusive: u32,
    pub(crate) shared: u32,
    /// Containers that asked for exclusive CPUs.
    pub(crate) asked: u32,
}

impl Static {
    /// The metrics with which a node starts that holds `held`; those that are not there do not exist yet.
    #[must_use]
    pub fn metrics_at_start(&self, held: &Holdings) -> Vec<Change> {
        let own = held.held();
        let mut changes = alloc::vec![
            Change::Set(Metric::PinningRequests, 0),
            Change::Set(Metric::PinningErrors, 0),
            Change::Set(Metric::SharedPoolMillicores, 1000 * count(&self.available(held))),
            Change::Set(Metric::ExclusiveCpus, count(&own)),
            Change::Set(Metric::Aligned(Aligned::PhysicalCpu), 0),
            Change::Set(Metric::Aligned(Aligned::UncoreCache), 0),
            Change::Set(Metric::AlignmentFailures, 0),
        ];
        self.set_per_node(&own, &mut changes);
        changes
    }

    /// What serving a container changes, or failing to; `after` is what is held then.
    pub(crate) fn metrics_of_container(
        &self,
        served: Served,
        granted: Result<&Granted, &AllocateError>,
        after: &Holdings,
    ) -> Vec<Change> {
        let mut changes = Vec::new();
        match granted {
            Ok(Granted::SharedPool(_)) => {}
            Ok(Granted::Exclusive(cpus)) => {
                // Seldom more: one for each node where CPUs are held, and a few others.
                changes.reserve(8);
                changes.push(Change::Add(Metric::PinningRequests, 1));
                if self.options.whole_cores == WholeCores::Required {
                    changes.push(Change::Add(Metric::Aligned(Aligned::PhysicalCpu), 1));
                }
                if served == Served::Now {
                    self.allocated(cpus, &after.held(), &mut changes);
                    self.count(Metric::Allocations(Source::Node), 1, &mut changes);
                    self.count(Metric::Assignments(Assigned::NodeExclusive), 1, &mut changes);
                }
            }
            Err(_) => {
                changes.push(Change::Add(Metric::PinningRequests, 1));
                changes.push(Change::Add(Metric::PinningErrors, 1));
                if self.options.whole_cores == WholeCores::Required {
                    changes.push(Change::Add(Metric::AlignmentFailures, 1));
                }
                self.count(Metric::AllocationErrors(Source::Node), 1, &mut changes);
            }
        }
        changes
    }

    /// What collecting dead containers changes, in the order of the releases. `held` is what they held.
    #[must_use]
    pub fn metrics_of_collection(&self, held: &Holdings, collected: &Collected) -> Vec<Change> {
        let mut changes = Vec::new();
        let mut now = held.clone();
        for gone in &collected.released {
            let Some(cpus) = now.give_back(&gone.pod, &gone.container) else { continue };
            changes.push(Change::Add(Metric::SharedPoolMillicores, 1000 * count(&cpus)));
            changes.push(Change::Add(Metric::ExclusiveCpus, -count(&cpus)));
            self.set_per_node(&(&now.held() - &cpus), &mut changes);
        }
        changes
    }

    /// What the CPUs of a pod change that are shared out among so many of its containers; `held` is what was held before.
    /// The containers are not in the books yet when the nodes' figures are made.
    pub(crate) fn metrics_of_shares(&self, held: &Holdings, bubble: &CpuSet, counts: Counts) -> Vec<Change> {
        let mut changes = Vec::new();
        self.allocated(bubble, &held.held(), &mut changes);
        let Counts { exclusive, shared, asked } = counts;
        if asked > 0 {
            changes.push(Change::Add(Metric::PinningRequests, i64::from(asked)));
        }
        self.count(Metric::Assignments(Assigned::PodExclusive), exclusive, &mut changes);
        self.count(Metric::Assignments(Assigned::PodShared), shared, &mut changes);
        changes
    }

    /// The same where all of the pod's containers have their share.
    pub(crate) fn metrics_of_pod(&self, held: &Holdings, bubble: &CpuSet, counts: Counts) -> Vec<Change> {
        let mut changes = self.metrics_of_shares(held, bubble, counts);
        self.count(Metric::Allocations(Source::Pod), counts.exclusive + counts.shared, &mut changes);
        changes
    }

    /// What a pod changes that cannot be served as a whole.
    pub(crate) fn metrics_of_refused_pod(&self, changes: &mut Vec<Change>) {
        changes.push(Change::Add(Metric::PinningErrors, 1));
        self.count(Metric::AllocationErrors(Source::Pod), 1, changes);
    }

    fn allocated(&self, cpus: &CpuSet, held: &CpuSet, changes: &mut Vec<Change>) {
        changes.push(Change::Add(Metric::SharedPoolMillicores, -1000 * count(cpus)));
        changes.push(Change::Add(Metric::ExclusiveCpus, count(cpus)));
        if self.is_in_one_cache(cpus) {
            changes.push(Change::Add(Metric::Aligned(Aligned::UncoreCache), 1));
        }
        self.set_per_node(held, changes);
    }

    fn set_per_node(&self, held: &CpuSet, changes: &mut Vec<Change>) {
        for node in &self.nodes {
            let here = held.intersection_len(&node.cpus);
            if here > 0 {
                let here = i64::try_from(here).unwrap_or(i64::MAX);
                changes.push(Change::Set(Metric::AllocationPerNode(node.id), here));
            }
        }
    }

    /// Counts what exists only where pod-level resources are managed.
    fn count(&self, metric: Metric, by: u32, changes: &mut Vec<Change>) {
        match self.pod_level {
            PodLevel::Managed if by > 0 => changes.push(Change::Add(metric, i64::from(by))),
            PodLevel::Managed | PodLevel::Ignored | PodLevel::Unread | PodLevel::NotPinned => {}
        }
    }
}

fn count(cpus: &CpuSet) -> i64 {
    i64::try_from(cpus.len()).unwrap_or(i64::MAX)
}
