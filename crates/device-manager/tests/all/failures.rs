//! Why a container gets no devices, and what is left of the attempt.

use device_manager::{
    BlockedDevices, Devices, Endpoint, Holdings, Inventory, Life, Moment, PluginOptions, Question, Reply,
    Request, RpcCode, RpcError, Sources,
};
use kubelet_release::Rules;
use pod_spec::Role;
use topology_hint::Affinity;

use crate::fixture::{GPU, asking, devices, gpu, ids, machine, near, plugged, pod, running, serve, settle};

const PREFERS: PluginOptions = PluginOptions { preferred_allocation: true, pre_start: false };

/// What it answers.
type Plugin<'a> = &'a dyn Fn(&Question) -> Reply;

fn error(code: u32, message: &str) -> Reply {
    Reply::Failed(RpcError { code: RpcCode(code), message: message.to_owned() })
}

/// The text of the failure of one container, and what is taken afterwards.
fn failing(
    policy: Devices,
    inventory: &Inventory,
    asked: u32,
    answer: impl Fn(&Question) -> Reply,
) -> (String, Holdings) {
    let pod = asking("p", asked);
    let request = Request::new(&pod, &pod.containers[0], near(inventory, &[0]));
    let held = Holdings::default();
    let (_, result) = settle(Devices::allocate, policy, inventory, &held, &request, answer);
    let failure = result.unwrap_err();
    (failure.error.to_string(), failure.after)
}

