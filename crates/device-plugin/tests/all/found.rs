//! Plugins whose sockets are found in a folder: which calls they get, and when a call is repeated.

use crate::support;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::support::plugin::{self, Script, device};
use crate::support::{Folder, Node};
use device_plugin::proto::deviceplugin::device_plugin_server::DevicePluginServer;
use device_plugin::proto::pluginregistration::registration_server::{Registration, RegistrationServer};
use device_plugin::proto::pluginregistration::{
    InfoRequest, PluginInfo, RegistrationStatus, RegistrationStatusResponse,
};
use tokio::runtime::Runtime;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::{Request, Response, Status};

const RESOURCE: &str = "vendor.io/nic";

/// What it says, and what it does with the news.
#[derive(Clone)]
struct Found {
    info: Result<PluginInfo, Status>,
    takes_news: bool,
    serves: bool,
}

/// A plugin in the folder.
struct Running {
    runtime: Option<Runtime>,
    socket: PathBuf,
    /// `GetInfo`, or the registration status that it received.
    calls: Arc<Mutex<Vec<String>>>,
}

struct Service(Found, Arc<Mutex<Vec<String>>>);

#[tonic::async_trait]
impl Registration for Service {
    async fn get_info(&self, _: Request<InfoRequest>) -> Result<Response<PluginInfo>, Status> {
        self.1.lock().unwrap().push("GetInfo".to_owned());
        self.0.info.clone().map(Response::new)
    }

    async fn notify_registration_status(
        &self,
        request: Request<RegistrationStatus>,
    ) -> Result<Response<RegistrationStatusResponse>, Status> {
        let RegistrationStatus { plugin_registered, error } = request.into_inner();
        self.1.lock().unwrap().push(if plugin_registered { "registered".to_owned() } else { error });
        if self.0.takes_news {
            Ok(Response::new(RegistrationStatusResponse {}))
        } else {
            Err(Status::unknown("no thanks"))
        }
    }
}

impl Running {
    fn start(socket: PathBuf, found: Found) -> Self {
        std::fs::create_dir_all(socket.parent().unwrap()).unwrap();
        let runtime = plugin::runtime();
        let calls = Arc::<Mutex<Vec<String>>>::default();
        let listener = {
            let _inside = runtime.enter();
            UnixListenerStream::new(tokio::net::UnixListener::bind(&socket).unwrap())
        };
        let serves = found.serves;
        let mut server = tonic::transport::Server::builder();
        let router = server.add_service(RegistrationServer::new(Service(found, Arc::clone(&calls))));
        let devices = vec![device("nic-0", &[0]), device("nic-1", &[1])];
        let plugin = plugin::service(Script::default(), devices);
        let router = router.add_optional_service(serves.then(|| DevicePluginServer::new(plugin)));
        runtime.spawn(router.serve_with_incoming(listener));
        Self { runtime: Some(runtime), socket, calls }
    }

    fn calls(&self) -> Vec<String> {
        self.calls.lock().unwrap().clone()
    }

    fn after(&self, count: usize) -> Vec<String> {
        let deadline = Instant::now() + support::PATIENCE;
        while self.calls().len() < count {
            assert!(Instant::now() < deadline, "no {count} calls: {:?}", self.calls());
            std::thread::sleep(Duration::from_millis(5));
        }
        self.calls()[..count].to_vec()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.runtime.take().unwrap().shutdown_background();
        let _ = std::fs::remove_file(&self.socket);
    }
}

fn well() -> PluginInfo {
    PluginInfo {
        r#type: "DevicePlugin".to_owned(),
        name: RESOURCE.to_owned(),
        endpoint: String::new(),
        supported_versions: vec!["v1beta1".to_owned()],
    }
}

fn found(info: PluginInfo) -> Found {
    Found { info: Ok(info), takes_news: true, serves: true }
}

fn registry(folder: &Folder) -> PathBuf {
    folder.folders().plugins_registry
}

fn has_listed(inventory: &device_manager::Inventory) -> bool {
    inventory.healthy(&RESOURCE.into()).count() == 2
}

#[test]
fn a_plugin_that_is_found_is_registered_and_forgotten_with_its_socket() {
    for name in ["nic.sock", "below/deeper/nic.sock"] {
        let folder = Folder::new();
        let mut node = Node::start(&folder);
        let running = Running::start(registry(&folder).join(name), found(well()));
        node.until("it is found", has_listed);
        assert_eq!(running.after(2), ["GetInfo", "registered"], "{name}");
        let gauge = |node: &Node, state: &str| {
            let socket = running.socket.display();
            let metric =
                format!("plugin_manager_total_plugins{{socket_path=\"{socket}\",state=\"{state}\"}} 1");
            support::exported(node).contains(&metric)
        };
        assert!(gauge(&node, "desired_state_of_world"));

        std::fs::remove_file(&running.socket).unwrap();
        assert_eq!(node.next(), format!("gone {RESOURCE}: SocketRemoved"), "{name}");
        assert!(!has_listed(&node.inventory));
        assert!(!gauge(&node, "desired_state_of_world") && !gauge(&node, "actual_state_of_world"));

        // Another one at the same path is another plugin.
        drop(running);
        let again = Running::start(registry(&folder).join(name), found(well()));
        node.until("it is found again", has_listed);
        assert_eq!(again.after(2), ["GetInfo", "registered"], "{name}");
    }
}

