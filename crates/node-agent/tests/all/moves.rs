//! Pods that move so that another one fits: all of it is there after any stop, or nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::common::{listed, pod, strict_node, uid};
use cpuset::CpuSet;
use device_manager::{
    AllocateReply, Device, DeviceId, Inventory, Moment, PluginOptions, Question, Reply, RpcCode, RpcError,
};
use kubelet_checkpoint::store::{Fault, SimulatedDisk, Store};
use node_agent::{
    Agent, Answer, Effect, Event, FoundFolder, Manner, Owner, PluginEvent, PodDecision, Request,
    RequestError, Ticket, Unfinished, WhyRestart, complete_moves, read_anything,
};
use node_state::moves::MOVES;
use node_state::{PodList, StateFolder};
use pod_spec::{ContainerKey, ContainerName, Pod, PodUid, Wishes};
use topology_admission::{Detail, Limits, Plan, Plugins, Step, Tries, Verdict};

const ROOT: &str = "/kubelet";

type TestAgent = Agent<SimulatedDisk>;

/// Pods with their CPUs, memory nodes as bytes and devices, in the order in which they came; and containers that run.
#[derive(Clone, PartialEq, Debug)]
struct State {
    pods: Vec<(PodUid, CpuSet, u64, BTreeSet<DeviceId>)>,
    running: BTreeSet<String>,
}

fn state(agent: &TestAgent) -> State {
    let owner = agent.owner();
    let (ledger, app) = (owner.ledger(), ContainerName::new("app"));
    let holding = |pod: &Pod| {
        let cpus = ledger.cpus().and_then(|held| held.assigned(&pod.uid, &app)).cloned().unwrap_or_default();
        let blocks = ledger.memory().and_then(|held| held.assigned(&pod.uid, &app)).unwrap_or_default();
        let devices = ledger.devices().of_container(&pod.uid, &app).flat_map(|(_, held)| held.devices());
        (pod.uid.clone(), cpus, blocks.iter().map(|block| block.size).sum(), devices.collect())
    };
    let running = owner.pods().flat_map(|record| record.running.keys().map(ToString::to_string));
    let pods: Vec<_> = ledger.pods_by_arrival().map(holding).collect();
    assert_eq!(pods.len(), owner.pods().count(), "the ledger has the pods that have records");
    State { pods, running: running.collect() }
}

/// Starts the node from what is on the disk.
fn start(disk: &SimulatedDisk) -> TestAgent {
    let store = Store::on(disk.clone(), Path::new(ROOT)).unwrap();
    assert!(!matches!(complete_moves(&store).unwrap(), Unfinished::Damaged(_)));
    let node = strict_node();
    let start = StateFolder::read(&store).unwrap().strict(&node).unwrap();
    let ledger = start.ledger(&node, Inventory::new(node.nodes().clone()), Moment::default()).unwrap();
    Agent::new(Owner::new(node, &ledger, start.records), store, &Moment::default).0
}

/// What a repair would find.
fn findings(disk: &SimulatedDisk) -> Vec<String> {
    let store = Store::on(disk.clone(), Path::new(ROOT)).unwrap();
    let FoundFolder { folder, repairs, .. } = read_anything(&store).unwrap();
    let plan = folder.plan_repair(&strict_node(), &PodList::Recorded).unwrap();
    repairs.iter().chain(&plan.findings).map(|repair| repair.finding.fault.to_string()).collect()
}

fn reply_to(question: &Question) -> Reply {
    match question {
        Question::Allocate { .. } => Reply::Allocated(AllocateReply(Arc::from(&b"\x0a\x00"[..]))),
        _ => Reply::Started,
    }
}

/// Has an event handled, with plugins that answer so.
fn handle_with(agent: &mut TestAgent, event: Event, reply: impl Fn(&Question) -> Reply) -> Vec<Effect> {
    let mut all = Vec::new();
    let mut events = vec![event];
    while let Some(event) = events.pop() {
        for effect in agent.handle(&Moment::default, event) {
            if let Effect::Ask(question) = &effect {
                events.push(Event::Replied(question.clone(), reply(question)));
            }
            all.push(effect);
        }
    }
    all
}

