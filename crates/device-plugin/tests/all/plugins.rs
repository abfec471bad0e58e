//! Plugins over the sockets: how they come, what they are asked, how they fail, and how they go.

use crate::support;
use std::sync::Arc;
use std::time::Duration;

use crate::support::plugin::{Plugin, Script, device, register, request};
use crate::support::{Folder, Node};
use device_manager::{
    DeviceIds, Endpoint, Life, PluginMessages, PluginTime, Question, ReplacedPlugins, Reply, RpcCode,
};
use device_plugin::proto::deviceplugin::{
    AllocateResponse, ContainerAllocateResponse, DevicePluginOptions, RegisterRequest,
};
use device_plugin::{Setup, Times, container_setup};
use pod_spec::ResourceName;
use tonic::Status;

const RESOURCE: &str = "vendor.io/gpu";

fn name() -> ResourceName {
    RESOURCE.into()
}

fn ids(ids: &[&str]) -> DeviceIds {
    ids.iter().map(|id| (*id).into()).collect()
}

fn allocate(of: &[&str]) -> Question {
    Question::Allocate { resource: name(), devices: ids(of) }
}

/// A plugin that has listed `gpu-0` on node 0 and `gpu-1` on node 1.
fn registered(folder: &Folder, node: &mut Node, socket: &str, script: Script) -> Plugin {
    let path = folder.folders().device_plugins.join(socket);
    let plugin = Plugin::listen(&path, script, vec![device("gpu-0", &[0]), device("gpu-1", &[1])]);
    let waiting = std::thread::spawn({
        let (kubelet, request) = (folder.kubelet_socket(), request(socket, RESOURCE));
        move || register(&kubelet, request)
    });
    let happened = [node.next(), node.next()];
    assert_eq!(happened, [format!("registered {RESOURCE}"), format!("listed {RESOURCE} 2")]);
    waiting.join().unwrap().unwrap();
    plugin
}

fn is_stopped(node: &Node) -> bool {
    matches!(node.inventory.endpoint(&name()), Some(Endpoint::Plugin { life: Life::Stopped(_), .. }))
}

#[test]
fn a_plugin_comes_lists_is_asked_and_goes() {
    let folder = Folder::new();
    let mut node = Node::start(&folder);
    let options = DevicePluginOptions { pre_start_required: true, get_preferred_allocation_available: true };
    let script = Script {
        options,
        preferred: Box::new(|asked| Box::pin(async move { Ok(asked.must_include_device_i_ds) })),
        ..Script::default()
    };
    let plugin = registered(&folder, &mut node, "gpu.sock", script);
    let Some(Endpoint::Plugin { options: Some(told), life: Life::Running }) =
        node.inventory.endpoint(&name())
    else {
        panic!("it has registered")
    };
    assert!(told.pre_start && told.preferred_allocation);
    assert_eq!(node.healthy(RESOURCE), ["gpu-0", "gpu-1"]);

    let preferred = Question::Preferred {
        resource: name(),
        available: ids(&["gpu-0", "gpu-1"]),
        must_include: ids(&["gpu-1"]),
        size: 1,
    };
    assert_eq!(node.server.ask(&preferred), Reply::Preferred(ids(&["gpu-1"])));
    let Reply::Allocated(reply) = node.server.ask(&allocate(&["gpu-1"])) else { panic!("it is given out") };
    assert_eq!(container_setup(&reply).unwrap().envs["IDS"], "gpu-1");
    let start = Question::PreStart { resource: name(), devices: ids(&["gpu-1"]) };
    assert_eq!(node.server.ask(&start), Reply::Started);
    let calls = ["options", "preferred gpu-0,gpu-1", "allocate gpu-1", "pre-start gpu-1"];
    assert_eq!(plugin.calls(), calls);

    let mut ill = device("gpu-0", &[0]);
    ill.health = "Unhealthy".to_owned();
    plugin.list(vec![ill, device("gpu-1", &[1])]);
    node.until("gpu-0 is ill", |inventory| inventory.healthy(&name()).count() == 1);
    assert_eq!(node.healthy(RESOURCE), ["gpu-1"]);

    drop(plugin);
    let happened = node.next();
    assert!(happened.starts_with("gone vendor.io/gpu: Stream"), "{happened}");
    assert!(is_stopped(&node));
    assert_eq!(node.healthy(RESOURCE), [""; 0]);
    let Reply::Failed(error) = node.server.ask(&allocate(&["gpu-1"])) else { panic!("nobody is there") };
    assert_eq!(error.to_string(), "rpc error: code = Canceled desc = grpc: the client connection is closing");

    // It is not connected to again; it comes back by itself.
    let _again = registered(&folder, &mut node, "gpu.sock", Script::default());
    assert_eq!(node.healthy(RESOURCE), ["gpu-0", "gpu-1"]);
}

