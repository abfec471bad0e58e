//! The search for devices: requests in order, devices in order, the first solution is the answer.
//!
//! The real allocator tries every set of devices of the earlier requests before it gives up on a later one. Here a
//! state is entered only if it can end the search: with a solution, or with an error, which also ends it. Whether it
//! can is worked out by [`outlook`] on counts of interchangeable devices, and remembered. What is entered is entered in
//! the real order, so that the first solution or error found is the real one.
//!
//! Where requests contradict each other (too few devices for both, or no common value of a constraint), the search goes back to
//! other devices of the earlier request; if none is left, no request gets devices, and the claim does not fit.
//!
//! Most questions are answered without classes: [`walk`] tries them in the real order first, and stops after as many
//! candidates as a search needs that never goes back.

mod groups;
mod problem;
mod limits;
mod facts;
mod outcome;
mod status;
mod constraint;
mod saved;
mod classes;
mod memory;
mod state;
mod entry;
mod candidates;
mod key;
mod outlook;
mod walk;
mod cost;
#[cfg(test)]
mod tests;

use node_cover::Steps;

use self::classes::Purpose;
pub(crate) use self::cost::calls;
pub(crate) use self::facts::{Answer, Facts, Value};
pub(crate) use self::groups::Groups;
pub(crate) use self::limits::MOST_RESULTS;
use self::limits::{DEEPEST, depth};
pub(crate) use self::outcome::{Choice, Outcome, Solution};
pub(crate) use self::problem::{
    Access, Alternative, Claim, Constraint, Device, Draw, Form, Held, Order, Pool, Problem, Request, Sharing,
    Want,
};
use self::state::Search;
use self::walk::End;

/// How many candidates are tried before devices are put into classes: as many as a search looks at that never goes back, since
/// classes ask every device the same questions.
fn first_walk(problem: &Problem) -> u64 {
    let devices = u64::try_from(problem.devices.len()).unwrap_or(u64::MAX);
    let requests = u64::try_from(problem.requests.len()).unwrap_or(u64::MAX);
    devices.saturating_mul(requests).clamp(32, 2_048)
}

/// Looks for the first solution within a number of steps.
pub(crate) fn first<F: Facts>(problem: &Problem, facts: &F, budget: &mut Steps) -> Outcome<F::Error> {
    if depth(problem) > DEEPEST {
        return Outcome::Cut;
    }
    let first_walk = budget.left().min(first_walk(problem));
    let mut search = Search::new(problem, facts, Steps::new(first_walk));
    let end = search.walk();
    let is_spent = budget.take_many(first_walk - search.budget.left()).is_err() || budget.left() == 0;
    if !matches!(end, End::Cut) || is_spent {
        return search.outcome(end);
    }
    let by_classes = Search::by_classes(problem, facts, Purpose::Decide, *budget);
    let mut search = by_classes.unwrap_or_else(|| Search::new(problem, facts, *budget));
    let end = search.walk();
    *budget = search.budget;
    search.outcome(end)
}
