//! The policy against the kubelet's own way of doing it, over series of admissions, starts and removals.

use crate::pods::{Node, container, pod, policy};
use crate::slow::{Asked, Model, PAGE, RESOURCES};
use memory_manager::{Block, Holdings, Regrouped, Restored, Static, WrappedTables};
use numa_bitmask::NodeMask;
use pod_spec::{Container, ContainerName, Pod, PodUid, Role, Unit};
use proptest::prelude::*;
use topology_hint::{Affinity, Answer, Answers, Hint, ListedHint, Preference};

/// Amounts are multiples of this, so that they meet often.
const UNIT: u64 = 8 * PAGE;

/// What happens to the node.
#[derive(Clone, Debug)]
enum Event {
    /// A pod of containers comes: role, units of memory, units of huge pages; and where they are wanted.
    Admit(Vec<(Role, u64, Option<u64>)>, Vec<Wanted>),
    /// A container of a pod starts: the numbers are taken from those that there are.
    Start(usize, usize),
    /// A container ends.
    Release(usize, usize),
    /// A pod leaves.
    Gone(usize),
}

#[derive(Clone, Copy, Debug)]
enum Wanted {
    /// One of the own hints.
    Own(usize),
    Anywhere(bool),
    Nodes(u64, bool),
}

fn role() -> impl Strategy<Value = Role> {
    prop_oneof![2 => Just(Role::App), 2 => Just(Role::Init), 1 => Just(Role::Sidecar)]
}

