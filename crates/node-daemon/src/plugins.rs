//! Device plugins and the pod resources service, between their sockets and the owner.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use cpu_manager::Isolation;
use crossbeam::channel::Sender;
use device_manager::Question;
use device_plugin::{
    Amounts, ContainerEntry, Folders, Limits, MemoryEntry, PodEntry, PodResources, PodResourcesQuery,
    PodResourcesSnapshot, Server, ServerEvent, Setup, Socket,
};
use kubelet_release::PodResourcesTold;
use memory_manager::Block;
use node_agent::{Event, PluginEvent, Snapshot};
use node_input::LoadedNode;
use node_view::{Message, NodeConditions, NodeView, ServedNode, Snapshots};
use pod_spec::{Container, Pod, Role};
use topology_admission::Ledger;

use super::owner::Plugins;

/// The name of both sockets.
const SOCKET: &str = "kubelet.sock";

/// The sockets, open while a clone of this exists.
#[derive(Clone)]
pub(super) struct Sockets {
    server: Arc<Server>,
    owner: Sender<Message>,
}

impl Sockets {
    /// Opens them below the root, for so many connections. What comes in waits for the owner.
    pub(super) fn open(
        root: &Path,
        view: &NodeView,
        connections: usize,
        owner: Sender<Message>,
    ) -> anyhow::Result<Self> {
        let root = std::path::absolute(root).context("failed to find out which folder this is in")?;
        let limits = Limits::of(connections);
        let per_resource = view.node().node.kubelet_rules().plugins_per_resource;
        let setup = Setup { limits, per_resource, ..Setup::new(Folders::below(&root)) };
        let hearing = Hearing {
            owner: owner.clone(),
            conditions: view.conditions.clone(),
            registration: setup.folders.device_plugins.join(SOCKET),
            pod_resources: setup.folders.pod_resources.join(SOCKET),
        };
        let tell = move |said| tell(&hearing, said);
        let server = Server::start(
            &setup,
            Arc::new(Books { served: view.served.clone(), snapshots: view.snapshots.clone() }),
            tell,
        )
        .context("failed to open the sockets for device plugins")?;
        view.metrics.add(|registry| server.metrics().register(registry));
        Ok(Self { server: Arc::new(server), owner })
    }
}

/// What an event of the sockets may change.
struct Hearing {
    owner: Sender<Message>,
    conditions: Arc<NodeConditions>,
    /// The path of [`Socket::Registration`].
    registration: PathBuf,
    /// The path of [`Socket::PodResources`].
    pod_resources: PathBuf,
}

impl Hearing {
    fn path(&self, socket: Socket) -> &Path {
        match socket {
            Socket::Registration => &self.registration,
            Socket::PodResources => &self.pod_resources,
        }
    }
}

/// Hands an event on to the owner; a plugin continues when the owner has recorded its event.
fn tell(hearing: &Hearing, said: ServerEvent) {
    let message = match said {
        ServerEvent::Registered { resource, options, receipt } => {
            tracing::info!(%resource, "device plugin registered");
            let event = Event::Plugin(PluginEvent::Registered(resource, options));
            Message::EventThen(event, Box::new(move || drop(receipt)))
        }
        ServerEvent::NotRegistered { resource, socket, why, .. } => {
            let socket = socket.display();
            tracing::warn!(resource, %socket, "device plugin failed to register: {why}");
            return;
        }
        ServerEvent::Listed { resource, devices, receipt } => {
            tracing::info!(%resource, devices = devices.len(), "device plugin listed its devices");
            let event = Event::Plugin(PluginEvent::Listed(resource, devices));
            Message::EventThen(event, Box::new(move || drop(receipt)))
        }
        ServerEvent::ListRefused { resource, why, receipt } => {
            tracing::error!(
                %resource,
                "device plugin lists {why}; it counts as having no devices until it lists fewer"
            );
            let event = Event::Plugin(PluginEvent::ListRefused(resource, why));
            Message::EventThen(event, Box::new(move || drop(receipt)))
        }
        ServerEvent::Gone { resource, why } => {
            tracing::warn!(%resource, ?why, "device plugin is gone");
            Message::Event(Event::Plugin(PluginEvent::Gone(resource)))
        }
        ServerEvent::OneGone { resource, socket, why, options } => {
            let socket = socket.display();
            tracing::warn!(%resource, %socket, ?why, "one of the device plugins is gone; another one is asked");
            Message::Event(Event::Plugin(PluginEvent::Registered(resource, options)))
        }
        ServerEvent::EndedUnnoticed { resource } => {
            tracing::warn!(%resource, "a device plugin has ended after another failed to take its place");
            return;
        }
        ServerEvent::ServedAgain { socket } => {
            let path = hearing.path(socket);
            hearing.conditions.socket(path, None);
            tracing::warn!(socket = %path.display(), "the socket had been removed or replaced, and has been made again");
            return;
        }
        ServerEvent::NotServed { socket, error } => {
            let path = hearing.path(socket);
            hearing.conditions.socket(path, Some(&error));
            tracing::error!(socket = %path.display(), error, "the socket is not served any more");
            return;
        }
    };
    // It fails only once the owner has stopped.
    let _ = hearing.owner.send(message);
}

