#![doc = include_str!("../README.md")]
//!
//! # Threads
//!
//! | thread | does |
//! |---|---|
//! | main | HTTP on the socket and TCP, makes the socket again, and waits for signals |
//! | tokio-rt-worker, up to 32 | read bodies and make answers (`api`) |
//! | owner | takes events in, writes state, gives effects out (`owner`) |
//! | scribe | writes decisions up, with what would have fitted (`scribe`) |
//! | manifests | reads the watched folder (`watch`) |
//! | kept | makes removed folders again (`kept`) |
//! | observe | reads the files of a kubelet and explains what it refused, instead of owner, scribe, manifests, kept, cgroups and device-plugin (`observe`) |
//! | next-start | reads the machine anew: whether a kubelet starts on it again (`observe/next_start`) |
//! | drift | compares where containers run with a kubelet's files (`observe/drift`) |
//! | pods | hears which pods the kubelet has (`observe/pods`) |
//! | told | tells an API server of refused pods (`observe/told`) |
//! | nrt | publishes what schedulers read of the node (`nrt`) |
//! | node-object, bound, statuses | make the node a member of a cluster in the place of a kubelet (`member`) |
//! | log | writes the log (`log`) |
//! | cgroups | keeps running containers on their CPUs (`enforce`) |
//! | device-plugin, 2 | serve the sockets of plugins and of pod resources, and make them again (`plugins`) |

mod owner;
mod scribe;
mod shared;
mod conditions;
mod events;
mod watch;
mod news;
mod changes;
mod changed;
mod manifests;
mod own_file;
mod memory;
mod plugins;
mod open_files;
#[cfg(feature = "kubernetes")]
mod api_server;
mod observe;
#[cfg(feature = "kubernetes")]
mod nrt;
#[cfg(feature = "kubernetes")]
mod state;
#[cfg(feature = "kubernetes")]
mod member;
mod explain;
mod metrics;
mod api;
mod ui;
mod simulator;
mod listening;
mod inputs;
mod node_sources;
mod root;
mod kept;
mod start;
mod reload;
mod enforce;
mod log;
mod systemd;
mod clock;
#[cfg(fuzzing)]
mod fuzzing;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, Once};
use std::task::Poll;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use arc_swap::{ArcSwap, ArcSwapOption};
use bounded_http::{Listeners, Open, OpenListener};
use crossbeam::channel::{self, Sender};
use device_manager::Moment;
use kubelet_checkpoint::store::Store;
use node_agent::{Agent, KeptBackups};
use node_input::{IdentitySource, LoadedMachine, LoadedNode, MachineSource, RulesSource};
use terminal_text::{Glyphs, Page};
use tokio::signal::unix::{SignalKind, signal};

use self::changed::Changed;
use self::conditions::NodeCondition::QuarantineKnown;
use self::conditions::NodeConditions;
use self::manifests::Manifests;
use self::open_files::OpenFiles;
use self::owner::{Message, OwnerThread, WAITING};
use self::plugins::Sockets;
use self::scribe::Scribe;
use self::shared::{Hardware, Mode, Shared};

pub use self::api::{forms, openapi};
#[cfg(feature = "kubernetes")]
pub use self::api_server::{Membership, NodeInCluster};
pub use self::enforce::CgroupRoot;
pub use self::log::{Log, LogLevel, LoggingFormat};
pub use self::memory::{check_address_space, in_small_pages};
#[cfg(feature = "kubernetes")]
pub use self::nrt::TopologyPublication;
pub use self::observe::PodSources;
pub use self::reload::{Ended, reload_waits};
pub use self::root::Damaged;
pub use self::simulator::{Progress, Simulated, Simulator};
pub use self::ui::{Ui, UiAddress, ui};
#[cfg(fuzzing)]
pub use self::{api::clients, fuzzing::requests};
#[cfg(feature = "kubernetes")]
pub use cluster_node;
#[cfg(feature = "kubernetes")]
pub use kubelet_status::ContainerReports;

/// Where the socket is, below the root.
pub const SOCKET: &str = "topolet.sock";

/// Threads on which answers are made, at most. Places for work are fewer, so that none waits for a thread.
const THREADS: usize = 32;
/// How long such a thread waits for more work. The allocator returns what it has freed to the system when it ends.
const IDLE: Duration = Duration::from_secs(1);

