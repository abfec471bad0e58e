//! What an owner does with events, without files.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::common::{Node1, listed, pod, uid};
use device_manager::{
    AllocateReply, Device, Inventory, Moment, PluginOptions, Question, Reply, RpcCode, RpcError,
};
use node_agent::{
    Answer, Effect, EndReason, Event, PluginEvent, Request, RequestError, Ticket, WriteOutcome,
};
use node_state::Source;
use pod_spec::{ContainerKey, ContainerName};
use topology_admission::Verdict;

fn admit(ticket: u64, name: &str, cpus: u32) -> Event {
    Event::Request(Ticket(ticket), Request::Admit(pod(name, cpus, 0)))
}

fn delete(ticket: u64, name: &str) -> Event {
    Event::Request(Ticket(ticket), Request::Delete(uid(name)))
}

fn started(ticket: u64, name: &str, id: &str) -> Event {
    let container = ContainerKey { pod: uid(name), container: ContainerName::new("app") };
    let cgroup = Some(PathBuf::from(format!("kubepods/{id}")));
    Event::Request(Ticket(ticket), Request::Started { container, id: id.into(), cgroup })
}

/// One line for each effect.
fn told(effects: &[Effect]) -> Vec<String> {
    let line = |effect: &Effect| match effect {
        Effect::Answer(Ticket(ticket), answer) => match answer {
            Answer::Done | Answer::Resized { .. } => format!("{ticket}: done"),
            Answer::Unchanged => format!("{ticket}: unchanged"),
            Answer::Deferred(_) => format!("{ticket}: deferred"),
            Answer::Failed(error) => format!("{ticket}: failed: {error}"),
        },
        Effect::Decided(decided) => match &decided.verdict {
            Verdict::Admitted(_) => format!("{} admitted", decided.pod.name),
            Verdict::Refused(refused) => format!("{} refused: {}", decided.pod.name, refused.reason),
            Verdict::NeedsPlugin(_) => "undecided".to_owned(),
        },
        Effect::Ask(question) => format!("ask {}", question.resource()),
        Effect::Enforce(enforcement) => {
            let cpus = enforcement.pinning.cpus.as_ref().map_or("-".to_owned(), ToString::to_string);
            format!("{} on {cpus}", enforcement.id)
        }
        Effect::Ended(uid, why) => match why {
            EndReason::Preempted(by) => format!("{uid} ended for {by}"),
            EndReason::Deleted | EndReason::ManifestGone => format!("{uid} ended"),
        },
        Effect::Counted(_) => "counted".to_owned(),
        Effect::Deferred(deferred) => format!("{} deferred", deferred.pod.name),
        Effect::NotWritten(why) => format!("not written: {why}"),
    };
    effects.iter().filter(|effect| !matches!(effect, Effect::Counted(_))).map(line).collect()
}

#[test]
fn pods_come_and_go() {
    let mut node = Node1::new();
    assert_eq!(told(&node.handle(admit(1, "a", 4))), ["a admitted"]);
    assert_eq!(told(&node.handle(admit(2, "b", 4))), ["b refused: UnexpectedAdmissionError"]);
    assert_eq!(told(&node.handle(admit(3, "a", 4))), ["3: unchanged"]);
    assert_eq!(
        told(&node.handle(admit(4, "a", 2))),
        [
            "4: failed: pod default/a is here already with another manifest, and what a running pod asks for does not change: delete it first"
        ]
    );
    assert_eq!(told(&node.handle(delete(5, "a"))), ["default_a ended", "5: done"]);
    assert_eq!(told(&node.handle(delete(6, "a"))), ["6: failed: no pod is called default_a"]);
    assert_eq!(told(&node.handle(admit(7, "b", 4))), ["b admitted"]);
}

