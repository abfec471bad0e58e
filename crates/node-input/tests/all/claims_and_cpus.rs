//! Claims of pods beside pinned CPUs and memory, one case each: what is called aligned, and which changes are named.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::Write as _;

use admission_report::{Alignment, ClaimRemedy, ContainerClaim, Remark, Report};
use dra_model::Features;
use node_config::DecidedBy;
use node_input::{
    Asked, DeviceText, Listener, LoadedMachine, LoadedNode, ManifestReading, NodeClaims, OtherRules,
    PodlessObjects, RulesSource, Sequence, StaticPods,
};
use pod_spec::PodRules;
use serde_json::{Value, json};
use tempfile::NamedTempFile;
use topology_admission::{Detail, Identity, Node, Series, Tries};
use topology_manifest::UnknownFields;

const NUMA: &str = "resource.kubernetes.io/numaNode";
const GPU: &str = "gpu.example.com";
const CPUS: &str = "dra.cpu";
const FPGA: &str = "example.com/fpga";

/// A slice with devices on these NUMA nodes; `None`: the place of one is not published.
fn slice(driver: &str, nodes: &[Option<i64>]) -> Value {
    let devices = nodes.iter().enumerate().map(|(number, node)| {
        let attributes = node.map_or_else(|| json!({}), |node| json!({ NUMA: { "int": node } }));
        json!({ "name": format!("{}-{number}", &driver[..3]), "attributes": attributes })
    });
    json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": { "name": format!("w-{driver}") },
        "spec": {
            "driver": driver, "pool": { "name": "w", "generation": 1, "resourceSliceCount": 1 },
            "nodeName": "w", "devices": devices.collect::<Vec<_>>(),
        },
    })
}

/// A class that selects by this expression.
fn class(name: &str, expression: &str) -> Value {
    json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": { "name": name },
        "spec": { "selectors": [{ "cel": { "expression": expression } }] },
    })
}

fn class_of(driver: &str) -> Value {
    class(driver, &format!("device.driver == '{driver}'"))
}

/// What a claim asks for: so many devices of each class.
fn devices(requests: &[(&str, usize)]) -> Value {
    let requests = requests.iter().map(|(class, count)| {
        let name = format!("r-{}", &class[..3]);
        json!({ "name": name, "exactly": { "deviceClassName": class, "count": count } })
    });
    json!({ "requests": requests.collect::<Vec<_>>() })
}

fn template(name: &str, devices: &Value) -> Value {
    json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": { "name": name },
        "spec": { "spec": { "devices": devices } },
    })
}

/// A container with claims and further limits.
fn container(name: &str, cpus: &str, memory: &str, claims: &[&str], more: Option<&str>) -> Value {
    let mut limits = json!({ "cpu": cpus, "memory": memory });
    if let Some(resource) = more {
        limits[resource] = json!(1);
    }
    let claims: Vec<Value> = claims.iter().map(|claim| json!({ "name": claim })).collect();
    json!({ "name": name, "image": "i", "resources": { "limits": limits, "claims": claims } })
}

/// A pod whose claims are made of the templates of their names.
fn pod(name: &str, claims: &[&str], containers: &[Value]) -> Value {
    let claims = claims.iter().map(|name| json!({ "name": name, "resourceClaimTemplateName": name }));
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name },
        "spec": { "resourceClaims": claims.collect::<Vec<_>>(), "containers": containers },
    })
}

struct Deaf;

impl Listener for Deaf {
    fn warn(&self, _: impl Display) {}

    fn during<T>(&self, _: &str, work: impl FnOnce() -> T) -> T {
        work()
    }
}

