//! What pods get, what is left, and why not.

use crate::pods::{Node, config, container, memory, pod, policy};
use kubelet_release::EmptyMemoryRequest;
use memory_manager::{
    AllocateError, Counted, Drifted, Granted, Holdings, NotPinned, Opinion, PodGranted, PodLevel,
    Readmission, Silent, StateError, Static, StoredBlock, UnevenGroup, WrappedTables,
};
use numa_bitmask::NodeMask;
use pod_spec::{Container, ContainerName, Pod, PodResources, PodUid, ResourceList, Role, Unit};
use topology_hint::{Affinity, Answers, Hint, Preference};
use topology_model::{NodeId, Nodes};

const GI: u64 = 1 << 30;

/// Nodes with so many Gi and no huge pages; 1Gi of the first is kept.
fn nodes(gi: &[u64]) -> Static {
    let nodes: Vec<Node> = gi.iter().map(|gi| (gi * GI, 0)).collect();
    policy(&nodes, 1 << 30, WrappedTables::Empty)
}

fn of(gi: u64) -> Container {
    container("c", Role::App, gi * GI, None)
}

fn near(mask: u64, preference: Preference) -> Hint {
    Hint { affinity: Affinity::Nodes(NodeMask::from_bits(mask)), preference }
}

/// The holdings with a pod of one container on these nodes.
fn with(policy: &Static, held: &Holdings, name: &str, gi: u64, mask: u64) -> Holdings {
    let pod = pod(name, vec![of(gi)]);
    let near = near(mask, Preference::Acceptable);
    policy.allocate(held, &pod, &pod.containers[0], near).unwrap().after
}

fn blocks(held: &Holdings, pod: &str, container: &str) -> Option<Vec<(u64, u64)>> {
    let own = held.assigned(&PodUid::new(pod), &ContainerName::new(container))?;
    Some(own.iter().map(|block| (block.nodes.mask().to_bits(), block.size / GI)).collect())
}

/// The listed hints of the first resource, and the opinion.
fn hints(policy: &Static, held: &Holdings, unit: Unit<'_>) -> (Opinion, Vec<(u64, bool)>) {
    let mut answers = Answers::new();
    let opinion = policy.hints(held, unit, &mut answers);
    let listed = answers.get(0).map(|(_, answer)| match answer {
        topology_hint::Answer::Family(family) => {
            let list = family.listed(NodeMask::all(4));
            list.map(|hint| (hint.hint.affinity.nodes().unwrap().to_bits(), hint.hint.is_preferred()))
                .collect()
        }
        _ => Vec::new(),
    });
    (opinion, listed.unwrap_or_default())
}

#[test]
fn containers_are_booked_near_their_hints() {
    // Node 0 has 9Gi to give, node 1 10Gi, node 2 4Gi.
    let policy = nodes(&[10, 10, 4]);
    let empty = policy.initial();
    let single = with(&policy, &empty, "single", 8, 0b001);
    let group = with(&policy, &empty, "group", 12, 0b011);
    for (held, gi, hint, expected) in [
        // Anywhere is the fewest nodes, then the lowest.
        (&empty, 4, Hint::NONE, Ok(0b001)),
        (&empty, 10, Hint::NONE, Ok(0b010)),
        (&empty, 12, Hint::NONE, Ok(0b011)),
        (&empty, 24, Hint::NONE, Err(AllocateError::NothingFits.to_string())),
        // A node that has not enough is extended by others, unless a preferred set must be.
        (&empty, 12, near(0b100, Preference::Acceptable), Ok(0b101)),
        (&single, 4, near(0b001, Preference::Acceptable), Err("extend".into())),
        (&single, 10, near(0b100, Preference::Preferred), Err("extended preferred".into())),
        // In a group only those who take all of it.
        (&group, 1, near(0b011, Preference::Acceptable), Ok(0b011)),
        (&group, 1, Hint::NONE, Ok(0b100)),
        (&group, 5, near(0b110, Preference::Acceptable), Err("violates NUMA node allocation".into())),
        // One node of a group is not refused.
        (&group, 1, near(0b010, Preference::Acceptable), Ok(0b010)),
        (&empty, 1, near(0b1000, Preference::Acceptable), Err(AllocateError::UnknownNode.to_string())),
    ] {
        let new = pod("new", vec![of(gi)]);
        let allocation = policy.allocate(held, &new, &new.containers[0], hint);
        match (allocation, expected) {
            (Ok(done), Ok(mask)) => assert_eq!(blocks(&done.after, "new", "c"), Some(vec![(mask, gi)])),
            (Err(error), Err(text)) => assert!(error.to_string().contains(&text), "{error}"),
            (ours, expected) => panic!("{gi} near {hint:?}: {ours:?} instead of {expected:?}"),
        }
    }
}