#[test]
fn running_containers_follow_the_shared_pool() {
    let mut node = Node1::new();
    let _ = node.handle(admit(1, "shared", 0));
    assert_eq!(told(&node.handle(started(2, "shared", "s1"))), ["2: done", "s1 on 0-7"]);
    assert_eq!(told(&node.handle(admit(3, "own", 4))), ["own admitted", "s1 on 0-3"]);
    assert_eq!(told(&node.handle(started(4, "own", "o1"))), ["4: done", "o1 on 4-7"]);
    assert_eq!(told(&node.handle(started(5, "own", "s1"))), ["5: failed: container id s1 is taken"]);
    let exited = Event::Request(Ticket(6), Request::Exited("o1".into()));
    assert_eq!(told(&node.handle(exited.clone())), ["6: done"]);
    assert_eq!(told(&node.handle(exited)), ["6: failed: no container has id o1"]);
    assert_eq!(told(&node.handle(delete(7, "own"))), ["default_own ended", "7: done", "s1 on 0-7"]);
}

#[test]
fn a_container_keeps_its_place_over_a_restart_and_is_written_again() {
    let mut node = Node1::new();
    let _ = node.handle(admit(1, "own", 2));
    let _ = node.handle(started(2, "own", "o1"));
    let (node, effects) = node.restarted();
    assert_eq!(told(&effects), ["o1 on 1-2"]);
    assert_eq!(node.owner.pods().map(|record| record.pod.name.as_str()).collect::<Vec<_>>(), ["own"]);
}

#[test]
fn a_pod_of_an_api_server_is_one_after_a_restart_and_no_folder_ends_it() {
    let mut node = Node1::new();
    let bound = Event::Request(Ticket(1), Request::AdmitBound(pod("bound", 2, 0)));
    assert_eq!(told(&node.handle(bound)), ["bound admitted"]);
    let (mut node, _) = node.restarted();
    let _ = node.handle(listed([], []));
    let sources: Vec<_> = node.owner.pods().map(|record| record.source.clone()).collect();
    assert_eq!(sources, [Source::Cluster]);
    let again = Event::Request(Ticket(2), Request::AdmitBound(pod("bound", 2, 0)));
    assert_eq!(told(&node.handle(again)), ["2: unchanged"]);
}

#[test]
fn the_folder_decides_on_its_pods() {
    let mut node = Node1::new();
    let list = |pods: Vec<_>| listed(pods.into_iter().map(|pod| ("pods.yaml", pod)), []);
    let both = vec![pod("a", 2, 0), pod("b", 2, 0)];
    assert_eq!(told(&node.handle(list(both.clone()))), ["a admitted", "b admitted"]);
    assert_eq!(told(&node.handle(list(both))), [""; 0]);
    assert_eq!(
        told(&node.handle(delete(1, "a"))),
        ["1: failed: pod default/a comes from the folder: remove its manifest there"]
    );
    let one = vec![pod("a", 2, 0)];
    assert_eq!(told(&node.handle(list(one))), ["default_b ended"]);
    let other = vec![pod("a", 3, 0)];
    assert_eq!(told(&node.handle(list(other))), ["default_a ended", "a admitted"]);
    assert_eq!(told(&node.handle(admit(2, "c", 2))), ["c admitted"]);
    assert_eq!(told(&node.handle(list(vec![]))), ["default_a ended"], "c is nobody's");
}

#[test]
fn an_unusable_file_holds_back_its_own_pods_and_no_others() {
    let mut node = Node1::new();
    let both = [("a.yaml", pod("a", 2, 0)), ("b.yaml", pod("b", 2, 0))];
    assert_eq!(told(&node.handle(listed(both.clone(), []))), ["a admitted", "b admitted"]);
    assert_eq!(told(&node.handle(listed([], ["a.yaml"]))), ["default_b ended"], "b's manifest is gone");
    let other = [("c.yaml", pod("a", 3, 0))];
    assert_eq!(told(&node.handle(listed(other, ["a.yaml"]))), [""; 0], "a stays as it is");
    assert_eq!(told(&node.handle(listed([], ["new.yaml"]))), ["default_a ended"], "a.yaml is not there");
}

