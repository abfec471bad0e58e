//! Damaged folders of which the truth is known: every pod that runs holds exactly what it held, or is quarantined.
//!
//! `TOPOLET_MUTANTS=5000` tries more folders than the 500 of a usual run; the first ones are the same.

#![allow(dead_code, reason = "what tests of starts share has parts for others")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use crate::starting::{Disk, drive, found};
use device_manager::{AllocateReply, Device, Inventory, Moment, PluginOptions, Reply};
use k8s_quantity::{Format, Quantity};
use kubelet_checkpoint::store::StateFile;
use node_agent::{Effect, Event, Owner, PluginEvent, Request, Ticket};
use node_config::KubeletConfiguration;
use node_state::{Grants, PODS, PodList, RunningPod, Standing};
use pod_spec::{Container, ContainerName, Pod, PodUid, QosClass, ResourceName, Role};
use topology_admission::{Ledger, Node};
use topology_model::{KubeletView, MachineCore, MachineInfo, MachineNode};

const VF: &str = "example.com/vf";

/// Numbers that are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Below `end`; 0 if that is 0.
    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % (end.max(1) as u64)).unwrap()
    }
}

/// A node with `nodes` NUMA nodes of so many cores with two threads each.
fn node(nodes: i64, cores: i64, gib: u64, reserved: &str) -> Arc<Node> {
    let all = nodes * cores;
    let numa = |id: i64| MachineNode {
        id,
        memory: gib << 30,
        cores: Some(
            (id * cores..(id + 1) * cores)
                .map(|core| MachineCore {
                    thread_ids: Some(vec![core, core + all]),
                    ..MachineCore::default()
                })
                .collect(),
        ),
        ..MachineNode::default()
    };
    let machine = MachineInfo {
        num_cpus: 2 * all,
        num_sockets: nodes,
        memory_capacity: (gib << 30) * u64::try_from(nodes).unwrap(),
        topology: Some((0..nodes).map(numa).collect()),
        ..MachineInfo::default()
    };
    let text = |text: &str| Some(text.to_owned());
    let config = KubeletConfiguration {
        cpu_manager_policy: text("static"),
        memory_manager_policy: text("Static"),
        topology_manager_policy: text("best-effort"),
        reserved_system_cpus: text(reserved),
        system_reserved: [("memory".to_owned(), ((1_i64 << 30) - (100 << 20)).to_string())].into(),
        reserved_memory: vec![node_config::ReservedMemory {
            numa_node: 0,
            limits: [("memory".to_owned(), Quantity::from_units(1 << 30, Format::BinarySi))].into(),
        }],
        ..KubeletConfiguration::default()
    };
    let view = KubeletView::new(&machine).unwrap();
    Arc::new(Node::start(&view, &config).unwrap())
}

fn pod(name: &str, containers: &[(u32, u32, u32)]) -> Arc<Pod> {
    let amount = |value: u32| Quantity::from_units(i64::from(value), Format::DecimalSi);
    let container = |(at, (cpus, gib, devices)): (usize, &(u32, u32, u32))| {
        let mut limits = pod_spec::ResourceList::new();
        if *cpus > 0 {
            limits.insert("cpu".into(), amount(*cpus));
            limits.insert("memory".into(), Quantity::from_units(i64::from(*gib) << 30, Format::BinarySi));
        }
        if *devices > 0 {
            limits.insert(VF.into(), amount(*devices));
        }
        let name = ContainerName::new(["app", "proxy", "sidecar"][at % 3]);
        Container { name, role: Role::App, requests: limits.clone(), limits }
    };
    let mut pod = Pod::new("default", name, containers.iter().enumerate().map(container).collect());
    // As an API server makes them, which also says what class it is.
    let digits: u64 =
        name.bytes().fold(7, |digits: u64, byte| digits.wrapping_mul(31).wrapping_add(byte.into()));
    pod.uid = PodUid::new(&format!("{:08x}-13aa-4c0f-8d4e-{:012x}", digits % (1 << 32), digits));
    pod.status_qos = Some(if containers[0].0 > 0 { QosClass::Guaranteed } else { QosClass::BestEffort });
    Arc::new(pod)
}