#[test]
fn when_an_older_stream_ends_the_kubelet_closes_the_newer_plugin() {
    let folder = Folder::new();
    let replaced = ReplacedPlugins::KeepOpen;
    let mut node = Node::with(&Setup { replaced, ..support::setup(&folder) }).unwrap();
    let old = registered(&folder, &mut node, "old.sock", Script::default());
    let new = registered(&folder, &mut node, "new.sock", Script::default());
    // Its lists count as long as it lasts.
    old.list(vec![device("gpu-7", &[])]);
    node.until("the older one is heard", |inventory| inventory.healthy(&name()).count() == 1);
    drop(old);
    assert!(node.next().starts_with("gone"));
    assert!(is_stopped(&node));
    new.list(vec![device("gpu-8", &[])]);
    assert!(matches!(node.server.ask(&allocate(&["gpu-8"])), Reply::Failed(_)));
    assert!(node.settle().is_empty(), "nobody listens to the newer one");
}

#[test]
fn a_plugin_that_is_replaced_may_go_when_its_successor_has_listed() {
    let folder = Folder::new();
    let mut node = Node::start(&folder);
    let old = registered(&folder, &mut node, "old.sock", Script::default());
    let new = registered(&folder, &mut node, "new.sock", Script::default());
    old.list(vec![device("gpu-7", &[])]);
    drop(old);
    new.list(vec![device("gpu-8", &[])]);
    let happened = node.until("the newer one is heard", |inventory| {
        inventory.healthy(&name()).any(|id| id.as_str() == "gpu-8")
    });
    assert_eq!(happened, [format!("listed {RESOURCE} 1")], "nobody listens to the older one");
    assert!(!is_stopped(&node));
    assert!(matches!(node.server.ask(&allocate(&["gpu-8"])), Reply::Allocated(_)));
}

#[test]
fn nobody_notices_the_end_of_a_plugin_whose_successor_failed() {
    let folder = Folder::new();
    let mut node = Node::start(&folder);
    let old = registered(&folder, &mut node, "old.sock", Script::default());
    register(&folder.kubelet_socket(), request("nobody.sock", RESOURCE)).unwrap_err();
    assert!(matches!(node.server.ask(&allocate(&["gpu-0"])), Reply::Allocated(_)), "it works on");
    drop(old);
    assert!(node.next().starts_with("not registered"));
    assert_eq!(node.next(), format!("ended unnoticed {RESOURCE}"));
    assert_eq!(node.healthy(RESOURCE), ["gpu-0", "gpu-1"]);
    let Reply::Failed(error) = node.server.ask(&allocate(&["gpu-0"])) else { panic!("nobody is there") };
    assert_eq!(error.code, RpcCode(14));
}

