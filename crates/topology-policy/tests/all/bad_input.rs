//! What is asked cannot be meant: a defined answer or an error, and the search always ends.

use numa_bitmask::{NodeIndex, NodeMask};
use topology_hint::{Affinity, Answers, ForeignNodes, Hint, ListedHint, Preference};
use topology_policy::{
    Admit, DistanceIndex, Distances, KubeletPolicy, MergeError, MergeOptions, Merged, Ties, WorkLimit,
};

const EVERY: [KubeletPolicy; 4] = [
    KubeletPolicy::None,
    KubeletPolicy::BestEffort,
    KubeletPolicy::Restricted,
    KubeletPolicy::SingleNumaNode,
];

fn mask(bits: u64) -> NodeMask {
    NodeMask::from_bits(bits)
}

fn merge(nodes: NodeMask, answers: &Answers) -> Result<Merged, MergeError> {
    KubeletPolicy::BestEffort.merge(nodes, answers)
}

fn merged_to(nodes: NodeMask, answers: &Answers) -> Option<(u64, bool)> {
    let merged = merge(nodes, answers).ok()?;
    Some((merged.hint.affinity.nodes()?.to_bits(), merged.hint.is_preferred()))
}

#[test]
fn a_65th_node_has_no_position() {
    assert_eq!(
        NodeIndex::new(64).map_err(|error| error.to_string()),
        Err("bit number must be in range 0-63".into())
    );
}

#[test]
fn sets_of_a_family_that_leave_the_machine_do_not_exist() {
    let nodes = NodeMask::all(2);
    let mut answers = Answers::new();
    let mut family = answers.push_family("r");
    family.mask(mask(0b101), Preference::Preferred).open(mask(0b1110)).preferred_size(1);
    assert_eq!(merged_to(nodes, &answers), Some((0b10, true)));
    answers.push_family("outside").mask(mask(0b100), Preference::Preferred);
    assert_eq!(merged_to(nodes, &answers), Some((0b10, false)), "it acts as impossible");
}

#[test]
fn nodes_of_a_list_outside_the_machine_vanish_in_the_merge() {
    for outside in [0b100, 1 << 40] {
        let mut answers = Answers::new();
        let hint = Hint { affinity: Affinity::Nodes(mask(1 | outside)), preference: Preference::Preferred };
        answers.push_list("r", [hint]);
        assert_eq!(merged_to(NodeMask::all(2), &answers), Some((1, true)));
        let other = ListedHint {
            hint: Hint { affinity: Affinity::Nodes(mask(1)), preference: Preference::Preferred },
            foreign: ForeignNodes(1 << 63),
        };
        answers.push_list("s", [other]);
        assert_eq!(merged_to(NodeMask::all(2), &answers), Some((1, false)), "not equal as given");
    }
}

#[test]
fn a_socket_with_nodes_outside_the_machine_counts_where_it_is_met() {
    let nodes = NodeMask::all(2);
    let mut answers = Answers::new();
    answers
        .push_family("cpu")
        .open(nodes)
        .need(2, [(mask(0b01), 1), (mask(0b10), 1)])
        .preferred_size_or_sockets(1, 1, [mask(0b11 | 1 << 50), mask(1 << 51), NodeMask::EMPTY]);
    assert_eq!(merged_to(nodes, &answers), Some((0b11, true)));
}

#[test]
fn a_family_that_contradicts_itself_is_impossible() {
    let nodes = NodeMask::all(4);
    let mut answers = Answers::new();
    answers.push_family("must").open(mask(0b0011)).must(mask(0b0100)).preferred_size(1);
    answers.push_family("touch").open(mask(0b0011)).touch(mask(0b1100)).preferred_size(1);
    answers.push_family("nothing").open(nodes).need(1, []).preferred_size(1);
    assert_eq!(merged_to(nodes, &answers), Some((0b1111, false)));
}

#[test]
fn absurd_amounts_do_not_wrap() {
    let nodes = NodeMask::all(3);
    let amounts = |each: u64| nodes.iter().map(move |node| (NodeMask::single(node), each));
    for (each, asked, expected) in [
        (u64::MAX, u64::MAX, (0b001, true)),
        (u64::MAX - 1, u64::MAX, (0b011, false)),
        (u64::MAX / 2, u64::MAX, (0b111, false)),
        (u64::MAX / 3, u64::MAX, (0b111, false)),
        (1 << 62, 1 << 63, (0b011, false)),
        (0, u64::MAX, (0b001, false)),
    ] {
        let mut answers = Answers::new();
        for name in ["memory", "cpu"] {
            answers.push_family(name).open(nodes).need(asked, amounts(each)).preferred_size(1);
        }
        let supply = [(nodes, each), (nodes, each)];
        answers.push_family("shared").open(nodes).need(each, supply).preferred_size(1);
        assert_eq!(merged_to(nodes, &answers), Some(expected), "{each} of {asked}");
    }
}

