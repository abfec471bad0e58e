//! The node: machine, configuration and rules, checked once and never changed.

pub(crate) mod start;
pub(crate) mod identity;
mod demands;
pub(crate) mod fit;
pub(crate) mod compat;
pub(crate) mod pod_policy;
pub(crate) mod choice_error;
pub(crate) mod room;
pub(crate) mod claim_hints;

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use device_manager::{Devices, Inventory, Links};
use node_config::{
    Amounts, ClaimHints, KubeletConfiguration, OwnOptions, Placement, PodPolicy, Resize, Scope, TieBreak,
    TopologyConfig, TopologyPolicyName,
};
use pod_spec::{PodLevel, PodRules};
use topology_hint::Provider;
use topology_model::{KubeletView, Nodes};
use topology_policy::{Distances, KubeletPolicy};

use crate::ledger::Ledger;
use crate::node::compat::Compat;
use crate::node::identity::Identity;

/// What a node is put together from.
#[derive(Debug)]
pub struct NodeSetup {
    /// The NUMA nodes.
    pub nodes: Nodes,
    /// Distance rows of the nodes in ascending id order; `None`: not known.
    pub distances: Vec<Option<Vec<u64>>>,
    /// Policy, scope and options.
    pub topology: TopologyConfig,
    /// The CPU manager; `None`: policy `none`.
    pub cpus: Option<cpu_manager::Static>,
    /// The memory manager; `None`: policy `None`.
    pub memory: Option<memory_manager::Static>,
    /// What pods can use of the node in all, devices left out. Of a resource of Kubernetes' own that is not in it
    /// there is none, except for `pods` and `ephemeral-storage`, which are not checked then; an extended resource that
    /// no device plugin has is not checked, as in the kubelet.
    pub allocatable: Amounts,
    /// What resources at pod level mean.
    pub pod_level: PodLevel,
    /// How pods are classified; [`pod_level`](Self::pod_level) says whether resources at pod level count.
    pub pod_rules: PodRules,
    /// What the kubelet's release decides by.
    pub rules: node_config::Rules,
    /// Where this is not the kubelet.
    pub compat: Compat,
    /// Options of this project's own. Those of the managers have been given to them when they were made.
    pub options: OwnOptions,
}

/// What a node was started from.
#[derive(Clone, PartialEq, Debug)]
pub struct Origin {
    /// The machine.
    pub view: KubeletView,
    /// The configuration.
    pub config: KubeletConfiguration,
}

/// Whether a kubelet keeps the requests and limits with which it has admitted each pod, in separate files.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PodAllocations {
    /// It does, and starts from nothing else.
    #[default]
    Kept,
    /// It neither reads nor writes the files: up to 1.34 with feature gate `InPlacePodVerticalScaling` off.
    Forgotten,
}

/// One node. Immutable, and shared by all attempts.
#[derive(Clone)]
pub struct Node {
    pub(crate) nodes: Nodes,
    pub(crate) policy: KubeletPolicy,
    pub(crate) scope: Scope,
    pub(crate) distances: Option<Distances>,
    pub(crate) cpus: Option<cpu_manager::Static>,
    pub(crate) memory: Option<memory_manager::Static>,
    pub(crate) devices: Devices,
    pub(crate) allocatable: Amounts,
    pub(crate) pod_level: PodLevel,
    pub(crate) pod_rules: PodRules,
    pub(crate) kubelet_rules: node_config::Rules,
    pub(crate) identity: Option<Identity>,
    pub(crate) pod_allocations: PodAllocations,
    pub(crate) others: Vec<Arc<dyn Provider + Send + Sync>>,
    pub(crate) compat: Compat,
    pub(crate) origin: Option<Arc<Origin>>,
    pub(crate) options: OwnOptions,
    pub(crate) links: Option<Arc<Links>>,
    /// The links that stay whole where that can be.
    pub(crate) keep_whole: Option<Arc<Links>>,
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let others: Vec<_> = self.others.iter().map(|provider| provider.name()).collect();
        f.debug_struct("Node")
            .field("nodes", &self.nodes)
            .field("policy", &self.policy)
            .field("scope", &self.scope)
            .field("others", &others)
            .finish_non_exhaustive()
    }
}

