//! Where the devices of pods' claims lie, beside the CPUs and memory that the kubelet has given their containers.
//!
//! # Which source says what
//!
//! | question | answered by |
//! |---|---|
//! | which claims a container uses | the pod's manifest; without it the kubelet's pod resources service |
//! | which devices a claim has | `dra_manager_state`; else the claim at the API server; else the pod resources service |
//! | whether a device is only looked at, and which other pods use it | the claim at the API server; other pods of the node by the file |
//! | where a device is | the node's slices at the API server or of a node file, and the machine for their PCI addresses |
//!
//! The file has what the drivers have given the kubelet, so that containers run with it. Where the API server contradicts it, neither is
//! taken: the claim was released, allocated or made anew in between, and until both say the same the devices count as unknown. A source
//! that cannot be read leaves unknown what no other source says.
//!
//! The API server is asked only where pods of the node have claims: for the slices of this node and for those claims.

mod cluster;
mod sources;
mod held;
mod found;
mod reported;
#[cfg(test)]
mod open_users;
#[cfg(test)]
mod random_nodes;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use kubelet_checkpoint::claims as file;
use kubelet_checkpoint::claims::ClaimsFile;
use kubelet_checkpoint::store;
use node_agent::Snapshot;
use node_view::{Changes, ClaimsFound, NodeView, Pace};
use pod_spec::Pod;

use self::found::Found;
use self::held::{HeldClaims, Places};
use self::reported::Reported;
use self::sources::{ClaimName, Prepared, SourceAnswers};
use super::pinners::{CpuPolicy, Pinners};
use super::resources;
use super::source::PodSources;

/// The file is read so often where it cannot be watched; pods that change are looked at in this time.
const PACE: Pace = Pace {
    longest: Duration::from_secs(1),
    settled: Duration::from_millis(50),
    latest: Duration::from_millis(500),
};
/// The kubelet's service and the API server are asked so often though nothing has changed here.
const PERIOD: Duration = Duration::from_secs(30);
/// The least time between two questions.
const LEAST: Duration = Duration::from_secs(1);

/// Looks for the rest of the program.
pub(super) fn start(root: &Path, pods: &PodSources, view: NodeView) -> anyhow::Result<()> {
    let folders: Vec<PathBuf> = [root.to_path_buf()].into_iter().filter(|folder| folder.is_dir()).collect();
    let changes = Changes::of(&folders, PACE);
    view.snapshots.subscribe(changes.announcer());
    let mut watching = Watching {
        root: root.to_path_buf(),
        cluster: pods.cluster.as_ref().map(cluster::ClusterReader::of),
        node_name: node_name(pods),
        view,
        answers: SourceAnswers::default(),
        asked: None,
        looked_at: None,
        has_claims: false,
        reported: Reported::default(),
        pinners: None,
    };
    thread::Builder::new().name("claims".to_owned()).spawn(move || {
        loop {
            watching.round();
            changes.wait();
        }
    })?;
    Ok(())
}

/// What slices call the node.
fn node_name(pods: &PodSources) -> String {
    pods.cluster.as_ref().map_or(&pods.node_name, |cluster| &cluster.node).clone()
}

struct Watching {
    root: PathBuf,
    cluster: Option<cluster::ClusterReader>,
    node_name: String,
    view: NodeView,
    answers: SourceAnswers,
    /// What was asked about last, and when.
    asked: Option<(Asked, Instant)>,
    /// What the last look was at.
    looked_at: Option<(Arc<Snapshot>, SourceAnswers)>,
    /// Whether a container with CPUs or memory has had a claim since the start: without one there is nothing to say.
    has_claims: bool,
    reported: Reported,
    /// Which programs pin CPUs, and when that was looked at.
    pinners: Option<(Pinners, Instant)>,
}

/// What other processes are asked about.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Asked {
    /// The claims of the node's pods.
    names: Vec<ClaimName>,
    prepared: Prepared,
    /// Whether manifests and the kubelet's file leave open which containers use claims.
    needs_list: bool,
}

