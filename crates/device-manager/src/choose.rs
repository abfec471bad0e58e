//! Which devices a container gets of one resource.
//!
//! What init containers of the pod have left goes first, whatever its health. Then free devices: those near the
//! nodes of the affinity, those near other nodes only, those near none. If there are more near ones than needed,
//! the plugin is asked which of these it prefers; if there are fewer, all are taken and it is asked about the rest;
//! if there are just enough, it is not asked. What it says beyond the devices it was asked about does not count.
//!
//! So every tier but one is taken whole. Of the one that is cut the kubelet takes any devices; here those with the
//! smallest ids, in byte order, unless [links](crate::links) decide, or [switches are kept whole](crate::keep_whole).

use alloc::vec::{self, Vec};

use numa_bitmask::NodeMask;
use pod_spec::ResourceName;

use crate::device::DeviceId;
use crate::device_ids::DeviceIds;
use crate::inventory::{Endpoint, Inventory, Stock};
use crate::list::Entry;
use crate::question::{PluginError, Question, Replies, Reply};
use crate::{AllocateError, Holdings, Request, Sources, keep_whole};

/// A container being served.
pub(crate) struct Serving<'a> {
    pub(crate) inventory: &'a Inventory,
    pub(crate) request: &'a Request<'a>,
    pub(crate) replies: &'a Replies,
    pub(crate) after: &'a mut Holdings,
}

/// Why a decision stops half way.
pub(crate) enum Stop {
    /// A plugin must be asked.
    Ask(Question),
    /// It fails.
    Fail(AllocateError),
}

impl From<AllocateError> for Stop {
    fn from(error: AllocateError) -> Self {
        Self::Fail(error)
    }
}

impl Serving<'_> {
    /// The devices to be given out; `None` if there is nothing to do. A resource that is not registered has no `stock`.
    pub(crate) fn choose(
        &mut self,
        stock: Option<&Stock>,
        resource: &ResourceName,
        asked: u64,
    ) -> Result<Option<DeviceIds>, Stop> {
        let (pod, container) = (&self.request.pod.uid, &self.request.container.name);
        let own = self.after.held(pod, container, resource).map(crate::Held::devices);
        if let Some(own) = own.as_ref().filter(|own| own.len() as u64 != asked) {
            return Err(Stop::Fail(AllocateError::ChangedRequest {
                pod: pod.clone(),
                container: container.clone(),
                resource: resource.clone(),
                held: own.len(),
                asked,
            }));
        }
        if self.request.sources == Sources::PendingRunning {
            return Ok(None);
        }
        let stock = stock.ok_or_else(|| AllocateError::Unregistered(resource.clone()))?;
        // Before the look at the amount: after a start of the node no container may go ahead without devices.
        if stock.list.healthy().next().is_none() {
            return Err(AllocateError::NoHealthyDevices(resource.clone()).into());
        }
        if own.iter().flatten().any(|id| !stock.list.is_healthy(id)) {
            return Err(AllocateError::NoLongerHealthy(resource.clone()).into());
        }
        if own.is_some() || asked == 0 {
            return Ok(None);
        }
        self.choose_new(stock, resource, asked).map(Some)
    }

    fn choose_new(&mut self, stock: &Stock, resource: &ResourceName, asked: u64) -> Result<DeviceIds, Stop> {
        let mut chosen = Taken { ids: DeviceIds::new(), needed: asked };
        let is_enough = match self.after.reusable(&self.request.pod.uid, resource) {
            Some(reusable) => chosen.take(reusable),
            None => asked == 0,
        };
        self.after.take(resource, chosen.ids.clone());
        if !is_enough {
            let outcome = self.choose_free(stock, resource, asked, &mut chosen);
            // After a failure too.
            self.after.take(resource, chosen.ids.clone());
            outcome?;
        }
        Ok(chosen.ids)
    }

    fn choose_free(
        &self,
        stock: &Stock,
        resource: &ResourceName,
        asked: u64,
        chosen: &mut Taken,
    ) -> Result<(), Stop> {
        let near = self.request.affinity.nodes().filter(|_| stock.list.is_aligned());
        let taken = self.after.taken(resource);
        let linked = self.request.links.and_then(|links| links.of(resource));
        let free = || {
            let may_be_given = move |(_, entry): &(Tier, &Entry)| {
                linked.is_none_or(|linked| linked.allows(&entry.device.id))
            };
            free(stock, taken, near).filter(may_be_given)
        };
        let tier = |wanted, needed| {
            let devices = free().filter(move |(tier, _)| *tier == wanted).map(|(_, entry)| entry);
            match (linked, self.request.keep_whole) {
                (None, None) => InOrder::AsTheyCome(devices),
                (Some(linked), _) => {
                    let mut devices: Vec<&Entry> = devices.collect();
                    devices.sort_by_cached_key(|entry| linked.place(&entry.device.id, near, entry.mask));
                    InOrder::Chosen(devices.into_iter())
                }
                (None, Some(links)) => {
                    let devices = keep_whole::in_order(links, stock, taken, devices.collect(), needed);
                    InOrder::Chosen(devices.into_iter())
                }
            }
        };
        let (available, aligned) = free()
            .fold((0, 0), |(all, aligned), (tier, _)| (all + 1, aligned + u64::from(tier == Tier::Aligned)));
        if available < chosen.needed {
            return Err(Stop::Fail(AllocateError::Unavailable {
                resource: resource.clone(),
                requested: chosen.needed,
                available: usize::try_from(available).unwrap_or(usize::MAX),
            }));
        }
        if chosen.needed < aligned {
            let from =
                || free().filter(|(tier, _)| *tier == Tier::Aligned).map(|(_, entry)| &entry.device.id);
            let preferred = self.preferred(stock.endpoint, resource, from(), chosen, asked)?;
            let aligned = |needed| tier(Tier::Aligned, needed);
            let _ = (!preferred.is_empty() && chosen.take_preferred(&preferred, aligned(chosen.needed)))
                || chosen.take(aligned(chosen.needed));
            return Ok(());
        }
        if chosen.take(tier(Tier::Aligned, chosen.needed)) {
            return Ok(());
        }
        let from = || free().map(|(_, entry)| &entry.device.id);
        let preferred = self.preferred(stock.endpoint, resource, from(), chosen, asked)?;
        let _ = (!preferred.is_empty() && chosen.take_preferred(&preferred, from()))
            || chosen.take(tier(Tier::Unaligned, chosen.needed))
            || chosen.take(tier(Tier::NoNode, chosen.needed));
        Ok(())
    }

    /// What the plugin would take of `from` and of what is chosen already; nothing if it does not want to be asked.
    fn preferred<'b>(
        &self,
        endpoint: Option<Endpoint>,
        resource: &ResourceName,
        from: impl Iterator<Item = &'b DeviceId>,
        chosen: &Taken,
        asked: u64,
    ) -> Result<DeviceIds, Stop> {
        let endpoint = endpoint.ok_or_else(|| AllocateError::NoEndpoint(resource.clone()))?;
        if !endpoint.options().preferred_allocation {
            return Ok(DeviceIds::new());
        }
        endpoint.check(resource).map_err(AllocateError::Preferred)?;
        let question = Question::Preferred {
            resource: resource.clone(),
            available: from.cloned().chain(chosen.ids.iter().cloned()).collect(),
            must_include: chosen.ids.clone(),
            size: u32::try_from(asked).unwrap_or(u32::MAX),
        };
        match self.replies.get(&question) {
            Some(Reply::Preferred(ids)) => Ok(ids.clone()),
            Some(Reply::Failed(error)) => {
                Err(Stop::Fail(AllocateError::Preferred(PluginError::Rpc(error.clone()))))
            }
            _ => Err(Stop::Ask(question)),
        }
    }
}

