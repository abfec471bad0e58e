//! What you implement to align something else: a NIC, a CNI attachment, a licence dongle.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;

use pod_spec::{Holder, Unit};
use topology_model::Nodes;

use crate::{Affinity, Answers};

/// What a provider granted to one container, or to a pod as a whole, as bytes that only the provider reads.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Grant(pub Box<[u8]>);

/// All that a provider has granted.
pub type Held = BTreeMap<Holder, Grant>;

/// Why a provider cannot serve.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The admission reason; `None` is reported as the kubelet's `UnexpectedAdmissionError`.
    pub reason: Option<String>,
    /// What a person reads.
    pub message: String,
}

/// A provider of resources with NUMA affinity. Pure: the machine's NUMA nodes and what it has granted are handed in, what it
/// grants is handed out, and the caller keeps the books. So one provider serves every machine.
///
/// A card with four queues on each NUMA node, of whatever machine:
///
/// ```
/// use topology_hint::numa_bitmask::{NodeIndex, NodeMask};
/// use topology_hint::pod_spec::{Container, Pod, Unit};
/// use topology_hint::topology_model::{NodeId, Nodes};
/// use topology_hint::{Affinity, Answer, Answers, Grant, Held, Provider, Refusal};
///
/// struct Cards;
///
/// impl Cards {
///     /// Free queues on each node. A grant is the list of nodes whose queues it has.
///     fn free(nodes: &Nodes, held: &Held) -> impl Iterator<Item = (NodeMask, u64)> {
///         let taken = |node: NodeIndex| {
///             let queues = held.values().flat_map(|grant| grant.0.iter());
///             queues.filter(move |at| usize::from(**at) == node.get()).count() as u64
///         };
///         nodes.all().iter().map(move |node| (NodeMask::single(node), 4 - taken(node)))
///     }
///
///     fn asked(unit: Unit<'_>) -> u64 {
///         let Unit::Container(_, container) = unit else { return 0 };
///         let queues = container.limits.get("acme.com/queue").and_then(|queues| queues.as_int64());
///         queues.and_then(|queues| u64::try_from(queues).ok()).unwrap_or(0)
///     }
/// }
///
/// impl Provider for Cards {
///     fn name(&self) -> &str {
///         "cards"
///     }
///
///     fn hints(&self, nodes: &Nodes, held: &Held, unit: Unit<'_>, answers: &mut Answers) {
///         let asked = Self::asked(unit);
///         if asked > 0 {
///             let mut family = answers.push_family("acme.com/queue");
///             // One card would do for four queues if it were free.
///             let size = asked.div_ceil(4) as u32;
///             family.open(nodes.all()).need(asked, Self::free(nodes, held));
///             family.preferred_size(size);
///         }
///     }
///
///     fn allocate(
///         &self,
///         nodes: &Nodes,
///         held: &Held,
///         unit: Unit<'_>,
///         affinity: Affinity,
///     ) -> Result<Option<Grant>, Refusal> {
///         let asked = Self::asked(unit) as usize;
///         if asked == 0 {
///             return Ok(None);
///         }
///         let near = affinity.nodes().unwrap_or(nodes.all());
///         // The near queues first.
///         let mut free: Vec<_> = Self::free(nodes, held).collect();
///         free.sort_by_key(|(node, _)| !node.meets(near));
///         let queues = free.into_iter().flat_map(|(node, count)| (0..count).filter_map(move |_| node.first()));
///         let taken: Box<[u8]> = queues.take(asked).map(|node| node.get() as u8).collect();
///         if taken.len() < asked {
///             let message = format!("{asked} queues wanted, {} free", taken.len());
///             return Err(Refusal { reason: None, message });
///         }
///         Ok(Some(Grant(taken)))
///     }
/// }
///
/// let nodes = Nodes::new([0, 1].map(NodeId))?;
/// let pod = Pod::new("default", "router", vec![Container::guaranteed("app", [("acme.com/queue", "3")])?]);
/// let unit = Unit::Container(&pod, &pod.containers[0]);
///
/// // Another pod has two queues of node 0, so three are left on node 1 only, and both nodes would do together.
/// let other = Pod::new("default", "other", vec![pod.containers[0].clone()]);
/// let holder = Unit::Container(&other, &other.containers[0]).holder();
/// let held = Held::from([(holder, Grant([0, 0].into()))]);
/// let mut answers = Answers::new();
/// Cards.hints(&nodes, &held, unit, &mut answers);
/// let Some((_, Answer::Family(queues))) = answers.get(0) else { panic!("one family is pushed") };
/// assert_eq!(queues.accepts(NodeMask::of([0])), None);
/// assert!(queues.accepts(NodeMask::of([1])).is_some());
/// let granted = Cards.allocate(&nodes, &held, unit, Affinity::Nodes(NodeMask::of([1])));
/// assert_eq!(granted, Ok(Some(Grant([1, 1, 1].into()))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Provider {
    /// The name under which it appears in traces.
    fn name(&self) -> &str;

    /// Pushes one answer for each of its resources that `unit` asks for; none if it has no opinion. `nodes` are the
    /// machine's NUMA nodes, by which ids become positions.
    fn hints(&self, nodes: &Nodes, held: &Held, unit: Unit<'_>, answers: &mut Answers);

    /// What `unit` is given near `affinity`. `None`: it asks for nothing of this provider. The unit is a pod only
    /// where pods with resources at pod level are served as a whole; under scope `pod` too it is a container otherwise.
    fn allocate(
        &self,
        nodes: &Nodes,
        held: &Held,
        unit: Unit<'_>,
        affinity: Affinity,
    ) -> Result<Option<Grant>, Refusal>;
}
