//! How many calls of its inner search the real allocator makes.

use node_cover::Steps;

use super::classes::Purpose;
use super::facts::Facts;
use super::limits::{DEEPEST, depth};
use super::problem::Problem;
use super::state::Search;
use super::walk::End;

/// Candidates that are simply tried before the calls are worked out from classes.
const COUNTED_WALK: u64 = 4_096;

/// The calls until the first solution or error, or until the end; `None` if that takes more than the budget.
pub(crate) fn calls<F: Facts>(problem: &Problem, facts: &F, budget: &mut Steps) -> Option<u128> {
    if depth(problem) > DEEPEST {
        return None;
    }
    let first_walk = budget.left().min(COUNTED_WALK);
    let mut search = Search::new(problem, facts, Steps::new(first_walk));
    if !matches!(search.walk(), End::Cut) {
        return Some(search.steps);
    }
    budget.take_many(first_walk).ok()?;
    let by_classes = Search::by_classes(problem, facts, Purpose::CountSteps, *budget);
    let mut search = by_classes.unwrap_or_else(|| Search::new(problem, facts, *budget));
    let end = search.walk();
    *budget = search.budget;
    (!matches!(end, End::Cut)).then_some(search.steps)
}
