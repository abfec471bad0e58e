//! What becomes of a kubelet is known beforehand, by counting.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on fails")]

use device_manager::Replies;
use k8s_quantity::{Format, Quantity};
use kubelet_fates::{Crash, Fate, Fates, Kubelet, of_pod, of_restart};
use pod_spec::{Container, Pod};
use pod_spec::{PodLevelResources, ResourceList, Role};
use serde_json::json;
use topology_admission::Compat;
use topology_admission::Node;
use topology_manifest::{Source, read_kubelet_config};
use topology_model::{HugePages, MachineCore, MachineInfo, MachineNode};
use topology_model::{KubeletView, NodeId};

/// Nodes with these ids of four cores of two CPUs; the first has pages of 1Gi.
fn machine(ids: &[i64]) -> KubeletView {
    let nodes = ids.iter().zip(0..).map(|(id, at)| {
        let core = |core: i64| {
            let cpu = 8 * at + 2 * core;
            MachineCore { thread_ids: Some(vec![cpu, cpu + 1]), socket_id: at, ..MachineCore::default() }
        };
        let pages = HugePages { page_size_kib: 1 << 20, num_pages: 8 };
        MachineNode {
            id: *id,
            memory: 64 << 30,
            cores: Some((0..4).map(core).collect()),
            hugepages: (at == 0).then(|| vec![pages]),
            distances: Some(vec![10; ids.len()]),
            ..MachineNode::default()
        }
    });
    let count = i64::try_from(ids.len()).unwrap();
    KubeletView::new(&MachineInfo {
        num_cpus: 8 * count,
        num_physical_cores: 4 * count,
        num_sockets: count,
        memory_capacity: (64 << 30) * ids.len() as u64,
        topology: Some(nodes.collect()),
        hugepages: Some(vec![HugePages { page_size_kib: 1 << 20, num_pages: 8 }]),
        ..MachineInfo::default()
    })
    .unwrap()
}

#[track_caller]
fn known(ids: &[i64], fields: serde_json::Value, limits: &[(&str, i64)]) -> Fates {
    let view = machine(ids);
    let mut text = fields;
    text["apiVersion"] = json!("kubelet.config.k8s.io/v1beta1");
    text["kind"] = json!("KubeletConfiguration");
    text["systemReserved"] = json!({ "memory": "924Mi" });
    if text["memoryManagerPolicy"] == "Static" {
        text["reservedMemory"] = json!([{ "numaNode": ids[0], "limits": { "memory": "1Gi" } }]);
    }
    let text = text.to_string();
    let config = read_kubelet_config(&Source { name: "config", text: &text }).unwrap().config;
    let node = Node::start_as(&view, &config, Compat::KUBELET).unwrap();
    let limits: ResourceList = limits
        .iter()
        .map(|(name, amount)| ((*name).into(), Quantity::from_units(*amount, Format::BinarySi)))
        .collect();
    let container = Container { name: "main".into(), role: Role::App, requests: limits.clone(), limits };
    let pod = Pod::new("default", "pod", vec![container]).with_defaults(PodLevelResources::Count);
    let kubelet = Kubelet { node: &node, view: &view, config: &config };
    of_pod(kubelet, &node.empty_ledger(), &pod, &Replies::new())
}

#[test]
fn cpus_that_are_handed_out_for_ever_are_known() {
    let fields = || {
        json!({
            "cpuManagerPolicy": "static", "reservedSystemCPUs": "0,8,16,24",
            "cpuManagerPolicyOptions": { "distribute-cpus-across-numa": "true", "full-pcpus-only": "true" },
        })
    };
    for (cpus, fate) in [(24, None), (22, Some(Fate::NeverAnswers)), (4, None)] {
        let known = known(&[0, 1, 2, 3], fields(), &[("cpu", cpus), ("memory", 1 << 30)]);
        assert_eq!(known.fate, fate, "{cpus}");
    }
}

#[test]
fn crashes_are_known_by_what_is_missing() {
    let fields = |policy: &str| json!({ "memoryManagerPolicy": "Static", "topologyManagerPolicy": policy });
    let memory = &[("memory", 1 << 30), ("cpu", 1)][..];
    let pages = &[("memory", 1 << 30), ("cpu", 1), ("hugepages-1Gi", 1 << 30)][..];
    let page = Crash::PageSize { node: NodeId(1), resource: "hugepages-1Gi".into() };
    for policy in ["none", "restricted"] {
        assert_eq!(known(&[0, 1], fields(policy), memory).fate, None);
        assert_eq!(known(&[0, 1], fields(policy), pages).fate, Some(Fate::Crashes(page.clone())));
        let crash = Fate::Crashes(Crash::NodeId(NodeId(72)));
        assert_eq!(known(&[0, 72], fields(policy), memory).fate, Some(crash));
    }
    // Without a policy the kubelet makes no set of nodes.
    assert_eq!(known(&[0, 72], json!({}), memory).fate, None);
    let closest = json!({
        "memoryManagerPolicy": "Static", "topologyManagerPolicy": "best-effort",
        "topologyManagerPolicyOptions": { "prefer-closest-numa-nodes": "true" },
    });
    assert_eq!(known(&[0, 1], closest.clone(), memory).fate, None);
    assert_eq!(known(&[0, 2], closest, memory).fate, Some(Fate::Crashes(Crash::Distance)));
}

