//! Changes that were tried, and under which the claims fit.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use claim_allocator::Timeout;
use dra_model::{AllocationMode, DeviceRequest, QualifiedName, RequestName, RequestedDevices};
use serde::Serialize;

use crate::asker::{Answer, Asker, Time};
use crate::candidates::names;
use crate::change::{Change, SelectorPlace, draws_alone};
use crate::examined::{Examined, ExaminedWay, held_by, label, reference};
use crate::members::{Member, Part, is_about};
use crate::objects::{Asked, Objects};
use crate::order::cheapest_order;
use crate::places::{PLACES, Place, PlaceAttribute};
use crate::spelling::Published;
use crate::values::{attribute, text};

/// The most remedies of one kind that are listed.
const MOST_OF_A_KIND: usize = 3;

/// Pairs are tried of at most so many claims that hold devices.
const MOST_IN_PAIRS: usize = 10;

/// The most claims whose release is tried together.
const MOST_RELEASED: usize = 32;

/// A change under which the allocator finds devices, and kube-scheduler in time.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Remedy {
    /// In a word: `spelling`, `attribute`, `split`, `fewer`, `release`, `more` or `order`.
    pub kind: &'static str,
    /// The change in words.
    pub text: String,
    /// The change.
    #[serde(skip)]
    pub change: Change,
}

/// Tries changes one after the other.
pub(crate) struct Trials<'t, 'q, 'o> {
    pub(crate) asked: &'t Asked<'t>,
    pub(crate) asker: &'t mut Asker<'q>,
    pub(crate) objects: &'t Objects<'o>,
    pub(crate) found: Vec<Remedy>,
}

