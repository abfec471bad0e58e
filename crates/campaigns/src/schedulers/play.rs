//! Pods come to an API server, run for a while and go; those that a node refuses come again.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fmt;
use std::pin::pin;
use std::time::Duration;

use anyhow::Context as _;
use futures_util::StreamExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::wait::{await_condition, conditions};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client, Config};
use local_cluster::Cluster;
use serde_json::json;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use super::pods::Coming;

/// How long a controller waits before it makes another pod in the place of a refused one.
const AGAIN: Duration = Duration::from_secs(1);
/// How long a scheduler may take to begin.
const PATIENCE: Duration = Duration::from_mins(1);
/// By which label a pod is known.
const LABEL: &str = "topolet.dev/comes-as";

/// What is to be played.
pub(super) struct Play<'a> {
    /// In the order in which they come.
    pub(super) pods: &'a [Coming],
    /// How long it may go on after the last has come.
    pub(super) settle: Duration,
}

/// The figures of a round.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    pub(super) pods: usize,
    /// Ran in the end.
    pub(super) placed: usize,
    /// Ran, and no node had refused it.
    pub(super) placed_at_once: usize,
    /// Refusals by nodes, by reason: of one pod maybe several.
    pub(super) refusals: BTreeMap<String, usize>,
    /// From the moment in which a pod came until it ran; sorted.
    pub(super) times: Vec<Duration>,
    /// The same by kind, with those that never ran.
    pub(super) kinds: BTreeMap<String, Waits>,
}

/// How long the pods of a kind have waited.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waits {
    pub(super) came: usize,
    pub(super) ran: usize,
    /// Of all of them together; of those that never ran until the end.
    pub(super) waited: Duration,
}

/// A round that has been played.
#[derive(Clone, Debug)]
pub(super) struct Played {
    pub(super) figures: Figures,
    /// How many processes were killed, where that was asked for.
    pub(super) killed: Option<Killed>,
    /// How often the scheduler got no answer from an extender, and went on without.
    pub(super) unanswered: usize,
}

/// How many processes were killed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Killed {
    pub(super) agents: usize,
    pub(super) extenders: usize,
}

impl Figures {
    pub(super) fn refused(&self) -> usize {
        self.refusals.values().sum()
    }

    /// The time within which `percent` of the pods that ran were running.
    pub(super) fn within(&self, percent: usize) -> Option<Duration> {
        let at = (self.times.len() * percent).div_ceil(100).checked_sub(1)?;
        self.times.get(at).copied()
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reasons: Vec<String> =
            self.refusals.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        write!(
            f,
            "{} of {} pods ran, {} at the first node; refusals: {} ({})",
            self.placed,
            self.pods,
            self.placed_at_once,
            self.refused(),
            reasons.join(", ")
        )
    }
}

/// How far a pod is.
#[derive(Clone, Default)]
struct Progress {
    /// How often it has come.
    tries: usize,
    /// The last of its objects has run or was refused; further events of it are ignored.
    is_settled: bool,
    /// From the moment in which it came until it ran.
    waited: Option<Duration>,
}

/// What is done next.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Action {
    /// The pod comes.
    Create(usize),
    /// The object is deleted.
    Delete(String),
}

struct Playing<'a> {
    pods: &'a [Coming],
    api: Api<Pod>,
    began: Instant,
    progress: Vec<Progress>,
    due: BinaryHeap<Reverse<(Instant, Action)>>,
    figures: Figures,
}

impl Play<'_> {
    /// Plays it in the namespace `default`.
    pub(super) fn run(&self, cluster: &Cluster) -> anyhow::Result<Figures> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let config = Kubeconfig::read_from(cluster.kubeconfig())?;
        runtime.block_on(async {
            let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await?;
            let api = Api::default_namespaced(Client::try_from(config)?);
            until_scheduled(&api).await?;
            self.play(api).await
        })
    }

    async fn play(&self, api: Api<Pod>) -> anyhow::Result<Figures> {
        let began = Instant::now();
        let last = self.pods.last().context("no pods come")?.at;
        let end = began + last + self.settle;
        let mut changes =
            pin!(watcher(api.clone(), watcher::Config::default()).default_backoff().touched_objects());
        let due = self.pods.iter().enumerate();
        let mut playing = Playing {
            pods: self.pods,
            api,
            began,
            progress: vec![Progress::default(); self.pods.len()],
            due: due.map(|(at, pod)| Reverse((began + pod.at, Action::Create(at)))).collect(),
            figures: Figures { pods: self.pods.len(), ..Figures::default() },
        };
        while Instant::now() < end && playing.figures.placed < self.pods.len() {
            let next = playing.due.peek().map_or(end, |Reverse((at, _))| *at).min(end);
            tokio::select! {
                () = sleep_until(next) => playing.act().await?,
                change = timeout_at(end, changes.next()) => match change {
                    Err(_) => break,
                    Ok(change) => {
                        let pod = change.context("the watch of pods has ended")?;
                        playing.changed(&pod.context("the watch of pods failed")?);
                    }
                },
            }
        }
        for (pod, progress) in playing.pods.iter().zip(&playing.progress) {
            let waits = playing.figures.kinds.entry(pod.kind.clone()).or_default();
            waits.came += 1;
            waits.ran += usize::from(progress.waited.is_some());
            waits.waited +=
                progress.waited.unwrap_or_else(|| Instant::now().saturating_duration_since(began + pod.at));
        }
        playing.figures.times.sort_unstable();
        Ok(playing.figures)
    }
}

