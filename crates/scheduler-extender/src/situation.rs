//! Nodes in the same state, as one: each question is decided once for all of them.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::hash::Hasher as _;

use twox_hash::XxHash64;

use crate::basis::{Basis, Exact, Outcome};
use crate::question::QuestionId;
use crate::rooms::RoomThere;

/// A place in [`Situations`]; used again when the situation is gone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct SituationId(usize);

/// One state that one or more nodes are in, with what is known to come out in it.
#[derive(Debug)]
pub(crate) struct Situation {
    pub(crate) basis: Arc<Basis>,
    /// Nodes, and situations whose empty node this is.
    users: usize,
    key: Key,
    /// The same node with nothing on it, once a filter has needed it; itself if it is empty.
    empty: Option<SituationId>,
    /// How much room there is for the mix; `None` without a mix, and where it is not known.
    pub(crate) room: Option<RoomThere>,
    /// In ascending order.
    outcomes: Vec<(QuestionId, Outcome)>,
}

/// Which node, and a hash of what is on it. Equal for situations that are alike.
type Key = (usize, u64);

/// All situations that some node is in.
#[derive(Debug, Default)]
pub(crate) struct Situations {
    places: Vec<Option<Situation>>,
    free: Vec<usize>,
    by_key: BTreeMap<Key, Vec<SituationId>>,
}

impl Situations {
    /// The situation of a node with this basis: one that is there already if it is alike.
    pub(crate) fn enter(&mut self, basis: Arc<Basis>) -> SituationId {
        let key = key(&basis);
        let of_key = self.by_key.entry(key).or_default();
        let alike = of_key.iter().copied().find(|id| {
            let place = self.places.get(id.0).and_then(Option::as_ref);
            place.is_some_and(|place| place.basis.is_alike(&basis))
        });
        if let Some(id) = alike {
            if let Some(place) = self.places.get_mut(id.0).and_then(Option::as_mut) {
                place.users += 1;
            }
            return id;
        }
        let situation = Situation { basis, users: 1, key, empty: None, room: None, outcomes: Vec::new() };
        let id = SituationId(self.free.pop().unwrap_or(self.places.len()));
        of_key.push(id);
        match self.places.get_mut(id.0) {
            Some(free) => *free = Some(situation),
            None => self.places.push(Some(situation)),
        }
        id
    }

    /// A node is not in this situation any more.
    pub(crate) fn leave(&mut self, id: SituationId) {
        let Some(place) = self.places.get_mut(id.0) else { return };
        let Some(situation) = place else { return };
        situation.users -= 1;
        if situation.users > 0 {
            return;
        }
        let (key, empty) = (situation.key, situation.empty);
        *place = None;
        self.free.push(id.0);
        if let Some(of_key) = self.by_key.get_mut(&key) {
            of_key.retain(|other| *other != id);
            if of_key.is_empty() {
                self.by_key.remove(&key);
            }
        }
        if let Some(empty) = empty.filter(|empty| *empty != id) {
            self.leave(empty);
        }
    }

    pub(crate) fn get(&self, id: SituationId) -> Option<&Situation> {
        self.places.get(id.0).and_then(Option::as_ref)
    }

    /// The situation of the same node with nothing on it.
    pub(crate) fn empty(&mut self, id: SituationId) -> Option<SituationId> {
        let situation = self.get(id)?;
        if situation.empty.is_some() {
            return situation.empty;
        }
        let empty = self.enter(Arc::new(situation.basis.empty()));
        let is_itself = empty == id;
        let situation = self.places.get_mut(id.0)?.as_mut()?;
        if is_itself {
            situation.users -= 1;
        }
        situation.empty = Some(empty);
        situation.empty
    }

    pub(crate) fn get_mut(&mut self, id: SituationId) -> Option<&mut Situation> {
        self.places.get_mut(id.0).and_then(Option::as_mut)
    }

    /// All outcomes are forgotten, and how much room there is.
    pub(crate) fn forget_room(&mut self) {
        for situation in self.places.iter_mut().flatten() {
            situation.room = None;
            situation.outcomes.retain(|(_, outcome)| !matches!(outcome, Outcome::Fits(_)));
        }
    }

    pub(crate) fn keep(&mut self, id: SituationId, question: QuestionId, outcome: Outcome) {
        let Some(situation) = self.places.get_mut(id.0).and_then(Option::as_mut) else { return };
        if let Err(at) = situation.outcomes.binary_search_by_key(&question, |(id, _)| *id) {
            situation.outcomes.insert(at, (question, outcome));
        }
    }

    /// These questions will not be asked any more.
    pub(crate) fn forget(&mut self, questions: &[QuestionId]) {
        if questions.is_empty() {
            return;
        }
        for situation in self.places.iter_mut().flatten() {
            situation.outcomes.retain(|(id, _)| !questions.contains(id));
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// How many outcomes are kept, in all situations together.
    pub(crate) fn outcomes(&self) -> usize {
        self.places.iter().flatten().map(|situation| situation.outcomes.len()).sum()
    }
}

impl Situation {
    /// The same node with nothing on it, if a filter has needed it.
    pub(crate) const fn known_empty(&self) -> Option<SituationId> {
        self.empty
    }

    pub(crate) fn outcome(&self, question: QuestionId) -> Option<&Outcome> {
        let at = self.outcomes.binary_search_by_key(&question, |(id, _)| *id).ok()?;
        self.outcomes.get(at).map(|(_, outcome)| outcome)
    }
}

fn key(basis: &Basis) -> Key {
    let mut hasher = XxHash64::with_seed(0);
    match basis {
        Basis::Exact(Exact { node, ledger }) => {
            ledger.hash_state(&mut hasher);
            (Arc::as_ptr(node).addr(), hasher.finish())
        }
        Basis::Approximate(zones) => {
            zones.hash_state(&mut hasher);
            (0, hasher.finish())
        }
    }
}
