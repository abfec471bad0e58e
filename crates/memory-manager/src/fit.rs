//! Which node sets can hold a request: the rule, and the parts of it that need no list of all sets.
//!
//! A set can hold a request if
//!
//! 1. what is *allocatable* on it (booked or not) is enough, and
//! 2. a single node is in no group; of several nodes those in use are bound to exactly this set, and
//! 3. what is *free* on it, and what the pod's init containers left on exactly this set, is enough.
//!
//! By 2 a set of several nodes is a group in use, or has only nodes that nothing uses. So every accepted set is one
//! of: a single node in use; a group in use; a set on which init containers left something; a set of unused nodes
//! with enough in sum, which stays enough when more of them join. The first three are exact sets, at most as many
//! as there are nodes and blocks; the last is the open part of a family. On unused nodes 1 follows from 3.
//!
//! That sums grow with the set fails only where they wrap past 64 bits. Then the rule itself is asked for every
//! set, as the kubelet does, on machines of up to [`Fit::LISTED_NODES`] nodes; beyond, where the kubelet does not
//! answer in a lifetime, sums do not wrap.

use node_cover::{Bounds, Row, Solution, Steps, fewest, smallest};
use numa_bitmask::{NodeIndex, NodeMask, Subsets};
use pod_spec::{PodUid, ResourceName};
use smallvec::SmallVec;

use crate::books::Books;
use crate::request::Item;
use crate::{Holdings, Request, Static};

/// A request of one pod against what is booked.
#[derive(Clone, Copy)]
pub(crate) struct Fit<'a> {
    policy: &'a Static,
    books: &'a Books,
    request: &'a Request,
    reusable: &'a [(NodeMask, ResourceName, u64)],
}

impl<'a> Fit<'a> {
    /// Up to how many nodes every set is asked for where sums wrap.
    const LISTED_NODES: u32 = 12;

    pub(crate) fn new(policy: &'a Static, held: &'a Holdings, pod: &PodUid, request: &'a Request) -> Self {
        Self { policy, books: &held.books, request, reusable: held.reusable_of(pod).unwrap_or_default() }
    }

    /// Whether accepted sets have to be listed, since sums wrap.
    pub(crate) fn is_listed(self) -> bool {
        self.policy.usable.len() <= Self::LISTED_NODES
            && self.request.items().iter().any(|item| {
                let Some(at) = item.at else { return false };
                let left = self.reusable.iter().filter(|(_, of, _)| *of == item.resource);
                self.policy.supplies[at].wraps
                    || left
                        .into_iter()
                        .any(|(mask, _, left)| self.books.free(*mask, at).checked_add(*left).is_none())
            })
    }

    /// Every node set, in the kubelet's order.
    pub(crate) fn subsets(self) -> Subsets {
        self.policy.usable.subsets()
    }

    /// Whether `mask` can hold the request.
    pub(crate) fn accepts(self, mask: NodeMask) -> bool {
        self.is_allocatable(mask) && self.may_bind(mask) && self.is_free(mask, Count::WithReusable)
    }

    /// 1: whether `mask` could hold the request if nothing were booked.
    pub(crate) fn is_allocatable(self, mask: NodeMask) -> bool {
        self.request.items().iter().all(|item| {
            let on = |node| item.at.map_or(0, |at| self.policy.allocatable_on(node, at));
            mask.iter().fold(0_u64, |sum, node| sum.wrapping_add(on(node))) >= item.bytes
        })
    }

    /// 2: whether the groups allow a request on `mask`.
    fn may_bind(self, mask: NodeMask) -> bool {
        let mut nodes = mask.iter().filter_map(|node| self.books.node(node));
        if mask.len() == 1 {
            return nodes.all(|books| books.group.len() <= 1);
        }
        nodes.all(|books| books.assignments <= 0 || books.group.len() != 1 && books.group.mask() == mask)
    }

    /// 3: whether enough is free on `mask`.
    pub(crate) fn is_free(self, mask: NodeMask, count: Count) -> bool {
        self.request.items().iter().all(|item| {
            let free = item.at.map_or(0, |at| self.books.free(mask, at));
            let left = match count {
                Count::FreeOnly => 0,
                Count::WithReusable => self.left_on(mask, item),
            };
            free.wrapping_add(left) >= item.bytes
        })
    }

    fn left_on(self, mask: NodeMask, item: &Item) -> u64 {
        let left = self.reusable.iter().find(|(nodes, of, _)| *nodes == mask && *of == item.resource);
        left.map_or(0, |(_, _, bytes)| *bytes)
    }