fn wanted() -> impl Strategy<Value = Wanted> {
    prop_oneof![
        3 => (0..8_usize).prop_map(Wanted::Own),
        1 => any::<bool>().prop_map(Wanted::Anywhere),
        1 => (0..32_u64, any::<bool>()).prop_map(|(mask, preferred)| Wanted::Nodes(mask, preferred)),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let container = (role(), 0..24_u64, prop::option::weighted(0.4, 0..6_u64));
    prop_oneof![
        5 => (prop::collection::vec(container, 1..4), prop::collection::vec(wanted(), 4))
            .prop_map(|(containers, wanted)| Event::Admit(containers, wanted)),
        1 => (0..8_usize, 0..4_usize).prop_map(|(pod, container)| Event::Start(pod, container)),
        1 => (0..8_usize, 0..4_usize).prop_map(|(pod, container)| Event::Release(pod, container)),
        2 => (0..8_usize).prop_map(Event::Gone),
    ]
}

/// Nodes with 0 to 20 units of memory, a quarter of them in huge pages; `kept` units are reserved on the first.
fn machine() -> impl Strategy<Value = (Vec<Node>, u64)> {
    let node = (0..20_u64, 0..4_u64).prop_map(|(units, huge)| (units * UNIT, huge * UNIT / PAGE));
    (prop::collection::vec(node, 1..=5), 1..4_u64)
}

/// Both, side by side.
struct Both {
    policy: Static,
    held: Holdings,
    model: Model,
    pods: Vec<Pod>,
    nodes: u64,
}

fn asked(container: &Container) -> Asked {
    RESOURCES.map(|name| {
        let amount = container.requests.get(name)?;
        amount.as_int64().map(i64::cast_unsigned)
    })
}

impl Both {
    fn new(nodes: &[Node], kept: u64) -> Self {
        let policy = policy(nodes, kept.cast_signed(), WrappedTables::Wrap);
        let held = policy.initial();
        let bits = (1 << nodes.len()) - 1;
        Self { policy, held, model: Model::new(nodes, kept), pods: Vec::new(), nodes: bits }
    }

    fn play(&mut self, event: &Event) {
        match event {
            Event::Admit(containers, wanted) => self.admit(containers, wanted),
            Event::Start(at, of) => {
                let Some((pod, name)) = self.pick(*at, *of) else { return };
                self.held = self.held.start(&pod, &name);
                let earlier = pod.containers.iter().take_while(|own| own.name != name);
                for own in earlier.filter(|own| own.role == Role::Init) {
                    self.model.release(pod.uid.as_str(), own.name.as_str());
                }
            }
            Event::Release(at, of) => {
                let Some((pod, name)) = self.pick(*at, *of) else { return };
                self.held = self.held.release(&pod.uid, &name);
                self.model.release(pod.uid.as_str(), name.as_str());
            }
            Event::Gone(at) => {
                let Some((pod, _)) = self.pick(*at, 0) else { return };
                self.pods.retain(|other| other.uid != pod.uid);
                self.held = self.held.retain(|uid, _| *uid != pod.uid);
                // The kubelet's order is left to chance; ours is that of names.
                let mut names: Vec<_> = pod.containers.iter().map(|own| own.name.as_str()).collect();
                names.sort_unstable();
                for name in names {
                    self.model.release(pod.uid.as_str(), name);
                }
            }
        }
        self.compare();
    }

    fn pick(&self, at: usize, of: usize) -> Option<(Pod, ContainerName)> {
        let pod = self.pods.get(at.checked_rem(self.pods.len())?)?;
        let container = pod.containers.get(of % pod.containers.len())?;
        Some((pod.clone(), container.name.clone()))
    }

    fn admit(&mut self, containers: &[(Role, u64, Option<u64>)], wanted: &[Wanted]) {
        let mut sorted = containers.to_vec();
        sorted.sort_by_key(|(role, ..)| *role == Role::App);
        let named = sorted.iter().enumerate().map(|(at, (role, memory, huge))| {
            // Pods without memory are not Guaranteed.
            container(&format!("c{at}"), *role, (memory + 1) * UNIT, huge.map(|huge| huge * UNIT))
        });
        let uid = format!("p{}", self.pods.iter().filter_map(number).max().map_or(0, |last| last + 1));
        let pod = pod(&uid, named.collect());
        self.pods.push(pod.clone());
        for (container, wanted) in pod.containers.iter().zip(wanted) {
            let asked = asked(container);
            let listed = self.listed(Unit::Container(&pod, container));
            assert_eq!(listed, self.model.hints(&uid, asked), "hints of {container:?}");
            let near = match *wanted {
                Wanted::Own(at) if !listed.is_empty() => {
                    let (mask, preferred) = listed[at % listed.len()];
                    (Some(mask), preferred)
                }
                Wanted::Own(_) => (None, false),
                Wanted::Anywhere(preferred) => (None, preferred),
                Wanted::Nodes(mask, preferred) => (Some(mask & self.nodes), preferred),
            };
            let theirs = self.model.allocate(&pod, container.name.as_str(), asked, near);
            let ours = self.policy.allocate(&self.held, &pod, container, hint(near));
            assert_eq!(ours.as_ref().err().map(ToString::to_string).as_deref(), theirs.err());
            if let (Wanted::Own(_), Some(mask)) = (wanted, near.0) {
                let nodes = ours.as_ref().map(|done| done.after.nodes_of(&pod.uid, &container.name));
                assert_eq!(nodes, Ok(Some(NodeMask::from_bits(mask))), "a hint that was given is kept");
            }
            let Ok(done) = ours else { break };
            self.held = done.after;
        }
    }

    fn listed(&self, unit: Unit<'_>) -> Vec<(u64, bool)> {
        let mut answers = Answers::new();
        let _ = self.policy.hints(&self.held, unit, &mut answers);
        let all = NodeMask::from_bits(self.nodes);
        let plain = |hint: ListedHint| {
            (hint.hint.affinity.nodes().unwrap_or_default().to_bits(), hint.hint.is_preferred())
        };
        let lists: Vec<Vec<_>> = answers
            .iter()
            .map(|(_, answer)| match answer {
                Answer::List(list) => list.iter().copied().map(plain).collect(),
                Answer::Family(family) => family.listed(all).map(plain).collect(),
                Answer::NoOpinion | Answer::Impossible => panic!("neither is an answer about memory"),
            })
            .collect();
        assert!(lists.windows(2).all(|pair| pair[0] == pair[1]), "all resources have the same node sets");
        lists.into_iter().next().unwrap_or_default()
    }

    fn compare(&self) {
        for (node, theirs) in (0..).zip(&self.model.nodes) {
            let node = NodeMask::from_bits(1 << node).first().unwrap();
            assert_eq!(self.held.assignments(node), theirs.assignments, "assignments of {node:?}");
            assert_eq!(self.held.group(node).mask().to_bits(), theirs.cells, "group of {node:?}");
            for (resource, row) in RESOURCES.iter().zip(&theirs.rows) {
                let ours = self.held.amounts(node, &(*resource).into());
                assert_eq!((ours.reserved, ours.free), (row.reserved, row.free), "{resource} of {node:?}");
            }
        }
        let blocks = |(pod, name, blocks): (&PodUid, &ContainerName, &[Block])| {
            let plain = |block: &Block| {
                let resource = RESOURCES.iter().position(|name| *name == block.resource.as_str());
                (block.nodes.mask().to_bits(), resource.unwrap(), block.size)
            };
            let blocks: Vec<_> = blocks.iter().map(plain).collect();
            ((pod.as_str().to_owned(), name.as_str().to_owned()), blocks)
        };
        assert!(self.held.iter().map(blocks).eq(self.model.entries.clone()), "blocks");
    }
}

fn number(pod: &Pod) -> Option<u32> {
    pod.uid.as_str().trim_start_matches('p').parse().ok()
}

fn hint((mask, preferred): (Option<u64>, bool)) -> Hint {
    let preference = if preferred { Preference::Preferred } else { Preference::Acceptable };
    let affinity = mask.map_or(Affinity::Any, |mask| Affinity::Nodes(NodeMask::from_bits(mask)));
    Hint { affinity, preference }
}

proptest! {
    #[test]
    fn decides_as_the_kubelet_does((nodes, kept) in machine(), events in prop::collection::vec(event(), 1..12)) {
        let mut both = Both::new(&nodes, kept * UNIT);
        for event in &events {
            both.play(event);
        }
    }

    /// Without init containers, whose memory may be counted twice, and with hints kept: neither is sure of this.
    #[test]
    fn what_is_stored_is_a_state_to_start_from_and_what_is_released_is_free(
        (nodes, kept) in machine(),
        events in prop::collection::vec(event().prop_map(plain), 1..12),
    ) {
        let mut both = Both::new(&nodes, kept * UNIT);
        let before = both.held.clone();
        for event in &events {
            both.play(event);
            let stored = both.policy.stored(&both.held);
            let restored = both.policy.restore(&stored);
            prop_assert_eq!(restored.map(|held| both.policy.stored(&held)), Ok(stored));
        }
        prop_assert_eq!(both.held.retain(|_, _| false), before);
    }

    /// Dissolving groups keeps everything that is granted, on one node of those where it was, and is done at once.
    #[test]
    fn groups_are_dissolved_without_loss(
        (nodes, kept) in machine(),
        events in prop::collection::vec(event().prop_map(plain), 1..12),
    ) {
        let mut both = Both::new(&nodes, kept * UNIT);
        for event in &events {
            both.play(event);
            let Regrouped { after, moved } = both.policy.regroup(&both.held);
            for ((pod, name, before), (_, _, now)) in both.held.iter().zip(after.iter()) {
                let to = moved.iter().find(|moved| moved.pod == *pod && moved.container == *name);
                prop_assert!(to.is_none_or(|to| to.from.contains(to.to)));
                let expected = before.iter().map(|block| Block {
                    nodes: to.map_or(block.nodes.clone(), |to| NodeMask::single(to.to).into()),
                    ..block.clone()
                });
                prop_assert!(expected.eq(now.iter().cloned()), "{name} of {pod}");
            }
            prop_assert_eq!(both.held.iter().count(), after.iter().count());
            let restored = both.policy.restore(&both.policy.stored(&after));
            prop_assert_eq!(restored.as_ref(), Ok(&after));
            prop_assert_eq!(both.policy.regroup(&after).moved, []);
        }
    }

    /// A machine that has grown since is absorbed; on any other, what is absorbed is what was granted.
    #[test]
    fn memory_that_changed_is_absorbed_without_loss(
        (nodes, kept) in machine(),
        events in prop::collection::vec(event().prop_map(plain), 1..12),
        changes in prop::collection::vec(-4..8_i64, 5),
    ) {
        let left = |(at, (memory, pages)): (usize, &Node)| {
            memory.checked_sub(pages * PAGE + if at == 0 { kept * UNIT } else { 0 })
        };
        prop_assume!(nodes.iter().enumerate().all(|node| left(node).is_some()), "nothing wraps");
        let mut both = Both::new(&nodes, kept * UNIT);
        for event in &events {
            both.play(event);
        }
        let stored = both.policy.stored(&both.held);
        let changed = nodes.iter().zip(&changes).map(|((memory, pages), change)| {
            (memory.saturating_add_signed(change * UNIT.cast_signed()), *pages)
        });
        let changed = policy(&changed.collect::<Vec<_>>(), (kept * UNIT).cast_signed(), WrappedTables::Empty);
        match changed.absorb(&stored) {
            Ok(Restored { held, .. }) => {
                prop_assert!(held.iter().eq(both.held.iter()), "the same blocks");
                prop_assert_eq!(changed.restore(&changed.stored(&held)).map(|_| ()), Ok(()));
            }
            Err(_) => prop_assert!(changes.iter().any(|change| *change < 0), "it has grown"),
        }
    }
}

/// The same without init containers, wanted where the hints say.
fn plain(event: Event) -> Event {
    match event {
        Event::Admit(containers, wanted) => {
            let apps = containers.into_iter().map(|(_, memory, huge)| (Role::App, memory, huge));
            Event::Admit(apps.collect(), wanted.iter().map(|_| Wanted::Own(0)).collect())
        }
        other => other,
    }
}