impl Plugins for Sockets {
    fn ask(&self, question: Question) {
        let owner = self.owner.clone();
        self.server.ask_then(question, move |question, reply| {
            // It fails only once the owner has stopped.
            let _ = owner.send(Message::Event(Event::Replied(question, reply)));
        });
    }
}

/// What pods hold, for monitoring and schedulers.
struct Books {
    served: Arc<ServedNode>,
    snapshots: Snapshots,
}

impl PodResources for Books {
    fn snapshot(&self, asked: PodResourcesQuery) -> Arc<PodResourcesSnapshot> {
        let (node, snapshot) = (&self.served.node, self.snapshots.latest());
        let pods = match asked {
            PodResourcesQuery::Allocatable => Vec::new(),
            PodResourcesQuery::List | PodResourcesQuery::Get => pods(node, &snapshot),
            PodResourcesQuery::ListV1Alpha1 => known(node, &snapshot),
        };
        let allocatable = match asked {
            PodResourcesQuery::Allocatable => allocatable(node, &snapshot.ledger),
            PodResourcesQuery::List | PodResourcesQuery::Get | PodResourcesQuery::ListV1Alpha1 => {
                Amounts::default()
            }
        };
        Arc::new(PodResourcesSnapshot { pods, allocatable })
    }
}

/// Active pods, with their sidecars first.
fn pods(node: &LoadedNode, snapshot: &Snapshot) -> Vec<PodEntry> {
    let roles = [Role::Sidecar, Role::App];
    snapshot.ledger.pods().map(|pod| entry(node, &snapshot.ledger, pod, &roles)).collect()
}

/// Every pod that is known, as `v1alpha1` lists them.
fn known(node: &LoadedNode, snapshot: &Snapshot) -> Vec<PodEntry> {
    let refused = snapshot.refused.values().map(|refused| refused.pod.as_ref());
    let waiting = snapshot.waiting.iter().map(AsRef::as_ref);
    let deferred = snapshot.deferred.iter().map(|deferred| deferred.pod.as_ref());
    let all = snapshot.ledger.pods().chain(refused).chain(waiting).chain(deferred);
    all.map(|pod| entry(node, &snapshot.ledger, pod, &[Role::App])).collect()
}

fn entry(node: &LoadedNode, ledger: &Ledger, pod: &Pod, roles: &[Role]) -> PodEntry {
    let of = |role: Role| pod.containers.iter().filter(move |container| container.role == role);
    let containers = roles.iter().copied().flat_map(of).map(|container| ContainerEntry {
        name: container.name.clone(),
        amounts: amounts(node, ledger, pod, container),
        // No node of ours prepares claims.
        claims: Vec::new(),
    });
    PodEntry {
        name: pod.name.clone(),
        namespace: pod.namespace.clone(),
        containers: containers.collect(),
        whole: whole(node, ledger, pod),
    }
}

/// What the pod has as a whole, where the release tells it: only such pods have it.
fn whole(node: &LoadedNode, ledger: &Ledger, pod: &Pod) -> Amounts {
    match node.node.kubelet_rules().pod_resources_told {
        PodResourcesTold::Containers => Amounts::default(),
        PodResourcesTold::PodsToo => Amounts {
            cpus: ledger.cpus().and_then(|held| held.whole_pod(&pod.uid)).cloned().unwrap_or_default(),
            memory: memory(node, ledger.memory().and_then(|held| held.whole_pod(&pod.uid))),
            devices: Vec::new(),
        },
    }
}

fn amounts(node: &LoadedNode, ledger: &Ledger, pod: &Pod, container: &Container) -> Amounts {
    let told = node.node.kubelet_rules().pod_resources_told;
    let is_told = |is_own: bool| told == PodResourcesTold::Containers || is_own;
    let cpus = ledger.cpus().filter(|held| {
        let isolation = node.node.cpus().map(|policy| policy.isolation(held, pod, container));
        is_told(isolation.is_none_or(|isolation| isolation == Isolation::Container))
    });
    let blocks = ledger
        .memory()
        .filter(|_| is_told(node.node.memory().is_none_or(|policy| policy.is_own(pod, container))));
    Amounts {
        cpus: cpus.and_then(|held| held.assigned(&pod.uid, &container.name)).cloned().unwrap_or_default(),
        memory: memory(node, blocks.and_then(|held| held.assigned(&pod.uid, &container.name))),
        devices: ledger.devices().entries(&pod.uid, &container.name).collect(),
    }
}

fn memory(node: &LoadedNode, blocks: Option<&[Block]>) -> Vec<MemoryEntry> {
    let entry = |block: &Block| MemoryEntry {
        kind: block.resource.clone(),
        size: block.size,
        nodes: node.node.nodes().ids_of(block.nodes.mask()).collect(),
    };
    blocks.unwrap_or_default().iter().map(entry).collect()
}

fn allocatable(node: &LoadedNode, ledger: &Ledger) -> Amounts {
    let memory = node.node.memory().into_iter().flat_map(memory_manager::Static::allocatable);
    let memory = memory.map(|(at, resource, size)| MemoryEntry {
        kind: resource.clone(),
        size,
        nodes: node.node.nodes().id(at).into_iter().collect(),
    });
    Amounts {
        cpus: node.node.cpus().map(cpu_manager::Static::allocatable).unwrap_or_default(),
        memory: memory.collect(),
        devices: ledger.inventory().allocatable().collect(),
    }
}
