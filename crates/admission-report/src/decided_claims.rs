//! Claims of devices that were decided on: which devices kube-scheduler gives the pod on the node, or why none.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use claim_allocator::{Cost, Scope, Timeout};
use claim_explanation::{CPU_DRIVER, DevicePlace, DevicePlaces, Explanation, KnownBy, NodesAnswer};
use dra_model::{DeviceId, DeviceResult, Features};
use pod_claims::{ClaimState, ClaimsDecision, DecidedAs, Outcome, PodClaim};
use pod_spec::{ClaimPlaces, ContainerName, PlacedDevice, Pod, UnknownPlace};
use serde::Serialize;
use topology_model::NodeId;

use crate::json;

/// The claims of a pod, decided before its other resources.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DecidedClaims {
    /// Whose decision it is: `kube-scheduler 1.37.2 with its default gates`.
    pub decided_as: String,
    /// In the order in which kube-scheduler serves them.
    pub claims: Vec<DecidedClaim>,
    /// What the search for devices costs kube-scheduler; absent where it does not search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchCost>,
    /// What else is to be known of the claims and of the node's pools, as sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// One claim.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DecidedClaim {
    /// What the pod calls it; that of its extended resources is called `extended resources`.
    pub name: String,
    /// Where it is from: `allocated`, `pending`, `fromTemplate`, `notMadeYet` or `extendedResources`.
    pub state: &'static str,
    /// The containers that use it; those of extended resources are listed with their devices.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub containers: Vec<String>,
    /// Other pods that have reserved it, or that come with this one and name it, as `namespace/name`; at most 256.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shared_with: Vec<String>,
    /// Its devices, in the order in which they are chosen; none if it gets none.
    pub devices: Vec<ClaimedDevice>,
}

/// A device of a claim.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClaimedDevice {
    /// The request that it serves, or `request/alternative`.
    pub request: String,
    /// Its driver.
    pub driver: String,
    /// Its pool.
    pub pool: String,
    /// Its name there.
    pub device: String,
    /// The NUMA node with CPUs that it belongs to; absent if that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub numa_node: Option<i64>,
    /// The NUMA node that is published for it, where that has no CPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published_node: Option<i64>,
    /// How its NUMA node is known: an attribute, as `domain/id`, or its PCI address on the machine.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "json::some_text")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub known_by: Option<KnownBy>,
    /// Why its NUMA node is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown_place: Option<String>,
    /// The containers that have it; absent: all that use the claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub containers: Option<Vec<String>>,
    /// Whether other claims can have the device too, since this one only looks at it.
    #[serde(skip_serializing_if = "is_false")]
    pub admin_access: bool,
    /// What the claim takes of the device, where several can share it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub consumed: BTreeMap<String, String>,
}

/// What a search costs kube-scheduler.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SearchCost {
    /// Calls of its inner search, at most 18446744073709551615.
    pub steps: u64,
    /// Seconds on a fast machine.
    pub shortest_seconds: f64,
    /// Seconds on a slow machine.
    pub longest_seconds: f64,
    /// Against the limit of 10 seconds for each pod and node: `within`, `mayExceed` or `willExceed`.
    pub limit: &'static str,
}

/// Why kube-scheduler does not place the pod on the node. Displays as a sentence without a full stop.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Unschedulable {
    /// In a word: `waits` for an object or another pod, `doesNotFit`, `error`, or `timesOut`.
    pub kind: &'static str,
    /// Where: on this `node` alone, or the pod on `everyNode`.
    pub scope: &'static str,
    /// kube-scheduler's words, where it has some, and the reason that decides.
    pub message: String,
    /// What led to it, and what would fit; absent where kube-scheduler does not search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Box<Explanation>>,
    /// The answers of all nodes that slices name; absent if that is this one alone, or slices select nodes by labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<NodesAnswer>,
}

impl fmt::Display for Unschedulable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.scope == NODE { "not scheduled here" } else { "scheduled on no node" };
        write!(f, "{place}: {}", self.message)
    }
}

const NODE: &str = "node";

