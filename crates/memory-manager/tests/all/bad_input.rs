//! Faults of configurations and pods, and the kubelet's texts for them.

use memory_manager::{
    AllocateError, Config, Granted, Opinion, Reservation, Reservations, Silent, Static, WrappedTables,
};
use numa_bitmask::NodeMask;
use pod_spec::{Container, ContainerName, Pod, PodUid, ResourceList, Role, Unit};
use topology_hint::{Affinity, Answers, Hint, Preference};
use topology_model::{HugePages, NodeId, NodeMemory, Nodes};

/// Node, resource and amount of each reservation; what is kept of each resource in all; and the error.
type Case<'a> = (&'a [(i64, &'a str, &'a str)], &'a [(&'a str, &'a str)], &'a str);

fn list(amounts: &[(&str, &str)]) -> ResourceList {
    amounts.iter().map(|(resource, text)| ((*resource).into(), text.parse().unwrap())).collect()
}

/// Two nodes of 4Gi, 1Gi of each in pages of 2Mi; the second has two pages of 1Gi besides.
fn policy(reserved: &[(i64, &str, &str)], kept: &[(&str, &str)]) -> Result<Static, String> {
    let reservation = |(node, resource, text): &(i64, &str, &str)| Reservation {
        node: NodeId(*node),
        limits: list(&[(resource, text)]),
    };
    let reserved = Reservations(reserved.iter().map(reservation).collect());
    let config = Config { reserved, node_allocatable: list(kept), ..Config::default() };
    let small = HugePages { page_size_kib: 2048, num_pages: 512 };
    let large = HugePages { page_size_kib: 1 << 20, num_pages: 2 };
    let node = |(id, hugepages)| NodeMemory { id: NodeId(id), memory: 4 << 30, hugepages, distances: None };
    let memory = [(0, vec![small]), (1, vec![small, large])].map(node);
    let nodes = Nodes::new([NodeId(0), NodeId(1)]).unwrap();
    Static::new(&nodes, &memory, &config).map_err(|error| error.to_string())
}

fn usual() -> Static {
    policy(&[(0, "memory", "1Gi")], &[("memory", "1Gi")]).unwrap()
}

fn pod(amounts: &[(&str, &str)]) -> Pod {
    let mut requests = list(amounts);
    requests.insert("cpu".into(), "1".parse().unwrap());
    let limits = requests.clone();
    let app = Container { name: ContainerName::new("app"), role: Role::App, requests, limits };
    Pod { uid: PodUid::new("uid"), ..Pod::new("default", "pod", vec![app]) }
}

const NOT_INT64: &str = "could not covert a variable of type Quantity to int64";

#[test]
fn reservations_are_checked_as_the_kubelet_does() {
    let other = |sum: &str, resource: &str, kept: &str| {
        format!(
            "the total amount \"{sum}\" of type \"{resource}\" is not equal to the value \"{kept}\" determined by Node Allocatable feature"
        )
    };
    let unknown =
        "the reserved memory configuration references a NUMA node 2 that does not exist on this machine";
    let gi = ("memory", "1Gi");
    let cases: &[Case<'_>] = &[
        (&[(0, "memory", "1Gi")], &[gi, ("cpu", "1")], ""),
        (&[(0, "memory", "1Gi"), (1, "memory", "1024Mi")], &[("memory", "2147483648")], ""),
        // The error names the first node that is missing, before any sum.
        (&[(2, "memory", "2Gi"), (3, "memory", "1Gi")], &[gi], unknown),
        (&[(0, "memory", "1.5Gi")], &[gi], &other("1536Mi", "memory", "1Gi")),
        (&[], &[gi], &other("0", "memory", "1Gi")),
        (&[(0, "memory", "1Gi"), (0, "hugepages-2Mi", "2Mi")], &[gi], &other("2Mi", "hugepages-2Mi", "0")),
        (&[(0, "memory", "1Gi"), (0, "cpu", "1")], &[gi], &other("1", "cpu", "0")),
        // Sums are of any amounts; each amount must be an integer as it is written.
        (&[(0, "memory", "1.5Gi")], &[("memory", "1.5Gi")], NOT_INT64),
        (&[(0, "memory", "1.0Gi")], &[gi], NOT_INT64),
        (&[(0, "memory", "1000m")], &[("memory", "1")], NOT_INT64),
        (&[(0, "memory", "100Ti")], &[("memory", "100Ti")], NOT_INT64),
        (&[], &[], "[memorymanager] you should specify the system reserved memory"),
        (
            &[(0, "hugepages-2Mi", "2Mi")],
            &[("hugepages-2Mi", "2Mi")],
            "[memorymanager] you should specify the system reserved memory",
        ),
        // Sizes that no node has, or that are named otherwise, have no effect.
        (&[(0, "memory", "1Gi"), (0, "hugepages-3Mi", "3Mi")], &[gi, ("hugepages-3Mi", "3Mi")], ""),
        (&[(0, "memory", "1Gi"), (0, "hugepages-2048Ki", "2Mi")], &[gi, ("hugepages-2048Ki", "2Mi")], ""),
        // Nothing says that a node has what is reserved on it.
        (&[(0, "memory", "64Gi")], &[("memory", "64Gi")], ""),
    ];
    for (reserved, kept, expected) in cases {
        assert_eq!(policy(reserved, kept).err().unwrap_or_default(), *expected, "{reserved:?}");
    }
}

