//! The merge against the kubelet's: every combination of one hint from each list, kept by its comparison rules.

use numa_bitmask::{NodeIndex, NodeMask};
use proptest::prelude::*;
use topology_hint::{Affinity, Answer, Answers, ForeignNodes, Hint, ListedHint, Preference};
use topology_policy::{
    Admit, DistanceIndex, Distances, KubeletPolicy, Merged, MissingDistance, NodeScores, Ties,
};

/// The lists that the kubelet would see.
fn lists(answers: &Answers, nodes: NodeMask) -> Vec<Vec<ListedHint>> {
    answers
        .iter()
        .map(|(_, answer)| match answer {
            Answer::NoOpinion => vec![Hint::ANY.into()],
            Answer::Impossible => vec![Hint::NONE.into()],
            Answer::List(list) => list.to_vec(),
            Answer::Family(family) => {
                let listed: Vec<_> = family.listed(nodes).collect();
                if listed.is_empty() { vec![Hint::NONE.into()] } else { listed }
            }
        })
        .collect()
}

/// The comparison of the specification as a key, with the score before the number: the smaller wins.
fn key(
    candidate: (NodeMask, bool),
    limit: u32,
    ties: Ties<'_>,
) -> Result<(u8, u8, u32, u64, u32, u64), MissingDistance> {
    let (mask, preferred) = candidate;
    let distance = match ties {
        Ties::LowestNumber | Ties::Scored { distances: None, .. } => 0,
        // Positive floats sort like their bits.
        Ties::Closest(distances) | Ties::Scored { distances: Some(distances), .. } => {
            distances.average(mask)?.to_bits()
        }
    };
    let score = match ties {
        Ties::LowestNumber | Ties::Closest(_) => 0,
        Ties::Scored { scores, .. } => scores.sum(mask),
    };
    let (class, size) = match (preferred, mask.len()) {
        (true, size) => ((0, 0), size),
        (false, size) if size <= limit => ((1, 0), limit - size),
        (false, size) => ((1, 1), size),
    };
    Ok((class.0, class.1, size, distance, score, mask.to_bits()))
}

/// Every combination, in nested-loop order.
fn product(policy: KubeletPolicy, nodes: NodeMask, ties: Ties<'_>, answers: &Answers) -> Merged {
    let mut lists = lists(answers, nodes);
    let single = policy == KubeletPolicy::SingleNumaNode;
    if single {
        for list in &mut lists {
            list.retain(|listed| listed.hint.is_preferred() && listed.width().is_none_or(|width| width == 1));
        }
    }
    let ties = match ties {
        // Single nodes have no distance to others.
        Ties::Closest(_) if single => Ties::LowestNumber,
        Ties::Scored { scores, .. } if single => Ties::Scored { distances: None, scores },
        ties => ties,
    };
    let narrowest = |list: &Vec<ListedHint>| list.iter().filter_map(|listed| listed.width()).min();
    let limit = lists.iter().filter_map(narrowest).max().unwrap_or(0);
    let mut best: Option<(NodeMask, bool)> = None;
    let combinations: usize = lists.iter().map(Vec::len).product();
    for at in 0..combinations {
        let mut rest = at;
        let chosen: Vec<ListedHint> = lists
            .iter()
            .map(|list| {
                let hint = list[rest % list.len()];
                rest /= list.len();
                hint
            })
            .collect();
        let named: Vec<(NodeMask, ForeignNodes)> = chosen
            .iter()
            .filter_map(|listed| Some((listed.hint.affinity.nodes()?, listed.foreign)))
            .collect();
        let mask = named.iter().fold(nodes, |all, (mask, _)| all & *mask);
        let preferred = chosen.iter().all(|listed| listed.hint.is_preferred())
            && named.windows(2).all(|pair| pair[0] == pair[1]);
        if mask.is_empty() {
            continue;
        }
        let offered = (mask, preferred);
        let wins =
            best.is_none_or(|best| key(offered, limit, ties).unwrap() < key(best, limit, ties).unwrap());
        if wins {
            best = Some(offered);
        }
    }
    let (mask, preferred) = best.unwrap_or((nodes, false));
    let preference = if preferred { Preference::Preferred } else { Preference::Acceptable };
    let hint = Hint { affinity: Affinity::Nodes(mask), preference };
    let if_preferred = if preferred { Admit::Yes } else { Admit::No };
    match policy {
        KubeletPolicy::None => Merged { hint: Hint::NONE, admit: Admit::Yes },
        KubeletPolicy::BestEffort => Merged { hint, admit: Admit::Yes },
        KubeletPolicy::SingleNumaNode if mask == nodes => {
            Merged { hint: Hint { affinity: Affinity::Any, preference }, admit: if_preferred }
        }
        KubeletPolicy::Restricted | KubeletPolicy::SingleNumaNode => Merged { hint, admit: if_preferred },
    }
}

