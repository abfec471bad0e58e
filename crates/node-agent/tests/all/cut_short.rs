//! A change of one pod that was cut short, and a disk that is full at the start after it: the node starts, and the change
//! is completed before any other.

use std::collections::BTreeMap;
use std::path::Path;

use crate::common::{pod, strict_node, uid};
use cpuset::CpuSet;
use device_manager::{Inventory, Moment};
use kubelet_checkpoint::store::{Fault, SimulatedDisk, Store, StoreError};
use node_agent::{Agent, Event, FoundFolder, Owner, Request, Ticket, mend, read_anything};
use node_state::{FileRepair, OldContents, PodList, RepairPlan};
use pod_spec::{ContainerName, PodUid};

const ROOT: &str = "/kubelet";

type TestAgent = Agent<SimulatedDisk>;

/// Pods with their exclusive CPUs.
fn state(owner: &Owner) -> BTreeMap<PodUid, CpuSet> {
    let app = ContainerName::new("app");
    let cpus = |uid: &PodUid| owner.ledger().cpus().and_then(|held| held.assigned(uid, &app)).cloned();
    owner.pods().map(|record| (record.pod.uid.clone(), cpus(&record.pod.uid).unwrap_or_default())).collect()
}

/// What a start finds, and the plan of what it does.
fn found(store: &Store<SimulatedDisk>) -> (RepairPlan, Vec<FileRepair>, Owner) {
    let node = strict_node();
    let FoundFolder { folder, repairs, behind } = read_anything(store).unwrap();
    assert!(repairs.is_empty() && behind.is_none());
    let mut plan = folder.plan_repair(&node, &PodList::Recorded).unwrap();
    let ledger = plan.start.ledger(&node, Inventory::new(node.nodes().clone()), Moment::default()).unwrap();
    let mended = plan.settle(&node, &ledger);
    let owner = Owner::new(node, &ledger, plan.start.records.clone());
    (plan, mended, owner)
}

/// The pods that a start from this disk has, where it finds nothing but at most one change that was cut short.
fn started(disk: &SimulatedDisk, context: &str) -> BTreeMap<PodUid, CpuSet> {
    let (plan, _, owner) = found(&Store::on(disk.clone(), Path::new(ROOT)).unwrap());
    let faults: Vec<String> = plan.findings.iter().map(|repair| repair.finding.fault.to_string()).collect();
    assert!(faults.is_empty(), "{context}: {faults:?}");
    state(&owner)
}

/// A node that starts from a disk whose operation `fails`, from the first of the completion, fails, and so does the
/// next that is tried; `None`: there is nothing to complete, or it is completed.
fn start_on(disk: &SimulatedDisk, fails: usize) -> Option<TestAgent> {
    let store = Store::on(disk.clone(), Path::new(ROOT)).unwrap();
    let (plan, mended, owner) = found(&store);
    plan.unfinished.as_ref()?;
    assert!(mended.iter().all(|repair| repair.old == OldContents::Dropped));
    disk.fails(Fault::Once(disk.operations() + fails));
    let why: StoreError = mend(&store, &mended).err()?;
    let owner = owner.uncompleted(&mended, &why);
    disk.fails(Fault::Once(disk.operations()));
    let (agent, _) = Agent::new(owner, store, &Moment::default);
    assert!(agent.snapshot().behind.is_some());
    Some(agent)
}

fn handle(agent: &mut TestAgent, event: Event) {
    let _ = agent.handle(&Moment::default, event);
}

fn admit(name: &str, cpus: u32) -> Event {
    Event::Request(Ticket(0), Request::Admit(pod(name, cpus, 0)))
}

fn delete(name: &str) -> Event {
    Event::Request(Ticket(0), Request::Delete(uid(name)))
}

/// Two pods, which have two CPUs each.
fn two_pods() -> (SimulatedDisk, TestAgent) {
    let disk = SimulatedDisk::default();
    let store = Store::on(disk.clone(), Path::new(ROOT)).unwrap();
    let (_, _, owner) = found(&store);
    let (mut agent, _) = Agent::new(owner, store, &Moment::default);
    for name in ["a", "b"] {
        handle(&mut agent, admit(name, 2));
    }
    assert_eq!(agent.owner().pods().count(), 2);
    (disk, agent)
}

/// Every disk on which a pod's coming or going was cut short.
fn cut_short() -> Vec<(String, SimulatedDisk)> {
    let mut disks = Vec::new();
    for (what, event) in [("admit", admit("c", 1)), ("delete", delete("b"))] {
        let (whole, mut agent) = two_pods();
        let begins = whole.operations();
        handle(&mut agent, event.clone());
        for stops in begins..whole.operations() {
            let (disk, mut agent) = two_pods();
            disk.fails(Fault::Stop(stops));
            handle(&mut agent, event.clone());
            let left =
                disk.after_stop().into_iter().map(|disk| (format!("{what}, stopped at {stops}"), disk));
            disks.extend(left);
        }
    }
    disks
}

#[test]
fn a_start_on_a_full_disk_goes_on_and_completes_the_change_later() {
    let mut starts = 0;
    for (context, left) in cut_short() {
        let expected = started(&left, &context);
        for fails in 0.. {
            let disk = left.after_stop().remove(0);
            let Some(mut agent) = start_on(&disk, fails) else { break };
            starts += 1;
            assert_eq!(state(agent.owner()), expected, "{context}, {fails}");
            handle(&mut agent, Event::Timer);
            assert_eq!(agent.snapshot().behind, None, "{context}, {fails}");
            let (plan, ..) = found(&Store::on(disk.clone(), Path::new(ROOT)).unwrap());
            assert_eq!(plan.unfinished, None, "{context}, {fails}");
            assert_eq!(started(&disk, &context), expected);
        }
    }
    assert!(starts > 20, "{starts}");
}

#[test]
fn no_other_change_is_begun_before_it_is_completed() {
    let mut stops = 0;
    for (context, left) in cut_short() {
        let before = started(&left, &context);
        for (what, next) in [("delete", delete("a")), ("admit", admit("d", 1))] {
            let disk = left.after_stop().remove(0);
            let Some(mut agent) = start_on(&disk, 0) else { continue };
            let begins = disk.operations();
            handle(&mut agent, next.clone());
            let after = state(agent.owner());
            assert_ne!(after, before, "{context}: {what}");
            for stop in begins..disk.operations() {
                stops += 1;
                let disk = left.after_stop().remove(0);
                let mut agent = start_on(&disk, 0).unwrap();
                disk.fails(Fault::Stop(stop));
                handle(&mut agent, next.clone());
                for disk in disk.after_stop() {
                    let context = format!("{context}; then {what}, stopped at {stop}");
                    let now = started(&disk, &context);
                    assert!(now == before || now == after, "{context}: {now:?}");
                }
            }
        }
    }
    assert!(stops > 100, "{stops}");
}
