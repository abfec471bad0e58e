//! Starts from damaged folders: random states, damaged at random, always start, and nothing is lost or owned twice.

use crate::common;
use crate::starting;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cpuset::CpuSet;
use device_manager::{AllocateReply, Device, Inventory, Moment, PluginOptions, Reply};
use k8s_quantity::{Format, Quantity};
use kubelet_checkpoint::cpu::{ContainerIds, CpuFile, CpuFormat};
use kubelet_checkpoint::store::StateFile;
use kubelet_checkpoint::{Forms, PodLevel};
use node_agent::{Effect, Event, FileName, Owner, PluginEvent, Request, Ticket};
use node_config::KubeletConfiguration;
use node_state::{FaultKind, OldContents, PODS, PodList, RepairPlan};
use pod_spec::{Container, ContainerKey, ContainerName, Pod, PodUid, ResourceName, Role};
use proptest::prelude::*;
use topology_admission::{Ledger, Node};
use topology_model::{KubeletView, MachineCore, MachineInfo, MachineNode};

use crate::starting::{Disk, drive, found};

const VF: &str = "example.com/vf";

/// A machine with two NUMA nodes and its configuration.
#[derive(Clone, Debug)]
struct Shape {
    /// CPUs of the second node; the first has four.
    cpus: i64,
    gib: u64,
    reserved: &'static str,
    cpu_policy: &'static str,
    memory_policy: &'static str,
    strict_reserved: bool,
}

const USUAL: Shape = Shape {
    cpus: 8,
    gib: 16,
    reserved: "0",
    cpu_policy: "static",
    memory_policy: "Static",
    strict_reserved: false,
};

fn node(shape: &Shape) -> Arc<Node> {
    let core = |cpu| MachineCore { thread_ids: Some(vec![cpu]), ..MachineCore::default() };
    let numa = |id, cpus: std::ops::Range<i64>| MachineNode {
        id,
        memory: shape.gib << 30,
        cores: Some(cpus.map(core).collect()),
        ..MachineNode::default()
    };
    let machine = MachineInfo {
        num_cpus: 4 + shape.cpus,
        num_sockets: 1,
        memory_capacity: shape.gib << 31,
        topology: Some(vec![numa(0, 0..4), numa(1, 4..4 + shape.cpus)]),
        ..MachineInfo::default()
    };
    let text = |text: &str| Some(text.to_owned());
    let amount = |bytes| Quantity::from_units(bytes, Format::BinarySi);
    let strict = [("strict-cpu-reservation".to_owned(), "true".to_owned())];
    let config = KubeletConfiguration {
        cpu_manager_policy: text(shape.cpu_policy),
        cpu_manager_policy_options: strict.into_iter().filter(|_| shape.strict_reserved).collect(),
        memory_manager_policy: text(shape.memory_policy),
        topology_manager_policy: text("best-effort"),
        reserved_system_cpus: text(shape.reserved),
        system_reserved: [("memory".to_owned(), ((1_i64 << 30) - (100 << 20)).to_string())].into(),
        reserved_memory: vec![node_config::ReservedMemory {
            numa_node: 0,
            limits: [("memory".to_owned(), amount(1 << 30))].into(),
        }],
        ..KubeletConfiguration::default()
    };
    let view = KubeletView::new(&machine).unwrap();
    Arc::new(Node::start(&view, &config).unwrap())
}

fn pod(name: &str, cpus: u32, gib: u32, devices: u32) -> Arc<Pod> {
    let amount = |value: u32| Quantity::from_units(i64::from(value), Format::DecimalSi);
    let mut limits = pod_spec::ResourceList::new();
    limits.insert("cpu".into(), amount(cpus));
    limits.insert("memory".into(), Quantity::from_units(i64::from(gib) << 30, Format::BinarySi));
    if devices > 0 {
        limits.insert(VF.into(), amount(devices));
    }
    let container =
        Container { name: ContainerName::new("app"), role: Role::App, requests: limits.clone(), limits };
    let mut pod = Pod::new("default", name, vec![container]);
    pod.uid = PodUid::new(&format!("default_{name}"));
    Arc::new(pod)
}