const POLICIES: [KubeletPolicy; 4] = [
    KubeletPolicy::None,
    KubeletPolicy::BestEffort,
    KubeletPolicy::Restricted,
    KubeletPolicy::SingleNumaNode,
];

fn compare(nodes: NodeMask, ties: Ties<'_>, answers: &Answers) -> Result<(), TestCaseError> {
    for policy in POLICIES {
        let merged = policy.merge_with(nodes, answers, ties.into()).unwrap();
        prop_assert_eq!(merged, product(policy, nodes, ties, answers), "{}", policy.name());
    }
    Ok(())
}

fn hint(nodes: usize) -> impl Strategy<Value = ListedHint> {
    let bits = (1_u64 << nodes) - 1;
    (0..=bits, any::<bool>(), 0..8_u32, any::<bool>()).prop_map(|(mask, any_node, foreign, preferred)| {
        let affinity = if any_node && mask % 3 == 0 {
            Affinity::Any
        } else {
            Affinity::Nodes(NodeMask::from_bits(mask))
        };
        let foreign = if affinity == Affinity::Any || foreign > 0 { 0 } else { 1 << 60 };
        let preference = if preferred { Preference::Preferred } else { Preference::Acceptable };
        ListedHint { hint: Hint { affinity, preference }, foreign: ForeignNodes(foreign) }
    })
}

/// What a family is built from: node amounts, the amount asked, the preferred size, exact masks, must, touch.
type Parts = (Vec<u64>, u64, u32, Vec<u64>, u64, Vec<u64>, u8);

fn parts(nodes: usize) -> impl Strategy<Value = Parts> {
    let mask = 0..(1_u64 << nodes);
    (
        proptest::collection::vec(0..6_u64, nodes),
        1..12_u64,
        1..=3_u32,
        proptest::collection::vec(mask.clone(), 0..3),
        prop_oneof![3 => Just(0_u64), 1 => mask.clone()],
        proptest::collection::vec(mask, 0..2),
        0..6_u8,
    )
}