impl Watching {
    fn round(&mut self) {
        // The files are not known while they change.
        if self.view.conditions.why_stale().is_some() {
            return;
        }
        let snapshot = self.view.snapshot();
        let pods: Vec<&Pod> = snapshot.pods.values().map(|record| &*record.pod).collect();
        self.answers.prepared = self.prepared();
        let names = held::names(&pods, &self.answers.prepared);
        let needs_list = held::needs_list(&pods, &self.answers.prepared);
        if !self.ask(Asked { names, prepared: self.answers.prepared.clone(), needs_list }) {
            return;
        }
        self.look_for_pinners(&pods);
        let is_same = |(before, answers): &(Arc<Snapshot>, SourceAnswers)| {
            Arc::ptr_eq(before, &snapshot) && *answers == self.answers
        };
        if self.looked_at.as_ref().is_some_and(is_same) {
            return;
        }
        let node = self.view.node();
        let places = Places::of(node, &self.node_name, &self.answers.cluster);
        let held = HeldClaims::all(&pods, &self.answers, &places);
        let found = Found::of(&node.node, &snapshot.ledger, &held);
        self.publish(&found);
        self.looked_at = Some((snapshot, self.answers.clone()));
    }

    /// Looks which programs pin CPUs, once in a while.
    fn look_for_pinners(&mut self, pods: &[&Pod]) {
        let clock = &self.view.clock;
        if self.pinners.as_ref().is_some_and(|(_, at)| clock.since(*at) < PERIOD) {
            return;
        }
        let policy = if self.view.node().node.cpus().is_some() { CpuPolicy::Static } else { CpuPolicy::None };
        let now = Pinners::of(&self.root, policy, self.answers.cpu_driver(), pods);
        now.report(&self.view, self.pinners.as_ref().map(|(before, _)| before));
        self.pinners = Some((now, clock.now()));
    }

    fn publish(&mut self, found: &Found) {
        self.reported.report(&self.view, found);
        self.view.claims.publish(found.of_containers());
        let condition = found.condition();
        self.has_claims |= condition.is_some();
        if self.has_claims {
            self.view.conditions.claims_aligned(condition.unwrap_or(ClaimsFound::Aligned));
            self.view.metrics.claim_devices(&found.by_driver());
        }
    }

    /// What the kubelet has prepared, by its file.
    fn prepared(&mut self) -> Prepared {
        let path = self.root.join(file::PATH);
        let read = match store::read(&path) {
            // A kubelet without claims of devices writes none.
            Ok(None) => Ok(Vec::new()),
            Ok(Some(text)) => {
                ClaimsFile::read(&text).map(|file| file.claims).map_err(|error| error.to_string())
            }
            Err(error) => Err(format!("{:#}", anyhow::Error::from(error))),
        };
        let read = read.map_err(|why| format!("{} cannot be read: {why}", file::PATH));
        match &read {
            Ok(_) => self.reported.source_works(file::PATH),
            Err(why) => self.reported.source_fails(file::PATH, why),
        }
        read
    }

    /// Asks the kubelet's service and the API server, where claims need it. Returns whether their answers are about what is asked
    /// now: after a change they are asked a moment later if they were asked just before.
    fn ask(&mut self, now: Asked) -> bool {
        if now.names.is_empty() && !now.needs_list {
            return true;
        }
        let clock = &self.view.clock;
        if let Some((before, at)) = &self.asked {
            let is_same = *before == now;
            if clock.since(*at) < if is_same { PERIOD } else { LEAST } {
                return is_same;
            }
        }
        self.answers.listed = if now.needs_list { self.list() } else { None };
        self.ask_cluster(&now.names);
        self.asked = Some((now, self.view.clock.now()));
        true
    }

    /// What the kubelet's pod resources service lists.
    fn list(&mut self) -> Option<Vec<device_plugin::PodEntry>> {
        match resources::listed(&self.root) {
            Ok(listed) => {
                self.reported.source_works("pod resources");
                Some(listed)
            }
            Err(error) => {
                let why = format!("which containers use claims is not known: {error}");
                self.reported.source_fails("pod resources", &why);
                None
            }
        }
    }

    fn ask_cluster(&mut self, names: &[ClaimName]) {
        let Some(cluster) = &mut self.cluster else { return };
        match cluster.ask(names) {
            Ok(claims) => {
                self.answers.cluster = Ok(claims);
                self.reported.source_works("the API server");
            }
            Err(error) => {
                let why = format!("claims and slices are not known: {error:#}");
                self.reported.source_fails("the API server", &why);
                // Its last answer stays.
                if self.answers.cluster.is_err() {
                    self.answers.cluster = Err(why);
                }
            }
        }
    }
}
