//! Metrics: counters, under the kubelet's names where it has one, and gauges of the node as it is now.
//!
//! Beside a kubelet, which exports its metrics itself, none is exported under its names. Other parts, such as the sockets of
//! plugins, add their metrics. Counters start at 0 with the program: pods that run already are not counted again.

mod claims;
mod exposition;
mod free;
mod kinds;
mod partitions;

use std::time::Duration;

use cpu_manager::{Aligned, Assigned, Change, Metric};
use kubelet_fates::Fate;
use memory_manager::Counted as CountedMemory;
use node_agent::{PodDecision, Snapshot};
use node_config::Scope;
use node_state::Repair;
use parking_lot::Mutex;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use topology_admission::{Cause, PodLevel, Search, Verdict};
use topology_policy::KubeletPolicy;

pub use self::claims::ClaimDevices;
pub use self::exposition::Exposition;
use self::free::Free;
pub(crate) use self::free::Now;
pub use self::kinds::Agreement;
use self::kinds::{
    Alignment, Allocation, Assignment, Assignments, OWN_REASONS, OfCause, OfFate, OfNode, OfReason, Plain,
};
pub use self::partitions::PartitionCounts;
use self::partitions::Partitions;
use crate::served::Mode;
use node_input::LoadedNode;

/// Upper bounds of `kubelet_topology_manager_admission_duration_ms`: 0.05, doubled 14 times.
const ADMISSION_BUCKETS: [f64; 15] =
    [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6, 819.2];
/// Upper bounds of latencies in seconds, from a microsecond on.
const SECONDS: [f64; 15] =
    [1e-6, 2.5e-6, 5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.1, 1.0];

/// All metrics of a daemon.
pub struct Metrics {
    registry: Mutex<Registry>,
    scope: &'static str,
    requests: Counter,
    errors: Counter,
    duration: Histogram,
    aligned: Family<Alignment, Plain>,
    not_aligned: Family<Alignment, Plain>,
    rejections: Family<OfReason, Counter>,
    pinning_requests: Counter,
    pinning_errors: Counter,
    shared_pool: Gauge,
    exclusive_cpus: Gauge,
    per_node: Family<OfNode, Gauge>,
    memory_requests: Counter,
    memory_errors: Counter,
    allocations: Family<Allocation, Counter>,
    allocation_errors: Family<Allocation, Counter>,
    assignments: Assignments,
    attempts: Histogram,
    merges: Histogram,
    admissions: Histogram,
    work_limit: Counter,
    not_written: Counter,
    deferred: Counter,
    drift: Counter,
    partitions: Partitions,
    repairs: Family<OfCause, Counter>,
    observed_refusals: Family<OfReason, Counter>,
    disagreements: Counter,
    observed_fates: Family<OfFate, Counter>,
    claims: claims::Claims,
    free: Free,
}

impl Metrics {
    /// Those of a node that holds what `snapshot` says.
    pub fn new(node: &LoadedNode, snapshot: &Snapshot, mode: Mode) -> Self {
        let metrics = Self {
            registry: Mutex::new(Registry::default()),
            scope: match node.node.scope() {
                Scope::Container => "container",
                Scope::Pod => "pod",
            },
            requests: Counter::default(),
            errors: Counter::default(),
            duration: Histogram::new(ADMISSION_BUCKETS),
            aligned: Family::default(),
            not_aligned: Family::default(),
            rejections: Family::default(),
            pinning_requests: Counter::default(),
            pinning_errors: Counter::default(),
            shared_pool: Gauge::default(),
            exclusive_cpus: Gauge::default(),
            per_node: Family::default(),
            memory_requests: Counter::default(),
            memory_errors: Counter::default(),
            allocations: Family::default(),
            allocation_errors: Family::default(),
            assignments: Assignments::named(node.node.kubelet_rules().metric_prefix),
            attempts: Histogram::new(SECONDS),
            merges: Histogram::new(SECONDS),
            admissions: Histogram::new(SECONDS),
            work_limit: Counter::default(),
            not_written: Counter::default(),
            deferred: Counter::default(),
            drift: Counter::default(),
            partitions: Partitions::default(),
            repairs: Family::default(),
            observed_refusals: Family::default(),
            disagreements: Counter::default(),
            observed_fates: all_fates(),
            claims: claims::Claims::default(),
            free: Free::default(),
        };
        metrics.add(|registry| {
            match mode {
                Mode::Serve => {
                    metrics.register_kubelets(registry, node.node.pod_level());
                    metrics.register_own(registry);
                }
                Mode::Observe => metrics.register_observed(registry),
            }
            metrics.free.register(registry, mode);
        });
        if node.node.policy() != KubeletPolicy::None {
            for scope in ["container", "pod"] {
                let _ = metrics.aligned.get_or_create(&Alignment::new(scope, "numa_node"));
                let _ = metrics.not_aligned.get_or_create(&Alignment::new(scope, "numa_node"));
            }
        }
        if let (Some(policy), Some(held)) = (node.node.cpus(), snapshot.ledger.cpus()) {
            metrics.cpus(&policy.metrics_at_start(held));
        }
        metrics
    }

