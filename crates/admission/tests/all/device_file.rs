//! What the kubelet's file has of devices after a refusal: what containers got that were served, and nothing of the one
//! that failed.

use crate::fixture;
use crate::fixture::Asked;
use device_manager::Holdings;
use node_config::{OwnOptions, Scope};
use topology_admission::{Compat, Rules, Verdict};
use topology_policy::KubeletPolicy;

/// `container/resource` of each entry.
fn entries(held: &Holdings) -> Vec<String> {
    held.iter().map(|(_, container, resource, _)| format!("{container}/{resource}")).collect()
}

/// What a refused pod of these containers holds, and what of it the file has.
fn refused(asked: &[Asked]) -> (Vec<String>, Vec<String>) {
    let info = fixture::machine("pack:1 numa:2(memory=16GiB) core:8 pu:1", 0);
    let config = fixture::config(&info, "restricted", "container", 1);
    let node = fixture::node(&info, &config, Compat::KUBELET, OwnOptions::default());
    let ledger = node.empty_ledger().with_inventory(fixture::inventory(&node, 4));
    let unaligned = Rules { policy: KubeletPolicy::None, scope: Scope::Container };
    let pod = fixture::pod("p", asked);
    let attempt = node.admission(&ledger, &pod).under(unaligned).attempt();
    assert!(matches!(attempt.verdict, Verdict::Refused(_)), "{:?}", attempt.verdict);
    let after = ledger.commit(attempt).unwrap();
    (entries(after.devices()), entries(after.device_file()))
}

#[test]
fn a_container_that_fails_half_way_is_not_in_the_file() {
    let fits = Asked { cpus: 1, memory: 64, gpus: 1, vfs: 1, pages: 0 };
    let (held, stored) = refused(&[fits, Asked { vfs: 1000, ..fits }]);
    assert_eq!(held, ["c0/example.com/gpu", "c0/example.com/vf", "c1/example.com/gpu"]);
    assert_eq!(stored, ["c0/example.com/gpu", "c0/example.com/vf"]);
}

#[test]
fn a_pod_whose_first_container_fails_is_not_in_the_file() {
    let (held, stored) = refused(&[Asked { cpus: 1, memory: 64, gpus: 1, vfs: 1000, pages: 0 }]);
    assert_eq!((held, stored.len()), (vec!["c0/example.com/gpu".to_owned()], 0));
}

#[test]
fn devices_are_in_the_file_when_another_manager_refuses() {
    let fits = Asked { cpus: 1, memory: 64, gpus: 1, vfs: 0, pages: 0 };
    let (held, stored) = refused(&[fits, Asked { cpus: 1000, ..fits }]);
    assert_eq!(held, ["c0/example.com/gpu", "c1/example.com/gpu"]);
    assert_eq!(stored, held);
}
