//! Reports on whole decisions: pods that are admitted, refused and half known.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use admission_report::cpuset::CpuSet;
use admission_report::device_manager::{Device, Endpoint, Inventory, Life, Moment, PluginOptions, Replies};
use admission_report::node_config::{KubeletConfiguration, ReservedMemory};
use admission_report::pod_spec::{
    Constraints, Container, Demand, HostPort, NodeSelectorTerm, Pod, PodLevelResources, Requirement,
    ResourceList, Role, Taint, Tolerated, Toleration,
};
use admission_report::topology_admission::{Detail, Identity, Ledger, Node, OnEmptyNode, Verdict};
use admission_report::topology_model::{KubeletView, MachineInfo, NodeIds};
use admission_report::{
    Conclusion, ContainerReport, Facts, Note, Obstacle, Report, Resource, Severity, UserAdvice,
};

const ADVICE: UserAdvice =
    UserAdvice { no_plugin: " [plugin?]", no_huge_pages: " [pages?]", unchecked: " [unchecked?]" };

/// A node with both managers on; CPU 0 and 1 GiB are reserved.
fn node(machine: &str, policy: &str, options: &[&str]) -> Node {
    let info: MachineInfo = machine.parse().unwrap();
    let text = |text: &str| Some(text.to_owned());
    let mut config = KubeletConfiguration {
        cpu_manager_policy: text("static"),
        memory_manager_policy: text("Static"),
        reserved_system_cpus: text("0"),
        topology_manager_policy: text(policy),
        reserved_memory: vec![ReservedMemory {
            numa_node: 0,
            limits: [("memory".to_owned(), "1Gi".parse().unwrap())].into(),
        }],
        ..KubeletConfiguration::default()
    };
    config.system_reserved.insert("memory".to_owned(), "924Mi".to_owned());
    if options.contains(&"full-pcpus-only") {
        config.cpu_manager_policy_options.insert("full-pcpus-only".to_owned(), "true".to_owned());
        config.reserved_system_cpus = text("0-1");
    }
    Node::start(&KubeletView::new(&info).unwrap(), &config).unwrap()
}

/// `NAME cpu=4 memory=1Gi`: a pod of one container with these limits.
fn pod(text: &str) -> Pod {
    let mut words = text.split(' ');
    let name = words.next().unwrap();
    let limits: ResourceList = words
        .map(|word| {
            let (resource, amount) = word.split_once('=').unwrap();
            (resource.into(), amount.parse().unwrap())
        })
        .collect();
    let app = Container { name: "app".into(), role: Role::App, requests: ResourceList::new(), limits };
    Pod::new("default", name, vec![app]).with_defaults(PodLevelResources::Count)
}

fn report(node: &Node, ledger: &Ledger, pod: &Pod) -> (Report, Ledger) {
    let (attempt, trace) = node.admission(ledger, pod).trace(Detail::Merges);
    let facts = Facts { advice: ADVICE, ..Facts::new(node, ledger, pod, &attempt, &trace) };
    let report = Report::of(&facts, &attempt.verdict, &Replies::new());
    let after = match attempt.verdict {
        Verdict::NeedsPlugin(_) => ledger.clone(),
        _ => ledger.commit(attempt).unwrap(),
    };
    (report, after)
}

/// The report on the last of some pods, each beside those admitted before it.
fn last(node: &Node, ledger: Ledger, pods: &[&str]) -> Report {
    let (mut ledger, mut last) = (ledger, None);
    for text in pods {
        let (report, after) = report(node, &ledger, &pod(text));
        (ledger, last) = (after, Some(report));
    }
    last.unwrap()
}

const SMALL: &str = "pack:2 [numa(memory=8GiB)] core:4 pu:2";

/// The text of the report on the last pod, without the changes that would fit.
fn check((policy, options): (&str, &[&str]), pods: &[&str], expected: &[&str]) {
    let node = node(SMALL, policy, options);
    let text = last(&node, node.empty_ledger(), pods).to_string();
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("  would fit")).collect();
    assert_eq!(lines, expected, "{policy} {options:?} {pods:?}");
}

