//! The sentence that says why claims get no devices, by the contradiction between requests and constraints.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt::Display;

use claim_allocator::Standing;
use dra_model::Constraint;

use crate::candidates::Candidates;
use crate::contradiction::Contradiction;
use crate::examined::{Examined, ExaminedWay, label};
use crate::members::{Member, Part};
use crate::names::{folded, listed};
use crate::objects::Asked;
use crate::values::{ValueRow, Values, attribute};

/// What a sentence is made of.
pub(crate) struct Facts<'f, 'a> {
    pub(crate) asked: &'f Asked<'f>,
    pub(crate) examined: &'f Examined<'a>,
    pub(crate) candidates: &'f [Candidates],
    pub(crate) values: &'f [Values],
}

impl Facts<'_, '_> {
    /// Why the members of a contradiction do not fit together.
    pub(crate) fn reason(&self, contradiction: &Contradiction) -> String {
        let (requests, constraints): (Vec<Member>, Vec<Member>) =
            contradiction.members.iter().copied().partition(|member| matches!(member.part, Part::Request(_)));
        match (requests.as_slice(), constraints.as_slice()) {
            ([request], []) => self.one_request(*request),
            (requests, []) => self.requests(requests),
            (requests, [constraint]) => self.constrained(requests, *constraint),
            (requests, constraints) => self.many(requests, constraints),
        }
    }

    fn ways(&self, member: Member) -> Vec<&ExaminedWay<'_>> {
        match member.part {
            Part::Request(request) => self.examined.ways_of(member.claim, request),
            Part::Constraint(_) => Vec::new(),
        }
    }

    fn one_request(&self, request: Member) -> String {
        let ways = self.ways(request);
        let sentences: Vec<String> = ways.iter().map(|way| self.one_way(way)).collect();
        sentences.join("; ")
    }

    /// Why one way to serve a request does not fit alone.
    fn one_way(&self, way: &ExaminedWay<'_>) -> String {
        let failed = way.standings.iter().find_map(|standing| match standing {
            Standing::Failed(error) => Some(error),
            _ => None,
        });
        if let Some(error) = failed {
            return error.to_string();
        }
        let name = self.candidates_of(way);
        let (label, class) = (&way.label, &way.way.class.metadata.name);
        let Some(candidates) = name.filter(|candidates| candidates.of_class > 0) else {
            return format!("request {label}: no device of class {class} on the node");
        };
        let (wanted, left, of_class) = (candidates.wanted, candidates.left, candidates.of_class);
        if left >= wanted {
            let after =
                if self.draws(way) { " together: the counters of their pool run out" } else { " together" };
            let devices = devices(left);
            return format!(
                "request {label} wants {wanted} of the {left} {devices} of class {class} that are left, and so many do not fit{after}"
            );
        }
        let taken: Vec<String> = candidates
            .taken
            .iter()
            .map(|taken| format!("{} {} {}", taken.count, verb(taken.count), taken.why))
            .collect();
        let why = if taken.is_empty() { String::new() } else { format!(": {}", listed(&taken)) };
        let wants = if way.wants_all() { format!("all {wanted}") } else { wanted.to_string() };
        let wants = format!("request {label} wants {wants} {} of class {class}", devices(wanted));
        if taken.is_empty() {
            return format!("{wants}, and the node has {of_class}");
        }
        let left = if left == 0 { "none".to_string() } else { left.to_string() };
        format!(
            "{wants}, and {left} of {of_class} {} left{why}",
            if matches!(left.as_str(), "1" | "none") { "is" } else { "are" }
        )
    }

    fn candidates_of(&self, way: &ExaminedWay<'_>) -> Option<&Candidates> {
        let place = self.examined.ways.iter().position(|own| core::ptr::eq(own, way))?;
        self.candidates.get(place)
    }

    /// Whether devices that are left draw on counters.
    fn draws(&self, way: &ExaminedWay<'_>) -> bool {
        way.candidates().any(|device| !self.examined.devices[device].1.consumes.is_empty())
    }

    /// Several requests that take devices or counters from each other.
    fn requests(&self, requests: &[Member]) -> String {
        let ways: Vec<&ExaminedWay<'_>> = requests.iter().flat_map(|member| self.ways(*member)).collect();
        let names = listed(&self.with_counts(requests));
        let union: BTreeSet<usize> = ways.iter().flat_map(|way| way.candidates()).collect();
        let wanted: usize = ways.iter().map(|way| way.wanted()).sum();
        let is_plain = ways.len() == requests.len();
        if is_plain && wanted > union.len() && !self.is_shared(&union) {
            let left = union.len();
            return format!(
                "requests {names} want {wanted} devices in all, and {left} that can serve them are left"
            );
        }
        let what = if ways.iter().any(|way| self.draws(way)) { "counters of their pool" } else { "devices" };
        format!(
            "requests {names} do not fit together, although each fits without the others: they take {what} from each other"
        )
    }

    /// Whether several requests can have one of these devices.
    fn is_shared(&self, devices: &BTreeSet<usize>) -> bool {
        devices.iter().any(|device| self.examined.devices[*device].1.is_shareable())
    }

    /// Each request with the number of devices that it wants.
    fn with_counts(&self, requests: &[Member]) -> Vec<String> {
        let counted = |member: &Member| {
            let ways = self.ways(*member);
            match ways.as_slice() {
                [way] => format!("{} ({})", way.label, way.wanted()),
                [way, ..] => label(self.asked, member.claim, way.way.request.name.as_str()),
                [] => String::new(),
            }
        };
        requests.iter().map(counted).collect()
    }

    /// Requests under one constraint.
    fn constrained(&self, requests: &[Member], constraint: Member) -> String {
        let Some((object, values)) = self.constraint(constraint) else {
            return self.many(requests, &[constraint]);
        };
        let Some((attribute, kind)) = attribute(object) else { return self.many(requests, &[constraint]) };
        let ways: Vec<&ExaminedWay<'_>> = requests.iter().flat_map(|member| self.ways(*member)).collect();
        if let Some(way) = ways.iter().find(|way| lacks(way, values)) {
            let left = match way.candidates().count() {
                1 => String::from("the 1 device left lacks"),
                left => format!("none of the {left} devices left has"),
            };
            return format!(
                "request {}: {left} attribute {attribute}, on which the claim has a constraint",
                way.label
            );
        }
        let names = self.with_counts(requests);
        let (word, want) = if requests.len() == 1 { ("request", "wants") } else { ("requests", "want") };
        let names = listed(&names);
        if kind == "distinct" {
            let known = values
                .rows
                .iter()
                .filter_map(|row| row.value.as_deref().filter(|_| row.left.iter().any(|left| *left > 0)));
            let known: Vec<&str> = known.collect();
            let count = known.len();
            return format!(
                "{word} {names} {want} devices with different values of {attribute}, and there {} {count}: {}",
                if count == 1 { "is" } else { "are" },
                folded(known)
            );
        }
        format!(
            "{word} {names} {want} devices with one value of {attribute}, and no value has enough: {}",
            counts(&attribute, values, &ways)
        )
    }

    fn constraint(&self, member: Member) -> Option<(&Constraint, &Values)> {
        let Part::Constraint(place) = member.part else { return None };
        let object = self.asked.question.claims.get(member.claim)?.spec.constraints.get(place)?;
        let claim = self.asked.name(member.claim);
        let values = self.values.iter().find(|values| values.claim == claim && values.constraint == place)?;
        Some((object, values))
    }

    fn many(&self, requests: &[Member], constraints: &[Member]) -> String {
        let names = listed(&self.with_counts(requests));
        let attributes = constraints.iter().filter_map(|member| {
            let (attribute, kind) = attribute(self.constraint(*member)?.0)?;
            Some(if kind == "match" { attribute.to_string() } else { format!("{attribute} (distinct)") })
        });
        let attributes: BTreeSet<String> = attributes.collect();
        let attributes = listed(&attributes.into_iter().collect::<Vec<_>>());
        let (word, noun) = (
            if requests.len() == 1 { "request" } else { "requests" },
            if constraints.len() == 1 { "constraint" } else { "constraints" },
        );
        format!(
            "{word} {names} and {} {noun} on {attributes} contradict each other: without any one of them the others fit",
            constraints.len()
        )
    }
}