fn handle(agent: &mut TestAgent, event: Event) -> Vec<Effect> {
    handle_with(agent, event, reply_to)
}

fn asked(request: Request) -> Event {
    Event::Request(Ticket(0), request)
}

fn admit(name: &str, cpus: u32, devices: u32) -> Event {
    asked(Request::Admit(pod(name, cpus, devices)))
}

fn delete(name: &str) -> Event {
    asked(Request::Delete(uid(name)))
}

fn started(name: &str, cgroup: Option<&str>) -> Event {
    let container = ContainerKey { pod: uid(name), container: ContainerName::new("app") };
    let id = format!("{name}-1").as_str().into();
    asked(Request::Started { container, id, cgroup: cgroup.map(PathBuf::from) })
}

fn may_move(name: &str, cpus: u32, devices: u32, value: &str) -> Event {
    let mut pod = Pod::clone(&pod(name, cpus, devices));
    pod.constraints.wishes.choose(Wishes::MOVE.to_owned(), value.to_owned());
    asked(Request::Admit(Arc::new(pod)))
}

fn devices() -> [Event; 3] {
    let each = (0..4).map(|at| Device::new(&format!("vf{at}"), &[at / 2]));
    [
        listed([], []),
        Event::Plugin(PluginEvent::Registered("example.com/vf".into(), PluginOptions::default())),
        Event::Plugin(PluginEvent::Listed("example.com/vf".into(), each.collect())),
    ]
}

/// On node 0 `a` and two free CPUs; on node 1 `d`, which has a device, `e`, and two free CPUs. All three run.
fn resident() -> Vec<Event> {
    let pods = [
        admit("a", 1, 1),
        admit("x", 2, 0),
        may_move("d", 1, 1, "live"),
        may_move("e", 1, 0, "live"),
        started("a", Some("kubepods/a")),
        started("d", Some("kubepods/d")),
        started("e", Some("kubepods/e")),
        delete("x"),
    ];
    devices().into_iter().chain(pods).collect()
}

/// `new` wants all of node 1.
fn new() -> Arc<Pod> {
    pod("new", 4, 0)
}

fn plan(agent: &TestAgent, pod: &Pod) -> Plan {
    let owner = agent.owner();
    let admission = owner.node().admission(owner.ledger(), pod);
    let (attempt, trace) = admission.trace(Detail::Short);
    let Verdict::Refused(refused) = &attempt.verdict else { panic!("{:?}", attempt.verdict) };
    admission.repack(refused, &trace, Limits::from(Tries(5000)), 3).plan.unwrap()
}

fn repack(agent: &TestAgent) -> Event {
    let plan = Arc::new(plan(agent, &new()));
    asked(Request::Repack { pod: new(), plan })
}

/// A node with what is resident, on a disk that works.
fn populated() -> (SimulatedDisk, TestAgent) {
    let disk = SimulatedDisk::default();
    let mut agent = start(&disk);
    for event in resident() {
        let _ = handle(&mut agent, event);
    }
    (disk, agent)
}

/// The same from its disk.
fn populated_like(resident: &SimulatedDisk) -> (SimulatedDisk, TestAgent) {
    let disk = resident.after_stop().remove(0);
    let mut agent = start(&disk);
    for event in devices() {
        let _ = handle(&mut agent, event);
    }
    (disk, agent)
}

fn decided(effects: &[Effect]) -> &PodDecision {
    let each = effects.iter().filter_map(|effect| match effect {
        Effect::Decided(decided) => Some(decided.as_ref()),
        _ => None,
    });
    let all: Vec<&PodDecision> = each.collect();
    assert_eq!(all.len(), 1, "{effects:?}");
    all[0]
}

fn error(effects: &[Effect]) -> Option<RequestError> {
    effects.iter().find_map(|effect| match effect {
        Effect::Answer(_, Answer::Failed(error)) => Some(error.clone()),
        _ => None,
    })
}

fn cpus(state: &State, name: &str) -> String {
    let found = state.pods.iter().find(|(pod, ..)| *pod == uid(name));
    found.map(|(_, cpus, ..)| cpus.to_string()).unwrap_or_default()
}

