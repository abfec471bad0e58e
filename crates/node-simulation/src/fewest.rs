//! The fewest NUMA nodes that could hold a pod on an empty machine, whatever the policy.

use alloc::vec::Vec;

use node_cover::{Cover, Row, Solution, Steps};
use numa_bitmask::NodeMask;

/// The size of the smallest set of nodes that has what is `asked`, 0 if nothing is; `None` if all of them have not.
///
/// `amounts` is what each node has, resource after resource, each with `numa` nodes.
pub(crate) fn fewest(amounts: &[u64], numa: usize, asked: &[u64]) -> Option<Solution<u32>> {
    let needed: Vec<(usize, u64)> =
        asked.iter().copied().enumerate().filter(|(_, asked)| *asked > 0).collect();
    if needed.is_empty() {
        return Some(Solution::Exact(0));
    }
    let all = NodeMask::all(numa);
    let rows = needed.iter().map(|(at, asked)| {
        let own = amounts.get(at * numa..).unwrap_or_default();
        Row::per_node(*asked, all.iter().zip(own.iter().copied()))
    });
    Some(Cover::new(all, rows)?.fewest(&mut Steps::default()))
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use proptest::prelude::*;

    use super::*;

    /// Every set of nodes.
    fn slow(amounts: &[u64], numa: usize, asked: &[u64]) -> Option<u32> {
        let holds = |set: u32| {
            asked.iter().enumerate().all(|(at, asked)| {
                let own =
                    (0..numa).filter(|node| set & (1 << node) != 0).map(|node| amounts[at * numa + node]);
                own.sum::<u64>() >= *asked
            })
        };
        (0..1_u32 << numa).filter(|set| holds(*set)).map(u32::count_ones).min()
    }

    fn exact(solution: Solution<u32>) -> u32 {
        assert!(!solution.is_cut());
        solution.into_inner()
    }

    #[test]
    fn one_resource_may_need_nodes_that_another_lacks() {
        let check = |amounts: &[u64], asked: &[u64], expected| {
            assert_eq!(
                fewest(amounts, amounts.len() / asked.len(), asked).map(exact),
                expected,
                "{amounts:?} {asked:?}"
            );
        };
        check(&[4, 4, 4, 4], &[8], Some(2));
        check(&[4, 0, 0, 2], &[4, 2], Some(2));
        check(&[4, 4, 0, 2], &[4, 2], Some(1));
        check(&[4, 4], &[9], None);
        check(&[4, 4], &[0], Some(0));
    }

    #[test]
    fn a_machine_of_a_thousand_kinds_of_sets_has_an_answer() {
        let amounts: Vec<u64> = (0..64_u64).map(|node| 1000 + node * node % 61).collect();
        let asked = [amounts.iter().sum::<u64>() / 2];
        assert!(fewest(&amounts, 64, &asked).map(exact).is_some_and(|count| (31..=33).contains(&count)));
    }

    proptest! {
        #[test]
        fn it_is_what_trying_every_set_finds(
            amounts in prop::collection::vec(0_u64..6, 12),
            asked in prop::collection::vec(0_u64..12, 2),
        ) {
            prop_assert_eq!(fewest(&amounts, 6, &asked).map(exact), slow(&amounts, 6, &asked));
        }

        #[test]
        fn one_resource_alone(row in prop::collection::vec(0_u64..9, 1..8), asked in 0_u64..40) {
            let asked = vec![asked];
            prop_assert_eq!(fewest(&row, row.len(), &asked).map(exact), slow(&row, row.len(), &asked));
        }
    }
}