    /// Registers the metrics of another part.
    pub fn add(&self, register: impl FnOnce(&mut Registry)) {
        register(&mut self.registry.lock());
    }

    /// All metrics as text, with the gauges set to `now`.
    pub(crate) fn text(&self, exposition: Exposition, now: &Now<'_>) -> String {
        let registry = self.registry.lock();
        self.free.set(now);
        exposition.write(&registry)
    }

    fn register_kubelets(&self, to: &mut Registry, pod_level: PodLevel) {
        // `_total` is left out of counters' names, and added when they are written.
        to.register(
            "kubelet_topology_manager_admission_requests",
            "[ALPHA] The number of admission requests where resources have to be aligned.",
            self.requests.clone(),
        );
        to.register(
            "kubelet_topology_manager_admission_errors",
            "[ALPHA] The number of admission request failures where resources could not be aligned.",
            self.errors.clone(),
        );
        to.register(
            "kubelet_topology_manager_admission_duration_ms",
            "[ALPHA] Duration in milliseconds to serve a pod admission request.",
            self.duration.clone(),
        );
        to.register(
            "kubelet_container_aligned_compute_resources_count",
            "[ALPHA] Cumulative number of aligned compute resources allocated to containers by alignment type.",
            self.aligned.clone(),
        );
        to.register(
            "kubelet_container_aligned_compute_resources_failure_count",
            "[ALPHA] Cumulative number of failures to allocate aligned compute resources to containers by alignment type.",
            self.not_aligned.clone(),
        );
        to.register(
            "kubelet_admission_rejections",
            "[ALPHA] Cumulative number pod admission rejections by the Kubelet.",
            self.rejections.clone(),
        );
        to.register(
            "kubelet_cpu_manager_pinning_requests",
            "[ALPHA] The number of cpu core allocations which required pinning.",
            self.pinning_requests.clone(),
        );
        to.register(
            "kubelet_cpu_manager_pinning_errors",
            "[ALPHA] The number of cpu core allocations which required pinning failed.",
            self.pinning_errors.clone(),
        );
        to.register(
            "kubelet_cpu_manager_shared_pool_size_millicores",
            "[ALPHA] The size of the shared CPU pool for non-guaranteed QoS pods, in millicores.",
            self.shared_pool.clone(),
        );
        to.register(
            "kubelet_cpu_manager_exclusive_cpu_allocation_count",
            "[ALPHA] The total number of CPUs exclusively allocated to containers running on this node",
            self.exclusive_cpus.clone(),
        );
        to.register(
            "kubelet_cpu_manager_allocation_per_numa",
            "[ALPHA] Number of CPUs allocated per NUMA node",
            self.per_node.clone(),
        );
        to.register(
            "kubelet_memory_manager_pinning_requests",
            "[ALPHA] The number of memory pages allocations which required pinning.",
            self.memory_requests.clone(),
        );
        to.register(
            "kubelet_memory_manager_pinning_errors",
            "[ALPHA] The number of memory pages allocations which required pinning that failed.",
            self.memory_errors.clone(),
        );
        if pod_level == PodLevel::Managed {
            let prefix = match self.assignments {
                Assignments::Bare(_) => "",
                Assignments::Total(_) => "kubelet_",
            };
            to.register(
                format!("{prefix}resource_manager_allocations"),
                "[ALPHA] Number of exclusive resource allocations performed by a resource manager.",
                self.allocations.clone(),
            );
            to.register(
                format!("{prefix}resource_manager_allocation_errors"),
                "[ALPHA] Number of errors encountered during exclusive resource allocation.",
                self.allocation_errors.clone(),
            );
            let name = format!("{prefix}resource_manager_container_assignments");
            let help = "[ALPHA] Number of containers with a specific type of resource assignment.";
            match &self.assignments {
                Assignments::Bare(family) => to.register(name, help, family.clone()),
                Assignments::Total(family) => to.register(name, help, family.clone()),
            }
        }
    }