impl DecidedClaims {
    /// What `decision`, made with these gates, says of the claims of a pod.
    #[must_use]
    pub fn of(pod: &Pod, decision: &ClaimsDecision, features: Features) -> Self {
        let not_made = decision.not_made_yet().map(|claim| {
            format!("claim {claim} is not made of its template yet; it is decided as it will be made")
        });
        let gone = decision.unlisted_devices.iter().map(|(claim, device)| {
            format!(
                "claim {claim} has device {device}, which no slice lists: kube-scheduler takes the claim as allocated, \
                 and the device's driver cannot prepare it"
            )
        });
        let slow = decision
            .cost
            .filter(|cost| cost.timeout() == Timeout::May)
            .map(|cost| format!("kube-scheduler may exceed its limit of 10 s: {}", steps_and_time(cost)));
        let unusable = decision.unusable_pools.iter().filter(|_| !decision.is_allocated()).cloned();
        let remarks = not_made.chain(gone).chain(unusable).chain(slow);
        Self {
            decided_as: DecidedAs(features).to_string(),
            claims: decision.claims.iter().map(|claim| DecidedClaim::of(pod, claim, decision)).collect(),
            search: decision.cost.map(SearchCost::of),
            remarks: remarks.collect(),
        }
    }

    /// Whether the claim that the pod calls so has devices of the CPU driver.
    #[must_use]
    pub fn has_cpus(&self, claim: &str) -> bool {
        let mut devices = self.claims.iter().filter(|own| own.name == claim).flat_map(|own| &own.devices);
        devices.any(ClaimedDevice::is_cpu)
    }

    /// The same with the NUMA nodes of the devices.
    #[must_use]
    pub fn located(mut self, places: &DevicePlaces) -> Self {
        for device in self.claims.iter_mut().flat_map(|claim| &mut claim.devices) {
            device.locate(places);
        }
        self
    }
}

impl DecidedClaims {
    /// Where the devices are that containers have of these claims, as CPUs and memory follow them on some nodes. Devices to which a
    /// claim has admin access are left out.
    #[must_use]
    pub fn places(&self) -> ClaimPlaces {
        let mut places = ClaimPlaces::default();
        for claim in &self.claims {
            let mut unknown: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
            for device in claim.devices.iter().filter(|device| !device.admin_access && device.is_located()) {
                let users = device.containers.as_ref().unwrap_or(&claim.containers);
                match (device.node(), &device.unknown_place) {
                    (Some(node), _) => places.known.push(PlacedDevice {
                        claim: claim.name.clone(),
                        containers: users.iter().map(|user| ContainerName::new(user)).collect(),
                        node: node.0,
                    }),
                    (None, why) => {
                        let why = why.as_deref().unwrap_or_default();
                        unknown.entry(why).or_default().push(&device.device);
                    }
                }
            }
            places.unknown.extend(unknown.into_iter().map(|(why, devices)| UnknownPlace {
                claim: claim.name.clone(),
                why: format!("{}: {why}", devices.join(", ")),
            }));
        }
        places
    }
}

impl Unschedulable {
    /// Why kube-scheduler places the pod of `decision` not on the node of this name; `None`: it does, or that is not known.
    #[must_use]
    pub fn of(decision: &ClaimsDecision, node: &str) -> Option<Self> {
        if let Some(cost) = decision.cost.filter(|cost| cost.timeout() == Timeout::Will) {
            let found = if decision.is_allocated() { "; with more time it finds devices" } else { "" };
            let message = format!(
                "node {node}: timed out trying to allocate devices: kube-scheduler will exceed its limit of 10 s, with {}{found}",
                steps_and_time(cost)
            );
            return Some(Self::plain("timesOut", scope(Scope::Pod), message));
        }
        let scope = scope(decision.refused()?);
        let (kind, message) = match &decision.outcome {
            Outcome::Stopped(obstacle) => ("waits", obstacle.to_string()),
            Outcome::Error(error) => ("error", error.to_string()),
            _ => ("doesNotFit", "cannot allocate all claims".into()),
        };
        Some(Self::plain(kind, scope, message))
    }

