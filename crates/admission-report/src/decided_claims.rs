//! Claims of devices that were decided on: which devices kube-scheduler gives the pod on the node, or why none.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use claim_allocator::{Cost, Scope, Timeout};
use claim_explanation::{Explanation, NodesAnswer};
use dra_model::{DeviceResult, Features};
use pod_claims::{ClaimState, ClaimsDecision, DecidedAs, Outcome, PodClaim};
use pod_spec::Pod;
use serde::Serialize;

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
    /// The containers that use it; those of extended resources are not listed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub containers: Vec<String>,
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
            claims: decision.claims.iter().map(|claim| DecidedClaim::of(pod, claim)).collect(),
            search: decision.cost.map(SearchCost::of),
            remarks: remarks.collect(),
        }
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
    fn of(pod: &Pod, claim: &PodClaim) -> Self {
        let users = pod.constraints.claims.iter().filter(|own| own.name == claim.name);
        let containers = users.flat_map(|own| &own.containers).map(ToString::to_string).collect();
        let state = match claim.state {
            ClaimState::Allocated => "allocated",
            ClaimState::Pending => "pending",
            ClaimState::FromTemplate(_) => "fromTemplate",
            ClaimState::NotMadeYet(_) => "notMadeYet",
            ClaimState::ExtendedResources => "extendedResources",
        };
        let name = if claim.name.is_empty() { "extended resources" } else { &claim.name };
        let results = claim.claim.status.allocation.iter().flat_map(|allocation| &allocation.results);
        Self { name: name.into(), state, containers, devices: results.map(ClaimedDevice::of).collect() }
    }
}

impl ClaimedDevice {
    fn of(result: &DeviceResult) -> Self {
        let consumed = result.consumed_capacity.iter().flatten();
        Self {
            request: result.request.to_string(),
            driver: result.device.driver.to_string(),
            pool: result.device.pool.to_string(),
            device: result.device.device.to_string(),
            admin_access: result.is_admin_access(),
            consumed: consumed.map(|(name, amount)| (name.to_string(), amount.to_string())).collect(),
        }
    }

    /// Whether both are of one pool.
    #[must_use]
    pub fn is_beside(&self, other: &Self) -> bool {
        (&self.driver, &self.pool) == (&other.driver, &other.pool)
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
