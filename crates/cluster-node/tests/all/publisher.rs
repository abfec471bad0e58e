//! A publisher, step by step in one thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cluster_node::{Cluster, Pace, Publication, Published, Publisher, StateError, StatePart, Woken};
use parking_lot::Mutex;
use serde_json::json;

use crate::world::{Answer, World, refused};

const PACE: Pace = Pace {
    least: Duration::from_secs(1),
    resync: Some(Duration::from_mins(1)),
    again: Duration::from_secs(5),
};

/// The state of a node, kept published.
struct State {
    cluster: Cluster,
    changed: Arc<AtomicBool>,
}

impl Publication for State {
    fn publish(&mut self, _: Woken, _: Instant) -> Published {
        match self.cluster.write_state("worker-1", StatePart::Holdings, &json!({})) {
            Ok(_) => Published::Written,
            Err(StateError::Cluster(error)) => Published::failed(&error),
            Err(StateError::NoDefinition) => Published::Left,
        }
    }

    fn wait(&mut self, _: Instant, within: Duration) -> Option<Woken> {
        let changed = self.changed.clone();
        let changed = async move {
            while !changed.swap(false, Ordering::Relaxed) {
                std::future::pending::<()>().await;
            }
        };
        self.cluster.rest(changed, within)
    }

    fn reconnect(&mut self, cluster: Cluster) {
        self.cluster = cluster;
    }
}

/// When the API server was asked, in milliseconds, by what it answers; and how many connections were made.
fn played(answer: fn(Duration) -> Answer, changes: &[u64], until: u64) -> (Vec<u128>, usize) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let passed = Arc::new(Mutex::new(Duration::ZERO));
    let world = World::new({
        let (asked, passed) = (asked.clone(), passed.clone());
        move |_| {
            let now = *passed.lock();
            asked.lock().push(now.as_millis());
            answer(now)
        }
    });
    let changed = Arc::<AtomicBool>::default();
    let state = State { cluster: world.connector().connect().unwrap(), changed: changed.clone() };
    let mut publisher = Publisher::new(state, world.connector(), PACE);
    let mut changes = changes.iter().map(|at| Duration::from_millis(*at)).peekable();
    while world.clock.passed() < Duration::from_millis(until) {
        *passed.lock() = world.clock.passed();
        if changes.next_if(|at| *at <= world.clock.passed()).is_some() {
            changed.store(true, Ordering::Relaxed);
        }
        publisher.step(Duration::from_millis(100));
    }
    let asked = asked.lock().clone();
    (asked, world.connections.load(Ordering::Relaxed))
}

fn taken(_: Duration) -> Answer {
    let object =
        r#"{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","metadata":{"generation":2}}"#;
    Answer(200, object.to_owned())
}

#[test]
fn changes_go_out_at_once_and_those_within_a_second_together() {
    assert_eq!(played(taken, &[], 50_000).0, [0]);
    assert_eq!(played(taken, &[3000], 50_000).0, [0, 3000]);
    assert_eq!(played(taken, &[3000, 3200, 3700], 50_000).0, [0, 3000, 4000]);
    // The wait for a minute begins when the second after the write is over.
    assert_eq!(played(taken, &[3000], 130_000).0, [0, 3000, 64_000, 125_000]);
}

#[test]
fn failures_are_tried_again_less_and_less_often() {
    let down = |now| if now < Duration::from_secs(15) { refused(500) } else { taken(now) };
    assert_eq!(played(down, &[], 40_000), (vec![0, 500, 1500, 3500, 7500, 12_500, 17_500], 1));
    let down_twice = |now: Duration| {
        let is_up = (1..10).contains(&now.as_secs());
        if is_up { taken(now) } else { refused(500) }
    };
    // After a success the pause is the first one again.
    assert_eq!(played(down_twice, &[12_000], 13_400).0, [0, 500, 1500, 12_000, 12_500]);
}

#[test]
fn credentials_that_are_not_accepted_are_read_again() {
    let expired = |now| if now < Duration::from_secs(1) { refused(401) } else { taken(now) };
    assert_eq!(played(expired, &[], 10_000), (vec![0, 500, 1500], 3));
}

#[test]
fn what_is_left_to_others_is_written_when_something_happens() {
    let left = |now| if now < Duration::from_secs(9) { refused(404) } else { taken(now) };
    assert_eq!(played(left, &[10_000], 20_000).0, [0, 10_000]);
}