/// How it is known which pods run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum List {
    /// By manifests, as `--pods` has them.
    Manifests,
    /// By names, as folders of logs have them.
    Names,
    /// By pods' own files.
    Own,
}

/// A folder and what is true of it.
struct Fixture {
    node: Arc<Node>,
    disk: Disk,
    ledger: Ledger,
    pods: Vec<Arc<Pod>>,
    list: List,
}

fn fixture(seed: u64) -> Fixture {
    let mut numbers = Numbers(seed);
    let nodes = 1 + i64::try_from(seed % 4).unwrap();
    let node = node(
        nodes,
        4 + i64::try_from(numbers.below(12)).unwrap(),
        16 << numbers.below(3),
        ["0", "0-1"][numbers.below(2)],
    );
    let mut disk = Disk::new();
    let ledger = node.empty_ledger().with_inventory(Inventory::new(node.nodes().clone()));
    let mut owner = Owner::new(node.clone(), &ledger, []);
    let resource = ResourceName::new(VF);
    let devices = (0..6).map(|at| Device::new(&format!("0000:18:01.{at}"), &[at % nodes]));
    for event in [
        PluginEvent::Registered(resource.clone(), PluginOptions::default()),
        PluginEvent::Listed(resource, devices.collect()),
    ] {
        owner.handle(Moment::default(), Event::Plugin(event));
        drive(&mut owner, &mut disk);
    }
    for at in 0..2 + numbers.below(6) {
        let containers: Vec<(u32, u32, u32)> = (0..=numbers.below(2))
            .map(|_| {
                let mut below = |end| u32::try_from(numbers.below(end)).unwrap();
                (1 + below(3), 1 + below(4), below(5).saturating_sub(2))
            })
            .collect();
        let containers = if numbers.below(5) == 0 { vec![(0, 0, 0)] } else { containers };
        let pod = pod(&format!("{}{at}-{seed}", ["ran-", "ml-", "web-"][at % 3]), &containers);
        owner.handle(Moment::default(), Event::Request(Ticket(0), Request::Admit(pod)));
        while let Some(question) = drive(&mut owner, &mut disk).into_iter().find_map(|effect| match effect {
            Effect::Ask(question) => Some(question),
            _ => None,
        }) {
            let reply = Reply::Allocated(AllocateReply(Arc::from(&b"\x0a\x0a\x0a\x03PCI\x12\x03all"[..])));
            owner.handle(Moment::default(), Event::Replied(question, reply));
        }
    }
    let list = [List::Manifests, List::Manifests, List::Names, List::Own][numbers.below(4)];
    if list != List::Own {
        disk.retain(|path, _| !path.starts_with(PODS));
    }
    let pods = owner.pods().map(|record| record.pod.clone()).collect();
    Fixture { node, ledger: owner.ledger().clone(), disk, pods, list }
}