    fn register_own(&self, to: &mut Registry) {
        to.register(
            "topolet_attempt_duration_seconds",
            "Time to compute a decision on a pod.",
            self.attempts.clone(),
        );
        to.register(
            "topolet_merge_duration_seconds",
            "Time to merge what the managers answered for one container, or for a pod as a whole.",
            self.merges.clone(),
        );
        to.register(
            "topolet_admission_duration_seconds",
            "Time from the first look at a pod until its decision is safe on disk, plugins included.",
            self.admissions.clone(),
        );
        to.register(
            "topolet_work_limit_reached",
            "Decisions on pods for which the search for NUMA nodes was cut.",
            self.work_limit.clone(),
        );
        to.register(
            "topolet_deferred_pods",
            "Pods that had to wait for device plugins.",
            self.deferred.clone(),
        );
        to.register("topolet_state_write_failures", "Writes of state that failed.", self.not_written.clone());
        to.register(
            "topolet_cpuset_drift",
            "Containers whose CPUs or memory nodes something else had changed.",
            self.drift.clone(),
        );
        to.register(
            "topolet_repairs",
            "Faults of the stored state that were repaired at the start.",
            self.repairs.clone(),
        );
    }

    fn register_observed(&self, to: &mut Registry) {
        to.register(
            "topolet_observe_refusals",
            "Pods that the kubelet refused and that were explained, by the kubelet's reason.",
            self.observed_refusals.clone(),
        );
        to.register(
            "topolet_observe_disagreements",
            "Of them, those that would have been admitted here, or refused for another reason.",
            self.disagreements.clone(),
        );
        to.register(
            "topolet_observe_fates",
            "Pods that a fault of the kubelet concerns, by what happens.",
            self.observed_fates.clone(),
        );
        self.claims.register(to);
    }

    /// Sets the gauges of the devices of claims.
    pub fn claim_devices(&self, found: &[ClaimDevices]) {
        // No reader sees a part of them.
        let _unread = self.registry.lock();
        self.claims.set(found);
    }

    /// A refusal of the kubelet's has been explained.
    pub fn explained(&self, reason: &str, agreement: Agreement) {
        self.observed_refusals.get_or_create(&OfReason::new(reason, &OWN_REASONS)).inc();
        if agreement == Agreement::Otherwise {
            self.disagreements.inc();
        }
    }

    /// A fault of the kubelet concerns a pod.
    pub fn fated(&self, fate: &'static str) {
        self.observed_fates.get_or_create(&OfFate::new(fate)).inc();
    }

    /// A pod has been decided on.
    pub fn decided(&self, decided: &PodDecision) {
        let counted = &decided.counted;
        self.requests.inc_by(counted.requests.into());
        self.errors.inc_by(counted.errors.into());
        // Whole milliseconds, cut off, as in the kubelet.
        self.duration.observe(whole_milliseconds(decided.took));
        self.admissions.observe(decided.took.as_secs_f64());
        self.attempts.observe(decided.worked.as_secs_f64());
        for unit in &decided.trace.units {
            self.merges.observe(unit.took.as_secs_f64());
        }
        let scope = decided.trace.rules.map_or(self.scope, |rules| rules.scope.name());
        let scope = Alignment::new(scope, "numa_node");
        if counted.aligned > 0 {
            self.aligned.get_or_create(&scope).add(counted.aligned.into());
        }
        if counted.not_aligned > 0 {
            self.not_aligned.get_or_create(&scope).add(counted.not_aligned.into());
        }
        self.cpus(&counted.cpus);
        self.memory(&counted.memory);
        let mut is_cut = decided.trace.units.iter().any(|unit| unit.search == Search::Cut);
        if let Verdict::Refused(refused) = &decided.verdict {
            self.rejections.get_or_create(&OfReason::new(&refused.reason.to_string(), &OWN_REASONS)).inc();
            is_cut |= matches!(refused.cause, Cause::MergeFailed(_));
        }
        if is_cut {
            self.work_limit.inc();
        }
    }

