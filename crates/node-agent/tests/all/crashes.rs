//! A node that is killed at every single file operation starts again, with nothing owned twice, and with
//! everything that it has answered.

use crate::common;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::common::{pod, uid};
use cpuset::CpuSet;
use device_manager::{AllocateReply, Device, DeviceId, Inventory, Moment, PluginOptions, Question, Reply};
use kubelet_checkpoint::store::{Fault, SimulatedDisk, Store};
use node_agent::{
    Agent, Answer, Effect, Event, KeptBackups, Owner, PluginEvent, Request, Ticket, mend, prune,
};
use node_state::{PODS, PodList, RepairPlan, StateFolder};
use pod_spec::{ContainerKey, ContainerName, Pod, PodUid};
use topology_admission::{Ledger, Node, Verdict};

const ROOT: &str = "/kubelet";

/// What a container holds: CPUs, bytes of memory, devices.
type Holding = (CpuSet, u64, BTreeSet<DeviceId>);

/// What answers have confirmed: the pods with what they hold, and the containers that run.
#[derive(Clone, PartialEq, Debug, Default)]
struct Told {
    pods: BTreeMap<PodUid, Holding>,
    running: BTreeSet<String>,
}

/// One step: what happens, and which pods are in the folder from then on, if that changes.
struct Step {
    event: Event,
    folder: Option<Vec<Arc<Pod>>>,
}

fn vf() -> pod_spec::ResourceName {
    "example.com/vf".into()
}

fn registered() -> Event {
    Event::Plugin(PluginEvent::Registered(vf(), PluginOptions::default()))
}

fn devices() -> Event {
    let each = (0..4).map(|at| Device::new(&format!("vf{at}"), &[at / 2]));
    Event::Plugin(PluginEvent::Listed(vf(), each.collect()))
}

fn listing(pods: &[Arc<Pod>]) -> Event {
    common::listed(pods.iter().map(|pod| ("pods.yaml", pod.clone())), [])
}

/// Thirty of them: pods of the folder and of requests, with devices and without, admitted and refused; containers that
/// start and exit; plugins that come and go.
fn scenario() -> Vec<Step> {
    let plain = |event| Step { event, folder: None };
    let listed = |pods: Vec<Arc<Pod>>| Step { event: listing(&pods), folder: Some(pods) };
    let admit = |name: &str, cpus, devices| {
        plain(Event::Request(Ticket(0), Request::Admit(pod(name, cpus, devices))))
    };
    let delete = |name: &str| plain(Event::Request(Ticket(0), Request::Delete(uid(name))));
    let started = |name: &str, id: &str| {
        let container = ContainerKey { pod: uid(name), container: ContainerName::new("app") };
        let cgroup = Some(PathBuf::from("kubepods").join(id));
        plain(Event::Request(Ticket(0), Request::Started { container, id: id.into(), cgroup }))
    };
    let exited = |id: &str| plain(Event::Request(Ticket(0), Request::Exited(id.into())));
    vec![
        listed(vec![pod("static", 1, 0)]),
        plain(registered()),
        plain(devices()),
        admit("a", 2, 0),
        started("a", "a1"),
        started("static", "s1"),
        admit("b", 1, 2),
        started("b", "b1"),
        admit("huge", 8, 0),
        admit("shared", 0, 0),
        started("shared", "sh1"),
        delete("a"),
        admit("c", 2, 1),
        exited("b1"),
        started("b", "b2"),
        listed(vec![pod("static", 1, 0), pod("other", 1, 0)]),
        admit("late", 1, 1),
        started("late", "l1"),
        plain(Event::Plugin(PluginEvent::Gone(vf()))),
        admit("no-device", 1, 1),
        plain(registered()),
        plain(devices()),
        delete("b"),
        admit("again", 1, 2),
        started("again", "g1"),
        listed(vec![pod("other", 2, 0)]),
        exited("sh1"),
        delete("shared"),
        admit("last", 1, 0),
        plain(Event::Timer),
    ]
}