/// What a daemon is told to do.
pub struct Setup<'a> {
    /// The folder with state and sockets, laid out as the kubelet's.
    pub root: PathBuf,
    /// A folder with manifests of pods that run as long as they are there.
    pub manifests: Option<PathBuf>,
    /// Where requests come in.
    pub socket: PathBuf,
    /// Who may connect to it.
    pub open: Open,
    /// The most pods in one request of a client that may not change anything.
    pub explained: NonZeroUsize,
    /// A loopback address where they come in too.
    pub tcp: Option<SocketAddr>,
    /// A file whose first line is the token that TCP needs to change something.
    pub token_file: Option<PathBuf>,
    /// An address at which anybody may read metrics, and whether the node is well.
    pub metrics: Option<SocketAddr>,
    /// The node's machine.
    pub machine: MachineSource,
    /// The rules by which it decides.
    pub rules: RulesSource,
    /// What the node is called.
    pub identity: IdentitySource,
    /// Whose lost lines are counted.
    pub log: &'a Log,
    /// What is done with state that is not as it should be.
    pub damaged: Damaged,
    /// Backups of each file that a repair leaves.
    pub keep: KeptBackups,
    /// Who tells of a kubelet's pods where the kubelet's pods API does not.
    pub pods: PodSources,
    /// Where schedulers are told what is free on each NUMA node; `None`: they are not.
    #[cfg(feature = "kubernetes")]
    pub topology: Option<TopologyPublication>,
    /// Where schedulers read the node itself, if anywhere.
    #[cfg(feature = "kubernetes")]
    pub state: Option<NodeInCluster>,
    /// With a kubelet: where node files of pods are written that are decided otherwise here; `None`: nowhere.
    pub disagreements: Option<PathBuf>,
    /// Where cgroups of containers are written, or with a kubelet read.
    pub cgroups: CgroupRoot,
    /// Where the kernel's `/proc` is, in which interrupts on CPUs of partitions are found and moved.
    pub proc: PathBuf,
}

/// Owns the node until it is told to stop, by SIGTERM or SIGINT, or to read everything again, by SIGHUP.
///
/// # Errors
/// The node cannot be read or started, a socket or folder cannot be had, or the owner has failed.
pub fn serve(setup: &Setup<'_>) -> anyhow::Result<Ended> {
    in_small_pages();
    let began = Instant::now();
    let (node, machine) = load(setup, Mode::Serve)?;
    let cgroups = enforce::open(&setup.cgroups, &node)?;
    root::make(&setup.root, setup.damaged)?;
    #[cfg(feature = "kubernetes")]
    let candidate = member::candidate(setup)?;
    let files = OpenFiles::raise()?;
    let runtime = runtime()?;
    let conditions = Arc::<NodeConditions>::default();
    let places = Places::listen(setup, &runtime, conditions.clone(), files.clients)?;
    let store = Store::open(&setup.root)?;
    let shown = setup.root.display();
    let now = move || Moment(began.elapsed());
    let (owner, repairs) = start::owner(&setup.root, &store, &node, setup.damaged, setup.keep, now())?;
    conditions.found(QuarantineKnown, kept::quarantine_unknown(&setup.root).as_deref());
    let (agent, effects) = Agent::new(owner, store, &now);
    let shared = shared(node, &machine, agent.snapshot(), Mode::Serve, Vec::new(), conditions)?;
    let shared = Arc::new(Shared { cgroups: cgroups.clone(), ..shared });
    shared.metrics.loses_lines(setup.log.lost());
    shared.metrics.repaired(&repairs);

    let (sender, events) = channel::bounded(WAITING);
    let sockets = Sockets::open(&setup.root, &shared, files.plugins, sender.clone())?;
    let thread = OwnerThread {
        agent,
        shared: shared.clone(),
        inbox: Box::new(events),
        scribe: Box::new(Scribe::start(shared.clone())?),
        plugins: Box::new(sockets.clone()),
        enforcer: enforce::enforcer(cgroups, &setup.root, &setup.proc, &shared)?,
        clock: Box::new(now),
        waiting: HashMap::new(),
        tickets: 0,
    }
    .start(effects)?;
    watch::start(setup.manifests.as_deref(), &shared, sender.clone())?;
    kept::start(&setup.root, shared.clone(), sender.clone())?;
    #[cfg(feature = "kubernetes")]
    nrt::start(setup.topology.as_ref(), &shared)?;
    #[cfg(feature = "kubernetes")]
    state::start(setup.state.as_ref(), &shared)?;
    #[cfg(feature = "kubernetes")]
    if let Some(candidate) = candidate {
        candidate.start(&shared, sender.clone(), now)?;
    }
    tracing::info!(root = %shown, socket = %setup.socket.display(), "node is served");
    let routes = api::router(shared.clone(), Some(sender.clone()), setup.explained);
    let told = Told { setup, shared: &shared };
    let result = runtime.block_on(told.wait(places.serve(routes, &shared), || thread.is_finished()));
    stop(&sender, thread)?;
    drop(sockets);
    result
}