#[test]
fn a_restart_remembers_which_file_a_pod_came_from() {
    let mut node = Node1::new();
    let both = [("a.yaml", pod("a", 2, 0)), ("b.yaml", pod("b", 2, 0))];
    let _ = node.handle(listed(both, []));
    let (mut node, _) = node.restarted();
    assert_eq!(told(&node.handle(listed([], ["a.yaml"]))), ["default_b ended"]);
    // A manifest that moves to another file is held back by that one from then on, after a restart too.
    assert_eq!(told(&node.handle(listed([("moved.yaml", pod("a", 2, 0))], []))), [""; 0]);
    let (mut node, _) = node.restarted();
    assert_eq!(told(&node.handle(listed([], ["moved.yaml"]))), [""; 0]);
    assert_eq!(told(&node.handle(listed([], ["a.yaml"]))), ["default_a ended"]);
}

#[test]
fn a_pod_stored_without_its_file_stays_while_any_file_is_unusable() {
    let mut node = Node1::new();
    let _ = node.handle(listed([("a.yaml", pod("a", 2, 0))], []));
    let path = PathBuf::from("topolet/pods/default_a.json");
    let mut record: serde_json::Value = serde_json::from_str(&node.disk[&path]).unwrap();
    let own = record["topolet"].as_object_mut().unwrap();
    assert_eq!(own.remove("manifestFile").unwrap(), "a.yaml");
    own.remove("checksum");
    node.disk.insert(path, record.to_string());
    let (mut node, _) = node.restarted();
    assert_eq!(told(&node.handle(listed([], ["any.yaml"]))), [""; 0]);
    assert_eq!(told(&node.handle(listed([], []))), ["default_a ended"]);
}

#[test]
fn refused_and_waiting_pods_of_an_unusable_file_stay_as_they_are() {
    let mut node = Node1::new();
    let large = [("a.yaml", pod("large", 40, 0))];
    assert_eq!(told(&node.handle(listed(large.clone(), []))).len(), 1);
    let refused = |node: &Node1| node.owner.snapshot().refused.len();
    let _ = node.handle(listed([], ["a.yaml"]));
    assert_eq!(refused(&node), 1);
    assert_eq!(told(&node.handle(listed(large, []))), [""; 0], "it is not decided on again");
    let _ = node.handle(listed([], ["b.yaml"]));
    assert_eq!(refused(&node), 0);
}

#[test]
fn a_plugin_is_asked_and_others_go_on_meanwhile() {
    let mut node = Node1::new();
    let vf = || "example.com/vf".into();
    let _ = node.handle(Event::Plugin(PluginEvent::Registered(vf(), PluginOptions::default())));
    let devices = vec![Device::new("v0", &[0]), Device::new("v1", &[0])];
    let _ = node.handle(Event::Plugin(PluginEvent::Listed(vf(), devices)));
    let _ = node.handle(admit(1, "old", 2));
    let effects = node.handle(Event::Request(Ticket(2), Request::Admit(pod("d", 1, 1))));
    let [Effect::Ask(question @ Question::Allocate { .. })] = &effects[..] else {
        panic!("the plugin is not asked: {effects:?}")
    };
    assert_eq!(told(&node.handle(admit(3, "later", 1))), [""; 0], "pods are decided on in order");
    assert_eq!(told(&node.handle(delete(4, "old"))), ["default_old ended", "4: done"]);
    let reply = Reply::Allocated(AllocateReply(Arc::from(&b"\x0a\x00"[..])));
    let effects = node.handle(Event::Replied(question.clone(), reply));
    assert_eq!(told(&effects), ["d admitted", "later admitted"]);
    assert_eq!(node.owner.ledger().devices().iter().count(), 1);

    // It goes, and after the grace period it is forgotten; who holds its device keeps it.
    let _ = node.handle(Event::Plugin(PluginEvent::Gone(vf())));
    node.now = Moment(Duration::from_secs(301));
    let _ = node.handle(Event::Timer);
    assert!(!node.owner.ledger().inventory().is_registered(&vf()));
    assert_eq!(node.owner.ledger().devices().iter().count(), 1);
    let inventory = |node: &Node1| node.owner.ledger().inventory().clone();
    let nothing = Inventory::new(inventory(&node).nodes().clone());
    assert_ne!(inventory(&node), nothing, "its list is kept for the pod that holds its device");
    let _ = node.handle(delete(5, "d"));
    let _ = node.handle(Event::Timer);
    assert_eq!(inventory(&node), nothing, "nobody holds its devices any more");
}

