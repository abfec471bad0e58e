//! Questions that nodes are asked, and how many of them are remembered.

use alloc::vec::Vec;

use crate::shape::Shape;

/// Does a pod of this shape fit, after these pods have come?
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Question {
    /// Pods that are on their way, in the order in which they were offered.
    pub(crate) beside: Vec<Shape>,
    pub(crate) shape: Shape,
}

/// Never given to two questions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct QuestionId(u64);

/// The questions whose answers are kept, those that were asked last.
#[derive(Debug)]
pub(crate) struct Questions {
    kept: Vec<Kept>,
    next: u64,
    asked: u64,
    most: usize,
}

#[derive(Debug)]
struct Kept {
    id: QuestionId,
    question: Question,
    /// When it was asked last, counted in questions.
    asked: u64,
}

impl Questions {
    pub(crate) const fn new(most: usize) -> Self {
        Self { kept: Vec::new(), next: 0, asked: 0, most }
    }

    pub(crate) fn id(&mut self, question: Question) -> QuestionId {
        self.asked += 1;
        let asked = self.asked;
        if let Some(kept) = self.kept.iter_mut().find(|kept| kept.question == question) {
            kept.asked = asked;
            return kept.id;
        }
        let id = QuestionId(self.next);
        self.next += 1;
        self.kept.push(Kept { id, question, asked });
        id
    }

    pub(crate) fn get(&self, id: QuestionId) -> Option<&Question> {
        self.kept.iter().find(|kept| kept.id == id).map(|kept| &kept.question)
    }

    /// Forgets those that have not been asked for longest, and says which.
    pub(crate) fn trim(&mut self) -> Vec<QuestionId> {
        let excess = self.kept.len().saturating_sub(self.most);
        if excess == 0 {
            return Vec::new();
        }
        self.kept.sort_by_key(|kept| kept.asked);
        self.kept.drain(..excess).map(|kept| kept.id).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.kept.len()
    }
}

#[cfg(test)]
mod tests {
    use pod_spec::{Pod, PodResources};

    use super::*;

    fn question(of: usize) -> Question {
        let resources = Some(PodResources::default()).filter(|_| of % 2 == 1);
        let pod = Pod { resources, ..Pod::new("default", "a", Vec::new()) };
        let shape = Shape::of(&pod);
        Question { beside: alloc::vec![shape.clone(); of / 2], shape }
    }

    #[test]
    fn those_that_were_asked_last_are_kept() {
        let mut questions = Questions::new(2);
        let ids: Vec<QuestionId> = (0..3).map(|of| questions.id(question(of))).collect();
        assert_eq!(questions.id(question(0)), ids[0]);
        assert_eq!(questions.trim(), [ids[1]]);
        assert_eq!(questions.trim(), []);
        assert!(questions.get(ids[1]).is_none());
        assert_eq!(questions.get(ids[2]), Some(&question(2)));
        assert_ne!(questions.id(question(1)), ids[1], "an id is never used again");
    }
}