/// The kubelet crashes where a set of nodes has one that lacks a size of pages.
#[test]
fn pages_that_nodes_lack_are_not_there() {
    let policy = usual();
    let near = |mask| Hint {
        affinity: Affinity::Nodes(NodeMask::from_bits(mask)),
        preference: Preference::Preferred,
    };
    let (nowhere, second) = (("hugepages-32Mi", "32Mi"), ("hugepages-1Gi", "1Gi"));
    let nothing = Err(AllocateError::NothingFits);
    let no_extension = |mask| Err(AllocateError::NoExtension { hint: NodeMask::from_bits(mask) });
    for (pages, hint, expected) in [
        (nowhere, Hint::NONE, nothing.clone()),
        (nowhere, near(0b01), no_extension(0b01)),
        (nowhere, near(0b11), no_extension(0b11)),
        (second, Hint::NONE, Ok(0b10)),
        (second, near(0b11), Ok(0b11)),
        (("hugepages-1Gi", "3Gi"), Hint::NONE, nothing),
    ] {
        let pod = pod(&[("memory", "1Mi"), pages]);
        let unit = Unit::Container(&pod, &pod.containers[0]);
        let allocation = policy.allocate(&policy.initial(), &pod, &pod.containers[0], hint);
        let mask = allocation.map(|done| match done.granted {
            Granted::Blocks(blocks) => blocks[0].nodes.mask().to_bits(),
            Granted::NotPinned(reason) => panic!("{reason:?}"),
        });
        assert_eq!(mask, expected, "{pages:?} near {hint:?}");
        let opinion = policy.hints(&policy.initial(), unit, &mut Answers::new());
        let fits = pages == second;
        assert_eq!(opinion == Opinion::Given, fits, "{pages:?}: {opinion:?}");
    }
}

#[test]
fn amounts_that_are_no_integers_are_refused_and_all_others_booked() {
    let policy = usual();
    let not_int64 = "[memorymanager] failed to represent quantity as int64";
    for (resource, amount, expected) in [
        ("memory", "1.5Gi", Err(not_int64)),
        ("memory", "1000m", Err(not_int64)),
        ("memory", "1.0Gi", Err(not_int64)),
        ("memory", "1536Mi", Ok(1536 << 20)),
        // Whether it is a multiple of the page size is the API server's business.
        ("hugepages-2Mi", "3Mi", Ok(3 << 20)),
        ("hugepages-2Mi", "0", Ok(0)),
    ] {
        let pod = pod(&[("memory", "1Mi"), (resource, amount)]);
        let allocation = policy.allocate(&policy.initial(), &pod, &pod.containers[0], Hint::NONE);
        let size = allocation.map_err(|error| error.to_string()).map(|done| {
            let own = done.after.assigned(&pod.uid, &pod.containers[0].name).unwrap().to_vec();
            own.iter().find(|block| block.resource.as_str() == resource).unwrap().size
        });
        assert_eq!(size, expected.map_err(str::to_owned), "{resource}: {amount}");
        let opinion =
            policy.hints(&policy.initial(), Unit::Container(&pod, &pod.containers[0]), &mut Answers::new());
        let silent = expected.is_err();
        assert_eq!(opinion == Opinion::None(Silent::NotInt64), silent, "{resource}: {amount}");
    }
}

/// The kubelet wraps: a node that lacks what is reserved on it then has nearly 2^64 bytes.
#[test]
fn more_reserved_than_there_is_leaves_nothing() {
    let gi = |gi: u64| gi << 30;
    for (wrapped_tables, reserved, expected) in [
        (WrappedTables::Empty, "2Gi", [Some(gi(1)), Some(gi(1))]),
        (WrappedTables::Empty, "3Gi", [None, Some(gi(1))]),
        (WrappedTables::Wrap, "3Gi", [None, Some(gi(1))]),
        (WrappedTables::Empty, "4Gi", [None, Some(gi(1))]),
        (WrappedTables::Wrap, "4Gi", [Some(0_u64.wrapping_sub(gi(1))), Some(gi(1))]),
    ] {
        let kept = list(&[("memory", reserved)]);
        let config = Config {
            reserved: Reservations(vec![Reservation { node: NodeId(0), limits: kept.clone() }]),
            node_allocatable: kept,
            wrapped_tables,
            ..Config::default()
        };
        let pages = vec![HugePages { page_size_kib: 2048, num_pages: 512 }];
        let memory = [(0, 4), (1, 2)].map(|(id, memory)| NodeMemory {
            id: NodeId(id),
            memory: gi(memory),
            hugepages: pages.clone(),
            distances: None,
        });
        let nodes = Nodes::new([NodeId(0), NodeId(1)]).unwrap();
        let policy = Static::new(&nodes, &memory, &config).unwrap();
        let allocatable = [0, 1].map(|id| {
            let own = policy
                .allocatable()
                .find(|(node, resource, _)| node.get() == id && resource.as_str() == "memory");
            own.map(|(_, _, bytes)| bytes)
        });
        assert_eq!(allocatable, expected, "{wrapped_tables:?} with {reserved}");
    }
}