fn file(text: &str) -> NamedTempFile {
    let mut file = NamedTempFile::with_suffix(".yaml").unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

fn asked(objects: &[Value]) -> Asked {
    let texts: Vec<String> = objects.iter().map(ToString::to_string).collect();
    let file = file(&texts.join("\n---\n"));
    let reading = ManifestReading {
        unknown: UnknownFields::Report,
        podless: PodlessObjects::Skipped,
        static_pods: StaticPods::At(None),
    };
    Asked::from_files(&[file.path().to_owned()], reading, PodRules::default(), &Deaf).unwrap()
}

/// The pinned node of a machine, with a device plugin whose one device is on NUMA 1.
fn node(machine: &str, decided_by: DecidedBy) -> LoadedNode {
    let devices = file(&format!("devices: [{{resource: {FPGA}, list: [{{id: a, nodes: [1]}}]}}]"));
    let rules = RulesSource {
        decided_by: Some(decided_by),
        devices: Some(devices.path().to_owned()),
        ..RulesSource::default()
    };
    let machine = LoadedMachine::named(machine).unwrap();
    LoadedNode::on(&machine, &rules, DeviceText::of(&rules).unwrap()).unwrap()
}

fn two_sockets() -> LoadedNode {
    node("xeon-2s-96cpu-sriov", DecidedBy::Kubelet)
}

fn reports(node: &LoadedNode, objects: &[Value]) -> Vec<Report> {
    let asked = asked(objects);
    let claims = NodeClaims::on(node, asked.objects.clone(), Features::DEFAULT);
    let series = Series::new(&node.node, node.empty_ledger(), Detail::Short, Tries(0));
    let mut sequence = Sequence::new(node, &asked, series).with_claims(claims);
    asked.pods.iter().map(|pod| sequence.decide(pod).unwrap()).collect()
}

/// The claims of the containers of the last pod.
fn claims(reports: &[Report]) -> BTreeMap<(String, String), ContainerClaim> {
    let containers = reports.last().unwrap().containers().iter();
    let each = containers.flat_map(|own| own.claimed.iter().map(move |claim| (own.name.to_string(), claim)));
    each.map(|(container, claim)| ((container, claim.claim.clone()), claim.clone())).collect()
}

fn claim(reports: &[Report], container: &str, claim: &str) -> ContainerClaim {
    claims(reports).remove(&(container.to_owned(), claim.to_owned())).unwrap()
}

fn texts(remedies: &[ClaimRemedy]) -> Vec<String> {
    remedies.iter().map(ToString::to_string).collect()
}

fn kinds(claim: &ContainerClaim) -> Vec<&'static str> {
    claim.would_align.iter().flatten().map(ClaimRemedy::kind).collect()
}

/// Eight CPUs of the driver, on both NUMA nodes in turn.
fn cpu_slice() -> Value {
    slice(CPUS, &[0, 1, 0, 1, 0, 1, 0, 1].map(Some))
}

#[test]
fn a_claim_is_unknown_where_another_claim_has_cpus_of_unknown_place() {
    let rules = OtherRules { cpu_policy: Some("none".to_owned()), ..OtherRules::default() };
    let node = two_sockets().by(&OtherRules { memory_policy: Some("None".to_owned()), ..rules }).unwrap();
    let found = reports(
        &node,
        &[
            slice(CPUS, &[Some(0), None]),
            slice(GPU, &[Some(0)]),
            class_of(CPUS),
            class_of(GPU),
            template("a", &devices(&[(CPUS, 1), (GPU, 1)])),
            template("b", &devices(&[(CPUS, 1)])),
            pod("p", &["a", "b"], &[container("main", "2", "1Gi", &["a", "b"], None)]),
        ],
    );
    let own = claim(&found, "main", "a");
    assert_eq!(own.alignment, Alignment::Unknown, "{}", found[0]);
    let why: Vec<String> = own.unknown.iter().map(ToString::to_string).collect();
    assert_eq!(why, ["CPU dra-1 of the container: driver dra.cpu publishes no NUMA node"]);
}

