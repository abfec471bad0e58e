//! The decision, and what it would cost kube-scheduler.

use alloc::string::ToString as _;
use alloc::vec::Vec;

use dra_model::{AllocationResult, Implementation, NodePool, PoolState, ResourceSlice, node_pools};
use node_cover::Steps;

use crate::cost::Cost;
use crate::error::AllocateError;
use crate::expressions::Expressions;
use crate::implementation::{covers, printed};
use crate::prepared::Prepared;
use crate::question::Question;
use crate::search::{Outcome, calls, first};

/// How many steps a decision may take. No published driver's devices come near the default of a million, which is some tenths
/// of a second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WorkLimit(pub u64);

impl Default for WorkLimit {
    fn default() -> Self {
        Self(1_000_000)
    }
}

/// What becomes of the claims on the node.
#[must_use]
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Decision {
    /// One allocation for each claim: the first solution in kube-scheduler's order.
    Fits(Vec<AllocationResult>),
    /// There is no solution on this node.
    DoesNotFit,
    /// An error in place of an answer.
    Error(AllocateError),
    /// The steps ran out. The claims may fit or not.
    Cut,
}

/// A question that was looked at as far as kube-scheduler does before it searches.
pub struct Allocator<'a> {
    implementation: Implementation,
    pools: Vec<NodePool<'a>>,
    pub(crate) prepared: Prepared<'a>,
}

impl<'a> Allocator<'a> {
    /// Looks at pools and claims.
    ///
    /// # Errors
    /// What kube-scheduler says of them before it searches; always about the pod.
    pub fn new(question: &'a Question<'a>) -> Result<Self, AllocateError> {
        Self::with_expressions(question, &mut Expressions::new())
    }

    /// The same with expressions of earlier questions, which need not be compiled again.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_expressions(
        question: &'a Question<'a>,
        expressions: &mut Expressions,
    ) -> Result<Self, AllocateError> {
        let implementation = question.implementation.unwrap_or_else(|| Implementation::of(question.features));
        if !covers(implementation, question.features) {
            let features = printed(question.features);
            return Err(AllocateError::NoImplementation {
                features,
                implementation: implementation.as_str(),
            });
        }
        let slices: Vec<&ResourceSlice> = question.slices.iter().collect();
        let pools = node_pools(&slices, question.node, question.features, implementation);
        let pools = pools.map_err(|error| AllocateError::Pools(error.to_string()))?;
        let prepared = Prepared::of(question, implementation, &pools, expressions)?;
        Ok(Self { implementation, pools, prepared })
    }

    /// Which copy of kube-scheduler's allocator this is.
    #[must_use]
    pub const fn implementation(&self) -> Implementation {
        self.implementation
    }

    /// Decides.
    pub fn decide(&self, limit: WorkLimit) -> Decision {
        match first(&self.prepared.problem, &self.prepared, &mut Steps::new(limit.0)) {
            Outcome::Found(solution) => match self.prepared.allocations(&solution) {
                Ok(allocations) => Decision::Fits(allocations),
                Err(error) => Decision::Error(error),
            },
            Outcome::Failed if self.pools.iter().any(is_invalid) => {
                Decision::Error(AllocateError::InvalidPools)
            }
            Outcome::Failed => Decision::DoesNotFit,
            Outcome::Error(error) => Decision::Error(error),
            Outcome::Cut => Decision::Cut,
        }
    }

    /// How long kube-scheduler searches for the same answer; `None` if that is not found within the limit.
    #[must_use]
    pub fn cost(&self, limit: WorkLimit) -> Option<Cost> {
        let problem = &self.prepared.problem;
        let steps = calls(problem, &self.prepared, &mut Steps::new(limit.0))?;
        Some(Cost::new(steps, problem.devices.len()))
    }
}

/// Decides; what is wrong before the search is a decision too.
pub fn decide(question: &Question<'_>, limit: WorkLimit) -> Decision {
    match Allocator::new(question) {
        Ok(allocator) => allocator.decide(limit),
        Err(error) => Decision::Error(error),
    }
}

fn is_invalid(pool: &NodePool<'_>) -> bool {
    matches!(pool.state, PoolState::Invalid(_))
}