    fn plain(kind: &'static str, scope: &'static str, message: String) -> Self {
        Self { kind, scope, message, explanation: None, nodes: None }
    }

    /// Whether kube-scheduler searches for devices, so that there is something to explain.
    #[must_use]
    pub fn is_of_search(&self) -> bool {
        self.kind != "waits"
    }

    /// The same with its explanation.
    #[must_use]
    pub fn explained(mut self, explanation: Explanation) -> Self {
        match self.kind {
            "doesNotFit" => self.message = format!("{}: {}", self.message, explanation.reason),
            "timesOut" if explanation.contradiction.is_some() => {
                self.message =
                    format!("{}; with more time it finds none: {}", self.message, explanation.reason);
            }
            _ => {}
        }
        Self { explanation: Some(Box::new(explanation)), ..self }
    }
}

impl DecidedClaim {
    fn of(pod: &Pod, claim: &PodClaim, decision: &ClaimsDecision) -> Self {
        let users = || pod.constraints.claims.iter().filter(|own| own.name == claim.name);
        let containers = users().flat_map(|own| &own.containers).map(ToString::to_string).collect();
        // The containers that have the devices of a request.
        let served = |request: &str| match claim.state {
            ClaimState::ExtendedResources => {
                let mappings = decision.mappings.iter().filter(|mapping| mapping.request == *request);
                Some(mappings.map(|mapping| mapping.container.clone()).collect::<Vec<_>>())
            }
            _ if users().all(|own| own.requests.is_empty()) => None,
            _ => {
                let served = users().flat_map(|own| {
                    let served = own.containers.iter().filter(|user| own.serves(user, request));
                    served.map(ToString::to_string)
                });
                Some(served.collect())
            }
        };
        let state = match claim.state {
            ClaimState::Allocated => "allocated",
            ClaimState::Pending => "pending",
            ClaimState::FromTemplate(_) => "fromTemplate",
            ClaimState::NotMadeYet(_) => "notMadeYet",
            ClaimState::ExtendedResources => "extendedResources",
        };
        let name = if claim.name.is_empty() { "extended resources" } else { &claim.name };
        let results = claim.claim.status.allocation.iter().flat_map(|allocation| &allocation.results);
        let devices = results
            .map(|result| ClaimedDevice { containers: served(&result.request), ..ClaimedDevice::of(result) });
        let shared_with = shared_with(pod, claim);
        Self { name: name.into(), state, containers, shared_with, devices: devices.collect() }
    }

    /// The devices that a container has of it.
    pub fn devices_of<'d>(&'d self, container: &'d str) -> impl Iterator<Item = &'d ClaimedDevice> {
        self.devices.iter().filter(move |device| {
            let users = device.containers.as_ref().unwrap_or(&self.containers);
            users.iter().any(|user| user == container)
        })
    }
}

/// Other pods for which an allocated claim is reserved.
fn shared_with(pod: &Pod, claim: &PodClaim) -> Vec<String> {
    let users = claim.claim.status.reserved_for.iter().filter(|user| {
        let is_own = user.uid == pod.uid.as_str() || (user.uid.is_empty() && user.name == pod.name);
        user.resource == "pods" && !is_own
    });
    users.map(|user| format!("{}/{}", pod.namespace, user.name)).collect()
}

impl ClaimedDevice {
    /// A device that serves this request, whose place was not looked for.
    #[must_use]
    pub fn new(request: &str, device: &DeviceId) -> Self {
        Self {
            request: request.into(),
            driver: device.driver.to_string(),
            pool: device.pool.to_string(),
            device: device.device.to_string(),
            numa_node: None,
            published_node: None,
            known_by: None,
            unknown_place: None,
            containers: None,
            admin_access: false,
            consumed: BTreeMap::new(),
        }
    }

    /// A device as it is allocated.
    #[must_use]
    pub fn of(result: &DeviceResult) -> Self {
        let consumed = result.consumed_capacity.iter().flatten();
        Self {
            admin_access: result.is_admin_access(),
            consumed: consumed.map(|(name, amount)| (name.to_string(), amount.to_string())).collect(),
            ..Self::new(result.request.as_ref(), &result.device)
        }
    }

