//! The orders of deletions and creations in which a set of pods can be moved.
//!
//! Before each creation any of the pods that are still there can be deleted; deletions that follow each other have no
//! order. Every pod of the set is deleted once, and created at some time after that; the refused pod is created once.
//! A pod that is deleted, created at once, and holds what it held before has not moved: that order is one of a smaller
//! set. What comes after the first two or three steps with one pod is the same in all sets that begin with it, and is
//! remembered.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::explain::explanation::Plugins;
use crate::ledger::Ledger;
use crate::repack::attempts::{Attempts, Comer, Tried};
use crate::repack::plan::Step;

/// More pods are not moved by one plan: that many bits has a [`Members`].
pub(crate) const MOST_MOVED: usize = 8;

/// Members of a set, one bit for each.
type Members = u8;

/// Which orders are tried.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Orders {
    /// Those that delete the whole set before anything is created.
    AllAtOnce,
    /// All others.
    Others,
}

/// What the orders of one set came to.
pub(crate) enum Ordered {
    /// After these steps all pods are there.
    Found(Vec<Step>, Plugins),
    /// No order ends so.
    None,
    /// No order can: with all of the set gone the hints of the refused pod do not suit.
    Dead,
}

/// Who is moved, and for whom.
pub(crate) struct Orderer<'a> {
    /// The ledger of now.
    pub(crate) ledger: &'a Ledger,
    pub(crate) wanted: Comer,
    /// Every pod that may be moved.
    pub(crate) residents: Vec<Comer>,
    /// Whether hints are never lost when less is held: then a pod whose hints do not suit on an emptier node is refused on
    /// a fuller one too.
    pub(crate) hints_grow: bool,
    begun: BTreeMap<Begun, Tried>,
}

/// The beginning of an order that deletes one pod: what was created so far, and what is created now.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Begun {
    deleted: usize,
    is_wanted_there: bool,
    is_created_again: bool,
    creates: Turn,
}

/// Who is created.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    Wanted,
    /// A member of the set.
    Member(usize),
}

/// In the midst of an order.
#[derive(Clone)]
struct State {
    ledger: Ledger,
    untouched: Members,
    deleted: Members,
    is_wanted_there: bool,
    steps: Vec<Step>,
    plugins: Plugins,
}

impl<'a> Orderer<'a> {
    pub(crate) const fn new(
        ledger: &'a Ledger,
        wanted: Comer,
        residents: Vec<Comer>,
        hints_grow: bool,
    ) -> Self {
        Self { ledger, wanted, residents, hints_grow, begun: BTreeMap::new() }
    }

    /// Tries the orders of a set of at most [`MOST_MOVED`] pods, until one ends well.
    pub(crate) fn order(&mut self, set: &[usize], orders: Orders, attempts: &mut Attempts<'_>) -> Ordered {
        let all = set.iter().enumerate().fold(0, |all, (at, _)| all | member(at));
        let state = State {
            ledger: self.ledger.clone(),
            untouched: all,
            deleted: 0,
            is_wanted_there: false,
            steps: Vec::new(),
            plugins: Plugins::HaveAnswered,
        };
        Walk { orderer: self, set, orders, attempts, is_dead: false }.walk(&state)
    }
}

/// One set under way.
struct Walk<'w, 'a, 'n> {
    orderer: &'w mut Orderer<'a>,
    set: &'w [usize],
    orders: Orders,
    attempts: &'w mut Attempts<'n>,
    is_dead: bool,
}