#[test]
fn a_pod_deleted_while_its_plugin_is_asked_is_not_admitted() {
    let mut node = Node1::new();
    let vf = || "example.com/vf".into();
    let _ = node.handle(Event::Plugin(PluginEvent::Registered(vf(), PluginOptions::default())));
    let _ = node.handle(Event::Plugin(PluginEvent::Listed(vf(), vec![Device::new("v0", &[0])])));
    let effects = node.handle(Event::Request(Ticket(1), Request::Admit(pod("d", 1, 1))));
    let [Effect::Ask(question)] = &effects[..] else { panic!("the plugin is not asked: {effects:?}") };
    assert_eq!(
        told(&node.handle(delete(2, "d"))),
        ["1: failed: pod default/d was deleted while it was being decided on", "2: done"]
    );
    let effects = node.handle(Event::Replied(question.clone(), Reply::NothingAllocated));
    assert_eq!(told(&effects), [""; 0]);
    assert_eq!(node.owner.pods().count(), 0);
}

#[test]
fn a_plugin_that_wants_to_know_is_told_before_a_container_starts() {
    let mut node = Node1::new();
    let vf = || "example.com/vf".into();
    let options = PluginOptions { pre_start: true, ..PluginOptions::default() };
    let _ = node.handle(Event::Plugin(PluginEvent::Registered(vf(), options)));
    let _ = node.handle(Event::Plugin(PluginEvent::Listed(vf(), vec![Device::new("v0", &[0])])));
    let effects = node.handle(Event::Request(Ticket(1), Request::Admit(pod("d", 1, 1))));
    let [Effect::Ask(question)] = &effects[..] else { panic!("the plugin is not asked: {effects:?}") };
    let reply = Reply::Allocated(AllocateReply(Arc::from(&b"\x0a\x00"[..])));
    assert_eq!(told(&node.handle(Event::Replied(question.clone(), reply))), ["d admitted"]);

    let refused = |message: &str| Reply::Failed(RpcError { code: RpcCode(2), message: message.to_owned() });
    for (reply, expected) in [
        (
            refused("reset failed"),
            &[
                "2: failed: device plugin PreStartContainer rpc failed with err: rpc error: code = Unknown desc = reset failed",
            ][..],
        ),
        (Reply::Started, &["2: done", "c1 on 1"]),
    ] {
        let effects = node.handle(started(2, "d", "c1"));
        let [Effect::Ask(question @ Question::PreStart { .. })] = &effects[..] else {
            panic!("the plugin is not told: {effects:?}")
        };
        assert_eq!(told(&node.handle(Event::Replied(question.clone(), reply))), expected);
    }
    assert_eq!(told(&node.handle(started(3, "d", "c1"))), ["3: done", "c1 on 1"], "it has been told");
    let _ = node.handle(Event::Plugin(PluginEvent::Gone(vf())));
    assert_eq!(
        told(&node.handle(started(4, "d", "c2"))),
        [
            "4: failed: device plugin PreStartContainer rpc failed with err: endpoint example.com/vf has been stopped"
        ]
    );
}

