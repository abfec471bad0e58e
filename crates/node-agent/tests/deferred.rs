//! Pods and containers that wait for device plugins, from a restart on.

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::{Node1, listed, pod, uid};
use device_manager::{AllocateReply, Device, Moment, PluginOptions, Question, Reply};
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

/// One line for each effect that somebody is told of.
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

/// The plugin registers and lists; what is asked of it is answered.
fn comes(node: &mut Node1) -> Vec<String> {
    let options = PluginOptions { pre_start: true, ..PluginOptions::default() };
    let mut all =
        told(&node.handle(Event::Plugin(PluginEvent::Registered("example.com/vf".into(), options))));
    let devices = vec![Device::new("v0", &[0]), Device::new("v1", &[0])];
    let mut effects = node.handle(Event::Plugin(PluginEvent::Listed("example.com/vf".into(), devices)));
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

/// A node with a pod that holds a device, after a restart.
fn restarted(defer: u64) -> Node1 {
    let mut node = Node1::deferring(Duration::from_secs(defer));
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
    let waits: Vec<String> =
        node.owner.snapshot().deferred.iter().map(|deferred| deferred.pod.name.clone()).collect();
    assert_eq!(waits, ["late", "later"]);
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