/// Whether no device that is left for it has the attribute.
fn lacks(way: &ExaminedWay<'_>, values: &Values) -> bool {
    let Some(place) = values.requests.iter().position(|name| *name == way.way.name.as_str()) else {
        return false;
    };
    let left = |row: &ValueRow| row.left.get(place).copied().unwrap_or(0);
    let without: usize = values.rows.iter().filter(|row| row.value.is_none()).map(left).sum();
    without > 0 && without == values.rows.iter().map(left).sum::<usize>()
}

/// `numaNode 0 has 2 for cpus and 0 for gpu; numaNode 1 has 0 and 1`.
fn counts(attribute: &impl Display, values: &Values, ways: &[&ExaminedWay<'_>]) -> String {
    const MOST: usize = 8;
    let attribute = attribute.to_string();
    let attribute = attribute.rsplit('/').next().unwrap_or_default();
    let places: Vec<(usize, &str)> = ways
        .iter()
        .filter_map(|way| {
            let place = values.requests.iter().position(|name| *name == way.way.name.as_str())?;
            Some((place, way.way.name.as_str()))
        })
        .collect();
    let known: Vec<(&str, &ValueRow)> =
        values.rows.iter().filter_map(|row| Some((row.value.as_deref()?, row))).collect();
    let shown = known.iter().take(MOST).enumerate().map(|(index, (value, row))| {
        // The first value says which number is of which request.
        let names_requests = index == 0 && places.len() > 1;
        let left = places.iter().map(|(place, request)| {
            let left = row.left[*place];
            if names_requests { format!("{left} for {request}") } else { left.to_string() }
        });
        format!("{attribute} {value} has {}", listed(&left.collect::<Vec<_>>()))
    });
    let mut shown: Vec<String> = shown.collect();
    if known.len() > MOST {
        shown.push(format!("and so on for {} more", known.len() - MOST));
    }
    shown.join("; ")
}

const fn devices(count: usize) -> &'static str {
    if count == 1 { "device" } else { "devices" }
}

const fn verb(count: usize) -> &'static str {
    if count == 1 { "is" } else { "are" }
}