#[test]
fn a_refused_registration_gets_the_kubelets_text() {
    let folder = Folder::new();
    let mut node = Node::start(&folder);
    let _well = registered(&folder, &mut node, "gpu.sock", Script::default());
    let path = folder.folders().device_plugins.join("odd.sock");
    let _odd = Plugin::listen(&path, Script::default(), Vec::new());
    let outside = std::iter::repeat_n("../", 20).collect::<String>() + "tmp/nobody-serves-this.sock";
    let dial = "failed to dial device plugin: context deadline exceeded";
    let rows = [
        (
            "v1alpha1",
            "odd.sock",
            RESOURCE,
            "requested API version \"v1alpha1\" is not supported by kubelet. Supported version is [\"v1beta1\"]",
        ),
        (
            "",
            "odd.sock",
            RESOURCE,
            "requested API version \"\" is not supported by kubelet. Supported version is [\"v1beta1\"]",
        ),
        ("v1beta1", "odd.sock", "no-domain", "the ResourceName \"no-domain\" is invalid"),
        (
            "v1beta1",
            "odd.sock",
            "x.kubernetes.io/\"q\"",
            "the ResourceName \"x.kubernetes.io/\\\"q\\\"\" is invalid",
        ),
        ("v1beta1", "nobody.sock", "other.io/x", dial),
        ("v1beta1", &outside, "other.io/x", dial),
        ("v1beta1", "", "other.io/x", dial),
    ];
    for (version, endpoint, resource, text) in &rows {
        let request = RegisterRequest { version: (*version).to_owned(), ..request(endpoint, resource) };
        let refused = register(&folder.kubelet_socket(), request).unwrap_err();
        assert_eq!(refused, (2, (*text).to_owned()), "{version} {endpoint} {resource}");
    }
    let told = node.settle();
    let expected: Vec<String> =
        rows.iter().map(|(_, _, resource, text)| format!("not registered {resource:?}: {text}")).collect();
    assert_eq!(told, expected);
    assert_eq!(node.healthy(RESOURCE), ["gpu-0", "gpu-1"], "others are undisturbed");
}

#[test]
fn a_socket_that_does_not_answer_is_not_reached() {
    let folder = Folder::new();
    let mut node = Node::start(&folder);
    let plugins = folder.folders().device_plugins;
    let _silent = std::os::unix::net::UnixListener::bind(plugins.join("silent.sock")).unwrap();
    let garbage = std::os::unix::net::UnixListener::bind(plugins.join("garbage.sock")).unwrap();
    let speaking = std::thread::spawn(move || {
        use std::io::Write as _;
        let (mut stream, _) = garbage.accept().unwrap();
        let _ = stream.write_all(&[0xff; 64]);
        stream
    });
    for (socket, text) in [
        ("silent.sock", "failed to dial device plugin: context deadline exceeded"),
        (
            "garbage.sock",
            "failed to get device plugin options: rpc error: code = Unavailable desc = error reading from server: EOF",
        ),
    ] {
        let refused = register(&folder.kubelet_socket(), request(socket, RESOURCE)).unwrap_err();
        assert_eq!(refused, (2, text.to_owned()), "{socket}");
        assert_eq!(node.next(), format!("not registered {RESOURCE:?}: {text}"));
    }
    drop(speaking.join());
    let _well = registered(&folder, &mut node, "gpu.sock", Script::default());
}

#[test]
fn a_plugin_that_listens_only_after_it_has_registered_is_waited_for() {
    let folder = Folder::new();
    let times = Times { dial: support::PATIENCE, ..support::short() };
    let mut node = Node::with(&Setup { times, ..support::setup(&folder) }).unwrap();
    let kubelet = folder.kubelet_socket();
    let waiting = std::thread::spawn(move || register(&kubelet, request("late.sock", RESOURCE)));
    // The call is counted before anything is dialled.
    while !support::exported(&node)
        .contains("kubelet_device_plugin_registration_total{resource_name=\"vendor.io/gpu\"} 1")
    {
        std::thread::yield_now();
    }
    let path = folder.folders().device_plugins.join("late.sock");
    let _late = Plugin::listen(&path, Script::default(), vec![device("gpu-0", &[])]);
    node.until("it has listed", |inventory| inventory.is_registered(&name()));
    waiting.join().unwrap().unwrap();
}