const REFUSED: &str = "TopologyAffinityError: Resources cannot be allocated with Topology locality";
const NOT_NOW: &str = "  outlook: It fits an empty node: not now, rather than never";
const NEVER: &str = "  outlook: It does not fit an empty node: waiting is of no use";

#[test]
fn a_refusal_says_which_node_lacks_what() {
    let strict = || ("single-numa-node", &[][..]);
    check(
        strict(),
        &["a cpu=10 memory=1Gi"],
        &[
            &format!("pod default/a: {REFUSED}"),
            "  why: single-numa-node wants all of it on one NUMA node, and none has that: NUMA 0 lacks 3 cpu, NUMA 1 lacks 2 cpu",
            NEVER,
        ],
    );
    check(
        strict(),
        &["a cpu=20 memory=1Gi"],
        &[
            &format!("pod default/a: {REFUSED}"),
            "  why: all NUMA nodes together have 15 CPUs, and it asks for 20",
            NEVER,
        ],
    );
    // What no empty node has comes before what is held.
    check(
        ("single-numa-node", &[]),
        &["a cpu=2 memory=1Gi", "wide cpu=10 memory=1Gi"],
        &[
            &format!("pod default/wide: {REFUSED}"),
            "  why: single-numa-node wants all of it on one NUMA node, and none has that even if nothing runs: NUMA 0 lacks 3 cpu, \
             NUMA 1 lacks 2 cpu",
            "  why: single-numa-node wants all of it on one NUMA node, and none has that: NUMA 0 lacks 5 cpu, NUMA 1 lacks 2 cpu",
            NEVER,
        ],
    );
    check(
        strict(),
        &["a cpu=6 memory=1Gi", "b cpu=6 memory=1Gi", "c cpu=6 memory=1Gi"],
        &[
            &format!("pod default/c: {REFUSED}"),
            "  why: all NUMA nodes together have 3 of 15 CPUs left, and it asks for 6",
            NOT_NOW,
        ],
    );
    check(
        strict(),
        &["a cpu=2 memory=1Gi hugepages-2Mi=4Mi"],
        &[
            "pod default/a: UnexpectedAdmissionError: Allocate failed due to [memorymanager] failed to find NUMA nodes to \
         extend the current topology hint, which is unexpected",
            "  why: no NUMA node has hugepages-2Mi [pages?]",
            NEVER,
        ],
    );
    check(
        ("restricted", &[]),
        &["a cpu=6 memory=1Gi", "b cpu=6 memory=1Gi", "c cpu=3 memory=1Gi"],
        &[
            &format!("pod default/c: {REFUSED}"),
            "  why: restricted wants nothing wider than it has to be: cpu needs 2 NUMA nodes, where 1 would do if nothing \
         were held or reserved",
            NOT_NOW,
        ],
    );
    check(
        ("restricted", &[]),
        &["a cpu=10 memory=1Gi"],
        &[
            &format!("pod default/a: {REFUSED}"),
            "  why: restricted wants each resource on as few NUMA nodes as can be, and all on the same, but these numbers \
         differ: cpu 2, memory 1",
            NEVER,
        ],
    );
    check(
        ("none", &[]),
        &["a cpu=10 memory=1Gi", "b cpu=8500m memory=1Gi"],
        &[
            "pod default/b: OutOfcpu: Node didn't have enough resource: cpu, requested: 8500, used: 10000, capacity: 15000",
            "  why: pods can use 15 CPUs of this node in all; others ask for 10, this one for 8500m",
            NOT_NOW,
        ],
    );
    check(
        ("none", &["full-pcpus-only"]),
        &["a cpu=3 memory=1Gi"],
        &[
            "pod default/a: SMTAlignmentError: SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2",
            "  why: option full-pcpus-only gives out whole cores of 2 CPUs, and 3 CPUs are no whole number of them",
            NEVER,
        ],
    );
    check(
        strict(),
        &["a cpu=20 memory=1Gi acme.com/nic=1"],
        &[
            &format!("pod default/a: {REFUSED}"),
            "  why: all NUMA nodes together have 15 CPUs, and it asks for 20",
            NEVER,
            "  note: acme.com/nic is not checked: no device plugin of it is known here, and the kubelet does not check what \
         it does not know [unchecked?]",
        ],
    );
}

