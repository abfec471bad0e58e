//! Inventories that others write: a kubelet's answers, and the SR-IOV network device plugin's configuration.

use topology_manifest::{
    DeviceHealth, DeviceSource, FunctionFacts, FunctionPart, FunctionPool, MigStrategy, PodResourcesRead,
    ReportedNodes, Source, Style, read_devices, read_pod_resources,
};

fn fixture(name: &str) -> String {
    let path = format!("{}/../../fixtures/devices/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn source(text: &str) -> Source<'_> {
    Source { name: "devices", text }
}

/// Each device of a text: `resource id nodes`.
fn listed(text: &str) -> Vec<String> {
    let entries =
        read_devices(&source(text)).unwrap_or_else(|error| panic!("{}", error.render(Style::Ascii)));
    let mut lines = Vec::new();
    for entry in entries {
        let DeviceSource::Listed(devices) = entry.source else { panic!("{}", entry.resource) };
        for device in devices {
            let unhealthy = if device.health == DeviceHealth::Unhealthy { " unhealthy" } else { "" };
            lines.push(format!("{} {} {:?}{unhealthy}", entry.resource, device.id, device.nodes));
        }
    }
    lines
}

fn answers(text: &str) -> PodResourcesRead {
    read_pod_resources(&source(text)).unwrap_or_else(|error| panic!("{}", error.render(Style::Ascii)))
}

#[test]
fn a_kubelets_answers_are_an_inventory() {
    let text = fixture("podresources.json");
    let expected = [
        "example.com/bridge b [0, 1]",
        "example.com/license any []",
        "nvidia.com/gpu gpu-0 [0]",
        "nvidia.com/gpu gpu-1 [0]",
        "nvidia.com/gpu gpu-2 [1]",
        "nvidia.com/gpu gpu-3 [1] unhealthy",
    ];
    assert_eq!(listed(&text), expected, "what is held and not allocatable cannot be given out again");
    let pods_alone = &text[text.find("{\n  \"podResources\"").expect("the second answer")..];
    assert_eq!(listed(pods_alone), ["nvidia.com/gpu gpu-0 [0]", "nvidia.com/gpu gpu-3 [1]"]);
}

#[test]
fn a_kubelets_answers_in_full() {
    let read = answers(&fixture("podresources.json"));
    let all = read.allocatable.as_ref().expect("an answer");
    assert_eq!((all.devices.len(), all.cpus.to_string().as_str()), (5, "2-4"));
    let memory: Vec<_> = all
        .memory
        .iter()
        .map(|memory| (memory.memory_type.as_str(), memory.bytes, memory.nodes.as_slice()))
        .collect();
    assert_eq!(memory, [("memory", 33_280_880_640, &[0][..]), ("hugepages-1Gi", 2_147_483_648, &[1])]);
    let pods: Vec<_> = read.pods.iter().map(|pod| (pod.namespace.as_str(), pod.name.as_str())).collect();
    assert_eq!(pods, [("ml", "train-0"), ("default", "idle")]);
    let [(trainer, held), (logger, nothing)] = read.pods[0].containers.as_slice() else { panic!("{read:?}") };
    assert_eq!((trainer.as_str(), logger.as_str()), ("trainer", "logger"));
    assert_eq!((held.cpus.to_string().as_str(), held.memory[0].nodes.as_slice()), ("8-9", &[0, 1][..]));
    assert_eq!(*nothing, topology_manifest::NodeHoldings::default());
}

#[test]
fn the_same_answer_in_other_spellings() {
    let camel = fixture("podresources.json");
    let mut snake = camel
        .replace("\"ID\": \"1\"", "\"ID\": 1")
        .replace("\"size\": \"33280880640\"", "\"size\": 33280880640");
    for (camel, snake_name) in [
        ("podResources", "pod_resources"),
        ("resourceName", "resource_name"),
        ("deviceIds", "device_ids"),
        ("cpuIds", "cpu_ids"),
        ("memoryType", "memory_type"),
    ] {
        snake = snake.replace(camel, snake_name);
    }
    assert_eq!(answers(&snake), answers(&camel));
    assert_eq!(listed(&snake), listed(&camel));
    let get = r#"{"podResources": {"name": "a", "namespace": "b", "containers": [{"name": "c"}]}}"#;
    assert_eq!(answers(get).pods.len(), 1, "the answer of Get has one pod");
}

fn pools(text: &str) -> Vec<(String, FunctionPool)> {
    let entries =
        read_devices(&source(text)).unwrap_or_else(|error| panic!("{}", error.render(Style::Ascii)));
    let pools = entries.into_iter().map(|entry| match entry.source {
        DeviceSource::Pool(pool) => (entry.resource.to_string(), pool),
        other => panic!("{other:?}"),
    });
    pools.collect()
}

/// A pool with these selectors.
fn pool(selectors: &str) -> FunctionPool {
    pools(&format!(r#"{{"resourceList": [{{"resourceName": "x", "selectors": {selectors}}}]}}"#)).remove(0).1
}

const CARD: &str = "0000:18:00.0";

fn function(number: usize) -> FunctionFacts<'static> {
    FunctionFacts {
        address: ["0000:18:01.0", "0000:18:01.1", "0000:18:01.2", "0000:18:01.3"][number],
        class: 0x02_0000,
        vendor: Some(0x8086),
        device: Some(0x1889),
        part: FunctionPart::Virtual { of: CARD, number },
        card_names: None,
        driver: None,
    }
}

#[test]
fn selectors_of_the_plugin() {
    let rows = [
        ("{}", [true, true, true, true]),
        ("[]", [true, true, true, true]),
        (r#"{"vendors": ["15b3"]}"#, [false, false, false, false]),
        (r#"{"vendors": ["15b3", "8086"], "devices": ["1889"]}"#, [true, true, true, true]),
        (r#"{"devices": ["0x1889"]}"#, [false, false, false, false]),
        (r#"{"pciAddresses": ["0000:18:01.1", "0000:18:01.2"]}"#, [false, true, true, false]),
        (r#"{"rootDevices": ["0000:18:00.0"]}"#, [true, true, true, true]),
        (r#"{"rootDevices": ["0000:18:00.0#1-2"]}"#, [false, true, true, false]),
        (r#"{"rootDevices": ["0000:18:00.0#0,2-9"]}"#, [true, false, true, true]),
        (r#"{"rootDevices": ["18:00.0#3"]}"#, [false, false, false, true]),
        (r#"{"rootDevices": ["0000:18:00.0#0", "0000:18:00.0#1"]}"#, [true, false, false, false]),
        (r#"{"rootDevices": ["0000:98:00.0"]}"#, [false, false, false, false]),
        (r#"{"linkTypes": ["ether"]}"#, [true, true, true, true]),
        (r#"{"linkTypes": ["infiniband"]}"#, [false, false, false, false]),
        (
            r#"[{"pciAddresses": ["0000:18:01.0"]}, {"rootDevices": ["0000:18:00.0#3"]}]"#,
            [true, false, false, true],
        ),
    ];
    for (selectors, expected) in rows {
        let pool = pool(selectors);
        let found = [0, 1, 2, 3].map(|number| pool.takes(&function(number)));
        assert_eq!(found, expected, "{selectors}");
        assert!(pool.not_judged().is_empty(), "{selectors}");
    }
}

#[test]
fn functions_that_are_none_of_a_network_card() {
    let all = pool("{}");
    let card = FunctionFacts { part: FunctionPart::Whole, address: CARD, ..function(0) };
    assert!(all.takes(&card), "a card without virtual functions");
    assert!(
        !all.takes(&FunctionFacts { part: FunctionPart::Shared, ..card }),
        "a card with virtual functions"
    );
    assert!(!all.takes(&FunctionFacts { class: 0x03_0200, ..card }), "a display");
    assert!(pool(r#"{"linkTypes": ["infiniband"]}"#).takes(&FunctionFacts { class: 0x02_0700, ..card }));
    let unknown = FunctionFacts { vendor: None, ..card };
    assert!(all.takes(&unknown) && !pool(r#"{"vendors": ["8086"]}"#).takes(&unknown));
    let text = r#"{"resourceList": [{"resourceName": "fpga", "deviceType": "accelerator"}]}"#;
    let (name, accelerators) = pools(text).remove(0);
    assert_eq!(name, "intel.com/fpga");
    assert!(accelerators.takes(&FunctionFacts { class: 0x12_0000, ..card }) && !accelerators.takes(&card));
}

#[test]
fn what_cannot_be_judged_is_named() {
    let named = |selectors: &str| {
        pool(selectors).not_judged().iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(
        named(
            r#"[{"drivers": ["vfio-pci", "iavf"], "isRdma": true}, {"pfNames": ["ens1f0#0-3"], "vdpaType": "vhost"}]"#
        ),
        "isRdma; vdpaType \"vhost\""
    );
    assert_eq!(named(r#"{"rootDevices": ["0000:(18|98):00.0"]}"#), "rootDevices \"0000:(18|98):00.0\"");
    let bound = pool(r#"{"drivers": ["vfio-pci", "iavf"]}"#);
    assert_eq!(bound.drivers()[0].to_string(), "drivers \"vfio-pci\", \"iavf\"");
    for (driver, expected) in [(None, true), (Some("iavf"), true), (Some("ice"), false), (Some(""), false)] {
        assert_eq!(bound.takes(&FunctionFacts { driver, ..function(0) }), expected, "{driver:?}");
    }
    let by_name = pool(r#"{"pfNames": ["ens1f0#0-1,3", "ens1f1"]}"#);
    assert_eq!(by_name.names()[0].to_string(), "pfNames \"ens1f0#0-1,3-3\", \"ens1f1\"");
    assert!([0, 1, 2, 3].into_iter().all(|number| by_name.takes(&function(number))), "no names are known");
}

#[test]
fn cards_are_selected_by_the_names_of_their_interfaces() {
    let names = ["ens1f0".to_owned(), "mlx5_0".to_owned()];
    let named = |number| FunctionFacts { card_names: Some(&names), ..function(number) };
    for (selectors, expected) in [
        (r#"{"pfNames": ["ens1f0"]}"#, [true, true, true, true]),
        (r#"{"pfNames": ["ens1f0#0-1,3"]}"#, [true, true, false, true]),
        (r#"{"pfNames": ["ens1f1"]}"#, [false, false, false, false]),
        (r#"{"pfNames": ["ens1"]}"#, [false, false, false, false]),
    ] {
        let pool = pool(selectors);
        assert_eq!([0, 1, 2, 3].map(|number| pool.takes(&named(number))), expected, "{selectors}");
    }
}

/// Each entry of a text: its resource, its source, and what is assumed.
fn entries(text: &str) -> Vec<(String, DeviceSource, Vec<String>)> {
    let read = read_devices(&source(text)).unwrap_or_else(|error| panic!("{}", error.render(Style::Ascii)));
    read.into_iter().map(|entry| (entry.resource.to_string(), entry.source, entry.assumed)).collect()
}

fn refusal(text: &str) -> String {
    read_devices(&source(text)).map_or_else(|error| error.render(Style::Ascii), |read| panic!("{read:?}"))
}

#[test]
fn amounts_of_a_node_and_its_zones_are_counted() {
    let amounts =
        r#"{"cpu":"92","hugepages-1Gi":"32Gi","memory":"160000Mi","nvidia.com/gpu":"8","pods":"250"}"#;
    let read = entries(amounts);
    assert_eq!((read[0].0.as_str(), &read[0].1), ("nvidia.com/gpu", &DeviceSource::Amount(8)));
    let node =
        format!("apiVersion: v1\nkind: Node\nmetadata: {{name: n}}\nstatus: {{allocatable: {amounts}}}\n");
    assert_eq!(entries(&node), read);
    let list = format!("kind: List\nitems:\n- {}", node.replace('\n', "\n  "));
    assert_eq!(entries(&list), read);
    let zones = "kind: NodeResourceTopology\nzones:\n- {name: node-0, type: Node, resources: [{name: cpu, capacity: 4}, {name: a.b/x, \
                 allocatable: 2}]}\n- {name: node-1, type: Node, resources: [{name: a.b/x, capacity: \"3\"}]}\n";
    let counts = [(0, 2), (1, 3)].into();
    assert_eq!(entries(zones), [("a.b/x".to_owned(), DeviceSource::PerNode(counts), Vec::new())]);
    assert!(refusal(r#"{"cpu": 1, "memory": 1, "a.b/x": "many"}"#).contains("many"));
}

#[test]
fn the_matrix_of_nvidia_smi_lists_gpus() {
    let matrix = "\t\u{1b}[4mGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\u{1b}[0m\nGPU0\t X \tNV18\tSYS\t0-3\t0\t\tN/A\n\
                  GPU1\tNV18\t X \tPIX\t4-7\t1\t\tN/A\nNIC0\tSYS\tPIX\t X \n\nLegend:\n";
    assert_eq!(listed(matrix), ["nvidia.com/gpu GPU0 [0]", "nvidia.com/gpu GPU1 [1]"]);
    let older = "\tGPU0\tmlx5_0\tCPU Affinity\nGPU0\t X \tSYS\t0-15\nmlx5_0\tSYS\t X \t\n";
    let (_, near, _) = entries(older).remove(0);
    let DeviceSource::Near(near) = near else { panic!("{near:?}") };
    assert_eq!((near[0].0.as_str(), near[0].1.to_string().as_str()), ("GPU0", "0-15"));
    assert!(refusal("GPU0 CPU Affinity\n").contains("nvidia-smi topo --matrix"));
}

#[test]
fn nvidias_plugin_shares_and_names_gpus() {
    let gpus = |text: &str| {
        let (resource, source, assumed) = entries(text).remove(0);
        let DeviceSource::Gpus { replicas, partitions } = source else { panic!("{source:?}") };
        let assumed = if assumed.is_empty() { "" } else { " assumed" };
        let partitions =
            if partitions == MigStrategy::None { String::new() } else { format!(" {partitions:?}") };
        format!("{resource} x{replicas}{assumed}{partitions}")
    };
    let sliced = "version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}\n";
    assert_eq!(gpus(sliced), "nvidia.com/gpu x4");
    let map =
        format!("apiVersion: v1\nkind: ConfigMap\ndata:\n  any: |\n    {}", sliced.replace('\n', "\n    "));
    assert_eq!(gpus(&map), "nvidia.com/gpu x4");
    assert_eq!(
        gpus(&sliced.replace("timeSlicing: {", "timeSlicing: {renameByDefault: true, ")),
        "nvidia.com/gpu.shared x4"
    );
    assert_eq!(gpus(&sliced.replace("replicas: 4", "rename: part, replicas: 2")), "nvidia.com/part x2");
    assert_eq!(gpus(&sliced.replace("timeSlicing", "mps")), "nvidia.com/gpu x4 assumed");
    assert_eq!(gpus("version: v1\nflags: {migStrategy: single}\n"), "nvidia.com/gpu x1 Single");
    assert_eq!(
        gpus("version: v1\nresources: {gpus: [{pattern: \"*\", name: card}]}\n"),
        "nvidia.com/card x1"
    );
    let mig = sliced.replace("nvidia.com/gpu,", "nvidia.com/mig-1g.5gb,");
    assert!(refusal(&mig).contains("`topolet capture --node NODE.tar.zst`"), "{}", refusal(&mig));
    assert!(refusal(&sliced.replace("replicas: 4", "replicas: 1")).contains("from 2 on"));
    assert!(refusal("version: v1\nflags: {migStrategy: both}\n").contains("none, single or mixed"));
    assert!(
        refusal("version: v1\nresources: {gpus: [{pattern: A100, name: a}]}\n")
            .contains("named by their product")
    );
}

#[test]
fn the_generic_plugin_counts_paths() {
    let text = "devices:\n- name: tun\n  groups:\n  - {count: 4, paths: [{path: /dev/net/tun}]}\n  - paths: [{path: /dev/a}]\n";
    let (resource, source, _) = entries(text).remove(0);
    assert_eq!((resource.as_str(), source), ("squat.ai/tun", DeviceSource::Counted(5)));
    assert_eq!(entries(&format!("domain: a.b\n{text}"))[0].0, "a.b/tun");
    assert!(refusal(&text.replace("/dev/a", "/dev/tty*")).contains("is a pattern"));
    assert!(refusal(&text.replace("count: 4", "count: 0")).contains("1 to 65536"));
}

#[test]
fn policies_and_states_of_the_sriov_operator_are_read() {
    let policy = "apiVersion: sriovnetwork.openshift.io/v1\nkind: SriovNetworkNodePolicy\nmetadata: {name: p}\nspec:\n  resourceName: \
                  nic\n  numVfs: 5\n  deviceType: vfio-pci\n  nicSelector: {pfNames: [\"eno1#0-1\"], rootDevices: [\"0000:01:00.0\"], \
                  vendor: \"8086\", deviceID: \"158B\"}\n";
    let (resource, source, assumed) =
        entries(&format!("{policy}---\n{}", policy.replace("eno1", "eno2"))).remove(0);
    let DeviceSource::Functions(cards) = source else { panic!("{source:?}") };
    assert_eq!((resource.as_str(), cards.len(), assumed.len()), ("openshift.io/nic", 2, 1));
    assert_eq!((cards[0].count, cards[0].device.as_deref()), (5, Some("158b")));
    assert_eq!(cards[1].names, [("eno2".to_owned(), Some(vec![0..=1]))]);
    assert!(refusal(&policy.replace("numVfs: 5", "numVfs: many")).contains("how many"));
    let state = "kind: SriovNetworkNodeState\nspec: {interfaces: [{pciAddress: \"0000:18:00.0\", numVfs: 2, vfGroups: [{resourceName: a, \
                 vfRange: 0-0}, {resourceName: b, vfRange: 1-1}]}]}\nstatus: {interfaces: [{pciAddress: \"0000:18:00.0\", Vfs: [{pciAddress: \
                 \"0000:18:01.0\", vfID: 0}, {pciAddress: \"0000:18:01.1\", vfID: 1}]}]}\n";
    let read = entries(state);
    assert_eq!(read[0].1, DeviceSource::Addresses(vec!["0000:18:01.0".to_owned()]));
    assert_eq!(
        (read[1].0.as_str(), &read[1].1),
        ("openshift.io/b", &DeviceSource::Addresses(vec!["0000:18:01.1".to_owned()]))
    );
    assert!(refusal("kind: Pod\n").contains("SriovNetworkNodePolicy"));
}

#[test]
fn a_configuration_in_its_config_map() {
    let pools = pools(&fixture("sriov-config.yaml"));
    let names: Vec<_> = pools.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["intel.com/sriov_net", "example.com/sriov_dpdk"]);
    let text = r#"{"resourceList": [{"resourceName": "a", "excludeTopology": true}, {"resourceName": "b"}]}"#;
    let nodes: Vec<_> = self::pools(text).iter().map(|(_, pool)| pool.nodes()).collect();
    assert_eq!(nodes, [ReportedNodes::Withheld, ReportedNodes::Reported]);
}

#[test]
fn what_is_wrong_with_them() {
    let refused = |text: &str| {
        let Err(error) = read_devices(&source(text)) else { panic!("read: {text}") };
        error.render(Style::Ascii)
    };
    insta::assert_snapshot!(refused("{\"resourceList\": [\n{\"resourceName\": \"a\", \"selectors\": {\"vendor\": [\"8086\"]}}]}"), @r#"
    error: resourceList[0].selectors: there is no field "vendor"
     --> devices:2:37
      |
    1 | {"resourceList": [
    2 | {"resourceName": "a", "selectors": {"vendor": ["8086"]}}]}
      |                                     ^^^^^^^^ did you mean vendors?
    "#);
    insta::assert_snapshot!(refused("{\"resourceList\": [\n{\"resourceName\": \"a\", \"selectors\": {\"rootDevices\": [\"0000:18:00.0#x\"]}}]}"), @r#"
    error: resourceList[0].selectors.rootDevices[0]: found text "0000:18:00.0#x"
     --> devices:2:53
      |
    1 | {"resourceList": [
    2 | {"resourceName": "a", "selectors": {"rootDevices": ["0000:18:00.0#x"]}}]}
      |                                                     ^^^^^^^^^^^^^^^^ expected an address such as 0000:18:00.0 or a name such as ens1f0, with # and numbers of functions or without
    "#);
    insta::assert_snapshot!(refused("{\"resourceList\": [\n{\"resourceName\": \"a\"}, {\"resourceName\": \"a\"}]}"), @r#"
    error: resourceList[1].resourceName: the inventory already has a resource "intel.com/a"
     --> devices:2:41
      |
    1 | {"resourceList": [
    2 | {"resourceName": "a"}, {"resourceName": "a"}]}
      |                                         ^^^ expected each resource once
    "#);
    insta::assert_snapshot!(refused("{\"resourceList\": [\n{\"resourceName\": \"a/b\"}]}"), @r#"
    error: resourceList[0].resourceName: found text "a/b"
     --> devices:2:18
      |
    1 | {"resourceList": [
    2 | {"resourceName": "a/b"}]}
      |                  ^^^^^ expected the name of a resource without its domain
    "#);
    insta::assert_snapshot!(refused("kind: ConfigMap\ndata:\n  config.json: |\n    {\"resourceList\": [\n     {\"selectors\": {}}]}\n"), @r#"
    error: resourceList[0]: field resourceName is missing
     --> devices (config.json):2:2
      |
    1 | {"resourceList": [
    2 |  {"selectors": {}}]}
      |  ^ expected the name of a resource without its domain
    "#);
    insta::assert_snapshot!(refused("{\"devices\": [{\"resourceName\": \"a/b\", \"deviceIds\": [7]}]}"), @r#"
    error: devices[0].deviceIds[0]: found number "7"
     --> devices:1:52
      |
    1 | {"devices": [{"resourceName": "a/b", "deviceIds": [7]}]}
      |                                                    ^ expected the device's id as text
    "#);
    insta::assert_snapshot!(refused("{\"cpuIds\": [\"-1\"]}"), @r#"
    error: cpuIds[0]: "-1" is out of range
     --> devices:1:13
      |
    1 | {"cpuIds": ["-1"]}
      |             ^^^^ expected the id of a CPU
    "#);
    insta::assert_snapshot!(refused("{\"podResources\": [{\"name\": \"a\"}]}"), @r#"
    error: podResources[0]: field namespace is missing
     --> devices:1:19
      |
    1 | {"podResources": [{"name": "a"}]}
      |                   ^ expected the pod's namespace
    "#);
}

#[test]
fn gpus_are_on_the_nodes_that_rocm_smi_prints() {
    let text = "==== Numa Nodes ====\nGPU[0]\t\t: (Topology) Numa Node: 0\nGPU[0]\t\t: (Topology) Numa Affinity: 0\nGPU[1]\t\t: (Topology) Numa Node: 1\nGPU[2]\t\t: (Topology) Numa Node: -1\n";
    assert_eq!(listed(text), ["amd.com/gpu GPU[0] [0]", "amd.com/gpu GPU[1] [1]", "amd.com/gpu GPU[2] []"]);
}
