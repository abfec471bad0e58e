//! A family of node sets: what one resource accepts, as a rule instead of up to 2^n hints.
//!
//! A set is accepted if it is one of the exact masks, or if the open part takes it. The open part is closed
//! upwards inside `within`: CPUs, bytes and devices are still enough when nodes are added. What is not closed
//! upwards (memory that counts for one exact node set, nodes that are bound to a group) goes into exact masks.

use node_cover::{Bounds, Cover, Row, Solution, Steps};
use numa_bitmask::{NodeIndex, NodeMask};

use crate::answers::{Answers, FamilyRecord, PreferredRecord};
use crate::{Hint, ListedHint, Preference};

/// A family, borrowed from its [`Answers`].
#[derive(Clone, Copy, Debug)]
pub struct Family<'a> {
    answers: &'a Answers,
    record: &'a FamilyRecord,
}

/// Which accepted masks are preferred.
#[derive(Clone, Copy, Debug)]
pub enum Preferred<'a> {
    /// Those of this size.
    Size(u32),
    /// Those of this size, and those that meet exactly `sockets` of the sets of `nodes_of`.
    SizeOrSockets {
        /// The preferred size.
        size: u32,
        /// How many sockets.
        sockets: u32,
        /// One node set for each socket.
        nodes_of: &'a [NodeMask],
    },
    /// Exact masks as they say; the open part is not preferred.
    PerMask,
}

impl<'a> Family<'a> {
    pub(crate) const fn new(answers: &'a Answers, record: &'a FamilyRecord) -> Self {
        Self { answers, record }
    }

    /// The hint without a node set, if there is one.
    #[must_use]
    pub const fn any(self) -> Option<Preference> {
        self.record.any
    }

    /// The node sets that are accepted exactly.
    #[must_use]
    pub fn masks(self) -> &'a [(NodeMask, Preference)] {
        &self.answers.masks[self.record.masks.clone()]
    }

    /// The nodes that the open part may use; `None` without an open part.
    #[must_use]
    pub fn within(self) -> Option<NodeMask> {
        self.record.open.as_ref().map(|open| open.within)
    }

    /// Which accepted masks are preferred.
    #[must_use]
    pub fn preferred(self) -> Preferred<'a> {
        match &self.record.preferred {
            PreferredRecord::Size(size) => Preferred::Size(*size),
            PreferredRecord::SizeOrSockets { size, sockets, nodes_of } => Preferred::SizeOrSockets {
                size: *size,
                sockets: *sockets,
                nodes_of: &self.answers.sockets[nodes_of.clone()],
            },
            PreferredRecord::PerMask => Preferred::PerMask,
        }
    }

    /// Whether `mask` is accepted, and how; `None` if it is not.
    #[must_use]
    pub fn accepts(self, mask: NodeMask) -> Option<Preference> {
        let exact =
            self.masks().iter().filter(|(exact, _)| *exact == mask).map(|(_, preference)| *preference).min();
        if exact.is_none() && !self.open_accepts(mask) {
            return None;
        }
        Some(match self.preferred() {
            Preferred::PerMask => exact.unwrap_or(Preference::Acceptable),
            by_shape => by_shape.of_shape(mask),
        })
    }

    /// Whether the open part takes `mask`. Never the empty set.
    #[must_use]
    pub fn open_accepts(self, mask: NodeMask) -> bool {
        self.record.open.as_ref().is_some_and(|open| {
            !mask.is_empty()
                && mask.is_subset(open.within)
                && open.must.is_subset(mask)
                && self.answers.touch[open.touch.clone()].iter().all(|touch| touch.meets(mask))
                && self.answers.needs[open.needs.clone()].iter().all(|need| {
                    let supply = &self.answers.supply[need.supply.clone()];
                    reach(supply, mask) >= u128::from(need.at_least)
                })
        })
    }

    /// The nodes each of which is accepted alone.
    #[must_use]
    pub fn single_nodes(self) -> NodeMask {
        let exact = self.masks().iter().map(|(mask, _)| *mask).filter(|mask| mask.len() == 1);
        exact.fold(self.open_single_nodes(), |all, mask| all | mask)
    }

    fn open_single_nodes(self) -> NodeMask {
        let Some(open) = &self.record.open else { return NodeMask::EMPTY };
        let nodes = match open.must.len() {
            0 => open.within,
            1 => open.within & open.must,
            _ => return NodeMask::EMPTY,
        };
        let touched =
            self.answers.touch[open.touch.clone()].iter().fold(nodes, |nodes, touch| nodes & *touch);
        let needs = self.answers.needs[open.needs.clone()].iter();
        needs.fold(touched, |nodes, need| {
            nodes & reached_alone(&self.answers.supply[need.supply.clone()], nodes, need.at_least)
        })
    }

    /// Whether the family accepts no node set and has no hint without one: it then acts as
    /// [`Answer::Impossible`](crate::Answer::Impossible).
    #[must_use]
    pub fn accepts_nothing(self) -> bool {
        self.any().is_none()
            && self.masks().is_empty()
            && !self.open_accepts(self.within().unwrap_or_default())
    }

    /// The size of the smallest accepted set; `None` if no set is accepted. Cut only where the open part is so contrived
    /// that the default number of [`Steps`] does not settle it.
    #[must_use]
    pub fn narrowest(self) -> Option<Solution<u32>> {
        let exact = self.masks().iter().map(|(mask, _)| mask.len()).min();
        let open = self.cover(NodeMask::all(NodeIndex::LIMIT)).map(|open| open.fewest(&mut Steps::default()));
        match (exact, open) {
            (Some(exact), Some(open)) => Some(open.map(|open| open.min(exact))),
            (None, open) => open,
            (Some(exact), None) => Some(Solution::Exact(exact)),
        }
    }

    /// The open part restricted to `nodes`, in a form that is quick to search; `None` if it accepts no set of them. For
    /// policies: a provider has no use for it.
    #[must_use]
    pub fn cover(self, nodes: NodeMask) -> Option<Cover<'a>> {
        let open = self.record.open.as_ref()?;
        let within = open.within & nodes;
        let touch = self.answers.touch[open.touch.clone()].iter().map(|touch| Row::touch(*touch));
        let needs = self.answers.needs[open.needs.clone()].iter().filter(|need| need.at_least > 0);
        let needs =
            needs.map(|need| Row::new(within, &self.answers.supply[need.supply.clone()], need.at_least));
        Cover::new(Bounds { within, must: open.must }, touch.chain(needs))
    }

    /// How many nodes a preferred set has; of several sizes the one that the family states. `None` if no exact
    /// mask is preferred and no size is stated. A set of that size need not be accepted.
    #[must_use]
    pub fn preferred_size(self) -> Option<u32> {
        match self.preferred() {
            Preferred::Size(size) | Preferred::SizeOrSockets { size, .. } => Some(size),
            Preferred::PerMask => {
                let preferred =
                    self.masks().iter().filter(|(_, preference)| *preference == Preference::Preferred);
                preferred.map(|(mask, _)| mask.len()).min()
            }
        }
    }

    /// Every hint of the family in the kubelet's order over `nodes` (by size, then lexicographic), the hint without
    /// a node set first. Exponential in the number of nodes: for comparison and small machines.
    pub fn listed(self, nodes: NodeMask) -> impl Iterator<Item = ListedHint> + 'a {
        let any = self.any().map(|preference| Hint { affinity: crate::Affinity::Any, preference });
        // The empty set can be an exact mask, though no enumeration has it.
        let sets = [NodeMask::EMPTY].into_iter().chain(nodes.subsets()).filter_map(move |mask| {
            let preference = self.accepts(mask)?;
            Some(Hint { affinity: crate::Affinity::Nodes(mask), preference })
        });
        any.into_iter().chain(sets).map(ListedHint::from)
    }
}