    /// The CPU manager's changes.
    pub fn cpus(&self, changes: &[Change]) {
        for change in changes {
            let (metric, by, is_set) = match change {
                Change::Add(metric, by) => (metric, *by, false),
                Change::Set(metric, to) => (metric, *to, true),
            };
            let rises = u64::try_from(by).unwrap_or(0);
            let gauge = |gauge: &Gauge| {
                if is_set {
                    gauge.set(by)
                } else {
                    gauge.inc_by(by)
                };
            };
            match metric {
                Metric::PinningRequests => {
                    self.pinning_requests.inc_by(rises);
                }
                Metric::PinningErrors => {
                    self.pinning_errors.inc_by(rises);
                }
                Metric::SharedPoolMillicores => gauge(&self.shared_pool),
                Metric::ExclusiveCpus => gauge(&self.exclusive_cpus),
                Metric::AllocationPerNode(node) => gauge(&self.per_node.get_or_create(&OfNode::new(*node))),
                Metric::Aligned(to) => {
                    let boundary = match to {
                        Aligned::PhysicalCpu => "physical_cpu",
                        Aligned::UncoreCache => "uncore_cache",
                    };
                    self.aligned.get_or_create(&Alignment::new("container", boundary)).add(rises);
                }
                Metric::AlignmentFailures => {
                    let of = Alignment::new("container", "physical_cpu");
                    self.not_aligned.get_or_create(&of).add(rises);
                }
                Metric::Allocations(source) => {
                    self.allocations
                        .get_or_create(&Allocation::new("cpu", &source.to_string()))
                        .inc_by(rises);
                }
                Metric::AllocationErrors(source) => {
                    let of = Allocation::new("cpu", &source.to_string());
                    self.allocation_errors.get_or_create(&of).inc_by(rises);
                }
                Metric::Assignments(assigned) => {
                    let kind = match assigned {
                        Assigned::NodeExclusive => "node_exclusive",
                        Assigned::PodExclusive => "pod_exclusive",
                        Assigned::PodShared => "pod_shared",
                    };
                    self.assignments.add(&Assignment::new("cpu", kind), rises);
                }
                // A metric that is unknown here is not counted.
                _ => {}
            }
        }
    }

    fn memory(&self, counted: &CountedMemory) {
        self.memory_requests.inc_by(counted.pinning_requests.into());
        self.memory_errors.inc_by(counted.pinning_errors.into());
        // What a pod holds as a whole is counted by containers with other kinds of assignment.
        let source = if counted.pod_exclusive + counted.pod_shared > 0 { "pod" } else { "node" };
        for (family, by) in
            [(&self.allocations, counted.allocations), (&self.allocation_errors, counted.allocation_errors)]
        {
            if by > 0 {
                family.get_or_create(&Allocation::new("memory", source)).inc_by(by.into());
            }
        }
        for (kind, by) in [
            ("node_exclusive", counted.node_exclusive),
            ("pod_exclusive", counted.pod_exclusive),
            ("pod_shared", counted.pod_shared),
        ] {
            if by > 0 {
                self.assignments.add(&Assignment::new("memory", kind), by.into());
            }
        }
    }

    /// The state was repaired at the start.
    pub fn repaired(&self, repairs: &[Repair]) {
        // Kinds without repairs are exported as 0, so that their first increase is seen.
        for kind in node_state::FaultKind::ALL {
            drop(self.repairs.get_or_create(&OfCause::new(kind.name())));
        }
        for repair in repairs {
            self.repairs.get_or_create(&OfCause::new(repair.finding.fault.kind().name())).inc();
        }
    }

    /// Counts containers that other programs had moved.
    pub fn drifted(&self, containers: u64) {
        self.drift.inc_by(containers);
    }

    /// Registers the metrics of partitions, where the node makes them.
    pub fn counts_partitions(&self) {
        self.add(|registry| self.partitions.register(registry));
    }

    /// Counts partitions that were not valid or not released.
    pub fn partition_faults(&self, partitions: usize) {
        self.partitions.faults(partitions);
    }

    /// Sets the gauges of partitions.
    pub fn partitions(&self, found: PartitionCounts) {
        self.partitions.found(found);
    }

    /// Registers the counter of lost log lines.
    pub fn loses_lines(&self, lost: Counter) {
        let help = "Lines of the log that could not be written, or were too many for a reader that is slow.";
        self.add(|registry| registry.register("topolet_log_lines_lost", help, lost));
    }

    /// A pod waits for device plugins.
    pub fn deferred(&self) {
        self.deferred.inc();
    }

    /// State could not be written.
    pub fn not_written(&self) {
        self.not_written.inc();
    }
}

fn all_fates() -> Family<OfFate, Counter> {
    let all = Family::default();
    for kind in Fate::KINDS {
        drop(all.get_or_create(&OfFate::new(kind)));
    }
    all
}

fn whole_milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e3).floor()
}