/// Watches a node that a kubelet owns until it is told to stop, by SIGTERM or SIGINT, or to read everything again, by SIGHUP.
///
/// # Errors
/// The node or its state cannot be read, or a socket cannot be had.
pub fn observe(setup: &Setup<'_>) -> anyhow::Result<Ended> {
    in_small_pages();
    let (node, machine) = load(setup, Mode::Observe)?;
    let files = OpenFiles::raise()?;
    let runtime = runtime()?;
    let conditions = Arc::<NodeConditions>::default();
    let places = Places::listen(setup, &runtime, conditions.clone(), files.clients)?;
    let assumed = observe::assumed(setup, &machine);
    let disagreements = observe::disagreements(setup, &machine)?;
    let first = observe::first(&observe::Kubelet::of(setup), &node)?;
    for note in &assumed {
        tracing::warn!("{note}");
    }
    let shared =
        Arc::new(shared(node, &machine, first.snapshot.clone(), Mode::Observe, assumed, conditions)?);
    shared.metrics.loses_lines(setup.log.lost());
    observe::start(setup, shared.clone(), &machine, first, disagreements)?;
    #[cfg(feature = "kubernetes")]
    nrt::start(setup.topology.as_ref(), &shared)?;
    #[cfg(feature = "kubernetes")]
    state::start(setup.state.as_ref(), &shared)?;
    let (root, socket) = (setup.root.display(), setup.socket.display());
    tracing::info!(%root, %socket, configuration = shared.node.line.configuration, "node is watched");
    let routes = api::router(shared.clone(), None, setup.explained);
    let told = Told { setup, shared: &shared };
    runtime.block_on(told.wait(places.serve(routes, &shared), || false))
}

fn load(setup: &Setup<'_>, mode: Mode) -> anyhow::Result<(LoadedNode, LoadedMachine)> {
    inputs::check(setup)?;
    let sources = setup.sources(mode);
    let loaded = sources.load()?;
    for warning in &loaded.0.warnings {
        tracing::warn!("{warning}");
    }
    for note in sources.doubts(&loaded.1) {
        tracing::info!("{note}");
    }
    Ok(loaded)
}

