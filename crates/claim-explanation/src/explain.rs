//! The explanation of a refusal.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use claim_allocator::{AllocateError, Allocator, Decision};
use serde::Serialize;

use crate::asker::{Answer, Asker, Time};
use crate::candidates::{Candidates, without_device};
use crate::contradiction::{self, Contradiction, Size};
use crate::examined::{Examined, label};
use crate::limits::Limits;
use crate::members::{self, Member, Part};
use crate::nodes::NodeAnswer;
use crate::objects::{Asked, Objects};
use crate::reason::Facts;
use crate::remedies::{Remedy, Trials};
use crate::values::{Values, attribute};

/// Why the claims of a pod get no devices on a node, or not in time, and what would do.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The reason that decides, as a fragment without a full stop.
    pub reason: String,
    /// The smallest set that contradicts itself, if one was found.
    #[serde(skip)]
    pub contradiction: Option<Contradiction>,
    /// Its members in words: without any one of them the others fit. Empty if none was found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contradicting: Vec<String>,
    /// `smallest`: no set with fewer members contradicts itself. `irreducible`: another one may have fewer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<&'static str>,
    /// The devices of each request, in order. Empty where kube-scheduler looks at none, because of an error.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<Candidates>,
    /// The values of the attribute of each constraint.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Values>,
    /// Changes that were tried, and under which the claims fit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub would_fit: Vec<Remedy>,
    /// Whether they fit once all other claims have given their devices back: `fits`, `doesNotFit` or `unknown`.
    pub on_empty_node: &'static str,
    /// Whether everything was tried.
    pub search: Searched,
}

/// Whether everything was tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Searched {
    /// It was.
    Complete,
    /// Questions or steps ran out.
    Cut,
}

/// Explains a question that the allocator answered with no, with an error, or later than kube-scheduler waits for.
#[must_use]
pub fn explain(asked: &Asked<'_>, limits: Limits) -> Explanation {
    let of_node = Objects::on_node(asked.question);
    let objects = of_node.borrowed();
    let mut asker = Asker::new(asked.question, limits);
    match asker.ask(&objects, Time::Ignored) {
        Answer::Refused => refused(asked, &objects, asker),
        Answer::Fits => too_late(asked, &objects, asker),
        Answer::Unknown => {
            let reason = format!("not decided within {} steps", limits.steps.0);
            Explanation { search: Searched::Cut, ..Explanation::of(reason) }
        }
    }
}

impl Explanation {
    fn of(reason: String) -> Self {
        Self {
            reason,
            contradiction: None,
            contradicting: Vec::new(),
            size: None,
            requests: Vec::new(),
            values: Vec::new(),
            would_fit: Vec::new(),
            on_empty_node: "unknown",
            search: Searched::Complete,
        }
    }
}

/// Devices are found: only the order of requests can make the search shorter.
fn too_late(asked: &Asked<'_>, objects: &Objects<'_>, mut asker: Asker<'_>) -> Explanation {
    let mut trials = Trials { asked, asker: &mut asker, objects, found: Vec::new() };
    trials.order();
    let would_fit = trials.found;
    let reason = "devices are found, but not before kube-scheduler's limit of 10 s".to_string();
    let search = searched(&asker);
    Explanation { would_fit, on_empty_node: "fits", search, ..Explanation::of(reason) }
}

/// What the node of a question answers: its reason without changes that would fit.
#[must_use]
pub fn answer(asked: &Asked<'_>, limits: Limits) -> NodeAnswer {
    let of_node = Objects::on_node(asked.question);
    let objects = of_node.borrowed();
    let mut asker = Asker::new(asked.question, limits);
    match asker.ask(&objects, Time::Limited) {
        Answer::Fits => NodeAnswer::Fits,
        Answer::Unknown => NodeAnswer::Unknown,
        Answer::Refused => {
            let question = asker.question(&objects);
            let allocator = Allocator::with_expressions(&question, asker.expressions());
            let reasoned = Reasoned::of(asked, &mut asker, &objects, allocator).0;
            NodeAnswer::Refused(reasoned.error.as_ref().map_or(reasoned.reason, without_device))
        }
    }
}