/// One thing that is done to a folder; what it was.
fn damage(numbers: &mut Numbers, disk: &mut Disk, other: &Disk) -> String {
    let names: Vec<PathBuf> = disk.keys().cloned().collect();
    let path = names[numbers.below(names.len())].clone();
    let text = disk.get_mut(&path).unwrap();
    let at = numbers.below(text.len());
    let shown = path.display();
    match numbers.below(8) {
        0 | 1 => {
            text.truncate(at);
            format!("{shown} is cut at {at}")
        }
        2 => {
            let most = text.len().min(20);
            let missing = 1 + numbers.below(most);
            text.truncate(text.len().saturating_sub(missing));
            format!("{shown} lacks its last {missing} bytes")
        }
        3 => {
            let bit = numbers.below(8);
            if let Some(byte) = text.get_mut(at) {
                *byte ^= 1 << bit;
            }
            format!("{shown} has bit {bit} of byte {at} flipped")
        }
        4 => {
            let digits: Vec<usize> = (0..text.len()).filter(|at| text[*at].is_ascii_digit()).collect();
            if digits.is_empty() {
                return format!("{shown} has no digit");
            }
            let at = digits[numbers.below(digits.len())];
            let digit = b'0' + u8::try_from(numbers.below(10)).unwrap();
            text[at] = digit;
            format!("{shown} has a {} at {at}", digit - b'0')
        }
        5 => {
            let end = (at + 1 + numbers.below(512)).min(text.len());
            text[at.min(end)..end].fill(0);
            format!("{shown} is zero from {at} to {end}")
        }
        6 => {
            let edit_of = [Edit::Remove, Edit::Double][numbers.below(2)];
            let Ok(mut value) = serde_json::from_slice::<serde_json::Value>(text) else {
                return format!("{shown} is no JSON");
            };
            let told = edit(numbers, &mut value, edit_of);
            *text = value.to_string().into_bytes();
            format!("{shown}: {told}")
        }
        _ => match other.get(&path) {
            // A file without holders may be any node's.
            Some(theirs) if String::from_utf8_lossy(theirs).contains("13aa-4c0f") => {
                text.clone_from(theirs);
                format!("{shown} is another node's")
            }
            _ => format!("{shown} has no like"),
        },
    }
}

/// What is done to a member or item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Edit {
    Remove,
    Double,
}

/// Removes or doubles a member or item of something in `value`.
fn edit(numbers: &mut Numbers, value: &mut serde_json::Value, how: Edit) -> String {
    use serde_json::Value;
    let count = match value {
        Value::Object(members) => members.len(),
        Value::Array(items) => items.len(),
        _ => 0,
    };
    if count == 0 {
        return "nothing".to_owned();
    }
    let at = numbers.below(count);
    let goes_on = numbers.below(3) > 0;
    match value {
        Value::Object(members) => {
            let name = members.keys().nth(at).unwrap().clone();
            let is_value = |value: &Value| value.is_object() || value.is_array();
            if goes_on && members.get(&name).is_some_and(is_value) {
                return format!("{name} {}", edit(numbers, members.get_mut(&name).unwrap(), how));
            }
            let taken = members.remove(&name).unwrap();
            if how == Edit::Double {
                // The same under the name of another.
                let other = members.keys().next().cloned().unwrap_or_else(|| name.clone());
                members.insert(name.clone(), taken.clone());
                members.insert(other, taken);
                return format!("{name} is doubled");
            }
            format!("{name} is taken away")
        }
        Value::Array(items) => {
            if goes_on && items[at].is_object() {
                return format!("{at} {}", edit(numbers, &mut items[at], how));
            }
            let item = items.remove(at);
            if how == Edit::Double {
                items.insert(at, item.clone());
                items.push(item);
                return format!("{at} is doubled");
            }
            format!("{at} is taken away")
        }
        _ => "nothing".to_owned(),
    }
}

fn listed(fixture: &Fixture, quarantined: &BTreeSet<PodUid>) -> PodList {
    if fixture.list == List::Own {
        return PodList::Recorded;
    }
    let pods = fixture.pods.iter().map(|pod| {
        let is_quarantined = quarantined.contains(&pod.uid);
        let pod_here = RunningPod {
            name: format!("{}/{}", pod.namespace, pod.name),
            manifest: (fixture.list == List::Manifests).then(|| pod.clone()),
            standing: if is_quarantined { Standing::Quarantined } else { Standing::Listed },
        };
        (pod.uid.clone(), pod_here)
    });
    PodList::Listed(pods.collect())
}

fn ledger(start: &node_state::Start, node: &Node) -> Ledger {
    start.ledger(node, Inventory::new(node.nodes().clone()), Moment::default()).unwrap()
}