#[test]
fn absurd_sizes_are_met_by_nothing() {
    let nodes = NodeMask::all(64);
    let mut answers = Answers::new();
    answers.push_family("r").open(nodes).preferred_size(u32::MAX);
    answers.push_family("s").open(nodes).preferred_size_or_sockets(0, u32::MAX, [nodes]);
    assert_eq!(merged_to(nodes, &answers), Some((1, false)));
}

#[test]
fn a_machine_without_nodes_has_an_answer() {
    let mut answers = Answers::new();
    answers.push_family("r").open(NodeMask::all(4)).preferred_size(1);
    for policy in EVERY {
        for answers in [&answers, &Answers::new()] {
            let merged = policy.merge(NodeMask::EMPTY, answers);
            let refuses = matches!(policy, KubeletPolicy::Restricted | KubeletPolicy::SingleNumaNode);
            let expected = if refuses { Admit::No } else { Admit::Yes };
            assert_eq!(merged.map(|merged| merged.admit), Ok(expected), "{}", policy.name());
        }
    }
}

#[test]
fn a_search_that_is_too_long_ends_unfinished() {
    let nodes = NodeMask::all(64);
    let mut answers = Answers::new();
    for salt in 1..6_u64 {
        let uneven = |node: NodeIndex| ((node.get() as u64 * 0x9E37_79B9 * salt) >> 7) % 97 + 40;
        let supply = nodes.iter().map(|node| (NodeMask::single(node), uneven(node)));
        answers.push_family("r").open(nodes).need(2_900, supply).preferred_size(31);
    }
    let rows = nodes.iter().map(|a| {
        let row = nodes.iter().map(|b| 10 + (a.get() * b.get() * 7919 % 89) as u64).collect();
        (i64::try_from(a.get()).unwrap_or(0), Some(row))
    });
    let distances = Distances::new(rows, DistanceIndex::ByPosition);
    let limit = WorkLimit(2_000);
    for (policy, admit) in [(KubeletPolicy::BestEffort, Admit::Yes), (KubeletPolicy::Restricted, Admit::No)] {
        let ties = Ties::Closest(&distances);
        let cut = policy.merge_with(nodes, &answers, MergeOptions { ties, limit });
        let Err(MergeError::Unfinished { limit: 2_000, best }) = cut else { panic!("{cut:?}") };
        assert!(best.is_none_or(|best| best.admit == admit));
        let text = cut.map_err(|error| error.to_string());
        assert_eq!(text, Err("merge of topology hints not finished within 2000 steps".into()));
    }
}

#[test]
fn more_open_families_than_can_be_told_apart_end_unfinished() {
    let nodes = NodeMask::all(4);
    let mut answers = Answers::new();
    for family in 0..70_u64 {
        let supply = nodes.iter().map(|node| (NodeMask::single(node), 1));
        let size = 1 + u32::from(family % 2 == 0);
        answers.push_family("r").open(nodes).need(1, supply).preferred_size(size);
    }
    assert!(matches!(merge(nodes, &answers), Err(MergeError::Unfinished { .. })));
    let refused = KubeletPolicy::Restricted.admit(nodes, &answers);
    assert_eq!(refused, Ok(None), "that nothing is preferred is known all the same");
}

#[test]
fn a_missing_distance_matters_only_where_it_decides() {
    let nodes = NodeMask::all(3);
    let rows = [Some(vec![10, 20, 20]), Some(vec![20, 10, 20]), None];
    let distances = Distances::new((0..).zip(rows), DistanceIndex::ByPosition);
    let push = |asked: u64| {
        let mut answers = Answers::new();
        let supply = nodes.iter().map(|node| (NodeMask::single(node), 1));
        answers.push_family("r").open(nodes).need(asked, supply).preferred_size(1);
        KubeletPolicy::BestEffort.merge_with(nodes, &answers, Ties::Closest(&distances).into())
    };
    assert_eq!(push(3).map(|merged| merged.hint.affinity), Ok(Affinity::Nodes(nodes)));
    assert!(matches!(push(2), Err(MergeError::MissingDistance(_))));
}
