//! Configurations as people write them, as they should not, and as `docs/upstream` says that a kubelet cannot bear them.

use cpuset::CpuSet;
use serde_json::{Map, Value, json};

use super::draw::{Described, DescribedNode, Draw};

/// A `KubeletConfiguration` for a machine.
pub(super) fn configuration(machine: &Described, draw: &mut Draw) -> Value {
    let mut fields = Map::new();
    let mut gates = Map::new();
    if draw.percent(88) {
        fields.insert("cpuManagerPolicy".into(), json!("static"));
        let options = cpu_options(draw);
        if options.iter().any(|option| ALPHA.contains(option)) {
            gates.insert("CPUManagerPolicyAlphaOptions".into(), json!(true));
        }
        if !options.is_empty() {
            let options: Map<String, Value> =
                options.iter().map(|name| ((*name).into(), json!("true"))).collect();
            fields.insert("cpuManagerPolicyOptions".into(), Value::Object(options));
        }
    }
    let options = &fields.get("cpuManagerPolicyOptions");
    let is_on = |name| options.is_some_and(|options| options[name] == "true");
    // With both a kubelet may hand CPUs out for ever where a core is split on each node.
    let kind = if is_on(WHOLE) && is_on(NODES) && draw.percent(50) { 5 } else { draw.below(14) };
    let kept = reservations(machine, kind, draw, &mut fields);
    if draw.percent(62) {
        fields.insert("memoryManagerPolicy".into(), json!("Static"));
        fields.insert("reservedMemory".into(), reserved_memory(machine, draw, kept));
    }
    topology(machine, draw, &mut fields);
    if draw.percent(18) {
        gates.insert("PodLevelResourceManagers".into(), json!(true));
    }
    if draw.percent(5) {
        fields.insert("maxPods".into(), json!(draw.between(3, 6)));
    }
    if draw.percent(3) {
        fields.insert("podsPerCore".into(), json!(1));
    }
    if draw.percent(6) {
        let gate = draw.one_of(&[
            "CPUManagerPolicyBetaOptions",
            "CPUManagerPolicyAlphaOptions",
            "PodLevelResources",
            "InPlacePodVerticalScaling",
            "InPlacePodVerticalScalingExclusiveCPUs",
            "InPlacePodVerticalScalingExclusiveMemory",
            "TopologyManagerPolicyAlphaOptions",
            "TopologyManagerPolicyBetaOptions",
        ]);
        gates.insert(gate.into(), json!(draw.percent(30)));
    }
    if draw.percent(5) {
        mistake(draw, &mut fields);
    }
    if !gates.is_empty() {
        fields.insert("featureGates".into(), Value::Object(gates));
    }
    Value::Object(fields)
}

/// Mistakes in a configuration: what no kubelet takes, or what means something else.
fn mistake(draw: &mut Draw, fields: &mut Map<String, Value>) {
    let (field, value) = draw.one_of(&[
        ("reservedSystemCPUs", "9999"),
        ("reservedSystemCPUs", "0-"),
        ("topologyManagerScope", "node"),
        ("topologyManagerPolicy", "strict"),
        ("cpuManagerPolicy", "Static"),
        ("memoryManagerPolicy", "static"),
    ]);
    if draw.percent(60) {
        fields.insert(field.into(), json!(value));
        return;
    }
    let (field, name, value) = draw.one_of(&[
        ("cpuManagerPolicyOptions", "full-pcpu-only", "true"),
        ("cpuManagerPolicyOptions", "full-pcpus-only", "yes"),
        ("topologyManagerPolicyOptions", "max-allowable-numa-nodes", "7"),
        ("topologyManagerPolicyOptions", "max-allowable-numa-nodes", "many"),
        ("topologyManagerPolicyOptions", "prefer-closest-numa-nodes", "1"),
        ("systemReserved", "cpu", "-1"),
        ("systemReserved", "hugepages-2Mi", "4Mi"),
        ("kubeReserved", "memory", "500m"),
    ]);
    fields.entry(field).or_insert_with(|| json!({}))[name] = json!(value);
}

const WHOLE: &str = "full-pcpus-only";
const NODES: &str = "distribute-cpus-across-numa";
const ALPHA: [&str; 2] = ["align-by-socket", "distribute-cpus-across-cores"];