#[test]
fn memory_of_init_containers_is_used_again() {
    let policy = nodes(&[10]);
    let init = |name, gi| container(name, Role::Init, gi * GI, None);
    let new = pod("new", vec![init("a", 4), init("b", 3), of(2)]);
    let mut held = policy.initial();
    for own in &new.containers {
        held = policy.allocate(&held, &new, own, Hint::NONE).unwrap().after;
    }
    let node = NodeMask::all(1).first().unwrap();
    let booked = |held: &Holdings| held.amounts(node, &"memory".into()).reserved / GI;
    assert_eq!(booked(&held), 4, "as much as is needed at one time");
    assert_eq!(held.assignments(node), 3);
    let sizes = ["a", "b", "c"].map(|name| blocks(&held, "new", name).unwrap()[0].1);
    assert_eq!(sizes, [0, 2, 2], "blocks sum to what is booked");

    let started = held.start(&new, &ContainerName::new("c"));
    assert_eq!((booked(&started), blocks(&started, "new", "a")), (2, None));
    let gone = started.release(&new.uid, &ContainerName::new("c")).retain(|_, _| false);
    assert_eq!(policy.stored(&gone), policy.stored(&policy.initial()));
}

#[test]
fn nothing_is_booked_for_pods_that_are_not_guaranteed() {
    let policy = nodes(&[10]);
    let mut burstable = pod("burstable", vec![of(2)]);
    burstable.containers[0].limits.clear();
    let mut whole = pod("whole", vec![of(2)]);
    whole.resources = Some(at_pod_level("2", "4Gi"));
    for (pod, reason) in [(&burstable, NotPinned::NotGuaranteed), (&whole, NotPinned::PodLevel)] {
        let mut held = policy.initial();
        let decision = policy.allocate_in(&mut held, pod, &pod.containers[0], Hint::NONE);
        assert_eq!(decision.granted, Ok(Granted::NotPinned(reason)));
        assert_eq!((held, decision.counted), (policy.initial(), Counted::default()));
        let unit = Unit::Container(pod, &pod.containers[0]);
        let silent = (Opinion::None(Silent::NotPinned(reason)), Vec::new());
        assert_eq!(hints(&policy, &policy.initial(), unit), silent);
    }
}

#[test]
fn what_does_not_fit_is_no_opinion_and_an_error() {
    let policy = nodes(&[4, 4]);
    for (text, silent, error) in [
        ("9Gi", Silent::NothingFits, "no NUMA nodes with enough memory is available"),
        ("1.5Gi", Silent::NotInt64, "failed to represent quantity as int64"),
    ] {
        let mut new = pod("new", vec![of(1)]);
        let own = &mut new.containers[0];
        own.requests.insert("memory".into(), text.parse().unwrap());
        own.limits.clone_from(&own.requests);
        let unit = Unit::Container(&new, &new.containers[0]);
        assert_eq!(hints(&policy, &policy.initial(), unit), (Opinion::None(silent), Vec::new()));
        let mut held = policy.initial();
        let refused = policy.allocate_in(&mut held, &new, &new.containers[0], Hint::NONE);
        let counted = Counted { pinning_requests: 1, pinning_errors: 1, ..Counted::default() };
        assert_eq!((held, refused.counted), (policy.initial(), counted));
        let refused = refused.granted.unwrap_err();
        assert!(refused.to_string().ends_with(error), "{refused}");
    }
}

