//! The notes on claims whose devices lie elsewhere than CPUs and memory, on random nodes, beside a plain computation of the same.

use std::collections::{BTreeMap, BTreeSet};

use admission_report::{Alignment, BoundMemory, ClaimRemedy, ContainerReport, Remark, Report};
use dra_model::{
    AllocationMode, Capacity, Constraint, Device, DeviceClass, DeviceRequest, Features, Metadata,
    NodeSelection, Pool, RequestedDevices, ResourceClaimSpec, ResourceClaimTemplate, ResourceSlice, Selector,
};
use node_config::DecidedBy;
use node_input::{
    Asked, DeviceText, LoadedMachine, LoadedNode, NodeClaims, OtherRules, RulesSource, Sequence,
};
use pod_claims::ClusterObjects;
use pod_spec::Pod;
use topology_admission::{Detail, Ledger, Series, Tries};
use topology_manifest::{Source, read_pods};
use topology_model::{Machine, NodeId};

/// Two sockets, sub-NUMA clusters, nodes of memory alone, and GPUs whose memory is a node.
const MACHINES: [(&str, DecidedBy); 4] = [
    ("xeon-2s-96cpu-sriov", DecidedBy::Kubelet),
    ("spr-8480-snc4-8node", DecidedBy::Kubelet),
    ("xeon-cxl-4node", DecidedBy::Kubelet),
    ("gb200-nvl4-34node", DecidedBy::Topolet),
];
/// So many random nodes.
const SEEDS: u64 = 200;
const POLICIES: [&str; 4] = ["none", "best-effort", "restricted", "single-numa-node"];
const NUMA: &str = "resource.kubernetes.io/numaNode";
const PCI: &str = "resource.kubernetes.io/pciBusID";
const CPUS: &str = "dra.cpu";
/// What a device plugin offers, all on one NUMA node.
const FPGA: &str = "example.com/fpga";

/// Numbers that depend on a seed alone.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    fn one_of<'t, T>(&mut self, all: &'t [T]) -> &'t T {
        &all[self.below(all.len())]
    }
}

/// A random node with its slices, a template of claims, and pods.
struct Case {
    machine: LoadedMachine,
    node: LoadedNode,
    objects: ClusterObjects,
    /// The reported node of each device; `None`: none is reported.
    reported: BTreeMap<String, Option<NodeId>>,
    /// Those that run before.
    residents: Vec<Pod>,
    pod: Pod,
}

fn slice(driver: &str, devices: Vec<Device>) -> ResourceSlice {
    ResourceSlice {
        metadata: Metadata::named(&format!("w-{driver}")),
        driver: driver.into(),
        pool: Pool { name: "w".into(), generation: 1, slice_count: 1 },
        nodes: NodeSelection { node_name: Some("w".to_owned()), ..NodeSelection::default() },
        devices: Some(devices),
        ..ResourceSlice::default()
    }
}

fn class(driver: &str) -> DeviceClass {
    let selectors = vec![Selector::cel(&format!("device.driver == '{driver}'"))];
    DeviceClass { metadata: Metadata::named(driver), selectors, ..DeviceClass::default() }
}

fn request(name: &str, class: &str, count: usize) -> DeviceRequest {
    let mode = AllocationMode::ExactCount(i64::try_from(count).unwrap());
    let exactly = Some(RequestedDevices { class: class.into(), mode, ..RequestedDevices::default() });
    DeviceRequest { name: name.into(), exactly, ..DeviceRequest::default() }
}

fn pods(text: &str) -> Vec<Pod> {
    read_pods(&Source { name: "pods", text }).unwrap()
}