#[test]
fn an_admission_says_where_and_what_is_not_given() {
    check(
        ("single-numa-node", &[]),
        &["a cpu=4 memory=1Gi"],
        &["pod default/a: admitted", "  app: NUMA 0, CPUs 2-5, 1Gi on NUMA 0"],
    );
    check(
        ("best-effort", &[]),
        &["a cpu=6 memory=1Gi", "b cpu=6 memory=1Gi", "c cpu=3 memory=1Gi"],
        &[
            "pod default/c: admitted",
            "  app: NUMA 0, CPUs 1,14-15, 1Gi on NUMA 0",
            "  note: admitted, NOT aligned: the best answer is NUMA 0, not preferred",
        ],
    );
    check(
        ("none", &[]),
        &["a cpu=1500m memory=1Gi"],
        &[
            "pod default/a: admitted",
            "  app: any NUMA node, shared CPUs, 1Gi on NUMA 0",
            "  note: admitted, CPUs NOT pinned: 1500m CPUs are no whole number of CPUs; CPUs are the shared pool 0-15",
        ],
    );
    check(
        ("single-numa-node", &[]),
        &["a cpu=2 memory=1Gi acme.com/nic=1"],
        &[
            "pod default/a: admitted",
            "  app: NUMA 0, CPUs 2-3, 1Gi on NUMA 0",
            "  note: admitted WITHOUT acme.com/nic: no device plugin of it is known here, and the kubelet does not check what \
         it does not know [unchecked?]",
        ],
    );
    check(
        ("best-effort", &[]),
        &["wide cpu=2 memory=9Gi", "b cpu=2 memory=1Gi"],
        &[
            "pod default/b: admitted",
            "  app: NUMA 0-1, CPUs 4-5, 1Gi on NUMA 0-1",
            "  note: admitted, NOT aligned: the best answer is NUMA 0-1, not preferred; NUMA 1 is grouped with NUMA 0 \
             by pod wide; memory of a group serves only requests that need all its NUMA nodes",
        ],
    );
}

#[test]
fn a_refusal_that_is_not_about_resources_names_what_the_node_lacks() {
    let labels = [("zone", "a"), ("disk", "hdd")].map(|(key, value)| (key.to_owned(), value.to_owned()));
    let taint = |key: &str, value: &str, effect: &str| Taint {
        key: key.to_owned(),
        value: value.to_owned(),
        effect: effect.to_owned(),
    };
    let identity = Identity {
        name: "w1".to_owned(),
        labels: labels.into(),
        taints: vec![taint("k", "", "NoExecute"), taint("a", "b", "NoExecute"), taint("c", "", "NoSchedule")],
    };
    let node = node(SMALL, "none", &[]).with_identity(identity);
    let tolerates =
        |key: &str| Toleration { key: key.to_owned(), values: Tolerated::Exists, effect: String::new() };
    let tolerant =
        || Constraints { tolerations: vec![tolerates("k"), tolerates("a")], ..Constraints::default() };
    let wants = |key: &str, demand| NodeSelectorTerm {
        labels: vec![Requirement { key: key.to_owned(), demand }],
        fields: Vec::new(),
    };
    let selecting = |key: &str, value: &str| Constraints {
        node_selector: [(key.to_owned(), value.to_owned())].into(),
        ..tolerant()
    };
    let near = |terms: Vec<NodeSelectorTerm>| Constraints { node_affinity: Some(terms), ..tolerant() };
    let port = HostPort { address: "0.0.0.0".to_owned(), protocol: "TCP".to_owned(), port: 80 };
    let in_b = Demand::In(vec!["b".to_owned(), "c".to_owned()]);
    let serving = Constraints { host_ports: vec![port], ..tolerant() };
    let mut first = pod("first cpu=1 memory=1Gi");
    first.constraints = serving.clone();
    let ledger = report(&node, &node.empty_ledger(), &first).1;
    for (constraints, why) in [
        (
            Constraints::default(),
            "the node has taints k:NoExecute and a=b:NoExecute, which the pod does not tolerate",
        ),
        (
            Constraints { tolerations: vec![tolerates("a")], ..Constraints::default() },
            "the node has taint k:NoExecute, which the pod does not tolerate",
        ),
        (selecting("a", "b"), "nodeSelector wants a=b, and the node has no label a"),
        (selecting("disk", "ssd"), "nodeSelector wants disk=ssd, and the node has disk=hdd"),
        (
            near(vec![wants("zone", in_b.clone())]),
            "its required node affinity wants zone in (b, c), and the node has zone=a",
        ),
        (
            near(vec![wants("zone", in_b), wants("gpu", Demand::Exists)]),
            "no term of its required node affinity holds: zone in (b, c), and the node has zone=a; a label gpu, and the node \
             has no label gpu",
        ),
        (
            Constraints { node_name: Some("w2".to_owned()), ..tolerant() },
            "spec.nodeName is w2, and the node is called w1",
        ),
        (serving, "port 80/TCP of the node is taken by first"),
        (
            Constraints { os: Some("windows".to_owned()), ..tolerant() },
            "spec.os.name is windows, and the node runs linux",
        ),
    ] {
        let mut asked = pod("asked cpu=1 memory=1Gi");
        asked.constraints = constraints;
        let text = report(&node, &ledger, &asked).0.to_string();
        let found = text.lines().find_map(|line| line.strip_prefix("  why: "));
        assert_eq!(found, Some(why), "{text}");
    }
}

