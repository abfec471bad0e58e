//! Pods that are served as a whole: who uses what, what a failure leaves, and what is found again.

use crate::machines::{machine, set};
use crate::pods::{container, pod, policy};
use cpu_manager::{
    Config, CpuQuota, FullNode, Holdings, Isolation, Options, PodBubble, PodGranted, PodLevel, PodShare,
    QuotaWithExclusiveCpus, Reserved, ReservedCpus, Static, WholeCores,
};
use pod_spec::{Pod, PodResources, PodUid, QosClass, Role};
use topology_hint::Affinity;

fn managed(pod_bubble: PodBubble) -> Static {
    let config = Config {
        reserved: Reserved::count(2),
        pod_level: PodLevel::Managed,
        pod_bubble,
        ..Config::default()
    };
    policy(&machine(2, 1, 1, 4), config)
}

/// A pod with so many CPUs at pod level; its containers have these, or share.
fn whole(uid: &str, budget: &str, containers: &[(&str, Role, &str)]) -> Pod {
    let mut pod = pod(uid, containers);
    for container in pod.containers.iter_mut().filter(|it| !it.requests.contains_key("cpu")) {
        container.limits.clear();
    }
    let budget = container("", Role::App, budget);
    pod.resources = Some(PodResources { requests: budget.requests, limits: budget.limits });
    pod
}

fn told(granted: &PodGranted) -> Vec<String> {
    let PodGranted::Bubble { cpus, containers } = granted else { return vec![format!("{granted:?}")] };
    let each = containers.iter().map(|(name, share)| match share {
        PodShare::Exclusive(cpus) => format!("{name} {cpus}"),
        PodShare::Shared(cpus) => format!("{name} shares {cpus}"),
    });
    [cpus.to_string()].into_iter().chain(each).collect()
}

#[test]
fn containers_share_the_cpus_of_their_pod() {
    let policy = managed(PodBubble::Find);
    for (budget, containers, expected) in [
        (
            "8",
            &[
                ("i", Role::Init, ""),
                ("side", Role::Sidecar, "2"),
                ("j", Role::Init, ""),
                ("app", Role::App, "4"),
                ("rest", Role::App, ""),
            ][..],
            &[
                "4-7,12-15",
                "i shares 4-7,12-15",
                "side 4,12",
                "j shares 5-7,13-15",
                "app 5-6,13-14",
                "rest shares 7,15",
            ][..],
        ),
        // A sidecar without exclusive CPUs shares what is left in the end.
        (
            "3",
            &[("side", Role::Sidecar, ""), ("app", Role::App, "2")],
            &["1-2,9", "side shares 2", "app 1,9"],
        ),
        ("1500m", &[("app", Role::App, "")], &["SharedPool(FractionalCpu)"]),
    ] {
        let pod = whole("p", budget, containers);
        let allocation = policy.allocate_pod(&policy.initial(), &pod, Affinity::Any).unwrap();
        assert_eq!(told(&allocation.granted), expected, "{containers:?}");
    }
    for (budget, containers, error) in [
        (
            "2",
            &[("app", Role::App, "2"), ("rest", Role::App, "")][..],
            "pod rejected, sum of exclusive container cpu requests equals pod budget, leaving no cpus for shared containers",
        ),
        (
            "2",
            &[("side", Role::Sidecar, "2"), ("i", Role::Init, "")],
            "pod rejected, pod has shared init containers but no cpus available for them",
        ),
        (
            "15",
            &[("rest", Role::App, "")],
            "not enough cpus available to satisfy request: requested=15, available=14",
        ),
    ] {
        let mut held = policy.initial();
        let decision = policy.allocate_pod_in(&mut held, &whole("p", budget, containers), Affinity::Any);
        assert_eq!(decision.granted.unwrap_err().to_string(), error);
        assert_eq!(held, policy.initial());
    }
}

/// The kubelet does not allocate whole pods while the gate is off. Asked to, it goes by what containers ask for, and
/// looks at what is left for others before it looks at whole cores and free CPUs.
#[test]
fn with_the_gate_off_containers_leave_nothing_for_others() {
    const REST: (&str, Role, &str) = ("rest", Role::App, "");
    let empty = "pod rejected, sum of exclusive container cpu requests equals pod budget, leaving no cpus for shared containers";
    for (containers, outcome) in [
        (&[("app", Role::App, "2"), REST][..], Err(empty)),
        (&[("app", Role::App, "3"), REST], Err(empty)),
        (&[("app", Role::App, "15"), REST], Err(empty)),
        (&[("init", Role::Init, "4"), ("app", Role::App, "2"), REST], Ok("1-2,9-10")),
        (
            &[("side", Role::Sidecar, "2"), ("init", Role::Init, "")],
            Err("pod rejected, pod has shared init containers but no cpus available for them"),
        ),
        (
            &[("app", Role::App, "3")],
            Err("SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2"),
        ),
    ] {
        for pod_level in [PodLevel::Ignored, PodLevel::Unread, PodLevel::NotPinned] {
            let config = Config {
                reserved: Reserved::count(2),
                options: Options { whole_cores: WholeCores::Required, ..Options::default() },
                pod_level,
                ..Config::default()
            };
            let policy = policy(&machine(2, 1, 1, 4), config);
            let pod = Pod { status_qos: Some(QosClass::Guaranteed), ..whole("p", "8", containers) };
            let granted = policy.allocate_pod(&policy.initial(), &pod, Affinity::Any);
            let granted = granted.map(|allocation| told(&allocation.granted)[0].clone());
            assert_eq!(
                granted.map_err(|error| error.to_string()).as_deref(),
                outcome.map_err(str::to_owned).as_deref()
            );
        }
    }
}