fn push_family(answers: &mut Answers, parts: &Parts) {
    let (amounts, ask, size, exact, must, touch, kind) = parts;
    let within: NodeMask = NodeMask::all(amounts.len())
        .iter()
        .zip(amounts)
        .filter(|(_, amount)| **amount != 5)
        .map(|(node, _)| node)
        .collect();
    let mut family = answers.push_family("r");
    for mask in exact {
        if *mask != 0 {
            family.mask(NodeMask::from_bits(*mask), Preference::Preferred);
        }
    }
    if *kind != 0 {
        family.open(within).must(NodeMask::from_bits(*must) & within);
        for mask in touch {
            family.touch(NodeMask::from_bits(*mask));
        }
        let supply = amounts.iter().enumerate().map(|(at, amount)| {
            let node = NodeIndex::new(at).unwrap();
            // Some supplies lie on two nodes, as a device between two sockets does.
            let mask = NodeMask::single(node);
            (
                if amount % 4 == 3 && at > 0 { mask.with(NodeIndex::new(at - 1).unwrap()) } else { mask },
                *amount,
            )
        });
        family.need(*ask, supply);
    }
    match kind {
        1 => family.preferred_as_given(),
        2 => {
            let half = NodeMask::all(amounts.len() / 2);
            family.preferred_size_or_sockets(*size, 1, [half, NodeMask::all(amounts.len()) - half])
        }
        3 => family.preferred_size(*size).any(Preference::Acceptable),
        _ => family.preferred_size(*size),
    };
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn lists_merge_as_the_product_does(
        nodes in 1..=6_usize,
        lists in proptest::collection::vec(proptest::collection::vec(hint(6), 0..6), 0..4),
        rows in proptest::collection::vec(proptest::collection::vec(10..13_u64, 6), 6),
        scores in proptest::collection::vec(0..4_u16, 6),
    ) {
        let mut answers = Answers::new();
        for list in lists {
            answers.push_list("r", list);
        }
        let rows = rows.into_iter().enumerate().map(|(id, row)| (i64::try_from(id).unwrap(), Some(row)));
        let distances = Distances::new(rows, DistanceIndex::ByPosition);
        compare(NodeMask::all(nodes), Ties::LowestNumber, &answers)?;
        compare(NodeMask::all(nodes), Ties::Closest(&distances), &answers)?;
        let scores = NodeScores::new(scores);
        compare(NodeMask::all(nodes), Ties::Scored { distances: None, scores: &scores }, &answers)?;
        compare(NodeMask::all(nodes), Ties::Scored { distances: Some(&distances), scores: &scores }, &answers)?;
    }

    #[test]
    fn families_merge_as_their_lists_do(
        families in (2..=5_usize).prop_flat_map(|nodes| {
            (Just(nodes), proptest::collection::vec(parts(nodes), 1..4))
        }),
        rows in proptest::collection::vec(proptest::collection::vec(10..13_u64, 5), 5),
        scores in proptest::collection::vec(0..4_u16, 5),
        opinion in 0..3_u8,
    ) {
        let (nodes, families) = families;
        let mut answers = Answers::new();
        for family in &families {
            push_family(&mut answers, family);
        }
        match opinion {
            0 => answers.push_no_opinion("x"),
            1 => answers.push_impossible("x"),
            _ => {}
        }
        let rows = rows.into_iter().enumerate().map(|(id, row)| (i64::try_from(id).unwrap(), Some(row)));
        let distances = Distances::new(rows, DistanceIndex::ByPosition);
        compare(NodeMask::all(nodes), Ties::LowestNumber, &answers)?;
        compare(NodeMask::all(nodes), Ties::Closest(&distances), &answers)?;
        let scores = NodeScores::new(scores);
        compare(NodeMask::all(nodes), Ties::Scored { distances: None, scores: &scores }, &answers)?;
        compare(NodeMask::all(nodes), Ties::Scored { distances: Some(&distances), scores: &scores }, &answers)?;
    }
}

#[test]
fn the_limit_widens_the_result() {
    let mut answers = Answers::new();
    answers.push_list("a", [Hint::acceptable([0]), Hint::acceptable([0, 1]), Hint::acceptable([0, 1, 2])]);
    answers.push_list("b", [Hint::acceptable([0, 1]), Hint::acceptable([0, 1, 2, 3])]);
    let merged = KubeletPolicy::BestEffort.merge(NodeMask::all(4), &answers).unwrap();
    assert_eq!(merged.hint, Hint::acceptable([0, 1]));
}

#[test]
fn without_providers_all_nodes_are_preferred() {
    let all = NodeMask::all(3);
    let merged = KubeletPolicy::Restricted.merge(all, &Answers::new()).unwrap();
    assert_eq!(merged.hint, Hint::on(all, Preference::Preferred));
    let none = KubeletPolicy::Restricted.merge(NodeMask::EMPTY, &Answers::new()).unwrap();
    assert_eq!(none.admit, Admit::No, "a machine without nodes refuses everything");
}

#[test]
fn thirty_four_nodes_are_searched_by_size() {
    let all = NodeMask::all(34);
    let mut answers = Answers::new();
    // Node 2 holds little; two nodes are needed and the best pair by number is {0, 1}.
    answers.push_family("cpu").open(all).need(10, all.iter().map(|node| (node.into(), 6))).preferred_size(1);
    let merged = KubeletPolicy::BestEffort.merge(all, &answers).unwrap();
    assert_eq!(merged.hint.affinity, Affinity::Nodes(NodeMask::all(2)));
}
