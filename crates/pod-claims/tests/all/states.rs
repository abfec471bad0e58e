//! The states of a pod's claims, the obstacles for which kube-scheduler does not search, and devices that pods take from later
//! ones.

use crate::support;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use claim_allocator::Scope;
use dra_model::{Feature, Features, Node};
use pod_claims::{ClaimLedger, ClaimState, ClaimsDecision, DecidedAs, Outcome, without_resources};

use crate::support::{ledger, objects, pod};

/// Two GPUs on worker-1, a class, a template of one GPU, and claims in different states.
const CLUSTER: &str = r#"
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: worker-1-gpu}
spec:
  driver: gpu.example.com
  pool: {name: worker-1, generation: 1, resourceSliceCount: 1}
  nodeName: worker-1
  devices: [{name: gpu-0, attributes: {model: {string: a}}}, {name: gpu-1, attributes: {model: {string: b}}}]
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec: {selectors: [{cel: {expression: 'device.driver == "gpu.example.com"'}}], extendedResourceName: example.com/gpu}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com}}]}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: three}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com, count: 3}}]}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: shared, namespace: default}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com}}]}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: of-no-class}
spec: {devices: {requests: [{name: fast, firstAvailable: [{name: a, deviceClassName: gpu.example.com}, {name: b, deviceClassName: none}]}]}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: made-for-other, ownerReferences: [{apiVersion: v1, kind: Pod, name: other, uid: u-9, controller: true}]}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com}}]}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: wrong-type}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com, selectors: [{cel: {expression: 'device.attributes["gpu.example.com"].model > 3'}}]}}]}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: no-such-key}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com, selectors: [{cel: {expression: 'device.attributes["gpu.example.com"].modle == "a"'}}]}}]}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: no-expression}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com, selectors: [{cel: {expression: 'device.attributes['}}]}}]}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: elsewhere}
status:
  allocation:
    devices: {results: [{request: gpu, driver: gpu.example.com, pool: worker-2, device: gpu-0}]}
    nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [worker-2]}]}]}
"#;

fn cluster() -> ClaimLedger {
    ledger(objects(CLUSTER), &[])
}

fn with(more: &str) -> ClaimLedger {
    ledger(objects(&format!("{CLUSTER}---\n{more}")), &[])
}

/// A pod with these entries of `resourceClaims`, and this status.
fn pod_with(claims: &str, rest: &str) -> pod_spec::Pod {
    pod(&format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: p, uid: u-1}}\nspec: {{containers: [{{name: c}}], resourceClaims: [{claims}]}}\n{rest}"
    ))
}

fn devices(decision: &ClaimsDecision) -> Vec<String> {
    let results = decision.claims.iter().flat_map(|claim| {
        claim.claim.status.allocation.iter().flat_map(|allocation| allocation.results.clone())
    });
    results.map(|result| format!("{}={}", result.request, result.device.device)).collect()
}

#[test]
fn what_stops_a_pod_is_named_with_its_object_and_where_it_stops() {
    for (claims, rest, scope, text) in [
        ("{name: a, resourceClaimName: gone}", "", Scope::Pod, "ResourceClaim default/gone does not exist"),
        (
            "{name: a, resourceClaimTemplateName: gone}",
            "",
            Scope::Pod,
            "ResourceClaimTemplate default/gone does not exist",
        ),
        (
            "{name: a, resourceClaimName: of-no-class}",
            "",
            Scope::Pod,
            "claim default/of-no-class: request fast/b: device class none does not exist",
        ),
        (
            "{name: a, resourceClaimTemplateName: one}",
            "status: {resourceClaimStatuses: [{name: a, resourceClaimName: made-for-other}]}",
            Scope::Pod,
            "was not created for this pod (the pod is not its owner; pod other is)",
        ),
        (
            "{name: a, resourceClaimName: elsewhere}",
            "",
            Scope::Node,
            "resourceclaim not available on the node",
        ),
        ("{name: a}", "", Scope::Pod, "no claim \"a\""),
        (
            "{name: a, resourceClaimName: wrong-type}",
            "",
            Scope::Pod,
            "claim default/wrong-type: selector #0 on device gpu.example.com/worker-1/gpu-0: CEL runtime error: no such overload",
        ),
        (
            "{name: a, resourceClaimName: no-such-key}",
            "",
            Scope::Pod,
            "no such key: modle. consider using CEL optional chaining",
        ),
        (
            "{name: a, resourceClaimName: no-expression}",
            "",
            Scope::Pod,
            "claim default/no-expression: selector #0: CEL compile error: ",
        ),
        ("{name: a, resourceClaimTemplateName: three}", "", Scope::Node, "does not fit"),
    ] {
        let decision = cluster().decide(&pod_with(claims, rest)).unwrap();
        let found = match &decision.outcome {
            Outcome::Stopped(obstacle) => obstacle.to_string(),
            Outcome::Error(error) => error.to_string(),
            Outcome::DoesNotFit => "does not fit".to_owned(),
            other => panic!("{claims}: {other:?}"),
        };
        assert!(found.contains(text), "{claims}: {found}");
        assert_eq!(decision.refused(), Some(scope), "{claims}: {found}");
        assert_eq!(devices(&decision).len(), usize::from(claims.contains("elsewhere")), "{claims}");
    }
}

