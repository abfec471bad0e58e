//! Pods and containers that wait for device plugins, from a restart on.

use std::sync::Arc;
use std::time::Duration;

use crate::common::{Node1, listed, pod, sizes, uid};
use device_manager::{AllocateReply, Device, Moment, PluginOptions, Question, Reply, RpcCode, RpcError};
use node_agent::{Answer, Effect, Event, PluginEvent, Request, Ticket};
use pod_spec::{ContainerKey, ContainerName};
use topology_admission::Verdict;

fn admit(ticket: u64, name: &str) -> Event {
    Event::Request(Ticket(ticket), Request::Admit(pod(name, 1, 1)))
}

fn started(ticket: u64, name: &str, id: &str) -> Event {
    let container = ContainerKey { pod: uid(name), container: ContainerName::new("app") };
    Event::Request(Ticket(ticket), Request::Started { container, id: id.into(), cgroup: None })
}

const fn seconds(count: u64) -> Moment {
    Moment(Duration::from_secs(count))
}

/// One line for each answer, decision, deferral and question to a plugin.
fn told(effects: &[Effect]) -> Vec<String> {
    let lines = effects.iter().filter_map(|effect| match effect {
        Effect::Answer(Ticket(ticket), answer) => Some(match answer {
            Answer::Done | Answer::Resized { .. } => format!("{ticket}: done"),
            Answer::Unchanged => format!("{ticket}: unchanged"),
            Answer::Deferred(_) => format!("{ticket}: deferred"),
            Answer::Failed(error) => format!("{ticket}: failed: {error}"),
        }),
        Effect::Decided(decided) => {
            let by = decided.ticket.map_or_else(String::new, |Ticket(ticket)| format!("{ticket}: "));
            Some(match &decided.verdict {
                Verdict::Admitted(_) => format!("{by}{} admitted", decided.pod.name),
                Verdict::Refused(refused) => format!("{by}{} refused: {}", decided.pod.name, refused.message),
                Verdict::NeedsPlugin(_) => "undecided".to_owned(),
            })
        }
        Effect::Deferred(deferred) => Some(format!("{} waits", deferred.pod.name)),
        Effect::Ask(question) => Some(match question {
            Question::PreStart { .. } => "tell of a start".to_owned(),
            _ => "ask".to_owned(),
        }),
        _ => None,
    });
    lines.collect()
}

/// The plugin registers and lists.
fn is_back(node: &mut Node1) -> Vec<Effect> {
    let options = PluginOptions { pre_start: true, ..PluginOptions::default() };
    let mut effects = node.handle(Event::Plugin(PluginEvent::Registered("example.com/vf".into(), options)));
    let devices = vec![Device::new("v0", &[0]), Device::new("v1", &[0])];
    effects.extend(node.handle(Event::Plugin(PluginEvent::Listed("example.com/vf".into(), devices))));
    effects
}

/// What a plugin is asked is answered, and what follows.
fn answered(node: &mut Node1, mut effects: Vec<Effect>) -> Vec<String> {
    let mut all = Vec::new();
    loop {
        all.extend(told(&effects));
        let asked = effects.iter().find_map(|effect| match effect {
            Effect::Ask(question) => Some(question.clone()),
            _ => None,
        });
        let Some(question) = asked else { return all };
        let reply = match question {
            Question::PreStart { .. } => Reply::Started,
            _ => Reply::Allocated(AllocateReply(Arc::from(&b"\x0a\x00"[..]))),
        };
        effects = node.handle(Event::Replied(question, reply));
    }
}

/// The plugin registers and lists; all who waited for it have their turns, and what is asked of it is answered.
fn comes(node: &mut Node1) -> Vec<String> {
    let effects = is_back(node);
    let mut all = answered(node, effects);
    while node.owner.has_turn(node.now) {
        let effects = node.handle(Event::Turn);
        all.extend(answered(node, effects));
    }
    all
}

/// Those who wait, by name.
fn waiting(node: &Node1) -> Vec<String> {
    node.owner.snapshot().deferred.iter().map(|deferred| deferred.pod.name.clone()).collect()
}

