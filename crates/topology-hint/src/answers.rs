//! The answers of all providers for one unit, in storage that is used again for the next.
//!
//! A provider pushes one answer for each resource. Nothing is allocated once the storage has grown to the size of
//! an ordinary request.

use alloc::vec::Vec;
use core::ops::Range;

use node_cover::Solution;
use numa_bitmask::NodeMask;
use pod_spec::ResourceName;

use crate::{ListedHint, Preference};

/// Answers in the order in which they were given.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    pub(crate) records: Vec<(ResourceName, Record)>,
    pub(crate) lists: Vec<ListedHint>,
    pub(crate) masks: Vec<(NodeMask, Preference)>,
    pub(crate) touch: Vec<NodeMask>,
    pub(crate) needs: Vec<NeedRecord>,
    pub(crate) supply: Vec<(NodeMask, u64)>,
    pub(crate) sockets: Vec<NodeMask>,
    is_cut: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum Record {
    NoOpinion,
    Impossible,
    List(Range<usize>),
    Family(FamilyRecord),
}

#[derive(Clone, Debug)]
pub(crate) struct FamilyRecord {
    pub(crate) any: Option<Preference>,
    pub(crate) masks: Range<usize>,
    pub(crate) open: Option<OpenRecord>,
    pub(crate) preferred: PreferredRecord,
}

#[derive(Clone, Debug)]
pub(crate) struct OpenRecord {
    pub(crate) within: NodeMask,
    pub(crate) must: NodeMask,
    pub(crate) touch: Range<usize>,
    pub(crate) needs: Range<usize>,
}

#[derive(Clone, Debug)]
pub(crate) struct NeedRecord {
    pub(crate) supply: Range<usize>,
    pub(crate) at_least: u64,
}

#[derive(Clone, Debug)]
pub(crate) enum PreferredRecord {
    Size(u32),
    SizeOrSockets { size: u32, sockets: u32, nodes_of: Range<usize> },
    PerMask,
}

impl Answers {
    /// No answers.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            records: Vec::new(),
            lists: Vec::new(),
            masks: Vec::new(),
            touch: Vec::new(),
            needs: Vec::new(),
            supply: Vec::new(),
            sockets: Vec::new(),
            is_cut: false,
        }
    }

    /// No answers, and storage for an ordinary request: some resources on a machine of eight nodes.
    #[must_use]
    pub fn with_storage() -> Self {
        Self {
            records: Vec::with_capacity(8),
            needs: Vec::with_capacity(16),
            supply: Vec::with_capacity(64),
            ..Self::new()
        }
    }

    /// Forgets the answers and keeps the storage.
    pub fn clear(&mut self) {
        self.records.clear();
        self.lists.clear();
        self.masks.clear();
        self.touch.clear();
        self.needs.clear();
        self.supply.clear();
        self.sockets.clear();
        self.is_cut = false;
    }

    /// Whether the search of some provider was cut, so that it may have missed smaller node sets.
    #[must_use]
    pub const fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// How many answers there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there is no answer.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Any node will do for `resource`.
    pub fn push_no_opinion(&mut self, resource: impl Into<ResourceName>) {
        self.records.push((resource.into(), Record::NoOpinion));
    }

    /// `resource` cannot be served anywhere.
    pub fn push_impossible(&mut self, resource: impl Into<ResourceName>) {
        self.records.push((resource.into(), Record::Impossible));
    }

    /// An explicit list. An empty one is the kubelet's "cannot be served".
    pub fn push_list(
        &mut self,
        resource: impl Into<ResourceName>,
        hints: impl IntoIterator<Item: Into<ListedHint>>,
    ) {
        let start = self.lists.len();
        self.lists.extend(hints.into_iter().map(Into::into));
        let list = start..self.lists.len();
        self.records
            .push((resource.into(), if list.is_empty() { Record::Impossible } else { Record::List(list) }));
    }

    /// A family for `resource`, to be described with the builder; until then it accepts nothing.
    #[inline]
    pub fn push_family(&mut self, resource: impl Into<ResourceName>) -> FamilyBuilder<'_> {
        let family = FamilyRecord {
            any: None,
            masks: self.masks.len()..self.masks.len(),
            open: None,
            preferred: PreferredRecord::PerMask,
        };
        self.records.push((resource.into(), Record::Family(family)));
        FamilyBuilder { answers: self }
    }
}

