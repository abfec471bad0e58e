//! What is counted.

use std::time::Duration;

use node_config::DecidedBy;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use scheduler_extender::{Judgement, Knowledge, Size};

use crate::conditions::ServiceCondition::{Asked as Asks, AskersCertified, FilesUsed};
use crate::conditions::{ServiceCondition, ServiceConditions};

/// Upper bounds of times in seconds.
const SECONDS: [f64; 12] = [0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0];

/// All metrics.
pub(crate) struct Metrics {
    registry: Registry,
    mispredictions: Family<ReasonLabel, Counter>,
    filters: Histogram,
    waits: Histogram,
    judged: Family<BasisLabel, Counter>,
    failed: Family<BasisLabel, Counter>,
    late: Counter,
    preemptions: Counter,
    nodes: Gauge,
    situations: Gauge,
    assumed: Gauge,
    decided_by: Family<ProgramLabel, Gauge>,
    insecure: Gauge,
    forbidden: Counter,
    failed_handshakes: Counter,
    unusable_files: Gauge,
    waiting: Gauge,
    bound_unasked: Gauge,
    unasked: Gauge,
}

/// What is true of the pods right now.
pub(crate) struct Asked {
    /// Pods that wait for a node.
    pub(crate) waiting: usize,
    /// Pods that were bound without a question here.
    pub(crate) bound_unasked: u64,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct ReasonLabel {
    reason: String,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct ProgramLabel {
    program: &'static str,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct BasisLabel {
    basis: &'static str,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut metrics = Self {
            registry: Registry::default(),
            mispredictions: Family::default(),
            filters: Histogram::new(SECONDS),
            waits: Histogram::new(SECONDS),
            judged: Family::default(),
            failed: Family::default(),
            late: Counter::default(),
            preemptions: Counter::default(),
            nodes: Gauge::default(),
            situations: Gauge::default(),
            assumed: Gauge::default(),
            decided_by: Family::default(),
            insecure: Gauge::default(),
            forbidden: Counter::default(),
            failed_handshakes: Counter::default(),
            unusable_files: Gauge::default(),
            waiting: Gauge::default(),
            bound_unasked: Gauge::default(),
            unasked: Gauge::default(),
        };
        let registry = &mut metrics.registry;
        // `_total` is added when they are written.
        registry.register(
            "topolet_scheduler_mispredictions",
            "Pods that a node refused though they had passed here, by the kubelet's reason.",
            metrics.mispredictions.clone(),
        );
        registry.register(
            "topolet_scheduler_filter_seconds",
            "Time to answer which nodes a pod fits, waiting for other pods' bindings included.",
            metrics.filters.clone(),
        );
        registry.register(
            "topolet_scheduler_wait_seconds",
            "Time from the head of a question until a thread works on it: for its body, and for other questions.",
            metrics.waits.clone(),
        );
        registry.register(
            "topolet_scheduler_nodes_judged",
            "Answers on one node, by what is known of it.",
            metrics.judged.clone(),
        );
        registry.register(
            "topolet_scheduler_nodes_failed",
            "Those of them that a pod does not fit.",
            metrics.failed.clone(),
        );
        registry.register(
            "topolet_scheduler_nodes_not_looked_at",
            "Nodes for which there was no time.",
            metrics.late.clone(),
        );
        registry.register(
            "topolet_scheduler_preemptions",
            "Times that it was asked which pods make room for another one.",
            metrics.preemptions.clone(),
        );
        registry.register(
            "topolet_scheduler_nodes",
            "Nodes of which something is known.",
            metrics.nodes.clone(),
        );
        registry.register(
            "topolet_scheduler_node_states",
            "Different states that they are in.",
            metrics.situations.clone(),
        );
        registry.register(
            "topolet_scheduler_assumed_pods",
            "Bound pods that their node has not reported yet.",
            metrics.assumed.clone(),
        );
        registry.register(
            "topolet_scheduler_nodes_decided_by",
            "Nodes whose state is read, by the program that decides there.",
            metrics.decided_by.clone(),
        );
        metrics.register_asking();
        metrics
    }

