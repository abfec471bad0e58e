//! Devices that nothing in the search can tell apart, counted.
//!
//! Two devices are of one class if they give every alternative the same answer, have the same values for its constraints,
//! draw the same counters, have the same groups and capacities and are equally in use. Within a class only the number
//! of devices of each status matters, because the sets that can be chosen do not depend on the order in which they are:
//! a device that is refused stays refused when more are chosen. Where that does not hold, a device is the only one of its class,
//! and classes are numbered in the order of their first devices:
//!
//! - all devices are wanted and a constraint applies: whether a device in use or a refused one comes first decides
//!   between no and an error;
//! - a device of the pool draws a negative amount;
//! - a distinct constraint meets a value that it cannot compare, which passes only as the first.

mod kinds;
mod table;

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

pub(crate) use self::kinds::{Purpose, Use};
use self::table::{Table, draws_negative};
use super::facts::Facts;
use super::limits::MOST_RESULTS;
use super::problem::{Access, Order, Problem};
use super::status::{StatusId, UNTOUCHED};

/// A group: the devices of one class with one status, by its place in [`Classes::groups`].
pub(crate) type GroupId = usize;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub(crate) class: usize,
    pub(crate) status: StatusId,
}

#[derive(Debug)]
pub(crate) struct Classes {
    pub(crate) purpose: Purpose,
    class_of: Vec<usize>,
    /// The first device of each class.
    pub(crate) first: Vec<usize>,
    size: Vec<u32>,
    /// What each class is for each alternative.
    uses: Vec<Vec<Use>>,
    pub(crate) groups: Vec<Group>,
    numbers: BTreeMap<(usize, StatusId), GroupId>,
    of_class: Vec<Vec<GroupId>>,
    count: Vec<u32>,
    /// Changes of status since the beginning.
    moves: Vec<(GroupId, GroupId)>,
    /// Behind the last request that may use a class, or take it with admin access.
    last_use: Vec<usize>,
    last_admin_use: Vec<usize>,
    /// Behind the last request that may draw from a pool.
    last_draw: Vec<usize>,
    /// The most devices that the requests from one on may take.
    need: Vec<u64>,
    /// Whether a device that is refused stays refused.
    pub(crate) is_monotone: bool,
    /// Whether looking at a device can be an error.
    may_err: bool,
}

impl Classes {
    pub(crate) fn of<F: Facts>(problem: &Problem, facts: &F, purpose: Purpose) -> Option<Self> {
        let is_monotone = !problem.devices.iter().any(draws_negative);
        if !is_monotone && problem.order == Order::Permutations {
            return None;
        }
        let table = Table::of(problem, facts, purpose);
        if may_exceed(problem) && (table.may_err || purpose == Purpose::CountSteps) {
            return None;
        }
        let mut classes = Self {
            purpose,
            class_of: Vec::with_capacity(problem.devices.len()),
            first: Vec::new(),
            size: Vec::new(),
            uses: Vec::new(),
            groups: Vec::new(),
            numbers: BTreeMap::new(),
            of_class: Vec::new(),
            count: Vec::new(),
            moves: Vec::new(),
            last_use: Vec::new(),
            last_admin_use: Vec::new(),
            last_draw: vec![0; problem.pools.len()],
            need: need(problem),
            is_monotone,
            may_err: table.may_err,
        };
        classes.assign(&table);
        classes.note_uses(problem, &table);
        Some(classes)
    }

    fn assign(&mut self, table: &Table) {
        let mut known: BTreeMap<&[i128], usize> = BTreeMap::new();
        for (device, signature) in table.signatures.iter().enumerate() {
            let next = self.first.len();
            let class = *known.entry(signature).or_insert(next);
            if class == next {
                self.first.push(device);
                self.size.push(0);
                self.of_class.push(Vec::new());
            }
            self.size[class] += 1;
            self.class_of.push(class);
        }
        for class in 0..self.first.len() {
            let group = self.group(class, UNTOUCHED);
            self.count[group] = self.size[class];
        }
    }

    fn note_uses(&mut self, problem: &Problem, table: &Table) {
        let classes = self.first.len();
        self.last_use = vec![0; classes];
        self.last_admin_use = vec![0; classes];
        for (number, alternative) in problem.alternatives.iter().enumerate() {
            let uses: Vec<Use> = self.first.iter().map(|&device| table.uses[number][device]).collect();
            let behind = alternative.request + 1;
            for (class, _) in uses.iter().enumerate().filter(|(_, kind)| **kind != Use::Nothing) {
                self.last_use[class] = self.last_use[class].max(behind);
                if alternative.access == Access::Admin {
                    self.last_admin_use[class] = self.last_admin_use[class].max(behind);
                }
                let device = &problem.devices[self.first[class]];
                if !device.draws.is_empty() || !device.groups.is_empty() {
                    self.last_draw[device.pool] = self.last_draw[device.pool].max(behind);
                }
            }
            self.uses.push(uses);
        }
    }

