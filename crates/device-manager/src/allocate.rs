//! Giving a container its devices: resource by resource, in order of name.
//!
//! The kubelet goes through a container's resources in random order. It matters when one of them fails: those
//! before it have been served and stay so until the pod goes. Here the order is that of the names, which is one of
//! the kubelet's.

use alloc::collections::BTreeMap;

use pod_spec::ResourceName;
use thiserror::Error;

use crate::choose::{Serving, Stop};
use crate::device_ids::DeviceIds;
use crate::holdings::Held;
use crate::inventory::{Endpoint, Inventory};
use crate::question::{AllocateReply, Question, Replies, Reply};
use crate::{AllocateError, BlockedDevices, Devices, Holdings, Request, Sources};

/// What a decision came to.
#[must_use]
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The container is served.
    Done(Allocation),
    /// A plugin must be asked, and the decision made again with its answer.
    NeedsPlugin(Question),
}

/// Why a container has not been served.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotServed {
    /// A plugin must be asked, and the decision made again with its answer.
    NeedsPlugin(Question),
    /// It cannot be.
    Failed(AllocateError),
}

/// A container served, not yet kept.
#[must_use]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Allocation {
    /// The devices that it was given just now, by resource; nothing of what it held before. If there are any, the
    /// state is to be stored.
    pub granted: BTreeMap<ResourceName, DeviceIds>,
    /// The holdings with it.
    pub after: Holdings,
}

/// A container that could not be served. The kubelet's reason is `UnexpectedAdmissionError`.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{error}")]
pub struct Failure<E: core::error::Error = AllocateError> {
    /// Why.
    pub error: E,
    /// The holdings as the failure left them: resources before the one that failed have been served, and some
    /// devices may be blocked, as [`BlockedDevices`] says. Nothing is to be stored.
    pub after: Holdings,
}

impl Devices {
    /// Serves one container near its affinity; what it holds already it keeps, and the plugin is not asked again.
    ///
    /// The answer depends on the arguments only. It never changes with a reply to a question that was not asked.
    pub fn allocate(
        self,
        inventory: &Inventory,
        held: &Holdings,
        request: &Request<'_>,
        replies: &Replies,
    ) -> Result<Outcome, Failure> {
        let mut after = held.clone();
        match self.allocate_in(inventory, &mut after, request, replies) {
            Ok(granted) => Ok(Outcome::Done(Allocation { granted, after })),
            Err(NotServed::NeedsPlugin(question)) => Ok(Outcome::NeedsPlugin(question)),
            Err(NotServed::Failed(error)) => Err(Failure { error, after }),
        }
    }

    /// The same in place: for those who have a copy to work on, and serve one container after another. What it was
    /// given just now comes back; `held` is then as [`Allocation::after`] or [`Failure::after`], and not to be kept
    /// where a plugin must be asked.
    pub fn allocate_in(
        self,
        inventory: &Inventory,
        held: &mut Holdings,
        request: &Request<'_>,
        replies: &Replies,
    ) -> Result<BTreeMap<ResourceName, DeviceIds>, NotServed> {
        held.begin(&request.pod.uid);
        match (Serving { inventory, request, replies, after: held }).serve() {
            Ok(granted) => {
                held.served(&request.pod.uid, &request.container.name, request.container.role);
                Ok(granted)
            }
            Err(Stop::Ask(question)) => Err(NotServed::NeedsPlugin(question)),
            Err(Stop::Fail(error)) => {
                match self.blocked_devices {
                    BlockedDevices::FreeAtOnce => held.recompute(),
                    BlockedDevices::UntilPodGoes => held.may_be_blocked(),
                }
                Err(NotServed::Failed(error))
            }
        }
    }
}

impl Serving<'_> {
    fn serve(mut self) -> Result<BTreeMap<ResourceName, DeviceIds>, Stop> {
        let Request { pod, container, is_active, sources, claimed, .. } = *self.request;
        let mut granted = BTreeMap::new();
        let mut collected = sources != Sources::Ready;
        for (resource, limit) in &container.limits {
            let stock = self.inventory.stock(resource);
            if claimed.contains(resource) || !self.after.is_device_of(stock, resource) {
                continue;
            }
            if !collected {
                self.after.collect(is_active);
                collected = true;
            }
            let asked = u64::try_from(limit.value()).unwrap_or(0);
            let stock = stock.filter(|stock| stock.is_registered());
            let Some(devices) = self.choose(stock, resource, asked)? else { continue };
            let reply = self.ask_to_allocate(stock.and_then(|stock| stock.endpoint), resource, &devices)?;
            if let Some(stock) = stock {
                let held = Held::record(stock, &devices, reply);
                self.after.hold(&pod.uid, &container.name, resource, held);
            }
            granted.insert(resource.clone(), devices);
        }
        Ok(granted)
    }

    fn ask_to_allocate(
        &mut self,
        endpoint: Option<Endpoint>,
        resource: &ResourceName,
        devices: &DeviceIds,
    ) -> Result<AllocateReply, Stop> {
        let refused = match endpoint {
            None => AllocateError::UnknownPlugin(resource.clone()),
            Some(Endpoint::Given | Endpoint::Checkpoint) => return Ok(AllocateReply::default()),
            Some(plugin) => match plugin.check(resource).map(|()| self.reply(resource, devices)) {
                Err(stopped) => AllocateError::Allocate(stopped),
                Ok(Err(question)) => return Err(Stop::Ask(question)),
                Ok(Ok(Reply::Allocated(reply))) => return Ok(reply.clone()),
                Ok(Ok(Reply::Failed(error))) => AllocateError::Allocate(error.clone().into()),
                // The only failure after which the kubelet forgets to free what it had chosen.
                Ok(Ok(_)) => return Err(Stop::Fail(AllocateError::NoContainerResponse)),
            },
        };
        self.after.recompute();
        Err(Stop::Fail(refused))
    }

    /// The plugin's answer to `Allocate`, or the question if there is none yet.
    fn reply(&self, resource: &ResourceName, devices: &DeviceIds) -> Result<&Reply, Question> {
        let question = Question::Allocate { resource: resource.clone(), devices: devices.clone() };
        match self.replies.get(&question) {
            Some(reply @ (Reply::Allocated(_) | Reply::NothingAllocated | Reply::Failed(_))) => Ok(reply),
            _ => Err(question),
        }
    }
}
