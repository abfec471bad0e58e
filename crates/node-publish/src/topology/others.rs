//! Whether fields that another field manager has set are reverted or left as they are.
//!
//! Fields that topolet had written are reverted: a person has edited them. Another producer writes again and again, so a manager
//! whose fields were reverted within the last ten minutes keeps them, as does one whose object was there before.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use cluster_node::FieldConflict;

/// A field manager that writes twice within this time is another producer.
const LATELY: Duration = Duration::from_mins(10);

/// The field managers whose fields were reverted, and when.
#[derive(Debug, Default)]
pub(super) struct Reverted {
    when: BTreeMap<String, Instant>,
}

/// Who had written the object before the conflict.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Before {
    /// topolet, since it started.
    Ours,
    /// Another client.
    NotOurs,
}

/// What is done about the conflict.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Answer {
    /// topolet's fields are written again.
    PutBack,
    /// The fields stay as they are.
    Leave,
}

impl Reverted {
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
    fn an_edit_by_a_person_is_reverted_and_a_producer_is_left() {
        let start = Instant::now();
        let after = |minutes| start + Duration::from_mins(minutes);
        let mut reverted = Reverted::default();
        assert_eq!(reverted.answer(&by("nfd"), Before::NotOurs, start), Answer::Leave, "it was there before");
        assert_eq!(reverted.answer(&by("kubectl-edit"), Before::Ours, start), Answer::PutBack);
        assert_eq!(reverted.answer(&by("nfd"), Before::Ours, after(1)), Answer::PutBack);
        assert_eq!(reverted.answer(&by("nfd"), Before::Ours, after(2)), Answer::Leave, "it goes on");
        assert_eq!(
            reverted.answer(&by("kubectl-edit"), Before::Ours, after(11)),
            Answer::PutBack,
            "much later"
        );
    }
}