/// Waits until the scheduler sends pods to nodes, which a new one does after a while.
async fn until_scheduled(api: &Api<Pod>) -> anyhow::Result<()> {
    const NAME: &str = "first";
    let container = json!({"name": "app", "image": "none"});
    let first = json!({"metadata": {"name": NAME}, "spec": {"containers": [container]}});
    api.create(&PostParams::default(), &serde_json::from_value(first)?)
        .await
        .context("no pod can be created")?;
    let runs = await_condition(api.clone(), NAME, conditions::is_pod_running());
    timeout(PATIENCE, runs).await.context("the scheduler sends no pod to a node")??;
    api.delete(NAME, &DeleteParams::default()).await?;
    Ok(())
}

impl Playing<'_> {
    /// Does what is due.
    async fn act(&mut self) -> anyhow::Result<()> {
        while self.due.peek().is_some_and(|Reverse((at, _))| *at <= Instant::now()) {
            let Some(Reverse((_, action))) = self.due.pop() else { break };
            match action {
                Action::Create(at) => self.create(at).await?,
                Action::Delete(name) => match self.api.delete(&name, &DeleteParams::default()).await {
                    Ok(_) => {}
                    Err(kube::Error::Api(status)) if status.is_not_found() => {}
                    Err(error) => return Err(error).with_context(|| format!("pod {name} is not deleted")),
                },
            }
        }
        Ok(())
    }

    async fn create(&mut self, at: usize) -> anyhow::Result<()> {
        let (Some(pod), Some(progress)) = (self.pods.get(at), self.progress.get_mut(at)) else {
            return Ok(());
        };
        progress.tries += 1;
        progress.is_settled = false;
        let name = format!("{}-{at}-{}", pod.kind, progress.tries);
        let object = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "labels": {LABEL: format!("{at}-{}", progress.tries)}},
            "spec": pod.spec,
        });
        let object: Pod = serde_json::from_value(object).context("the pod is no pod")?;
        let created = self.api.create(&PostParams::default(), &object).await;
        created.with_context(|| format!("pod {name} is not created"))?;
        Ok(())
    }

    /// What becomes of a pod after its object has changed.
    fn changed(&mut self, object: &Pod) {
        let label = object.metadata.labels.iter().flatten().find(|(name, _)| *name == LABEL);
        let Some((at, tries)) = label.and_then(|(_, value)| value.split_once('-')) else { return };
        let (Ok(at), Ok(tries)) = (at.parse::<usize>(), tries.parse::<usize>()) else { return };
        let (Some(pod), Some(progress)) = (self.pods.get(at), self.progress.get_mut(at)) else { return };
        let (Some(name), Some(status)) = (&object.metadata.name, &object.status) else { return };
        if progress.is_settled || progress.tries != tries || object.metadata.deletion_timestamp.is_some() {
            return;
        }
        let now = Instant::now();
        match status.phase.as_deref() {
            Some("Running") => {
                progress.is_settled = true;
                self.figures.placed += 1;
                self.figures.placed_at_once += usize::from(tries == 1);
                let waited = now.duration_since(self.began + pod.at);
                progress.waited = Some(waited);
                self.figures.times.push(waited);
                if let Some(stays) = pod.stays {
                    self.due.push(Reverse((now + stays, Action::Delete(name.clone()))));
                }
            }
            Some("Failed") => {
                progress.is_settled = true;
                let reason = status.reason.clone().unwrap_or_else(|| "no reason".to_owned());
                *self.figures.refusals.entry(reason).or_default() += 1;
                self.due.push(Reverse((now, Action::Delete(name.clone()))));
                self.due.push(Reverse((now + AGAIN, Action::Create(at))));
            }
            _ => {}
        }
    }
}
