//! Traces: the same decision, and what a person reads.

use crate::plain;
use numa_bitmask::NodeMask;
use proptest::prelude::*;
use topology_hint::Answers;
use topology_policy::{DistanceIndex, Distances, KubeletPolicy, MergeTrace, Merged, NodeScores, Ties};

fn names(mask: NodeMask) -> String {
    let ids: Vec<_> = mask.iter().map(|node| node.get().to_string()).collect();
    ids.join(",")
}

fn lines(trace: &MergeTrace) -> String {
    trace.lines(names).join("\n")
}

/// Two nodes with 4 and 38 free CPUs, memory on both, two functions on node 1.
fn server(cpus: u64) -> Answers {
    let machine = NodeMask::all(2);
    let each = |amounts: [u64; 2]| machine.iter().map(NodeMask::single).zip(amounts).collect::<Vec<_>>();
    let mut answers = Answers::new();
    answers.push_family("intel.com/vf").open(machine).need(2, each([0, 3])).preferred_size(1);
    answers.push_family("cpu").open(machine).need(cpus, each([4, 38])).preferred_size(1);
    answers.push_no_opinion("memory");
    answers
}

#[test]
fn a_trace_says_who_prefers_what_and_why_the_winner_won() {
    let all = NodeMask::all(2);
    let traced = |policy: KubeletPolicy, cpus| lines(&policy.trace(all, &server(cpus)));
    assert_eq!(
        traced(KubeletPolicy::BestEffort, 4),
        "intel.com/vf: needs 1 node or more, prefers 1 node, fits alone on 1
cpu: needs 1 node or more, prefers 1 node, fits alone on 0,1
memory: any node will do
nodes 1
nodes 0, not offered by intel.com/vf
it alone is preferred by all"
    );
    assert_eq!(
        traced(KubeletPolicy::Restricted, 40),
        "intel.com/vf: needs 1 node or more, prefers 1 node, fits alone on 1
cpu: needs 2 nodes or more, prefers 1 node
memory: any node will do
nodes 0,1, not preferred by intel.com/vf, cpu
nothing is preferred by all; 2 is what the most demanding answer needs"
    );
    assert_eq!(
        traced(KubeletPolicy::SingleNumaNode, 40),
        "intel.com/vf: needs 1 node or more, prefers 1 node, fits alone on 1
cpu: needs 2 nodes or more, prefers 1 node
memory: any node will do
nodes 1, not offered by cpu
nodes 0, not offered by intel.com/vf, cpu
no single node is preferred by all"
    );
    assert!(traced(KubeletPolicy::None, 40).ends_with("the policy looks at no answer"));
}

#[test]
fn runners_up_follow_in_order() {
    let all = NodeMask::all(6);
    let mut answers = Answers::new();
    let free = all.iter().map(|node| (NodeMask::single(node), [3, 1, 3, 2, 3, 3][node.get()]));
    answers.push_family("cpu").open(all).need(6, free).preferred_size(2);
    let trace = KubeletPolicy::BestEffort.trace(all, &answers);
    let candidates: Vec<_> =
        trace.candidates.iter().take(6).map(|candidate| names(candidate.nodes)).collect();
    assert_eq!(candidates, ["0,2", "0,4", "2,4", "0,5", "2,5", "4,5"]);
    assert!(lines(&trace).ends_with("of equally good ones it has the lowest nodes"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_trace_decides_as_the_merge_does((nodes, own, rows) in plain::case(1..=7_usize)) {
        let mut answers = Answers::new();
        for family in &own {
            family.push(&mut answers);
        }
        let rows = (0..).zip(rows).map(|(id, row)| (id, Some(row)));
        let distances = Distances::new(rows, DistanceIndex::ByPosition);
        let all = NodeMask::all(nodes);
        let scores = NodeScores::new([2, 0, 1, 2, 0, 1, 0]);
        let scored = |distances| Ties::Scored { distances, scores: &scores };
        for ties in [Ties::LowestNumber, Ties::Closest(&distances), scored(None), scored(Some(&distances))] {
            for policy in [KubeletPolicy::BestEffort, KubeletPolicy::Restricted, KubeletPolicy::SingleNumaNode] {
                let merged = policy.merge_with(all, &answers, ties.into());
                let trace = policy.trace_with(all, &answers, ties.into());
                prop_assert_eq!(trace.merged, merged);
                prop_assert_eq!(trace.answers.len(), answers.len());
                let winner = merged.ok().and_then(Merged::admitted).and_then(|hint| hint.affinity.nodes());
                if let (Some(winner), Some(first)) = (winner, trace.candidates.first()) {
                    prop_assert_eq!(first.nodes, winner);
                }
                let distinct: std::collections::BTreeSet<_> =
                    trace.candidates.iter().map(|candidate| candidate.nodes).collect();
                prop_assert_eq!(distinct.len(), trace.candidates.len());
            }
        }
    }
}