/// `ROLE NAME CPUS` for each container.
fn pod_of(containers: &[(Role, &str, &str)]) -> Pod {
    let containers = containers.iter().map(|(role, name, cpus)| Container {
        name: (*name).into(),
        role: *role,
        requests: ResourceList::new(),
        limits: [("cpu", *cpus), ("memory", "64Mi")]
            .map(|(resource, amount)| (resource.into(), amount.parse().unwrap()))
            .into(),
    });
    Pod::new("default", "several", containers.collect()).with_defaults(PodLevelResources::Count)
}

#[test]
fn asking_for_less_keeps_cpus_exclusive_or_says_that_it_does_not() {
    let node = node(SMALL, "best-effort", &[]);
    let asks_less = |before: &[&str], asked: &Pod| -> Vec<String> {
        let mut ledger = node.empty_ledger();
        for text in before {
            ledger = report(&node, &ledger, &pod(text)).1;
        }
        let report = report(&node, &ledger, asked).0.to_string();
        let lines = report.lines().filter_map(|line| line.trim().strip_prefix("would fit: ask less "));
        lines.map(str::to_owned).collect()
    };
    // 15 CPUs can be had, and b's part of one counts too.
    let split = pod_of(&[(Role::App, "a", "14"), (Role::App, "b", "1500m")]);
    let found = asks_less(&[], &split);
    let first = found.first().and_then(|line| line.split(':').next());
    assert_eq!(first, Some("cpu 13 instead of 14 in a"), "{found:?}");
    assert!(!found.iter().any(|line| line.contains("not pinned")), "{found:?}");
    let first = pod_of(&[(Role::Init, "first", "4"), (Role::App, "app", "250m")]);
    assert_eq!(
        asks_less(&["other cpu=14500m memory=64Mi"], &first),
        ["cpu 500m instead of 4 in first: NUMA 0; CPUs of first not pinned"]
    );
}