/// A node with a pod that holds a device, after a restart.
fn restarted(defer: u64) -> Node1 {
    after_restart(Node1::deferring(Duration::from_secs(defer)))
}

/// The same on a node that runs so many pods.
fn restarted_with(defer: u64, max_pods: i32) -> Node1 {
    after_restart(Node1::deferring_with(Duration::from_secs(defer), max_pods))
}

fn after_restart(mut node: Node1) -> Node1 {
    let _ = comes(&mut node);
    let effects = node.handle(admit(1, "holder"));
    let [Effect::Ask(question)] = &effects[..] else { panic!("the plugin is not asked: {effects:?}") };
    let reply = Reply::Allocated(AllocateReply(Arc::from(&b"\x0a\x00"[..])));
    assert_eq!(told(&node.handle(Event::Replied(question.clone(), reply))), ["1: holder admitted"]);
    let (mut node, _) = node.restarted();
    let _ = node.handle(listed([], []));
    node
}

#[test]
fn pods_wait_in_the_order_in_which_they_came() {
    let mut node = restarted(60);
    assert_eq!(told(&node.handle(admit(2, "late"))), ["2: deferred", "late waits"]);
    assert_eq!(told(&node.handle(admit(3, "later"))), ["3: deferred", "later waits"]);
    assert_eq!(told(&node.handle(admit(4, "late"))), ["4: deferred"], "it is known");
    let plain = Event::Request(Ticket(5), Request::Admit(pod("plain", 1, 0)));
    assert_eq!(told(&node.handle(plain)), ["5: plain admitted"]);
    assert_eq!(waiting(&node), ["late", "later"]);
    let expected = [
        "ask",
        "late admitted",
        "later refused: Allocate failed due to requested number of devices unavailable for example.com/vf. Requested: 1, \
         Available: 0, which is unexpected",
    ];
    assert_eq!(comes(&mut node), expected);
    assert!(node.owner.snapshot().deferred.is_empty());
}

#[test]
fn pods_of_a_plugin_that_does_not_come_are_refused_as_by_a_kubelet() {
    let mut node = restarted(60);
    node.now = seconds(20);
    assert_eq!(told(&node.handle(admit(2, "late"))), ["2: deferred", "late waits"]);
    node.now = seconds(59);
    assert_eq!(told(&node.handle(Event::Timer)), [""; 0]);
    node.now = seconds(60);
    let why = "Allocate failed due to no healthy devices present; cannot allocate unhealthy devices example.com/vf, which \
               is unexpected";
    assert_eq!(told(&node.handle(Event::Timer)), [format!("late refused: {why}")]);
    assert_eq!(told(&node.handle(admit(3, "next"))), [format!("3: next refused: {why}")]);
    assert!(node.owner.pods().any(|record| record.pod.name == "holder"), "what is held stays held");
}

#[test]
fn another_pod_is_decided_on_after_one_that_waited_at_most() {
    let mut node = restarted(60);
    for at in 0..9 {
        let name = format!("late{at}");
        assert_eq!(
            told(&node.handle(admit(10 + at, &name))),
            [format!("{}: deferred", 10 + at), format!("{name} waits")]
        );
    }
    let effects = is_back(&mut node);
    assert_eq!(answered(&mut node, effects), [""; 0], "nobody has had a turn");
    let mut decided = Vec::new();
    for at in 0..9 {
        assert!(node.owner.has_turn(node.now), "after {decided:?}");
        let effects = node.handle(Event::Turn);
        decided.extend(answered(&mut node, effects));
        // A request in between is answered before the next waiting pod is decided on.
        let other = Event::Request(Ticket(100 + at), Request::Admit(pod(&format!("other{at}"), 0, 0)));
        assert_eq!(told(&node.handle(other)), [format!("{}: other{at} admitted", 100 + at)]);
        let verdicts = decided.iter().filter(|line| line.starts_with("late")).count();
        assert_eq!(verdicts, usize::try_from(at).unwrap() + 1, "one in each turn: {decided:?}");
    }
    assert!(!node.owner.has_turn(node.now), "all have had theirs");
    assert_eq!(waiting(&node), [""; 0]);
}