fn at_pod_level(cpu: &str, memory: &str) -> PodResources {
    let amounts = [("cpu", cpu), ("memory", memory)];
    let amounts: ResourceList =
        amounts.into_iter().map(|(name, amount)| (name.into(), amount.parse().unwrap())).collect();
    PodResources { requests: amounts.clone(), limits: amounts }
}

/// A container without requests and limits.
fn sharing(name: &str, role: Role) -> Container {
    Container { requests: ResourceList::new(), limits: ResourceList::new(), ..container(name, role, 0, None) }
}

fn managed(readmission: Readmission) -> Static {
    managed_by(memory_manager::Config { readmission, ..config(1 << 30) })
}

fn managed_by(config: memory_manager::Config) -> Static {
    let memory = memory(&[(10 * GI, 0), (10 * GI, 0)]);
    let config = memory_manager::Config { pod_level: PodLevel::Managed, ..config };
    let ids = Nodes::new(memory.iter().map(|node| node.id)).unwrap();
    Static::new(&ids, &memory, &config).unwrap()
}

#[test]
fn containers_without_a_request_are_served_or_left_alone() {
    let new = Pod { resources: Some(at_pod_level("4", "8Gi")), ..pod("new", vec![sharing("a", Role::App)]) };
    let (unit, container) = (Unit::Container(&new, &new.containers[0]), &new.containers[0]);
    let none = ContainerName::new("a");
    for (empty_request, opinion, is_booked) in [
        (EmptyMemoryRequest::Served, Silent::NothingAsked, true),
        (EmptyMemoryRequest::LeftAlone, Silent::NotPinned(NotPinned::NothingAsked), false),
    ] {
        let policy = managed_by(memory_manager::Config { empty_request, ..config(1 << 30) });
        let before = policy.initial();
        assert_eq!(hints(&policy, &before, unit), (Opinion::None(opinion), Vec::new()));
        // Served like others, nothing fits that has no size; near a node it gets an entry without blocks.
        let alone = policy.allocate(&before, &new, container, Hint::NONE);
        assert_eq!(alone.is_err(), is_booked);
        let mut held = before.clone();
        let near = near(0b1, Preference::Acceptable);
        let decision = policy.allocate_in(&mut held, &new, container, near);
        assert_eq!(held.assigned(&new.uid, &none).is_some(), is_booked);
        assert_eq!(decision.counted != Counted::default(), is_booked);
        // What cannot be read is refused before or after it is counted.
        let mut unreadable = pod("unreadable", vec![of(1)]);
        let own = &mut unreadable.containers[0];
        own.requests.insert("memory".into(), "1.5Gi".parse().unwrap());
        own.limits.clone_from(&own.requests);
        let refused = policy.allocate_in(&mut held, &unreadable, &unreadable.containers[0], near);
        assert_eq!(refused.granted, Err(AllocateError::NotInt64));
        assert_eq!(refused.counted.pinning_errors, u32::from(is_booked));
    }
}