impl Case {
    fn drawn(seed: u64) -> Self {
        let random = &mut Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1);
        // The memory of the nodes with CPUs is taken, and that of GPUs is left.
        let is_full = random.below(10) == 0;
        let (name, decided_by) = if is_full { MACHINES[3] } else { *random.one_of(&MACHINES) };
        let loaded = LoadedMachine::named(name).unwrap();
        let rules = RulesSource {
            policy: Some(if is_full { POLICIES[0] } else { random.one_of(&POLICIES) }.to_owned()),
            scope: Some((*random.one_of(&["container", "pod"])).to_owned()),
            decided_by: Some(decided_by),
            ..RulesSource::default()
        };
        let machine = loaded.machine.as_ref().unwrap();
        let ids: Vec<NodeId> = machine.nodes().iter().map(|node| node.id).collect();
        let with_cpus = machine.nodes().iter().filter(|node| !node.cpus.is_empty());
        let with_cpus: Vec<NodeId> = with_cpus.map(|node| node.id).collect();
        // Nodes of memory alone, those of devices on some machines.
        let of_memory = machine.nodes().iter().filter(|node| node.cpus.is_empty() && node.memory > Some(0));
        let of_memory: Vec<NodeId> = of_memory.map(|node| node.id).collect();
        let plugin = *random.one_of(&with_cpus);
        let devices = tempfile::NamedTempFile::new().unwrap();
        let text = format!(
            "devices: [{{resource: {FPGA}, list: [{{id: a, nodes: [{plugin}]}}, {{id: b, nodes: [{plugin}]}}]}}]"
        );
        std::fs::write(devices.path(), text).unwrap();
        let rules = RulesSource { devices: Some(devices.path().to_owned()), ..rules };
        let node = LoadedNode::on(&loaded, &rules, DeviceText::of(&rules).unwrap()).unwrap();
        let addresses: Vec<_> = machine.devices().iter().filter(|device| !device.is_bridge()).collect();
        let mut reported = BTreeMap::new();
        let mut slices = Vec::new();
        for driver in ["gpu.example.com", "nic.example.com"] {
            let devices = (0..=random.below(6)).map(|number| {
                let mut device = Device::new(&format!("{}-{number}", &driver[..3]));
                let node = match random.below(8) {
                    _ if is_full && driver.starts_with("gpu") => of_memory.first().copied(),
                    0 => None,
                    1 if !addresses.is_empty() && driver.starts_with("nic") => {
                        // No two devices have one address.
                        let own = addresses[(number * 7 + 1) % addresses.len()];
                        device.attributes.insert(PCI.into(), own.address.to_string().as_str().into());
                        own.node.id()
                    }
                    2 => Some(NodeId(77)),
                    3 => Some(*random.one_of(if of_memory.is_empty() { &ids } else { &of_memory })),
                    4 => Some(*random.one_of(&ids)),
                    5 => Some(plugin),
                    _ => Some(*random.one_of(&with_cpus)),
                };
                if let Some(node) = node.filter(|_| !device.attributes.contains_key(PCI)) {
                    device.attributes.insert(NUMA.into(), node.0.into());
                }
                reported.insert(device.name.to_string(), node);
                device
            });
            slices.push(slice(driver, devices.collect()));
        }
        let mut classes: Vec<DeviceClass> =
            ["gpu.example.com", "nic.example.com"].iter().map(|driver| class(driver)).collect();
        if random.below(4) > 0 {
            slices.push(cpu_slice(machine, random.below(2) == 0, &mut reported));
            classes.push(class(CPUS));
        }
        let mut requests = vec![request("gpus", "gpu.example.com", 1 + random.below(2))];
        if random.below(2) == 0 {
            requests.push(request("nic", "nic.example.com", 1));
        }
        let constraint = Constraint { match_attribute: Some(NUMA.into()), ..Constraint::default() };
        let constraints = if random.below(5) == 0 { vec![constraint] } else { Vec::new() };
        let spec = ResourceClaimSpec { requests, constraints, ..ResourceClaimSpec::default() };
        let template = ResourceClaimTemplate {
            metadata: Metadata::named("t"),
            spec,
            ..ResourceClaimTemplate::default()
        };
        let memory = if is_full { "460Gi" } else { "1Gi" };
        let residents = (0..if is_full { 2 } else { random.below(3) }).flat_map(|number| {
            let cpus = 1 + random.below(30);
            pods(&format!(
                "{{apiVersion: v1, kind: Pod, metadata: {{name: r-{number}}}, spec: {{containers: [{{name: c, image: i, \
                 resources: {{limits: {{cpu: {cpus}, memory: {memory}}}}}}}]}}}}"
            ))
        });
        let residents = residents.collect();
        let containers = (0..=random.below(2)).map(|number| {
            let cpus = random.one_of(&["1", "2", "4", "500m"]);
            let kind = if random.below(12) == 0 { "requests" } else { "limits" };
            let memory = if is_full { "40Gi" } else { "1Gi" };
            let fpga = if random.below(if number == 0 { 2 } else { 6 }) == 0 { format!(", {FPGA}: 1") } else { String::new() };
            let uses = random.one_of(&["[{name: d}]", "[{name: d}]", "[{name: d, request: gpus}]", "[]"]);
            format!(
                "{{name: c-{number}, image: i, resources: {{{kind}: {{cpu: {cpus}, memory: {memory}{fpga}}}, claims: {uses}}}}}"
            )
        });
        let containers: Vec<String> = containers.collect();
        let pod = pods(&format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: p}}, spec: {{resourceClaims: [{{name: d, resourceClaimTemplateName: t}}], \
             containers: [{}]}}}}",
            containers.join(", ")
        ))
        .remove(0);
        let objects =
            ClusterObjects { slices, classes, templates: vec![template], ..ClusterObjects::default() };
        Self { machine: loaded, node, objects, reported, residents, pod }
    }

    /// What the node holds after the residents, and the report on the pod.
    fn decided(&self) -> (Ledger, Report) {
        let mut series = Series::new(&self.node.node, self.node.empty_ledger(), Detail::Short, Tries(0));
        for resident in &self.residents {
            let _ = series.decide(resident, &device_manager::Replies::default());
        }
        let ledger = series.ledger().clone();
        let report = decide(&self.node, ledger.clone(), &self.objects, &self.pod);
        (ledger, report)
    }
}

