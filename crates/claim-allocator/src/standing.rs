//! What each device is to each request when nothing else of the pod is looked at: for explanations, not for decisions.

use dra_model::{
    Device, DeviceClass, DeviceRequest, DeviceTaint, RequestName, RequestedDevices, ResourceSlice,
};

use crate::allocator::Allocator;
use crate::error::AllocateError;
use crate::prepared::Selection;
use crate::question::Question;
use crate::search::{Access, Held, Sharing};

/// One way to serve a request: the request itself, or one of its alternatives.
#[derive(Clone, Debug)]
pub struct Way<'a> {
    /// Number of the claim in [`Question::claims`].
    pub claim: usize,
    /// The request.
    pub request: &'a DeviceRequest,
    /// The devices that are wanted in this way.
    pub devices: &'a RequestedDevices,
    /// Their class.
    pub class: &'a DeviceClass,
    /// The request, or `request/alternative`.
    pub name: RequestName,
    number: usize,
}

/// What a device is to a request: a candidate, or the first of these that keeps it away.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Standing {
    /// It is not of the class.
    OtherClass,
    /// This selector of the request, from 0, does not select it.
    Unselected(usize),
    /// It is for other nodes.
    OtherNode,
    /// It needs a feature that is off.
    Unsupported,
    /// The request does not tolerate this taint.
    Tainted(DeviceTaint),
    /// It never has the capacity, or its policy excludes the amount.
    TooSmall,
    /// Another claim holds it as a whole.
    InUse,
    /// Other claims leave too little of its capacity.
    SharedOut,
    /// Devices of other claims leave too little of the counters of its pool.
    CountersUsed,
    /// A selector or an amount has no answer for it.
    Failed(AllocateError),
    /// Nothing keeps it away.
    Candidate,
}

impl<'a> Allocator<'a> {
    /// The question.
    #[must_use]
    pub const fn question(&self) -> &'a Question<'a> {
        self.prepared.question
    }

    /// The requests of all claims with their alternatives, in order.
    pub fn ways(&self) -> impl Iterator<Item = Way<'a>> + '_ {
        self.prepared.asked.iter().enumerate().map(|(number, asked)| Way {
            claim: asked.claim,
            request: asked.request,
            devices: asked.devices,
            class: asked.class,
            name: asked.full_name(),
            number,
        })
    }

    /// The devices of all pools that can be used, in the order in which they are tried.
    pub fn devices(&self) -> impl ExactSizeIterator<Item = (&'a ResourceSlice, &'a Device)> + '_ {
        self.prepared.devices.iter().map(|placed| (placed.slice, placed.device))
    }

    /// What the device at this place among [`Self::devices`] is to a request.
    #[must_use]
    pub fn standing(&self, way: &Way<'_>, device: usize) -> Standing {
        self.standing_or_error(way.number, device).unwrap_or_else(Standing::Failed)
    }

    fn standing_or_error(&self, way: usize, device: usize) -> Result<Standing, AllocateError> {
        let prepared = &self.prepared;
        let is_in_use = prepared.problem.alternatives[way].access == Access::Ordinary
            && prepared.problem.devices[device].held == Held::Allocated;
        let selection = match prepared.selection(way, device) {
            // kube-scheduler does not evaluate selectors on devices in use.
            Err(_) if is_in_use => return Ok(Standing::InUse),
            selection => selection?,
        };
        match selection {
            Selection::Unsupported => return Ok(Standing::Unsupported),
            Selection::OtherClass => return Ok(Standing::OtherClass),
            Selection::Unselected(selector) => return Ok(Standing::Unselected(selector)),
            Selection::OtherNode => return Ok(Standing::OtherNode),
            Selection::Selected => {}
        }
        if prepared.is_unsupported(device) {
            return Ok(Standing::Unsupported);
        }
        if let Some(taint) = prepared.repelling_taint(way, device) {
            return Ok(Standing::Tainted(taint.clone()));
        }
        if !prepared.empty_fit(way, device)? {
            return Ok(Standing::TooSmall);
        }
        if is_in_use {
            return Ok(Standing::InUse);
        }
        if !prepared.capacity_fit(way, device)? {
            return Ok(Standing::SharedOut);
        }
        Ok(if self.has_counters(device) { Standing::Candidate } else { Standing::CountersUsed })
    }

    /// Whether the counters of its pool have enough for the device alone.
    fn has_counters(&self, device: usize) -> bool {
        let problem = &self.prepared.problem;
        let device = &problem.devices[device];
        let is_drawn = matches!(device.sharing, Sharing::Shared { in_use: true, .. });
        if device.draws.is_empty() || is_drawn {
            return true;
        }
        let mut left = problem.pools[device.pool].available.clone();
        for draw in &device.draws {
            left[draw.counter] -= draw.amount;
        }
        left.iter().all(|left| *left >= 0)
    }
}