#[test]
fn several_pods_move_for_one() {
    let (disk, mut agent) = populated();
    let before = state(&agent);
    assert_eq!(["a", "d", "e"].map(|name| cpus(&before, name)), ["1", "4", "5"]);
    let event = repack(&agent);
    let effects = handle(&mut agent, event);
    let after = state(&agent);
    assert_eq!(cpus(&after, "new"), "4-7");
    assert_eq!(cpus(&after, "a"), "1");
    let decided = decided(&effects);
    assert!(matches!(decided.verdict, Verdict::Admitted(_)));
    assert!(decided.after.has_pod(&uid("new")) && !decided.before.has_pod(&uid("new")));
    // Its own admission and those of two that come again.
    assert_eq!(decided.counted.requests, 3);
    let manners: BTreeMap<String, &Manner> =
        decided.made_room.iter().map(|of| (of.pod.name.clone(), &of.manner)).collect();
    assert_eq!(manners["e"], &Manner::Live);
    assert_eq!(manners["d"], &Manner::Restart(WhyRestart::Devices));
    assert_eq!(manners.len(), 2);
    // What runs is written to its new place at once.
    let enforced: BTreeMap<String, String> = effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Enforce(one) => Some((one.id.to_string(), one.pinning.cpus.clone()?.to_string())),
            _ => None,
        })
        .collect();
    assert_eq!(enforced["d-1"], cpus(&after, "d"));
    assert_eq!(enforced["e-1"], cpus(&after, "e"));
    assert_eq!(enforced.len(), 2);
    // And a restart knows it, in the same order of arrival.
    assert!(disk.after_stop().iter().all(|disk| state(&start(disk)) == after));
    assert_eq!(findings(&disk), [""; 0]);
}

#[test]
fn who_moves_while_it_runs_and_who_restarts() {
    let cases: [(&[Event], Manner); 6] = [
        (&[may_move("p", 1, 0, "live"), started("p", Some("kubepods/p"))], Manner::Live),
        (&[may_move("p", 1, 0, "live")], Manner::NothingRuns),
        (
            &[may_move("p", 1, 0, "live"), started("p", None)],
            Manner::Restart(WhyRestart::NoCgroup(ContainerName::new("app"))),
        ),
        (
            &[may_move("p", 1, 0, "restart"), started("p", Some("kubepods/p"))],
            Manner::Restart(WhyRestart::NotAsked),
        ),
        (&[admit("p", 1, 0), started("p", Some("kubepods/p"))], Manner::Restart(WhyRestart::NotAsked)),
        (
            &[may_move("p", 1, 1, "live"), started("p", Some("kubepods/p"))],
            Manner::Restart(WhyRestart::Devices),
        ),
    ];
    for (events, expected) in cases {
        let disk = SimulatedDisk::default();
        let mut agent = start(&disk);
        for event in devices() {
            let _ = handle(&mut agent, event);
        }
        // It comes to node 1, since node 0 is full then.
        let _ = handle(&mut agent, admit("x", 3, 0));
        for event in events {
            let _ = handle(&mut agent, event.clone());
        }
        let _ = handle(&mut agent, delete("x"));
        let event = repack(&agent);
        let effects = handle(&mut agent, event);
        let made_room = &decided(&effects).made_room;
        assert_eq!(made_room.iter().map(|of| &of.manner).collect::<Vec<_>>(), [&expected]);
    }
}

#[test]
fn a_plan_that_grew_stale_changes_nothing() {
    let others: [fn() -> Event; 4] = [
        || admit("late", 0, 0),
        || delete("a"),
        || asked(Request::Exited("e-1".into())),
        || Event::Plugin(PluginEvent::Registered("example.com/gpu".into(), PluginOptions::default())),
    ];
    for other in others {
        let (disk, mut agent) = populated();
        let event = repack(&agent);
        let _ = handle(&mut agent, other());
        let (before, operations) = (state(&agent), disk.operations());
        let effects = handle(&mut agent, event);
        let error = error(&effects);
        assert!(matches!(error, Some(RequestError::StalePlan(_))), "{error:?}");
        assert_eq!((state(&agent), disk.operations()), (before, operations));
        // Planned anew it is carried out.
        let event = repack(&agent);
        assert!(matches!(decided(&handle(&mut agent, event)).verdict, Verdict::Admitted(_)));
    }
}