fn cpu_options(draw: &mut Draw) -> Vec<&'static str> {
    const STRICT: &str = "strict-cpu-reservation";
    const CACHE: &str = "prefer-align-cpus-by-uncorecache";
    match draw.below(100) {
        0..38 => vec![],
        38..52 => vec![WHOLE],
        52..60 => vec![NODES],
        60..68 => vec![STRICT],
        68..75 => vec![CACHE],
        75..83 => vec![WHOLE, NODES],
        83..87 => vec![WHOLE, STRICT],
        87..90 => vec![WHOLE, CACHE],
        90..93 => vec![ALPHA[0]],
        93..95 => vec![ALPHA[0], NODES],
        95..97 => vec![ALPHA[1]],
        97..99 => vec![WHOLE, NODES, STRICT],
        // These two exclude each other.
        _ => vec![ALPHA[1], WHOLE],
    }
}

/// What is kept for the system, CPUs of one of 14 kinds; gives the Mi of memory.
fn reservations(machine: &Described, kind: u64, draw: &mut Draw, fields: &mut Map<String, Value>) -> u64 {
    let (mut system, mut kube) = (Map::new(), Map::new());
    let cores: Vec<_> = machine.nodes.iter().filter_map(|node| node.cores.first()).collect();
    let first = cores.first();
    match kind {
        0..2 => {
            let cpu = first.and_then(|core| core.first()).map(|cpu| cpu.get().to_string());
            fields.insert("reservedSystemCPUs".into(), json!(cpu));
        }
        2..5 => {
            let core = first.map(ToString::to_string);
            fields.insert("reservedSystemCPUs".into(), json!(core));
        }
        // A CPU of the first core of each node.
        5..7 => {
            let cpus = cores.iter().filter_map(|core| core.first()).map(|cpu| cpu.get().to_string());
            fields.insert("reservedSystemCPUs".into(), json!(cpus.collect::<Vec<_>>().join(",")));
        }
        7..9 => {
            system.insert("cpu".into(), json!("500m"));
            kube.insert("cpu".into(), json!(draw.one_of(&["250m", "500m", "1500m"])));
        }
        9 => {
            let most = (machine.cpus() / 2).max(1);
            system.insert("cpu".into(), json!(draw.between(1, most).to_string()));
        }
        10 => {
            system.insert("cpu".into(), json!(draw.one_of(&["1", "2", "3", "4"])));
        }
        // A node, or all but some cores of the machine.
        11 | 12 => {
            let is_kept = |at: usize, node: &DescribedNode| at == 0 || (kind == 12 && node.cpus > 0);
            let nodes = machine.nodes.iter().enumerate().filter(|(at, node)| is_kept(*at, node));
            let left = if kind == 12 { usize::try_from(draw.between(0, 4)).unwrap_or(0) } else { 0 };
            let cores = nodes.flat_map(|(_, node)| node.cores.iter().skip(left));
            let cpus = cores.fold(CpuSet::new(), |all, core| &all | core);
            fields.insert("reservedSystemCPUs".into(), json!(cpus.to_string()));
        }
        // Nothing: the static policy does not start.
        _ => {}
    }
    let mut kept = 256 * draw.between(1, 3);
    system.insert("memory".into(), json!(format!("{kept}Mi")));
    if draw.percent(40) {
        kept += 128;
        kube.insert("memory".into(), json!("128Mi"));
    }
    if draw.percent(30) {
        kept += 200;
        fields.insert("evictionHard".into(), json!({ "memory.available": "200Mi" }));
    } else {
        kept += 100;
    }
    fields.insert("systemReserved".into(), Value::Object(system));
    if !kube.is_empty() {
        fields.insert("kubeReserved".into(), Value::Object(kube));
    }
    kept
}