/// Describes the family that was pushed last.
#[derive(Debug)]
pub struct FamilyBuilder<'a> {
    answers: &'a mut Answers,
}

impl FamilyBuilder<'_> {
    /// Adds a hint without a node set.
    pub fn any(&mut self, preference: Preference) -> &mut Self {
        self.record().any = Some(preference);
        self
    }

    /// Accepts exactly `mask`. `preference` counts with [`FamilyBuilder::preferred_as_given`] only.
    pub fn mask(&mut self, mask: NodeMask, preference: Preference) -> &mut Self {
        self.answers.masks.push((mask, preference));
        self.record().masks.end += 1;
        self
    }

    /// Opens the family upwards: it accepts every non-empty set inside `within` that contains the nodes of
    /// [`FamilyBuilder::must`], meets each set of [`FamilyBuilder::touch`] and has the amounts of
    /// [`FamilyBuilder::need`].
    #[inline]
    pub fn open(&mut self, within: NodeMask) -> &mut Self {
        let (touch, needs) = (self.answers.touch.len(), self.answers.needs.len());
        let must = NodeMask::EMPTY;
        self.record().open = Some(OpenRecord { within, must, touch: touch..touch, needs: needs..needs });
        self
    }

    /// The open part must contain all of `nodes`. After [`FamilyBuilder::open`]; without it there is nothing to
    /// restrict.
    #[inline]
    pub fn must(&mut self, nodes: NodeMask) -> &mut Self {
        if let Some(open) = &mut self.record().open {
            open.must |= nodes;
        }
        self
    }

    /// The open part must meet `mask`. After [`FamilyBuilder::open`]; without it there is nothing to restrict.
    #[inline]
    pub fn touch(&mut self, mask: NodeMask) -> &mut Self {
        if let Some(open) = &mut self.record().open {
            open.touch.end += 1;
            self.answers.touch.push(mask);
        }
        self
    }

    /// The amounts of those entries of `supply` whose nodes meet the set must sum to `at_least` or more. CPUs and
    /// bytes have one node, a device those that it lists. After [`FamilyBuilder::open`].
    pub fn need(&mut self, at_least: u64, supply: impl IntoIterator<Item = (NodeMask, u64)>) -> &mut Self {
        if let Some(open) = &mut self.record().open {
            open.needs.end += 1;
            let start = self.answers.supply.len();
            self.answers.supply.extend(supply);
            let supply = start..self.answers.supply.len();
            self.answers.needs.push(NeedRecord { supply, at_least });
        }
        self
    }

    /// Sets of `size` nodes are preferred. `size` comes from what is installed, so none may be accepted.
    #[inline]
    pub fn preferred_size(&mut self, size: u32) -> &mut Self {
        self.record().preferred = PreferredRecord::Size(size);
        self
    }

    /// Sets of this size are preferred; if the search for the size was cut, [`Answers::is_cut`] says so.
    #[inline]
    pub fn preferred_solution(&mut self, size: Solution<u32>) -> &mut Self {
        self.answers.is_cut |= size.is_cut();
        self.preferred_size(size.into_inner())
    }

    /// Sets of `size` nodes are preferred, and those that meet exactly `sockets` of `nodes_of`, which has one node
    /// set for each socket.
    pub fn preferred_size_or_sockets(
        &mut self,
        size: u32,
        sockets: u32,
        nodes_of: impl IntoIterator<Item = NodeMask>,
    ) -> &mut Self {
        let start = self.answers.sockets.len();
        self.answers.sockets.extend(nodes_of);
        let nodes_of = start..self.answers.sockets.len();
        self.record().preferred = PreferredRecord::SizeOrSockets { size, sockets, nodes_of };
        self
    }

    /// Exact masks are preferred as they say, the open part is not. This is how a family begins.
    pub fn preferred_as_given(&mut self) -> &mut Self {
        self.record().preferred = PreferredRecord::PerMask;
        self
    }

    #[inline]
    fn record(&mut self) -> &mut FamilyRecord {
        match self.answers.records.last_mut() {
            Some((_, Record::Family(family))) => family,
            _ => unreachable!("a builder is made by push_family and holds the answers until it is dropped"),
        }
    }
}