/// The CPUs of each NUMA node as one device each, or as one that claims share.
fn cpu_slice(
    machine: &Machine,
    is_grouped: bool,
    reported: &mut BTreeMap<String, Option<NodeId>>,
) -> ResourceSlice {
    let with_cpus = machine.nodes().iter().filter(|node| !node.cpus.is_empty());
    let devices = with_cpus.flat_map(|node| {
        let count = if is_grouped { 1 } else { 4 };
        (0..count).map(move |number| {
            let mut device = Device::new(&format!("cpu-{}-{number}", node.id));
            device.attributes.insert("dra.cpu/numaNodeID".into(), node.id.0.into());
            device.attributes.insert(NUMA.into(), node.id.0.into());
            if is_grouped {
                device.allow_multiple_allocations = Some(true);
                let value = "30".parse().unwrap();
                device.capacity.insert("dra.cpu/cpu".into(), Capacity { value, ..Capacity::default() });
            }
            (device, node.id)
        })
    });
    let devices = devices.map(|(device, node)| {
        reported.insert(device.name.to_string(), Some(node));
        device
    });
    slice(CPUS, devices.collect())
}

fn decide(node: &LoadedNode, ledger: Ledger, objects: &ClusterObjects, pod: &Pod) -> Report {
    let asked = Asked { pods: vec![pod.clone()], objects: objects.clone(), ..Asked::default() };
    let claims = NodeClaims::on(node, objects.clone(), Features::DEFAULT);
    let series = Series::new(&node.node, ledger, Detail::Short, Tries(0));
    Sequence::new(node, &asked, series).with_claims(claims).decide(pod).unwrap()
}