#[test]
fn what_json_has_as_text_is_a_value() {
    let node = node(SMALL, "single-numa-node", &[]);
    let report = last(&node, node.empty_ledger(), &["a cpu=6 memory=1Gi", "b cpu=4 memory=1Gi"]);
    let Conclusion::Admitted(containers) = &report.conclusion else { panic!("{report}") };
    let [app] = containers.as_slice() else { panic!("{report}") };
    let nodes = |ids: &NodeIds| ids.iter().map(|id| id.0).collect::<Vec<_>>();
    assert_eq!((app.role, app.nodes.as_ref().map(nodes)), (Role::App, Some(vec![1])));
    assert_eq!(app.exclusive_cpus.as_ref().map(CpuSet::len), Some(4));
    let [memory] = app.memory.as_slice() else { panic!("{report}") };
    assert_eq!((&memory.resource, memory.bytes, nodes(&memory.nodes)), (&Resource::Memory, 1 << 30, vec![1]));
    let [unit] = report.units.as_slice() else { panic!("{report}") };
    assert_eq!(unit.outcome().as_deref(), Some("NUMA 1, preferred: it alone is preferred by all"));
    assert_eq!(unit.resources[0].stock(&unit.resources[0].nodes[0].cell), "1 free of 7 (held by a)");
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(
        json["containers"],
        serde_json::json!([{
            "name": "app",
            "role": "app",
            "nodes": "1",
            "exclusiveCpus": "8-11",
            "cpuNodes": "1",
            "memory": [{ "resource": "memory", "bytes": 1 << 30, "nodes": "1" }],
        }])
    );
    assert_eq!(json["units"][0]["merge"]["answers"][0]["alone"], "1");
}

#[test]
fn a_container_that_runs_is_reported_like_one_that_is_admitted() {
    let node = node(SMALL, "single-numa-node", &[]);
    let pod = pod("a cpu=4 memory=1Gi");
    let (admitted, ledger) = report(&node, &node.empty_ledger(), &pod);
    let (given, held) =
        (&admitted.containers()[0], ContainerReport::held(&node, &ledger, &pod.uid, &pod.containers[0]));
    assert_eq!(
        (&held.name, held.role, &held.exclusive_cpus, &held.memory, &held.devices),
        (&given.name, given.role, &given.exclusive_cpus, &given.memory, &given.devices)
    );
}

#[test]
fn what_a_pod_does_not_get_is_a_warning() {
    let severities = |policy, pods: &[&str]| {
        let node = node(SMALL, policy, &[]);
        let report = last(&node, node.empty_ledger(), pods);
        report.notes.iter().map(Note::severity).collect::<Vec<_>>()
    };
    assert_eq!(severities("none", &["a cpu=1500m memory=1Gi"]), [Severity::Warning]);
    assert_eq!(severities("single-numa-node", &["a cpu=20 memory=1Gi acme.com/nic=1"]), [Severity::Info]);
    assert_eq!(severities("single-numa-node", &["a cpu=2 memory=1Gi"]), []);
}

#[test]
fn memory_that_is_free_and_cannot_be_had_has_a_holder() {
    let (loose, strict) = (node(SMALL, "best-effort", &[]), node(SMALL, "single-numa-node", &[]));
    let (_, ledger) = report(&loose, &loose.empty_ledger(), &pod("wide cpu=2 memory=9Gi"));
    let (refused, _) = report(&strict, &ledger, &pod("b cpu=2 memory=1Gi"));
    let refusal = refused.refusal().unwrap();
    let [Obstacle::NoSingleNode(lacks), Obstacle::HeldBackMemory(memory)] = refusal.obstacles.as_slice()
    else {
        panic!("{refused}")
    };
    assert_eq!(
        lacks.to_string(),
        "NUMA 0 lacks 1Gi memory, NUMA 1 lacks memory that is not bound together with other NUMA nodes"
    );
    assert_eq!(
        memory.to_string(),
        "NUMA 1 has enough alone, but nodes over which a pod's memory is spread are a group, and serve only requests \
         that need them all: NUMA 1 is grouped with NUMA 0 by pod wide"
    );
    assert_eq!(memory.bound[0].pods[0].uid.as_str(), "default_wide");
}

/// A node with one device on NUMA node 1, whose plugin runs or not.
fn with_nic(node: &Node, life: Life) -> Ledger {
    let mut inventory = Inventory::new(node.nodes().clone());
    let resource = "acme.com/nic".into();
    let running = Endpoint::Plugin { options: Some(PluginOptions::default()), life: Life::Running };
    inventory.set_endpoint(&resource, running);
    inventory.list(&resource, [Device::new("nic-0", &[1])]);
    if let Life::Stopped(since) = life {
        inventory.disconnect(&resource, since);
    }
    node.empty_ledger().with_inventory(inventory)
}