impl Node {
    /// What it was started from; `None` where it was made of parts ([`Node::new`]).
    #[must_use]
    pub fn origin(&self) -> Option<&Origin> {
        self.origin.as_deref()
    }

    /// Where it is not the kubelet.
    #[must_use]
    pub const fn compat(&self) -> Compat {
        self.compat
    }

    /// The node of `setup`, whose parts have been checked when they were made.
    #[must_use]
    pub fn new(setup: NodeSetup) -> Self {
        let distances = (setup.topology.ties == TieBreak::Closest).then(|| {
            let rows = setup.nodes.ids().map(|id| id.0).zip(setup.distances);
            Distances::new(rows, setup.compat.distance_index)
        });
        Self {
            policy: by_name(setup.topology.policy),
            scope: setup.topology.scope,
            nodes: setup.nodes,
            distances,
            cpus: setup.cpus,
            memory: setup.memory,
            devices: Devices::new(&setup.rules, setup.compat.blocked_devices),
            allocatable: setup.allocatable,
            pod_level: setup.pod_level,
            pod_rules: PodRules { pod_level: setup.pod_level.counts(), ..setup.pod_rules },
            kubelet_rules: setup.rules,
            identity: None,
            pod_allocations: PodAllocations::Kept,
            others: Vec::new(),
            compat: setup.compat,
            origin: None,
            options: setup.options,
            links: None,
            keep_whole: None,
        }
    }

