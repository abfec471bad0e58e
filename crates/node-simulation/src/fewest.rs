//! The fewest NUMA nodes that could hold a pod on an empty machine, whatever the policy.
//!
//! Nodes that have the same amounts are one class, and what is searched is how many of each class are taken: first
//! with as many nodes as the resource that needs most of them needs at least, then with one more. Real machines have
//! few classes, or amounts so alike that the first choice fits. So that no machine makes this long, the search gives up
//! after [`STEPS`] choices and answers with the number that it was at, which is too low at most.

use alloc::vec::Vec;

/// Choices that are looked at.
const STEPS: usize = 100_000;

/// The size of the smallest set of nodes that has what is `asked`; `None` if all of them have not.
///
/// `amounts` is what each node has, resource after resource, each with `numa` nodes.
pub(crate) fn fewest(amounts: &[u64], numa: usize, asked: &[u64]) -> Option<u32> {
    let needed: Vec<(usize, u64)> =
        asked.iter().copied().enumerate().filter(|(_, asked)| *asked > 0).collect();
    if numa == 0 {
        return needed.is_empty().then_some(0);
    }
    let rows: Vec<&[u64]> = needed.iter().filter_map(|(at, _)| amounts.chunks(numa).nth(*at)).collect();
    let asked: Vec<u64> = needed.iter().map(|(_, asked)| *asked).collect();
    let alone = rows.iter().zip(&asked).map(|(row, asked)| alone(row, *asked));
    let least = alone.collect::<Option<Vec<usize>>>()?.into_iter().max().unwrap_or(0);
    let mut nodes: Vec<Vec<u64>> =
        (0..numa).map(|node| rows.iter().filter_map(|row| row.get(node).copied()).collect()).collect();
    // The richest first: their sets are the likeliest.
    nodes.sort_by(|a, b| b.cmp(a));
    let mut search = Search { classes: classes(nodes), steps: STEPS };
    let size = (least..=numa).find(|size| search.holds(0, *size, &asked))?;
    u32::try_from(size).ok()
}

/// How many nodes one resource needs when nothing else is asked.
fn alone(row: &[u64], asked: u64) -> Option<usize> {
    let mut richest = row.to_vec();
    richest.sort_unstable_by(|a, b| b.cmp(a));
    let mut sum = 0_u64;
    for (at, amount) in richest.iter().enumerate() {
        sum = sum.saturating_add(*amount);
        if sum >= asked {
            return Some(at + 1);
        }
    }
    None
}

/// What each node of a class has, and how many nodes it has.
struct Class {
    amounts: Vec<u64>,
    nodes: usize,
}

fn classes(sorted: Vec<Vec<u64>>) -> Vec<Class> {
    let mut classes: Vec<Class> = Vec::new();
    for amounts in sorted {
        match classes.last_mut() {
            Some(last) if last.amounts == amounts => last.nodes += 1,
            _ => classes.push(Class { amounts, nodes: 1 }),
        }
    }
    classes
}

struct Search {
    classes: Vec<Class>,
    steps: usize,
}

impl Search {
    /// Whether `size` nodes of the classes from `from` on have what is left to be found.
    fn holds(&mut self, from: usize, size: usize, left: &[u64]) -> bool {
        if left.iter().all(|left| *left == 0) {
            return true;
        }
        self.steps = self.steps.saturating_sub(1);
        if self.steps == 0 {
            return true;
        }
        if !self.may_hold(from, size, left) {
            return false;
        }
        let Some(class) = self.classes.get(from) else { return false };
        let amounts = class.amounts.clone();
        (0..=class.nodes.min(size)).rev().any(|taken| {
            let still = |(left, own): (&u64, &u64)| left.saturating_sub(own.saturating_mul(taken as u64));
            let left: Vec<u64> = left.iter().zip(&amounts).map(still).collect();
            self.holds(from + 1, size - taken, &left)
        })
    }

    /// Whether each resource alone could be had.
    fn may_hold(&self, from: usize, size: usize, left: &[u64]) -> bool {
        left.iter().enumerate().all(|(at, left)| {
            let mut rest: Vec<(u64, usize)> = self
                .classes
                .iter()
                .skip(from)
                .filter_map(|class| Some((*class.amounts.get(at)?, class.nodes)))
                .collect();
            rest.sort_unstable_by(|a, b| b.cmp(a));
            let (mut sum, mut places) = (0_u64, size);
            for (amount, nodes) in rest {
                let taken = nodes.min(places);
                sum = sum.saturating_add(amount.saturating_mul(taken as u64));
                places -= taken;
            }
            sum >= *left
        })
    }
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

    #[test]
    fn one_resource_may_need_nodes_that_another_lacks() {
        let check = |amounts: &[u64], asked: &[u64], expected| {
            assert_eq!(
                fewest(amounts, amounts.len() / asked.len(), asked),
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
        assert!(fewest(&amounts, 64, &asked).is_some_and(|count| (31..=33).contains(&count)));
    }

    proptest! {
        #[test]
        fn it_is_what_trying_every_set_finds(
            amounts in prop::collection::vec(0_u64..6, 12),
            asked in prop::collection::vec(0_u64..12, 2),
        ) {
            prop_assert_eq!(fewest(&amounts, 6, &asked), slow(&amounts, 6, &asked));
        }

        #[test]
        fn one_resource_alone(row in prop::collection::vec(0_u64..9, 1..8), asked in 0_u64..40) {
            let asked = vec![asked];
            prop_assert_eq!(fewest(&row, row.len(), &asked), slow(&row, row.len(), &asked));
        }
    }
}