fn shared(
    node: LoadedNode,
    machine: &LoadedMachine,
    snapshot: node_agent::Snapshot,
    mode: Mode,
    assumed: Vec<String>,
    conditions: Arc<NodeConditions>,
) -> anyhow::Result<Shared> {
    let view = machine.view();
    let hardware = machine.machine.as_ref().map(|machine| Hardware {
        machine: machine.clone(),
        summary: view.summary.line(Glyphs::Unicode),
        reserved: node.reserved(),
    });
    Ok(Shared {
        hardware,
        metrics: metrics::Metrics::new(&node, &snapshot, mode),
        node,
        machine: serde_json::to_value(&view).context("failed to write the machine down")?,
        drawing: node_output::topology(&view, "", Page::endless(Glyphs::Unicode)),
        snapshot: ArcSwap::from_pointee(snapshot),
        log: shared::Log::default(),
        events: events::Events::default(),
        problems: parking_lot::Mutex::default(),
        mode,
        cgroups: None,
        assumed,
        manifests: Manifests::default(),
        conditions,
        observed: ArcSwapOption::empty(),
        demands_noted: Once::new(),
        reload: tokio::sync::Notify::new(),
        changed: Changed::default(),
        state_changed: Changed::default(),
        news: news::News::default(),
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

/// Where requests come in.
struct Places {
    listeners: Listeners,
    metrics: Option<OpenListener>,
    /// Connections that the listeners may have open.
    connections: usize,
}

/// Connections for metrics: a few scrapers, and none of them keeps others waiting.
const SCRAPERS: usize = 16;

impl Places {
    /// Listens, for so many connections in all.
    fn listen(
        setup: &Setup<'_>,
        runtime: &tokio::runtime::Runtime,
        conditions: Arc<NodeConditions>,
        connections: usize,
    ) -> anyhow::Result<Self> {
        let _inside = runtime.enter();
        let token = setup.token_file.as_deref().map(listening::token).transpose()?;
        let tcp = setup.tcp.map(|address| (address, token));
        let listeners = listening::listen((&setup.socket, setup.open), tcp, conditions)?;
        if let Some(address) = listeners.tcp_address() {
            tracing::info!(%address, "listening on TCP");
        }
        let metrics = setup.metrics.map(OpenListener::open).transpose()?;
        if let Some(address) = metrics.as_ref().and_then(OpenListener::address) {
            tracing::info!(%address, "metrics can be read over TCP");
        }
        let connections = if metrics.is_some() { connections.saturating_sub(SCRAPERS) } else { connections };
        Ok(Self { listeners, metrics, connections })
    }

    /// Serves for ever.
    async fn serve(self, routes: axum::Router, shared: &Arc<Shared>) {
        let served = bounded_http::serve(self.listeners, api::service(routes), self.connections);
        let Some(metrics) = self.metrics else { return served.await };
        let routes = api::service(api::for_monitoring(shared.clone()));
        tokio::join!(served, bounded_http::serve_openly(metrics, routes, SCRAPERS));
    }
}

/// Who hears signals.
struct Told<'a> {
    setup: &'a Setup<'a>,
    shared: &'a Shared,
}

impl Told<'_> {
    /// Serves until a signal says to stop or to reload, or `is_over` says that there is nothing to be served any more.
    async fn wait(
        &self,
        serving: impl Future<Output = ()>,
        is_over: impl Fn() -> bool,
    ) -> anyhow::Result<Ended> {
        const LOOK: Duration = Duration::from_secs(1);
        let heard = |kind| signal(kind).context("failed to wait for signals");
        let mut terminate = heard(SignalKind::terminate())?;
        let mut interrupt = heard(SignalKind::interrupt())?;
        let mut hangup = heard(SignalKind::hangup())?;
        reload::reload_is_heard()?;
        systemd::notify(systemd::State::Ready);
        let mut look = tokio::time::interval(LOOK);
        let mut reload = std::pin::pin!(self.shared.reload.notified());
        let mut serving = std::pin::pin!(serving);
        let ended = std::future::poll_fn(|context| {
            if terminate.poll_recv(context).is_ready() || interrupt.poll_recv(context).is_ready() {
                return Poll::Ready(Some(Ended::Stop));
            }
            while hangup.poll_recv(context).is_ready() {
                match reload::check(self.setup, self.shared.mode) {
                    Ok(()) => return Poll::Ready(Some(Ended::Reload)),
                    Err(error) => {
                        let quoted = node_output::in_one_line(error.as_ref()).map(str::to_owned);
                        let why = quoted.unwrap_or_else(|| format!("{error:#}"));
                        tracing::error!("not reloaded, and nothing has changed: {why}");
                    }
                }
            }
            if reload.as_mut().poll(context).is_ready() {
                return Poll::Ready(Some(Ended::Reload));
            }
            while look.poll_tick(context).is_ready() {
                self.shared.look_for_problems();
                if is_over() {
                    return Poll::Ready(None);
                }
            }
            serving.as_mut().poll(context).map(|()| Some(Ended::Stop))
        })
        .await;
        match ended {
            Some(Ended::Reload) => {
                systemd::notify(systemd::State::Reloading);
                tracing::info!("reloading");
            }
            Some(Ended::Stop) => {
                systemd::notify(systemd::State::Stopping);
                tracing::info!("stopping");
            }
            None => systemd::notify(systemd::State::Stopping),
        }
        ended.context("the owner of the node has stopped by itself")
    }
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