#[test]
fn a_pod_whose_turn_it_is_waits_as_before_until_its_plugin_has_answered() {
    let mut node = restarted(60);
    assert_eq!(told(&node.handle(admit(2, "late"))), ["2: deferred", "late waits"]);
    let _ = is_back(&mut node);
    let effects = node.handle(Event::Turn);
    assert_eq!(told(&effects), ["ask"]);
    assert_eq!(waiting(&node), ["late"], "it is listed as one that waits");
    assert!(node.owner.snapshot().waiting.is_empty(), "and once");
    assert_eq!(told(&node.handle(admit(3, "late"))), ["3: deferred"]);
    // The plugin goes away in the middle of it.
    let [Effect::Ask(question)] = &effects[..] else { panic!("the plugin is not asked: {effects:?}") };
    let gone = Event::Plugin(PluginEvent::Gone("example.com/vf".into()));
    assert_eq!(told(&node.handle(gone)), [""; 0]);
    let died = RpcError { code: RpcCode(14), message: "transport error".to_owned() };
    assert_eq!(told(&node.handle(Event::Replied(question.clone(), Reply::Failed(died)))), ["late waits"]);
    assert!(!node.owner.has_turn(node.now), "its plugin is away");
    assert_eq!(comes(&mut node), ["ask", "late admitted"]);
}

#[test]
fn no_more_pods_wait_than_the_node_may_run() {
    let mut node = restarted_with(60, 3);
    for (ticket, name) in [(2, "a"), (3, "b"), (4, "c")] {
        assert_eq!(
            told(&node.handle(admit(ticket, name))),
            [format!("{ticket}: deferred"), format!("{name} waits")]
        );
    }
    let full = "Allocate failed due to no healthy devices present; cannot allocate unhealthy devices example.com/vf, which \
                is unexpected; the pod cannot wait for the device plugin: 3 pods wait already, as many as maxPods allows";
    assert_eq!(told(&node.handle(admit(5, "d"))), [format!("5: d refused: {full}")]);
    assert_eq!(waiting(&node), ["a", "b", "c"], "what is refused does not wait");
    let bound = Event::Request(Ticket(6), Request::AdmitBound(pod("bound", 1, 1)));
    assert_eq!(told(&node.handle(bound)), [format!("6: bound refused: {full}")]);
    assert_eq!(told(&node.handle(admit(7, "a"))), ["7: deferred"], "it waits already");

    // One that has its turn and waits again keeps its place.
    let _ = is_back(&mut node);
    let effects = node.handle(Event::Turn);
    let [Effect::Ask(question)] = &effects[..] else { panic!("the plugin is not asked: {effects:?}") };
    let _ = node.handle(Event::Plugin(PluginEvent::Gone("example.com/vf".into())));
    assert_eq!(told(&node.handle(admit(8, "e"))), [""; 0], "it is in line");
    let died = RpcError { code: RpcCode(14), message: "transport error".to_owned() };
    let effects = node.handle(Event::Replied(question.clone(), Reply::Failed(died)));
    assert_eq!(told(&effects), ["a waits".to_owned(), format!("8: e refused: {full}")]);

    // When one leaves, another one can wait.
    let delete = Event::Request(Ticket(9), Request::Delete(uid("a")));
    assert_eq!(told(&node.handle(delete)), ["9: done"]);
    assert_eq!(told(&node.handle(admit(10, "d"))), ["10: deferred", "d waits"]);
    assert!(
        node.owner.snapshot().refused.keys().all(|other| *other != uid("d")),
        "it is not a refused one any more"
    );
}