#[test]
fn containers_whose_claims_are_aligned_by_other_changes_have_notes_of_their_own() {
    let node = two_sockets().by(&OtherRules { policy: Some("none".to_owned()), ..OtherRules::default() });
    let found = reports(
        &node.unwrap(),
        &[
            slice(GPU, &[Some(1)]),
            class_of(GPU),
            template("d", &devices(&[(GPU, 1)])),
            pod(
                "p",
                &["d"],
                &[
                    container("a", "2", "1Gi", &["d"], Some(FPGA)),
                    container("b", "2", "1Gi", &["d"], None),
                    container("c", "2", "1Gi", &["d"], None),
                ],
            ),
        ],
    );
    let notes = found[0].notes.iter().filter_map(|note| match &note.remark {
        Remark::ClaimElsewhere { .. } => Some((note.containers.len(), texts(note.would_align()))),
        _ => None,
    });
    let policy = "topologyManagerPolicy single-numa-node";
    let with_scope = format!("{policy} with topologyManagerScope pod");
    let expected = [(1, vec![policy.to_owned()]), (2, vec![with_scope])];
    assert_eq!(notes.collect::<Vec<_>>(), expected, "{}", found[0]);
}

#[test]
fn a_constraint_that_is_there_already_does_not_keep_the_cpu_driver_from_aligning() {
    let mut two = devices(&[(GPU, 2)]);
    two["constraints"] = json!([{ "matchAttribute": NUMA }]);
    let found = reports(
        &two_sockets(),
        &[
            cpu_slice(),
            slice(GPU, &[Some(1), Some(1)]),
            class_of(CPUS),
            class_of(GPU),
            template("d", &two),
            pod("p", &["d"], &[container("c", "2", "1Gi", &["d"], None)]),
        ],
    );
    assert_eq!(kinds(&claim(&found, "c", "d")), ["cpuClaim"], "{}", found[0]);
}

#[test]
fn devices_of_a_class_that_names_the_cpu_driver_are_no_cpus() {
    let objects = |expression: &str| {
        [
            slice(CPUS, &[Some(0), Some(0)]),
            slice(GPU, &[Some(1), Some(0), Some(0), Some(0)]),
            class("aaa", expression),
            class_of(GPU),
            template("d", &devices(&[(GPU, 1)])),
            pod("p", &["d"], &[container("c", "2", "1Gi", &["d"], None)]),
        ]
    };
    let with = |expression: &str| kinds(&claim(&reports(&two_sockets(), &objects(expression)), "c", "d"));
    assert_eq!(with("device.driver != 'dra.cpu'"), ["selector"]);
    // Which driver a class means is known by the devices that it gives.
    assert_eq!(with("device.driver.startsWith('dra')"), ["selector", "cpuClaim"]);
}

#[test]
fn no_change_takes_alignment_or_cpus_from_another_container() {
    let objects = |b: Value| {
        [
            cpu_slice(),
            slice(GPU, &[Some(1)]),
            slice("nic.example.com", &[Some(0)]),
            class_of(CPUS),
            class_of(GPU),
            class_of("nic.example.com"),
            template("d", &devices(&[(GPU, 1)])),
            template("n", &devices(&[("nic.example.com", 1)])),
            pod("p", &["d", "n"], &[container("a", "2", "1Gi", &["d"], None), b]),
        ]
    };
    let with = |b: Value| kinds(&claim(&reports(&two_sockets(), &objects(b)), "a", "d"));
    assert_eq!(with(container("b", "4", "1Gi", &["n"], None)), [""; 0]);
    assert_eq!(with(container("b", "4", "1Gi", &[], None)), [""; 0]);
    // One that shares CPUs loses none.
    assert_eq!(with(container("b", "500m", "1Gi", &[], None)), ["cpuClaim"]);
}

