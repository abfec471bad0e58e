//! State files of 500 pods of two containers each: how long writing and reading take, and how much memory.
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on stops")]

use std::collections::BTreeMap;
use std::hint::black_box;

use allocation_counter::measure;
use criterion::{Criterion, criterion_group, criterion_main};
use kubelet_checkpoint::cpu::{ContainerIds, CpuFile, CpuFormat, CpuState};
use kubelet_checkpoint::device::{DeviceEntry, DeviceFile, DeviceState};
use kubelet_checkpoint::memory::{Block, MemoryFile, MemoryFormat, MemoryState, MemoryTable, NodeState};
use kubelet_checkpoint::{Forms, PodLevel};
use pod_spec::{ContainerName, PodUid, ResourceName};
use topology_model::NodeId;

const PODS: u32 = 500;

fn uid(at: u32) -> PodUid {
    PodUid::new(&format!("5e0f3f5c-7e5b-4a3e-9c57-{at:012}"))
}

fn containers() -> [ContainerName; 2] {
    [ContainerName::new("app"), ContainerName::new("sidecar")]
}

fn cpus() -> CpuState {
    let of_pod = |at: u32| {
        let own = containers().into_iter().zip([6 * at, 6 * at + 3]);
        own.map(|(name, first)| (name, format!("{first}-{}", first + 2).parse().unwrap())).collect()
    };
    CpuState {
        policy: "static".to_owned(),
        shared: "3000-3071".parse().unwrap(),
        containers: (0..PODS).map(|at| (uid(at), of_pod(at))).collect(),
        pods: BTreeMap::new(),
        baselines: BTreeMap::new(),
    }
}

fn memory() -> MemoryState {
    let resources = ["memory", "hugepages-1Gi"].map(ResourceName::new);
    let table = MemoryTable {
        total: 1 << 40,
        system_reserved: 1 << 30,
        allocatable: 1 << 39,
        reserved: 0,
        free: 1 << 39,
    };
    let node = |id| NodeState {
        assignments: 250,
        memory: Some(resources.iter().map(|name| (name.clone(), Some(table))).collect()),
        cells: Some(vec![NodeId(id)]),
    };
    let blocks = |at: u32| {
        let block = |resource: &ResourceName| Block {
            nodes: Some(vec![NodeId(i64::from(at % 8))]),
            resource: resource.clone(),
            size: 1 << 30,
        };
        Some(resources.iter().map(block).collect::<Vec<_>>())
    };
    let of_pod = |at| Some(containers().into_iter().map(|name| (name, blocks(at))).collect());
    MemoryState {
        policy: "Static".to_owned(),
        nodes: Some((0..8).map(|id| (NodeId(id), Some(node(id)))).collect()),
        entries: (0..PODS).map(|at| (uid(at), of_pod(at))).collect(),
        pod_entries: BTreeMap::new(),
    }
}

fn devices() -> DeviceState {
    let entry = |at: u32| DeviceEntry {
        pod: uid(at),
        container: ContainerName::new("app"),
        resource: ResourceName::new("intel.com/sriov_vf"),
        devices: Some([(i64::from(at % 8), Some(vec![format!("0000:{at:02x}:01.0")]))].into()),
        // As large as that of a plugin that sets some variables and mounts.
        reply: Some(vec![7; 300]),
    };
    let ids = (0..PODS).map(|at| format!("0000:{at:02x}:01.0")).collect();
    DeviceState {
        entries: Some((0..PODS).map(entry).collect()),
        registered: Some([(ResourceName::new("intel.com/sriov_vf"), Some(ids))].into()),
    }
}

fn run<T>(criterion: &mut Criterion, name: &str, mut work: impl FnMut() -> T) {
    let info = measure(|| {
        black_box(work());
    });
    println!("{name}: at most {} KiB at once, {} allocations", info.bytes_max / 1024, info.count_total);
    criterion.bench_function(name, |bencher| bencher.iter(&mut work));
}

fn state_files(criterion: &mut Criterion) {
    let state = cpus();
    let file = state.encode(CpuFormat::V2).into_bytes();
    run(criterion, "cpu_manager_state, encode", || state.encode(CpuFormat::V2));
    let ids = ContainerIds::default();
    run(criterion, "cpu_manager_state, decode", || {
        CpuFile::read(&file, Forms::plain(PodLevel::Off), &ids).unwrap()
    });

    let state = memory();
    let file = state.encode(MemoryFormat::V1).into_bytes();
    run(criterion, "memory_manager_state, encode", || state.encode(MemoryFormat::V1));
    run(criterion, "memory_manager_state, decode", || {
        MemoryFile::read(&file, Forms::plain(PodLevel::Off)).unwrap()
    });

    let state = devices();
    let file = state.encode().into_bytes();
    run(criterion, "kubelet_internal_checkpoint, encode", || state.encode());
    run(criterion, "kubelet_internal_checkpoint, decode", || DeviceFile::read(&file));
}

criterion_group!(benches, state_files);
criterion_main!(benches);
