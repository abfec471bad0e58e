//! The smallest set of requests and constraints that contradict each other.
//!
//! A set contradicts itself if the claims that are left of it do not fit. Sets are tried in order: smaller ones first, sets of one size
//! in the order of their members, which is that of the claims as written. The first that does not fit is the answer, and all its
//! parts were tried before and fit. `Limits` end this; then the whole is taken, and members are left out from the last to the first
//! as long as the rest does not fit. That set cannot be made smaller either, which is checked for each member.

use alloc::vec::Vec;

use dra_model::ResourceClaim;

use crate::asker::{Answer, Asker, Time};
use crate::members::{Member, Part, claims_of, is_about};
use crate::objects::Objects;

/// Beyond so many sets, asked about or not, the smallest is not looked for.
const MOST_SETS: usize = 20_000;

/// Requests and constraints that contradict each other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Contradiction {
    /// The members, in order. Without any one of them the others fit.
    pub members: Vec<Member>,
    /// Whether there is a smaller set.
    pub size: Size,
}

/// Whether a contradiction is as small as there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Size {
    /// No set with fewer members contradicts itself, and none of that size that comes before it.
    Smallest,
    /// Another set may have fewer members: not all were tried.
    Irreducible,
}

/// Looks for it among the claims of some objects, with half of the questions. `None`: answers were cut, or it cannot be made smaller
/// because leaving out a part adds an error.
pub(crate) fn find(asker: &mut Asker<'_>, objects: &Objects<'_>) -> Option<Contradiction> {
    let mut search = Search { members: crate::members::all(&objects.claims), asker, objects };
    match search.smallest() {
        Tried::Found(members) => Some(Contradiction { members, size: Size::Smallest }),
        Tried::None | Tried::Cut => {
            search.irreducible().map(|members| Contradiction { members, size: Size::Irreducible })
        }
    }
}

enum Tried {
    Found(Vec<Member>),
    None,
    Cut,
}

struct Search<'a, 'q, 'o> {
    members: Vec<Member>,
    asker: &'a mut Asker<'q>,
    objects: &'a Objects<'o>,
}

impl Search<'_, '_, '_> {
    /// The first set that does not fit, if all before it do.
    fn smallest(&mut self) -> Tried {
        let mut sets = 0;
        for size in 1..=self.members.len() {
            let mut places: Vec<usize> = (0..size).collect();
            loop {
                sets += 1;
                if sets > MOST_SETS || self.asker.questions.saturating_mul(2) > self.asker.most() {
                    return Tried::Cut;
                }
                let set: Vec<Member> = places.iter().map(|at| self.members[*at]).collect();
                if is_connected(&self.objects.claims, &set) {
                    match self.ask(&set) {
                        Answer::Refused => return Tried::Found(set),
                        Answer::Unknown => return Tried::Cut,
                        Answer::Fits => {}
                    }
                }
                if !advance(&mut places, self.members.len()) {
                    break;
                }
            }
        }
        Tried::None
    }

    /// A set in which every member is needed.
    fn irreducible(&mut self) -> Option<Vec<Member>> {
        let mut set = self.members.clone();
        loop {
            let before = set.len();
            for at in (0..set.len()).rev() {
                let rest = without(&set, at);
                match self.ask(&rest) {
                    Answer::Refused => set = rest,
                    Answer::Fits => {}
                    Answer::Unknown => return None,
                }
            }
            // In a pass that leaves everything in, each answer was about the set itself.
            if set.len() == before {
                return Some(set);
            }
        }
    }

    fn ask(&mut self, set: &[Member]) -> Answer {
        let claims = claims_of(&self.objects.claims, set);
        if claims.is_empty() {
            return Answer::Fits;
        }
        self.asker.ask(&Objects { claims: claims.into(), ..self.objects.clone() }, Time::Ignored)
    }
}

fn without(set: &[Member], at: usize) -> Vec<Member> {
    let mut rest = set.to_vec();
    rest.remove(at);
    rest
}

/// Whether the set has a request for each constraint: without one the constraint says nothing.
fn is_connected(claims: &[ResourceClaim], set: &[Member]) -> bool {
    let mut constraints = set.iter().filter_map(|member| match member.part {
        Part::Constraint(at) => Some((member.claim, &claims[member.claim].spec.constraints[at])),
        Part::Request(_) => None,
    });
    constraints.all(|(claim, constraint)| {
        set.iter().any(|member| match member.part {
            Part::Request(at) => {
                member.claim == claim && is_about(constraint, &claims[claim].spec.requests[at].name)
            }
            Part::Constraint(_) => false,
        })
    })
}

/// The next set of as many places, in order; false after the last.
fn advance(places: &mut [usize], members: usize) -> bool {
    let size = places.len();
    let Some(at) = (0..size).rev().find(|at| places[*at] < members - (size - at)) else { return false };
    places[at] += 1;
    for next in at + 1..size {
        places[next] = places[next - 1] + 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn sets_of_one_size_come_in_order_and_each_once() {
        let mut places = vec![0, 1];
        let mut all = vec![places.clone()];
        while advance(&mut places, 4) {
            all.push(places.clone());
        }
        assert_eq!(all, [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]);
        assert!(!advance(&mut [0], 1));
    }
}