/// What came of a folder.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Came {
    /// Every pod holds what it held.
    Whole,
    /// Some are quarantined.
    Quarantined,
    /// A member of another name makes a file one of no known format: nothing is written.
    Refused,
}

fn check(fixture: &Fixture, disk: &Disk, context: &str) -> Came {
    let node = &fixture.node;
    let none = BTreeSet::new();
    let Ok(mut repaired) = found(disk).plan_repair(node, &listed(fixture, &none)) else {
        return Came::Refused;
    };
    let after = ledger(&repaired.start, node);
    let mended = repaired.settle(node, &after);
    let quarantined: BTreeSet<PodUid> = repaired.quarantined.keys().cloned().collect();
    if let Some(held) = after.cpus() {
        assert_eq!(held.two_owners(), None, "{context}");
    }
    let mut devices = BTreeMap::new();
    for (pod, _, resource, held) in after.devices().iter() {
        for id in held.devices() {
            let owner = devices.entry((resource.clone(), id)).or_insert_with(|| pod.clone());
            assert_eq!(owner, pod, "{context}: a device of two pods");
        }
    }
    for pod in &fixture.pods {
        let (was, is) = (Grants::of(node, &fixture.ledger, &pod.uid), Grants::of(node, &after, &pod.uid));
        let findings =
            || repaired.findings.iter().map(|repair| repair.finding.fault.to_string()).collect::<Vec<_>>();
        let is_here = fixture.list != List::Own
            || repaired.start.records.iter().any(|record| record.pod.uid == pod.uid);
        // A pod whose own file is another node's is not known to be here.
        assert!(
            was == is || !is_here || quarantined.contains(&pod.uid),
            "{context}: {}: {was:?}, now {is:?}; {:#?}",
            pod.name,
            findings()
        );
    }
    let mut now = disk.clone();
    for mended in mended {
        match mended.text {
            Some(text) => now.insert(mended.path, text.into_bytes()),
            None => now.remove(&mended.path),
        };
    }
    let strict = found(&now).strict(node).unwrap_or_else(|error| panic!("{context}: {error}"));
    let restarted = ledger(&strict, node);
    for pod in &fixture.pods {
        assert_eq!(Grants::of(node, &restarted, &pod.uid), Grants::of(node, &after, &pod.uid), "{context}");
    }
    let again = found(&now).plan_repair(node, &listed(fixture, &quarantined)).unwrap();
    assert!(again.findings.is_empty(), "{context}: found again {:?}", again.findings);
    if quarantined.is_empty() { Came::Whole } else { Came::Quarantined }
}

#[test]
fn every_pod_holds_what_it_held_or_is_quarantined() {
    let count = std::env::var("TOPOLET_MUTANTS").ok().and_then(|count| count.parse().ok()).unwrap_or(500);
    let fixtures: Vec<Fixture> = (0..24).map(fixture).collect();
    for (at, fixture) in fixtures.iter().enumerate() {
        assert_eq!(check(fixture, &fixture.disk, &format!("folder {at}")), Came::Whole);
    }
    let mut came: BTreeMap<Came, usize> = BTreeMap::new();
    for mutant in 0..count {
        let mut numbers = Numbers(1_000_000 + mutant);
        let at = usize::try_from(mutant).unwrap() % fixtures.len();
        let other = &fixtures[numbers.below(fixtures.len())];
        let mut disk = fixtures[at].disk.clone();
        let told: Vec<String> =
            (0..=numbers.below(3)).map(|_| damage(&mut numbers, &mut disk, &other.disk)).collect();
        let context =
            format!("mutant {mutant} of folder {at} by {:?}, {}", fixtures[at].list, told.join(", "));
        *came.entry(check(&fixtures[at], &disk, &context)).or_default() += 1;
    }
    println!("{came:?}");
    let of = |what| came.get(&what).copied().unwrap_or(0);
    // A repair that quarantines everybody would hold too.
    assert!(of(Came::Whole) * 4 > of(Came::Quarantined), "{came:?}");
    assert!(of(Came::Refused) * 10 < came.values().sum::<usize>(), "{came:?}");
}

