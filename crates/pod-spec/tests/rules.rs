//! Effective requests, defaulting and QoS class, rule by rule.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use kubelet_release::{Release, Rules};
use pod_spec::{
    Amounts, Container, EmptyPodResources, Origin, Overhead, Pod, PodLevelResources, PodResources, PodRules,
    QosClass, ResourceList, Role,
};

const COUNT: PodLevelResources = PodLevelResources::Count;

/// Of 1.37.
const NEW: PodRules = PodRules::of(&Rules::of(Release::V1_37), COUNT);

/// `cpu=2 memory=1Gi`
fn list(text: &str) -> ResourceList {
    let pairs = text.split_whitespace().map(|pair| pair.split_once('=').unwrap());
    pairs.map(|(name, amount)| (name.into(), amount.parse().unwrap())).collect()
}

/// `role:requests|limits`
fn container(text: &str) -> Container {
    let (role, amounts) = text.split_once(':').unwrap();
    let (requests, limits) = amounts.split_once('|').unwrap();
    let role = match role {
        "init" => Role::Init,
        "sidecar" => Role::Sidecar,
        "app" => Role::App,
        other => panic!("no role {other}"),
    };
    Container { name: text.into(), role, requests: list(requests), limits: list(limits) }
}

fn pod(containers: &[&str]) -> Pod {
    Pod::new("default", "p", containers.iter().map(|text| container(text)).collect())
}

fn shown(amounts: &ResourceList) -> String {
    amounts.iter().map(|(name, amount)| format!("{name}={amount}")).collect::<Vec<_>>().join(" ")
}

#[test]
fn classes_of_pods_without_pod_level_resources() {
    for (containers, class) in [
        (&["app:|"][..], QosClass::BestEffort),
        (&["app:vendor.io/gpu=1|vendor.io/gpu=1"], QosClass::BestEffort),
        (&["app:cpu=0|"], QosClass::BestEffort),
        (&["app:cpu=1|"], QosClass::Burstable),
        (&["app:cpu=1 memory=1Gi|cpu=1 memory=1Gi"], QosClass::Guaranteed),
        (&["app:cpu=1000m memory=1024Mi|cpu=1 memory=1Gi"], QosClass::Guaranteed),
        (&["app:cpu=1 memory=1Gi|cpu=1 memory=1Gi", "app:|"], QosClass::Burstable),
        (&["init:|", "app:cpu=1 memory=1Gi|cpu=1 memory=1Gi"], QosClass::Burstable),
        (&["app:cpu=1 memory=1Gi|cpu=2 memory=1Gi"], QosClass::Burstable),
        // Sums are compared: 1 + 3 against 2 + 2.
        (
            &["app:cpu=1 memory=1Gi|cpu=2 memory=1Gi", "app:cpu=3 memory=1Gi|cpu=2 memory=1Gi"],
            QosClass::Guaranteed,
        ),
    ] {
        assert_eq!(pod(containers).qos_class(COUNT), class, "{containers:?}");
    }
}

#[test]
fn pod_level_resources_alone_decide_when_they_are_there() {
    let mut pod = pod(&["app:cpu=1 memory=1Gi|cpu=1 memory=1Gi"]);
    pod.resources = Some(PodResources::default());
    assert_eq!(pod.qos_class(COUNT), QosClass::BestEffort, "an empty object counts");
    assert_eq!(pod.qos_class(PodLevelResources::Ignored), QosClass::Guaranteed);
    pod.resources =
        Some(PodResources { requests: list("cpu=2 memory=2Gi"), limits: list("cpu=2 memory=2Gi") });
    assert_eq!(pod.qos_class(COUNT), QosClass::Guaranteed);
    pod.status_qos = Some(QosClass::Burstable);
    assert_eq!(pod.qos_class(COUNT), QosClass::Burstable, "the status is believed");
}

#[test]
fn effective_requests_are_the_larger_of_running_and_starting() {
    for (containers, expected) in [
        (&["app:cpu=1|", "app:cpu=2|"][..], "cpu=3"),
        (&["init:cpu=5|", "app:cpu=1|", "app:cpu=2|"], "cpu=5"),
        (&["sidecar:cpu=1|", "app:cpu=2|"], "cpu=3"),
        // The sidecar runs already while the second init container does.
        (&["sidecar:cpu=1|", "init:cpu=3|", "app:cpu=1|"], "cpu=4"),
        (&["init:cpu=3|", "sidecar:cpu=1|", "app:cpu=1|"], "cpu=3"),
        (&["init:memory=1Gi|", "app:cpu=1|"], "cpu=1 memory=1Gi"),
    ] {
        assert_eq!(shown(&pod(containers).containers_amounts(Amounts::Requests)), expected, "{containers:?}");
    }
}