/// Pods of so many CPUs, GiB and devices, every one with a container that runs.
fn state(shape: &Shape, pods: &[(u32, u32, u32)], prefix: &str) -> (Disk, Ledger) {
    let node = node(shape);
    let mut disk = Disk::new();
    let ledger = node.empty_ledger().with_inventory(Inventory::new(node.nodes().clone()));
    let mut owner = Owner::new(node, &ledger, []);
    let resource = ResourceName::new(VF);
    let devices = (0..4).map(|at| Device::new(&format!("vf{at}"), &[at % 2]));
    for event in [
        PluginEvent::Registered(resource.clone(), PluginOptions::default()),
        PluginEvent::Listed(resource, devices.collect()),
    ] {
        owner.handle(Moment::default(), Event::Plugin(event));
        drive(&mut owner, &mut disk);
    }
    for (at, (cpus, gib, devices)) in pods.iter().enumerate() {
        let pod = pod(&format!("{prefix}{at}"), *cpus, *gib, *devices);
        let container = ContainerKey { pod: pod.uid.clone(), container: ContainerName::new("app") };
        owner.handle(Moment::default(), Event::Request(Ticket(0), Request::Admit(pod)));
        while let Some(question) = drive(&mut owner, &mut disk).into_iter().find_map(|effect| match effect {
            Effect::Ask(question) => Some(question),
            _ => None,
        }) {
            let reply = Reply::Allocated(AllocateReply(Arc::from(&b"x"[..])));
            owner.handle(Moment::default(), Event::Replied(question, reply));
        }
        let id = format!("{prefix}-{at}").as_str().into();
        let started = Request::Started { container, id, cgroup: None };
        owner.handle(Moment::default(), Event::Request(Ticket(0), started));
        drive(&mut owner, &mut disk);
    }
    let ledger = owner.ledger().clone();
    (disk, ledger)
}

/// Starts from `disk` on a node of that shape, checks what always holds, and gives what was found and the files
/// afterwards.
fn start(disk: &Disk, shape: &Shape, runs: &PodList) -> (RepairPlan, Ledger, Disk) {
    starting::start(disk, &node(shape), runs)
}

/// The same, unless damage made a file one of no known format, which may hold anything: that is left as it is.
fn start_if_known(disk: &Disk, shape: &Shape, runs: &PodList) {
    starting::start_if_known(disk, &node(shape), runs);
}