#[test]
fn a_pod_is_listed_once() {
    let mut node = restarted(1);
    node.now = seconds(2);
    assert_eq!(told(&node.handle(admit(2, "late"))).len(), 1, "nobody waits any more");
    assert!(node.owner.snapshot().refused.contains_key(&uid("late")));
    // The plugin comes, and goes while it is asked.
    let _ = is_back(&mut node);
    let effects = node.handle(admit(3, "late"));
    assert!(node.owner.snapshot().refused.is_empty(), "it is being decided on");
    let [Effect::Ask(question)] = &effects[..] else { panic!("the plugin is not asked: {effects:?}") };
    let _ = node.handle(Event::Plugin(PluginEvent::Gone("example.com/vf".into())));
    let died = RpcError { code: RpcCode(14), message: "transport error".to_owned() };
    let effects = node.handle(Event::Replied(question.clone(), Reply::Failed(died)));
    assert_eq!(told(&effects), ["3: deferred", "late waits"]);
    assert_eq!(waiting(&node), ["late"]);
    assert!(node.owner.snapshot().refused.is_empty());
}

#[test]
fn what_does_not_run_is_said_to_be_what_it_is() {
    let mut node = restarted(60);
    assert_eq!(told(&node.handle(admit(2, "late"))), ["2: deferred", "late waits"]);
    let resize = |ticket, name| Event::Request(Ticket(ticket), Request::Resize(uid(name), sizes(2, 2)));
    let waits = "pod default/late waits for a device plugin and does not run yet";
    assert_eq!(told(&node.handle(resize(3, "late"))), [format!("3: failed: {waits}")]);
    assert_eq!(told(&node.handle(started(4, "late", "c1"))), [format!("4: failed: {waits}")]);
    let _ = node.handle(Event::Request(Ticket(5), Request::Admit(pod("wide", 500, 0))));
    assert_eq!(
        told(&node.handle(resize(6, "wide"))),
        ["6: failed: pod default/wide was refused and does not run"]
    );
    assert_eq!(told(&node.handle(resize(7, "nobody"))), ["7: failed: no pod is called default_nobody"]);
}

#[test]
fn pods_of_an_api_server_are_answered_when_they_are_decided_on() {
    let mut node = restarted(60);
    let bound = Event::Request(Ticket(2), Request::AdmitBound(pod("bound", 1, 1)));
    assert_eq!(told(&node.handle(bound)), ["bound waits"]);
    let other = Event::Request(Ticket(3), Request::AdmitBound(pod("other", 1, 1)));
    assert_eq!(told(&node.handle(other)), ["other waits"]);
    let delete = Event::Request(Ticket(4), Request::Delete(uid("other")));
    assert_eq!(
        told(&node.handle(delete)),
        ["3: failed: pod default/other was deleted while it was being decided on", "4: done"]
    );
    assert_eq!(comes(&mut node), ["ask", "2: bound admitted"]);
}

#[test]
fn pods_of_the_folder_wait_as_long_as_they_are_there() {
    let mut node = restarted(60);
    let list = |names: &[&str]| listed(names.iter().map(|name| ("pods.yaml", pod(name, 1, 1))), []);
    assert_eq!(told(&node.handle(list(&["a", "b"]))), ["a waits", "b waits"]);
    assert_eq!(told(&node.handle(list(&["a", "b"]))), [""; 0]);
    assert_eq!(told(&node.handle(list(&["b"]))), [""; 0]);
    assert_eq!(comes(&mut node), ["ask", "b admitted"]);
}

#[test]
fn a_container_with_devices_starts_when_its_plugin_is_back_or_the_time_is_over() {
    let mut node = restarted(60);
    assert_eq!(told(&node.handle(started(2, "holder", "c1"))), [""; 0]);
    assert_eq!(comes(&mut node), ["tell of a start", "2: done"], "the plugin is told of it");

    let mut node = restarted(60);
    assert_eq!(told(&node.handle(started(2, "holder", "c1"))), [""; 0]);
    node.now = seconds(60);
    assert_eq!(told(&node.handle(Event::Timer)), ["2: done"], "as in the kubelet, where nobody is told");

    let mut node = restarted(0);
    assert_eq!(
        told(&node.handle(started(2, "holder", "c1"))),
        ["2: done"],
        "without the option nobody waits"
    );
}