#[test]
fn a_plan_whose_pods_would_run_elsewhere_changes_nothing() {
    let (disk, mut agent) = populated();
    let plan = plan(&agent, &new());
    let created =
        |plan: &Plan| plan.steps.iter().rposition(|step| matches!(step, Step::Create { .. })).unwrap();
    let mut other = plan.clone();
    let at = created(&other);
    let Step::Create { placement, .. } = &mut other.steps[at] else { panic!("{plan:?}") };
    placement.containers[0].cpus = None;
    let (before, operations) = (state(&agent), disk.operations());
    let effects = handle(&mut agent, asked(Request::Repack { pod: new(), plan: Arc::new(other) }));
    let Some(RequestError::NotMoved(why)) = error(&effects) else { panic!("{effects:?}") };
    assert!(why.ends_with("would not run where the plan says: container app would have other CPUs"), "{why}");
    assert_eq!((state(&agent), disk.operations()), (before, operations));
    // A plugin was not asked when the plan was made, and prefers other devices than were taken.
    assert_eq!(plan.plugins, Plugins::TakenAsWilling);
    let mut planned = plan.clone();
    for step in &mut planned.steps {
        let Step::Create { placement, .. } = step else { continue };
        placement.containers.iter_mut().for_each(|placed| placed.devices.clear());
    }
    let effects = handle(&mut agent, asked(Request::Repack { pod: new(), plan: Arc::new(planned) }));
    assert!(matches!(decided(&effects).verdict, Verdict::Admitted(_)));
}

#[test]
fn plugins_are_asked_and_may_refuse() {
    let (disk, mut agent) = populated();
    let event = repack(&agent);
    let (before, operations) = (state(&agent), disk.operations());
    let refused = |_: &Question| Reply::Failed(RpcError { code: RpcCode(13), message: "no".to_owned() });
    let effects = handle_with(&mut agent, event.clone(), refused);
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Ask(Question::Allocate { .. }))));
    assert!(matches!(error(&effects), Some(RequestError::NotMoved(_))), "{:?}", error(&effects));
    assert_eq!((state(&agent), disk.operations()), (before, operations));
    // While a plugin is asked the node may become another one.
    let (waiting, others): (Vec<Effect>, Vec<Effect>) = agent
        .handle(&Moment::default, event)
        .into_iter()
        .partition(|effect| matches!(effect, Effect::Ask(_)));
    let [Effect::Ask(question)] = &waiting[..] else { panic!("{others:?}") };
    let _ = handle(&mut agent, delete("a"));
    let effects = handle(&mut agent, Event::Replied(question.clone(), reply_to(question)));
    assert!(matches!(error(&effects), Some(RequestError::StalePlan(_))), "{:?}", error(&effects));
}

#[test]
fn who_is_here_already_or_was_quarantined_is_told_so() {
    let (_, mut agent) = populated();
    let event = repack(&agent);
    let _ = handle(&mut agent, event.clone());
    let effects = handle(&mut agent, event);
    assert!(matches!(effects[..], [Effect::Answer(_, Answer::Unchanged)]), "{effects:?}");
    // Deleted while a plugin is asked.
    let (_, mut agent) = populated();
    let event = repack(&agent);
    let _ = agent.handle(&Moment::default, event);
    let effects = handle(&mut agent, delete("new"));
    assert!(matches!(error(&effects), Some(RequestError::DeletedMeanwhile(_))), "{effects:?}");
}