#[test]
fn a_change_of_the_node_says_which_other_pods_lose_cpus() {
    let with = |others: &[&str]| {
        let mut objects = vec![
            cpu_slice(),
            slice(GPU, &[Some(1)]),
            class_of(CPUS),
            class_of(GPU),
            template("d", &devices(&[(GPU, 1)])),
        ];
        objects.extend(others.iter().map(|cpus| {
            let name = format!("other-{cpus}");
            pod(&name, &[], &[container("a", cpus, "1Gi", &[], None)])
        }));
        objects.push(pod("p", &["d"], &[container("c", "2", "1Gi", &["d"], None)]));
        let own = claim(&reports(&two_sockets(), &objects), "c", "d");
        texts(own.would_align.as_deref().unwrap_or_default()).remove(0)
    };
    let last = |text: String| text.rsplit("memoryManagerPolicy None").next().map(str::to_owned);
    assert_eq!(last(with(&["500m"])).as_deref(), Some(""));
    let one = "; 1 container of another pod loses its exclusive CPUs";
    assert_eq!(last(with(&["500m", "2"])).as_deref(), Some(one));
    let two = "; 2 containers of other pods lose their exclusive CPUs";
    assert_eq!(last(with(&["2", "4"])).as_deref(), Some(two));
}

#[test]
fn a_claim_with_cpus_of_the_driver_is_aligned_without_the_cpu_manager() {
    let with = |cpus: usize, gpu: i64| {
        let mut both = devices(&[(CPUS, cpus), (GPU, 1)]);
        both["constraints"] = json!([{ "matchAttribute": NUMA }]);
        let objects = [
            cpu_slice(),
            slice(GPU, &[Some(gpu)]),
            class_of(CPUS),
            class_of(GPU),
            template("d", &both),
            pod("p", &["d"], &[container("c", "2", "1Gi", &["d"], None)]),
        ];
        let own = claim(&reports(&two_sockets(), &objects), "c", "d");
        own.would_align.map(|remedies| texts(&remedies))
    };
    let expected = "cpuManagerPolicy none with memoryManagerPolicy None".to_owned();
    assert_eq!(with(2, 1), Some([expected].into()));
    assert_eq!(with(2, 0), None);
}

#[test]
fn memory_of_a_gpu_is_near_the_gpu() {
    let rules = OtherRules { policy: Some("none".to_owned()), ..OtherRules::default() };
    let found = reports(
        &node("gb200-nvl4-34node", DecidedBy::Topolet).by(&rules).unwrap(),
        &[
            slice(GPU, &[Some(2)]),
            class_of(GPU),
            template("d", &devices(&[(GPU, 1)])),
            pod("big-0", &[], &[container("c", "1", "460Gi", &[], None)]),
            pod("big-1", &[], &[container("c", "1", "470Gi", &[], None)]),
            pod("p", &["d"], &[container("c", "1", "20Gi", &["d"], None)]),
        ],
    );
    let own = claim(&found, "c", "d");
    assert_eq!(own.memory_nodes.as_ref().map(ToString::to_string), Some("2".to_owned()));
    assert_eq!(own.alignment, Alignment::Aligned, "{}", found[2]);
}

#[test]
fn pods_that_come_with_others_of_their_claim_share_it_from_the_first_on() {
    let shared = json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": { "name": "s" },
        "spec": { "devices": devices(&[(GPU, 1)]) },
    });
    let user = |name: &str| {
        let mut pod = pod(name, &[], &[container("c", "2", "1Gi", &["s"], None)]);
        pod["spec"]["resourceClaims"] = json!([{ "name": "s", "resourceClaimName": "s" }]);
        pod
    };
    let both = |users: &[&str]| {
        let mut objects = vec![slice(GPU, &[Some(0)]), class_of(GPU), shared.clone()];
        objects.extend(users.iter().map(|name| user(name)));
        let found = reports(&two_sockets(), &objects);
        found.iter().map(|report| report.containers()[0].claimed[0].alignment).collect::<Vec<_>>()
    };
    assert_eq!(both(&["p-0", "p-1"]), [Alignment::Unknown; 2]);
    assert_eq!(both(&["p-0"]), [Alignment::Aligned]);
}