    pub(crate) fn counts_steps(&self) -> bool {
        self.purpose == Purpose::CountSteps
    }

    /// Whether a state can be given up because of a request behind the next: not if an error could come first, and not
    /// while the calls before it are counted.
    pub(crate) fn may_look_ahead(&self) -> bool {
        self.is_monotone && !self.may_err && !self.counts_steps()
    }

    /// Whether a request can be given up because it has too few candidates: looking at one could still be an error, unless
    /// all were looked at before, which they are where what is refused stays refused.
    pub(crate) fn may_count_ahead(&self) -> bool {
        (self.is_monotone || !self.may_err) && !self.counts_steps()
    }

    pub(crate) fn class_of(&self, device: usize) -> usize {
        self.class_of[device]
    }

    pub(crate) fn size_of(&self, class: usize) -> u32 {
        self.size[class]
    }

    pub(crate) fn len(&self) -> usize {
        self.first.len()
    }

    pub(crate) fn use_of(&self, alternative: usize, class: usize) -> Use {
        self.uses[alternative][class]
    }

    /// The groups of a class that have devices now.
    pub(crate) fn groups_of(&self, class: usize) -> impl Iterator<Item = (GroupId, Group, u32)> {
        let groups = self.of_class[class].iter();
        groups.map(|&id| (id, self.groups[id], self.count[id])).filter(|(_, _, count)| *count > 0)
    }

    pub(crate) fn group(&mut self, class: usize, status: StatusId) -> GroupId {
        if let Some(&id) = self.numbers.get(&(class, status)) {
            return id;
        }
        let id = self.groups.len();
        self.groups.push(Group { class, status });
        self.count.push(0);
        self.of_class[class].push(id);
        self.numbers.insert((class, status), id);
        id
    }

    /// One device of a class changes its status. The reverse of the last change undoes it.
    pub(crate) fn shift(&mut self, class: usize, from: StatusId, to: StatusId) {
        if from == to {
            return;
        }
        let (from, to) = (self.group(class, from), self.group(class, to));
        self.count[from] -= 1;
        self.count[to] += 1;
        if self.moves.last() == Some(&(to, from)) {
            self.moves.pop();
        } else {
            self.moves.push((from, to));
        }
    }

    /// The groups whose counts are not those of the beginning, in order.
    pub(crate) fn touched(&self) -> Vec<GroupId> {
        let mut touched: Vec<GroupId> = self.moves.iter().flat_map(|&(from, to)| [from, to]).collect();
        touched.sort_unstable();
        touched.dedup();
        touched
    }

    /// The devices of a group now and at the beginning, as far as requests from `used_by` on can tell if those from `taken_by`
    /// on take some.
    pub(crate) fn counts_for(
        &self,
        id: GroupId,
        used_by: usize,
        taken_by: usize,
        problem: &Problem,
    ) -> Option<(u32, u32)> {
        let Group { class, status } = self.groups[id];
        let is_whole = !problem.devices[self.first[class]].is_shared();
        let last = if is_whole && status != UNTOUCHED { &self.last_admin_use } else { &self.last_use };
        let most = if self.counts_steps() { u32::MAX } else { self.most_needed(taken_by) };
        let initial = if status == UNTOUCHED { self.size[class] } else { 0 };
        (last[class] > used_by).then(|| (self.count[id].min(most), initial.min(most)))
    }

    pub(crate) fn pool_matters(&self, pool: usize, request: usize) -> bool {
        self.last_draw[pool] > request
    }

    fn most_needed(&self, request: usize) -> u32 {
        let need = self.need.get(request).copied().unwrap_or(0);
        u32::try_from(need.saturating_add(1)).unwrap_or(u32::MAX)
    }
}

/// Whether some choice of alternatives gives a claim more results than it can have.
fn may_exceed(problem: &Problem) -> bool {
    problem.claims.iter().any(|claim| {
        let most = problem.requests[claim.requests.clone()].iter().map(|request| problem.most(request));
        most.fold(0, u64::saturating_add) > MOST_RESULTS
    })
}

fn need(problem: &Problem) -> Vec<u64> {
    let mut need = vec![0_u64; problem.requests.len() + 1];
    for (at, request) in problem.requests.iter().enumerate().rev() {
        need[at] = need[at + 1].saturating_add(problem.most(request));
    }
    need
}
