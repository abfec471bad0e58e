//! What is written is read back the same, in every format.

use std::collections::BTreeMap;

use cpuset::{CpuId, CpuSet};
use kubelet_checkpoint::cpu::{ContainerIds, CpuFile, CpuFormat, CpuState};
use kubelet_checkpoint::device::{DeviceEntry, DeviceFile, DeviceState};
use kubelet_checkpoint::memory::{
    Block, MemoryFile, MemoryFormat, MemoryState, MemoryTable, NodeState, PodEntry,
};
use kubelet_checkpoint::{Forms, PodLevel};
use pod_spec::{ContainerName, PodUid, ResourceName};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use topology_model::NodeId;

/// Texts with everything that has an escape.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z0-9-]{1,12}",
        "[<>&\"\\\\/\u{0}\u{8}\u{c}\n\r\t\u{1f}\u{7f}\u{2028}\u{2029}é\u{10ffff}x]{0,6}",
        any::<String>(),
    ]
}

fn pod() -> impl Strategy<Value = PodUid> {
    text().prop_map(|text| PodUid::new(&text))
}

fn container() -> impl Strategy<Value = ContainerName> {
    text().prop_map(|text| ContainerName::new(&text))
}

fn resource() -> impl Strategy<Value = ResourceName> {
    prop_oneof!["memory", "hugepages-[12]Gi", text()].prop_map(|text| ResourceName::new(&text))
}

fn cpus() -> impl Strategy<Value = CpuSet> {
    vec(0..CpuId::LIMIT, 0..8).prop_map(|ids| ids.into_iter().map(|id| CpuId::new(id).unwrap()).collect())
}

fn cpu_state() -> impl Strategy<Value = CpuState> {
    let containers = btree_map(pod(), btree_map(container(), cpus(), 0..3), 0..4);
    (text(), cpus(), containers, btree_map(pod(), cpus(), 0..3)).prop_map(
        |(policy, shared, containers, pods)| CpuState {
            policy,
            shared,
            containers,
            pods,
            baselines: BTreeMap::new(),
        },
    )
}

fn ids() -> impl Strategy<Value = Option<Vec<NodeId>>> {
    option::of(vec(any::<i64>().prop_map(NodeId), 0..3))
}

fn block() -> impl Strategy<Value = Block> {
    (ids(), resource(), any::<u64>()).prop_map(|(nodes, resource, size)| Block { nodes, resource, size })
}

fn node() -> impl Strategy<Value = NodeState> {
    let table = any::<[u64; 5]>().prop_map(|[total, system_reserved, allocatable, reserved, free]| {
        MemoryTable { total, system_reserved, allocatable, reserved, free }
    });
    let memory = option::of(btree_map(resource(), option::weighted(0.9, table), 0..3));
    (any::<i64>(), memory, ids()).prop_map(|(assignments, memory, cells)| NodeState {
        assignments,
        memory,
        cells,
    })
}

fn memory_state() -> impl Strategy<Value = MemoryState> {
    let nodes = option::of(btree_map(any::<i64>().prop_map(NodeId), option::weighted(0.9, node()), 0..4));
    let of_pod = option::of(btree_map(container(), option::of(vec(block(), 0..3)), 0..3));
    // An empty list is written as one that is not there.
    let whole = option::of(vec(block(), 1..3)).prop_map(|blocks| PodEntry { blocks });
    (text(), nodes, btree_map(pod(), of_pod, 0..3), btree_map(pod(), whole, 0..3))
        .prop_map(|(policy, nodes, entries, pod_entries)| MemoryState { policy, nodes, entries, pod_entries })
}

fn device_state() -> impl Strategy<Value = DeviceState> {
    let devices = option::of(btree_map(any::<i64>(), option::of(vec(text(), 0..3)), 0..3));
    let entry = (pod(), container(), resource(), devices, option::of(any::<Vec<u8>>())).prop_map(
        |(pod, container, resource, devices, reply)| DeviceEntry { pod, container, resource, devices, reply },
    );
    let registered = option::of(btree_map(resource(), option::of(vec(text(), 0..3)), 0..3));
    (option::of(vec(entry, 0..4)), registered)
        .prop_map(|(entries, registered)| DeviceState { entries, registered })
}

