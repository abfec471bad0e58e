#![doc = include_str!("../README.md")]
//!
//! # Threads
//!
//! | thread | does |
//! |---|---|
//! | main | HTTP on the socket and TCP, makes the socket again, and waits for signals |
//! | tokio-rt-worker, up to 32 | read bodies and make answers (`node-http`) |
//! | owner | takes events in, writes state, gives effects out (`owner`) |
//! | scribe | writes decisions up, with what would have fitted (`scribe`) |
//! | manifests | reads the watched folder (`watch`) |
//! | kept | makes removed folders again (`kept`) |
//! | observe | reads the files of a kubelet and explains what it refused, instead of owner, scribe, manifests, kept, cgroups and device-plugin (`node-observe`) |
//! | next-start | reads the machine anew: whether a kubelet starts on it again (`node-observe/next_start`) |
//! | drift | compares where containers run with a kubelet's files (`node-observe/drift`) |
//! | pods | hears which pods the kubelet has (`node-observe/pods`) |
//! | pod-events | reports refused pods to an API server (`node-observe/pod_events`) |
//! | nrt, state | publish what schedulers read of the node (`node-publish`) |
//! | node-object, bound, statuses | make the node a member of a cluster in the place of a kubelet (`node-member`) |
//! | log | writes the log (`log`) |
//! | cgroups | keeps running containers on their CPUs (`node-enforce`) |
//! | device-plugin, 2 | serve the sockets of plugins and of pod resources, and make them again (`plugins`) |
//!
//! # Where things are
//!
//! - What the daemon does: `crates/node-daemon/src/lib.rs` names its threads, `crates/bounded-http/src/places.rs`
//!   limits the connections and requests of each user. What happens to a node is decided in
//!   `crates/node-agent/src/owner.rs`, which plans a change, has its files written, and only then makes it.

mod owner;
mod scribe;
mod setup;
mod watch;
mod memory;
mod plugins;
mod open_files;
mod ui;
mod guard;
mod root;
mod kept;
mod start;
mod reload;
mod log;
mod systemd;
#[cfg(feature = "fuzzing")]
mod fuzzing;

use std::collections::HashMap;
use std::sync::Arc;
use std::task::Poll;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use bounded_http::{Listeners, OpenListener};
use crossbeam::channel::{self, Sender};
use device_manager::Moment;
use kubelet_checkpoint::store::Store;
use node_agent::Agent;
use node_http::{NodeControl, runtime};
use node_observe::{Disagreements, Kubelet, Observation};
use node_view::NodeCondition::QuarantineKnown;
use node_view::clock::{Clock, SystemClock};
use node_view::{MESSAGES, Message, Mode, News, NodeConditions, NodeView, ProblemEvents, ServedNode};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;

use self::open_files::OpenFiles;
use self::owner::OwnerThread;
use self::plugins::Sockets;
use self::scribe::{Scribe, Writing};

#[cfg(feature = "fuzzing")]
pub use self::fuzzing::requests;
pub use self::guard::guard;
pub use self::log::{Log, LogLevel, LoggingFormat};
pub use self::memory::{check_address_space, in_small_pages};
pub use self::reload::{Ended, reload_waits};
pub use self::root::Damaged;
pub use self::setup::Setup;
pub use self::ui::{Ui, UiAddress, ui};
pub use cluster_node::{self, NodeInCluster};
pub use kubelet_status::ContainerReports;
pub use node_enforce::CgroupRoot;
#[cfg(feature = "fuzzing")]
pub use node_http::clients;
pub use node_http::{Progress, Simulated, Simulator, forms, openapi};
pub use node_observe::{Membership, PodSources};
pub use node_publish::{Publications, TopologyPublication};

/// Where the socket is, below the root.
pub const SOCKET: &str = "topolet.sock";

/// Owns the node until SIGTERM or SIGINT stops the daemon, or SIGHUP has it read everything again.
///
/// # Errors
/// The node cannot be read or started, a socket or folder cannot be had, or the owner has failed.
pub fn serve(setup: &Setup<'_>) -> anyhow::Result<Ended> {
    in_small_pages();
    let began = Instant::now();
    let (node, machine) = setup.load(Mode::Serve)?;
    let cgroups = node_enforce::open(&setup.cgroups, &node)?;
    root::make(&setup.root, setup.damaged)?;
    let candidate = node_member::candidate(&setup.pods, &setup.root)?;
    let files = OpenFiles::raise()?;
    let runtime = runtime()?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let conditions = Arc::new(NodeConditions::new(clock.clone()));
    let places = Places::listen(setup, &runtime, conditions.clone(), files.clients)?;
    let store = Store::open(&setup.root)?;
    let shown = setup.root.display();
    let now = move || Moment(began.elapsed());
    let dates = start::Dates { now: now(), epoch: clock.epoch(now()) };
    let (owner, repairs) = start::owner(&setup.root, &store, &node, setup.damaged, setup.keep, dates)?;
    conditions.found(QuarantineKnown, kept::quarantine_unknown(&setup.root).as_deref());
    let (agent, effects) = Agent::new(owner, store, &now);
    let served = ServedNode::new(node, &machine, Mode::Serve, Vec::new())?;
    let (view, writers) = NodeView::new(served, agent.snapshot(), conditions);
    view.metrics.loses_lines(setup.log.lost());
    view.metrics.repaired(&repairs);

    let (sender, events) = channel::bounded(MESSAGES);
    let sockets = Sockets::open(&setup.root, &view, files.plugins, sender.clone())?;
    let news = Arc::<News>::default();
    let writing = Writing::new(&view, writers.decisions);
    let thread = OwnerThread {
        agent,
        snapshots: writers.snapshots,
        metrics: view.metrics.clone(),
        events: view.events.clone(),
        news: news.clone(),
        inbox: Box::new(events),
        scribe: Box::new(Scribe::start(writing)?),
        plugins: Box::new(sockets.clone()),
        enforcer: node_enforce::enforcer(cgroups.clone(), &setup.root, &setup.proc, enforced_node(&view))?,
        clock: Box::new(now),
        waiting: HashMap::new(),
        tickets: 0,
    }
    .start(effects)?;
    watch::start(setup.manifests.as_deref(), &view, sender.clone())?;
    kept::start(&setup.root, view.snapshots.clone(), view.conditions.clone(), sender.clone())?;
    setup.published.start(&view)?;
    if let Some(candidate) = candidate {
        candidate.start(view.clone(), news.clone(), sender.clone(), now)?;
    }
    let configuration = view.node().line.configuration.clone();
    tracing::info!(root = %shown, socket = %setup.socket.display(), configuration, "node is served");
    let control = NodeControl { owner: sender.clone(), news, cgroups };
    let routes = node_http::router(view.clone(), Some(control), setup.explained);
    let signals = Signals { setup, view: &view, reload: &Notify::new() };
    let result = runtime.block_on(signals.wait(places.serve(routes, &view), || thread.is_finished()));
    stop(&sender, thread)?;
    drop(sockets);
    result
}