#[test]
fn a_plugin_that_is_gone_is_the_reason_and_whether_waiting_helps_is_open() {
    let node = node(SMALL, "single-numa-node", &[]);
    let ask = "a cpu=2 memory=1Gi acme.com/nic=1";
    let gone = last(&node, with_nic(&node, Life::Stopped(Moment::default())), &[ask]);
    let refusal = gone.refusal().unwrap();
    assert_eq!(
        refusal.why().as_deref(),
        Some(
            "the device plugin of acme.com/nic is gone, and no device of it can be allocated until a plugin registers \
             again: waiting for the plugin helps"
        )
    );
    assert_eq!((refusal.outlook(), refusal.on_empty_node), (None, OnEmptyNode::Unknown));
    // A plugin that runs has to be asked.
    let open = last(&node, with_nic(&node, Life::Running), &[ask]);
    assert!(matches!(open.conclusion, Conclusion::Undecided(_)), "{open}");
    let json = serde_json::to_value(&open).unwrap();
    assert_eq!((&json["admitted"], json.get("refusal")), (&false.into(), None));
}

#[test]
fn devices_without_a_known_numa_node_refuse_no_pod_while_enough_are_left() {
    let node = node(SMALL, "single-numa-node", &[]);
    let ledger = || {
        let inventory = Inventory::new(node.nodes().clone());
        // Of a device that nothing holds the checkpoint has no NUMA node.
        let devices = [Device::new("nic-0", &[1]), Device::new("nic-1", &[])];
        node.empty_ledger().with_inventory(inventory.with_unlisted("acme.com/nic", devices))
    };
    let open = last(&node, ledger(), &["a cpu=2 memory=1Gi acme.com/nic=2"]);
    assert!(matches!(open.conclusion, Conclusion::Undecided(_)), "{open}");
    let refused = last(&node, ledger(), &["a cpu=2 memory=1Gi acme.com/nic=3"]);
    assert!(refused.refusal().is_some(), "{refused}");
}

/// Why the last of some pods does not fit, in brief.
fn in_brief(node: &Node, mut ledger: Ledger, pods: &[&str]) -> String {
    let mut brief = String::new();
    for text in pods {
        let pod = pod(text);
        let (attempt, trace) = node.admission(&ledger, &pod).trace(Detail::Short);
        brief = match &attempt.verdict {
            Verdict::Refused(refused) => {
                Facts::new(node, &ledger, &pod, &attempt, &trace).brief(refused).to_string()
            }
            _ => "it fits".to_owned(),
        };
        ledger = ledger.commit(attempt).unwrap();
    }
    brief
}

