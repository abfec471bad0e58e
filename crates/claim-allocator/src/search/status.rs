//! What the search did with a device so far, as a small number.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

/// The number of a [`Status`]; [`UNTOUCHED`] is the first.
pub(crate) type StatusId = u32;

/// No claim of the pod has the device yet.
pub(crate) const UNTOUCHED: StatusId = 0;

/// What the claims of the pod have of a device.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Status {
    Untouched,
    /// The claims that have it as a whole; several only with admin access.
    Held(Vec<usize>),
    /// What its shares take of each capacity.
    Shared(Vec<i128>),
}

/// All statuses that occurred, numbered.
#[derive(Debug)]
pub(crate) struct Statuses {
    list: Vec<Status>,
    numbers: BTreeMap<Status, StatusId>,
    /// What [`Statuses::held`] answered for a status and a claim.
    held: BTreeMap<(StatusId, usize), StatusId>,
}

impl Default for Statuses {
    fn default() -> Self {
        Self {
            list: vec![Status::Untouched],
            numbers: BTreeMap::from([(Status::Untouched, UNTOUCHED)]),
            held: BTreeMap::new(),
        }
    }
}

impl Statuses {
    pub(crate) fn at(&self, id: StatusId) -> &Status {
        &self.list[id as usize]
    }

    pub(crate) fn number(&mut self, status: Status) -> StatusId {
        if let Some(&id) = self.numbers.get(&status) {
            return id;
        }
        let id = StatusId::try_from(self.list.len()).unwrap_or(StatusId::MAX);
        self.list.push(status.clone());
        self.numbers.insert(status, id);
        id
    }

    /// The status of a device that one more claim holds.
    pub(crate) fn held(&mut self, id: StatusId, claim: usize) -> StatusId {
        if let Some(&known) = self.held.get(&(id, claim)) {
            return known;
        }
        let mut claims = match self.at(id) {
            Status::Held(claims) => claims.clone(),
            Status::Untouched | Status::Shared(_) => Vec::new(),
        };
        claims.push(claim);
        claims.sort_unstable();
        let held = self.number(Status::Held(claims));
        self.held.insert((id, claim), held);
        held
    }

    /// The status of a device with one more share.
    pub(crate) fn shared(&mut self, id: StatusId, share: &[i128]) -> StatusId {
        let mut taken = self.taken(id, share.len());
        for (taken, share) in taken.iter_mut().zip(share) {
            *taken += share;
        }
        self.number(Status::Shared(taken))
    }

    /// What the shares of a device take of each capacity.
    pub(crate) fn taken(&self, id: StatusId, capacities: usize) -> Vec<i128> {
        match self.at(id) {
            Status::Shared(taken) => taken.clone(),
            Status::Untouched | Status::Held(_) => vec![0; capacities],
        }
    }
}