/// Critical pods that take the place of several pods at once, which have CPUs, memory and devices. They are Burstable: a
/// pod that lacks exclusive CPUs is refused before any pod is preempted.
fn preemptions() -> Vec<Step> {
    let plain = |event| Step { event, folder: None };
    let admit = |name: &str, cpus, devices| {
        plain(Event::Request(Ticket(0), Request::Admit(pod(name, cpus, devices))))
    };
    let admit_critical = |name: &str, cpus, devices| {
        let mut critical = Pod::clone(&pod(name, cpus, devices));
        critical.constraints.priority = 2_000_000_000;
        for container in &mut critical.containers {
            container.limits.insert("cpu".into(), "8".parse().unwrap());
        }
        plain(Event::Request(Ticket(0), Request::Admit(Arc::new(critical))))
    };
    vec![
        plain(listing(&[])),
        plain(registered()),
        plain(devices()),
        admit("a", 2, 1),
        admit("b", 2, 1),
        admit("c", 1, 1),
        admit("shared", 0, 0),
        admit("d", 1, 0),
        admit_critical("first", 5, 0),
        plain(Event::Request(Ticket(0), Request::Delete(uid("first")))),
        admit("e", 2, 1),
        admit("f", 2, 1),
        admit_critical("second", 4, 1),
    ]
}

/// Pods that grow and shrink, one into what the other has given back.
fn resizes() -> Vec<Step> {
    let plain = |event| Step { event, folder: None };
    let admit = |name: &str, cpus| plain(Event::Request(Ticket(0), Request::Admit(pod(name, cpus, 0))));
    let resize = |name: &str, cpus, gibibytes| {
        let sizes = common::sizes(cpus, gibibytes);
        plain(Event::Request(Ticket(0), Request::Resize(uid(name), sizes)))
    };
    let started = |name: &str, id: &str| {
        let container = ContainerKey { pod: uid(name), container: ContainerName::new("app") };
        let cgroup = Some(PathBuf::from("kubepods").join(id));
        plain(Event::Request(Ticket(0), Request::Started { container, id: id.into(), cgroup }))
    };
    vec![
        plain(listing(&[])),
        admit("a", 1),
        started("a", "a1"),
        admit("b", 2),
        started("b", "b1"),
        admit("shared", 0),
        started("shared", "sh1"),
        resize("a", 3, 2),
        resize("b", 3, 1),
        resize("a", 2, 4),
        resize("b", 4, 1),
        resize("a", 1, 1),
        resize("b", 2, 2),
        plain(Event::Request(Ticket(0), Request::Delete(uid("b")))),
        resize("a", 4, 8),
    ]
}

/// Pods of which memory alone changes.
fn memory_resizes() -> Vec<Step> {
    MEMORY_ALONE.set(true);
    let plain = |event| Step { event, folder: None };
    let admit = |name: &str, cpus| plain(Event::Request(Ticket(0), Request::Admit(pod(name, cpus, 0))));
    let resize = |name: &str, cpus, gibibytes| {
        plain(Event::Request(Ticket(0), Request::Resize(uid(name), common::sizes(cpus, gibibytes))))
    };
    let steps = [admit("a", 1), admit("b", 2), resize("a", 1, 4), resize("b", 2, 3), resize("a", 1, 2)];
    let deletes = plain(Event::Request(Ticket(0), Request::Delete(uid("b"))));
    [plain(listing(&[]))].into_iter().chain(steps).chain([deletes, resize("a", 1, 8)]).collect()
}

thread_local! {
    /// Whether the node of this test's thread lets memory alone be resized.
    static MEMORY_ALONE: Cell<bool> = const { Cell::new(false) };
}

fn node() -> Arc<Node> {
    if MEMORY_ALONE.get() { common::memory_node() } else { common::node() }
}

type TestAgent = Agent<SimulatedDisk>;