fn reserved_memory(machine: &Described, draw: &mut Draw, kept: u64) -> Value {
    let large = machine.nodes.iter().filter(|node| node.memory > 2 << 30).map(|node| node.id);
    let mut ids: Vec<i64> = large.collect();
    // A node that has less than is reserved there.
    if ids.is_empty() || draw.percent(4) {
        ids = machine.nodes.iter().map(|node| node.id).collect();
    }
    let of =
        |node: i64, amount: u64| json!({ "numaNode": node, "limits": { "memory": format!("{amount}Mi") } });
    let first = draw.one_of(&ids);
    // A sum that is not what is kept: the memory manager does not start.
    let kept = if draw.percent(2) { kept + 1 } else { kept };
    if draw.percent(4) {
        // Pages as well, of which no node may have so many.
        let size = draw.one_of(&["hugepages-2Mi", "hugepages-1Gi"]);
        let mut one = of(first, kept);
        one["limits"][size] = json!(draw.one_of(&["1Gi", "512Gi"]));
        return json!([one]);
    }
    match ids.iter().find(|id| **id != first) {
        Some(second) if draw.percent(50) => json!([of(first, kept / 2), of(*second, kept - kept / 2)]),
        _ => json!([of(first, kept)]),
    }
}

fn topology(machine: &Described, draw: &mut Draw, fields: &mut Map<String, Value>) {
    let policy = match draw.below(100) {
        0..12 => None,
        12..38 => Some("best-effort"),
        38..68 => Some("restricted"),
        _ => Some("single-numa-node"),
    };
    if let Some(policy) = policy {
        fields.insert("topologyManagerPolicy".into(), json!(policy));
    }
    if draw.percent(50) {
        fields.insert("topologyManagerScope".into(), json!("pod"));
    }
    let mut options = Map::new();
    if draw.percent(20) {
        options.insert("prefer-closest-numa-nodes".into(), json!("true"));
    }
    let nodes = machine.nodes.len() as u64;
    if nodes > 8 && draw.percent(95) {
        options.insert("max-allowable-numa-nodes".into(), json!((nodes + draw.below(3)).to_string()));
    }
    if !options.is_empty() {
        fields.insert("topologyManagerPolicyOptions".into(), Value::Object(options));
    }
}

/// Device plugins, and their devices; plugins that prefer nothing have devices that are alike on each node.
pub(super) fn devices(machine: &Described, draw: &mut Draw) -> Value {
    let mut lists = Vec::new();
    if draw.percent(70) {
        let style =
            draw.one_of(&[Style::OneNode, Style::OneNode, Style::OneNode, Style::TwoNodes, Style::Half]);
        let count = draw.one_of(&[1, 2, 2, 4, 8]);
        lists.extend(list(machine, draw, ("nvidia.com/gpu", "gpu"), count, style));
    }
    if draw.percent(55) {
        let count = draw.one_of(&[1, 2, 4, 8]);
        lists.extend(list(machine, draw, ("openshift.io/sriov_nic", "vf"), count, Style::OneNode));
    }
    if draw.percent(15) {
        lists.extend(list(machine, draw, ("example.com/fuse", "fuse"), 4, Style::NoNode));
    }
    json!(lists)
}

/// Where devices are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    OneNode,
    TwoNodes,
    NoNode,
    /// Every other one says so.
    Half,
}

fn list(
    machine: &Described,
    draw: &mut Draw,
    (resource, prefix): (&str, &str),
    count: u64,
    style: Style,
) -> Option<Value> {
    let ids: Vec<i64> = machine.with_cpus().map(|node| node.id).collect();
    let prefers = style != Style::OneNode || draw.percent(85);
    let only = (!prefers || draw.percent(25)).then(|| draw.one_of(&ids));
    let mut devices = Vec::new();
    for (at, id) in ids.iter().enumerate().filter(|(_, id)| only.is_none_or(|only| only == **id)) {
        for place in 0..count {
            let mut device = json!({ "id": format!("{prefix}{}", devices.len()) });
            let next = ids[(at + 1) % ids.len()];
            match style {
                Style::TwoNodes if next != *id => device["numa"] = json!([id, next]),
                Style::OneNode | Style::TwoNodes => device["numa"] = json!([id]),
                Style::Half if place % 2 == 0 => device["numa"] = json!([id]),
                // A node that the machine lacks.
                Style::Half if draw.percent(5) => device["numa"] = json!([draw.one_of(&[7, 63, 64, 99])]),
                Style::Half | Style::NoNode => {}
            }
            if prefers && draw.percent(2) {
                device["unhealthy"] = json!(true);
            }
            devices.push(device);
        }
    }
    (!devices.is_empty()).then(|| json!({ "resource": resource, "preferred": prefers, "devices": devices }))
}
