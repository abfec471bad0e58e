//! Who reads a node's published state decides on pods as the node does.

use std::sync::Arc;

use node_input::{
    DeviceText, LoadedMachine, LoadedNode, MachineSource, NodeDescription, NodeHoldings, NodeState,
    OptionsSource, PodShapes, PublishedRefusal, ResidentsSource, RulesSource,
};
use pod_spec::{Container, Pod, PodUid, ResourceList, ResourceName, Role, Wishes};
use proptest::prelude::*;
use serde_json::{Value, json};
use topology_admission::{Ledger, Node, Verdict};

/// Machines with a policy and a scope: two sockets, sub-NUMA clusters, caches as NUMA nodes, nodes of memory alone, and one
/// with huge pages and network cards on half of its nodes.
const NODES: [(&str, &str, &str); 5] = [
    (TELCO, "single-numa-node", "container"),
    ("xeon-2s-96cpu-sriov", "single-numa-node", "container"),
    ("spr-8480-snc4-8node", "restricted", "pod"),
    ("genoa-9654-l3numa-24node", "best-effort", "container"),
    ("xeon-cxl-4node", "restricted", "container"),
];

/// Where the scenarios are.
const TELCO: &str = "telco";
const SCENARIOS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/scenarios");
const HUGE_PAGES: &str = "0:1Gi=24,1:1Gi=24,2:1Gi=24,3:1Gi=24,4:1Gi=24,5:1Gi=24,6:1Gi=24,7:1Gi=24";