#[test]
fn pods_are_booked_as_a_whole_and_share_what_their_containers_leave() {
    let policy = managed(Readmission::Keep);
    let own = container("own", Role::App, 3 * GI, None);
    let new = Pod {
        resources: Some(at_pod_level("4", "8Gi")),
        ..pod(
            "new",
            vec![
                sharing("first", Role::Init),
                sharing("side", Role::Sidecar),
                own,
                sharing("rest", Role::App),
            ],
        )
    };
    let near = near(0b10, Preference::Preferred);
    let done = policy.allocate_pod(&policy.initial(), &new, near).unwrap();
    let booked = |held: &Holdings| {
        let nodes = NodeMask::all(2).iter();
        nodes.map(|node| held.amounts(node, &"memory".into()).reserved / GI).collect::<Vec<_>>()
    };
    assert_eq!(booked(&done.after), [0, 8]);
    let sizes = ["first", "side", "own", "rest"].map(|name| blocks(&done.after, "new", name).unwrap()[0].1);
    assert_eq!(sizes, [8, 5, 3, 5]);

    // Admitted again it keeps what it has; the kubelet books it twice.
    let again = policy.allocate_pod(&done.after, &new, near).unwrap();
    assert_eq!((again.granted, booked(&again.after)), (done.granted, vec![0, 8]));
    let twice = managed(Readmission::BookAgain).allocate_pod(&done.after, &new, near);
    assert_eq!(twice.unwrap_err(), AllocateError::NoExtension { hint: NodeMask::from_bits(0b10) });

    // What is booked goes with the last container.
    let mut held = done.after;
    for (name, left) in [("first", 8), ("own", 8), ("side", 8), ("rest", 0)] {
        held = held.release(&new.uid, &ContainerName::new(name));
        assert_eq!(booked(&held), [0, left], "after {name}");
    }
    assert_eq!(held, policy.initial());
}

#[test]
fn pods_that_leave_nothing_to_share_are_refused() {
    let policy = managed(Readmission::Keep);
    let own = |name, role| container(name, role, 8 * GI, None);
    for (containers, text) in [
        (
            vec![own("own", Role::App), sharing("rest", Role::App)],
            "pod rejected, sum of exclusive container memory requests equals pod budget, leaving no memory for shared containers",
        ),
        (
            vec![own("side", Role::Sidecar), sharing("first", Role::Init), own("own", Role::App)],
            "pod rejected, pod has shared init containers but no memory available for them",
        ),
    ] {
        let new = Pod { resources: Some(at_pod_level("4", "8Gi")), ..pod("new", containers) };
        let refused = policy.allocate_pod(&policy.initial(), &new, Hint::NONE).unwrap_err();
        assert!(matches!(refused, AllocateError::EmptySharedPool(_)));
        assert_eq!(refused.to_string(), text);
        let mut answers = Answers::new();
        assert_eq!(policy.hints(&policy.initial(), Unit::Pod(&new), &mut answers), Opinion::Given);
        assert!(matches!(answers.get(0), Some((_, topology_hint::Answer::Impossible))));
    }
    // One that is not Guaranteed is not looked at.
    let loose = pod("loose", vec![sharing("rest", Role::App)]);
    let done = policy.allocate_pod(&policy.initial(), &loose, Hint::NONE).unwrap();
    assert_eq!(done.granted, PodGranted::NotPinned(NotPinned::NotGuaranteed));
}

#[test]
fn a_node_with_more_reserved_than_it_has_gives_nothing_or_everything() {
    for (wrapped, gi, expected) in [
        (WrappedTables::Empty, 1, 0b10),
        (WrappedTables::Wrap, 1, 0b01),
        (WrappedTables::Wrap, 1 << 20, 0b01),
    ] {
        let policy = policy(&[(GI, 0), (10 * GI, 0)], 2 << 30, wrapped);
        let new = pod("new", vec![of(gi)]);
        let done = policy.allocate(&policy.initial(), &new, &new.containers[0], Hint::NONE).unwrap();
        assert_eq!(blocks(&done.after, "new", "c"), Some(vec![(expected, gi)]), "{wrapped:?}");
    }
}

