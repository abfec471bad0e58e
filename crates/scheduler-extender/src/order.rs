//! The orders in which pods that were bound may have come to a node, and others gone from it.
//!
//! Those that were bound come in the order of binding. Each of the others goes before the first of them, after it, and so
//! on; one that has only begun to end may not have gone at all.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use pod_spec::PodUid;

/// So many orders are looked at one by one.
const MOST: usize = 32;

/// One order: before which of the pods that were bound each of the others goes.
#[derive(Clone, Debug)]
pub(crate) struct Order<'a>(Vec<(&'a PodUid, usize)>);

impl Order<'_> {
    /// The pods that go right before the pod of that number, from 0.
    pub(crate) fn gone_before(&self, bound: usize) -> impl Iterator<Item = &PodUid> {
        self.0.iter().filter(move |(_, at)| *at == bound).map(|(pod, _)| *pod)
    }
}

/// All orders that may be. In the first, pods that have ended went first, and those that are ending have not gone.
#[derive(Debug)]
pub(crate) struct Orders<'a> {
    /// Pods that go, and how many moments there are for each.
    going: Vec<(&'a PodUid, usize)>,
    bound: usize,
    next: Next,
}

#[derive(Clone, Copy, Debug)]
enum Next {
    /// The order of that number, of so many.
    Each(usize, usize),
    /// There are too many. First the one in which those that are ending have not gone.
    First,
    /// Then those in which all that may have gone have gone at once, at that moment.
    AllAt(usize),
    Over,
}

impl<'a> Orders<'a> {
    /// The orders of so many pods that were bound.
    pub(crate) fn new(bound: usize, ended: &'a BTreeSet<PodUid>, ending: &'a BTreeSet<PodUid>) -> Self {
        let over = ended.iter().map(|pod| (pod, bound + 1));
        let going: Vec<(&PodUid, usize)> = over.chain(ending.iter().map(|pod| (pod, bound + 2))).collect();
        let all = going.iter().try_fold(1_usize, |all, (_, moments)| all.checked_mul(*moments));
        let next = match all {
            Some(all @ ..=MOST) => Next::Each(0, all),
            _ => Next::First,
        };
        Self { going, bound, next }
    }

    /// The moment of each pod in the order of that number: its digits, where a pod that is ending counts from *not yet*.
    fn numbered(&self, mut number: usize) -> Order<'a> {
        let moment = |(pod, moments): &(&'a PodUid, usize)| {
            let digit = number % moments;
            number /= moments;
            (*pod, if self.is_ending(*moments) { (self.bound + 1 + digit) % moments } else { digit })
        };
        Order(self.going.iter().map(moment).collect())
    }

    const fn is_ending(&self, moments: usize) -> bool {
        moments == self.bound + 2
    }
}

impl<'a> Iterator for Orders<'a> {
    type Item = Order<'a>;

    fn next(&mut self) -> Option<Order<'a>> {
        match self.next {
            Next::Each(number, all) => {
                self.next = Next::Each(number + 1, all);
                (number < all).then(|| self.numbered(number))
            }
            Next::First => {
                self.next = Next::AllAt(0);
                Some(self.numbered(0))
            }
            Next::AllAt(moment) => {
                self.next = if moment < self.bound { Next::AllAt(self.bound) } else { Next::Over };
                Some(Order(self.going.iter().map(|(pod, _)| (*pod, moment)).collect()))
            }
            Next::Over => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uids(names: &[&str]) -> BTreeSet<PodUid> {
        names.iter().map(|name| PodUid::new(name)).collect()
    }

    /// Each order as the moments of the pods.
    fn moments(bound: usize, ended: &[&str], ending: &[&str]) -> Vec<Vec<usize>> {
        let (ended, ending) = (uids(ended), uids(ending));
        let orders = Orders::new(bound, &ended, &ending);
        orders.map(|Order(pods)| pods.into_iter().map(|(_, at)| at).collect()).collect()
    }

    #[test]
    fn each_pod_goes_at_each_moment() {
        assert_eq!(moments(2, &[], &[]), [[0_usize; 0]]);
        assert_eq!(moments(1, &["a"], &[]), [[0], [1]]);
        assert_eq!(moments(0, &[], &["a"]), [[1], [0]], "not yet, or before the first that comes");
        assert_eq!(moments(1, &[], &["a"]), [[2], [0], [1]]);
        let all: BTreeSet<Vec<usize>> = moments(1, &["a"], &["b"]).into_iter().collect();
        assert_eq!(all.len(), 6);
        assert_eq!(moments(1, &["a"], &["b"])[0], [0, 2]);
    }

    #[test]
    fn of_very_many_orders_three_are_looked_at() {
        let orders = moments(3, &["a", "b"], &["c", "d"]);
        assert_eq!(orders, [[0, 0, 4, 4], [0, 0, 0, 0], [3, 3, 3, 3]]);
        for (bound, going) in (0..5).flat_map(|bound| (0..9).map(move |going| (bound, going))) {
            let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
            for (ended, ending) in
                [(&names[..going], &[][..]), (&[], &names[..going]), (&names[..1], &names[1..])]
            {
                assert!(moments(bound, ended, ending).len() <= MOST, "{bound} {ended:?} {ending:?}");
            }
        }
        let six = ["a", "b", "c", "d", "e", "f"];
        assert_eq!(moments(0, &[], &six), [[1; 6], [0; 6]], "nobody comes: all have gone, or none");
    }
}
