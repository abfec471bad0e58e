//! The daemon: one thread owns the node, others have the sockets, readers look at snapshots.
//!
//! | thread | does |
//! |---|---|
//! | main | HTTP on the socket and TCP, makes the socket again, and waits for signals |
//! | tokio-rt-worker, up to 32 | read bodies and make answers ([`api`]) |
//! | owner | takes events in, writes state, gives effects out ([`owner`]) |
//! | scribe | writes decisions up, with what would have fitted ([`scribe`]) |
//! | manifests | reads the watched folder ([`watch`]) |
//! | kept | makes removed folders again ([`kept`]) |
//! | observe | reads the files of a kubelet, instead of owner, scribe, manifests, kept, cgroups and device-plugin ([`mod@observe`]) |
//! | log | writes the log ([`log`]) |
//! | cgroups | keeps running containers on their CPUs ([`enforce`]) |
//! | device-plugin, 2 | serve the sockets of plugins and of pod resources, and make them again ([`plugins`]) |

mod owner;
mod scribe;
mod shared;
mod watch;
mod changes;
mod manifests;
mod plugins;
mod open_files;
mod observe;
mod metrics;
mod api;
mod listening;
mod inputs;
mod root;
mod kept;
mod start;
mod enforce;
mod log;
mod systemd;
mod clock;
#[cfg(fuzzing)]
mod fuzzing;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use arc_swap::{ArcSwap, ArcSwapOption};
use bounded_http::{Listeners, Open, Service};
use crossbeam::channel::{self, Sender};
use device_manager::Moment;
use kubelet_checkpoint::store::Store;
use node_agent::{Agent, KeptBackups};
use tokio::signal::unix::{SignalKind, signal};

use self::kept::Missing;
use self::manifests::Manifests;
use self::open_files::OpenFiles;
use self::owner::{Message, OwnerThread, WAITING};
use self::plugins::Sockets;
use self::scribe::Scribe;
use self::shared::{Mode, Notes, Shared};
use crate::render::Glyphs;
use node_input::{DeviceText, LoadedMachine, LoadedNode};
use node_input::{IdentitySource, MachineSource, RulesSource};

pub(crate) use self::api::{FILE, OUTCOME, PARTIAL, SOME_REFUSED};
pub(crate) use self::enforce::CgroupRoot;
pub(crate) use self::log::{Log, LoggingFormat};
pub(crate) use self::start::Damaged;
#[cfg(fuzzing)]
pub(crate) use self::{api::clients, fuzzing::requests};

/// Where the socket is, below the root.
pub(crate) const SOCKET: &str = "topolet.sock";

/// Threads on which answers are made, at most. Places for work are fewer, so that none waits for a thread.
const THREADS: usize = 32;
/// How long such a thread waits for more work. The allocator returns what it has freed to the system when it ends.
const IDLE: Duration = Duration::from_secs(1);

/// What a daemon is told to do.
pub(crate) struct Setup<'a> {
    pub(crate) root: &'a Path,
    pub(crate) manifests: Option<&'a Path>,
    pub(crate) socket: PathBuf,
    /// Who may connect to it.
    pub(crate) open: Open,
    /// The most pods in one request of a client that may not change anything.
    pub(crate) explained: NonZeroUsize,
    pub(crate) tcp: Option<SocketAddr>,
    pub(crate) token_file: Option<&'a Path>,
    pub(crate) machine: MachineSource,
    pub(crate) rules: RulesSource,
    pub(crate) identity: IdentitySource,
    pub(crate) log: &'a Log,
    pub(crate) damaged: Damaged,
    /// Backups of each file that a repair leaves.
    pub(crate) keep: KeptBackups,
    pub(crate) cgroups: CgroupRoot,
}

/// Owns the node until it is told to stop.
pub(crate) fn serve(setup: &Setup<'_>) -> anyhow::Result<()> {
    let began = Instant::now();
    let (node, machine) = load(setup)?;
    root::make(setup.root, setup.damaged)?;
    let files = OpenFiles::raise()?;
    let runtime = runtime()?;
    let missing = Arc::<Missing>::default();
    let listeners = listen(setup, &runtime, missing.clone())?;
    let store = Store::open(setup.root)?;
    let shown = setup.root.display();
    let now = move || Moment(began.elapsed());
    let (owner, repairs) = start::owner(setup.root, &store, &node, setup.damaged, setup.keep, now())?;
    let (agent, effects) = Agent::new(owner, store, &now);
    let shared = Arc::new(shared(node, &machine, agent.snapshot(), Mode::Serve, Notes::default(), missing)?);
    shared.metrics.loses_lines(setup.log.lost());
    shared.metrics.repaired(&repairs);

    let (sender, events) = channel::bounded(WAITING);
    let sockets = Sockets::open(setup.root, &shared, files.plugins, sender.clone())?;
    let thread = OwnerThread {
        agent,
        shared: shared.clone(),
        inbox: Box::new(events),
        scribe: Box::new(Scribe::start(shared.clone())?),
        plugins: Box::new(sockets.clone()),
        enforcer: enforce::enforcer(&setup.cgroups, &shared)?,
        clock: Box::new(now),
        waiting: HashMap::new(),
        tickets: 0,
    }
    .start(effects)?;
    watch::start(setup.manifests, &shared, sender.clone())?;
    kept::start(setup.root, shared.clone(), sender.clone())?;
    tracing::info!(root = %shown, socket = %setup.socket.display(), "node is served");
    let routes = api::service(api::router(shared, Some(sender.clone()), setup.explained));
    let result = runtime.block_on(until_told(listeners, routes, files.clients, || thread.is_finished()));
    stop(&sender, thread)?;
    drop(sockets);
    result
}