    /// The accepted sets that are not the open part's, some perhaps twice.
    pub(crate) fn exact(self) -> impl Iterator<Item = NodeMask> + use<'a> {
        let used = self.policy.usable.iter().filter(move |node| self.books.is_used(*node));
        let singles = used.clone().map(NodeMask::single);
        let groups = used.filter_map(move |node| {
            let group = self.books.node(node)?.group.mask();
            let first = group.iter().find(|member| {
                let books = self.books.node(*member);
                books.is_some_and(|books| books.assignments > 0 && books.group.mask() == group)
            });
            (group.len() > 1 && first == Some(node)).then_some(group)
        });
        let left = self.reusable.iter().map(|(mask, _, _)| *mask);
        singles
            .chain(groups)
            .chain(left)
            .filter(move |mask| mask.is_subset(self.policy.usable) && self.accepts(*mask))
    }

    /// The nodes of the open part: those that nothing uses.
    pub(crate) fn unused(self) -> NodeMask {
        self.policy.usable.iter().filter(|node| !self.books.is_used(*node)).collect()
    }

    /// Whether the open part accepts anything.
    pub(crate) fn is_open(self, unused: NodeMask) -> bool {
        !unused.is_empty()
            && self.needs().all(|item| {
                let free = unused.iter().map(|node| u128::from(self.free_on(node, item))).sum::<u128>();
                free >= u128::from(item.bytes)
            })
    }

    /// What the open part has to reach.
    pub(crate) fn needs(self) -> impl Iterator<Item = &'a Item> {
        self.request.items().iter().filter(|item| item.bytes > 0)
    }

    pub(crate) fn free_on(self, node: NodeIndex, item: &Item) -> u64 {
        item.at.map_or(0, |at| self.books.amounts(node, at).free)
    }

    /// The size of preferred sets: of the smallest that could hold the request if nothing were booked, groups
    /// disregarded; of all nodes if there is none.
    pub(crate) fn preferred_size(self) -> Solution<u32> {
        let nodes = self.policy.usable;
        let none = nodes.len();
        if self.is_listed() {
            let first = self.subsets().find(|mask| self.is_allocatable(*mask));
            return Solution::Exact(first.map_or(none, NodeMask::len));
        }
        let mut least = 1;
        for item in self.needs() {
            let richest = item.at.map_or(&[][..], |at| &self.policy.supplies[at].richest);
            let enough = richest.iter().position(|(_, sum)| *sum >= u128::from(item.bytes));
            let Some(enough) = enough.and_then(|before| u32::try_from(before + 1).ok()) else {
                return Solution::Exact(none);
            };
            least = enough.max(least);
        }
        // Mostly one resource is the scarce one, and its richest nodes have enough of the others.
        let of_richest = |item: &Item| {
            let richest = item.at.map_or(&[][..], |at| &self.policy.supplies[at].richest);
            let mask: NodeMask = richest.iter().take(least as usize).map(|(node, _)| *node).collect();
            self.is_allocatable(mask)
        };
        if self.needs().count() <= 1 || self.needs().any(of_richest) {
            return Solution::Exact(least.min(none));
        }
        let on = |node, item: &Item| item.at.map_or(0, |at| self.policy.allocatable_on(node, at));
        fewest(nodes, &self.rows(nodes, on), &mut Steps::default()).unwrap_or(Solution::Exact(none))
    }

    /// The best accepted set that contains `must`: the fewest nodes, then the smallest number. As every preferred
    /// set is of one size that no accepted set is below, it is preferred if any is. A set that a cut search found may have
    /// more nodes than needed.
    pub(crate) fn best(self, must: NodeMask) -> Option<Solution<NodeMask>> {
        if self.is_listed() {
            let accepted = self.subsets().filter(|mask| self.accepts(*mask));
            let best = accepted.filter(|mask| must.is_subset(*mask)).min_by(|a, b| a.cmp_narrow(*b));
            return best.map(Solution::Exact);
        }
        let unused = self.unused();
        let on = |node, item: &Item| self.free_on(node, item);
        let has_all = |node: &NodeIndex| self.needs().all(|item| on(*node, item) >= item.bytes);
        let alone = unused.iter().filter(|node| must.is_subset(NodeMask::single(*node))).find(has_all);
        let open = match alone {
            Some(node) => Some(Solution::Exact(NodeMask::single(node))),
            None if must.is_subset(unused) && self.is_open(unused) => {
                let bounds = Bounds { within: unused, must };
                smallest(bounds, &self.rows(unused, on), &mut Steps::default())
            }
            None => None,
        };
        let exact = self.exact().filter(|mask| must.is_subset(*mask));
        let exact = exact.min_by(|a, b| a.cmp_narrow(*b));
        match (exact, open) {
            (Some(exact), Some(open)) => {
                Some(open.map(|open| if open.cmp_narrow(exact).is_lt() { open } else { exact }))
            }
            (None, open) => open,
            (Some(exact), None) => Some(Solution::Exact(exact)),
        }
    }

    /// Enough of everything that is asked for, by what each node has; on the stack for up to four resources.
    fn rows(self, within: NodeMask, on: impl Fn(NodeIndex, &Item) -> u64) -> SmallVec<[Row<'static>; 4]> {
        let on = &on;
        let row = |item: &Item| Row::per_node(item.bytes, within.iter().map(|node| (node, on(node, item))));
        self.needs().map(row).collect()
    }
}

/// What counts as free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Count {
    /// What is not booked.
    FreeOnly,
    /// That, and what the pod's init containers left on exactly the set.
    WithReusable,
}
