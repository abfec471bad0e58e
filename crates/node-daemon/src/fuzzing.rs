//! Requests of any kind at a node whose owner is at work.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use axum::body::{Body, to_bytes};
use axum::http::{Request as HttpRequest, StatusCode};
use axum::{Extension, Router};
use bounded_http::Peer;
use crossbeam::channel::{self, Sender};
use device_manager::Moment;
use kubelet_checkpoint::store::Store;
use node_agent::{Agent, Owner, Request};
use node_http::{NodeControl, router, runtime};
use node_input::{LoadedMachine, LoadedNode, MachineSource, PINNED, RulesSource};
use node_view::clock::SystemClock;
use node_view::{MESSAGES, Message, Mode, NodeConditions, NodeView, ServedNode};
use tower::ServiceExt as _;

use super::owner::OwnerThread;
use super::plugins::Sockets;
use super::root;
use super::scribe::{Scribe, Writing};

/// Files that the program may have open.
const FILES: usize = 1024;

/// A node that is served, but for its sockets.
struct Served {
    runtime: tokio::runtime::Runtime,
    routes: Router,
    owner: Sender<Message>,
    view: NodeView,
}

impl Served {
    fn start() -> anyhow::Result<Self> {
        let machine = LoadedMachine::load(&MachineSource::named("xeon-cxl-4node"))?;
        let node = LoadedNode::without_devices(
            &machine,
            &RulesSource { config: Some(PINNED.to_owned()), ..RulesSource::default() },
        )?;
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let root = parent.join(format!("topolet-fuzz-{}", std::process::id()));
        root::make_folders(&root)?;
        let began = Instant::now();
        let now = move || Moment(began.elapsed());
        let owner = Owner::new(node.node.clone(), &node.empty_ledger(), []);
        let (agent, effects) = Agent::new(owner, Store::open(&root)?, &now);
        let served = ServedNode::new(node, &machine, Mode::Serve, Vec::new())?;
        let (view, writers) =
            NodeView::new(served, agent.snapshot(), Arc::new(NodeConditions::new(Arc::new(SystemClock))));
        let (sender, events) = channel::bounded(MESSAGES);
        let news = Arc::default();
        let writing = Writing::new(&view, writers.decisions);
        let thread = OwnerThread {
            agent,
            snapshots: writers.snapshots,
            metrics: view.metrics.clone(),
            events: view.events.clone(),
            news: Arc::clone(&news),
            inbox: Box::new(events),
            scribe: Box::new(Scribe::start(writing)?),
            plugins: Box::new(Sockets::open(&root, &view, FILES, sender.clone())?),
            enforcer: node_enforce::enforcer(None, &root, &root, super::enforced_node(&view))?,
            clock: Box::new(now),
            waiting: HashMap::new(),
            tickets: 0,
        };
        thread.start(effects)?;
        let control = NodeControl { owner: sender.clone(), news, cgroups: None };
        let routes =
            router(view.clone(), Some(control), NonZeroUsize::MIN).layer(Extension(Peer::Unix { user: 0 }));
        Ok(Self { runtime: runtime()?, routes, owner: sender, view })
    }

    /// One request: a line with its method and where it goes, then its body.
    fn request(&self, text: &[u8]) {
        let end = text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len());
        let (line, body) = text.split_at(end);
        let Some((method, uri)) = std::str::from_utf8(line).ok().and_then(|line| line.split_once(' ')) else {
            return;
        };
        let body = Body::from(body.get(1..).unwrap_or_default().to_vec());
        let Ok(request) = HttpRequest::builder().method(method).uri(uri).body(body) else { return };
        self.runtime.block_on(async {
            let Ok(reply) = self.routes.clone().oneshot(request).await;
            assert_ne!(reply.status(), StatusCode::INTERNAL_SERVER_ERROR, "{method} {uri}");
            to_bytes(reply.into_body(), usize::MAX).await.unwrap_or_else(|error| panic!("{error}"));
        });
    }

    /// Deletes all pods, after which nothing may be held.
    fn empty(&self) {
        let snapshot = self.view.snapshot();
        let deferred = snapshot.deferred.iter().map(|deferred| deferred.pod.uid.clone());
        let waiting = snapshot.waiting.iter().map(|pod| pod.uid.clone()).chain(deferred);
        let uids = snapshot.pods.keys().chain(snapshot.refused.keys()).cloned().chain(waiting);
        for uid in uids.collect::<Vec<_>>() {
            let (answer, told) = tokio::sync::oneshot::channel();
            self.owner
                .send(Message::Ask(Request::Delete(uid), answer))
                .unwrap_or_else(|error| panic!("{error}"));
            told.blocking_recv().unwrap_or_else(|error| panic!("{error}"));
        }
        let snapshot = self.view.snapshot();
        assert!(snapshot.pods.is_empty() && snapshot.refused.is_empty() && snapshot.waiting.is_empty());
        if let Some(held) = snapshot.ledger.cpus() {
            assert_eq!(held.iter().count(), 0, "CPUs are held by nobody");
        }
        assert_eq!(snapshot.behind, None);
    }
}

/// Requests, one after the other with a NUL between: none breaks a route or the owner, whatever is in it, and when all
/// pods are deleted nothing is held.
pub fn requests(bytes: &[u8]) {
    static SERVED: OnceLock<Served> = OnceLock::new();
    let served = SERVED.get_or_init(|| Served::start().unwrap_or_else(|error| panic!("{error:#}")));
    for text in bytes.split(|byte| *byte == 0).take(16) {
        served.request(text);
    }
    served.empty();
}
