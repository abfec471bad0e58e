//! What happens when a container starts, and how it is set up.

use device_manager::{
    Access, AllocateReply, DeviceNode, Devices, Endpoint, Holdings, Inventory, Life, Moment, Mount,
    PluginOptions, Question, Reply, Request, RpcCode, RpcError, Setup,
};
use pod_spec::Pod;
use topology_hint::Affinity;

use crate::fixture::{asking, devices, gpu, ids, machine, plugged, running, serve, settle};

const TOLD: PluginOptions = PluginOptions { preferred_allocation: false, pre_start: true };

fn start(
    inventory: &Inventory,
    held: &Holdings,
    pod: &Pod,
    answer: impl Fn(&Question) -> Reply,
) -> (Vec<Question>, Result<Holdings, String>) {
    let request = Request::new(pod, &pod.containers[0], Affinity::Any);
    let (questions, result) = settle(Devices::start, Devices::default(), inventory, held, &request, answer);
    (questions, result.map(|started| started.after).map_err(|failure| failure.error.to_string()))
}

#[test]
fn the_plugin_is_told_if_it_wants_to_be() {
    let pod = asking("p", 2);
    for (options, expected) in [
        (TOLD, vec![Question::PreStart { resource: gpu(), devices: ids("a b") }]),
        (PluginOptions::default(), vec![]),
    ] {
        let inventory = plugged("a:0 b:0 c:0", options);
        let (held, _) = serve(&inventory, &Holdings::default(), &pod, Affinity::Any);
        assert_eq!(start(&inventory, &held, &pod, Reply::willing), (expected, Ok(held)));
    }
}

#[test]
fn texts_are_the_kubelets() {
    let pod = asking("p", 1);
    let inventory = plugged("a:0", TOLD);
    let (held, _) = serve(&inventory, &Holdings::default(), &pod, Affinity::Any);
    let fails =
        |_: &Question| Reply::Failed(RpcError { code: RpcCode(13), message: "reset failed".to_owned() });
    let told = |inventory: &Inventory, held: &Holdings| start(inventory, held, &pod, fails).1.unwrap_err();
    assert_eq!(
        told(&inventory, &held),
        "device plugin PreStartContainer rpc failed with err: rpc error: code = Internal desc = reset failed"
    );
    assert_eq!(
        told(&inventory, &Holdings::default()),
        "no devices found allocated in local cache for pod p, container app, resource vendor.io/gpu"
    );
    let mut stopped = inventory.clone();
    stopped.disconnect(&gpu(), Moment::default());
    assert_eq!(
        told(&stopped, &held),
        "device plugin PreStartContainer rpc failed with err: endpoint vendor.io/gpu has been stopped"
    );
    // Forgotten after the grace period, while the container still holds it.
    assert_eq!(
        told(&machine(&[0]), &held),
        "endpoint not found in cache for a registered resource: vendor.io/gpu"
    );
}

/// As in the kubelet: what the plugin wants is not known until it is back.
#[test]
fn after_a_restart_the_plugin_is_not_told() {
    let pod = asking("p", 1);
    let before = plugged("a:0", TOLD);
    let (held, _) = serve(&before, &Holdings::default(), &pod, Affinity::Any);
    let mut inventory = machine(&[0]);
    inventory.remember(&gpu(), Moment::default());
    let unknown = Endpoint::Plugin { options: None, life: Life::Stopped(Moment::default()) };
    assert_eq!(inventory.endpoint(&gpu()), Some(unknown));
    assert_eq!(start(&inventory, &held, &pod, Reply::willing), (vec![], Ok(held)));
}

#[test]
fn a_container_without_its_devices_is_served_at_its_start() {
    let pod = asking("p", 1);
    let mut inventory = machine(&[0]);
    inventory.set_endpoint(&gpu(), running(PluginOptions::default()));
    inventory.list(&gpu(), devices("a:0"));
    let (questions, after) = start(&inventory, &Holdings::default(), &pod, Reply::willing);
    assert_eq!(questions, [Question::Allocate { resource: gpu(), devices: ids("a") }]);
    assert_eq!(after.unwrap().taken(&gpu()), Some(&ids("a")));
    inventory.list(&gpu(), devices("a:0!"));
    let (_, failed) = start(&inventory, &Holdings::default(), &pod, Reply::willing);
    let text = "no healthy devices present; cannot allocate unhealthy devices vendor.io/gpu";
    assert_eq!(failed, Err(text.to_owned()));
}

#[test]
fn what_the_plugin_answered_is_kept_as_it_came() {
    let pod = asking("p", 1);
    let inventory = plugged("a:0", PluginOptions::default());
    let bytes: &[u8] = &[10, 255, 0];
    let request = Request::new(&pod, &pod.containers[0], Affinity::Any);
    let answer = |_: &Question| Reply::Allocated(AllocateReply(bytes.into()));
    let held = Holdings::default();
    let (_, result) = settle(Devices::allocate, Devices::default(), &inventory, &held, &request, answer);
    let held = result.unwrap().after;
    let replies: Vec<_> = held.of_container(&pod.uid, &pod.containers[0].name).collect();
    assert_eq!(&*replies[0].1.reply.0, bytes);
}

#[test]
fn of_two_that_want_the_same_the_first_wins() {
    let strings = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let mount = |path: &str, host: &str, access| Mount {
        container_path: path.to_owned(),
        host_path: host.to_owned(),
        access,
    };
    let node = |path: &str, permissions: &str| DeviceNode {
        container_path: path.to_owned(),
        host_path: path.to_owned(),
        permissions: permissions.to_owned(),
    };
    let first = Setup {
        envs: strings(&[("A", "1"), ("B", "1")]),
        annotations: strings(&[("k", "1")]),
        mounts: vec![mount("/z", "/h1", Access::ReadOnly), mount("/lib", "/h1", Access::ReadOnly)],
        devices: vec![node("/dev/b", "r"), node("/dev/a", "r")],
        cdi_devices: vec!["v.io/x=1".to_owned(), "v.io/x=1".to_owned()],
    };
    let second = Setup {
        envs: strings(&[("B", "2"), ("C", "2")]),
        annotations: strings(&[("k", "2"), ("l", "2")]),
        mounts: vec![mount("/lib", "/h2", Access::ReadWrite), mount("/opt", "/h2", Access::ReadWrite)],
        devices: vec![node("/dev/a", "rw"), node("/dev/c", "rw")],
        cdi_devices: vec!["v.io/y=1".to_owned(), "v.io/x=1".to_owned()],
    };
    let merged = Setup {
        envs: strings(&[("A", "1"), ("B", "1"), ("C", "2")]),
        annotations: strings(&[("k", "1"), ("l", "2")]),
        mounts: vec![
            mount("/z", "/h1", Access::ReadOnly),
            mount("/lib", "/h1", Access::ReadOnly),
            mount("/opt", "/h2", Access::ReadWrite),
        ],
        devices: vec![node("/dev/b", "r"), node("/dev/a", "r"), node("/dev/c", "rw")],
        cdi_devices: vec!["v.io/x=1".to_owned(), "v.io/y=1".to_owned()],
    };
    assert_eq!(Setup::merged([&first, &second]), merged);
    assert_eq!(Setup::merged([]), Setup::default());
}
