//! Explanations of refusals on random small nodes beside a rule for whole solutions and all choices of devices: the contradiction is
//! one, it is the smallest, and what is proposed fits.

use crate::brute;

use std::collections::{BTreeMap, BTreeSet};

use crate::drawn::Small;
use claim_allocator::{Decision, Question, WorkLimit, decide};
use claim_explanation::{Asked, Explanation, Limits, Member, Objects, Part, Searched, Size, explain};
use dra_model::{Features, Node, RequestName, ResourceClaim};
use proptest::prelude::*;

/// A budget that no small question needs.
const ENOUGH: WorkLimit = WorkLimit(1_000_000);

fn node() -> Node {
    Node { name: "node".into(), labels: BTreeMap::new() }
}

fn question<'q>(small: &'q Small, node: &'q Node) -> Question<'q> {
    Question {
        node,
        declared_features: &[],
        features: Features::DEFAULT,
        implementation: None,
        classes: &small.classes,
        slices: &small.slices,
        allocated: &small.allocated,
        claims: &small.claims,
    }
}

/// Whether the allocator finds devices.
fn fits(small: &Small) -> bool {
    let decision = decide(&question(small, &node()), ENOUGH);
    assert_ne!(decision, Decision::Cut);
    matches!(decision, Decision::Fits(_))
}

/// The same, which no choice of devices must contradict.
fn fits_by_all_choices(small: &Small) -> bool {
    let decision = decide(&question(small, &node()), ENOUGH);
    let fits = matches!(decision, Decision::Fits(_));
    if !matches!(decision, Decision::Error(_))
        && let Some(expected) = brute::fits(small)
    {
        assert_eq!(fits, expected, "{small:?}");
    }
    fits
}

/// The same node with some members of its claims alone.
fn with_members(small: &Small, set: &BTreeSet<Member>) -> Small {
    let claims = small.claims.iter().enumerate().filter_map(|(claim, object)| {
        let has = |part| set.contains(&Member { claim, part });
        let mut left: ResourceClaim = object.clone();
        let mut at = 0..;
        left.spec.requests.retain(|_| at.next().is_some_and(|at| has(Part::Request(at))));
        let names: Vec<RequestName> = left.spec.requests.iter().map(|request| request.name.clone()).collect();
        let mut at = 0..;
        left.spec.constraints.retain_mut(|constraint| {
            let is_member = at.next().is_some_and(|at| has(Part::Constraint(at)));
            let was_empty = constraint.requests.is_empty();
            constraint.requests.retain(|name| names.contains(name));
            is_member && (was_empty || !constraint.requests.is_empty())
        });
        (!names.is_empty()).then_some(left)
    });
    changed(small, claims.collect())
}

fn changed(small: &Small, claims: Vec<ResourceClaim>) -> Small {
    let Small { classes, slices, allocated, budget, .. } = small;
    let (classes, slices, allocated) = (classes.clone(), slices.clone(), allocated.clone());
    Small { classes, slices, allocated, claims, budget: *budget }
}

fn fits_set(small: &Small, set: &BTreeSet<Member>) -> bool {
    let small = with_members(small, set);
    small.claims.is_empty() || fits_by_all_choices(&small)
}

fn members(small: &Small) -> Vec<Member> {
    let of_claim = |(claim, object): (usize, &ResourceClaim)| {
        let requests = (0..object.spec.requests.len()).map(Part::Request);
        let parts = requests.chain((0..object.spec.constraints.len()).map(Part::Constraint));
        parts.map(|part| Member { claim, part }).collect::<Vec<_>>()
    };
    small.claims.iter().enumerate().flat_map(of_claim).collect()
}

/// All sets of fewer members.
fn smaller(members: &[Member], size: usize) -> impl Iterator<Item = BTreeSet<Member>> + '_ {
    let sets = 0_u32..1 << members.len();
    let of = |bits: u32| {
        members.iter().enumerate().filter(move |(at, _)| bits >> at & 1 == 1).map(|(_, one)| *one)
    };
    sets.map(move |bits| of(bits).collect::<BTreeSet<Member>>()).filter(move |set| set.len() < size)
}

fn explained(small: &Small) -> Explanation {
    explain(
        &Asked { question: &question(small, &node()), names: &[] },
        Limits { steps: ENOUGH, questions: 1_000 },
    )
}