impl Preferred<'_> {
    /// Whether a mask of this shape is preferred. [`Preferred::PerMask`] goes by the mask and prefers no shape.
    #[must_use]
    pub fn of_shape(self, mask: NodeMask) -> Preference {
        let preferred = match self {
            Self::Size(size) => mask.len() == size,
            Self::SizeOrSockets { size, sockets, nodes_of } => {
                let met = nodes_of.iter().filter(|socket| socket.meets(mask)).count();
                mask.len() == size || met == sockets as usize
            }
            Self::PerMask => false,
        };
        if preferred { Preference::Preferred } else { Preference::Acceptable }
    }
}

/// What the entries of `supply` that meet `mask` sum to; wide enough never to wrap.
fn reach(supply: &[(NodeMask, u64)], mask: NodeMask) -> u128 {
    supply.iter().filter(|(nodes, _)| nodes.meets(mask)).map(|(_, amount)| u128::from(*amount)).sum()
}

/// Those of `nodes` that have `at_least` alone: as one entry of `supply`, or where a node has several, as their sum.
fn reached_alone(supply: &[(NodeMask, u64)], nodes: NodeMask, at_least: u64) -> NodeMask {
    if at_least == 0 {
        return nodes;
    }
    let (mut met, mut met_again, mut enough) = (NodeMask::EMPTY, NodeMask::EMPTY, NodeMask::EMPTY);
    for (on, amount) in supply {
        met_again |= met & *on;
        met |= *on;
        if *amount >= at_least {
            enough |= *on;
        }
    }
    let has_enough = |node: &NodeIndex| reach(supply, (*node).into()) >= u128::from(at_least);
    let summed = ((met_again - enough) & nodes).iter().filter(has_enough);
    summed.fold(enough & nodes, NodeMask::with)
}