    /// The node with a provider of the caller, which is asked after the kubelet's three. Its grants are kept as
    /// bytes that only it reads, and take part in attempts, commits, releases and explanations.
    ///
    /// A network card with two queues on each NUMA node, of whatever machine:
    ///
    /// ```
    /// use node_config::KubeletConfiguration;
    /// use numa_bitmask::NodeMask;
    /// use pod_spec::{Container, Pod, Unit};
    /// use topology_admission::{Change, Detail, Node, Tries, Verdict};
    /// use topology_hint::{Affinity, Answers, Grant, Held, Provider, Refusal};
    /// use topology_model::{KubeletView, MachineInfo, Nodes};
    ///
    /// /// A queue that a container has: its NUMA node by position, and its number there.
    /// #[derive(Clone, Copy, PartialEq)]
    /// struct Queue {
    ///     node: u8,
    ///     number: u8,
    /// }
    ///
    /// impl Queue {
    ///     fn of(grant: &Grant) -> Self {
    ///         Self { node: grant.0[0], number: grant.0[1] }
    ///     }
    ///
    ///     fn grant(self) -> Grant {
    ///         Grant([self.node, self.number].into())
    ///     }
    ///
    ///     fn free(nodes: &Nodes, held: &Held) -> impl Iterator<Item = Self> {
    ///         let node = nodes.all().iter().map(|node| node.get() as u8);
    ///         let all = node.flat_map(|node| [0, 1].map(|number| Self { node, number }));
    ///         all.filter(|queue| !held.values().any(|grant| Self::of(grant) == *queue))
    ///     }
    ///
    ///     fn place(self) -> NodeMask {
    ///         NodeMask::from_bits(1 << self.node)
    ///     }
    /// }
    ///
    /// /// Each container that asks for `acme.com/queue` gets one.
    /// struct Nic;
    ///
    /// fn asks(unit: Unit<'_>) -> bool {
    ///     matches!(unit, Unit::Container(_, container) if container.limits.contains_key("acme.com/queue"))
    /// }
    ///
    /// impl Provider for Nic {
    ///     fn name(&self) -> &str {
    ///         "nic"
    ///     }
    ///
    ///     fn hints(&self, nodes: &Nodes, held: &Held, unit: Unit<'_>, answers: &mut Answers) {
    ///         if asks(unit) {
    ///             let free = Queue::free(nodes, held).map(|queue| (queue.place(), 1));
    ///             answers.push_family("acme.com/queue").open(nodes.all()).need(1, free).preferred_size(1);
    ///         }
    ///     }
    ///
    ///     fn allocate(
    ///         &self,
    ///         nodes: &Nodes,
    ///         held: &Held,
    ///         unit: Unit<'_>,
    ///         near: Affinity,
    ///     ) -> Result<Option<Grant>, Refusal> {
    ///         if !asks(unit) {
    ///             return Ok(None);
    ///         }
    ///         let near = near.nodes().unwrap_or(nodes.all());
    ///         let mut free: Vec<Queue> = Queue::free(nodes, held).collect();
    ///         free.sort_by_key(|queue| !queue.place().meets(near));
    ///         let Some(queue) = free.first() else {
    ///             return Err(Refusal { reason: None, message: "no queue is free".into() });
    ///         };
    ///         Ok(Some(queue.grant()))
    ///     }
    /// }
    ///
    /// let info: MachineInfo = "pack:2 [numa(memory=8GiB)] core:4 pu:1".parse()?;
    /// let text = |text: &str| Some(text.to_owned());
    /// let config = KubeletConfiguration {
    ///     cpu_manager_policy: text("static"),
    ///     reserved_system_cpus: text("0"),
    ///     topology_manager_policy: text("single-numa-node"),
    ///     ..KubeletConfiguration::default()
    /// };
    /// let node = Node::start(&KubeletView::new(&info)?, &config)?.with_provider(Nic);
    /// let limits = [("cpu", "1"), ("memory", "1Gi"), ("acme.com/queue", "1")];
    /// let app = Container::guaranteed("app", limits)?;
    /// let pod = |name| Pod::new("default", name, vec![app.clone()]);
    ///
    /// // The first two have the queues of node 0, the CPUs follow the card to node 1 then.
    /// let mut ledger = node.empty_ledger();
    /// let mut cpus = Vec::new();
    /// for name in ["a", "b", "c", "d"] {
    ///     let attempt = node.admission(&ledger, &pod(name)).attempt();
    ///     match &attempt.verdict {
    ///         Verdict::Admitted(placement) => {
    ///             let granted = placement.containers[0].cpus.as_ref().and_then(|granted| granted.exclusive());
    ///             cpus.extend(granted.map(ToString::to_string));
    ///         }
    ///         Verdict::Refused(refused) => panic!("{name}: {}", refused.message),
    ///         Verdict::NeedsPlugin(question) => panic!("{name}: the plugin of {} is asked", question.resource()),
    ///     }
    ///     ledger = ledger.commit(attempt)?;
    /// }
    /// assert_eq!(cpus, ["1", "2", "4", "5"]);
    /// let held = ledger.held_by("nic").map(|(holder, grant)| (holder.pod().to_string(), Queue::of(grant).node));
    /// let expected = [("a", 0), ("b", 0), ("c", 1), ("d", 1)].map(|(name, node)| (format!("default_{name}"), node));
    /// assert_eq!(held.collect::<Vec<_>>(), expected);
    ///
    /// // A fifth has to wait for any of them.
    /// let fifth = pod("e");
    /// let admission = node.admission(&ledger, &fifth);
    /// let (attempt, trace) = admission.trace(Detail::Short);
    /// match &attempt.verdict {
    ///     Verdict::Refused(refused) => {
    ///         let explained = admission.explain(refused, &trace, Tries::default());
    ///         assert_eq!(explained.would_fit[0].change, Change::Wait(vec!["default_a".into()]));
    ///     }
    ///     Verdict::Admitted(_) | Verdict::NeedsPlugin(_) => panic!("no queue is left"),
    /// }
    /// let ledger = ledger.release(&"default_a".into());
    /// assert!(matches!(node.admission(&ledger, &fifth).attempt().verdict, Verdict::Admitted(_)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_provider(mut self, provider: impl Provider + Send + Sync + 'static) -> Self {
        self.others.push(Arc::new(provider));
        self
    }

    /// The NUMA nodes.
    #[must_use]
    pub const fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    /// The policy in force, for pods that do not choose one.
    #[must_use]
    pub const fn policy(&self) -> KubeletPolicy {
        self.policy
    }

    /// The scope in force, for pods that do not choose one.
    #[must_use]
    pub const fn scope(&self) -> Scope {
        self.scope
    }

    /// What pods may choose for themselves.
    #[must_use]
    pub const fn pod_policy(&self) -> PodPolicy {
        self.options.pod_policy
    }

    /// What tells node sets apart that the policy ranks equal.
    #[must_use]
    pub const fn placement(&self) -> &Placement {
        &self.options.placement
    }

    /// Whether CPUs and memory follow the devices of claims.
    #[must_use]
    pub fn has_claim_hints(&self) -> bool {
        self.options.claim_hints == ClaimHints::Hint && !self.compat.is_kubelet()
    }

    /// Whether pods that hold CPUs or memory alone can be resized.
    #[must_use]
    pub const fn can_resize_pods(&self) -> bool {
        matches!(self.options.cpu_resize, Resize::Allow)
            || matches!(self.options.memory_resize, Resize::Allow)
    }

    /// The CPU manager; `None`: policy `none`.
    #[must_use]
    pub const fn cpus(&self) -> Option<&cpu_manager::Static> {
        self.cpus.as_ref()
    }

    /// The memory manager; `None`: policy `None`.
    #[must_use]
    pub const fn memory(&self) -> Option<&memory_manager::Static> {
        self.memory.as_ref()
    }

    /// What pods can use of the node in all, devices left out.
    #[must_use]
    pub const fn allocatable(&self) -> &Amounts {
        &self.allocatable
    }

    /// The node with a name, labels and taints, which pods may demand; one without has any.
    #[must_use]
    pub fn with_identity(mut self, identity: Identity) -> Self {
        self.identity = Some(identity);
        self
    }

    /// The name, labels and taints; `None`: unknown, so that no pod is refused for them.
    #[must_use]
    pub const fn identity(&self) -> Option<&Identity> {
        self.identity.as_ref()
    }

    /// What resources at pod level mean.
    #[must_use]
    pub const fn pod_level(&self) -> PodLevel {
        self.pod_level
    }

    /// Whether the kubelet keeps what it has admitted each pod with.
    #[must_use]
    pub const fn pod_allocations(&self) -> PodAllocations {
        self.pod_allocations
    }

    /// How pods are read and classified.
    #[must_use]
    pub const fn pod_rules(&self) -> PodRules {
        self.pod_rules
    }

    /// What the kubelet's release decides by.
    #[must_use]
    pub const fn kubelet_rules(&self) -> &node_config::Rules {
        &self.kubelet_rules
    }

    /// The ledger of a node without devices on which nothing runs.
    #[must_use]
    pub fn empty_ledger(&self) -> Ledger {
        Ledger::new(
            self.cpus.as_ref().map(cpu_manager::Static::initial),
            self.memory.as_ref().map(memory_manager::Static::initial),
            Inventory::new(self.nodes.clone()),
        )
    }
}

const fn by_name(policy: TopologyPolicyName) -> KubeletPolicy {
    match policy {
        TopologyPolicyName::None => KubeletPolicy::None,
        TopologyPolicyName::BestEffort => KubeletPolicy::BestEffort,
        TopologyPolicyName::Restricted => KubeletPolicy::Restricted,
        TopologyPolicyName::SingleNumaNode => KubeletPolicy::SingleNumaNode,
    }
}
