//! Offers, answers and bindings, by a clock that is moved by hand.

use std::collections::BTreeSet;

use cluster_node::{HandClock, SystemClock};
use scheduler_extender::node_resource_topology::NodeResourceTopology;
use scheduler_extender::{NodeFacts, StateVersion, Zones};
use serde_json::json;

use super::*;

/// An outlook with its clock, and the moment at which it starts.
fn begun() -> (Outlook, Arc<HandClock>, Instant) {
    let clock = Arc::new(HandClock::new());
    (Outlook::new(clock.clone(), Patience::USUAL), clock.clone(), clock.now())
}

fn pod(name: &str) -> Pod {
    let mut pod = Pod::new("default", name, Vec::new());
    pod.uid = PodUid::new(name);
    pod
}

/// The state of a node that is known by amounts.
fn state(change: u64) -> NodeState {
    let object: NodeResourceTopology = serde_json::from_value(json!({
        "apiVersion": "topology.node.k8s.io/v1alpha2", "kind": "NodeResourceTopology",
        "metadata": { "name": "a" }, "zones": [{ "name": "node-0", "type": "Node" }],
    }))
    .unwrap_or_else(|error| panic!("{error}"));
    let zones = Zones::read(&object).unwrap_or_else(|error| panic!("{error}"));
    let version = StateVersion { run: 0, change };
    NodeState { version, facts: NodeFacts::Approximate(zones), told: BTreeSet::new() }
}

/// The API server shows a pod, and it passes on node `a`.
fn offer(outlook: &Outlook, name: &str) {
    outlook.unbound(Arc::new(pod(name)), WaitsFor::Node);
    outlook.lock().answered(&PodUid::new(name), ["a"], Asker::Known, outlook.clock.now());
}

fn in_flight(outlook: &Outlook) -> usize {
    outlook.lock().view.in_flight().count()
}

#[test]
fn a_pod_that_the_api_server_has_not_shown_takes_nothing() {
    let ((outlook, _, now), uid) = (begun(), PodUid::new("one"));
    outlook.update("a", state(1));
    outlook.lock().answered(&uid, ["a"], Asker::Known, now);
    assert_eq!(in_flight(&outlook), 0);
    outlook.unbound(Arc::new(pod("one")), WaitsFor::Node);
    assert_eq!(in_flight(&outlook), 1, "it has what was answered");
    outlook.withdrawn(&uid);
    assert_eq!(in_flight(&outlook), 0);
    // No request named this one.
    outlook.unbound(Arc::new(pod("two")), WaitsFor::Node);
    assert_eq!(in_flight(&outlook), 0);
}

#[test]
fn answers_about_pods_that_do_not_exist_are_few_and_end() {
    let (outlook, clock, now) = begun();
    outlook.update("a", state(1));
    outlook.lock().answered(&PodUid::new("real"), ["a"], Asker::Known, now);
    for number in 0..10 * ANSWERS {
        let made_up = PodUid::new(&number.to_string());
        outlook.lock().answered(&made_up, ["a"], Asker::Anybody, now);
    }
    assert_eq!(outlook.lock().answers.len(), ANSWERS);
    outlook.unbound(Arc::new(pod("real")), WaitsFor::Node);
    assert_eq!(in_flight(&outlook), 1, "those of anybody go first");
    clock.sleep(OFFER);
    outlook.tidy();
    assert!(outlook.lock().answers.is_empty());
}

#[test]
fn a_filter_waits_for_pods_that_are_to_be_shown_and_not_for_old_answers() {
    let (outlook, _, now) = begun();
    let Patience { binding, glimpse, .. } = Patience::USUAL;
    outlook.update("a", state(1));
    let unsettled = |began| outlook.lock().unsettled(&PodUid::new("one"), began, Patience::USUAL);
    assert_eq!(unsettled(now), None);
    outlook.lock().answered(&PodUid::new("one"), ["a"], Asker::Known, now);
    assert_eq!(unsettled(now), None, "its own");
    outlook.lock().answered(&PodUid::new("two"), ["a"], Asker::Anybody, now);
    assert_eq!((unsettled(now), unsettled(now + glimpse)), (Some(glimpse), None));
    outlook.lock().answered(&PodUid::new("three"), ["a"], Asker::Known, now);
    assert_eq!((unsettled(now), unsettled(now + binding)), (Some(binding), None));
    offer(&outlook, "four");
    assert_eq!(unsettled(now + binding), Some(binding));
}

