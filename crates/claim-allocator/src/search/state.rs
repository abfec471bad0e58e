//! The state of a search: what is chosen so far, and what that leaves.

use alloc::vec;
use alloc::vec::Vec;

use node_cover::Steps;

use super::classes::{Classes, Purpose};
use super::constraint::Seen;
use super::facts::Facts;
use super::groups::Groups;
use super::memory::Memory;
use super::outcome::Solution;
use super::problem::Problem;
use super::saved::Saved;
use super::status::{StatusId, Statuses, UNTOUCHED};

/// The state of a search.
pub(crate) struct Search<'a, F: Facts> {
    pub(crate) problem: &'a Problem,
    pub(crate) facts: &'a F,
    pub(crate) statuses: Statuses,
    /// The status of each device.
    pub(crate) status: Vec<StatusId>,
    /// What the chosen devices draw from each counter of each pool.
    pub(crate) drawn: Vec<Vec<i128>>,
    pub(crate) groups: Vec<Groups>,
    /// The states of each claim's constraints.
    pub(crate) seen: Vec<Vec<Seen>>,
    /// How many devices each claim has.
    pub(crate) taken: Vec<u64>,
    pub(crate) saved: Saved,
    pub(crate) solution: Solution,
    pub(crate) classes: Option<Classes>,
    pub(crate) memory: Memory,
    pub(crate) budget: Steps,
    /// Calls of the real allocator's inner search so far.
    pub(crate) steps: u128,
}

impl<'a, F: Facts> Search<'a, F> {
    pub(crate) fn new(problem: &'a Problem, facts: &'a F, budget: Steps) -> Self {
        Self {
            problem,
            facts,
            statuses: Statuses::default(),
            status: vec![UNTOUCHED; problem.devices.len()],
            drawn: problem.pools.iter().map(|pool| vec![0; pool.available.len()]).collect(),
            groups: problem.group_states.clone(),
            seen: problem.claims.iter().map(|claim| vec![Seen::default(); claim.constraints.len()]).collect(),
            taken: vec![0; problem.claims.len()],
            saved: Saved::default(),
            solution: Solution { choices: Vec::new(), selected: vec![0; problem.requests.len()] },
            classes: None,
            memory: Memory::default(),
            budget,
            steps: 0,
        }
    }

    /// The same search from the beginning, with classes of interchangeable devices. `None` where the order of devices in
    /// a class could matter.
    pub(crate) fn by_classes(
        problem: &'a Problem,
        facts: &'a F,
        purpose: Purpose,
        budget: Steps,
    ) -> Option<Self> {
        let mut search = Self::new(problem, facts, budget);
        search.classes = Some(Classes::of(problem, facts, purpose)?);
        Some(search)
    }
}
