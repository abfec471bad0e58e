//! How the folders in `fixtures/state` were made: a healthy one, and what was done to it.
//!
//! With `UPDATE_FIXTURES=1` in the environment they are written; else they are compared.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cpuset::CpuSet;
use kubelet_checkpoint::cpu::{CpuFormat, CpuState};
use kubelet_checkpoint::device::{DeviceEntry, DeviceState};
use kubelet_checkpoint::memory::{Block, MemoryFormat, MemoryState, MemoryTable, NodeState, PodEntry};
use kubelet_checkpoint::store::StateFile;
use pod_spec::{ContainerName, PodUid, ResourceName};
use topology_model::NodeId;

const DPDK: &str = "5e0f3f5c-7e5b-4a3e-9c57-2f4f1b8f6d07";
const UPF: &str = "a2c1d0e4-13aa-4c0f-8d4e-7b1d5a9c3e10";
const TRAIN: &str = "c7d9b8aa-90f2-4a55-b0b6-1d2e3f405162";

const GI: u64 = 1 << 30;

/// The files of a folder.
#[derive(Clone)]
struct Folder {
    cpu: Vec<u8>,
    memory: Vec<u8>,
    device: Vec<u8>,
}

fn cpus(text: &str) -> CpuSet {
    text.parse().unwrap()
}

/// Machine `xeon-2s-96cpu-sriov` under configuration `pinned`: 0, 24, 48 and 72 are reserved.
fn cpu_state() -> CpuState {
    let mut state = CpuState { policy: "static".into(), shared: cpus("0-95"), ..CpuState::default() };
    for (pod, container, own) in
        [(DPDK, "testpmd", "1-4,49-52"), (UPF, "upf", "5-6,53-54"), (TRAIN, "trainer", "25-32,73-80")]
    {
        state.shared = &state.shared - &cpus(own);
        let containers = BTreeMap::from([(ContainerName::new(container), cpus(own))]);
        state.containers.insert(PodUid::new(pod), containers);
    }
    state
}

fn table(total: u64, system_reserved: u64, bound: u64, reserved: u64) -> MemoryTable {
    let allocatable = total - bound - system_reserved;
    MemoryTable { total, system_reserved, allocatable, reserved, free: allocatable - reserved }
}

fn memory_state() -> MemoryState {
    let block = |node: i64, resource: &str, gi: u64| Block {
        nodes: Some(vec![NodeId(node)]),
        resource: ResourceName::new(resource),
        size: gi * GI,
    };
    let node = |node: i64, assignments: i64, total: u64, memory: u64, huge: u64| {
        let tables = BTreeMap::from([
            (ResourceName::new("hugepages-1Gi"), Some(table(16 * GI, 0, 0, huge * GI))),
            (ResourceName::new("hugepages-2Mi"), Some(table(0, 0, 0, 0))),
            (ResourceName::new("memory"), Some(table(total, GI, 16 * GI, memory * GI))),
        ]);
        let cells = Some(vec![NodeId(node)]);
        (NodeId(node), Some(NodeState { assignments, memory: Some(tables), cells }))
    };
    let entry = |pod: &str, container: &str, blocks: Vec<Block>| {
        (PodUid::new(pod), Some(BTreeMap::from([(ContainerName::new(container), Some(blocks))])))
    };
    MemoryState {
        policy: "Static".into(),
        nodes: Some(BTreeMap::from([node(0, 3, NODE_0, 6, 8), node(1, 1, NODE_1, 32, 0)])),
        entries: BTreeMap::from([
            entry(DPDK, "testpmd", vec![block(0, "memory", 4), block(0, "hugepages-1Gi", 8)]),
            entry(UPF, "upf", vec![block(0, "memory", 2)]),
            entry(TRAIN, "trainer", vec![block(1, "memory", 32)]),
        ]),
        pod_entries: BTreeMap::new(),
    }
}

/// Bytes of the machine's two NUMA nodes.
const NODE_0: u64 = 100_809_265_152;
const NODE_1: u64 = 101_459_951_616;