/// No options, those with which decisions depend on what the pods of a node hold each, those with which pods choose, and
/// those with which devices come from one link.
const OPTIONS: [Option<&str>; 4] = [
    None,
    Some(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/configs/own-keep-room.yaml")),
    Some(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/configs/own-pod-policy.yaml")),
    Some(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/configs/own-links-alone.yaml")),
];

/// What a pod may choose; with the last its containers request less CPU than they get.
const CHOICES: [&[(&str, &str)]; 4] = [
    &[],
    &[("topolet.dev/policy", "best-effort")],
    &[("topolet.dev/policy", "single-numa-node"), ("topolet.dev/scope", "pod")],
    &[EXCLUSIVE],
];
const EXCLUSIVE: (&str, &str) = ("topolet.dev/cpu", "exclusive");

fn load(machine: &str, policy: &str, scope: &str, topolet_config: Option<&str>) -> LoadedNode {
    let is_telco = machine == TELCO;
    let source = if is_telco {
        let hugepages = Some(HUGE_PAGES.to_owned());
        MachineSource { hugepages, ..MachineSource::named(&format!("{SCENARIOS}/epyc-7763-nps4.json")) }
    } else {
        MachineSource::named(machine)
    };
    let devices = is_telco.then(|| format!("{SCENARIOS}/telco-devices.yaml").into());
    let (policy, scope) = (Some(policy.to_owned()), Some(scope.to_owned()));
    let topolet_config = topolet_config.map(|path| OptionsSource::File(path.into()));
    let rules = RulesSource { policy, scope, devices, topolet_config, ..RulesSource::default() };
    let machine = LoadedMachine::load(&source).unwrap();
    let devices = DeviceText::on(&rules, &source, &ResidentsSource::default()).unwrap();
    LoadedNode::on(&machine, &rules, devices).unwrap()
}

/// What each container of a pod asks for: whole CPUs, GiB, and devices of the node's first resource.
#[derive(Clone, Copy, Debug)]
struct Wish {
    cpus: i64,
    gibibytes: i64,
    devices: i64,
    huge_pages: i64,
    limits: bool,
    containers: usize,
    choice: usize,
}

fn wishes() -> impl Strategy<Value = Wish> {
    let parts =
        (1..40_i64, 1..60_i64, 0..3_i64, 0..12_i64, prop::bool::weighted(0.8), 1..4_usize, 0..CHOICES.len());
    parts.prop_map(|(cpus, gibibytes, devices, huge_pages, limits, containers, choice)| Wish {
        cpus,
        gibibytes,
        devices,
        huge_pages,
        limits,
        containers,
        choice,
    })
}

fn pod(number: usize, wish: Wish, device: Option<&ResourceName>) -> Pod {
    let mut amounts = ResourceList::new();
    let mut add = |name: ResourceName, text: String| amounts.insert(name, text.parse().unwrap());
    add(ResourceName::new("cpu"), wish.cpus.to_string());
    add(ResourceName::new("memory"), format!("{}Gi", wish.gibibytes));
    let mut limits = ResourceList::new();
    if let (Some(device), 1..) = (device, wish.devices) {
        // Devices have limits in any case.
        limits.insert(device.clone(), wish.devices.to_string().parse().unwrap());
        amounts.extend(limits.clone());
    }
    if wish.huge_pages > 0 && device.is_some_and(|device| device.as_str() == "intel.com/sriov_vf") {
        let name = ResourceName::new("hugepages-1Gi");
        limits.insert(name, format!("{}Gi", wish.huge_pages).parse().unwrap());
        amounts.extend(limits.clone());
    }
    if wish.limits {
        limits.clone_from(&amounts);
    }
    let chosen = CHOICES[wish.choice];
    if chosen.contains(&EXCLUSIVE) {
        amounts.insert("cpu".into(), "500m".parse().unwrap());
    }
    let container = |at: usize| Container {
        name: format!("c{at}").as_str().into(),
        role: Role::App,
        requests: amounts.clone(),
        limits: limits.clone(),
    };
    let mut pod = Pod::new("default", &format!("p{number}"), (0..wish.containers).map(container).collect());
    pod.uid = PodUid::new(&format!("uid-{number}"));
    pod.constraints.wishes = Wishes::among(chosen.iter().copied());
    pod
}

fn decide(node: &Node, ledger: &Ledger, pod: &Pod) -> (Verdict, Ledger) {
    let attempt = node.admission(ledger, pod).attempt();
    let verdict = attempt.verdict.clone();
    (verdict, ledger.commit(attempt).unwrap())
}

fn read(text: &str) -> (NodeState, Arc<Node>, Ledger) {
    let state: NodeState = serde_json::from_str(text).unwrap();
    let started = state.node.start().unwrap();
    let ledger = state.holdings.ledger(&started.node, &mut PodShapes::default()).unwrap();
    (state, Arc::new(started.node), ledger)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn who_reads_the_state_decides_as_the_node(
        which in 0..NODES.len(),
        options in 0..OPTIONS.len(),
        before in prop::collection::vec(wishes(), 0..30),
        gone in prop::collection::vec(0..30_usize, 0..10),
        after in prop::collection::vec(wishes(), 1..10),
    ) {
        let (machine, policy, scope) = NODES[which];
        let own = load(machine, policy, scope, OPTIONS[options]);
        let mut ledger = own.empty_ledger();
        let device = ledger.inventory().registered().next().cloned();
        for (number, wish) in before.iter().enumerate() {
            ledger = decide(&own.node, &ledger, &pod(number, *wish, device.as_ref())).1;
        }
        for number in gone {
            ledger = ledger.release(&PodUid::new(&format!("uid-{number}")));
        }
        let refused = PublishedRefusal { uid: "a".to_owned(), reason: "TopologyAffinityError".to_owned() };
        let holdings = NodeHoldings::of(&own.node, &ledger, vec![refused]);
        let state = NodeState::new("worker-1", NodeDescription::of(&own), holdings);
        let (again, node, mut found_ledger) = read(&serde_json::to_string(&state).unwrap());
        prop_assert_eq!(&again, &state);
        for (number, wish) in after.iter().enumerate() {
            let pod = pod(100 + number, *wish, device.as_ref());
            let (expected, next) = decide(&own.node, &ledger, &pod);
            let (found, found_next) = decide(&node, &found_ledger, &pod);
            prop_assert_eq!(&found, &expected, "{} {:?}", machine, wish);
            (ledger, found_ledger) = (next, found_next);
        }
    }
}

#[test]
fn a_state_that_cannot_be_read_says_where() {
    let own = load("xeon-2s-96cpu-sriov", "restricted", "container", None);
    let holdings = NodeHoldings::of(&own.node, &own.empty_ledger(), Vec::new());
    let state = NodeState::new("worker-1", NodeDescription::of(&own), holdings);
    let good = serde_json::to_value(&state).unwrap();
    let with = |path: &str, value: Value| {
        let mut bad = good.clone();
        *bad.pointer_mut(path).unwrap() = value;
        let state: NodeState = serde_json::from_value(bad).map_err(|error| error.to_string())?;
        let started = state.node.start().map_err(|error| format!("{error:#}"))?;
        let ledger = state.holdings.ledger(&started.node, &mut PodShapes::default());
        ledger.map(drop).map_err(|error| format!("{error:#}"))
    };
    assert_eq!(with("/holdings/pods", json!([])), Ok(()));
    let unknown_shape = json!([{ "uid": "a", "namespace": "d", "name": "a", "shape": 3 }]);
    for (path, value, expected) in [
        ("/node/rulesOf", json!("v2"), "node.rulesOf \"v2\""),
        ("/node/configuration/cpuManagerPolicy", json!("statik"), "statik"),
        ("/node/machine/cpus/0/0", json!(-1), "outside the kernel's range"),
        ("/holdings/cpu", json!("{\"policyName\":\"none\"}"), "cpu"),
        ("/holdings/pods", unknown_shape, "there is no shape 3"),
    ] {
        let why = with(path, value).unwrap_err();
        assert!(why.contains(expected), "{path}: {why}");
        println!("{path}: {why}");
    }
}

/// The places of all values below this one.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                places(value, &format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), found);
            }
        }
        Value::Array(values) => {
            for (number, value) in values.iter().enumerate() {
                places(value, &format!("{at}/{number}"), found);
            }
        }
        _ => {}
    }
}