/// The node with CPUs that a device is near: the plain way.
fn near(machine: &Machine, reported: Option<NodeId>) -> Option<NodeId> {
    let own = machine.node(reported?)?;
    if !own.cpus.is_empty() {
        return Some(own.id);
    }
    let mut others: Vec<(u32, NodeId)> = Vec::new();
    for other in machine.nodes() {
        if !other.cpus.is_empty() {
            others.push((machine.distance(own.id, other.id)?, other.id));
        }
    }
    others.sort();
    match others.as_slice() {
        [(_, only)] => Some(*only),
        [(first, only), (second, _), ..] if first < second => Some(*only),
        _ => None,
    }
}

/// Whether the claim of a container is aligned: the plain way. `None`: it has no devices there.
fn expected(case: &Case, report: &Report, container: &ContainerReport) -> Option<Alignment> {
    let machine = case.machine.machine.as_ref().unwrap();
    let manifest =
        case.pod.constraints.claims.iter().find(|claim| claim.containers.contains(&container.name))?;
    let some: Vec<&str> = manifest
        .requests
        .iter()
        .filter(|(user, _)| *user == container.name)
        .map(|(_, request)| request.as_str())
        .collect();
    let devices = report.claims.iter().flat_map(|decided| &decided.claims[0].devices);
    let devices = devices.filter(|device| some.is_empty() || some.contains(&device.request.as_str()));
    let devices: Vec<_> = devices.collect();
    if devices.is_empty() {
        return None;
    }
    let place = |name: &str| near(machine, case.reported[name]);
    let is_reported = |name: &str, nodes: &BTreeSet<NodeId>| {
        case.reported[name].is_some_and(|reported| nodes.contains(&reported))
    };
    let mut cpus: BTreeSet<NodeId> = BTreeSet::new();
    for cpu in container.exclusive_cpus.iter().flat_map(cpuset::CpuSet::iter) {
        cpus.insert(machine.node_of(cpu).unwrap());
    }
    let by_driver = cpus.is_empty();
    if by_driver {
        let of_driver = devices.iter().filter(|device| device.driver == CPUS);
        cpus.extend(of_driver.filter_map(|device| place(&device.device)));
    }
    let memory: BTreeSet<NodeId> = container.memory.iter().flat_map(|block| block.nodes.iter()).collect();
    if cpus.is_empty() && memory.is_empty() {
        return Some(Alignment::NothingPinned);
    }
    let mut worst = Alignment::Aligned;
    for device in devices {
        let is_cpu = by_driver && device.driver == CPUS;
        match place(&device.device) {
            Some(node) => {
                let is_off_cpus = !is_cpu && !cpus.is_empty() && !cpus.contains(&node);
                // Memory of the device is a node too, and near it.
                let is_near_memory = memory.contains(&node) || is_reported(&device.device, &memory);
                if is_off_cpus || (!memory.is_empty() && !is_near_memory) {
                    return Some(Alignment::Elsewhere);
                }
            }
            None => worst = Alignment::Unknown,
        }
    }
    Some(worst)
}

/// The containers on which there is such a note.
fn noted(report: &Report, is_meant: impl Fn(&Remark) -> bool) -> BTreeSet<String> {
    let notes = report.notes.iter().filter(|note| is_meant(&note.remark));
    notes.flat_map(|note| note.containers.iter().map(ToString::to_string)).collect()
}

/// The report on the pod once a remedy is carried out.
fn remedied(case: &Case, ledger: &Ledger, remedy: &ClaimRemedy) -> Report {
    let mut objects = case.objects.clone();
    let spec = &mut objects.templates[0].spec;
    let rules = match remedy {
        ClaimRemedy::Claim(change) => {
            assert!(change.write(spec));
            OtherRules::default()
        }
        ClaimRemedy::CpuDriver { change, memory, .. } => {
            assert!(change.as_ref().is_none_or(|change| change.write(spec)));
            let memory_policy = (*memory == BoundMemory::None).then(|| "None".to_owned());
            OtherRules { cpu_policy: Some("none".to_owned()), memory_policy, ..OtherRules::default() }
        }
        ClaimRemedy::Rules { policy, scope } => OtherRules {
            policy: policy.map(|policy| policy.name().to_owned()),
            scope: scope.map(|scope| scope.name().to_owned()),
            ..OtherRules::default()
        },
    };
    let other = case.node.by(&rules).unwrap();
    let ledger = case.node.restarted_as(&other, ledger).unwrap();
    decide(&other, ledger, &objects, &case.pod)
}

