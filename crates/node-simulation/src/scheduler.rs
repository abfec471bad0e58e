//! Which machine a pod is sent to. Every scheduler but [`Scheduler::Blind`] begins with sums, as kube-scheduler does.
//!
//! A resource that a machine does not have is zero there, as in kube-scheduler's `NodeResourcesFit`: extended resources
//! and huge pages that a node does not report never attract the pods that ask for them. Ephemeral storage alone is not
//! looked at, since no machine says how much it has.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use pod_spec::{Amounts, Overhead, Pod, ResourceName};

use crate::host::Host;
use crate::workload::Template;

/// How pods are sent to machines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Scheduler {
    /// To the machine with the largest free shares of CPU and memory, among those that have enough in sum:
    /// Kubernetes' own default.
    #[default]
    Spread,
    /// To the one with the smallest.
    Pack,
    /// To one machine after the other, whatever they have. A machine admits pods that ask for a resource without a
    /// device plugin there, as a kubelet does.
    Blind,
    /// To the machine with the best score of `scheduler-extender`, among those that would admit the pod by the kubelet's own
    /// rules.
    Topolet,
    /// As [`Scheduler::Spread`], among those that pass `NodeResourceTopologyMatch` of the scheduler plugins.
    TopologyMatch,
    /// Among those that pass plugin `numa` of KAI-Scheduler: to the one where the pod is on the fewest NUMA nodes, then as
    /// [`Scheduler::Pack`].
    Kai,
}

impl Scheduler {
    /// The name in scenarios and outputs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Spread => "spread",
            Self::Pack => "pack",
            Self::Blind => "blind",
            Self::Topolet => "topolet",
            Self::TopologyMatch => "topology-match",
            Self::Kai => "kai",
        }
    }

    /// Whether it never sends a pod to a machine without a resource that the pod asks for.
    #[must_use]
    pub const fn knows_sums(self) -> bool {
        !matches!(self, Self::Blind)
    }
}

/// What a pod needs in sum, by position among the resources that any pod asks for. CPUs in thousandths.
pub(crate) type RequestSums = Vec<i64>;

/// The resources that any pod asks for.
#[derive(Debug)]
pub(crate) struct ResourceIndex {
    resources: Vec<ResourceName>,
    /// Positions of `cpu` and `memory`, by which machines are compared.
    compared: Vec<usize>,
}

/// What the scheduler knows of one machine.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    /// `None`: not looked at.
    capacity: Vec<Option<i64>>,
    used: Vec<i64>,
    pods: i64,
    most_pods: i64,
}

impl ResourceIndex {
    pub(crate) fn new(templates: &[Template]) -> Self {
        let asked = templates.iter().flat_map(|template| {
            let containers = template.pod.containers.iter();
            let own = template.pod.resources.iter().flat_map(|own| own.requests.keys());
            containers
                .flat_map(|container| container.requests.keys())
                .chain(own)
                .chain(template.pod.overhead.keys())
        });
        let resources: Vec<ResourceName> = asked.cloned().collect::<BTreeSet<_>>().into_iter().collect();
        let compared =
            resources.iter().enumerate().filter(|(_, name)| matches!(name.as_str(), "cpu" | "memory"));
        Self { compared: compared.map(|(at, _)| at).collect(), resources }
    }

    /// Of a pod as it is sent to the machine: what it claims is in no sum.
    pub(crate) fn needs(&self, host: &Host<'_>, template: &Template) -> RequestSums {
        self.needs_of(host, &host.sent(&template.pod))
    }

    fn needs_of(&self, host: &Host<'_>, pod: &Pod) -> RequestSums {
        let asked = pod.effective(Amounts::Requests, host.node.pod_level().counts(), Overhead::Added);
        let need = |name: &ResourceName| asked.get(name).map_or(0, |amount| units(name, amount));
        self.resources.iter().map(need).collect()
    }

    /// What of the sums are CPUs, in thousandths.
    pub(crate) fn cpus(&self, sums: &RequestSums) -> i64 {
        let at = self.resources.iter().position(|name| name.as_str() == "cpu");
        at.and_then(|at| sums.get(at)).copied().unwrap_or(0)
    }

    pub(crate) fn account(&self, host: &Host<'_>) -> Account {
        Account {
            capacity: self.capacity(host).collect(),
            used: alloc::vec![0; self.resources.len()],
            pods: 0,
            most_pods: host.most_pods(),
        }
    }

    /// What a machine has for pods of each resource; `None`: not looked at.
    pub(crate) fn capacity<'a>(&'a self, host: &'a Host<'_>) -> impl Iterator<Item = Option<i64>> + 'a {
        self.resources.iter().map(|name| capacity(host, name))
    }

    /// How much a machine would be left with, in hundredths of CPU and memory together; `None` if it has too little.
    pub(crate) fn left(&self, account: &Account, needs: &RequestSums) -> Option<i64> {
        let enough = |((used, needed), capacity): ((&i64, &i64), &Option<i64>)| {
            *needed == 0 || capacity.is_none_or(|capacity| used.saturating_add(*needed) <= capacity)
        };
        if account.pods >= account.most_pods
            || !account.used.iter().zip(needs).zip(&account.capacity).all(enough)
        {
            return None;
        }
        let left = |at: &usize| {
            let capacity = account.capacity.get(*at).copied().flatten().filter(|capacity| *capacity > 0)?;
            let used = account.used.get(*at)?.saturating_add(*needs.get(*at)?);
            // In 128 bits: a hundred times a machine's bytes need not fit 64.
            let share = i128::from(capacity.saturating_sub(used)) * 100 / i128::from(capacity);
            i64::try_from(share).ok()
        };
        Some(self.compared.iter().filter_map(left).sum())
    }
}

impl Account {
    pub(crate) fn enter(&mut self, needs: &RequestSums) {
        self.pods += 1;
        for (used, needed) in self.used.iter_mut().zip(needs) {
            *used = used.saturating_add(*needed);
        }
    }

    pub(crate) fn leave(&mut self, needs: &RequestSums) {
        self.pods -= 1;
        for (used, needed) in self.used.iter_mut().zip(needs) {
            *used = used.saturating_sub(*needed);
        }
    }
}

/// The resources of which a pod asks for some and a machine has none, so that a scheduler that
/// [knows sums](Scheduler::knows_sums) never sends it there; in ascending order.
#[must_use]
pub fn lacking(host: &Host<'_>, template: &Template) -> Vec<ResourceName> {
    let books = ResourceIndex::new(core::slice::from_ref(template));
    let needs = books.needs_of(host, &template.pod);
    let asked = books.resources.iter().zip(needs).filter(|(_, needed)| *needed > 0);
    asked.filter(|(name, _)| capacity(host, name) == Some(0)).map(|(name, _)| name.clone()).collect()
}

/// What a machine has of a resource for pods; `None`: not looked at.
fn capacity(host: &Host<'_>, name: &ResourceName) -> Option<i64> {
    match (host.node.allocatable().get(name.as_str()), host.healthy(name)) {
        (Some(amount), _) => Some(units(name, amount)),
        (None, Some(healthy)) => Some(i64::try_from(healthy).unwrap_or(i64::MAX)),
        (None, None) => (name.as_str() != "ephemeral-storage").then_some(0),
    }
}

/// Thousandths of a CPU, whole units of all else; rounded up.
fn units(name: &ResourceName, amount: &k8s_quantity::Quantity) -> i64 {
    if name.as_str() == "cpu" { amount.milli_value() } else { amount.value() }
}
