//! Transitions of a condition, and the table.

use std::time::Duration;

use conditions::{Change, Condition, Conditions, State, Status};
use proptest::prelude::*;

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn a_transition_is_a_change_once() {
    let failed = |message: &str| State::failed("Refused", message);
    let pending = || State::pending("it has just started");
    for (states, changes) in [
        // What never failed is not worth a line.
        (vec![State::Works, State::Works], vec![false, false]),
        (vec![pending(), State::Works], vec![false, false]),
        (vec![pending(), pending(), failed("a")], vec![false, false, true]),
        // The start of a failure, another message and the end are.
        (vec![failed("a"), failed("a"), failed("b"), State::Works], vec![true, false, true, true]),
        (vec![failed("a"), pending(), State::Works], vec![true, true, false]),
    ] {
        let mut conditions = Conditions::<&str>::new();
        let found = states.iter().map(|state| conditions.set("a", (), state.clone(), at(1)).is_some());
        assert_eq!(found.collect::<Vec<_>>(), changes, "{states:?}");
    }
    let mut known = Condition::new(failed("a"), at(1));
    assert_eq!(known.set(failed("b"), at(2)), Change::Message("a".to_owned()));
    let reason = State::failed("Forbidden", "b");
    assert_eq!(known.set(reason, at(3)), Change::None, "the message is the same, and is what people read");
}

#[test]
fn a_condition_is_read_as_kubernetes_spells_it() {
    let shown = |state: State| {
        let condition = Condition::new(state, at(0));
        [condition.status().as_str(), condition.reason(), condition.message()].map(str::to_owned)
    };
    assert_eq!(shown(State::Works), ["True", "AsExpected", ""]);
    assert_eq!(shown(State::failed("Forbidden", "no")), ["False", "Forbidden", "no"]);
    assert_eq!(shown(State::pending("soon")), ["Unknown", "Pending", "soon"]);
    assert_eq!(shown(State::unknown("NotPublished", "why")), ["Unknown", "NotPublished", "why"]);
}

#[test]
fn the_table_is_read_by_type_and_subject() {
    let mut conditions = Conditions::<u8, &str>::new();
    for (of, on, state) in [
        (2, "b", State::failed("R", "2b")),
        (1, "b", State::Works),
        (2, "a", State::pending("2a")),
        (1, "a", State::failed("R", "1a")),
    ] {
        let _ = conditions.set(of, on, state, at(1));
    }
    let messages = |found: Vec<&Condition>| -> Vec<String> {
        found.iter().map(|condition| condition.message().to_owned()).collect()
    };
    assert_eq!(messages(conditions.iter().map(|(.., one)| one).collect()), ["1a", "", "2a", "2b"]);
    assert_eq!(messages(conditions.failing().map(|(.., one)| one).collect()), ["1a", "2a", "2b"]);
    assert_eq!(messages(conditions.of(2).map(|(_, one)| one).collect()), ["2a", "2b"]);
    assert_eq!(conditions.get(1, &"b").map(Condition::status), Some(Status::True));
    assert_eq!(conditions.get(3, &"b"), None);
    conditions.retain(|of, on| of == 1 || *on == "a");
    assert_eq!(messages(conditions.failing().map(|(.., one)| one).collect()), ["1a", "2a"]);
}

fn states() -> impl Strategy<Value = State> {
    prop_oneof![
        Just(State::Works),
        Just(State::pending("soon")),
        "[ab]".prop_map(|message| State::failed("Refused", message)),
    ]
}

proptest! {
    /// Beside the list of all that was found: `since` is the first of the last run of equal statuses, and a log of
    /// changes alone ends with the present message.
    #[test]
    fn a_log_of_changes_ends_with_the_present_message(states in prop::collection::vec(states(), 1..40)) {
        let mut conditions = Conditions::<()>::new();
        let mut logged = String::new();
        for (second, state) in (0..).zip(&states) {
            let change = conditions.set((), (), state.clone(), at(second));
            let condition = conditions.get((), &()).unwrap();
            if change.is_some() {
                logged = condition.message().to_owned();
            }
            if condition.status() == Status::False {
                prop_assert_eq!(&logged, condition.message());
            }
            let seen = &states[..=usize::try_from(second).unwrap()];
            let run = seen.iter().rev().take_while(|before| before.status() == state.status()).count();
            prop_assert_eq!(condition.since, at(second + 1 - u64::try_from(run).unwrap()));
        }
    }
}
