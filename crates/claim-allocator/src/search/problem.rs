//! What the search works on: requests, devices, counters and constraints as numbers.

use alloc::vec::Vec;
use core::ops::Range;

use super::groups::Groups;

/// The claims of one pod and the devices of one node.
#[derive(Debug, Default)]
pub(crate) struct Problem {
    pub(crate) claims: Vec<Claim>,
    /// The requests of all claims, in order.
    pub(crate) requests: Vec<Request>,
    /// The alternatives of all requests, in order.
    pub(crate) alternatives: Vec<Alternative>,
    /// In the order in which they are tried.
    pub(crate) devices: Vec<Device>,
    pub(crate) pools: Vec<Pool>,
    /// How many pairs of a pool and a counter set have compatibility groups to watch.
    pub(crate) group_states: Vec<Groups>,
    pub(crate) order: Order,
}

/// In which orders the devices of one request are tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Order {
    /// Each set once, in increasing positions.
    #[default]
    Combinations,
    /// Each set in every order, as the stable implementation does.
    Permutations,
}

#[derive(Debug)]
pub(crate) struct Claim {
    /// Its requests in [`Problem::requests`].
    pub(crate) requests: Range<usize>,
    pub(crate) constraints: Vec<Constraint>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Constraint {
    Match,
    Distinct,
}

#[derive(Debug)]
pub(crate) struct Request {
    /// Its alternatives in [`Problem::alternatives`].
    pub(crate) alternatives: Range<usize>,
    pub(crate) form: Form,
}

/// How a request is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    Exactly,
    FirstAvailable,
}

#[derive(Debug)]
pub(crate) struct Alternative {
    pub(crate) claim: usize,
    pub(crate) request: usize,
    pub(crate) want: Want,
    pub(crate) access: Access,
    /// The claim's constraints that apply, by their place.
    pub(crate) constraints: Vec<usize>,
}

#[derive(Debug)]
pub(crate) enum Want {
    /// So many devices, whichever.
    Count(i64),
    /// Exactly these.
    All(Vec<usize>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    Ordinary,
    Admin,
}

#[derive(Debug)]
pub(crate) struct Device {
    /// Its pool in [`Problem::pools`].
    pub(crate) pool: usize,
    pub(crate) held: Held,
    pub(crate) sharing: Sharing,
    /// What it draws from the counters of its pool.
    pub(crate) draws: Vec<Draw>,
    /// Its compatibility groups: the place in [`Problem::group_states`], and the groups.
    pub(crate) groups: Vec<(usize, Vec<u32>)>,
}

/// Whether another claim holds a device as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Held {
    Free,
    Allocated,
}

#[derive(Debug)]
pub(crate) enum Sharing {
    /// One claim at a time.
    Alone,
    /// Any number of requests, as long as there is room.
    Shared {
        /// Whether a share of it is allocated, so that its counters are drawn already.
        in_use: bool,
        /// What is left of each capacity.
        room: Vec<i128>,
    },
}

impl Device {
    pub(crate) const fn is_shared(&self) -> bool {
        matches!(self.sharing, Sharing::Shared { .. })
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Draw {
    /// The counter's place in [`Pool::available`].
    pub(crate) counter: usize,
    pub(crate) amount: i128,
}

/// The counters of a pool.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    /// What allocated devices leave of each; may be negative.
    pub(crate) available: Vec<i128>,
}

impl Problem {
    /// How many devices a request wants, for alternatives that have a number.
    pub(crate) fn wanted(&self, alternative: usize) -> i64 {
        match &self.alternatives[alternative].want {
            Want::Count(count) => *count,
            Want::All(devices) => i64::try_from(devices.len()).unwrap_or(i64::MAX),
        }
    }

    /// The most devices that a request may want.
    pub(crate) fn most(&self, request: &Request) -> u64 {
        request.alternatives.clone().map(|at| self.wanted(at).max(0).unsigned_abs()).max().unwrap_or(0)
    }
}