#[test]
fn what_a_plugin_answers_wrongly_is_told_as_it_is() {
    let folder = Folder::new();
    let mut node = Node::start(&folder);
    let script = Script {
        preferred: Box::new(|_| {
            let odd = ["gpu-9", "gpu-0", "gpu-0"].map(str::to_owned);
            Box::pin(async { Ok(odd.into()) })
        }),
        allocate: Box::new(|ids| {
            Box::pin(async move {
                match ids.first().map(String::as_str) {
                    Some("gpu-0") => Ok(AllocateResponse::default()),
                    _ => Err(Status::failed_precondition("out of \"luck\" – ünlucky")),
                }
            })
        }),
        pre_start: Box::new(|_| Box::pin(async { Err(Status::internal("no")) })),
        ..Script::default()
    };
    let _plugin = registered(&folder, &mut node, "gpu.sock", script);
    let preferred = Question::Preferred {
        resource: name(),
        available: ids(&["gpu-0", "gpu-1"]),
        must_include: ids(&[]),
        size: 2,
    };
    // Devices not asked for, too few, and some twice: which of them count is decided elsewhere.
    assert_eq!(node.server.ask(&preferred), Reply::Preferred(ids(&["gpu-0", "gpu-9"])));
    assert_eq!(node.server.ask(&allocate(&["gpu-0"])), Reply::NothingAllocated);
    let Reply::Failed(error) = node.server.ask(&allocate(&["gpu-1"])) else { panic!("it fails") };
    assert_eq!(error.to_string(), "rpc error: code = FailedPrecondition desc = out of \"luck\" – ünlucky");
    let start = Question::PreStart { resource: name(), devices: ids(&["gpu-1"]) };
    let Reply::Failed(error) = node.server.ask(&start) else { panic!("it fails") };
    assert_eq!(error.to_string(), "rpc error: code = Internal desc = no");
    assert_eq!(node.healthy(RESOURCE), ["gpu-0", "gpu-1"], "a failed call is no reason to go");
}

#[test]
fn a_plugin_that_hangs_is_given_up_and_everything_else_goes_on() {
    let folder = Folder::new();
    let times = Times {
        plugin: PluginTime::Within(Duration::from_millis(100)),
        pre_start: Duration::from_millis(100),
        ..support::short()
    };
    let mut node = Node::with(&Setup { times, ..support::setup(&folder) }).unwrap();
    // Held by each call while it runs: what is left of it at the end are calls that leak.
    let running = Arc::new(());
    let held = Arc::clone(&running);
    let script = Script {
        allocate: Box::new(move |ids| {
            let held = Arc::clone(&held);
            Box::pin(async move {
                if ids == ["gpu-0"] {
                    std::future::pending::<()>().await;
                }
                drop(held);
                Ok(AllocateResponse { container_responses: vec![ContainerAllocateResponse::default()] })
            })
        }),
        pre_start: Box::new(|_| Box::pin(std::future::pending())),
        ..Script::default()
    };
    let plugin = registered(&folder, &mut node, "gpu.sock", script);
    let own = Arc::strong_count(&running);
    let late = "rpc error: code = DeadlineExceeded desc = context deadline exceeded";
    let start = Question::PreStart { resource: name(), devices: ids(&["gpu-0"]) };
    for question in [allocate(&["gpu-0"]), allocate(&["gpu-0"]), start] {
        let Reply::Failed(error) = node.server.ask(&question) else { panic!("it hangs") };
        assert_eq!(error.to_string(), late);
    }
    assert!(matches!(node.server.ask(&allocate(&["gpu-1"])), Reply::Allocated(_)), "others are answered");
    // The plugin's call is cancelled once the caller has stopped waiting.
    while Arc::strong_count(&running) > own {
        std::thread::yield_now();
    }
    assert_eq!(plugin.calls().iter().filter(|call| *call == "allocate gpu-0").count(), 2);
    assert_eq!(node.healthy(RESOURCE), ["gpu-0", "gpu-1"]);
    let metrics = support::exported(&node);
    let observed = "kubelet_device_plugin_alloc_duration_seconds_count{resource_name=\"vendor.io/gpu\"} 3";
    assert!(metrics.contains(observed), "failed ones are observed too: {metrics}");
}

