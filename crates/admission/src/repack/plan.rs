//! A plan of moves, as a value.

use alloc::vec::Vec;

use pod_spec::PodUid;

use crate::attempt::Placement;
use crate::attempt::trace::Search;
use crate::explain::explanation::Plugins;
use crate::ledger::Version;
use crate::node::fit::Shortage;
use crate::repack::movable::LeftAlone;

/// What a search for moves came to.
#[derive(Clone, PartialEq, Debug)]
pub struct Repack {
    /// The plan; `None`: none was found.
    pub plan: Option<Plan>,
    /// Whether everything was tried: no plan restarts fewer pods, or as many with less memory; or there is no plan that
    /// restarts so few pods.
    pub search: Search,
    /// Why no move can help; `None` where moves were tried.
    pub hopeless: Option<Hopeless>,
    /// The pods that are not moved, though they hold something.
    pub left_alone: Vec<(PodUid, LeftAlone)>,
    /// How many pods could be moved.
    pub movable: usize,
    /// How many attempts were made.
    pub attempts: usize,
}

/// Why no move can help.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Hopeless {
    /// The refusal is not about what others hold.
    NotAboutRoom,
    /// The requests of all pods are more than the node has, wherever they run.
    NodeIsFull(Vec<Shortage>),
    /// The pod is refused even if every pod that can be moved is gone.
    NotWithoutThem,
}

/// An order of deletions and creations after which all pods are admitted.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// The ledger that it was made against.
    pub made_against: Version,
    /// The pod that was refused.
    pub pod: PodUid,
    /// What is done, in this order.
    pub steps: Vec<Step>,
    /// The pods that restart, in the order in which they are deleted.
    pub moved: Vec<PodUid>,
    /// How many bytes of memory and huge pages they have.
    pub bytes: u64,
    /// What is taken for granted.
    pub plugins: Plugins,
}

/// One step of a plan.
#[derive(Clone, PartialEq, Debug)]
pub enum Step {
    /// A resident pod is deleted, and what it held is free.
    Delete(PodUid),
    /// A pod is created, and the node admits it.
    Create {
        /// Which: the refused one, or one that was deleted before. At an API server it comes back with another UID.
        pod: PodUid,
        /// Where it runs then.
        placement: Placement,
    },
}

impl Plan {
    /// Where a pod of the plan runs when all is done; `None` if the plan does not create it.
    #[must_use]
    pub fn placement(&self, of: &PodUid) -> Option<&Placement> {
        self.steps.iter().find_map(|step| match step {
            Step::Create { pod, placement } if pod == of => Some(placement),
            Step::Create { .. } | Step::Delete(_) => None,
        })
    }
}