#[test]
fn a_pod_that_was_bound_before_it_was_asked_about_is_counted() {
    let (outlook, ..) = begun();
    outlook.update("a", state(1));
    offer(&outlook, "asked");
    outlook.unbound(Arc::new(pod("blind")), WaitsFor::Node);
    // Of `unseen` it is not known.
    for name in ["asked", "blind", "unseen"] {
        outlook.bound(Arc::new(pod(name)), "a");
    }
    assert_eq!(outlook.lock().bound_unasked(), 1);
}

#[test]
fn an_offer_that_comes_to_nothing_ends() {
    let (outlook, clock, _) = begun();
    outlook.update("a", state(1));
    offer(&outlook, "one");
    clock.sleep(OFFER / 2);
    outlook.tidy();
    assert_eq!(outlook.lock().view.in_flight().count(), 1);
    clock.sleep(OFFER / 2);
    outlook.tidy();
    assert_eq!(outlook.lock().view.in_flight().count(), 0);
}

#[test]
fn a_pod_that_its_node_never_tells_of_is_assumed_until_the_node_has_told_twice() {
    let (outlook, clock, _) = begun();
    let assumed = || outlook.lock().view.assumed("a").count();
    outlook.update("a", state(1));
    outlook.bound(Arc::new(pod("one")), "a");
    clock.sleep(SETTLED);
    outlook.tidy();
    assert_eq!(assumed(), 1, "it waits on the node as long as it likes");
    outlook.left(&PodUid::new("one"));
    outlook.update("a", state(2));
    outlook.tidy();
    assert_eq!(assumed(), 1, "this state may be older");
    outlook.update("a", state(3));
    outlook.tidy();
    assert_eq!(assumed(), 0);
}

#[test]
fn a_filter_waits_for_a_binding_and_no_longer_than_a_moment() {
    let clock = Arc::new(SystemClock);
    let outlook = Arc::new(Outlook::new(clock.clone(), Patience::USUAL));
    outlook.update("a", state(1));
    offer(&outlook, "one");
    let began = clock.now();
    drop(outlook.lock_settled(&PodUid::new("two")));
    assert!(clock.now().duration_since(began) >= Patience::USUAL.binding);
    // A pod does not wait for itself.
    assert_eq!(outlook.lock_settled(&PodUid::new("one")).view.in_flight().count(), 1);
    let other = outlook.clone();
    let binding = std::thread::spawn(move || other.bound(Arc::new(pod("one")), "a"));
    let open = outlook.lock_settled(&PodUid::new("two"));
    assert_eq!(open.view.in_flight().count(), 0);
    drop(open);
    assert!(binding.join().is_ok());
}

#[test]
fn a_refusal_counts_once_and_for_pods_that_passed_here_lately() {
    let ((outlook, clock, _), uid) = (begun(), PodUid::new("one"));
    let send = || {
        offer(&outlook, "one");
        outlook.bound(Arc::new(pod("one")), "a");
    };
    send();
    outlook.tidy();
    let mut open = outlook.lock();
    assert_eq!([open.was_sent(&uid), open.was_sent(&uid)], [true, false]);
    drop(open);
    send();
    clock.sleep(SENT);
    outlook.tidy();
    assert!(!outlook.lock().was_sent(&uid));
    // Another client has bound it.
    outlook.bound(Arc::new(pod("two")), "a");
    assert!(!outlook.lock().was_sent(&PodUid::new("two")));
}