#[test]
fn texts_are_the_kubelets() {
    let prefers = plugged("a:0 b:0 c:1", PREFERS);
    let mut stopped = prefers.clone();
    stopped.set_endpoint(
        &gpu(),
        Endpoint::Plugin { options: Some(PREFERS), life: Life::Stopped(Moment::default()) },
    );
    let refuses = |_: &Question| error(9, "busy");
    let empty = |question: &Question| match question {
        Question::Allocate { .. } => Reply::NothingAllocated,
        other => Reply::willing(other),
    };
    let answers: [(&Inventory, u32, Plugin<'_>, &str); 8] = [
        (
            &plugged("a:0", PREFERS),
            2,
            &Reply::willing,
            "requested number of devices unavailable for vendor.io/gpu. Requested: 2, Available: 1",
        ),
        (
            &plugged("a:0!", PREFERS),
            0,
            &Reply::willing,
            "no healthy devices present; cannot allocate unhealthy devices vendor.io/gpu",
        ),
        (
            &prefers,
            1,
            &refuses,
            "device plugin GetPreferredAllocation rpc failed with err: rpc error: code = FailedPrecondition desc = busy",
        ),
        (&prefers, 2, &refuses, "rpc error: code = FailedPrecondition desc = busy"),
        (&prefers, 2, &|_| error(77, "?"), "rpc error: code = Code(77) desc = ?"),
        (&prefers, 2, &empty, "no containers return in allocation response "),
        (&stopped, 2, &Reply::willing, "endpoint vendor.io/gpu has been stopped"),
        (
            &stopped,
            1,
            &Reply::willing,
            "device plugin GetPreferredAllocation rpc failed with err: endpoint vendor.io/gpu has been stopped",
        ),
    ];
    for (inventory, asked, answer, expected) in answers {
        assert_eq!(failing(Devices::default(), inventory, asked, answer).0, expected);
    }
}

#[test]
fn devices_stay_blocked_where_the_kubelet_forgets_to_free_them_and_only_there() {
    let inventory = plugged("a:0 b:0 c:1 d:1", PREFERS);
    let empty = |question: &Question| match question {
        Question::Allocate { .. } => Reply::NothingAllocated,
        other => Reply::willing(other),
    };
    let no_preference = |question: &Question| match question {
        Question::Preferred { .. } => error(2, "no"),
        other => Reply::willing(other),
    };
    let refuses = |question: &Question| match question {
        Question::Allocate { .. } => error(2, "no"),
        other => Reply::willing(other),
    };
    let kubelet = Devices::new(&Rules::default(), BlockedDevices::UntilPodGoes);
    let cases: [(Plugin<'_>, u32, Option<&str>); 3] =
        [(&empty, 2, Some("a b")), (&no_preference, 3, Some("a b")), (&refuses, 2, None)];
    for (answer, asked, blocked) in cases {
        let (_, after) = failing(kubelet, &inventory, asked, answer);
        assert_eq!(after.taken(&gpu()), blocked.map(ids).as_ref());
        let (_, after) = failing(Devices::default(), &inventory, asked, answer);
        assert_eq!(after.taken(&gpu()), None);
    }
    // They are free again when any pod that holds something goes.
    let (_, blocked) = failing(kubelet, &inventory, 2, empty);
    let other = asking("other", 1);
    let (held, got) = serve(&inventory, &blocked, &other, Affinity::Any);
    assert_eq!(got, ["c"]);
    assert_eq!(held.release(&other.uid).taken(&gpu()), None);
}

#[test]
fn what_a_container_holds_must_stay_as_it_is() {
    let mut inventory = machine(&[0]).with(GPU, devices("a:0 b:0"));
    let (held, _) = serve(&inventory, &Holdings::default(), &asking("p", 1), Affinity::Any);
    let (_, told) = serve(&inventory, &held, &asking("p", 2), Affinity::Any);
    assert_eq!(
        told,
        ["pod \"p\" container \"app\" changed request for resource \"vendor.io/gpu\" from 1 to 2"]
    );
    for gone in ["b:0", "a:0! b:0"] {
        inventory.list(&gpu(), devices(gone));
        let (_, told) = serve(&inventory, &held, &asking("p", 1), Affinity::Any);
        let text = "previously allocated devices are no longer healthy; cannot allocate unhealthy devices vendor.io/gpu";
        assert_eq!(told, [text]);
    }
}

/// Those before the one that failed, in order of name, are served and stay so.
#[test]
fn resources_before_the_one_that_fails_are_served() {
    let inventory = machine(&[0]).with(GPU, devices("a:0")).with("z.io/nic", devices("n:0"));
    let pod = pod("p", &[("app", Role::App, &format!("{GPU}=1 z.io/nic=2"))]);
    let (held, told) = serve(&inventory, &Holdings::default(), &pod, Affinity::Any);
    assert_eq!(told, ["requested number of devices unavailable for z.io/nic. Requested: 2, Available: 1"]);
    assert_eq!(held.taken(&gpu()), Some(&ids("a")));
    assert!(held.held(&pod.uid, &pod.containers[0].name, &gpu()).is_some());
}

/// A node starts: the plugin is not back, and not all pods are known yet.
#[test]
fn after_a_restart_running_containers_go_on_and_others_wait_for_the_plugin() {
    let mut inventory = machine(&[0]);
    inventory.remember(&gpu(), Moment::default());
    let pod = asking("p", 1);
    let stored = {
        let before = machine(&[0]).with(GPU, devices("a:0 b:0"));
        serve(&before, &Holdings::default(), &pod, Affinity::Any).0
    };
    let at = |inventory: &Inventory, sources| {
        let request = Request { sources, ..Request::new(&pod, &pod.containers[0], Affinity::Any) };
        let (questions, result) =
            settle(Devices::allocate, Devices::default(), inventory, &stored, &request, Reply::willing);
        assert_eq!(questions, []);
        result.map(|allocation| allocation.granted.len()).map_err(|failure| failure.error.to_string())
    };
    let waits = Err("no healthy devices present; cannot allocate unhealthy devices vendor.io/gpu".to_owned());
    assert_eq!(at(&inventory, Sources::PendingRunning), Ok(0));
    assert_eq!(at(&inventory, Sources::PendingNotRunning), waits);
    assert_eq!(at(&inventory, Sources::Ready), waits);
    inventory.set_endpoint(&gpu(), running(PREFERS));
    inventory.list(&gpu(), devices("a:0 b:0"));
    assert_eq!(at(&inventory, Sources::Ready), Ok(0));
}

#[test]
fn a_resource_that_was_forgotten_is_refused_while_somebody_holds_it_and_then_ignored() {
    let mut inventory = plugged("a:0 b:0", PluginOptions::default());
    let holder = asking("holder", 1);
    let (held, _) = serve(&inventory, &Holdings::default(), &holder, Affinity::Any);
    inventory.disconnect(&gpu(), Moment::default());
    let later = Moment(device_manager::GRACE_PERIOD + core::time::Duration::from_millis(1));
    assert_eq!(inventory.capacity(later).forgotten, [gpu()]);
    let (_, told) = serve(&inventory, &held, &asking("p", 1), Affinity::Any);
    assert_eq!(told, ["cannot allocate unregistered device vendor.io/gpu"]);
    let (_, told) = serve(&inventory, &held.release(&holder.uid), &asking("p", 1), Affinity::Any);
    assert_eq!(told, [""]);
}