/// The same, with blanks wherever JSON lets them be; the checksum does not cover them.
fn spaced(file: &str) -> String {
    let mut spaced = String::from("\n");
    let (mut in_string, mut escaped) = (false, false);
    for c in file.chars() {
        let is_quote = c == '"' && !escaped;
        if !in_string && (matches!(c, ':' | ',' | '{' | '}' | '[' | ']') || is_quote) {
            spaced.extend([' ', c, '\t']);
        } else {
            spaced.push(c);
        }
        in_string ^= is_quote;
        escaped = in_string && c == '\\' && !escaped;
        if is_quote && in_string {
            // The blank that was put behind an opening quote would be part of the string.
            spaced.pop();
        }
    }
    spaced.push_str("\r\n");
    spaced
}

proptest! {
    #[test]
    fn cpus_are_read_as_they_were_written(state in cpu_state()) {
        let none = ContainerIds::new();
        let file = state.encode(CpuFormat::V3);
        let read = CpuFile::read(file.as_bytes(), Forms::plain(PodLevel::On), &none).unwrap();
        prop_assert_eq!(read.format, CpuFormat::V3);
        prop_assert!(read.oddities.is_empty());
        prop_assert_eq!(&read.restore(&state.policy).unwrap(), &state);
        let again = CpuFile::read(spaced(&file).as_bytes(), Forms::plain(PodLevel::On), &none).unwrap();
        prop_assert_eq!(again, read);

        let embedded = Forms::embedded(PodLevel::On);
        let file = state.encode(embedded.cpu());
        let read = CpuFile::read(file.as_bytes(), embedded, &none).unwrap();
        prop_assert_eq!(read.format, CpuFormat::V4);
        prop_assert!(read.oddities.is_empty());
        prop_assert_eq!(&read.restore(&state.policy).unwrap(), &state);

        let without_pods = CpuState { pods: BTreeMap::new(), ..state };
        let file = without_pods.encode(CpuFormat::V2);
        for pod_level in [PodLevel::Off, PodLevel::On] {
            let read = CpuFile::read(file.as_bytes(), Forms::plain(pod_level), &none).unwrap();
            prop_assert_eq!(read.format, CpuFormat::V2);
            prop_assert_eq!(&read.state().unwrap(), &without_pods);
        }
    }

    #[test]
    fn memory_is_read_as_it_was_written(state in memory_state()) {
        let file = state.encode(MemoryFormat::V2);
        let read = MemoryFile::read(file.as_bytes(), Forms::plain(PodLevel::On)).unwrap();
        prop_assert_eq!(read.format, MemoryFormat::V2);
        prop_assert!(read.oddities.is_empty());
        prop_assert_eq!(read.restore(&state.policy).unwrap(), &state);
        let again = MemoryFile::read(spaced(&file).as_bytes(), Forms::plain(PodLevel::On)).unwrap();
        prop_assert_eq!(again, read);

        let embedded = Forms::embedded(PodLevel::On);
        let read = MemoryFile::read(state.encode(embedded.memory()).as_bytes(), embedded).unwrap();
        prop_assert_eq!(read.format, MemoryFormat::V3);
        prop_assert!(read.oddities.is_empty());
        prop_assert_eq!(&read.state, &state);

        let file = state.encode(MemoryFormat::V1);
        let newer = state.encode(MemoryFormat::V3);
        let without_pods = MemoryState { pod_entries: BTreeMap::new(), ..state };
        // Older kubelets pass over the text.
        let older = MemoryFile::read(newer.as_bytes(), Forms::plain(PodLevel::Off)).unwrap();
        prop_assert_eq!(&older.state, &without_pods);
        for pod_level in [PodLevel::Off, PodLevel::On] {
            let read = MemoryFile::read(file.as_bytes(), Forms::plain(pod_level)).unwrap();
            prop_assert_eq!(read.format, MemoryFormat::V1);
            prop_assert_eq!(&read.state, &without_pods);
        }
    }

    #[test]
    fn devices_are_read_as_they_were_written(state in device_state()) {
        let file = state.encode();
        let read = DeviceFile::read(file.as_bytes());
        prop_assert_eq!(&read.fault, &None);
        prop_assert!(read.oddities.is_empty());
        prop_assert_eq!(&read.state, &state);
        prop_assert_eq!(DeviceFile::read(spaced(&file).as_bytes()), read);
    }

    #[test]
    fn nothing_makes_it_panic(bytes in any::<Vec<u8>>(), text in "[\\[\\]{}\",:a0.eE\\\\u-]{0,40}") {
        for file in [bytes.as_slice(), text.as_bytes()] {
            for forms in Forms::ALL {
                let _ = CpuFile::read(file, forms, &ContainerIds::new());
                let _ = MemoryFile::read(file, forms);
            }
            let _ = DeviceFile::read(file);
        }
    }
}