/// Starts the node from what is on the disk.
fn start(disk: &SimulatedDisk) -> TestAgent {
    let store = Store::on(disk.clone(), Path::new(ROOT)).unwrap();
    let node = node();
    let start = StateFolder::read(&store).unwrap().strict(&node).unwrap();
    let ledger = start.ledger(&node, Inventory::new(node.nodes().clone()), Moment::default()).unwrap();
    let owner = Owner::new(node, &ledger, start.records);
    Agent::new(owner, store, &Moment::default).0
}

/// Starts it as the daemon does, with repair; what that found.
fn repair(disk: &SimulatedDisk) -> (TestAgent, RepairPlan) {
    let store = Store::on(disk.clone(), Path::new(ROOT)).unwrap();
    let node = node();
    let mut repaired = StateFolder::read(&store).unwrap().plan_repair(&node, &PodList::Recorded).unwrap();
    let ledger =
        repaired.start.ledger(&node, Inventory::new(node.nodes().clone()), Moment::default()).unwrap();
    let mended = repaired.settle(&node, &ledger);
    mend(&store, &mended).unwrap();
    assert!(prune(&store, KeptBackups::default()).is_empty());
    let owner = Owner::new(node, &ledger, repaired.start.records.clone());
    (Agent::new(owner, store, &Moment::default).0, repaired)
}

/// How many backups there are of each file.
fn backups(disk: &SimulatedDisk) -> BTreeMap<String, usize> {
    let store = Store::on(disk.clone(), Path::new(ROOT)).unwrap();
    let mut counts = BTreeMap::new();
    for folder in ["", "device-plugins", PODS] {
        for name in store.list(Path::new(folder)).unwrap() {
            if let Some((file, _)) = name.to_str().unwrap().rsplit_once(".bak-") {
                *counts.entry(file.to_owned()).or_default() += 1;
            }
        }
    }
    counts
}

/// Has an event handled, with a plugin that agrees to everything.
fn handle(agent: &mut TestAgent, event: Event) -> Vec<Effect> {
    let mut all = Vec::new();
    let mut events = vec![event];
    while let Some(event) = events.pop() {
        for effect in agent.handle(&Moment::default, event) {
            if let Effect::Ask(question) = &effect {
                let reply = match question {
                    Question::Allocate { .. } => Reply::Allocated(AllocateReply(Arc::from(&b"\x0a\x00"[..]))),
                    _ => Reply::Started,
                };
                events.push(Event::Replied(question.clone(), reply));
            }
            all.push(effect);
        }
    }
    all
}

fn holding(ledger: &Ledger, uid: &PodUid) -> Holding {
    let app = ContainerName::new("app");
    let cpus = ledger.cpus().and_then(|held| held.assigned(uid, &app)).cloned().unwrap_or_default();
    let blocks = ledger.memory().and_then(|held| held.assigned(uid, &app)).unwrap_or_default();
    let devices = ledger.devices().of_container(uid, &app).flat_map(|(_, held)| held.devices());
    (cpus, blocks.iter().map(|block| block.size).sum(), devices.collect())
}

/// What the node says it is.
fn state(agent: &TestAgent) -> Told {
    let owner = agent.owner();
    let pods = owner.pods().map(|record| (record.pod.uid.clone(), holding(owner.ledger(), &record.pod.uid)));
    let running = owner.pods().flat_map(|record| record.running.keys().map(ToString::to_string));
    Told { pods: pods.collect(), running: running.collect() }
}