#[test]
fn claims_of_templates_are_decided_as_they_will_be_made_and_hold_what_they_get() {
    let mut ledger = cluster();
    let mut found = String::new();
    for name in ["a", "b", "c"] {
        let mut pod = pod_with("{name: x, resourceClaimTemplateName: one}", "");
        (pod.name, pod.uid) = (name.into(), pod_spec::PodUid::new(name));
        let decision = ledger.decide(&pod).unwrap();
        writeln!(found, "{name}: {:?} {}", devices(&decision), decision.is_allocated()).unwrap();
        ledger.hold(&pod, &decision);
    }
    assert_eq!(found, "a: [\"gpu=gpu-0\"] true\nb: [\"gpu=gpu-1\"] true\nc: [] false\n");
}

#[test]
fn a_pod_that_leaves_gives_back_the_devices_of_its_claims_and_a_shared_claim_those_of_the_last() {
    let mut ledger = cluster();
    let admit = |ledger: &mut ClaimLedger, claims: &str, name: &str| {
        let mut pod = pod_with(claims, "");
        (pod.name, pod.uid) = (name.into(), pod_spec::PodUid::new(name));
        let decision = ledger.decide(&pod).unwrap();
        ledger.hold(&pod, &decision);
        (pod.uid, decision)
    };
    let own = "{name: x, resourceClaimTemplateName: one}";
    let shared = "{name: x, resourceClaimName: shared}";
    let (first, of_first) = admit(&mut ledger, own, "a");
    let (second, of_second) = admit(&mut ledger, shared, "b");
    let (third, of_third) = admit(&mut ledger, shared, "c");
    assert!(!admit(&mut ledger, own, "d").1.is_allocated());
    ledger.release(&first, &of_first);
    let (fifth, of_fifth) = admit(&mut ledger, own, "e");
    assert_eq!(devices(&of_fifth), ["gpu=gpu-0"]);
    // One of two users is gone, then the other.
    ledger.release(&second, &of_second);
    assert!(!admit(&mut ledger, own, "f").1.is_allocated());
    ledger.release(&third, &of_third);
    assert_eq!(devices(&admit(&mut ledger, own, "g").1), ["gpu=gpu-1"]);
    ledger.release(&fifth, &of_fifth);
    assert_eq!(devices(&admit(&mut ledger, own, "h").1), ["gpu=gpu-0"]);
}

#[test]
fn a_claim_that_pods_share_is_allocated_once_and_reserved_for_256_pods() {
    let mut ledger = cluster();
    for number in 0..257 {
        let mut pod = pod_with("{name: x, resourceClaimName: shared}", "");
        (pod.name, pod.uid) = (format!("p{number}"), pod_spec::PodUid::new(&format!("u{number}")));
        let decision = ledger.decide(&pod).unwrap();
        if number < 256 {
            assert_eq!(devices(&decision), ["gpu=gpu-0"], "{number}");
            let state = if number == 0 { ClaimState::Pending } else { ClaimState::Allocated };
            assert_eq!(decision.claims[0].state, state, "{number}");
            assert_eq!(decision.cost.is_some(), number == 0, "only the first is searched for");
            ledger.hold(&pod, &decision);
        } else {
            let Outcome::Stopped(obstacle) = &decision.outcome else { panic!("{:?}", decision.outcome) };
            assert!(obstacle.to_string().contains("resourceclaim in use"), "{obstacle}");
        }
    }
}

#[test]
fn a_claim_that_kube_controller_manager_has_not_made_is_named() {
    let mut pod = pod_with("{name: x, resourceClaimTemplateName: one}", "");
    pod.created = pod_spec::CreationTime::parse("2026-01-01T00:00:00Z");
    let decision = cluster().decide(&pod).unwrap();
    assert_eq!(decision.claims[0].state, ClaimState::NotMadeYet("one".to_owned()));
    assert_eq!(decision.not_made_yet().collect::<Vec<_>>(), ["x"]);
    assert!(decision.is_allocated(), "it is decided as it will be made");
}