#[test]
fn states_of_other_machines_are_refused() {
    let policy = nodes(&[10, 10]);
    let held = with(&policy, &policy.initial(), "a", 12, 0b11);
    let good = policy.stored(&held);
    assert_eq!(policy.restore(&good).as_ref(), Ok(&held));

    let refused = |change: &dyn Fn(&mut memory_manager::Stored)| {
        let mut stored = good.clone();
        change(&mut stored);
        policy.restore(&stored).map(|_| ()).map_err(|error| error.to_string()).unwrap_err()
    };
    let block = |stored: &mut memory_manager::Stored, change: &dyn Fn(&mut StoredBlock)| {
        let of = stored.entries.get_mut(&PodUid::new("a")).unwrap();
        of.get_mut(&ContainerName::new("c")).unwrap().iter_mut().for_each(change);
    };
    assert_eq!(
        refused(&|stored| stored.nodes.clear()),
        "[memorymanager] machine state can not be empty when it has memory assignments"
    );
    assert_eq!(
        refused(&|stored| block(stored, &|block| block.nodes.push(NodeId(7)))),
        "[memorymanager] (pod: a, container: c) the memory assignment uses the NUMA that does not exist"
    );
    assert_eq!(
        refused(&|stored| block(stored, &|block| block.resource = "hugepages-1Gi".into())),
        "[memorymanager] (pod: a, container: c) the memory assignment uses memory resource that does not exist"
    );
    let other = "[memorymanager] the expected machine state is different from the real one";
    assert_eq!(refused(&|stored| block(stored, &|block| block.size -= 1)), other);
    assert_eq!(refused(&|stored| stored.entries.clear()), other);
    assert_eq!(nodes(&[10, 11]).restore(&good).map(|_| ()).unwrap_err().to_string(), other);
}

/// A group of nodes of which only the first lists huge pages.
#[test]
fn groups_of_uneven_nodes_start_again_or_crash() {
    let mut memory = memory(&[(10 * GI, 4), (10 * GI, 0), (10 * GI, 0)]);
    memory[1].hugepages.clear();
    let ids = Nodes::new(memory.iter().map(|node| node.id)).unwrap();
    let with_rule = |uneven_group| {
        let config = memory_manager::Config { uneven_group, ..config(1 << 30) };
        Static::new(&ids, &memory, &config).unwrap()
    };
    let (kubelet, own) = (with_rule(UnevenGroup::Crash), with_rule(UnevenGroup::Start));
    assert!(!own.lists_same_pages());
    let restarted = |policy: &Static, mask| {
        let held = with(policy, &policy.initial(), "a", 12, mask);
        policy.restore(&policy.stored(&held)).map(|_| ()).map_err(|error| error.to_string())
    };
    let crash = "NUMA nodes 0 and 1 are bound together, and node 1 lists no pages of hugepages-2Mi";
    assert_eq!(restarted(&kubelet, 0b011), Err(crash.to_owned()));
    assert_eq!(restarted(&own, 0b011), Ok(()));
    // Node 2 lists pages and has none.
    assert_eq!(restarted(&kubelet, 0b101), Ok(()));
}

/// A pod on a node that was grouped before it: whose block comes last says what the node is bound to.
#[test]
fn on_odd_states_the_order_of_pods_decides() {
    let policy = nodes(&[10, 10]);
    let held = with(&policy, &with(&policy, &policy.initial(), "a", 5, 0b11), "b", 2, 0b01);
    let stored = policy.stored(&held);
    assert_eq!(policy.restore(&stored).as_ref(), Ok(&held));
    let as_booked = policy.restore_ranked(&stored, |pod, _| pod.as_str() == "b");
    assert_eq!(as_booked.as_ref(), Ok(&held));
    let other = policy.restore_ranked(&stored, |pod, _| pod.as_str() == "a");
    assert!(matches!(other, Err(StateError::OtherMachine { .. })));
}