#[test]
fn a_socket_that_is_made_again_is_another_plugin() {
    let folder = Folder::new();
    let mut node = Node::start(&folder);
    let socket = registry(&folder).join("nic.sock");
    let _old = Running::start(socket.clone(), found(well()));
    node.until("it is found", has_listed);
    std::fs::remove_file(&socket).unwrap();
    let new = Running::start(socket, found(well()));
    assert_eq!(node.next(), format!("gone {RESOURCE}: SocketRemoved"));
    node.until("the new one is found", has_listed);
    assert_eq!(new.after(2), ["GetInfo", "registered"]);
}

#[test]
fn a_plugin_that_serves_elsewhere_says_where() {
    let folder = Folder::new();
    let mut node = Node::start(&folder);
    let elsewhere = folder.path().join("elsewhere.sock");
    let _plugin =
        plugin::Plugin::listen(&elsewhere, Script::default(), vec![device("a", &[]), device("b", &[])]);
    let info = PluginInfo { endpoint: elsewhere.to_str().unwrap().to_owned(), ..well() };
    let running = Running::start(registry(&folder).join("nic.sock"), Found { serves: false, ..found(info) });
    node.until("it is found", has_listed);
    assert_eq!(running.after(2), ["GetInfo", "registered"]);
}

#[test]
fn a_plugin_that_is_refused_is_told_why_and_tried_again() {
    let folder = Folder::new();
    let mut node = Node::start(&folder);
    let socket = |at: usize| registry(&folder).join(format!("{at}.sock"));
    let wrong_type = format!(
        "RegisterPlugin error -- no handler registered for plugin type: CSIPlugin at socket {}",
        socket(0).display()
    );
    let refused = "RegisterPlugin error -- plugin validation failed with err: ";
    let failed = "RegisterPlugin error -- plugin registration failed with err: ";
    let no_version = "manager version, v1beta1, is not among plugin supported versions";
    let versions = |versions: &[&str]| versions.iter().map(|version| (*version).to_owned()).collect();
    let rows = [
        (found(PluginInfo { r#type: "CSIPlugin".to_owned(), ..well() }), wrong_type),
        (
            found(PluginInfo { supported_versions: versions(&["v1alpha", "1.0"]), ..well() }),
            format!("{refused}{no_version} [v1alpha 1.0]"),
        ),
        (
            found(PluginInfo { supported_versions: versions(&[]), ..well() }),
            format!("{refused}{no_version} []"),
        ),
        (
            found(PluginInfo { name: "nodomain".to_owned(), ..well() }),
            format!(
                "{refused}invalid name of device plugin socket: the ResourceName \"nodomain\" is invalid"
            ),
        ),
        (
            found(PluginInfo { endpoint: "/nobody/serves/this.sock".to_owned(), ..well() }),
            format!("{failed}failed to dial device plugin: context deadline exceeded"),
        ),
    ];
    let (plugins, texts): (Vec<Running>, Vec<String>) = rows
        .into_iter()
        .enumerate()
        .map(|(at, (found, text))| (Running::start(socket(at), found), text))
        .unzip();
    for (plugin, text) in plugins.iter().zip(texts) {
        assert_eq!(plugin.after(4), ["GetInfo", &text, "GetInfo", &text]);
    }
    let told = node.settle();
    assert!(told.iter().all(|event| event.starts_with("not registered ")), "{told:?}");
    assert!(told.iter().any(|event| event.contains("no handler registered for plugin type")), "{told:?}");
}

#[test]
fn a_plugin_that_cannot_say_who_it_is_is_told_nothing() {
    let folder = Folder::new();
    let mut node = Node::start(&folder);
    let info = Err(Status::unknown("no info"));
    let running = Running::start(registry(&folder).join("nic.sock"), Found { info, ..found(well()) });
    assert_eq!(running.after(3), ["GetInfo"; 3]);
    let told = node.next();
    assert!(told.contains("failed to get plugin info using RPC GetInfo at socket"), "{told}");
    assert!(told.ends_with("nic.sock, err: rpc error: code = Unknown desc = no info"), "{told}");
}

#[test]
fn a_plugin_that_does_not_take_the_news_is_gone_and_tried_again() {
    let folder = Folder::new();
    let mut node = Node::start(&folder);
    let refusing = Found { takes_news: false, ..found(well()) };
    let running = Running::start(registry(&folder).join("nic.sock"), refusing);
    for _ in 0..2 {
        assert_eq!(node.next(), format!("registered {RESOURCE}"));
        while !node.next().contains("NotNotified") {}
        let told = node.next();
        assert!(told.starts_with("not registered \"vendor.io/nic\": "), "{told}");
        assert!(told.contains("failed to send registration status"), "{told}");
    }
    assert!(!has_listed(&node.inventory));
    assert_eq!(running.after(4), ["GetInfo", "registered", "GetInfo", "registered"]);
}

#[test]
fn hidden_sockets_and_other_files_are_left_alone() {
    let folder = Folder::new();
    let mut node = Node::start(&folder);
    let hidden = Running::start(registry(&folder).join(".nic.sock"), found(well()));
    std::fs::write(registry(&folder).join("a-file"), "").unwrap();
    // By the time that another one is registered, they have been passed over more than once.
    let seen = Running::start(registry(&folder).join("seen.sock"), found(well()));
    node.until("the other one is found", has_listed);
    seen.after(2);
    assert_eq!(hidden.calls(), [""; 0]);
    assert!(!support::exported(&node).contains("a-file"));
    assert!(Path::new(&hidden.socket).exists());
}