/// Nothing has two owners, and only pods that run hold something.
fn assert_sound(agent: &TestAgent, context: &str) {
    let ledger = agent.owner().ledger();
    let held = ledger.cpus().unwrap();
    assert!(held.two_owners().is_none(), "{context}: {:?}", held.two_owners());
    let mut all = held.shared().clone();
    for (pod, _, cpus) in held.iter() {
        assert!(all.is_disjoint(cpus), "{context}: {pod} has {cpus} of others");
        all = &all | cpus;
    }
    assert_eq!(all.to_string(), "0-7", "{context}: CPUs are lost");
    let mut devices = BTreeSet::new();
    for (pod, _, _, of) in ledger.devices().iter() {
        for device in of.devices() {
            assert!(devices.insert(device.clone()), "{context}: {pod} has {device:?} of another");
        }
    }
    let pods: BTreeSet<&PodUid> = agent.owner().pods().map(|record| &record.pod.uid).collect();
    let owners: BTreeSet<&PodUid> =
        held.iter().map(|(pod, _, _)| pod).chain(ledger.devices().pods()).collect();
    assert!(owners.is_subset(&pods), "{context}: {owners:?} hold something, and {pods:?} run");
    let memory = ledger.memory().unwrap();
    let bookers: BTreeSet<&PodUid> = memory.iter().map(|(pod, _, _)| pod).collect();
    assert!(bookers.is_subset(&pods), "{context}: {bookers:?} have memory, and {pods:?} run");
    for (at, resource, allocatable) in agent.owner().node().memory().unwrap().allocatable() {
        let amounts = memory.amounts(at, resource);
        assert_eq!(amounts.free + amounts.reserved, allocatable, "{context}: {resource}");
    }
}

/// Runs the scenario until the disk stops. Gives the state at the start and after each event, the interrupted
/// one included, and the folder.
fn run(disk: &SimulatedDisk, steps: Vec<Step>) -> (Vec<Told>, Vec<Arc<Pod>>) {
    let mut folder: Vec<Arc<Pod>> = Vec::new();
    let mut agent = start(disk);
    let mut told = vec![state(&agent)];
    for Step { event, folder: now } in steps {
        if disk.is_stopped() {
            break;
        }
        if let Some(now) = now {
            folder = now;
        }
        let _ = handle(&mut agent, event);
        told.push(state(&agent));
    }
    (told, folder)
}

#[test]
fn the_scenario_does_what_it_should() {
    let disk = SimulatedDisk::default();
    let mut agent = start(&disk);
    let mut outcomes = Vec::new();
    for Step { event, .. } in scenario() {
        for effect in handle(&mut agent, event) {
            match effect {
                Effect::Decided(decided) => {
                    let is_admitted = matches!(decided.verdict, Verdict::Admitted(_));
                    outcomes.push(format!("{}{}", if is_admitted { "+" } else { "-" }, decided.pod.name));
                }
                Effect::Answer(_, Answer::Failed(error)) => panic!("{error}"),
                Effect::NotWritten(why) => panic!("{why}"),
                _ => {}
            }
        }
        assert_sound(&agent, "without a fault");
    }
    assert_eq!(
        outcomes,
        [
            "+static",
            "+a",
            "+b",
            "-huge",
            "+shared",
            "+c",
            "+other",
            "+late",
            "-no-device",
            "+again",
            "+other",
            "+last"
        ]
    );
}

#[test]
fn several_pods_go_for_one() {
    let disk = SimulatedDisk::default();
    let mut agent = start(&disk);
    let mut lines = Vec::new();
    for Step { event, .. } in preemptions() {
        for effect in handle(&mut agent, event) {
            match effect {
                Effect::Ended(uid, _) => lines.push(format!("-{uid}")),
                Effect::Decided(decided) => match &decided.verdict {
                    Verdict::Admitted(_) => lines.push(format!("+{}", decided.pod.uid)),
                    other => panic!("{}: {other:?}", decided.pod.name),
                },
                Effect::NotWritten(why) => panic!("{why}"),
                _ => {}
            }
        }
        assert_sound(&agent, "without a fault");
    }
    assert_eq!(
        lines.join(" ").replace("default_", ""),
        "+a +b +c +shared +d -b -a +first -first +e +f -f -d +second"
    );
}