#[test]
fn a_plugin_that_dies_in_the_middle_of_a_call_fails_that_call() {
    let folder = Folder::new();
    let mut node = Node::start(&folder);
    let script = Script { allocate: Box::new(|_| Box::pin(std::future::pending())), ..Script::default() };
    let plugin = registered(&folder, &mut node, "gpu.sock", script);
    let (tell, told) = std::sync::mpsc::channel();
    node.server.ask_then(allocate(&["gpu-0"]), move |_, reply| drop(tell.send(reply)));
    while plugin.calls().len() < 2 {
        std::thread::yield_now();
    }
    drop(plugin);
    let Ok(Reply::Failed(error)) = told.recv_timeout(support::PATIENCE) else { panic!("it dies") };
    // Either its connection has ended, or that was noticed first and it was closed.
    assert!([RpcCode(14), RpcCode(1)].contains(&error.code), "{error}");
    assert!(node.next().starts_with("gone"));
}

#[test]
fn lists_larger_than_the_limit_end_the_stream() {
    let large =
        || (0..100_000).map(|at| device(&format!("device-with-a-long-name-{at:030}"), &[0])).collect();
    for (messages, is_taken) in [(PluginMessages::UpTo4MiB, false), (PluginMessages::UpTo16MiB, true)] {
        let folder = Folder::new();
        let mut node = Node::with(&Setup { messages, ..support::setup(&folder) }).unwrap();
        let plugin = registered(&folder, &mut node, "gpu.sock", Script::default());
        plugin.list(large());
        let happened = node.next();
        if is_taken {
            assert_eq!(happened, format!("listed {RESOURCE} 100000"));
        } else {
            let expected = "RpcError { code: RpcCode(8), message: \"grpc: received message larger than max (";
            assert!(happened.contains(expected) && happened.contains(" vs. 4194304)"), "{happened}");
            assert!(is_stopped(&node));
        }
    }
}

#[test]
fn many_plugins_at_once() {
    let folder = Folder::new();
    let mut node = Node::start(&folder);
    let plugins: Vec<Plugin> = (0..20)
        .map(|at| {
            let path = folder.folders().device_plugins.join(format!("{at}.sock"));
            Plugin::listen(&path, Script::default(), vec![device("d", &[0])])
        })
        .collect();
    let callers: Vec<_> = (0..20)
        .map(|at| {
            let kubelet = folder.kubelet_socket();
            let request = request(&format!("{at}.sock"), &format!("vendor.io/r{at}"));
            std::thread::spawn(move || register(&kubelet, request))
        })
        .collect();
    node.until("all have listed", |inventory| inventory.registered().count() == 20);
    for caller in callers {
        caller.join().unwrap().unwrap();
    }
    drop(plugins);
    node.until("all have gone", |inventory| {
        let gone = |name: &ResourceName| inventory.healthy(name).next().is_none();
        inventory.registered().all(gone)
    });
}

#[test]
fn a_server_that_stops_tells_that_its_plugins_are_gone() {
    let folder = Folder::new();
    let mut node = Node::start(&folder);
    let _plugin = registered(&folder, &mut node, "gpu.sock", Script::default());
    assert_eq!(node.stop(), [format!("gone {RESOURCE}: Stopping")]);
    assert!(!folder.kubelet_socket().exists());
}

#[test]
fn answers_have_the_kubelets_limit() {
    let folder = Folder::new();
    let mut node = Node::start(&folder);
    let script = Script {
        allocate: Box::new(|ids| {
            let size = if ids == ["gpu-0"] { 5 << 20 } else { 3 << 20 };
            let envs = [("LARGE".to_owned(), "x".repeat(size))].into();
            let one = ContainerAllocateResponse { envs, ..Default::default() };
            Box::pin(async { Ok(AllocateResponse { container_responses: vec![one] }) })
        }),
        ..Script::default()
    };
    let _plugin = registered(&folder, &mut node, "gpu.sock", script);
    let Reply::Failed(error) = node.server.ask(&allocate(&["gpu-0"])) else { panic!("it is too large") };
    let text = error.to_string();
    let expected = "rpc error: code = ResourceExhausted desc = grpc: received message larger than max (5242902 vs. 4194304)";
    assert_eq!(text, expected);
    assert!(matches!(node.server.ask(&allocate(&["gpu-1"])), Reply::Allocated(_)));
    assert_eq!(node.healthy(RESOURCE), ["gpu-0", "gpu-1"]);
}
