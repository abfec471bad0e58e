//! Every operation on all sets of eight nodes, against sorted sets; enumeration against the definition.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use numa_bitmask::{NodeIndex, NodeMask, OutOfRange, combinations};

fn members(bits: u64) -> BTreeSet<usize> {
    (0..8).filter(|bit| bits >> bit & 1 == 1).collect()
}

fn as_set(mask: NodeMask) -> BTreeSet<usize> {
    mask.iter().map(NodeIndex::get).collect()
}

#[test]
fn algebra_of_all_pairs_of_eight_nodes() {
    for (a, b) in (0..256).flat_map(|a| (0..256).map(move |b| (a, b))) {
        let (left, right) = (NodeMask::from_bits(a), NodeMask::from_bits(b));
        let (set_a, set_b) = (members(a), members(b));
        assert_eq!(as_set(left & right), &set_a & &set_b);
        assert_eq!(as_set(left | right), &set_a | &set_b);
        assert_eq!(as_set(left - right), &set_a - &set_b);
        assert_eq!(left.is_subset(right), set_a.is_subset(&set_b));
        assert_eq!(left.meets(right), !set_a.is_disjoint(&set_b));
        assert_eq!(left.cmp(&right), a.cmp(&b));
        let narrower = set_a.len() < set_b.len() || set_a.len() == set_b.len() && a < b;
        assert_eq!(left.cmp_narrow(right) == Ordering::Less, narrower);
    }
}

#[test]
fn single_sets_of_eight_nodes() {
    for bits in 0..256 {
        let (mask, set) = (NodeMask::from_bits(bits), members(bits));
        assert_eq!(as_set(mask), set);
        assert_eq!(mask.len() as usize, set.len());
        assert_eq!(mask.iter().len(), set.len());
        assert_eq!(mask.is_empty(), set.is_empty());
        assert_eq!(mask.first().map(NodeIndex::get), set.first().copied());
        assert_eq!(mask.last().map(NodeIndex::get), set.last().copied());
        assert_eq!(format!("{mask:?}"), format!("{set:?}"));
        assert_eq!(mask.iter().collect::<NodeMask>(), mask);
        for index in 0..8 {
            let node = NodeIndex::new(index).unwrap();
            assert_eq!(mask.contains(node), set.contains(&index));
            assert_eq!(as_set(mask.with(node)), &set | &BTreeSet::from([index]));
            assert_eq!(as_set(mask.without(node)), &set - &BTreeSet::from([index]));
        }
    }
}

#[test]
fn the_word_has_sixty_four_places() {
    assert_eq!(NodeIndex::new(64), Err(OutOfRange));
    assert_eq!(NodeIndex::try_from(-1), Err(OutOfRange));
    assert_eq!(OutOfRange.to_string(), "bit number must be in range 0-63");
    assert_eq!(NodeMask::all(64).len(), 64);
    assert_eq!(NodeMask::all(65), NodeMask::all(64));
    assert_eq!(!NodeMask::EMPTY, NodeMask::all(64));
    assert_eq!(NodeMask::all(64).iter().last().map(NodeIndex::get), Some(63));
}

#[test]
fn subsets_come_by_size_then_by_position() {
    for bits in 0..256_u64 {
        let mut expected: Vec<Vec<usize>> = (1..256_u64)
            .filter(|sub| sub & !bits == 0)
            .map(|sub| members(sub).into_iter().collect())
            .collect();
        expected.sort_by(|a, b| a.len().cmp(&b.len()).then(a.cmp(b)));
        let listed: Vec<Vec<usize>> =
            NodeMask::from_bits(bits).subsets().map(|mask| as_set(mask).into_iter().collect()).collect();
        assert_eq!(listed, expected);
    }
}

#[test]
fn combinations_keep_the_order_of_the_list_and_name_what_does_not_fit() {
    let listed: Vec<_> = combinations(&[2, 64, 0]).map(|mask| mask.map(NodeMask::to_bits)).collect();
    assert_eq!(
        listed,
        [Ok(4), Err(OutOfRange), Ok(1), Err(OutOfRange), Ok(5), Err(OutOfRange), Err(OutOfRange)]
    );
    assert_eq!(combinations(&[]).count(), 0);
    assert_eq!(combinations(&[3, 3]).map(Result::unwrap).collect::<Vec<_>>(), [NodeMask::from_bits(8); 3]);
}

#[test]
fn log_lines_show_binary_digits() {
    for (nodes, shown) in [
        (&[][..], "00"),
        (&[0], "01"),
        (&[1], "10"),
        (&[2], "100"),
        (&[0, 2], "0101"),
        (&[3], "1000"),
        (&[4], "10000"),
        (&[0, 4], "010001"),
        (&[6], "1000000"),
    ] {
        let mask: NodeMask = nodes.iter().map(|node| NodeIndex::new(*node).unwrap()).collect();
        assert_eq!(mask.bits().to_string(), shown);
    }
    let shown = NodeMask::single(NodeIndex::new(62).unwrap()).bits().to_string();
    assert_eq!(shown.len(), 63);
}