#[test]
fn a_note_says_where_no_changes_were_tried_and_those_that_are_shown_come_first() {
    let mut objects = vec![slice(GPU, &[Some(1); 70]), class_of(GPU), template("d", &devices(&[(GPU, 1)]))];
    let name = |number: usize| format!("p-{number}");
    objects.extend((0..70).map(|number| {
        // Part of a CPU leaves memory alone to compare with.
        pod(&name(number), &["d"], &[container("c", "500m", "100Mi", &["d"], None)])
    }));
    let node = two_sockets();
    let all = reports(&node, &objects);
    let tried = all.iter().filter(|report| report.containers()[0].claimed[0].would_align.is_some());
    assert_eq!(tried.count(), 64);
    let ends_here = |report: &Report| {
        report.notes.iter().any(|note| matches!(note.remark, Remark::ChangesNotTried { after: 64 }))
    };
    // Once.
    let found: Vec<usize> = (0..70).filter(|number| ends_here(&all[*number])).collect();
    assert_eq!(found, [64]);
    let asked = asked(&objects);
    let claims = NodeClaims::on(&node, asked.objects.clone(), Features::DEFAULT);
    let series = Series::new(&node.node, node.empty_ledger(), Detail::Short, Tries(0));
    let sequence = Sequence::new(&node, &asked, series).with_claims(claims);
    let mut sequence = sequence.showing([asked.pods[69].uid.clone()]);
    let found: Vec<Report> = asked.pods.iter().map(|pod| sequence.decide(pod).unwrap()).collect();
    assert!(found[69].containers()[0].claimed[0].would_align.is_some());
    assert!(found[0].containers()[0].claimed[0].would_align.is_none());
    assert!(!found.iter().any(ends_here));
}

#[test]
fn a_claim_of_cpus_is_not_remarked_on_where_the_node_is() {
    let of = |cpus: Value| {
        let objects = [
            cpus,
            class_of(CPUS),
            template("d", &devices(&[(CPUS, 2)])),
            pod("p", &["d"], &[container("a", "2", "1Gi", &["d"], None)]),
        ];
        let (node, asked) = (two_sockets(), asked(&objects));
        let claims = NodeClaims::on(&node, asked.objects.clone(), Features::DEFAULT);
        let of_node = claims.notes(&node, &asked.pods).iter().any(|note| note.contains("driver dra.cpu"));
        let report = reports(&node, &objects).remove(0);
        let of_pod = report.notes.iter().any(|note| matches!(note.remark, Remark::ClaimOfCpus { .. }));
        (of_node, of_pod)
    };
    assert_eq!(of(cpu_slice()), (true, false));
    // Without slices the class alone says it.
    assert_eq!(of(json!({ "apiVersion": "v1", "kind": "List", "items": [] })), (false, true));
}

#[test]
fn a_newer_slice_of_another_node_replaces_none_of_this_one() {
    let mut own = slice(GPU, &[Some(0)]);
    let mut other = own.clone();
    own["spec"]["pool"]["name"] = json!("shared");
    other["metadata"]["name"] = json!("other");
    other["spec"]["nodeName"] = json!("other");
    other["spec"]["pool"] = json!({ "name": "shared", "generation": 2, "resourceSliceCount": 1 });
    let objects = [
        own,
        other,
        class_of(GPU),
        template("d", &devices(&[(GPU, 1)])),
        pod("p", &["d"], &[container("c", "2", "1Gi", &["d"], None)]),
    ];
    let identity = Identity { name: "w".to_owned(), labels: BTreeMap::new(), taints: Vec::new() };
    let mut node = two_sockets();
    node.node = Node::clone(&node.node).with_identity(identity).into();
    let found = reports(&node, &objects);
    assert_eq!(claim(&found, "c", "d").alignment, Alignment::Aligned, "{}", found[0]);
}