/// Where the disk stops at any operation of the moves, the node starts as before them or as after them.
#[test]
fn killed_at_every_file_operation_all_pods_have_moved_or_none() {
    let (disk, mut agent) = populated();
    let (before, begins) = (state(&agent), disk.operations());
    let event = repack(&agent);
    let _ = handle(&mut agent, event);
    let (after, ends) = (state(&agent), disk.operations());
    let (mut were_before, mut were_after, mut unfinished) = (0, 0, 0);
    for stops_at in begins..ends {
        let (disk, mut agent) = populated();
        disk.fails(Fault::Stop(stops_at));
        let event = repack(&agent);
        let effects = handle(&mut agent, event);
        assert!(disk.is_stopped());
        let told = state(&agent);
        assert_eq!(error(&effects).is_some(), told == before, "operation {stops_at}");
        for disk in disk.after_stop() {
            let context = format!("stopped at operation {stops_at}");
            let store = Store::on(disk.clone(), Path::new(ROOT)).unwrap();
            unfinished += usize::from(store.read_at(Path::new(MOVES)).unwrap().is_some());
            assert_eq!(findings(&disk), [""; 0], "{context}");
            assert_eq!(store.read_at(Path::new(MOVES)).unwrap(), None, "{context}");
            let now = state(&start(&disk));
            assert!(now == before || now == after, "{context}: {now:?}");
            // What was answered as done stays done.
            assert!(told == before || now == after, "{context}: {now:?}");
            were_before += usize::from(now == before);
            were_after += usize::from(now == after);
        }
    }
    assert!(were_before > 2 && were_after > 20 && unfinished > 20, "{were_before} {were_after} {unfinished}");
}

/// A start that completes the moves may be stopped itself, any number of times.
#[test]
fn killed_at_every_file_operation_of_the_start_after() {
    let (disk, mut agent) = populated();
    let begins = disk.operations();
    // The file with the moves is created, written, synced, renamed, and its folder is synced.
    disk.fails(Fault::Stop(begins + 5));
    let event = repack(&agent);
    let _ = handle(&mut agent, event);
    let after = state(&agent);
    let [left] = &disk.after_stop()[..] else { panic!("all is synced") };
    let whole = left.after_stop().remove(0);
    drop(start(&whole));
    for stops_at in 0..whole.operations() {
        let disk = left.after_stop().remove(0);
        disk.fails(Fault::Stop(stops_at));
        let store = Store::on(disk.clone(), Path::new(ROOT)).unwrap();
        let _ = complete_moves(&store);
        for disk in disk.after_stop() {
            assert_eq!(state(&start(&disk)), after, "stopped at operation {stops_at}");
        }
    }
}

/// On a disk that takes nothing, or not all, a start has the moves and is behind; later they are on disk before anything else.
#[test]
fn a_start_that_cannot_write_has_the_moves_and_writes_them_later() {
    let (disk, mut agent) = populated();
    disk.fails(Fault::Stop(disk.operations() + 5));
    let event = repack(&agent);
    let _ = handle(&mut agent, event);
    let moved = state(&agent);
    let left = disk.after_stop().remove(0);
    let whole = left.after_stop().remove(0);
    let begins = whole.operations();
    drop(start(&whole));
    let mut behind = 0;
    for fails in begins..whole.operations() {
        for event in later() {
            let disk = left.after_stop().remove(0);
            let Ok(store) = Store::on(disk.clone(), Path::new(ROOT)) else { panic!("it can be opened") };
            disk.fails(Fault::Once(disk.operations() + fails - begins));
            let Ok(FoundFolder { folder, repairs, behind: Some(not_written) }) = read_anything(&store) else {
                continue;
            };
            behind += 1;
            assert_eq!(repairs.len(), 0, "operation {fails} fails");
            let node = strict_node();
            let start_of = folder.strict(&node).unwrap();
            let inventory = Inventory::new(node.nodes().clone());
            let ledger = start_of.ledger(&node, inventory, Moment::default()).unwrap();
            let owner = Owner::new(node, &ledger, start_of.records).behind(&not_written);
            let (mut agent, _) = Agent::new(owner, store, &Moment::default);
            assert_eq!(state(&agent).pods, moved.pods, "operation {fails} fails");
            assert!(disk.after_stop().iter().all(|disk| state(&start(disk)) == moved), "{fails}");
            let _ = handle(&mut agent, event);
            let (after, snapshot) = (state(&agent), agent.snapshot());
            assert_eq!(snapshot.behind, None, "operation {fails} fails");
            assert!(disk.after_stop().iter().all(|disk| state(&start(disk)) == after), "{fails}");
        }
    }
    assert!(behind > 20, "{behind}");
}