fn refused(asked: &Asked<'_>, objects: &Objects<'_>, mut asker: Asker<'_>) -> Explanation {
    let question = asker.question(objects);
    let allocator = Allocator::with_expressions(&question, asker.expressions());
    let (reasoned, examined) = Reasoned::of(asked, &mut asker, objects, allocator);
    let Reasoned { reason, found, requests, values, error: _ } = reasoned;
    let members = found.as_ref().map_or_else(|| members::all(&objects.claims), |found| found.members.clone());
    let on_empty_node = on_empty_node(&mut asker, objects);
    let mut trials = Trials { asked, asker: &mut asker, objects, found: Vec::new() };
    trials.of_contradiction(&members, examined.as_ref());
    let would_fit = trials.found;
    Explanation {
        contradicting: found.iter().flat_map(|found| words(asked, &found.members)).collect(),
        size: found.as_ref().map(|found| match found.size {
            Size::Smallest => "smallest",
            Size::Irreducible => "irreducible",
        }),
        contradiction: found,
        requests,
        values,
        would_fit,
        on_empty_node,
        search: searched(&asker),
        ..Explanation::of(reason)
    }
}

/// A refusal with its reason.
struct Reasoned {
    reason: String,
    /// The error that is the reason.
    error: Option<AllocateError>,
    found: Option<Contradiction>,
    requests: Vec<Candidates>,
    values: Vec<Values>,
}

impl Reasoned {
    /// With the devices, where kube-scheduler looks at them.
    fn of<'a>(
        asked: &Asked<'_>,
        asker: &mut Asker<'_>,
        objects: &Objects<'_>,
        allocator: Result<Allocator<'a>, AllocateError>,
    ) -> (Self, Option<Examined<'a>>) {
        let error = match &allocator {
            Ok(allocator) => error(allocator, asker.limits()),
            Err(error) => Some(error.clone()),
        };
        let examined = allocator.ok().map(|allocator| Examined::of(asked, &allocator));
        let ways = examined.iter().flat_map(|examined| examined.ways.iter().map(move |way| (examined, way)));
        let requests: Vec<Candidates> =
            ways.map(|(examined, way)| Candidates::of(asked, examined, way)).collect();
        let values = examined.as_ref().map(|examined| Values::of_all(asked, examined)).unwrap_or_default();
        let found = contradiction::find(asker, objects);
        let reason = match (&error, &examined, &found) {
            (Some(error), ..) => error.to_string(),
            (None, Some(examined), Some(found)) => {
                Facts { asked, examined, candidates: &requests, values: &values }.reason(found)
            }
            (None, ..) => "no set of requests and constraints was found that contradicts itself".to_string(),
        };
        (Self { reason, error, found, requests, values }, examined)
    }
}

/// The error that stands in place of an answer, if it is about more than the pools of the node.
fn error(allocator: &Allocator<'_>, limits: Limits) -> Option<AllocateError> {
    match allocator.decide(limits.steps) {
        Decision::Error(error) if error != AllocateError::InvalidPools => Some(error),
        Decision::Error(_) | Decision::Fits(_) | Decision::DoesNotFit | Decision::Cut => None,
    }
}

fn on_empty_node(asker: &mut Asker<'_>, objects: &Objects<'_>) -> &'static str {
    if objects.allocated.is_empty() {
        return "doesNotFit";
    }
    match asker.ask(&Objects { allocated: Cow::Borrowed(&[]), ..objects.clone() }, Time::Limited) {
        Answer::Fits => "fits",
        Answer::Refused => "doesNotFit",
        Answer::Unknown => "unknown",
    }
}

const fn searched(asker: &Asker<'_>) -> Searched {
    if asker.is_cut { Searched::Cut } else { Searched::Complete }
}

/// Members in words: `request gpus`, `constraint matchAttribute resource.kubernetes.io/numaNode`.
fn words(asked: &Asked<'_>, members: &[Member]) -> Vec<String> {
    let word = |member: &Member| {
        let spec = &asked.question.claims.get(member.claim)?.spec;
        match member.part {
            Part::Request(at) => {
                let name = spec.requests.get(at)?.name.as_str();
                Some(format!("request {}", label(asked, member.claim, name)))
            }
            Part::Constraint(at) => {
                let (name, kind) = attribute(spec.constraints.get(at)?)?;
                let of_claim = label(asked, member.claim, name);
                Some(format!("constraint {kind}Attribute {of_claim}"))
            }
        }
    };
    members.iter().filter_map(word).collect()
}