#[test]
fn a_file_of_a_format_to_come_is_left_alone_unless_pods_say_what_they_hold() {
    let (mut disk, before) = state(&USUAL, &PODS_HERE, "a");
    for (file, text) in [
        (StateFile::Cpu, r#"{"data":"{\"lent\":{}}","dataChecksum":1}"#),
        (StateFile::Memory, r#"{"policyName":"Static","tiers":{"0":"hbm"},"checksum":7}"#),
        (StateFile::Device, r#"{"Data":{"Claims":[],"RegisteredDevices":{}},"Checksum":7}"#),
    ] {
        disk.insert(PathBuf::from(file.path()), text.into());
        let mut alone = disk.clone();
        alone.retain(|path, _| path == Path::new(file.path()));
        for runs in [PodList::Recorded, PodList::Unknown, PodList::Listed(BTreeMap::new())] {
            let refused = found(&alone).plan_repair(&node(&USUAL), &runs).unwrap_err();
            assert_eq!(refused.file, file);
        }
    }
    assert!(found(&disk).plan_repair(&node(&USUAL), &PodList::Unknown).is_err());
    let (repaired, after, _) = start(&disk, &USUAL, &PodList::Recorded);
    assert_eq!(
        repaired
            .findings
            .iter()
            .filter(|repair| repair.finding.fault.kind() == FaultKind::Unreadable)
            .count(),
        3
    );
    assert!(repaired.quarantined.is_empty());
    nothing_is_lost(&before, &after, &CpuSet::new(), &BTreeSet::new());
}

/// What pods of `before` that are still recorded held is held, but for `lost`.
fn nothing_is_lost(before: &Ledger, after: &Ledger, gone: &CpuSet, except: &BTreeSet<PodUid>) {
    let is_here = |pod: &PodUid| !except.contains(pod);
    if let (Some(before), Some(after)) = (before.cpus(), after.cpus()) {
        for (pod, container, cpus) in before.iter().filter(|(pod, ..)| is_here(pod)) {
            let now = after.assigned(pod, container).cloned().unwrap_or_default();
            assert_eq!(&now, &(cpus - gone), "{pod} {container}");
        }
    }
    if let (Some(before), Some(after)) = (before.memory(), after.memory()) {
        for (pod, container, blocks) in before.iter().filter(|(pod, ..)| is_here(pod)) {
            assert_eq!(after.assigned(pod, container), Some(blocks), "{pod} {container}");
        }
    }
    for (pod, container, resource, held) in before.devices().iter().filter(|(pod, ..)| is_here(pod)) {
        assert_eq!(after.devices().held(pod, container, resource), Some(held));
    }
}

const PODS_HERE: [(u32, u32, u32); 3] = [(2, 2, 1), (3, 4, 0), (1, 1, 2)];

#[test]
fn a_state_that_is_right_starts_as_strictly() {
    let (disk, before) = state(&USUAL, &PODS_HERE, "a");
    let (repaired, after, files) = start(&disk, &USUAL, &PodList::Recorded);
    assert!(repaired.findings.is_empty(), "{:?}", repaired.findings);
    assert!(repaired.quarantined.is_empty());
    nothing_is_lost(&before, &after, &CpuSet::new(), &BTreeSet::new());
    assert_eq!(before.devices().iter().count(), 2);
    let pods = |disk: &Disk| disk.iter().filter(|(path, _)| path.starts_with(PODS)).count();
    assert_eq!((pods(&disk), pods(&files)), (3, 3));
}

#[test]
fn state_files_that_are_gone_come_back_from_pods_own_files() {
    let (mut disk, before) = state(&USUAL, &PODS_HERE, "a");
    disk.retain(|path, _| path.starts_with(PODS));
    let (repaired, after, _) = start(&disk, &USUAL, &PodList::Recorded);
    assert!(
        repaired.findings.iter().all(|repair| repair.finding.fault.kind() == FaultKind::Missing),
        "{repaired:?}"
    );
    assert_eq!(repaired.findings.len(), 3);
    assert!(repaired.quarantined.is_empty());
    nothing_is_lost(&before, &after, &CpuSet::new(), &BTreeSet::new());
}

#[test]
fn a_pod_whose_file_is_torn_stays_with_what_it_holds() {
    let (mut disk, before) = state(&USUAL, &PODS_HERE, "a");
    let uid = PodUid::new("default_a1");
    disk.get_mut(&FileName::Pod(uid.clone()).path()).unwrap().truncate(30);
    let (repaired, after, _) = start(&disk, &USUAL, &PodList::Recorded);
    assert_eq!(repaired.quarantined.keys().collect::<Vec<_>>(), [&uid]);
    let record = repaired.start.records.iter().find(|record| record.pod.uid == uid).unwrap();
    assert_eq!((&*record.pod.namespace, &*record.pod.name), ("default", "a1"));
    nothing_is_lost(&before, &after, &CpuSet::new(), &BTreeSet::new());
}

/// Only a pod without a file is left by a change that was cut short. Anything else was edited or restored.
#[test]
fn a_state_file_that_says_something_else_of_a_pod_with_a_file_is_repaired_with_a_backup() {
    let (mut disk, before) = state(&USUAL, &PODS_HERE, "a");
    let file = PathBuf::from(StateFile::Cpu.path());
    let mut read = CpuFile::read(&disk[&file], Forms::plain(PodLevel::Off), &ContainerIds::new())
        .unwrap()
        .state()
        .unwrap();
    // A restored file: one pod had less then, and the rest of the file is as it should be.
    let held =
        read.containers.values_mut().flat_map(BTreeMap::values_mut).find(|cpus| cpus.len() > 1).unwrap();
    let one: CpuSet = held.iter().take(1).collect();
    *held -= &one;
    read.shared = &read.shared | &one;
    disk.insert(file.clone(), read.encode(CpuFormat::V2).into_bytes());
    let (repaired, after, _) = start(&disk, &USUAL, &PodList::Recorded);
    assert!(
        repaired.findings.iter().any(|repair| repair.finding.fault.kind() == FaultKind::Disagreement),
        "{repaired:?}"
    );
    assert_eq!(repaired.unfinished, None);
    nothing_is_lost(&before, &after, &CpuSet::new(), &BTreeSet::new());
    let mut repaired = repaired;
    let mended = repaired.settle(&node(&USUAL), &after);
    assert!(mended.iter().any(|mended| mended.path == file && mended.old == OldContents::Kept), "{mended:?}");
}

#[test]
fn cpus_of_the_system_and_cpus_that_are_gone_are_told_and_taken() {
    let (disk, before) = state(&USUAL, &PODS_HERE, "a");
    let held = before.cpus().unwrap();
    let of = |name: &str| held.assigned(&PodUid::new(name), &ContainerName::new("app")).cloned().unwrap();
    assert_eq!(of("default_a0").to_string(), "1-2");
    let now = Shape { reserved: "0-1", ..USUAL };
    let (repaired, after, _) = start(&disk, &now, &PodList::Recorded);
    assert_eq!(repaired.quarantined.keys().map(PodUid::as_str).collect::<Vec<_>>(), ["default_a0"]);
    assert_eq!(
        repaired.findings[0].finding.fault.to_string(),
        "default/a0 holds CPU 1, which the configuration reserves for the system"
    );
    nothing_is_lost(&before, &after, &"0-1".parse().unwrap(), &BTreeSet::new());

    let now = Shape { cpus: 2, ..USUAL };
    let (repaired, after, _) = start(&disk, &now, &PodList::Recorded);
    assert!(repaired.findings.iter().any(|repair| repair.finding.fault.kind() == FaultKind::CpusGone));
    nothing_is_lost(&before, &after, &"6-11".parse().unwrap(), &BTreeSet::new());
}

/// Plugins call their devices what they like, and answer at length.
#[test]
fn whatever_a_plugin_says_a_pods_own_file_is_read_again() {
    let node = common::node();
    let resource = ResourceName::new(VF);
    let names = ["\u{7f}", "\u{9b}", "\u{2028}", "\u{feff}", "\u{ffff}", "\u{1f600}", "\"\\: {", ""];
    let devices = names.map(|name| Device::new(&format!("vf{name}"), &[0]));
    let reply = Reply::Allocated(AllocateReply(vec![0xff; 400 << 10].into()));
    let mut disk = Disk::new();
    let ledger = node.empty_ledger().with_inventory(Inventory::new(node.nodes().clone()));
    let mut owner = Owner::new(node.clone(), &ledger, []);
    let count = u32::try_from(names.len()).unwrap();
    let mut events = vec![
        Event::Request(Ticket(0), Request::Admit(common::pod("a", 1, count))),
        Event::Plugin(PluginEvent::Listed(resource.clone(), devices.to_vec())),
        Event::Plugin(PluginEvent::Registered(resource, PluginOptions::default())),
    ];
    while let Some(event) = events.pop() {
        owner.handle(Moment::default(), event);
        for effect in drive(&mut owner, &mut disk) {
            if let Effect::Ask(question) = effect {
                events.push(Event::Replied(question, reply.clone()));
            }
        }
    }
    let (repaired, after, _) = starting::start(&disk, &node, &PodList::Recorded);
    assert!(repaired.findings.is_empty(), "{:?}", repaired.findings);
    let held: usize = after.devices().iter().map(|(_, _, _, held)| held.devices().len()).sum();
    assert_eq!(held, names.len());
}

/// What is done to a folder.
#[derive(Clone, Debug)]
enum Damage {
    Flip {
        file: usize,
        at: usize,
        bit: u8,
    },
    Cut {
        file: usize,
        at: usize,
    },
    Remove {
        file: usize,
    },
    /// A state file of another node.
    Swap {
        file: usize,
    },
}

impl Damage {
    fn apply(&self, disk: &mut Disk, other: &Disk) -> PathBuf {
        let (Self::Flip { file, .. } | Self::Cut { file, .. } | Self::Remove { file } | Self::Swap { file }) =
            self;
        let names: Vec<PathBuf> = match self {
            Self::Swap { .. } => other.keys().cloned().collect(),
            _ => disk.keys().cloned().collect(),
        };
        let path = names[file % names.len()].clone();
        match self {
            Self::Swap { .. } => {
                disk.insert(path.clone(), other[&path].clone());
            }
            Self::Remove { .. } => {
                disk.remove(&path);
            }
            Self::Flip { at, bit, .. } => {
                if let Some(text) = disk.get_mut(&path).filter(|text| !text.is_empty()) {
                    let at = at % text.len();
                    text[at] ^= 1 << bit;
                }
            }
            Self::Cut { at, .. } => {
                if let Some(text) = disk.get_mut(&path) {
                    text.truncate(at % (text.len() + 1));
                }
            }
        }
        path
    }
}

fn damage() -> impl Strategy<Value = Damage> {
    let file = 0..16_usize;
    prop_oneof![
        4 => (file.clone(), any::<usize>(), 0..7_u8).prop_map(|(file, at, bit)| Damage::Flip { file, at, bit }),
        2 => (file.clone(), any::<usize>()).prop_map(|(file, at)| Damage::Cut { file, at }),
        1 => file.clone().prop_map(|file| Damage::Remove { file }),
        2 => file.prop_map(|file| Damage::Swap { file }),
    ]
}

fn shape() -> impl Strategy<Value = Shape> {
    let reserved = prop::sample::select(vec!["0", "0-1", "3", "0,4"]);
    let cpu_policy = prop::sample::select(vec!["static", "static", "static", "none"]);
    let memory_policy = prop::sample::select(vec!["Static", "Static", "None"]);
    (
        2..10_i64,
        prop::sample::select(vec![4, 8, 16, 24_u64]),
        reserved,
        cpu_policy,
        memory_policy,
        any::<bool>(),
    )
        .prop_map(|(cpus, gib, reserved, cpu_policy, memory_policy, strict)| Shape {
            cpus,
            gib,
            reserved,
            cpu_policy,
            memory_policy,
            strict_reserved: strict && cpu_policy == "static",
        })
}

fn pods() -> impl Strategy<Value = Vec<(u32, u32, u32)>> {
    prop::collection::vec((1..4_u32, 1..9_u32, 0..3_u32), 0..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn one_damaged_file_loses_nothing(pods in pods(), others in pods(), damage in damage()) {
        let (mut disk, before) = state(&USUAL, &pods, "a");
        let (other, _) = state(&USUAL, &others, "a");
        let path = damage.apply(&mut disk, &other);
        if found(&disk).plan_repair(&node(&USUAL), &PodList::Recorded).is_err() {
            // A member of another name, and no pod's own file that would say what is held.
            prop_assert!(!disk.keys().any(|path| path.starts_with(PODS)));
            return Ok(());
        }
        let (repaired, after, _) = start(&disk, &USUAL, &PodList::Recorded);
        // A pod is here as long as its file is, and where that is another node's it says what it says.
        let is_own = |pod: &&PodUid| {
            FileName::Pod((*pod).clone()).path() == path && matches!(damage, Damage::Remove { .. } | Damage::Swap { .. })
        };
        let except: BTreeSet<PodUid> = before.pods().map(|pod| &pod.uid).filter(is_own).cloned().collect();
        if except.is_empty() && !matches!(damage, Damage::Swap { .. }) {
            nothing_is_lost(&before, &after, &CpuSet::new(), &except);
            for pod in before.pods() {
                prop_assert!(repaired.start.records.iter().any(|record| record.pod.uid == pod.uid));
            }
        }
        if path.starts_with(PODS) { return Ok(()); }
        // What state files say is of no account where pods have their own.
        nothing_is_lost(&before, &after, &CpuSet::new(), &except);
        prop_assert!(repaired.quarantined.is_empty());
    }

    #[test]
    fn a_changed_node_keeps_what_it_can(pods in pods(), now in shape()) {
        let (disk, before) = state(&USUAL, &pods, "a");
        let (_, after, _) = start(&disk, &now, &PodList::Recorded);
        let node = node(&now);
        if let Some(policy) = node.cpus() {
            let here = policy.allocatable();
            let gone: CpuSet = &"0-31".parse::<CpuSet>().unwrap() - &here;
            nothing_is_lost(&before, &after, &gone, &BTreeSet::new());
        }
    }

    #[test]
    fn anything_starts(
        pods in pods(),
        others in pods(),
        was in shape(),
        now in shape(),
        damages in prop::collection::vec(damage(), 0..5),
        runs in prop::sample::select(vec![PodList::Recorded, PodList::Unknown]),
    ) {
        let (mut disk, _) = state(&was, &pods, "a");
        let (other, _) = state(&USUAL, &others, "b");
        for damage in &damages {
            if disk.is_empty() { break }
            damage.apply(&mut disk, &other);
        }
        start_if_known(&disk, &now, &runs);
        // As in a kubelet's folder, in which pods have no files.
        disk.retain(|path, _| !path.starts_with(PODS));
        start_if_known(&disk, &now, &PodList::Unknown);
    }
}
