//! When an object that somebody else has changed is put back, and when it is left to them.
//!
//! An object that was ours is put back: a person has edited it. Another producer writes it again and again, so one that
//! has been overruled lately is left alone, as is one that was there before us.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use cluster_node::FieldConflict;

/// Who writes twice in that time is a producer.
const LATELY: Duration = Duration::from_mins(10);

/// Whom we have overruled, and when.
#[derive(Debug, Default)]
pub(super) struct Overruled {
    when: BTreeMap<String, Instant>,
}

/// Whose the object was before somebody else set fields of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Before {
    /// We had written it.
    Ours,
    /// We had not, since this program started.
    NotOurs,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Answer {
    /// Our fields are set again.
    PutBack,
    /// The others have it.
    Leave,
}

impl Overruled {
    /// What is done about fields that others have set.
    pub(super) fn answer(&mut self, conflicts: &[FieldConflict], before: Before, now: Instant) -> Answer {
        let is_lately = |conflict: &FieldConflict| {
            let when = self.when.get(&conflict.manager);
            when.is_some_and(|when| now.saturating_duration_since(*when) < LATELY)
        };
        if before == Before::NotOurs || conflicts.iter().any(is_lately) {
            return Answer::Leave;
        }
        self.when.retain(|_, when| now.saturating_duration_since(*when) < LATELY);
        self.when.extend(conflicts.iter().map(|conflict| (conflict.manager.clone(), now)));
        Answer::PutBack
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "some moment to begin with")]
mod tests {
    use super::*;

    fn by(manager: &str) -> Vec<FieldConflict> {
        vec![FieldConflict { manager: manager.to_owned(), field: ".zones".to_owned() }]
    }

    #[test]
    fn a_person_is_overruled_and_a_producer_is_not() {
        let start = Instant::now();
        let after = |minutes| start + Duration::from_mins(minutes);
        let mut overruled = Overruled::default();
        assert_eq!(
            overruled.answer(&by("nfd"), Before::NotOurs, start),
            Answer::Leave,
            "it was there before"
        );
        assert_eq!(overruled.answer(&by("kubectl-edit"), Before::Ours, start), Answer::PutBack);
        assert_eq!(overruled.answer(&by("nfd"), Before::Ours, after(1)), Answer::PutBack);
        assert_eq!(overruled.answer(&by("nfd"), Before::Ours, after(2)), Answer::Leave, "it goes on");
        assert_eq!(
            overruled.answer(&by("kubectl-edit"), Before::Ours, after(11)),
            Answer::PutBack,
            "much later"
        );
    }
}
