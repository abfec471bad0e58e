//! Every search against trying all node sets.

use node_cover::{Bounds, Cover, Coverage, Row, Rows, Solution, Steps, meet};
use numa_bitmask::{NodeIndex, NodeMask};
use proptest::prelude::*;

/// One resource: amounts with the nodes that they count for, and how much is needed.
#[derive(Clone, Debug)]
struct Need {
    supply: Vec<(NodeMask, u64)>,
    at_least: u64,
}

/// What a set must meet.
#[derive(Clone, Debug)]
struct Conditions {
    nodes: usize,
    must: NodeMask,
    touch: Vec<NodeMask>,
    needs: Vec<Need>,
}

impl Need {
    fn reach(&self, set: NodeMask) -> u64 {
        self.supply.iter().filter(|(nodes, _)| nodes.meets(set)).map(|(_, amount)| amount).sum()
    }
}

impl Conditions {
    /// The obvious rule.
    fn accept(&self, set: NodeMask) -> bool {
        !set.is_empty()
            && self.must.is_subset(set)
            && self.touch.iter().all(|touch| touch.meets(set))
            && self.needs.iter().all(|need| need.reach(set) >= need.at_least)
    }

    fn cover(&self) -> Option<Cover<'_>> {
        let within = NodeMask::all(self.nodes);
        let touch = self.touch.iter().map(|touch| Row::touch(*touch));
        let needs = self.needs.iter().filter(|need| need.at_least > 0);
        let needs = needs.map(|need| Row::new(within, &need.supply, need.at_least));
        Cover::new(Bounds { within, must: self.must }, touch.chain(needs))
    }
}

fn need(nodes: usize) -> impl Strategy<Value = Need> {
    let single = move |node| NodeMask::single(NodeIndex::new(node).unwrap());
    let each = proptest::collection::vec(0..7_u64, nodes)
        .prop_map(move |amounts| (0..).map(single).zip(amounts).collect::<Vec<_>>());
    let shared = proptest::collection::vec((1..(1_u64 << nodes), 0..5_u64), 1..9)
        .prop_map(|supply| supply.into_iter().map(|(bits, of)| (NodeMask::from_bits(bits), of)).collect());
    let pairs = proptest::collection::vec((0..nodes, 0..nodes, 0..5_u64), 1..12)
        .prop_map(move |supply| supply.into_iter().map(|(a, b, of)| (single(a) | single(b), of)).collect());
    (prop_oneof![3 => each, 1 => shared, 1 => pairs], 0..22_u64)
        .prop_map(|(supply, at_least)| Need { supply, at_least })
}

fn conditions() -> impl Strategy<Value = Conditions> {
    (1..=11_usize).prop_flat_map(|nodes| {
        let mask = (0..(1_u64 << nodes)).prop_map(NodeMask::from_bits);
        let must = prop_oneof![3 => Just(NodeMask::EMPTY), 1 => mask.clone()];
        let touch = proptest::collection::vec(mask, 0..3);
        let needs = proptest::collection::vec(need(nodes), 0..5);
        (Just(nodes), must, touch, needs).prop_map(|(nodes, must, touch, needs)| Conditions {
            nodes,
            must,
            touch,
            needs,
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_cover_is_what_trying_every_set_finds(own in conditions(), keep in any::<u64>(), out in any::<u64>()) {
        let all = NodeMask::all(own.nodes);
        let accepted: Vec<NodeMask> = all.subsets().filter(|set| own.accept(*set)).collect();
        let smallest = accepted.iter().copied().min_by(|a, b| a.cmp_narrow(*b));
        let Some(cover) = own.cover() else {
            prop_assert_eq!(smallest, None);
            return Ok(());
        };
        for set in all.subsets() {
            prop_assert_eq!(cover.accepts(set), own.accept(set), "{:?}", set);
        }
        let Some(smallest) = smallest else { panic!("a cover accepts something") };
        prop_assert_eq!(cover.fewest(&mut Steps::default()), Solution::Exact(smallest.len()));
        prop_assert_eq!(cover.smallest(&mut Steps::default()), Solution::Exact(smallest));
        // The same with some nodes given and others forbidden.
        let with = (NodeMask::from_bits(keep & keep.rotate_left(7)) & all) | cover.must();
        let from = all - with - NodeMask::from_bits(out & out.rotate_left(11));
        let rows: Rows<'_, '_> = cover.rows().iter().collect();
        let fitting = |set: &&NodeMask| with.is_subset(**set) && set.is_subset(with | from);
        let least = accepted.iter().filter(fitting).map(|set| set.len() - with.len()).min();
        for most in 0..=all.len() {
            let Some(found) = meet(&rows, with, from, most, &mut Steps::default()).unwrap() else {
                prop_assert!(least.is_none_or(|least| least > most));
                continue;
            };
            prop_assert!(found.is_subset(with | from) && with.is_subset(found));
            prop_assert!(found.len() - with.len() <= most);
            prop_assert!(found.is_empty() || cover.accepts(found));
        }
    }

    #[test]
    fn a_cut_search_finds_a_set_that_is_enough(own in conditions(), steps in 0..12_u64) {
        let Some(cover) = own.cover() else { return Ok(()) };
        let Solution::Exact(least) = cover.smallest(&mut Steps::default()) else { panic!("cut") };
        match cover.smallest(&mut Steps::new(steps)) {
            Solution::Exact(set) => prop_assert_eq!(set, least),
            Solution::Cut(set) => prop_assert!(own.accept(set) && set.len() >= least.len(), "{:?}", set),
        }
        match cover.fewest(&mut Steps::new(steps)) {
            Solution::Exact(size) => prop_assert_eq!(size, least.len()),
            Solution::Cut(size) => prop_assert!(size >= least.len() && size <= cover.within().len()),
        }
    }

    #[test]
    fn a_coverage_is_what_trying_every_set_finds(need in need(9), steps in 0..12_u64) {
        let all = NodeMask::all(9);
        let exact = Coverage::new(need.supply.clone(), &mut Steps::default());
        prop_assert!(!exact.is_cut());
        let cut = Coverage::new(need.supply.clone(), &mut Steps::new(steps));
        for amount in 0..=need.reach(all) + 1 {
            let least = all.subsets().find(|set| need.reach(*set) >= amount).map(NodeMask::len);
            prop_assert_eq!(exact.as_ref().into_inner().narrowest(amount), least);
            match &cut {
                Solution::Exact(cut) => prop_assert_eq!(cut.narrowest(amount), least),
                Solution::Cut(cut) => prop_assert!(cut.narrowest(amount) >= least),
            }
        }
    }
}

/// 200 amounts, each for two of 64 nodes.
fn pairs() -> Vec<(NodeMask, u64)> {
    let pair = |n: u64| {
        let (a, b) = (n.wrapping_mul(0x9e37_79b9) >> 7 & 63, n.wrapping_mul(0x85eb_ca6b) >> 9 & 63);
        (NodeMask::from_bits(1 << a | 1 << b), 1)
    };
    (0..200).map(pair).collect()
}

#[test]
fn sixty_four_nodes_with_pairs_at_random_end() {
    let coverage = Coverage::new(pairs(), &mut Steps::default()).into_inner();
    assert!(coverage.narrowest(200).is_some());
    assert_eq!(coverage.narrowest(201), None);

    let all = NodeMask::all(64);
    let supply = pairs();
    let cover = Cover::new(all, [Row::new(all, &supply, 150)]).unwrap();
    let set = cover.smallest(&mut Steps::default());
    assert!(set.is_cut());
    assert!(cover.accepts(set.into_inner()));
}