/// Watches a node that a kubelet owns, until SIGTERM or SIGINT stops the daemon, or SIGHUP has it read everything
/// again.
///
/// # Errors
/// The node or its state cannot be read, or a socket cannot be had.
pub fn observe(setup: &Setup<'_>) -> anyhow::Result<Ended> {
    in_small_pages();
    let (node, machine) = setup.load(Mode::Observe)?;
    let files = OpenFiles::raise()?;
    let runtime = runtime()?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let conditions = Arc::new(NodeConditions::new(clock.clone()));
    let places = Places::listen(setup, &runtime, conditions.clone(), files.clients)?;
    let sources = setup.sources(Mode::Observe);
    let assumed = node_observe::assumed(&sources, &machine);
    let disagreements = setup.disagreements.as_deref();
    let disagreements = disagreements
        .map(|folder| Disagreements::new(folder, &setup.root, &sources, &machine))
        .transpose()?;
    let kubelet = Kubelet::new(&setup.root, &setup.pods);
    let first = node_observe::first(&kubelet, &node, &clock)?;
    for note in &assumed {
        tracing::warn!("{note}");
    }
    let served = ServedNode::new(node, &machine, Mode::Observe, assumed)?;
    let (view, writers) = NodeView::new(served, first.snapshot.clone(), conditions);
    view.metrics.loses_lines(setup.log.lost());
    let reload = Arc::new(Notify::new());
    let observation = Observation {
        kubelet,
        machine: &machine,
        sources,
        pods: &setup.pods,
        cgroups: &setup.cgroups,
        disagreements,
        guard: setup.guard.clone(),
        reload: reload.clone(),
    };
    node_observe::start(observation, view.clone(), writers, first)?;
    setup.published.start(&view)?;
    let (root, socket) = (setup.root.display(), setup.socket.display());
    tracing::info!(%root, %socket, configuration = view.node().line.configuration, "node is watched");
    let routes = node_http::router(view.clone(), None, setup.explained);
    let signals = Signals { setup, view: &view, reload: &reload };
    runtime.block_on(signals.wait(places.serve(routes, &view), || false))
}

/// What the thread that writes cgroups works with.
fn enforced_node(view: &NodeView) -> node_enforce::EnforcedNode {
    node_enforce::EnforcedNode {
        served: view.served.clone(),
        snapshots: view.snapshots.clone(),
        conditions: view.conditions.clone(),
        metrics: view.metrics.clone(),
        clock: view.clock.clone(),
    }
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
        let token = setup.token_file.as_deref().map(node_http::read_token).transpose()?;
        let tcp = setup.tcp.map(|address| (address, token));
        let listeners = node_http::listen(&setup.socket, setup.open, tcp, conditions)?;
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
    async fn serve(self, routes: axum::Router, view: &NodeView) {
        let served = bounded_http::serve(self.listeners, node_http::service(routes), self.connections);
        let Some(metrics) = self.metrics else { return served.await };
        let routes = node_http::service(node_http::for_monitoring(view.clone()));
        tokio::join!(served, bounded_http::serve_openly(metrics, routes, SCRAPERS));
    }
}

/// What happens when a signal comes.
struct Signals<'a> {
    setup: &'a Setup<'a>,
    view: &'a NodeView,
    /// Notified when everything has to be read again, as with SIGHUP.
    reload: &'a Notify,
}

impl Signals<'_> {
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
        let mut reload = std::pin::pin!(self.reload.notified());
        let mut serving = std::pin::pin!(serving);
        let mut problems = ProblemEvents::default();
        let ended = std::future::poll_fn(|context| {
            if terminate.poll_recv(context).is_ready() || interrupt.poll_recv(context).is_ready() {
                return Poll::Ready(Some(Ended::Stop));
            }
            while hangup.poll_recv(context).is_ready() {
                match reload::check(self.setup, self.view.mode()) {
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
                problems.look(self.view);
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