#[test]
fn pods_are_resized_in_a_row() {
    let disk = SimulatedDisk::default();
    let mut agent = start(&disk);
    let mut lines = Vec::new();
    let mut written = BTreeMap::new();
    for Step { event, .. } in resizes() {
        let is_resize = matches!(event, Event::Request(_, Request::Resize(..)));
        for effect in handle(&mut agent, event) {
            match effect {
                Effect::Answer(_, Answer::Resized { .. }) if is_resize => {
                    let of = |name| holding(agent.owner().ledger(), &uid(name));
                    let [a, b] = ["a", "b"].map(of);
                    lines.push(format!("a {} {}Gi, b {} {}Gi", a.0, a.1 >> 30, b.0, b.1 >> 30));
                }
                // One cgroup after the other: at no moment two containers share an exclusive CPU.
                Effect::Enforce(one) => {
                    written.insert(one.container.pod.clone(), one.pinning.cpus.unwrap());
                    let cpus = |name: &str| written.get(&uid(name)).cloned().unwrap_or_default();
                    let [a, b, shared] = ["a", "b", "shared"].map(cpus);
                    assert!(
                        a.is_disjoint(&b) && a.is_disjoint(&shared) && b.is_disjoint(&shared),
                        "{written:?}"
                    );
                }
                Effect::Ended(gone, _) => {
                    written.remove(&gone);
                }
                Effect::Answer(_, Answer::Failed(error)) => panic!("{error}"),
                Effect::NotWritten(why) => panic!("{why}"),
                _ => {}
            }
        }
        assert_sound(&agent, "without a fault");
        // What was added in which order outlives a start.
        let ledger = agent.owner().ledger().clone();
        assert_eq!(repair(&disk).0.owner().ledger().cpus(), ledger.cpus());
        assert_eq!(start(&disk).owner().ledger().cpus(), ledger.cpus());
    }
    assert_eq!(
        lines,
        [
            "a 1,4-5 2Gi, b 2-3 2Gi",
            "a 1,4-5 2Gi, b 2-3,6 1Gi",
            "a 1,4 4Gi, b 2-3,6 1Gi",
            "a 1,4 4Gi, b 2-3,5-6 1Gi",
            "a 1 1Gi, b 2-3,5-6 1Gi",
            "a 1 1Gi, b 2-3 2Gi",
            "a 1-4 8Gi, b  0Gi",
        ]
    );
}

#[test]
fn killed_at_every_file_operation_nothing_is_lost_and_nothing_owned_twice() {
    for steps in [scenario, preemptions, resizes, memory_resizes] {
        nothing_is_lost_and_nothing_owned_twice(steps);
    }
}

fn nothing_is_lost_and_nothing_owned_twice(steps: fn() -> Vec<Step>) {
    let whole = SimulatedDisk::default();
    let (all, _) = run(&whole, steps());
    let operations = whole.operations();
    let mut disks = 0;
    for stops_at in 0..operations {
        let disk = SimulatedDisk::failing(Fault::Stop(stops_at));
        let (told, folder) = run(&disk, steps());
        // Answers are given when an event has been handled: the interrupted one got none.
        let events = told.len() - 1;
        let before = if disk.is_stopped() { &all[events.saturating_sub(1)] } else { &all[events] };
        let after = &all[events];
        for disk in disk.after_stop() {
            disks += 1;
            let context = format!("stopped at operation {stops_at}, event {events}");
            let mut agent = start(&disk);
            let _ = handle(&mut agent, listing(&folder));
            assert_sound(&agent, &context);
            let now = state(&agent);
            for (uid, held) in &before.pods {
                // What was being taken away may be gone.
                if after.pods.get(uid) == Some(held) {
                    assert_eq!(now.pods.get(uid), Some(held), "{context}: {uid}");
                }
            }
            let admitted_again = |uid: &PodUid| folder.iter().any(|pod| pod.uid == *uid);
            for uid in now.pods.keys() {
                assert!(
                    before.pods.contains_key(uid) || after.pods.contains_key(uid) || admitted_again(uid),
                    "{context}: {uid} was never admitted, or is gone"
                );
            }
            for id in before.running.intersection(&after.running) {
                assert!(now.running.contains(id), "{context}: container {id} is forgotten");
            }
        }
    }
    assert!(disks > operations, "{disks} disks of {operations} operations");
}