#[test]
fn a_brief_reason_has_amounts_of_the_pod_alone() {
    let check = |(policy, options): (&str, &[&str]), pods: &[&str], expected: &str| {
        let node = node(SMALL, policy, options);
        assert_eq!(in_brief(&node, node.empty_ledger(), pods), expected, "{policy} {options:?} {pods:?}");
    };
    let strict = || ("single-numa-node", &[][..]);
    check(strict(), &["a cpu=10 memory=1Gi"], "no NUMA node has 10 exclusive CPUs free");
    check(
        strict(),
        &["a cpu=6 memory=1Gi", "b cpu=10 memory=1Gi"],
        "no NUMA node has 10 exclusive CPUs free",
    );
    check(
        strict(),
        &["a cpu=6 memory=1Gi", "b cpu=6 memory=1Gi", "c cpu=1 memory=9Gi"],
        "no NUMA node has 9Gi of memory free",
    );
    check(
        strict(),
        &["a cpu=4 memory=1Gi", "b cpu=2 memory=8Gi", "c cpu=4 memory=7Gi"],
        "no NUMA node has 7Gi of memory free",
    );
    check(
        strict(),
        &["a cpu=4 memory=5Gi", "b cpu=7 memory=1Gi", "c cpu=2 memory=6Gi"],
        "no NUMA node has 2 exclusive CPUs and 6Gi of memory free together",
    );
    check(
        ("restricted", &[]),
        &["a cpu=6 memory=1Gi", "b cpu=6 memory=1Gi", "c cpu=3 memory=1Gi"],
        "free only on more NUMA nodes than restricted accepts: 3 exclusive CPUs",
    );
    check(
        ("restricted", &[]),
        &["a cpu=10 memory=1Gi"],
        "cpu and memory need different numbers of NUMA nodes, which restricted refuses",
    );
    check(
        ("restricted", &[]),
        &["a cpu=20 memory=1Gi"],
        "all NUMA nodes together do not have 20 exclusive CPUs free",
    );
    check(
        ("none", &[]),
        &["a cpu=10 memory=1Gi", "b cpu=8500m memory=1Gi"],
        "pods would ask for more cpu than the node has for them",
    );
    check(
        ("none", &[]),
        &["a cpu=20 memory=1Gi"],
        "all NUMA nodes together do not have 20 exclusive CPUs free",
    );
    check(
        ("none", &["full-pcpus-only"]),
        &["a cpu=3 memory=1Gi"],
        "full-pcpus-only gives out whole cores, and 3 exclusive CPUs are no whole number of them",
    );
    check(
        ("none", &["full-pcpus-only"]),
        &["a cpu=10 memory=1Gi", "b cpu=8 memory=1Gi"],
        "too few whole cores are free for 8 exclusive CPUs",
    );
}

#[test]
fn brief_reasons_name_plugins_and_groups() {
    let strict = node(SMALL, "single-numa-node", &[]);
    let ask = &["a cpu=2 memory=1Gi acme.com/nic=1"];
    let gone = with_nic(&strict, Life::Stopped(Moment::default()));
    assert_eq!(in_brief(&strict, gone, ask), "the device plugin of acme.com/nic is gone");
    let inventory = Inventory::new(strict.nodes().clone());
    let with = |near: &[i64]| {
        strict
            .empty_ledger()
            .with_inventory(inventory.clone().with("acme.com/nic", [Device::new("nic-0", near)]))
    };
    let far = ["a cpu=2 memory=1Gi", "b cpu=7 memory=1Gi acme.com/nic=1"];
    assert_eq!(
        in_brief(&strict, with(&[0]), &far),
        "no NUMA node has 7 exclusive CPUs, 1Gi of memory and 1 acme.com/nic free together"
    );
    let two = ["a cpu=2 memory=1Gi acme.com/nic=2"];
    assert_eq!(in_brief(&strict, with(&[0]), &two), "no NUMA node has 2 acme.com/nic free");
    let loose = node(SMALL, "best-effort", &[]);
    let (_, ledger) = report(&loose, &loose.empty_ledger(), &pod("wide cpu=2 memory=9Gi"));
    assert_eq!(
        in_brief(&strict, ledger, &["b cpu=2 memory=1Gi"]),
        "1Gi of memory is free only in groups of NUMA nodes that serve together"
    );
}

#[test]
fn of_many_nodes_those_that_lack_least_are_listed() {
    let node = node("pack:8 [numa(memory=8GiB)] core:4 pu:1", "single-numa-node", &[]);
    // One on each node.
    let others: Vec<String> = (1..9).map(|at| format!("p{at} cpu=3 memory={}Gi", (at - 1).max(1))).collect();
    let pods = others.iter().map(String::as_str).chain(["wide cpu=4 memory=4Gi"]);
    let report = last(&node, node.empty_ledger(), &pods.collect::<Vec<_>>());
    let why = report.refusal().unwrap().why();
    assert_eq!(
        why.as_deref(),
        Some(
            "single-numa-node wants all of it on one NUMA node, and none has that: NUMA 0 lacks 4 cpu, NUMA 1-4 each \
             lack 3 cpu, NUMA 5 lacks 3 cpu and 1Gi memory, 2 more lack other things"
        )
    );
}