/// Checks the explanation of a refusal; `None`: the claims fit.
fn check(bytes: &[u8]) -> Option<Explanation> {
    let small = Small::of(bytes);
    if fits(&small) {
        return None;
    }
    let explanation = explained(&small);
    assert_eq!(explanation, explained(&small), "the same in every run");
    assert!(!explanation.reason.is_empty());
    check_contradiction(&small, &explanation);
    let node = node();
    let question = question(&small, &node);
    let objects = Objects::on_node(&question);
    for remedy in &explanation.would_fit {
        let applied = remedy.change.applied(&objects).expect("it was applied before");
        let (classes, slices) = (applied.classes.into_owned(), applied.slices.into_owned());
        let (allocated, claims) = (applied.allocated.into_owned(), applied.claims.into_owned());
        let changed = Small { classes, slices, allocated, claims, budget: 0 };
        assert!(fits_by_all_choices(&changed), "{remedy:?} of {small:?}");
    }
    Some(explanation)
}

fn check_contradiction(small: &Small, explanation: &Explanation) {
    let Some(found) = &explanation.contradiction else {
        assert_eq!(explanation.search, Searched::Cut, "{small:?}");
        return;
    };
    let set: BTreeSet<Member> = found.members.iter().copied().collect();
    assert!(!fits_set(small, &set), "{set:?} fits: {small:?}");
    for member in &set {
        let mut rest = set.clone();
        rest.remove(member);
        assert!(fits_set(small, &rest), "without {member:?} it does not fit: {set:?} of {small:?}");
    }
    assert_eq!(found.size, Size::Smallest, "{small:?}");
    for smaller in smaller(&members(small), set.len()) {
        let smaller_one = with_members(small, &smaller);
        assert!(
            smaller_one.claims.is_empty() || fits(&smaller_one),
            "{smaller:?} is smaller than {set:?}: {small:?}"
        );
    }
    assert_eq!(explanation.contradicting.len(), set.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_contradiction_is_the_smallest_one_and_what_is_proposed_fits(
        bytes in proptest::collection::vec(any::<u8>(), 10..120)
    ) {
        let _ = check(&bytes);
    }
}

/// The bytes of so many questions, the same in every run.
fn random(count: usize) -> impl Iterator<Item = Vec<u8>> {
    let mut state = 7_u64;
    let mut byte = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    };
    (0..count).map(move |_| (0..100).map(|_| byte()).collect())
}

/// The sets have different sizes, and every kind of change is proposed.
#[test]
fn refusals_are_of_all_kinds() {
    let (mut sizes, mut kinds) = (BTreeMap::new(), BTreeMap::new());
    for bytes in random(600) {
        let Some(explanation) = check(&bytes) else { continue };
        *sizes.entry(explanation.contradicting.len()).or_insert(0) += 1;
        for remedy in &explanation.would_fit {
            *kinds.entry(remedy.kind).or_insert(0) += 1;
        }
    }
    println!("{sizes:?} {kinds:?}");
    assert!(sizes.len() >= 3 && sizes.values().all(|count| *count >= 5), "{sizes:?}");
    for kind in ["split", "fewer", "release", "more"] {
        assert!(kinds.get(kind).is_some_and(|count| *count >= 10), "{kind}: {kinds:?}");
    }
}

/// If a small limit of questions cuts the search, the answer reports the cut, and what it found is right.
#[test]
fn an_explanation_that_is_cut_says_so() {
    let (mut cut, mut found) = (0, 0);
    for small in random(100).map(|bytes| Small::of(&bytes)).filter(|small| !fits(small)) {
        let node = node();
        for questions in 0..12 {
            let limits = Limits { questions, steps: ENOUGH };
            let explanation = explain(&Asked { question: &question(&small, &node), names: &[] }, limits);
            cut += usize::from(explanation.search == Searched::Cut);
            let Some(contradiction) = &explanation.contradiction else {
                assert_eq!(explanation.search, Searched::Cut, "{questions}");
                continue;
            };
            found += 1;
            let set: BTreeSet<Member> = contradiction.members.iter().copied().collect();
            assert!(!fits_set(&small, &set), "{questions}: {set:?} of {small:?}");
            for member in &set {
                let rest = set.iter().copied().filter(|own| own != member).collect();
                assert!(fits_set(&small, &rest), "{questions}: {set:?} without {member:?} of {small:?}");
            }
        }
    }
    println!("{cut} cut, {found} found");
    assert!(cut > 100 && found > 100, "{cut} {found}");
}