#[test]
fn memory_that_changed_is_absorbed_if_nothing_is_lost() {
    let before = nodes(&[10, 10]);
    let held = with(&before, &with(&before, &before.initial(), "a", 6, 0b01), "b", 8, 0b10);
    let stored = before.stored(&held);
    assert_eq!(before.absorb(&stored).map(|restored| restored.drifted), Ok(Vec::new()));

    let after = policy(&[(10 * GI + 4096, 0), (10 * GI, 0)], 1 << 30, WrappedTables::Empty);
    let restored = after.absorb(&stored).unwrap();
    let drifted = |Drifted { node, resource, was, is }: &Drifted| {
        (node.0, resource.to_string(), was.unwrap().total, is.unwrap().total)
    };
    let expected = vec![(0, "memory".to_owned(), 10 * GI, 10 * GI + 4096)];
    assert_eq!(restored.drifted.iter().map(drifted).collect::<Vec<_>>(), expected);
    assert_eq!(blocks(&restored.held, "a", "c"), Some(vec![(0b01, 6)]));
    assert_eq!(
        after.restore(&after.stored(&restored.held)),
        Ok(restored.held),
        "the kubelet would start now"
    );

    // Node 1 cannot hold what was granted there, nor can a machine that lacks it.
    for gone in [nodes(&[10, 7]), nodes(&[20])] {
        let refused = gone.absorb(&stored).map(|_| ());
        assert!(matches!(refused, Err(StateError::OtherMachine { .. } | StateError::UnknownNode { .. })));
    }
    // A node that appeared is taken in, one that held nothing may go.
    assert_eq!(nodes(&[10, 10, 4]).absorb(&stored).map(|restored| restored.drifted.len()), Ok(2));
    let empty = before.stored(&before.initial());
    assert_eq!(nodes(&[10]).absorb(&empty).map(|restored| restored.drifted.len()), Ok(2));
}

/// Small pods were booked on both nodes, since a large one was there; it left, and they keep the nodes bound.
#[test]
fn groups_that_no_pod_needs_are_dissolved() {
    let policy = nodes(&[10, 10]);
    let held = with(&policy, &policy.initial(), "large", 12, 0b11);
    let held = with(&policy, &with(&policy, &held, "a", 2, 0b11), "b", 3, 0b11);
    assert!(policy.regroup(&held).moved.is_empty(), "the large pod needs both nodes");

    let alone = held.release(&PodUid::new("large"), &ContainerName::new("c"));
    let new = pod("new", vec![of(8)]);
    let unit = Unit::Container(&new, &new.containers[0]);
    assert_eq!(hints(&policy, &alone, unit).1, [(0b11, false)], "no node alone");

    let regrouped = policy.regroup(&alone);
    let moved =
        regrouped.moved.iter().map(|moved| (moved.pod.as_str(), moved.from.to_bits(), moved.to.get()));
    assert_eq!(moved.collect::<Vec<_>>(), [("b", 0b11, 0), ("a", 0b11, 0)]);
    assert_eq!(hints(&policy, &regrouped.after, unit).1, [(0b10, true)]);
    assert_eq!(policy.restore(&policy.stored(&regrouped.after)), Ok(regrouped.after.clone()));
    assert_eq!(regrouped.after.retain(|_, _| false), policy.initial());
}

#[test]
fn memory_of_devices_is_left_alone() {
    // Nodes 0 and 1 have CPUs; 2 and 3 are the memory of accelerators.
    let policy = nodes(&[10, 10, 90, 90]).within(NodeMask::from_bits(0b0011));
    let empty = policy.initial();
    for (gi, hint, expected) in [
        (8, Hint::NONE, Some(0b0001)),
        (15, Hint::NONE, Some(0b0011)),
        (15, near(0b1111, Preference::Preferred), Some(0b0011)),
        (4, near(0b0100, Preference::Acceptable), Some(0b0001)),
        (30, Hint::NONE, None),
        (30, near(0b0100, Preference::Acceptable), None),
    ] {
        let new = pod("new", vec![of(gi)]);
        let done = policy.allocate(&empty, &new, &new.containers[0], hint);
        let mask = done.ok().map(|done| blocks(&done.after, "new", "c").unwrap()[0].0);
        assert_eq!(mask, expected, "{gi} near {hint:?}");
    }
    let new = pod("new", vec![of(10)]);
    let unit = Unit::Container(&new, &new.containers[0]);
    assert_eq!(hints(&policy, &empty, unit).1, [(0b0010, true), (0b0011, false)]);
    assert_eq!(policy.allocatable().count(), 4, "what there is, is told");
}