#[test]
fn the_pods_claims_come_in_its_order_and_that_of_extended_resources_last() {
    let text = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, resources: {limits: {cpu: 2, memory: 1Gi, example.com/gpu: 1}}}], \
         resourceClaims: [{name: x, resourceClaimTemplateName: one}]}";
    let pod = pod(text);
    let decision = cluster().decide(&pod).unwrap();
    assert_eq!(devices(&decision), ["gpu=gpu-0", "container-0-request-1=gpu-1"]);
    assert_eq!(decision.served_resources, ["example.com/gpu"]);
    let rest = without_resources(&pod, &decision.served_resources);
    let container = &rest.containers.iter().next().unwrap();
    assert_eq!(container.limits.len(), 2, "CPU and memory are left to the managers");
    // Where a device plugin offers the resource, it stays the plugin's.
    let node = Node { name: "worker-1".to_owned(), ..Node::default() };
    let plugins = BTreeMap::from([("example.com/gpu".to_owned(), 4)]);
    let mut ledger = ClaimLedger::new(objects(CLUSTER), node, Features::DEFAULT, plugins);
    let decision = ledger.decide(&pod).unwrap();
    assert_eq!((devices(&decision), decision.served_resources.len()), (vec!["gpu=gpu-0".to_owned()], 0));
}

#[test]
fn half_seen_pools_mixed_generations_and_devices_that_are_gone_are_named() {
    let slice = |name: &str, generation, count, device| {
        format!(
            "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {{name: {name}}}\nspec: {{driver: net.example.com, \
             pool: {{name: worker-1, generation: {generation}, resourceSliceCount: {count}}}, nodeName: worker-1, devices: [{{name: {device}}}]}}\n---\n"
        )
    };
    let three = pod_with("{name: a, resourceClaimTemplateName: three}", "");
    for (slices, expected) in [
        (
            slice("a", 1, 2, "n0"),
            "pool net.example.com/worker-1 is incomplete: 1 of 2 slices of generation 1 are there",
        ),
        (
            slice("a", 1, 2, "n0") + &slice("b", 2, 2, "n1"),
            "pool net.example.com/worker-1 is incomplete: 1 of 2 slices of generation 2 are there",
        ),
        (
            slice("a", 1, 2, "n0") + &slice("b", 1, 2, "n0"),
            "pool net.example.com/worker-1 is invalid: duplicate device name n0",
        ),
    ] {
        let decision = with(&slices).decide(&three).unwrap();
        assert_eq!(decision.unusable_pools.len(), 1, "{:?}", decision.unusable_pools);
        assert!(decision.unusable_pools[0].starts_with(expected), "{:?}", decision.unusable_pools);
    }
    let held = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: held}\nstatus: {allocation: {devices: {results: [{request: gpu, driver: gpu.example.com, pool: worker-1, device: gpu-9}]}}}\n";
    let decision = with(held).decide(&pod_with("{name: a, resourceClaimName: held}", "")).unwrap();
    assert!(decision.is_allocated(), "kube-scheduler does not look whether the device is there");
    let gone: Vec<String> =
        decision.unlisted_devices.iter().map(|(claim, device)| format!("{claim} {device}")).collect();
    assert_eq!(gone, ["a gpu.example.com/worker-1/gpu-9"]);
}

#[test]
fn rules_taint_devices_and_nothing_is_decided_without_slices_or_classes() {
    let rule = "apiVersion: resource.k8s.io/v1beta2\nkind: DeviceTaintRule\nmetadata: {name: r}\nspec: {deviceSelector: {driver: gpu.example.com, device: gpu-0}, taint: {key: broken, effect: NoSchedule}}\n";
    let one = pod_with("{name: a, resourceClaimTemplateName: one}", "");
    assert_eq!(devices(&with(rule).decide(&one).unwrap()), ["gpu=gpu-1"]);
    let node = Node { name: "worker-1".to_owned(), ..Node::default() };
    let untainted = Features::DEFAULT.without(Feature::DeviceTaints);
    let mut ledger =
        ClaimLedger::new(objects(&format!("{CLUSTER}---\n{rule}")), node, untainted, BTreeMap::new());
    assert_eq!(devices(&ledger.decide(&one).unwrap()), ["gpu=gpu-0"]);
    assert_eq!(DecidedAs(untainted).to_string(), "kube-scheduler 1.37.2 with DRADeviceTaints=false");
    assert_eq!(DecidedAs(Features::DEFAULT).to_string(), "kube-scheduler 1.37.2 with its default gates");
    for kind in ["ResourceSlice", "DeviceClass"] {
        let mut known = objects(CLUSTER);
        if kind == "ResourceSlice" {
            known.slices.clear();
        } else {
            known.classes.clear();
        }
        let decision = support::ledger(known, &[]).decide(&one).unwrap();
        let Outcome::Unknown(missing) = decision.outcome else { panic!("{:?}", decision.outcome) };
        assert_eq!(missing.to_string(), format!("no {kind} is given"));
    }
    assert!(cluster().decide(&pod_with("", "")).is_none(), "a pod without claims has none to be decided");
}