#[test]
fn state_files_that_are_lost_quarantine_everybody_who_held_something() {
    for seed in 0..24 {
        let fixture = fixture(seed);
        if fixture.list != List::Manifests {
            continue;
        }
        let mut disk = fixture.disk.clone();
        for file in StateFile::ALL {
            disk.insert(PathBuf::from(file.path()), Vec::new());
        }
        let repaired = found(&disk).plan_repair(&fixture.node, &listed(&fixture, &BTreeSet::new())).unwrap();
        for pod in &fixture.pods {
            let did = Grants::of(&fixture.node, &fixture.ledger, &pod.uid);
            let held = !did.cpus.unwrap_or_default().containers.is_empty() || !did.devices.is_empty();
            assert_eq!(repaired.quarantined.contains_key(&pod.uid), held, "{}", pod.name);
        }
    }
}

/// Who is quarantined after one damage to a fixture with pods that have manifests.
fn quarantined_after(fixture: &Fixture, damage: impl Fn(&mut Disk)) -> BTreeSet<PodUid> {
    let mut disk = fixture.disk.clone();
    damage(&mut disk);
    let repaired = found(&disk).plan_repair(&fixture.node, &listed(fixture, &BTreeSet::new())).unwrap();
    repaired.quarantined.into_keys().collect()
}

/// Damage outside of all entries, in a file whose checksum is whole or is proven by what is left, costs no pod
/// anything. What is done to a file, and its name.
type Damage<'a> = (&'a str, &'a dyn Fn(&mut Vec<u8>));

#[test]
fn damage_beside_the_entries_quarantines_nobody() {
    let append = |text: &mut Vec<u8>| text.extend(b"\0\0garbage");
    let newline = |text: &mut Vec<u8>| text.push(b'\n');
    let last = |text: &mut Vec<u8>| text.truncate(text.len() - 1);
    let digit = |text: &mut Vec<u8>| {
        let at = text.iter().rposition(u8::is_ascii_digit).unwrap();
        text[at] = if text[at] == b'0' { b'1' } else { b'0' };
    };
    let damages: [Damage<'_>; 4] =
        [("bytes appended", &append), ("a newline", &newline), ("the last byte", &last), ("a digit", &digit)];
    for seed in 0..24 {
        let fixture = fixture(seed);
        for file in StateFile::ALL {
            for (what, damage) in &damages {
                let path = PathBuf::from(file.path());
                let quarantined =
                    quarantined_after(&fixture, |disk| disk.get_mut(&path).into_iter().for_each(damage));
                assert_eq!(quarantined, BTreeSet::new(), "folder {seed}, {file:?}: {what}");
            }
        }
    }
}

/// A fault in one pod's entry of CPUs costs this pod alone, if manifests say how many CPUs the others hold.
#[test]
fn a_fault_in_one_entry_quarantines_its_pod_at_most() {
    let mut checked = 0;
    for seed in 0..24 {
        let fixture = fixture(seed);
        if fixture.list == List::Names {
            continue;
        }
        for pod in &fixture.pods {
            let path = PathBuf::from(StateFile::Cpu.path());
            let name = format!("\"{}\":{{", pod.uid);
            let Some(at) = fixture.disk[&path].windows(name.len()).position(|bytes| bytes == name.as_bytes())
            else {
                continue;
            };
            // The quote before the first container's name.
            let fault = at + name.len();
            let quarantined = quarantined_after(&fixture, |disk| disk.get_mut(&path).unwrap()[fault] = 0);
            let others: Vec<&PodUid> = quarantined.iter().filter(|other| **other != pod.uid).collect();
            assert!(others.is_empty(), "folder {seed}, {}: {others:?}", pod.name);
            checked += 1;
        }
    }
    assert!(checked > 20, "{checked} entries");
}