impl Walk<'_, '_, '_> {
    fn walk(mut self, state: &State) -> Ordered {
        match self.go_on(state) {
            Some((steps, plugins)) => Ordered::Found(steps, plugins),
            None if self.is_dead => Ordered::Dead,
            None => Ordered::None,
        }
    }

    fn go_on(&mut self, state: &State) -> Option<(Vec<Step>, Plugins)> {
        if state.is_wanted_there && state.untouched == 0 && state.deleted == 0 {
            return Some((state.steps.clone(), state.plugins));
        }
        // All that are left first: the plan that is easiest to follow.
        let mut goes = state.untouched;
        loop {
            let is_all_at_once = state.steps.is_empty() && goes == state.untouched;
            let is_tried = match self.orders {
                Orders::AllAtOnce => goes == state.untouched,
                Orders::Others => !is_all_at_once,
            };
            if is_tried && (goes != 0 || !state.steps.is_empty()) {
                let without = self.delete(state, goes);
                for turn in self.turns(&without) {
                    if self.is_dead || self.attempts.are_over() {
                        // The next attempt says that it is cut.
                        if !self.is_dead {
                            self.attempts.cut();
                        }
                        return None;
                    }
                    if let Some(next) = self.create(state, &without, goes, turn)
                        && let Some(found) = self.go_on(&next)
                    {
                        return Some(found);
                    }
                }
            }
            if goes == 0 {
                return None;
            }
            goes = (goes - 1) & state.untouched;
        }
    }

    /// Who can be created now; the refused pod first.
    fn turns(&self, state: &State) -> Vec<Turn> {
        let wanted = (!state.is_wanted_there).then_some(Turn::Wanted);
        let members = (0..self.set.len()).filter(|at| state.deleted & member(*at) != 0).map(Turn::Member);
        wanted.into_iter().chain(members).collect()
    }

    fn delete(&self, state: &State, goes: Members) -> State {
        let mut without = state.clone();
        for (at, resident) in self.set.iter().enumerate().filter(|(at, _)| goes & member(*at) != 0) {
            let uid = &self.orderer.residents[*resident].pod.uid;
            without.ledger = without.ledger.release(uid);
            without.untouched &= !member(at);
            without.deleted |= member(at);
            without.steps.push(Step::Delete(uid.clone()));
        }
        without
    }

    fn create(&mut self, before: &State, state: &State, goes: Members, turn: Turn) -> Option<State> {
        let mut next = state.clone();
        let comer = match turn {
            Turn::Wanted => &self.orderer.wanted,
            Turn::Member(at) => &self.orderer.residents[self.set[at]],
        };
        let uid = comer.pod.uid.clone();
        let tried = self.attempt(state, turn);
        if matches!(tried, Tried::NotAligned) && turn == Turn::Wanted && self.is_emptiest(state) {
            self.is_dead = true;
        }
        let Tried::Created(created) = tried else { return None };
        match turn {
            Turn::Wanted => next.is_wanted_there = true,
            Turn::Member(at) => {
                next.deleted &= !member(at);
                let is_at_once = goes == member(at);
                if is_at_once && created.after.holds_as_in(&before.ledger, &uid) {
                    return None;
                }
            }
        }
        next.ledger = created.after;
        next.steps.push(Step::Create { pod: uid, placement: created.placement });
        if created.plugins == Plugins::TakenAsWilling {
            next.plugins = Plugins::TakenAsWilling;
        }
        Some(next)
    }

    /// Whether no order of the set has less on the node when the refused pod comes.
    fn is_emptiest(&self, state: &State) -> bool {
        self.orderer.hints_grow
            && state.untouched == 0
            && state.deleted.count_ones() as usize == self.set.len()
    }

    fn attempt(&mut self, state: &State, turn: Turn) -> Tried {
        let begun = self.begun(state, turn);
        if let Some(known) = begun.and_then(|begun| self.orderer.begun.get(&begun)) {
            return known.clone();
        }
        let tried = match turn {
            Turn::Wanted => self.attempts.create(&state.ledger, &self.orderer.wanted),
            Turn::Member(at) => {
                let resident = &self.orderer.residents[self.set[at]];
                self.attempts.create_again(&state.ledger, resident, self.orderer.ledger)
            }
        };
        if let Some(begun) = begun.filter(|_| !matches!(tried, Tried::CutOff)) {
            self.orderer.begun.insert(begun, tried.clone());
        }
        tried
    }

    /// The beginning that this is; `None` if several pods of the set have been deleted.
    fn begun(&self, state: &State, turn: Turn) -> Option<Begun> {
        let mut touched = (0..self.set.len()).filter(|at| state.untouched & member(*at) == 0);
        let (Some(only), None) = (touched.next(), touched.next()) else { return None };
        let creates = match turn {
            Turn::Wanted => Turn::Wanted,
            // The only one that can be meant, wherever it stands in the set.
            Turn::Member(_) => Turn::Member(0),
        };
        let is_created_again = state.deleted & member(only) == 0;
        Some(Begun {
            deleted: self.set[only],
            is_wanted_there: state.is_wanted_there,
            is_created_again,
            creates,
        })
    }
}

const fn member(at: usize) -> Members {
    1 << at
}