impl Trials<'_, '_, '_> {
    /// Changes to the members of a contradiction, and to what others hold.
    pub(crate) fn of_contradiction(&mut self, members: &[Member], examined: Option<&Examined<'_>>) {
        self.spelling(members);
        self.attributes(members, examined);
        self.splits(members);
        self.fewer(members);
        let Some(examined) = examined else { return };
        self.releases(members, examined);
        self.more(members, examined);
    }

    /// Another order of requests, where only the time of the search matters.
    pub(crate) fn order(&mut self) {
        for claim in 0..self.objects.claims.len() {
            let question = self.asker.question(self.objects);
            let steps = self.asker.limits().steps;
            let Some(best) = cheapest_order(&question, claim, self.asker.expressions(), steps) else {
                continue;
            };
            if best.cost.timeout() != Timeout::Within {
                continue;
            }
            let names: Vec<&str> = best.names.iter().map(RequestName::as_str).collect();
            let text = format!(
                "requests of claim {} in the order {}: kube-scheduler's search takes {} steps",
                self.asked.name(claim),
                names.join(", "),
                best.cost.steps()
            );
            if self.fits("order", text, Change::Order { claim, order: best.order }) {
                return;
            }
        }
    }

    /// Tries a change, and keeps it if the claims fit.
    fn fits(&mut self, kind: &'static str, text: String, change: Change) -> bool {
        if self.found.iter().filter(|own| own.kind == kind).count() >= MOST_OF_A_KIND {
            return false;
        }
        let Some(changed) = change.applied(self.objects) else { return false };
        let fits = self.asker.ask(&changed, Time::Limited) == Answer::Fits;
        if fits {
            self.found.push(Remedy { kind, text, change });
        }
        fits
    }

    fn request(&self, member: Member) -> Option<(usize, usize, DeviceRequest)> {
        let Part::Request(request) = member.part else { return None };
        let object = self.objects.claims.get(member.claim)?.spec.requests.get(request)?;
        Some((member.claim, request, object.clone()))
    }

    /// A near name in selectors of requests and of their classes, and in constraints.
    fn spelling(&mut self, members: &[Member]) {
        let published = Published::of(&self.objects.slices);
        for member in members {
            if let Some((claim, request, object)) = self.request(*member) {
                for (alternative, devices) in requested(&object).iter().enumerate() {
                    self.spelling_of(&published, (claim, request, alternative), &object, devices);
                }
            }
            if let Part::Constraint(constraint) = member.part {
                self.spelling_of_constraint(&published, member.claim, constraint);
            }
        }
    }

    fn spelling_of(
        &mut self,
        published: &Published,
        (claim, request, alternative): (usize, usize, usize),
        object: &DeviceRequest,
        devices: &RequestedDevices,
    ) {
        let label = label(self.asked, claim, object.name.as_str());
        let own = published.respelt(&devices.selectors);
        let own = own.map(|respelt| {
            (SelectorPlace::Request { claim, request, alternative }, respelt, format!("request {label}"))
        });
        let class =
            self.objects.classes.iter().position(|class| class.metadata.name == devices.class.as_str());
        let of_class = class.and_then(|at| {
            let respelt = published.respelt(&self.objects.classes[at].selectors)?;
            Some((SelectorPlace::Class(at), respelt, format!("class {}", devices.class)))
        });
        for (place, respelt, whose) in own.into_iter().chain(of_class) {
            let text = format!("{} in place of {} in a selector of {whose}", respelt.meant, respelt.written);
            let change = Change::Selector { place, number: respelt.number, expression: respelt.expression };
            self.fits("spelling", text, change);
        }
    }

    fn spelling_of_constraint(&mut self, published: &Published, claim: usize, constraint: usize) {
        let Some(object) =
            self.objects.claims.get(claim).and_then(|claim| claim.spec.constraints.get(constraint))
        else {
            return;
        };
        let Some((written, _)) = attribute(object) else { return };
        let Some(meant) = published.meant(written) else { return };
        let text = format!("a constraint on {meant} in place of {written}");
        self.fits(
            "spelling",
            text,
            Change::Attribute { claim, constraint, attribute: QualifiedName::from(meant) },
        );
    }

    /// A constraint on another attribute that says where devices are, and that all candidates have.
    fn attributes(&mut self, members: &[Member], examined: Option<&Examined<'_>>) {
        let Some(examined) = examined else { return };
        for member in members {
            let Part::Constraint(constraint) = member.part else { continue };
            let object = &self.asked.question.claims[member.claim].spec.constraints[constraint];
            let Some((own, _)) = attribute(object) else { continue };
            let ways: Vec<&ExaminedWay<'_>> = examined
                .ways
                .iter()
                .filter(|way| way.way.claim == member.claim && way.is_under(object))
                .collect();
            let has_all = |place: &PlaceAttribute| {
                let has = |device: usize| {
                    let (slice, object) = examined.devices[device];
                    object.attribute(&slice.driver, place.name).is_some()
                };
                ways.iter().all(|way| way.candidates().next().is_some() && way.candidates().all(has))
            };
            for wanted in instead_of(own) {
                let mut places = PLACES.iter().filter(|place| place.place == *wanted && place.name != own);
                let Some(place) = places.find(|place| has_all(place)) else { continue };
                let text = format!("a constraint on {} in place of {own}", place.name);
                let attribute = QualifiedName::from(place.name);
                self.fits(
                    "attribute",
                    text,
                    Change::Attribute { claim: member.claim, constraint, attribute },
                );
            }
        }
    }

    /// A request in two claims, or in another claim than the others: constraints hold within a claim.
    fn splits(&mut self, members: &[Member]) {
        for member in members {
            let Some((claim, request, object)) = self.request(*member) else { continue };
            let claims = &self.objects.claims;
            let is_constrained = members.iter().any(|other| match other.part {
                Part::Constraint(at) => {
                    other.claim == claim && is_about(&claims[claim].spec.constraints[at], &object.name)
                }
                Part::Request(_) => false,
            });
            let several = claims[claim].spec.requests.len() > 1;
            if !is_constrained {
                continue;
            }
            let label = label(self.asked, claim, object.name.as_str());
            let count = count(&object).unwrap_or(1);
            for first in (1..count).rev() {
                let text = format!(
                    "request {label} in two claims, of {first} and {} devices, with the same constraints",
                    count - first
                );
                if self.fits("split", text, Change::Split { claim, request, first }) {
                    break;
                }
            }
            if several {
                let text = format!("request {label} in another claim than the other requests");
                self.fits("split", text, Change::Apart { claim, request });
            }
        }
    }

    /// The most devices that fit.
    fn fewer(&mut self, members: &[Member]) {
        for member in members {
            let Some((claim, request, object)) = self.request(*member) else { continue };
            let Some(own) = count(&object) else { continue };
            let label = label(self.asked, claim, object.name.as_str());
            for count in (1..own).rev() {
                let text = format!("request {label} with count {count} in place of {own}");
                if self.fits("fewer", text, Change::Fewer { claim, request, count }) {
                    break;
                }
            }
        }
    }

    /// Claims of others that give their devices back: each alone, those with the fewest devices first; where none suffices, pairs;
    /// else as many as have to go.
    fn releases(&mut self, members: &[Member], examined: &Examined<'_>) {
        let wanted: BTreeSet<usize> = ways(examined, members).iter().flat_map(|way| way.selected()).collect();
        let wanted_ids: BTreeSet<_> = wanted.iter().map(|device| examined.id(*device)).collect();
        let mut held: Vec<(usize, usize)> = Vec::new();
        for (at, claim) in self.objects.allocated.iter().enumerate() {
            let results = claim.status.allocation.iter().flat_map(|allocation| &allocation.results);
            let count = results.filter(|result| !result.is_admin_access()).count();
            let is_near = examined.is_near(claim, &wanted_ids);
            if count > 0 && is_near {
                held.push((count, at));
            }
        }
        held.sort_unstable();
        let held: Vec<usize> = held.into_iter().map(|(_, at)| at).collect();
        let before = self.found.len();
        for at in &held {
            self.release(Vec::from([*at]));
        }
        if self.found.len() == before && held.len() > 1 && !self.release_pair(&held) {
            self.release_several(&held);
        }
    }

    /// Two claims that go together, where one alone does not suffice.
    fn release_pair(&mut self, held: &[usize]) -> bool {
        let held = held.get(..MOST_IN_PAIRS).unwrap_or(held);
        let before = self.found.len();
        for (at, first) in held.iter().enumerate() {
            for second in &held[at + 1..] {
                self.release(Vec::from([*first, *second]));
            }
        }
        self.found.len() > before
    }

    /// Claims that go together, of which none can stay.
    fn release_several(&mut self, held: &[usize]) {
        let held = held.get(..MOST_RELEASED).unwrap_or(held);
        let Some(enough) = (2..=held.len()).find(|count| self.is_enough(&held[..*count])) else { return };
        let mut left = held[..enough].to_vec();
        // The last one is needed; of the others those with the most devices stay if they can.
        for at in held[..enough - 1].iter().rev() {
            let fewer: Vec<usize> = left.iter().copied().filter(|own| own != at).collect();
            if self.is_enough(&fewer) {
                left = fewer;
            }
        }
        self.release(left);
    }

    fn is_enough(&mut self, released: &[usize]) -> bool {
        let changed = Change::Released(released.to_vec()).applied(self.objects);
        changed.is_some_and(|changed| self.asker.ask(&changed, Time::Limited) == Answer::Fits)
    }

    fn release(&mut self, claims: Vec<usize>) -> bool {
        let of_claim = |(nth, at): (usize, &usize)| {
            let claim = &self.objects.allocated[*at];
            let claim = format!("{} gives back {}", reference(claim), held_by(claim));
            if nth == 0 { format!("claim {claim}") } else { claim }
        };
        let texts: Vec<String> = claims.iter().enumerate().map(of_claim).collect();
        let text = texts.join(", and ");
        self.fits("release", text, Change::Released(claims))
    }

    /// One more device like one that a request selects, of each value of the constraints.
    fn more(&mut self, members: &[Member], examined: &Examined<'_>) {
        for way in ways(examined, members) {
            let mut seen = BTreeSet::new();
            for device in way.selected() {
                let (slice, object) = examined.devices[device];
                let values: Vec<String> = self.constraint_values(way, device, examined);
                let set = object.consumes.first().map(|consumption| consumption.set.clone());
                if !seen.insert((slice.driver.clone(), set.clone(), values.clone())) {
                    continue;
                }
                let shown =
                    if values.is_empty() { String::new() } else { format!(" ({})", values.join(", ")) };
                let (text, change) = match set {
                    None => {
                        let name = names(examined, core::iter::once(device));
                        (format!("one more device like {name}{shown}"), Change::OneMore(examined.id(device)))
                    }
                    Some(set) if draws_alone(object, &set) && self.are_places(way) => {
                        let text = format!(
                            "one more counter set like {set} of {}, with devices like its own{shown}",
                            slice.driver
                        );
                        let (driver, pool) = (slice.driver.clone(), slice.pool.name.clone());
                        (text, Change::OneMoreSet { driver, pool, set })
                    }
                    // A device of several sets is one of several cards.
                    Some(_) => continue,
                };
                if self.fits("more", text, change) {
                    return;
                }
            }
        }
    }

    /// Whether the constraints about a request are on attributes that say where a device is: another attribute may be that of
    /// one card alone, and another card would not have its value.
    fn are_places(&self, way: &ExaminedWay<'_>) -> bool {
        let constraints = &self.objects.claims[way.way.claim].spec.constraints;
        let names = constraints.iter().filter(|constraint| way.is_under(constraint)).filter_map(attribute);
        names.into_iter().all(|(name, _)| PLACES.iter().any(|place| place.name == name))
    }

    /// The device's values of the attributes of the constraints that are about the request.
    fn constraint_values(
        &self,
        way: &ExaminedWay<'_>,
        device: usize,
        examined: &Examined<'_>,
    ) -> Vec<String> {
        let (slice, object) = examined.devices[device];
        let constraints = &self.objects.claims[way.way.claim].spec.constraints;
        let constraints = constraints.iter().filter(|constraint| way.is_under(constraint));
        let values = constraints.filter_map(|constraint| {
            let (name, _) = attribute(constraint)?;
            let value = object.attribute(&slice.driver, name)?.value()?;
            Some(format!("{name} {}", text(value)))
        });
        values.collect::<BTreeSet<_>>().into_iter().collect()
    }
}

