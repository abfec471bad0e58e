//! The search for small covers against trying every set.

use numa_bitmask::NodeMask;
use proptest::prelude::*;
use topology_hint::{Answer, Answers, Family, Rows, Steps, meet};

fn family(answers: &Answers) -> Family<'_> {
    match answers.get(0) {
        Some((_, Answer::Family(family))) => family,
        other => panic!("expected a family, found {other:?}"),
    }
}

type Need = (Vec<(u64, u64)>, u64);

fn need(nodes: usize) -> impl Strategy<Value = Need> {
    let each = proptest::collection::vec(0..7_u64, nodes)
        .prop_map(|amounts| (0..).zip(amounts).map(|(node, amount)| (1 << node, amount)).collect::<Vec<_>>());
    let shared = proptest::collection::vec((1..(1_u64 << nodes), 0..5_u64), 1..9);
    let narrow = proptest::collection::vec((0..nodes, 0..nodes, 0..5_u64), 1..12)
        .prop_map(|pairs| pairs.into_iter().map(|(a, b, amount)| (1 << a | 1 << b, amount)).collect());
    (prop_oneof![3 => each, 1 => shared, 1 => narrow], 0..22_u64)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_smallest_accepted_set_is_found(
        (nodes, needs, must, touch) in (1..=11_usize).prop_flat_map(|nodes| {
            let mask = 0..(1_u64 << nodes);
            (
                Just(nodes),
                proptest::collection::vec(need(nodes), 0..5),
                prop_oneof![3 => Just(0), 1 => mask.clone()],
                proptest::collection::vec(mask, 0..3),
            )
        }),
        keep in any::<u64>(),
        out in any::<u64>(),
    ) {
        let all = NodeMask::all(nodes);
        let mut answers = Answers::new();
        let mut builder = answers.push_family("r".into());
        builder.open(all, NodeMask::from_bits(must));
        for mask in &touch {
            builder.touch(NodeMask::from_bits(*mask));
        }
        for (supply, at_least) in &needs {
            builder.need(*at_least, supply.iter().map(|(bits, amount)| (NodeMask::from_bits(*bits), *amount)));
        }
        let family = family(&answers);
        let accepted: Vec<NodeMask> =
            all.subsets().filter(|mask| family.open_accepts(*mask)).collect();
        let narrowest = accepted.iter().map(|mask| mask.len()).min();
        prop_assert_eq!(family.narrowest(), narrowest);
        let Some(cover) = family.cover(all) else {
            prop_assert_eq!(narrowest, None);
            return Ok(());
        };
        for mask in all.subsets() {
            prop_assert_eq!(cover.accepts(mask), family.open_accepts(mask), "{:?}", mask);
        }
        // The same with some nodes given and others forbidden.
        let with = (NodeMask::from_bits(keep & keep.rotate_left(7)) & all) | cover.must();
        let from = all - with - NodeMask::from_bits(out & out.rotate_left(11));
        let rows: Rows<'_, '_> = cover.rows().iter().collect();
        let fitting = |mask: &&NodeMask| with.is_subset(**mask) && mask.is_subset(with | from);
        let least = accepted.iter().filter(fitting).map(|mask| mask.len() - with.len()).min();
        for most in 0..=all.len() {
            let found = meet(&rows, with, from, most, &mut Steps::new(100_000)).unwrap();
            let Some(found) = found else {
                prop_assert!(least.is_none_or(|least| least > most));
                continue;
            };
            prop_assert!(found.is_subset(with | from) && with.is_subset(found));
            prop_assert!(found.len() - with.len() <= most);
            prop_assert!(found.is_empty() || cover.accepts(found));
        }
    }
}
