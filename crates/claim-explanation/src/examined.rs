//! For each request and device whether the device can serve it, or why not; worked out once.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use claim_allocator::{Allocator, Standing, Way};
use dra_model::{AllocationMode, Constraint, Device, DeviceId, ResourceClaim, ResourceSlice};

use crate::names::folded;
use crate::objects::Asked;

/// The devices of a node, and the standing of each for each request: a candidate, or why it is none.
pub(crate) struct Examined<'a> {
    pub(crate) devices: Vec<(&'a ResourceSlice, &'a Device)>,
    pub(crate) ways: Vec<ExaminedWay<'a>>,
    claims: &'a [ResourceClaim],
    /// The claims that hold devices, as `namespace/name`.
    holders: BTreeMap<DeviceId, Vec<String>>,
}

/// A request, or one of its alternatives (`firstAvailable`), with the standing of each device for it.
pub(crate) struct ExaminedWay<'a> {
    pub(crate) way: Way<'a>,
    pub(crate) standings: Vec<Standing>,
    /// How sentences call it: `request gpus`, with the claim where the pod has several.
    pub(crate) label: String,
}

impl<'a> Examined<'a> {
    pub(crate) fn of(asked: &Asked<'_>, allocator: &Allocator<'a>) -> Self {
        let question = allocator.question();
        let devices: Vec<_> = allocator.devices().collect();
        let ways = allocator.ways().map(|way| {
            let standings = (0..devices.len()).map(|device| allocator.standing(&way, device)).collect();
            let label = label(asked, way.claim, way.name.as_str());
            ExaminedWay { way, standings, label }
        });
        let ways: Vec<_> = ways.collect();
        let claims = question.claims;
        Self { devices, ways, claims, holders: holders(question.allocated) }
    }

    pub(crate) fn id(&self, device: usize) -> DeviceId {
        let (slice, object) = self.devices[device];
        DeviceId { driver: slice.driver.clone(), pool: slice.pool.name.clone(), device: object.name.clone() }
    }

    /// The claims that hold a device, or shares of it.
    pub(crate) fn holders(&self, device: usize) -> &[String] {
        self.holders.get(&self.id(device)).map_or(&[], Vec::as_slice)
    }

    /// Whether a claim holds one of these devices, or draws on the counters of a pool of one.
    pub(crate) fn is_near(&self, claim: &ResourceClaim, devices: &BTreeSet<DeviceId>) -> bool {
        let mut results = claim.status.allocation.iter().flat_map(|allocation| &allocation.results);
        results.any(|result| {
            let is_beside =
                |id: &DeviceId| (&id.driver, &id.pool) == (&result.device.driver, &result.device.pool);
            devices.contains(&result.device) || (self.draws(&result.device) && devices.iter().any(is_beside))
        })
    }

    fn draws(&self, id: &DeviceId) -> bool {
        let device = (0..self.devices.len()).find(|device| self.id(*device) == *id);
        device.is_some_and(|device| !self.devices[device].1.consumes.is_empty())
    }

    /// The ways of a request, by its place in its claim.
    pub(crate) fn ways_of(&self, claim: usize, request: usize) -> Vec<&ExaminedWay<'a>> {
        let request = self.claims.get(claim).and_then(|claim| claim.spec.requests.get(request));
        let is_own =
            |way: &&ExaminedWay<'a>| request.is_some_and(|request| core::ptr::eq(request, way.way.request));
        self.ways.iter().filter(is_own).collect()
    }
}

impl ExaminedWay<'_> {
    /// The devices that nothing keeps away.
    pub(crate) fn candidates(&self) -> impl Iterator<Item = usize> {
        let standings = self.standings.iter().enumerate();
        standings.filter(|(_, standing)| **standing == Standing::Candidate).map(|(device, _)| device)
    }

    /// The devices that its class and selectors select.
    pub(crate) fn selected(&self) -> impl Iterator<Item = usize> {
        let is_selected = |standing: &Standing| {
            !matches!(
                standing,
                Standing::OtherClass | Standing::Unselected(_) | Standing::OtherNode | Standing::Failed(_)
            )
        };
        let standings = self.standings.iter().enumerate();
        standings.filter(move |(_, standing)| is_selected(standing)).map(|(device, _)| device)
    }

    /// How many devices it wants; with mode `All` those that can ever serve it.
    pub(crate) fn wanted(&self) -> usize {
        match self.way.devices.mode {
            AllocationMode::ExactCount(count) => usize::try_from(count).unwrap_or(0),
            _ => self.standings.iter().filter(|standing| is_member(standing)).count(),
        }
    }

    pub(crate) const fn wants_all(&self) -> bool {
        matches!(self.way.devices.mode, AllocationMode::All(_))
    }

    /// Whether a constraint is about it.
    pub(crate) fn is_under(&self, constraint: &Constraint) -> bool {
        let names = [&self.way.request.name, &self.way.name];
        constraint.requests.is_empty() || constraint.requests.iter().any(|named| names.contains(&named))
    }
}

/// Whether a request for all devices wants one of this standing.
const fn is_member(standing: &Standing) -> bool {
    !matches!(
        standing,
        Standing::OtherClass
            | Standing::Unselected(_)
            | Standing::OtherNode
            | Standing::TooSmall
            | Standing::Failed(_)
    )
}

/// How sentences call a request or an alternative.
pub(crate) fn label(asked: &Asked<'_>, claim: usize, name: &str) -> String {
    if asked.question.claims.len() < 2 {
        name.to_string()
    } else {
        format!("{name} of claim {}", asked.name(claim))
    }
}

/// `namespace/name`; objects without a namespace are in `default`.
pub(crate) fn reference(claim: &ResourceClaim) -> String {
    let namespace = &claim.metadata.namespace;
    format!("{}/{}", if namespace.is_empty() { "default" } else { namespace }, claim.metadata.name)
}

/// The devices that a claim holds, by their names.
pub(crate) fn held_by(claim: &ResourceClaim) -> String {
    let results = claim.status.allocation.iter().flat_map(|allocation| &allocation.results);
    let results = results.filter(|result| !result.is_admin_access());
    folded(results.map(|result| result.device.device.as_str()))
}

fn holders(allocated: &[ResourceClaim]) -> BTreeMap<DeviceId, Vec<String>> {
    let mut holders: BTreeMap<DeviceId, Vec<String>> = BTreeMap::new();
    for claim in allocated {
        let results = claim.status.allocation.iter().flat_map(|allocation| &allocation.results);
        for result in results.filter(|result| !result.is_admin_access()) {
            let of_device = holders.entry(result.device.clone()).or_default();
            let name = reference(claim);
            if !of_device.contains(&name) {
                of_device.push(name);
            }
        }
    }
    holders
}
