//! Sets of pods in the order in which their moves are tried: of those of a size the one with the least memory first.

use alloc::vec::Vec;

use crate::attempt::trace::Search;
use crate::repack::movable::Candidate;
use crate::repack::room::Bound;

/// More sets of one size are not kept.
const MOST_SETS: usize = 100_000;
/// More sets of one size are not looked at.
const MOST_LOOKED_AT: usize = 2_000_000;

/// Positions of candidates, in ascending order.
pub(crate) type Set = Vec<usize>;

/// All sets of `size` candidates that could make room, and whether these are all.
pub(crate) fn sets(candidates: &[Candidate], size: usize, bound: &Bound) -> (Vec<Set>, Search) {
    let mut found: Vec<(u64, Set)> = Vec::new();
    let mut search = Search::Complete;
    let mut looked_at = 0;
    let mut set: Set = (0..size).collect();
    loop {
        if set.last().is_some_and(|last| *last >= candidates.len()) {
            break;
        }
        looked_at += 1;
        if looked_at > MOST_LOOKED_AT || found.len() >= MOST_SETS {
            search = Search::Cut;
            break;
        }
        if bound.could_help(&set) {
            let bytes = set.iter().map(|at| candidates[*at].bytes).fold(0, u64::saturating_add);
            found.push((bytes, set.clone()));
        }
        if !advance(&mut set, candidates.len()) {
            break;
        }
    }
    found.sort();
    (found.into_iter().map(|(_, set)| set).collect(), search)
}

/// The next set of the same size; false after the last one.
fn advance(set: &mut Set, count: usize) -> bool {
    let size = set.len();
    let movable = (0..size).rev().find(|at| set[*at] + size - at < count);
    let Some(at) = movable else { return false };
    let next = set[at] + 1;
    for (offset, position) in set[at..].iter_mut().enumerate() {
        *position = next + offset;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(bytes: &[u64]) -> Vec<Candidate> {
        let candidate = |bytes: &u64| Candidate { uid: pod_spec::PodUid::new(""), bytes: *bytes };
        bytes.iter().map(candidate).collect()
    }

    #[test]
    fn every_set_is_there_once_and_those_with_little_memory_come_first() {
        for (bytes, size, expected) in [
            (&[][..], 1, &[][..]),
            (&[5], 1, &[&[0][..]]),
            (&[5], 2, &[]),
            (&[1, 2, 4], 2, &[&[0, 1], &[0, 2], &[1, 2]]),
            (&[1, 5, 5, 6], 3, &[&[0, 1, 2], &[0, 1, 3], &[0, 2, 3], &[1, 2, 3]]),
            (&[4, 1, 2], 2, &[&[1, 2], &[0, 1], &[0, 2]]),
        ] {
            let (sets, search) = sets(&candidates(bytes), size, &Bound::NONE);
            assert_eq!(
                (sets.as_slice(), search),
                (expected.iter().map(|set| set.to_vec()).collect::<Vec<_>>().as_slice(), Search::Complete)
            );
        }
        // 12 over 5.
        assert_eq!(sets(&candidates(&[0; 12]), 5, &Bound::NONE).0.len(), 792);
    }

    #[test]
    fn a_list_that_is_too_long_is_said_to_be_cut() {
        let (sets, search) = sets(&candidates(&[0; 500]), 2, &Bound::NONE);
        assert_eq!((sets.len(), search), (MOST_SETS, Search::Cut));
    }
}