/// Devices in the order in which they are given: as they come, or in one that was chosen.
enum InOrder<'b, I> {
    AsTheyCome(I),
    Chosen(vec::IntoIter<&'b Entry>),
}

impl<'b, I: Iterator<Item = &'b Entry>> Iterator for InOrder<'b, I> {
    type Item = &'b DeviceId;

    fn next(&mut self) -> Option<Self::Item> {
        let entry = match self {
            Self::AsTheyCome(devices) => devices.next(),
            Self::Chosen(devices) => devices.next(),
        };
        entry.map(|entry| &entry.device.id)
    }
}

/// Healthy devices that are not taken, in byte order.
fn free<'b>(
    stock: &'b Stock,
    taken: Option<&'b DeviceIds>,
    near: Option<NodeMask>,
) -> impl Iterator<Item = (Tier, &'b Entry)> {
    let mut taken = taken.map(DeviceIds::walk).unwrap_or_default();
    let free = stock.list.healthy().filter(move |entry| !taken.contains(&entry.device.id));
    free.map(move |entry| (Tier::of(entry, near), entry))
}

/// What has been chosen so far.
struct Taken {
    ids: DeviceIds,
    needed: u64,
}

impl Taken {
    /// Takes from a tier, in the order given, until nothing more is needed; whether that is so.
    fn take<'b>(&mut self, tier: impl IntoIterator<Item = &'b DeviceId>) -> bool {
        let mut tier = tier.into_iter();
        while self.needed > 0
            && let Some(id) = tier.next()
        {
            self.needed -= u64::from(self.ids.insert(id.clone()));
        }
        self.needed == 0
    }

    /// The same of those that the plugin prefers.
    fn take_preferred<'b>(
        &mut self,
        preferred: &DeviceIds,
        tier: impl Iterator<Item = &'b DeviceId>,
    ) -> bool {
        self.take(tier.filter(|id| preferred.contains(id)))
    }
}

/// How a device lies to an affinity.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tier {
    /// Near one of its nodes.
    Aligned,
    /// Near other nodes only.
    Unaligned,
    /// Near none: it lists no node, or -1 and no other. All devices, if there is no affinity or none of them lists
    /// a node.
    NoNode,
}

impl Tier {
    fn of(entry: &Entry, near: Option<NodeMask>) -> Self {
        Self::at(entry.lists_a_node, entry.mask, near)
    }

    /// The same of a device on these nodes, which need not be all that it lists.
    pub(crate) fn at(lists_a_node: bool, mask: NodeMask, near: Option<NodeMask>) -> Self {
        let Some(near) = near else { return Self::NoNode };
        match (lists_a_node, mask.meets(near)) {
            (false, _) => Self::NoNode,
            (true, true) => Self::Aligned,
            (true, false) => Self::Unaligned,
        }
    }
}
