//! One answer, as it is read.

use pod_spec::ResourceName;

use crate::answers::Record;
use crate::{Answers, Family, ListedHint};

/// What a provider says for one resource. The kubelet's absent list, empty list and filled list are three
/// different answers.
#[derive(Clone, Copy, Debug)]
pub enum Answer<'a> {
    /// Any node will do: acts as one preferred hint without a node set.
    NoOpinion,
    /// Cannot be served anywhere: acts as one hint without a node set that is not preferred.
    Impossible,
    /// The accepted node sets as a rule.
    Family(Family<'a>),
    /// The accepted node sets one by one; never empty.
    List(&'a [ListedHint]),
}

impl Answers {
    /// The answer at position `at`, with its resource.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<(&ResourceName, Answer<'_>)> {
        let (resource, record) = self.records.get(at)?;
        let answer = match record {
            Record::NoOpinion => Answer::NoOpinion,
            Record::Impossible => Answer::Impossible,
            Record::List(list) => Answer::List(&self.lists[list.clone()]),
            Record::Family(family) => Answer::Family(Family::new(self, family)),
        };
        Some((resource, answer))
    }

    /// All answers in order.
    pub fn iter(&self) -> impl Iterator<Item = (&ResourceName, Answer<'_>)> {
        (0..self.len()).filter_map(|at| self.get(at))
    }
}