#[test]
fn a_full_disk_refuses_and_loses_nothing() {
    let mut node = Node1::new();
    let _ = node.handle(admit(1, "a", 2));
    let before = node.files();
    node.fails = Some("failed to write cpu_manager_state: No space left on device".to_owned());
    let effects = told(&node.handle(admit(2, "b", 2)));
    assert_eq!(
        effects,
        [
            "not written: failed to write cpu_manager_state: No space left on device",
            "2: failed: failed to store the change: failed to write cpu_manager_state: No space left on device"
        ]
    );
    assert_eq!(node.files(), before);
    assert_eq!(node.owner.pods().count(), 1);
    assert!(node.owner.snapshot().behind.is_some());
    // Pods of the folder come when there is room again.
    let _ = node.handle(listed([("f.yaml", pod("f", 2, 0))], []));
    assert_eq!(node.owner.pods().count(), 1);
    node.fails = None;
    assert_eq!(told(&node.handle(Event::Timer)), ["f admitted"]);
    assert!(node.owner.snapshot().behind.is_none());
    let (node, _) = node.restarted();
    assert_eq!(node.owner.pods().count(), 2);
}

#[test]
fn a_plan_that_is_not_written_is_not_made() {
    let mut node = Node1::new();
    node.owner.handle(node.now, admit(1, "a", 2));
    let plan = node.owner.next(node.now).unwrap();
    let files: Vec<_> = plan.writes().iter().map(|write| write.file.path()).collect();
    assert_eq!(files.last().unwrap(), &PathBuf::from("topolet/pods/default_a.json"), "its file decides");
    node.owner.settle(node.now, plan, &WriteOutcome::Failed { done: 2, why: "power is gone".to_owned() });
    assert_eq!(node.owner.pods().count(), 0);
    let failed =
        Effect::Answer(Ticket(1), Answer::Failed(RequestError::NotStored("power is gone".to_owned())));
    let effects = node.owner.take_effects();
    assert!(effects.iter().any(|effect| format!("{effect:?}") == format!("{failed:?}")), "{effects:?}");
}

#[test]
fn answers_that_take_too_much_refuse_pods_of_their_plugin_only() {
    let mut node = Node1::new();
    let vf = || "example.com/vf".into();
    let _ = node.handle(Event::Plugin(PluginEvent::Registered(vf(), PluginOptions::default())));
    let devices = (0..8).map(|at| Device::new(&format!("v{at}"), &[0])).collect();
    let _ = node.handle(Event::Plugin(PluginEvent::Listed(vf(), devices)));
    let large: Arc<[u8]> = Arc::from(vec![b'x'; 3 << 20]);
    let mut decided = Vec::new();
    for at in 0..3 {
        let name = format!("d{at}");
        let effects = node.handle(Event::Request(Ticket(at), Request::Admit(pod(&name, 0, 1))));
        let [Effect::Ask(question)] = &effects[..] else { panic!("the plugin is not asked: {effects:?}") };
        let reply = Reply::Allocated(AllocateReply(large.clone()));
        let effects = node.handle(Event::Replied(question.clone(), reply));
        decided.extend(effects.into_iter().filter_map(|effect| match effect {
            Effect::Decided(decided) => Some(decided.verdict),
            _ => None,
        }));
    }
    let [Verdict::Admitted(_), Verdict::Refused(refused), Verdict::Refused(_)] = &decided[..] else {
        panic!("{decided:?}")
    };
    assert_eq!(
        refused.message,
        "Allocate failed due to rpc error: code = ResourceExhausted desc = what plugin example.com/vf answered for \
         all containers takes 8389642 bytes, more than the 8388608 of one resource, which is unexpected"
    );
    assert_eq!(told(&node.handle(admit(9, "other", 1))), ["other admitted"]);
    // Once a pod has gone there is room again.
    let _ = node.handle(delete(10, "d0"));
    let effects = node.handle(Event::Request(Ticket(11), Request::Admit(pod("again", 0, 1))));
    let [Effect::Ask(question)] = &effects[..] else { panic!("the plugin is not asked: {effects:?}") };
    let reply = Reply::Allocated(AllocateReply(large));
    assert_eq!(told(&node.handle(Event::Replied(question.clone(), reply))), ["again admitted"]);
}