#[test]
fn cpus_of_a_whole_pod_come_back_with_its_last_container() {
    let policy = managed(PodBubble::Find);
    let pod = whole("p", "4", &[("a", Role::App, "2"), ("b", Role::App, "")]);
    let held = policy.allocate_pod(&policy.initial(), &pod, Affinity::Any).unwrap().after;
    assert_eq!(held.shared().to_string(), "0,3-8,11-15");
    let one_left = held.retain(|_, name| name.as_str() == "b");
    assert_eq!(one_left.shared(), held.shared(), "the pod still holds them");
    assert_eq!(one_left.retain(|_, _| false), policy.initial());
    assert_eq!(policy.check(&held), Ok(()));
}

#[test]
fn what_the_kubelet_loses_of_a_pod_is_found() {
    // Two containers ask for more than their pod has; a pod is served twice.
    let short = whole("p", "4", &[("a", Role::App, "3"), ("b", Role::App, "2")]);
    let fits = whole("q", "4", &[("a", Role::App, "4")]);
    for (bubble, after_failure, after_second) in
        [(PodBubble::Lose, "0,3-8,11-15", "0,5-8,13-15"), (PodBubble::Find, "0-15", "0,3-8,11-15")]
    {
        let policy = managed(bubble);
        let mut after = policy.initial();
        let failure = policy.allocate_pod_in(&mut after, &short, Affinity::Any).granted.unwrap_err();
        assert_eq!(
            failure.to_string(),
            "not enough cpus available to satisfy request: requested=2, available=1"
        );
        assert_eq!(after.retain(|_, _| false).shared().to_string(), after_failure);
        let first = policy.allocate_pod(&policy.initial(), &fits, Affinity::Any).unwrap().after;
        let second = policy.allocate_pod(&first, &fits, Affinity::Any).unwrap().after;
        assert_eq!(second.shared().to_string(), after_second);

        // Both kinds of loss that a later start finds: CPUs without a holder, or of a pod without containers.
        let lost = Holdings::new(set("0,5-8,13-15"), []).with_whole_pods([(PodUid::new("gone"), set("1,9"))]);
        match bubble {
            PodBubble::Lose => assert!(policy.restore(lost).is_err()),
            PodBubble::Find => assert_eq!(policy.restore(lost), Ok(policy.initial())),
        }
    }
}

#[test]
fn full_node_starts_again() {
    for (full_node, expected) in
        [(FullNode::Refuse, Some("default cpuset cannot be empty")), (FullNode::Start, None)]
    {
        let options = Options { reserved: ReservedCpus::SystemOnly, ..Options::default() };
        let config = Config { options, full_node, reserved: Reserved::count(2), ..Config::default() };
        let policy = policy(&machine(2, 1, 1, 4), config);
        let pod = pod("p", &[("app", Role::App, "14")]);
        let held = policy.allocate(&policy.initial(), &pod, &pod.containers[0], Affinity::Any).unwrap().after;
        assert!(held.shared().is_empty());
        let restored = policy.restore(held.clone());
        assert_eq!(restored.as_ref().err().map(ToString::to_string).as_deref(), expected);
        if expected.is_none() {
            assert_eq!(restored, Ok(held));
        }
    }
}

#[test]
fn exclusive_cpus_are_not_throttled() {
    use CpuQuota::{ByLimit, Unlimited};
    use Isolation::{Container, Host, Pod as OfPod};
    let policy = managed(PodBubble::Find);
    let mixed = whole("p", "4", &[("own", Role::App, "2"), ("shares", Role::App, "")]);
    let alone = whole("q", "2", &[("own", Role::App, "2")]);
    let plain = pod("r", &[("own", Role::App, "1"), ("half", Role::App, "500m")]);
    let mut held = policy.initial();
    held = policy.allocate_pod(&held, &mixed, Affinity::Any).unwrap().after;
    held = policy.allocate_pod(&held, &alone, Affinity::Any).unwrap().after;
    held = policy.allocate(&held, &plain, &plain.containers[0], Affinity::Any).unwrap().after;
    for (pod, isolation, quotas, of_pod) in [
        (&mixed, &[Container, OfPod][..], &[Unlimited, ByLimit][..], ByLimit),
        (&alone, &[Container], &[Unlimited], Unlimited),
        (&plain, &[Container, Host], &[Unlimited, ByLimit], Unlimited),
    ] {
        let on = QuotaWithExclusiveCpus::Disabled;
        let each = |it| (policy.isolation(&held, pod, it), policy.quota(&held, pod, it, on));
        let (of_containers, written): (Vec<_>, Vec<_>) = pod.containers.iter().map(each).unzip();
        assert_eq!((of_containers.as_slice(), written.as_slice()), (isolation, quotas), "{}", pod.name);
        assert_eq!(policy.pod_quota(&held, pod, on), of_pod, "{}", pod.name);
        assert_eq!(policy.pod_quota(&held, pod, QuotaWithExclusiveCpus::Enforced), ByLimit);
    }
}