fn device_state() -> DeviceState {
    let entry = |pod: &str, container: &str, ids: &[&str]| DeviceEntry {
        pod: PodUid::new(pod),
        container: ContainerName::new(container),
        resource: ResourceName::new("intel.com/sriov_vf"),
        devices: Some(BTreeMap::from([(0, Some(ids.iter().map(|id| (*id).to_owned()).collect()))])),
        // An environment variable, as the plugin answered it.
        reply: Some(b"\x0a\x0a\x0a\x03PCI\x12\x03all".to_vec()),
    };
    let healthy = ["0000:18:01.0", "0000:18:01.1", "0000:18:01.2", "0000:18:01.3"];
    let healthy = healthy.map(str::to_owned).to_vec();
    DeviceState {
        entries: Some(vec![
            entry(DPDK, "testpmd", &["0000:18:01.0", "0000:18:01.1"]),
            entry(UPF, "upf", &["0000:18:01.2"]),
        ]),
        registered: Some(BTreeMap::from([(ResourceName::new("intel.com/sriov_vf"), Some(healthy))])),
    }
}

fn healthy() -> Folder {
    Folder {
        cpu: cpu_state().encode(CpuFormat::V2).into_bytes(),
        memory: memory_state().encode(MemoryFormat::V1).into_bytes(),
        device: device_state().encode().into_bytes(),
    }
}

fn with_cpus(change: impl FnOnce(&mut CpuState)) -> Folder {
    let mut state = cpu_state();
    change(&mut state);
    Folder { cpu: state.encode(CpuFormat::V2).into_bytes(), ..healthy() }
}

fn with_memory(change: impl FnOnce(&mut MemoryState)) -> Folder {
    let mut state = memory_state();
    change(&mut state);
    Folder { memory: state.encode(MemoryFormat::V1).into_bytes(), ..healthy() }
}

/// The books of a node.
fn node_of(state: &mut MemoryState, id: i64) -> &mut NodeState {
    state.nodes.as_mut().unwrap().get_mut(&NodeId(id)).unwrap().as_mut().unwrap()
}

/// What is written of its memory.
fn memory_of(node: &mut NodeState) -> &mut MemoryTable {
    node.memory.as_mut().unwrap().get_mut(&ResourceName::new("memory")).unwrap().as_mut().unwrap()
}

fn replaced(file: &[u8], from: &str, to: &str) -> Vec<u8> {
    let text = String::from_utf8(file.to_vec()).unwrap();
    assert!(text.contains(from), "{from} is in {text}");
    text.replacen(from, to, 1).into_bytes()
}

/// Gives a pod other CPUs.
fn own(state: &mut CpuState, pod: &str, container: &str, own: &str) {
    state.containers.insert(PodUid::new(pod), BTreeMap::from([(ContainerName::new(container), cpus(own))]));
}

/// Files that are not what a kubelet of this configuration reads.
fn unreadable() -> Vec<(&'static str, Folder)> {
    let whole = healthy();
    let newer = |policy: &str| {
        format!("{{\"data\":\"{{\\\"policyName\\\":\\\"{policy}\\\"}}\",\"dataChecksum\":3735928559}}")
            .into_bytes()
    };
    vec![
        ("healthy", whole.clone()),
        // The machine lost power while an old kernel wrote.
        ("torn", Folder { cpu: whole.cpu[..100].to_vec(), ..whole.clone() }),
        ("empty", Folder { memory: Vec::new(), ..whole.clone() }),
        // Edited by hand: CPU 7 is in no set.
        ("edited", Folder { cpu: replaced(&whole.cpu, "0,7-24", "0,8-24"), ..whole.clone() }),
        (
            "no-json",
            Folder { memory: replaced(&whole.memory, "},\"cells\"", "}\n\"cells\""), ..whole.clone() },
        ),
        (
            "other-form",
            Folder { memory: replaced(&whole.memory, "\"free\":", "\"free\":-"), ..whole.clone() },
        ),
        (
            "other-policy",
            Folder {
                cpu: CpuState { policy: "none".into(), ..CpuState::default() }.encode(CpuFormat::V2).into(),
                memory: MemoryState {
                    policy: "None".into(),
                    nodes: Some(BTreeMap::new()),
                    ..MemoryState::default()
                }
                .encode(MemoryFormat::V1)
                .into(),
                ..whole.clone()
            },
        ),
        ("other-gate", {
            let mut cpus = cpu_state();
            let pod = PodUid::new(DPDK);
            cpus.pods.insert(pod.clone(), "1-4,49-52".parse().unwrap());
            let mut memory = memory_state();
            let blocks = memory.entries[&pod].as_ref().unwrap()[&ContainerName::new("testpmd")].clone();
            memory.pod_entries = BTreeMap::from([(pod, PodEntry { blocks })]);
            Folder {
                cpu: cpus.encode(CpuFormat::V3).into(),
                memory: memory.encode(MemoryFormat::V2).into(),
                ..whole.clone()
            }
        }),
        ("newer", Folder { cpu: newer("static"), memory: newer("Static"), ..whole.clone() }),
    ]
}