#[test]
fn overhead_goes_to_requests_always_and_to_limits_that_are_there() {
    let mut pod = pod(&["app:cpu=1|cpu=2 memory=0"]);
    pod.overhead = list("cpu=250m memory=64Mi");
    let amounts = |which, overhead| shown(&pod.effective(which, COUNT, overhead));
    assert_eq!(amounts(Amounts::Requests, Overhead::Added), "cpu=1250m memory=64Mi");
    assert_eq!(amounts(Amounts::Requests, Overhead::LeftOut), "cpu=1");
    assert_eq!(amounts(Amounts::Limits, Overhead::Added), "cpu=2250m memory=0");
}

#[test]
fn defaulting_fills_requests_from_limits_and_rounds_up() {
    let pod = pod(&["app:cpu=1u|cpu=2 memory=1Gi"]).with_defaults(COUNT);
    assert_eq!(shown(&pod.containers[0].requests), "cpu=1m memory=1Gi");
    assert_eq!(shown(&pod.containers[0].limits), "cpu=2 memory=1Gi");
}

#[test]
fn a_pod_level_limit_takes_its_request_from_the_containers_first() {
    let mut pod = pod(&["app:cpu=2|"]);
    pod.resources = Some(PodResources { requests: ResourceList::new(), limits: list("cpu=4 memory=1Gi") });
    let pod = pod.with_defaults(COUNT);
    let resources = pod.resources.as_ref().unwrap();
    assert_eq!(shown(&resources.requests), "cpu=2 memory=1Gi");
    assert_eq!(pod.qos_class(COUNT), QosClass::Burstable);
}

#[test]
fn newer_releases_classify_each_container() {
    for (containers, class) in [
        (&["app:|"][..], QosClass::BestEffort),
        (&["app:vendor.io/gpu=1|vendor.io/gpu=1"], QosClass::BestEffort),
        (&["app:cpu=0|cpu=0"], QosClass::BestEffort),
        (&["app:cpu=1|"], QosClass::Burstable),
        (&["app:cpu=1|cpu=1"], QosClass::Burstable),
        (&["app:cpu=1 memory=1Gi|cpu=1 memory=1Gi"], QosClass::Guaranteed),
        (&["app:cpu=1000m memory=1024Mi|cpu=1 memory=1Gi"], QosClass::Guaranteed),
        (&["app:cpu=1 memory=1Gi|cpu=1 memory=1Gi", "app:|"], QosClass::Burstable),
        (&["init:|", "app:cpu=1 memory=1Gi|cpu=1 memory=1Gi"], QosClass::Burstable),
        (&["app:cpu=1 memory=1Gi|cpu=2 memory=1Gi"], QosClass::Burstable),
        (
            &["app:cpu=1 memory=1Gi|cpu=2 memory=1Gi", "app:cpu=3 memory=1Gi|cpu=2 memory=1Gi"],
            QosClass::Burstable,
        ),
        (&[], QosClass::BestEffort),
    ] {
        assert_eq!(pod(containers).qos_class(NEW), class, "{containers:?}");
    }
    let opposed = pod(&["app:cpu=1 memory=1Gi|cpu=2 memory=1Gi", "app:cpu=3 memory=1Gi|cpu=2 memory=1Gi"]);
    let obstacle = opposed.not_guaranteed(NEW).map(|obstacle| obstacle.to_string());
    assert!(obstacle.is_some_and(|obstacle| obstacle.ends_with(" requests 1 of its limit of 2 cpu")));
}

