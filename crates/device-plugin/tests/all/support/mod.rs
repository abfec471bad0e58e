//! What the tests share: a folder, a server in it, scripted plugins, frames.
#![allow(dead_code, unreachable_pub, reason = "each test uses its part")]

pub mod frames;
pub mod plugin;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use device_manager::{Inventory, Moment, PluginTime};
use device_plugin::{
    Folders, PodResources, PodResourcesQuery, PodResourcesSnapshot, Server, ServerEvent, Setup, StartError,
    Times,
};
use topology_model::{NodeId, Nodes};

/// How long a test waits for what must come. It is never waited for what must not.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A separate folder, removed at the end.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("dp-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn folders(&self) -> Folders {
        Folders::below(&self.0)
    }

    pub fn kubelet_socket(&self) -> PathBuf {
        self.folders().device_plugins.join("kubelet.sock")
    }

    pub fn pod_resources_socket(&self) -> PathBuf {
        self.folders().pod_resources.join("kubelet.sock")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Times that make a test of failures short.
pub fn short() -> Times {
    Times {
        dial: Duration::from_millis(200),
        plugin: PluginTime::Within(Duration::from_secs(20)),
        look: Duration::from_millis(20),
        retry: Duration::from_millis(10),
        ..Times::default()
    }
}

pub fn setup(folder: &Folder) -> Setup {
    Setup { times: short(), ..Setup::new(folder.folders()) }
}

/// Tells what it was given last.
#[derive(Default)]
pub struct LastSnapshot(pub Mutex<Arc<PodResourcesSnapshot>>);

impl PodResources for LastSnapshot {
    fn snapshot(&self, _: PodResourcesQuery) -> Arc<PodResourcesSnapshot> {
        Arc::clone(&self.0.lock().unwrap())
    }
}

/// A server and the inventory that records its events.
pub struct Node {
    pub server: Server,
    pub inventory: Inventory,
    pub told: Arc<LastSnapshot>,
    events: mpsc::Receiver<ServerEvent>,
    began: Instant,
}

impl Node {
    pub fn start(folder: &Folder) -> Self {
        Self::with(&setup(folder)).unwrap()
    }

    pub fn with(setup: &Setup) -> Result<Self, StartError> {
        let (tell, events) = mpsc::channel();
        let told = Arc::<LastSnapshot>::default();
        let server = Server::start(setup, told.clone(), move |event| drop(tell.send(event)))?;
        let nodes = Nodes::new([0, 1].map(NodeId)).unwrap();
        Ok(Self { server, inventory: Inventory::new(nodes), told, events, began: Instant::now() })
    }

    /// Records what happens until `is_so`. Returns what has happened, as text.
    pub fn until(&mut self, what: &str, is_so: impl Fn(&Inventory) -> bool) -> Vec<String> {
        let mut happened = Vec::new();
        let deadline = Instant::now() + PATIENCE;
        while !is_so(&self.inventory) {
            let left = deadline.saturating_duration_since(Instant::now());
            let event = self.events.recv_timeout(left);
            let event = event.unwrap_or_else(|_| panic!("not within {PATIENCE:?}: {what}; {happened:?}"));
            happened.push(self.record(event));
        }
        happened
    }

    /// Records one event.
    pub fn next(&mut self) -> String {
        let event = self.events.recv_timeout(PATIENCE).expect("something happens");
        self.record(event)
    }

    /// Records what has happened already.
    pub fn settle(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.events.try_recv().ok())
            .collect::<Vec<_>>()
            .into_iter()
            .map(|event| self.record(event))
            .collect()
    }

    /// Stops the server. Returns its events since the last read.
    pub fn stop(self) -> Vec<String> {
        let Self { server, mut inventory, events, .. } = self;
        server.stop();
        events.try_iter().map(|event| recorded(event, &mut inventory, Moment::default())).collect()
    }

    pub fn record(&mut self, event: ServerEvent) -> String {
        recorded(event, &mut self.inventory, Moment(self.began.elapsed()))
    }

    pub fn healthy(&self, resource: &str) -> Vec<String> {
        self.inventory.healthy(&resource.into()).map(ToString::to_string).collect()
    }
}

fn recorded(event: ServerEvent, inventory: &mut Inventory, now: Moment) -> String {
    let text = match &event {
        ServerEvent::Registered { resource, .. } => format!("registered {resource}"),
        ServerEvent::NotRegistered { resource, why, .. } => format!("not registered {resource:?}: {why}"),
        ServerEvent::Listed { resource, devices, .. } => format!("listed {resource} {}", devices.len()),
        ServerEvent::ListRefused { resource, why, .. } => format!("list refused {resource}: {why}"),
        ServerEvent::Gone { resource, why } => format!("gone {resource}: {why:?}"),
        ServerEvent::OneGone { resource, why, .. } => format!("one gone {resource}: {why:?}"),
        ServerEvent::EndedUnnoticed { resource } => format!("ended unnoticed {resource}"),
        ServerEvent::ServedAgain { socket } => format!("served again {socket:?}"),
        ServerEvent::NotServed { socket, error } => format!("not served {socket:?}: {error}"),
    };
    event.record(inventory, now);
    text
}

/// What is exported.
pub fn exported(node: &Node) -> String {
    let mut registry = prometheus_client::registry::Registry::default();
    node.server.metrics().register(&mut registry);
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
    text
}
