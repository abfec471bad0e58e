//! Bounds of claims and of the search.

use super::problem::Problem;

/// The most results that a claim can have.
pub(crate) const MOST_RESULTS: u64 = 32;

/// Requests and devices of one pod beyond which nothing is searched: each is a call deep.
pub(crate) const DEEPEST: u64 = 1_024;

/// How many calls deep the search can be.
pub(crate) fn depth(problem: &Problem) -> u64 {
    let devices = problem.requests.iter().map(|request| problem.most(request).min(MOST_RESULTS));
    devices.fold(problem.claims.len() as u64, |sum, most| sum.saturating_add(most + 1))
}
