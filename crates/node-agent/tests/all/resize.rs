//! Pods that run and get other amounts: what is written of their containers, and who stays as it is.

use crate::common;
use crate::common::{Node1, listed, pod, sizes, uid};
use node_agent::{Answer, Effect, Event, Limits, Owner, Request, RequestError, Ticket};
use node_state::Record;
use pod_spec::{ContainerKey, ContainerName};

/// A pod of 1 CPU that runs.
fn running() -> Node1 {
    let mut node = Node1::new();
    node.handle(listed([], []));
    node.handle(Event::Request(Ticket(0), Request::Admit(pod("a", 1, 0))));
    let container = ContainerKey { pod: uid("a"), container: ContainerName::new("app") };
    let cgroup = Some("pods/a".into());
    node.handle(Event::Request(Ticket(0), Request::Started { container, id: "c1".into(), cgroup }));
    node
}

fn resize(cpus: u32, gibibytes: u32) -> Event {
    Event::Request(Ticket(1), Request::Resize(uid("a"), sizes(cpus, gibibytes)))
}

/// The limits that are written, and how many CPUs.
fn written(effects: &[Effect]) -> Vec<(usize, Option<Limits>)> {
    let places = effects.iter().filter_map(|effect| match effect {
        Effect::Enforce(one) => Some((one.pinning.cpus.as_ref().unwrap().len(), one.pinning.limits)),
        _ => None,
    });
    places.collect()
}

#[test]
fn limits_are_written_from_a_resize_on() {
    let mut node = running();
    let of =
        |cpus: u64, gibibytes: u64| Some(Limits { cpu: Some(cpus * 1000), memory: Some(gibibytes << 30) });
    assert_eq!(written(&node.handle(resize(2, 1))), [(2, of(2, 1))]);
    assert_eq!(written(&node.handle(resize(2, 2))), [(2, of(2, 2))], "memory alone is written too");
    assert_eq!(written(&node.handle(resize(1, 2))), [(1, of(1, 2))]);
    let (node, effects) = node.restarted();
    assert_eq!(written(&effects), [(1, of(1, 2))], "the next start knows that the pod was resized");
    assert!(node.owner.pods().all(|record| record.resized));
    let (_, effects) = running().restarted();
    assert_eq!(written(&effects), [(1, None)], "who was never resized has what its cgroup was made with");
}

#[test]
fn a_quarantined_pod_stays_as_it_is() {
    let mut node = running();
    let why = Some("another pod holds the same".to_owned());
    let records = node.owner.pods().map(|record| Record { quarantine: why.clone(), ..record.clone() });
    node.owner = Owner::new(common::node(), node.owner.ledger(), records.collect::<Vec<_>>());
    let effects = node.handle(resize(2, 1));
    let answer = effects.iter().find_map(|effect| match effect {
        Effect::Answer(_, Answer::Failed(RequestError::NotResized { message, .. })) => Some(message),
        _ => None,
    });
    let expected =
        "the pod is quarantined and stays as it is until it is deleted: another pod holds the same";
    assert_eq!(answer.unwrap(), expected);
}