#[test]
fn after_one_failed_operation_what_is_on_disk_is_what_was_told() {
    let whole = SimulatedDisk::default();
    run(&whole, scenario());
    for fails in 0..whole.operations() {
        let context = format!("operation {fails} fails");
        let disk = SimulatedDisk::failing(Fault::Once(fails));
        let mut folder = Vec::new();
        let mut agent = start(&disk);
        for Step { event, folder: now } in scenario() {
            folder = now.unwrap_or(folder);
            let _ = handle(&mut agent, event);
            // What could not be stored is tried again.
            let _ = handle(&mut agent, Event::Timer);
            assert_sound(&agent, &context);
        }
        assert!(agent.snapshot().behind.is_none(), "{context}: state stays behind");
        let told = state(&agent);
        drop(agent);
        let mut again = start(&disk);
        assert_eq!(state(&again), told, "{context}");
        let _ = handle(&mut again, listing(&folder));
        assert_eq!(state(&again), told, "{context}");
        let of_folder = again.owner().pods().filter(|record| record.source.is_folder());
        assert_eq!(of_folder.count(), folder.len(), "{context}: pods of the folder are missing");
    }
}

/// A crash between two files is no damage: the change is completed, and no repair is reported.
#[test]
fn killed_at_every_file_operation_no_backup_is_made_and_nothing_is_called_damaged() {
    for steps in [scenario, preemptions, resizes, memory_resizes] {
        no_backup_is_made_and_nothing_is_called_damaged(steps);
    }
}

fn no_backup_is_made_and_nothing_is_called_damaged(steps: fn() -> Vec<Step>) {
    let whole = SimulatedDisk::default();
    run(&whole, steps());
    let mut unfinished = 0;
    for stops_at in 0..whole.operations() {
        let disk = SimulatedDisk::failing(Fault::Stop(stops_at));
        run(&disk, steps());
        for disk in disk.after_stop() {
            let context = format!("stopped at operation {stops_at}");
            let (agent, repaired) = repair(&disk);
            assert_sound(&agent, &context);
            assert!(repaired.findings.is_empty(), "{context}: {:?}", repaired.findings);
            unfinished += usize::from(repaired.unfinished.is_some());
            drop(agent);
            assert_eq!(backups(&disk), BTreeMap::new(), "{context}");
            let (_, again) = repair(&disk);
            assert!(again.findings.is_empty() && again.unfinished.is_none(), "{context}: {again:?}");
        }
    }
    assert!(unfinished > 20, "{unfinished} of the crashes were between two files");
}

#[test]
fn of_each_file_the_newest_five_backups_are_kept() {
    let disk = SimulatedDisk::default();
    run(&disk, scenario());
    let path = Path::new("cpu_manager_state");
    for cycle in 0..400 {
        {
            let store = Store::on(disk.clone(), Path::new(ROOT)).unwrap();
            // Now and then a disk tears a file too.
            let torn = format!("{{\"policyName\":\"static\",\"defaultCpuSet\":\"{cycle}");
            store.write_at(path, torn.as_bytes()).unwrap();
        }
        let (agent, repaired) = repair(&disk);
        assert!(!repaired.findings.is_empty(), "cycle {cycle}");
        drop(agent);
        let counts = backups(&disk);
        assert_eq!(counts.values().copied().max(), Some((cycle + 1).min(5)), "cycle {cycle}: {counts:?}");
        let store = Store::on(disk.clone(), Path::new(ROOT)).unwrap();
        let newest = format!("cpu_manager_state.bak-{}", cycle + 1);
        let newest = store.read_at(Path::new(&newest)).unwrap().unwrap();
        assert!(newest.ends_with(format!("\"{cycle}").as_bytes()), "the one that was just made is there");
    }
}
