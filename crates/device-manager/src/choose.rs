//! Which devices a container gets of one resource.
//!
//! What init containers of the pod have left goes first, whatever its health. Then free devices: those near the
//! nodes of the affinity, those near other nodes only, those near none. If there are more near ones than needed,
//! the plugin is asked which of these it prefers; if there are fewer, all are taken and it is asked about the rest;
//! if there are just enough, it is not asked. What it says beyond the devices it was asked about does not count.
//!
//! So every tier but one is taken whole. Of the one that is cut the kubelet takes any devices; here those with the
//! smallest ids, in byte order.

use numa_bitmask::NodeMask;
use pod_spec::ResourceName;
use smallvec::SmallVec;
use topology_model::NodeId;

use crate::AllocateError;
use crate::Holdings;
use crate::allocate::{Serving, Sources};
use crate::device::DeviceId;
use crate::device_ids::DeviceIds;
use crate::inventory::Stock;
use crate::list::Entry;
use crate::question::{PluginError, Question, Reply};

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
    /// The devices to be given out; `None` if there is nothing to do.
    pub(crate) fn choose(&mut self, resource: &ResourceName, asked: u64) -> Result<Option<DeviceIds>, Stop> {
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
        let stock = self.inventory.stock(resource).filter(|stock| stock.is_registered());
        let stock = stock.ok_or_else(|| AllocateError::Unregistered(resource.clone()))?;
        // Before the look at the amount: after a start of the node nobody may go ahead without devices.
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
        let mut chosen = Chosen { ids: DeviceIds::new(), needed: asked };
        let reusable = self.after.reusable(&self.request.pod.uid, resource).cloned().unwrap_or_default();
        if chosen.take(self.after, resource, &reusable) {
            return Ok(chosen.ids);
        }
        let near = self.request.affinity.nodes().filter(|_| stock.list.is_aligned());
        let available = available(stock, self.after.taken(resource), near);
        if (available.len() as u64) < chosen.needed {
            return Err(Stop::Fail(AllocateError::Unavailable {
                resource: resource.clone(),
                requested: chosen.needed,
                available: available.len(),
            }));
        }
        let tier = |wanted| available.iter().filter(move |(tier, _)| *tier == wanted).map(|(_, id)| *id);
        let aligned = tier(Tier::Aligned).count() as u64;
        if chosen.needed < aligned {
            let from = || tier(Tier::Aligned);
            let preferred = self.preferred(resource, from(), &chosen, asked)?;
            let is_enough = !preferred.is_empty()
                && chosen.take(self.after, resource, from().filter(|id| preferred.contains(id)));
            if !is_enough {
                chosen.take(self.after, resource, from());
            }
            return Ok(chosen.ids);
        }
        if chosen.take(self.after, resource, tier(Tier::Aligned)) {
            return Ok(chosen.ids);
        }
        let from = || available.iter().map(|(_, id)| *id);
        let preferred = self.preferred(resource, from(), &chosen, asked)?;
        let _ = !preferred.is_empty()
            && chosen.take(self.after, resource, from().filter(|id| preferred.contains(id)))
            || chosen.take(self.after, resource, tier(Tier::Unaligned))
            || chosen.take(self.after, resource, tier(Tier::NoNode));
        Ok(chosen.ids)
    }

    /// What the plugin would take of `from` and of what is chosen already; nothing if it does not want to be asked.
    fn preferred<'b>(
        &self,
        resource: &ResourceName,
        from: impl Iterator<Item = &'b DeviceId>,
        chosen: &Chosen,
        asked: u64,
    ) -> Result<DeviceIds, Stop> {
        let endpoint = self.inventory.endpoint(resource);
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

/// Devices in byte order, as many as most plugins list on the stack.
type Available<'b> = SmallVec<[(Tier, &'b DeviceId); 64]>;

/// Healthy devices that are not taken.
fn available<'b>(stock: &'b Stock, taken: Option<&DeviceIds>, near: Option<NodeMask>) -> Available<'b> {
    let mut taken = taken.map(DeviceIds::walk);
    let mut is_taken = |id: &DeviceId| taken.as_mut().is_some_and(|taken| taken.contains(id));
    let mut available = Available::new();
    for entry in stock.list.healthy().filter(|entry| !is_taken(&entry.device.id)) {
        available.push((Tier::of(entry, near), &entry.device.id));
    }
    available
}

/// What has been chosen so far.
struct Chosen {
    ids: DeviceIds,
    needed: u64,
}

impl Chosen {
    /// Takes from a tier, in the order given, until nothing more is needed; whether that is so.
    fn take<'b>(
        &mut self,
        after: &mut Holdings,
        resource: &ResourceName,
        tier: impl IntoIterator<Item = &'b DeviceId>,
    ) -> bool {
        let mut more = DeviceIds::new();
        for id in tier {
            if self.needed == 0 {
                break;
            }
            if self.ids.insert(id.clone()) {
                more.insert(id.clone());
                self.needed -= 1;
            }
        }
        after.take(resource, more);
        self.needed == 0
    }
}

/// How a device lies to an affinity.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tier {
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
        let Some(near) = near else { return Self::NoNode };
        if entry.device.topology.ids().iter().all(|id| *id == NodeId(-1)) {
            return Self::NoNode;
        }
        if entry.mask.meets(near) { Self::Aligned } else { Self::Unaligned }
    }
}