#[test]
fn a_restart_comes_to_the_same_pod_again() {
    let view = machine(&[0, 1, 2, 3]);
    let text = json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
        "cpuManagerPolicy": "static", "reservedSystemCPUs": "0,8,16,24",
        "cpuManagerPolicyOptions": { "distribute-cpus-across-numa": "true", "full-pcpus-only": "true" },
    })
    .to_string();
    let config = read_kubelet_config(&Source { name: "config", text: &text }).unwrap().config;
    let node = Node::start_as(&view, &config, Compat::KUBELET).unwrap();
    let pods: Vec<Pod> = [("small", 0), ("hangs", 22), ("later", 2)]
        .map(|(name, cpus)| {
            let limits: ResourceList = [("cpu", cpus), ("memory", 1 << 30)]
                .map(|(name, amount)| (name.into(), Quantity::from_units(amount, Format::BinarySi)))
                .into();
            let container =
                Container { name: "main".into(), role: Role::App, requests: limits.clone(), limits };
            Pod::new("default", name, vec![container]).with_defaults(PodLevelResources::Count)
        })
        .into();
    let kubelet = Kubelet { node: &node, view: &view, config: &config };
    let known = of_restart(kubelet, &node.empty_ledger(), &pods);
    let fates: Vec<_> = known.into_iter().map(|(_, fates)| fates.fate).collect();
    assert_eq!(fates, [None, Some(Fate::NeverAnswers)]);
}

#[test]
fn combinations_are_the_product_of_the_lists() {
    let fields = |policy: &str| {
        json!({
            "memoryManagerPolicy": "Static", "topologyManagerPolicy": policy,
            "cpuManagerPolicy": "static", "reservedSystemCPUs": "0-1",
        })
    };
    let asked = &[("cpu", 4), ("memory", 1 << 30)][..];
    let of = |policy| known(&[0, 1, 2], fields(policy), asked).work;
    assert!((of("restricted").combinations - 49.0).abs() < 0.1, "{:?}", of("restricted"));
    assert!((of("single-numa-node").combinations - 9.0).abs() < 0.1, "{:?}", of("single-numa-node"));
    assert!(of("none").combinations.abs() < 0.1);
    assert!((of("none").memory - 7.0).abs() < 0.1);
    // No set of nodes has so many CPUs: a hint without nodes takes the place of a list.
    let none = known(&[0, 1, 2], fields("restricted"), &[("cpu", 23), ("memory", 1 << 30)]).work;
    assert!((none.combinations - 7.0).abs() < 0.1, "{none:?}");
}

#[test]
fn spreading_many_cpus_takes_as_long_as_it_took_a_kubelet() {
    let machine: MachineInfo = "pack:16 [numa(memory=64GiB)] core:8 pu:8".parse().unwrap();
    let view = KubeletView::new(&machine).unwrap();
    let text = json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
        "cpuManagerPolicy": "static", "reservedSystemCPUs": "0-7",
        "cpuManagerPolicyOptions": { "distribute-cpus-across-numa": "true" },
    })
    .to_string();
    let config = read_kubelet_config(&Source { name: "config", text: &text }).unwrap().config;
    let node = Node::start_as(&view, &config, Compat::KUBELET).unwrap();
    let limits: ResourceList = [("cpu", 512), ("memory", 1 << 30)]
        .map(|(name, amount)| (name.into(), Quantity::from_units(amount, Format::BinarySi)))
        .into();
    let container = Container { name: "main".into(), role: Role::App, requests: limits.clone(), limits };
    let pod = Pod::new("default", "wide", vec![container]).with_defaults(PodLevelResources::Count);
    let kubelet = Kubelet { node: &node, view: &view, config: &config };
    // Kubelet 1.36.3 took 3.8 s for 512 of 1016 CPUs of a machine of sixteen nodes.
    let fate = kubelet.fate(&node.empty_ledger(), &pod, &Replies::new());
    let Some(Fate::AnswersLate(work)) = fate else { panic!("{fate:?}") };
    assert!((1.9..7.6).contains(&work.seconds()), "{work:?}");
}
