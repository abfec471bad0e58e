//! Claims that no manifest names, and sources that are missing.

use std::collections::{BTreeMap, BTreeSet};

use device_plugin::{Amounts, ClaimEntry, ClaimedEntry, ContainerEntry, PodEntry};
use kubelet_checkpoint::claims::{PreparedClaim, PreparedDevice};
use node_input::{DeviceText, LoadedMachine, LoadedNode, RulesSource};
use pod_spec::{ContainerName, Pod};
use topology_manifest::{Source, read_pods};

use super::held::{HeldClaims, Places, needs_list};
use super::sources::SourceAnswers;

/// A pod of containers `a` and `b`, whose manifest names no claim.
fn pod() -> Pod {
    let text = "{apiVersion: v1, kind: Pod, metadata: {name: p, uid: u}, spec: {containers: [{name: a}, {name: b}]}}";
    read_pods(&Source { name: "pods", text }).unwrap().remove(0)
}

fn prepared() -> PreparedClaim {
    let gpu = PreparedDevice { pool: "w".into(), device: "gpu-0".into(), share: None, requests: Vec::new() };
    PreparedClaim {
        uid: "1".into(),
        namespace: "default".into(),
        name: "p-extended".into(),
        pods: BTreeSet::from([pod().uid]),
        drivers: BTreeMap::from([("gpu.example.com".into(), vec![gpu])]),
    }
}

/// Container `b` has the claim, as the kubelet's service lists it.
fn listed() -> Vec<PodEntry> {
    let device = ClaimedEntry { driver: "gpu.example.com".into(), pool: "w".into(), device: "gpu-0".into() };
    let claim = ClaimEntry { namespace: "default".into(), name: "p-extended".into(), devices: vec![device] };
    let container = |name: &str, claims| ContainerEntry {
        name: ContainerName::new(name),
        amounts: Amounts::default(),
        claims,
    };
    vec![PodEntry {
        name: "p".into(),
        namespace: "default".into(),
        containers: vec![container("a", Vec::new()), container("b", vec![claim])],
        whole: Amounts::default(),
    }]
}

/// The containers of each claim with devices, and why of each other one no device is known.
fn held(answers: &SourceAnswers) -> (Vec<Vec<String>>, Vec<String>) {
    let rules = RulesSource::default();
    let machine = LoadedMachine::named("xeon-2s-96cpu-sriov").unwrap();
    let node = LoadedNode::on(&machine, &rules, DeviceText::of(&rules).unwrap()).unwrap();
    let pod = pod();
    let held = HeldClaims::all(&[&pod], answers, &Places::of(&node, "w", &answers.cluster));
    let claims = held.iter().flat_map(|held| &held.decided.claims);
    let claims: Vec<_> = claims.collect();
    let unknown =
        claims.iter().flat_map(|claim| &claim.devices).filter_map(|device| device.unknown_place.clone());
    let unknown =
        unknown.chain(held.iter().flat_map(|held| held.unknown.iter().map(|claim| claim.why.clone())));
    (claims.iter().map(|claim| claim.containers.clone()).collect(), unknown.collect())
}

#[test]
fn the_kubelets_service_says_which_containers_use_a_claim_that_no_manifest_names() {
    let file = SourceAnswers { prepared: Ok(vec![prepared()]), ..SourceAnswers::default() };
    assert!(needs_list(&[&pod()], &file.prepared));
    let (users, why) = held(&file);
    assert_eq!(users, Vec::<Vec<String>>::new());
    assert!(matches!(&why[..], [why] if why.starts_with("which containers use it is not known")), "{why:?}");

    // Without slices no place is known.
    let no_slices = "no API server is asked (--kubeconfig FILE or --in-cluster)".to_owned();
    let both = SourceAnswers { listed: Some(listed()), ..file };
    assert_eq!(held(&both), (vec![vec!["b".to_owned()]], vec![no_slices.clone()]));

    // Nor is a file needed to know the devices.
    let unreadable = SourceAnswers { prepared: Err("dra_manager_state cannot be read".to_owned()), ..both };
    assert!(needs_list(&[&pod()], &unreadable.prepared));
    assert_eq!(held(&unreadable), (vec![vec!["b".to_owned()]], vec![no_slices]));
    assert_eq!(held(&SourceAnswers::default()), (Vec::new(), Vec::new()));
}
