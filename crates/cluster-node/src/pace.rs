//! How many events are written: as many as a kubelet and client-go's correlator let through.
//!
//! client-go's `EventSourceObjectSpamFilter` lets 25 events on one object through at once, and then one in five
//! minutes. A kubelet writes 50 events a second at most, and 100 at once (`eventRecordQPS`, `eventBurst`).

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// On one object at once.
const ON_ONE: f64 = 25.0;
/// Then one more in that time.
const EACH: Duration = Duration::from_mins(5);
/// On all objects at once.
const ON_ALL: f64 = 100.0;
/// Then so many in a second.
const A_SECOND: f64 = 50.0;
/// So many objects are remembered; of more the one that was met first is forgotten.
const OBJECTS: usize = 4096;

/// Which events are written.
#[derive(Debug)]
pub struct EventPace {
    all: Bucket,
    each: BTreeMap<String, Bucket>,
}

/// Tokens that come back with time.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Bucket {
    const fn full(most: f64, now: Instant) -> Self {
        Self { left: most, at: now }
    }

    fn take(&mut self, most: f64, a_second: f64, now: Instant) -> bool {
        let gained = now.saturating_duration_since(self.at).as_secs_f64() * a_second;
        self.left = (self.left + gained).min(most);
        self.at = self.at.max(now);
        let is_there = self.left >= 1.0;
        if is_there {
            self.left -= 1.0;
        }
        is_there
    }
}

impl EventPace {
    /// Nothing has been written.
    #[must_use]
    pub const fn new(now: Instant) -> Self {
        Self { all: Bucket::full(ON_ALL, now), each: BTreeMap::new() }
    }

    /// Whether an event on this object is written `now`.
    pub fn lets_through(&mut self, object: &str, now: Instant) -> bool {
        if !self.each.contains_key(object) && self.each.len() == OBJECTS {
            let oldest = self.each.iter().min_by_key(|(_, bucket)| bucket.at).map(|(name, _)| name.clone());
            oldest.and_then(|name| self.each.remove(&name));
        }
        let bucket = self.each.entry(object.to_owned()).or_insert(Bucket::full(ON_ONE, now));
        bucket.take(ON_ONE, 1.0 / EACH.as_secs_f64(), now) && self.all.take(ON_ALL, A_SECOND, now)
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "some moment to begin with")]
mod tests {
    use std::time::{Duration, Instant};

    use super::EventPace;

    fn let_through(pace: &mut EventPace, object: &str, times: usize, now: Instant) -> usize {
        (0..times).filter(|_| pace.lets_through(object, now)).count()
    }

    #[test]
    fn a_flood_on_one_object_is_cut_and_others_have_theirs() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut pace = EventPace::new(start);
        assert_eq!(let_through(&mut pace, "a", 100, start), 25);
        assert_eq!(let_through(&mut pace, "b", 3, start), 3);
        assert_eq!(let_through(&mut pace, "a", 5, after(299)), 0);
        assert_eq!(let_through(&mut pace, "a", 5, after(301)), 1);
        // A clock that goes back gives nothing.
        assert_eq!(let_through(&mut pace, "a", 5, start), 0);
    }

    #[test]
    fn a_flood_on_many_objects_is_cut() {
        let start = Instant::now();
        let mut pace = EventPace::new(start);
        let flood = |pace: &mut EventPace, now| {
            (0..10_000).filter(|pod| pace.lets_through(&format!("pod-{pod}"), now)).count()
        };
        assert_eq!(flood(&mut pace, start), 100);
        assert_eq!(flood(&mut pace, start + Duration::from_secs(1)), 50);
        assert!(pace.each.len() <= super::OBJECTS);
    }
}