#[test]
fn a_note_says_that_devices_lie_elsewhere_exactly_when_they_do_and_goes_with_each_remedy() {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for seed in 0..SEEDS {
        let case = Case::drawn(seed);
        let (ledger, report) = case.decided();
        let mut wanted: BTreeMap<Alignment, BTreeSet<String>> = BTreeMap::new();
        for container in report.containers() {
            let alignment = expected(&case, &report, container);
            let found = container.claimed.first().map(|claim| claim.alignment);
            assert_eq!(found, alignment, "seed {seed}: {report}");
            if let Some(alignment) = alignment {
                wanted.entry(alignment).or_default().insert(container.name.to_string());
                *seen.entry(alignment.name().to_owned()).or_default() += 1;
            }
            let is_off_cpus = container.memory.iter().any(|block| {
                container
                    .cpu_nodes
                    .iter()
                    .all(|cpus| block.nodes.iter().all(|node| !cpus.iter().any(|own| own == node)))
            });
            if alignment == Some(Alignment::Aligned) && container.cpu_nodes.is_some() && is_off_cpus {
                *seen.entry("memory of a device".to_owned()).or_default() += 1;
            }
        }
        let elsewhere = noted(&report, |remark| matches!(remark, Remark::ClaimElsewhere { .. }));
        assert_eq!(
            elsewhere,
            wanted.remove(&Alignment::Elsewhere).unwrap_or_default(),
            "seed {seed}: {report}"
        );
        let unknown = noted(&report, |remark| matches!(remark, Remark::ClaimUnknown(_)));
        assert_eq!(unknown, wanted.remove(&Alignment::Unknown).unwrap_or_default(), "seed {seed}: {report}");
        for container in report.containers() {
            let claims = container.claimed.iter().filter(|claim| claim.alignment == Alignment::Elsewhere);
            for remedy in claims.flat_map(|claim| claim.would_align.iter().flatten()) {
                *seen.entry(remedy.kind().to_owned()).or_default() += 1;
                let after = remedied(&case, &ledger, remedy);
                for own in after.containers() {
                    let alignment = expected(&case, &after, own);
                    let was = report.containers().iter().find(|was| was.name == own.name).unwrap();
                    if own.name == container.name || expected(&case, &report, was) == Some(Alignment::Aligned)
                    {
                        assert_eq!(alignment, Some(Alignment::Aligned), "seed {seed}, {remedy}: {after}");
                    }
                    let keeps_cpus = own.exclusive_cpus.is_some() || was.exclusive_cpus.is_none();
                    let has_other = own.name == container.name && remedy.kind() == "cpuClaim";
                    assert!(keeps_cpus || has_other, "seed {seed}, {remedy}: {after}");
                }
                let still = noted(&after, |remark| matches!(remark, Remark::ClaimElsewhere { .. }));
                assert!(!still.contains(container.name.as_str()), "seed {seed}, {remedy}: {after}");
            }
        }
    }
    println!("{seen:?}");
    for (what, least) in [
        ("aligned", 5),
        ("elsewhere", 20),
        ("unknown", 5),
        ("nothingPinned", 2),
        ("constraint", 3),
        ("selector", 3),
        ("cpuClaim", 2),
        ("policy", 1),
        ("scope", 1),
        ("memory of a device", 1),
    ] {
        assert!(seen.get(what).is_some_and(|count| *count >= least), "{what}: {seen:?}");
    }
}
