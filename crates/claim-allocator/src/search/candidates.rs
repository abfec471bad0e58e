//! The devices that a request may take, by groups.

use alloc::vec::Vec;

use super::classes::GroupId;
use super::status::StatusId;

/// The devices of one group that a request may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidates {
    pub(crate) group: GroupId,
    pub(crate) count: u32,
    pub(crate) class: usize,
    pub(crate) device: usize,
    pub(crate) status: StatusId,
}

/// The rest of a request: so many devices out of a list of groups.
#[derive(Debug)]
pub(crate) struct Fill {
    pub(crate) alternative: usize,
    pub(crate) list: Vec<Candidates>,
    pub(crate) missing: u64,
    /// Zero for a request from its beginning, else a number for this one question.
    pub(crate) entry: u32,
}

impl Candidates {
    /// The order in which the groups of a request are looked at.
    pub(crate) const fn order(&self) -> (usize, GroupId) {
        (self.class, self.group)
    }
}