/// Files that a kubelet reads, and that are not true.
fn untrue() -> Vec<(&'static str, Folder)> {
    let whole = healthy();
    vec![
        // A larger machine's file, or CPUs that were taken offline.
        (
            "cpus-offline",
            with_cpus(|state| {
                own(state, UPF, "upf", "96-99");
                state.shared = &state.shared | &cpus("5-6,53-54,100-111");
            }),
        ),
        // CPUs came online.
        ("cpus-new", with_cpus(|state| state.shared = &state.shared - &cpus("90-95"))),
        ("two-owners", {
            let mut devices = device_state();
            devices.entries.as_mut().unwrap()[1].devices =
                Some(BTreeMap::from([(0, Some(vec!["0000:18:01.1".into()]))]));
            Folder {
                device: devices.encode().into(),
                ..with_cpus(|state| {
                    own(state, UPF, "upf", "3-6,53-54");
                })
            }
        }),
        // The kubelet stopped between its two writes.
        ("in-shared-pool", with_cpus(|state| state.shared = &state.shared | &cpus("25-32,73-80"))),
        (
            "books",
            with_memory(|state| {
                let node = node_of(state, 0);
                let memory = memory_of(node);
                memory.reserved -= 2 * GI;
                memory.free += 2 * GI;
                node.assignments = 2;
            }),
        ),
        // The machine came up with less.
        (
            "less-memory",
            with_memory(|state| {
                let memory = memory_of(node_of(state, 1));
                memory.total += 16 << 20;
                memory.allocatable += 16 << 20;
                memory.free += 16 << 20;
            }),
        ),
        (
            "gone",
            with_cpus(|state| {
                own(state, "00000000-dead-4a3e-9c57-2f4f1b8f6d07", "app", "7-8,55-56");
                state.shared = &state.shared - &cpus("7-8,55-56");
            }),
        ),
        (
            "devices-corrupt",
            Folder { device: replaced(&whole.device, "0000:18:01.2", "0000:18:01.9"), ..whole.clone() },
        ),
        // What the kubelet takes without a word.
        (
            "odd",
            Folder {
                cpu: {
                    let text = String::from_utf8(whole.cpu.clone()).unwrap();
                    let (before, _) = text.rsplit_once(",\"checksum\"").unwrap();
                    format!(
                        "{}}}\n",
                        before.replacen(
                            "{\"policyName\":",
                            "{\"note\":\"mended\",\"policyName\":\"none\",\"PolicyName\":",
                            1
                        )
                    )
                    .into()
                },
                ..whole
            },
        ),
    ]
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/state")
}

#[test]
fn folders_are_as_they_were_made() {
    let is_update = std::env::var_os("UPDATE_FIXTURES").is_some();
    for (name, folder) in unreadable().into_iter().chain(untrue()) {
        for (file, contents) in [
            (StateFile::Cpu, &folder.cpu),
            (StateFile::Memory, &folder.memory),
            (StateFile::Device, &folder.device),
        ] {
            let path = root().join(name).join(file.path());
            if is_update {
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(&path, contents).unwrap();
            }
            let there = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            assert_eq!(
                String::from_utf8_lossy(&there),
                String::from_utf8_lossy(contents),
                "{}",
                path.display()
            );
        }
    }
}
