//! Generated schedules of clients, the same ones in every run: what `cargo xtask fuzz clients` looks for at length.

use proptest::prelude::*;

use super::clients;

/// One step of a schedule, as [`super::Schedule::run`] reads it: the byte of the step, then those of its arguments.
fn step() -> impl Strategy<Value = Vec<u8>> {
    let with = |step: u8, arguments: usize| {
        prop::collection::vec(any::<u8>(), arguments).prop_map(move |bytes| [vec![step], bytes].concat())
    };
    // Connections that send nothing, a part of a request, or all of it.
    let sent = prop_oneof![Just(0_u8), any::<u8>(), Just(u8::MAX)];
    let connect = (any::<u8>(), any::<u8>(), any::<u8>(), sent)
        .prop_map(|(who, count, text, sent)| vec![0, who, count, text, sent]);
    let raw = prop::collection::vec(any::<u8>(), 0..24)
        .prop_flat_map(|text| (any::<[u8; 2]>(), Just(text)))
        .prop_map(|(which, text)| {
            let length = u8::try_from(text.len()).unwrap_or(u8::MAX);
            [vec![2, length], text, which.to_vec()].concat()
        });
    prop_oneof![
        6 => connect,
        2 => with(1, 3),
        1 => raw,
        3 => with(3, 3),
        2 => with(4, 2),
        1 => with(5, 2),
        1 => with(6, 2),
        2 => with(7, 1),
        2 => with(8, 1),
    ]
}

/// The number of open files, how long the owner takes, what the clients do in the end, and steps.
fn schedule() -> impl Strategy<Value = Vec<u8>> {
    let steps = prop::collection::vec(step(), 0..24);
    (any::<[u8; 3]>(), steps).prop_map(|(node, steps)| [node.to_vec(), steps.concat()].concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn root_and_health_are_answered_and_all_places_come_free(bytes in schedule()) {
        clients(&bytes);
    }
}