/// Watches a node that a kubelet owns until it is told to stop.
pub(crate) fn observe(setup: &Setup<'_>) -> anyhow::Result<()> {
    let (node, machine) = load(setup)?;
    let files = OpenFiles::raise()?;
    let runtime = runtime()?;
    let missing = Arc::<Missing>::default();
    let listeners = listen(setup, &runtime, missing.clone())?;
    let assumed = observe::assumed(setup, &machine);
    let first = observe::first(setup.root, &node)?;
    for note in &assumed {
        tracing::warn!("{note}");
    }
    let notes = Notes::new(assumed);
    let shared = Arc::new(shared(node, &machine, first.snapshot.clone(), Mode::Observe, notes, missing)?);
    shared.metrics.loses_lines(setup.log.lost());
    observe::start(setup.root, shared.clone(), first)?;
    tracing::info!(root = %setup.root.display(), socket = %setup.socket.display(), "node is watched");
    let routes = api::service(api::router(shared, None, setup.explained));
    runtime.block_on(until_told(listeners, routes, files.clients, || false))
}

fn load(setup: &Setup<'_>) -> anyhow::Result<(LoadedNode, LoadedMachine)> {
    inputs::check(setup)?;
    let machine = LoadedMachine::load(&setup.machine)?;
    let devices = setup.rules.devices.as_deref().map(DeviceText::read).transpose()?;
    let node = LoadedNode::on(&machine, &setup.rules, devices)?.with_identity(&setup.identity)?;
    for warning in &node.warnings {
        tracing::warn!("{warning}");
    }
    Ok((node, machine))
}

fn shared(
    node: LoadedNode,
    machine: &LoadedMachine,
    snapshot: node_agent::Snapshot,
    mode: Mode,
    notes: Notes,
    missing: Arc<Missing>,
) -> anyhow::Result<Shared> {
    let view = machine.view();
    Ok(Shared {
        metrics: metrics::Metrics::new(&node, &snapshot, mode),
        node,
        machine: serde_json::to_value(&view).context("failed to write the machine down")?,
        drawing: node_output::topology(&view, "", Glyphs::Unicode),
        snapshot: ArcSwap::from_pointee(snapshot),
        log: shared::Log::default(),
        mode,
        notes,
        manifests: Manifests::default(),
        missing,
        observed: ArcSwapOption::empty(),
        demands_noted: Once::new(),
    })
}

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(THREADS)
        .thread_keep_alive(IDLE)
        .build()
        .context("failed to start")
}

fn listen(
    setup: &Setup<'_>,
    runtime: &tokio::runtime::Runtime,
    missing: Arc<Missing>,
) -> anyhow::Result<Listeners> {
    let _inside = runtime.enter();
    let token = setup.token_file.map(listening::token).transpose()?;
    let tcp = setup.tcp.map(|address| (address, token));
    let listeners = listening::listen((&setup.socket, setup.open), tcp, missing)?;
    if let Some(address) = listeners.tcp_address() {
        tracing::info!(%address, "listening on TCP");
    }
    Ok(listeners)
}

/// Serves over at most so many `connections` until a signal to stop comes, or `is_over` says that there is nothing to be
/// served any more.
async fn until_told(
    listeners: Listeners,
    routes: Service,
    connections: usize,
    is_over: impl Fn() -> bool,
) -> anyhow::Result<()> {
    const LOOK: Duration = Duration::from_secs(1);
    let mut terminate = signal(SignalKind::terminate()).context("failed to wait for signals")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("failed to wait for signals")?;
    systemd::notify(systemd::State::Ready);
    let mut look = tokio::time::interval(LOOK);
    let mut serving = std::pin::pin!(bounded_http::serve(listeners, routes, connections));
    let ended = std::future::poll_fn(|context| {
        if terminate.poll_recv(context).is_ready() || interrupt.poll_recv(context).is_ready() {
            return std::task::Poll::Ready(Ended::Told);
        }
        while look.poll_tick(context).is_ready() {
            if is_over() {
                return std::task::Poll::Ready(Ended::OwnerGone);
            }
        }
        serving.as_mut().poll(context).map(|()| Ended::Told)
    })
    .await;
    systemd::notify(systemd::State::Stopping);
    match ended {
        Ended::Told => {
            tracing::info!("stopping");
            Ok(())
        }
        Ended::OwnerGone => bail!("the owner of the node has stopped by itself"),
    }
}

/// Why it is over.
enum Ended {
    /// A signal.
    Told,
    /// The owner's thread has panicked.
    OwnerGone,
}

/// What has been taken in is done; everything is on disk already.
fn stop(owner: &Sender<Message>, thread: JoinHandle<()>) -> anyhow::Result<()> {
    // It may have stopped by itself.
    let _ = owner.send(Message::Stop);
    match thread.join() {
        Ok(()) => Ok(()),
        Err(_) => bail!("the owner of the node failed"),
    }
}