    /// Metrics that show which clients ask, and whether any does.
    fn register_asking(&mut self) {
        let registry = &mut self.registry;
        registry.register(
            "topolet_scheduler_insecure_http",
            "1 if every user of this host can query the extender over plain HTTP.",
            self.insecure.clone(),
        );
        registry.register(
            "topolet_scheduler_forbidden",
            "Questions without a client certificate that is accepted.",
            self.forbidden.clone(),
        );
        registry.register(
            "topolet_scheduler_failed_handshakes",
            "Connections that ended before a question, such as for a client certificate that has expired.",
            self.failed_handshakes.clone(),
        );
        registry.register(
            "topolet_scheduler_tls_files_unusable",
            "1 while the files of TLS have changed and cannot be used: the former ones are.",
            self.unusable_files.clone(),
        );
        registry.register(
            "topolet_scheduler_waiting_pods",
            "Pods that wait for a node.",
            self.waiting.clone(),
        );
        registry.register(
            "topolet_scheduler_bound_unasked",
            "Pods that were bound since the start without a question.",
            self.bound_unasked.clone(),
        );
        registry.register(
            "topolet_scheduler_unasked",
            "1 while kube-scheduler has not asked for five minutes though pods wait or were bound.",
            self.unasked.clone(),
        );
    }

    /// A request came without an accepted client certificate.
    pub(crate) fn forbidden(&self) {
        self.forbidden.inc();
    }

    pub(crate) fn failed_handshake(&self) {
        self.failed_handshakes.inc();
    }

    pub(crate) fn mispredicted(&self, reason: &str) {
        self.mispredictions.get_or_create(&ReasonLabel { reason: reason.to_owned() }).inc();
    }

    pub(crate) fn filtered(&self, took: Duration) {
        self.filters.observe(took.as_secs_f64());
    }

    pub(crate) fn waited(&self, time: Duration) {
        self.waits.observe(time.as_secs_f64());
    }

    /// A node has been judged for a pod.
    pub(crate) fn judged(&self, judgement: &Judgement) {
        let label = BasisLabel {
            basis: match judgement.basis {
                Knowledge::Exact => "exact",
                Knowledge::Approximate => "approximate",
                Knowledge::Unknown => "unknown",
            },
        };
        self.judged.get_or_create(&label).inc();
        if !judgement.verdict.fits() {
            self.failed.get_or_create(&label).inc();
        }
    }

    /// A node's state says by whom it is decided there; `None`: it does not say it.
    pub(crate) fn decides(&self, program: Option<DecidedBy>) {
        self.deciders(program).inc();
    }

    /// The state of a node that named this program is gone.
    pub(crate) fn decides_no_more(&self, program: Option<DecidedBy>) {
        self.deciders(program).dec();
    }

    fn deciders(&self, program: Option<DecidedBy>) -> Gauge {
        let program = program.map_or("unknown", DecidedBy::name);
        self.decided_by.get_or_create(&ProgramLabel { program }).clone()
    }

    pub(crate) fn not_looked_at(&self, nodes: usize) {
        self.late.inc_by(nodes as u64);
    }

    pub(crate) fn asked_to_preempt(&self) {
        self.preemptions.inc();
    }

    /// In the text format of Prometheus.
    pub(crate) fn text(&self, size: Size, asked: &Asked, conditions: &ServiceConditions) -> String {
        let set = |gauge: &Gauge, number: usize| gauge.set(i64::try_from(number).unwrap_or(i64::MAX));
        set(&self.nodes, size.nodes);
        set(&self.situations, size.situations);
        set(&self.assumed, size.assumed);
        set(&self.waiting, asked.waiting);
        self.bound_unasked.set(i64::try_from(asked.bound_unasked).unwrap_or(i64::MAX));
        let fails = |of: ServiceCondition| i64::from(!conditions.wrong(of).is_empty());
        self.insecure.set(fails(AskersCertified));
        self.unusable_files.set(fails(FilesUsed));
        self.unasked.set(fails(Asks));
        let mut text = String::new();
        // Writing to a text does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
