//! The best groups against a look at every set of them.

use node_cover::{Group, GroupState, Need, Solution, Steps, best_fit};
use proptest::prelude::*;

/// By the definition alone; the blocks that are broken are counted one by one.
fn best_of_all(groups: &[Group], need: Need) -> Option<Vec<usize>> {
    let sets = (0..1_u32 << groups.len()).filter_map(|bits| {
        let set: Vec<usize> = (0..groups.len()).filter(|at| bits >> at & 1 == 1).collect();
        let sum = |of: fn(&Group) -> usize| set.iter().map(|at| of(&groups[*at])).sum::<usize>();
        let (free, blocks) = (sum(|group| group.free), sum(|group| group.blocks));
        let has_use = set.iter().all(|at| groups[*at].free > 0);
        let whole_blocks = blocks.min(need.count / need.block);
        if !has_use || set.len() > need.groups || free < need.count || whole_blocks < need.blocks {
            return None;
        }
        let mut singles = free - blocks * need.block;
        let mut broken_blocks = 0;
        for _ in 0..need.count - whole_blocks * need.block {
            if singles == 0 {
                (broken_blocks, singles) = (broken_blocks + 1, need.block);
            }
            singles -= 1;
        }
        let broken = set.iter().filter(|at| groups[**at].state == GroupState::Whole).count();
        Some((broken, set.len(), broken_blocks, free - need.count, set))
    });
    sets.min().map(|(.., set)| set)
}

fn any_group(block: usize) -> impl Strategy<Value = Group> {
    let state = prop::sample::select(vec![GroupState::Whole, GroupState::Broken]);
    (state, 0..4_usize, 0..5_usize).prop_map(move |(state, blocks, singles)| {
        let singles = if block == 1 { 0 } else { singles };
        Group { state, free: blocks * block + singles, blocks }
    })
}

fn any_question() -> impl Strategy<Value = (Vec<Group>, Need)> {
    (1..4_usize).prop_flat_map(|block| {
        let need = (0..14_usize, 0..4_usize, 0..6_usize).prop_map(move |(count, blocks, groups)| Need {
            count,
            block,
            blocks,
            groups,
        });
        (prop::collection::vec(any_group(block), 0..8), need)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_set_of_groups_is_better((groups, need) in any_question()) {
        let found = best_fit(&groups, need, &mut Steps::default());
        prop_assert_eq!(found, Solution::Exact(best_of_all(&groups, need)), "{:?} of {:?}", need, groups);
    }

    #[test]
    fn what_a_cut_search_found_is_enough((groups, need) in any_question(), steps in 0..12_u64) {
        let found = best_fit(&groups, need, &mut Steps::new(steps));
        let is_cut = found.is_cut();
        let best = best_of_all(&groups, need);
        match found.into_inner() {
            None => prop_assert!(is_cut || best.is_none()),
            Some(set) => {
                let free: usize = set.iter().map(|at| groups[*at].free).sum();
                prop_assert!(free >= need.count && set.len() <= need.groups);
                prop_assert!(is_cut || best == Some(set));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Sixteen caches of sixteen cores: what the largest NUMA nodes have.
    #[test]
    fn the_largest_machines_take_fewer_steps_than_there_are(
        groups in prop::collection::vec((0..17_usize, 0..17_usize), 16),
        (share, whole, most) in (1..100_usize, 0..101_usize, 1..17_usize),
    ) {
        let groups: Vec<Group> = groups
            .into_iter()
            .map(|(blocks, singles)| {
                let free = 2 * blocks + singles.min(16 - blocks);
                let state = if free == 32 { GroupState::Whole } else { GroupState::Broken };
                Group { state, free, blocks }
            })
            .collect();
        let sum = |of: fn(&Group) -> usize| groups.iter().map(of).sum::<usize>();
        let count = (sum(|group| group.free) * share / 100).max(1);
        let blocks = sum(|group| group.blocks).min(count / 2) * whole / 100;
        let need = Need { count, block: 2, blocks, groups: most };
        let mut steps = Steps::of_groups();
        prop_assert!(!best_fit(&groups, need, &mut steps).is_cut(), "{need:?} of {groups:?}");
    }
}

#[test]
fn a_request_comes_from_the_tightest_broken_group_and_a_rest_too() {
    let groups: Vec<Group> = [8, 8, 5, 3, 6]
        .map(|free| Group {
            state: if free == 8 { GroupState::Whole } else { GroupState::Broken },
            free,
            blocks: free,
        })
        .into();
    for (count, most, expected) in [
        (3, 9, Some(&[3][..])),
        (4, 9, Some(&[2])),
        (6, 9, Some(&[4])),
        // Two broken ones before a whole one.
        (7, 9, Some(&[2, 3])),
        (7, 1, Some(&[0])),
        // A whole group, and the rest of the tightest.
        (15, 9, Some(&[0, 2, 3])),
        (13, 2, Some(&[0, 2])),
        (17, 2, None),
        (16, 2, Some(&[0, 1])),
    ] {
        let need = Need { count, block: 1, blocks: 0, groups: most };
        let found = best_fit(&groups, need, &mut Steps::default()).into_inner();
        assert_eq!(found.as_deref(), expected, "{count} of {most} groups");
    }
}