    fn locate(&mut self, places: &DevicePlaces) {
        let id = DeviceId {
            driver: self.driver.as_str().into(),
            pool: self.pool.as_str().into(),
            device: self.device.as_str().into(),
        };
        match places.place(&id) {
            Ok(DevicePlace { node, reported, by }) => {
                self.numa_node = Some(node.0);
                self.published_node = (reported != node).then_some(reported.0);
                self.known_by = Some(by);
            }
            Err(why) => self.unknown_place = Some(why.to_string()),
        }
    }

    /// Its NUMA node; `None`: that is not known.
    #[must_use]
    pub fn node(&self) -> Option<NodeId> {
        self.numa_node.map(NodeId)
    }

    /// Whether the CPU driver publishes it.
    #[must_use]
    pub fn is_cpu(&self) -> bool {
        self.driver == CPU_DRIVER
    }

    /// Whether its NUMA node was looked for.
    #[must_use]
    pub const fn is_located(&self) -> bool {
        self.numa_node.is_some() || self.unknown_place.is_some()
    }

    /// Whether both are of one pool and one NUMA node.
    #[must_use]
    pub fn is_beside(&self, other: &Self) -> bool {
        (&self.driver, &self.pool, &self.numa_node) == (&other.driver, &other.pool, &other.numa_node)
    }

    /// The device behind others of its pool: its name, with what is taken of it.
    #[must_use]
    pub fn beside_others(&self) -> String {
        let mut text = self.device.clone();
        let consumed = self.consumed.iter().map(|(name, amount)| format!("{name} {amount}"));
        let consumed: Vec<String> = consumed.collect();
        if !consumed.is_empty() {
            text.push_str(&format!(" ({})", consumed.join(", ")));
        }
        text + if self.admin_access { " (admin access)" } else { "" }
    }
}

impl fmt::Display for ClaimedDevice {
    /// `gpu.example.com/worker-1/gpu-0`, with what is taken of it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.driver, self.pool, self.beside_others())
    }
}

impl SearchCost {
    fn of(cost: Cost) -> Self {
        Self {
            steps: u64::try_from(cost.steps()).unwrap_or(u64::MAX),
            shortest_seconds: cost.shortest().as_secs_f64(),
            longest_seconds: cost.longest().as_secs_f64(),
            limit: match cost.timeout() {
                Timeout::Within => "within",
                Timeout::May => "mayExceed",
                Timeout::Will => "willExceed",
            },
        }
    }
}

fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::Node => NODE,
        Scope::Pod => "everyNode",
    }
}

/// `26 million steps, 5 to 22 minutes`.
fn steps_and_time(cost: Cost) -> String {
    let (shortest, longest) = (cost.shortest().as_secs(), cost.longest().as_secs());
    format!("{} steps, {} to {}", grouped(cost.steps()), time(shortest), time(longest))
}

/// A number with a comma behind each three digits.
fn grouped(number: u128) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Seconds in the largest unit of which there are two.
fn time(seconds: u64) -> String {
    for (unit, length) in [("years", 31_536_000), ("days", 86_400), ("hours", 3_600), ("minutes", 60)] {
        if seconds / length >= 2 {
            return format!("{} {unit}", seconds / length);
        }
    }
    if seconds == 1 { String::from("1 second") } else { format!("{seconds} seconds") }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
const fn is_false(value: &bool) -> bool {
    !*value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_and_seconds_are_written_as_people_count() {
        for (number, expected) in [(0, "0"), (999, "999"), (1_000, "1,000"), (26_468_391, "26,468,391")] {
            assert_eq!(grouped(number), expected);
        }
        for (seconds, expected) in [
            (1, "1 second"),
            (119, "119 seconds"),
            (120, "2 minutes"),
            (7_300, "2 hours"),
            (200_000, "2 days"),
            (u64::MAX, "584942417355 years"),
        ] {
            assert_eq!(time(seconds), expected);
        }
    }
}