#[test]
fn newer_releases_let_containers_decide_where_the_pod_names_nothing() {
    let mut pod = pod(&["app:cpu=1 memory=1Gi|cpu=1 memory=1Gi", "app:|"]);
    pod.resources = Some(PodResources::default());
    assert_eq!(pod.qos_class(NEW), QosClass::Burstable);
    let hidden = PodRules { empty: EmptyPodResources::BestEffort, ..NEW };
    assert_eq!(pod.qos_class(hidden), QosClass::BestEffort, "the gate is off");
    pod.resources = Some(PodResources { requests: list("ephemeral-storage=1Gi"), limits: list("") });
    assert_eq!(pod.qos_class(NEW), QosClass::Burstable, "no resource that a pod can have as a whole");
    pod.resources = Some(PodResources { requests: list("cpu=2 memory=1"), limits: list("cpu=2 memory=1") });
    assert_eq!(pod.qos_class(NEW), QosClass::Guaranteed);
    pod.resources = Some(PodResources { requests: list("cpu=2"), limits: list("cpu=2") });
    assert_eq!(pod.qos_class(NEW), QosClass::Burstable);
}

/// What is filled in at pod level: requests and limits.
fn filled(containers: &[&str], own: (&str, &str), rules: PodRules, origin: Origin) -> (String, String) {
    let mut pod = pod(containers);
    pod.resources = Some(PodResources { requests: list(own.0), limits: list(own.1) });
    pod.constraints.origin = origin;
    let own = pod.with_defaults(rules).resources.unwrap();
    (shown(&own.requests), shown(&own.limits))
}

#[test]
fn newer_api_servers_fill_in_limits_too() {
    let old = PodRules::from(COUNT);
    let guaranteed = ["app:|cpu=1 memory=1Gi", "sidecar:|cpu=1 memory=1Gi", "init:|cpu=3 memory=1Gi"];
    for (containers, own, before, now) in [
        // Nothing is named: nothing is filled in.
        (&guaranteed[..], ("", ""), ("", ""), ("", "")),
        // Requests alone: every container has limits, so the pod has.
        (&guaranteed, ("cpu=4", ""), ("cpu=4", ""), ("cpu=4 memory=2Gi", "cpu=4 memory=2Gi")),
        // The init container uses more than the pod requests.
        (&guaranteed, ("cpu=1", ""), ("cpu=1", ""), ("cpu=1 memory=2Gi", "cpu=4 memory=2Gi")),
        (
            &["app:cpu=1|cpu=2", "app:|memory=1Gi"],
            ("memory=4Gi", "cpu=5"),
            ("cpu=1 memory=4Gi", "cpu=5"),
            ("cpu=1 memory=4Gi", "cpu=5"),
        ),
        // Huge pages: a limit, and a request of the same size.
        (
            &["app:|hugepages-2Mi=4Mi", "app:|hugepages-2Mi=2Mi"],
            ("memory=1Gi", ""),
            ("hugepages-2Mi=6Mi memory=1Gi", "hugepages-2Mi=6Mi"),
            ("hugepages-2Mi=6Mi memory=1Gi", "hugepages-2Mi=6Mi"),
        ),
        (
            &["app:|hugepages-2Mi=4Mi"],
            ("hugepages-2Mi=8Mi", ""),
            ("hugepages-2Mi=8Mi", ""),
            ("hugepages-2Mi=8Mi", "hugepages-2Mi=8Mi"),
        ),
        // What a pod cannot have as a whole stays alone.
        (
            &guaranteed,
            ("vendor.io/gpu=1", ""),
            ("vendor.io/gpu=1", ""),
            ("cpu=4 memory=2Gi vendor.io/gpu=1", "cpu=4 memory=2Gi"),
        ),
        // Rounded before they are summed, where the API server does it.
        (
            &["app:cpu=1u|", "app:cpu=1u|"],
            ("", "memory=1"),
            ("cpu=1m memory=1", "memory=1"),
            ("cpu=2m memory=1", "memory=1"),
        ),
    ] {
        let written = |text: (&str, &str)| (text.0.to_owned(), text.1.to_owned());
        for origin in [Origin::ApiServer, Origin::Static] {
            assert_eq!(filled(containers, own, old, origin), written(before), "{containers:?} {own:?}");
        }
        assert_eq!(filled(containers, own, NEW, Origin::ApiServer), written(now), "{containers:?} {own:?}");
        let alone = filled(containers, own, NEW, Origin::Static);
        assert_eq!(alone, written(own), "static pods stay as they are written");
        assert_eq!(filled(containers, own, NEW.of_static_pods(), Origin::ApiServer), alone);
    }
}