/// What stands in the place of a value; `None` if nothing does.
fn damages() -> impl Strategy<Value = Option<Value>> {
    let values = [
        json!(null),
        json!(true),
        json!(-1),
        json!(0),
        json!(1),
        json!(u64::MAX),
        json!(i64::MAX),
        json!(1e300),
        json!(""),
        json!("x"),
        json!("0-4294967295"),
        json!("0-1023"),
        json!("-1"),
        json!("9223372036854775807"),
        json!("1e18"),
        json!([]),
        json!({}),
        json!([[[[]]]]),
        json!(vec![0; 5000]),
        json!(["0", "0"]),
    ];
    prop_oneof![1 => Just(None), 12 => prop::sample::select(values.to_vec()).prop_map(Some)]
}

/// Puts something else in a place of a document, or takes away what is there.
fn damage(document: &mut Value, place: &str, instead: Option<&Value>) {
    let Some((above, name)) = place.rsplit_once('/') else { return };
    let name = name.replace("~1", "/").replace("~0", "~");
    match document.pointer_mut(above) {
        Some(Value::Object(fields)) => match instead {
            Some(value) => drop(fields.insert(name, value.clone())),
            None => drop(fields.remove(&name)),
        },
        Some(Value::Array(values)) => match (name.parse::<usize>(), instead) {
            (Ok(at), Some(value)) if at < values.len() => values[at] = value.clone(),
            (Ok(at), None) if at < values.len() => drop(values.remove(at)),
            _ => {}
        },
        _ => {}
    }
}

/// State files are texts in a state.
const TEXTS: [&str; 3] = ["cpu", "memory", "device"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// Whatever is written into a NodeState is an error, or a node on which every pod has a verdict.
    #[test]
    fn a_damaged_state_is_an_error_or_decides(
        which in 1..NODES.len(),
        before in prop::collection::vec(wishes(), 0..6),
        damaged in prop::collection::vec((any::<prop::sample::Index>(), damages(), 0..4_usize), 1..4),
        after in wishes(),
    ) {
        let (machine, policy, scope) = NODES[which];
        let own = load(machine, policy, scope, None);
        let mut ledger = own.empty_ledger();
        let device = ledger.inventory().registered().next().cloned();
        for (number, wish) in before.iter().enumerate() {
            ledger = decide(&own.node, &ledger, &pod(number, *wish, device.as_ref())).1;
        }
        let holdings = NodeHoldings::of(&own.node, &ledger, Vec::new());
        let state = NodeState::new("worker-1", NodeDescription::of(&own), holdings);
        let mut document = serde_json::to_value(&state).unwrap();
        for (place, instead, part) in &damaged {
            // As often in the holdings as in the node, and in each of the texts.
            let text = TEXTS.get(*part).map(|name| format!("/holdings/{name}"));
            let of_text = text.as_ref().and_then(|at| document.pointer(at)?.as_str());
            let mut target = match of_text {
                Some(text) => serde_json::from_str(text).unwrap_or_default(),
                None => document.clone(),
            };
            let mut all = Vec::new();
            places(&target, "", &mut all);
            let place: &String = place.get(&all);
            damage(&mut target, place, instead.as_ref());
            match text.filter(|at| document.pointer(at).is_some_and(Value::is_string)) {
                Some(at) => *document.pointer_mut(&at).unwrap() = target.to_string().into(),
                None => document = target,
            }
        }
        let Ok(state) = serde_json::from_value::<NodeState>(document) else { return Ok(()) };
        let Ok(started) = state.node.start() else { return Ok(()) };
        let Ok(ledger) = state.holdings.ledger(&started.node, &mut PodShapes::default()) else { return Ok(()) };
        let pod = pod(100, after, device.as_ref());
        let _ = started.node.admission(&ledger, &pod).attempt();
        let _ = state.node.decided_by();
    }
}