/// What may come first after moves of which an operation has failed.
fn later() -> [Event; 5] {
    [
        Event::Plugin(PluginEvent::Gone("example.com/vf".into())),
        asked(Request::Exited("d-1".into())),
        delete("e"),
        admit("f", 1, 0),
        Event::Timer,
    ]
}

/// Moves on the disk of which this operation after the start fails; what they came to, and the node.
fn moves_failing_at(
    resident: &SimulatedDisk,
    plan: &Plan,
    fails: usize,
) -> (SimulatedDisk, TestAgent, Vec<Effect>) {
    let (disk, mut agent) = populated_like(resident);
    // It is the same node with the same plan, which takes long to find.
    let plan = Arc::new(Plan { made_against: agent.owner().ledger().version(), ..plan.clone() });
    let event = asked(Request::Repack { pod: new(), plan });
    disk.fails(Fault::Once(disk.operations() + fails));
    let effects = handle(&mut agent, event);
    (disk, agent, effects)
}

/// After moves that a failing disk left in some of their files, later changes are never undone by a start.
#[test]
fn after_one_failed_operation_no_start_brings_older_files_back() {
    let (resident, mut agent) = populated();
    let begins = resident.operations();
    let plan = plan(&agent, &new());
    let event = asked(Request::Repack { pod: new(), plan: Arc::new(plan.clone()) });
    let resident_now = resident.after_stop().remove(0);
    let _ = handle(&mut agent, event);
    let (moved, operations) = (state(&agent), resident.operations() - begins);
    // Of the file with the moves each operation, of the others the last, and those of its removal.
    let is_tried = |at: &usize| *at < 6 || at % 5 == 4 || at + 2 >= operations;
    let mut disks = 0;
    for fails in (0..operations).filter(is_tried) {
        for (which, event) in later().into_iter().enumerate() {
            let (disk, mut agent, effects) = moves_failing_at(&resident_now, &plan, fails);
            let failed = error(&effects).is_some();
            let (before, begins) = (state(&agent), disk.operations());
            assert_eq!(before == moved, !failed, "operation {fails} fails");
            assert!(agent.snapshot().behind.is_some(), "operation {fails} fails");
            let _ = handle(&mut agent, event.clone());
            let (after, ends) = (state(&agent), disk.operations());
            assert!(agent.snapshot().behind.is_none(), "operation {fails} fails");
            assert!(disk.after_stop().iter().all(|disk| state(&start(disk)) == after), "{fails}");
            for stops_at in (begins + (fails + which) % 7..ends).step_by(7) {
                let (disk, mut agent, _) = moves_failing_at(&resident_now, &plan, fails);
                disk.fails(Fault::Stop(stops_at));
                let _ = handle(&mut agent, event.clone());
                assert!(disk.is_stopped());
                for disk in disk.after_stop() {
                    disks += 1;
                    let context = format!("operation {fails} fails, stopped at {stops_at}, event {which}");
                    let now = state(&start(&disk));
                    // Moves that were answered as not stored may be there until the next change.
                    assert!(now == before || now == after || now == moved && failed, "{context}: {now:#?}");
                    assert_eq!(findings(&disk), [""; 0], "{context}");
                }
            }
        }
    }
    assert!(disks > 1000, "{disks}");
}

#[test]
fn moves_that_cannot_be_read_are_put_aside() {
    let (disk, mut agent) = populated();
    let before = state(&agent);
    disk.fails(Fault::Stop(disk.operations() + 5));
    let event = repack(&agent);
    let _ = handle(&mut agent, event);
    let left = disk.after_stop().remove(0);
    let store = Store::on(left.clone(), Path::new(ROOT)).unwrap();
    let path = Path::new(MOVES);
    let mut text = store.read_at(path).unwrap().unwrap();
    let middle = text.len() / 2;
    text[middle] ^= 1;
    store.write_at(path, &text).unwrap();
    assert!(matches!(complete_moves(&store).unwrap(), Unfinished::Damaged(_)));
    assert_eq!(findings(&left).len(), 1);
    assert_eq!(store.read_at(path).unwrap(), None);
    assert_eq!(store.read_at(Path::new("topolet/moves.json.bak-1")).unwrap(), Some(text));
    assert_eq!(state(&start(&left)), before);
}