/// What a constraint can be about in place of an attribute: a PCI root is a part of a NUMA node.
fn instead_of(attribute: &str) -> &'static [Place] {
    match PLACES.iter().find(|place| place.name == attribute) {
        Some(PlaceAttribute { place: Place::NumaNode, .. }) => &[Place::NumaNode],
        _ => &[Place::PcieRoot, Place::NumaNode],
    }
}

/// The ways of the requests among some members.
fn ways<'e, 'a>(examined: &'e Examined<'a>, members: &[Member]) -> Vec<&'e ExaminedWay<'a>> {
    let of_member = |member: &Member| match member.part {
        Part::Request(request) => examined.ways_of(member.claim, request),
        Part::Constraint(_) => Vec::new(),
    };
    members.iter().flat_map(of_member).collect()
}

fn requested(request: &DeviceRequest) -> Vec<RequestedDevices> {
    if request.first_available.is_empty() {
        return request.exactly.iter().cloned().collect();
    }
    request.first_available.clone()
}

/// How many devices a request without alternatives wants.
fn count(request: &DeviceRequest) -> Option<i64> {
    let devices = request.exactly.as_ref().filter(|_| request.first_available.is_empty())?;
    match devices.mode {
        AllocationMode::ExactCount(count) => Some(count.min(64)),
        _ => None,
    }
}
