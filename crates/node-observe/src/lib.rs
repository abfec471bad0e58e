#![doc = include_str!("../README.md")]
//!
//! # Where things are
//!
//! The kubelet writes its three files one after the other, and one of them in two steps. They are taken when all have
//! stood still (`look`) and fit together (`fit`); until then what was known before stays. A kubelet that starts anew may
//! decide by other rules (`rules`), or not start at all since the machine has changed (`next_start`). What a kubelet reports
//! of its pods (`pods`) says which it admitted (`admissions`), which it refused (`refusals`) and which its faults concern
//! (`fates`); those that are decided otherwise here can be packed (`disagreements`). Where its containers run is compared with
//! its files (`drift`), and where the devices of their claims are with their CPUs and memory (`claims`); which programs pin CPUs
//! there is read too (`pinners`), and what a guard of exclusive CPUs reports (`guard`). Files that do not fit together and do not change any more are served all the same, with a note, so
//! that nothing is hidden for good.
//!
//! - How a kubelet's refusal is explained: `crates/node-observe/src/refusals.rs`; where pods come from: `pods.rs` and
//!   `sources.rs` beside it; which events the API server gets: `pod_events.rs`; how containers outside their CPUs are found:
//!   `drift.rs`; where the devices of claims lie beside CPUs and memory: `claims.rs`; what is written when our decision differs from the kubelet's: `disagreements.rs`; when the kubelet's
//!   rules are read again: `rules.rs`; how it is known that the kubelet would not start again: `next_start.rs`.

mod look;
mod rules;
mod fit;
mod resources;
mod source;
mod sources;
mod static_pods;
mod pods;
mod admissions;
mod fates;
mod refusals;
mod disagreements;
mod drift;
mod claims;
mod pinners;
mod guard;
mod next_start;
mod pod_events;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use device_manager::{Inventory, Moment};
use kubelet_checkpoint::store::StateFile;
use node_agent::{Enforcement, Pinning, Snapshot};
use node_enforce::CgroupRoot;
use node_input::{LoadedMachine, LoadedNode, PINNED, Requests};
use node_state::{Contents, Quarantine, Record, Source, files};
use node_view::NodeCondition::{Current, FilesAgree};
use node_view::clock::Clock;
use node_view::node_sources::NodeSources;
use node_view::{Changes, NodeView, Observed, Pace, Writers};
use pod_spec::PodUid;
use tokio::sync::Notify;

pub use self::disagreements::Disagreements;
use self::fates::Undecided;
use self::look::Look;
use self::pods::{KubeletPods, Version};
use self::refusals::{Earlier, LedgerInputs};
use self::resources::{PodResources, Wanted};
use self::rules::Rules;
pub use self::source::{Membership, PodSources};

/// A kubelet admits a pod in several writes; the files are read when there has been none for this time.
const QUIET: Duration = Duration::from_millis(20);
const PACE: Pace =
    Pace { longest: Duration::from_millis(500), settled: QUIET, latest: Duration::from_millis(200) };
/// Files that do not fit together are served when they have not changed for so long: no kubelet is about to write the
/// others.
const LASTING: Duration = Duration::from_secs(5);
/// A stale state is reported after this time, even if the files change all the time.
const LATE: Duration = Duration::from_secs(1);

/// Assumptions about the kubelet, each as a sentence: its configuration, if none is known.
pub fn assumed(sources: &NodeSources, machine: &LoadedMachine) -> Vec<String> {
    let note = sources.no_config(machine).map(|why| {
        format!(
            "{why}. The built-in configuration `{PINNED}` is assumed, so what is explained and counted may be wrong"
        )
    });
    note.into_iter().collect()
}

/// The kubelet that owns the node.
pub struct Kubelet {
    /// Its root folder.
    root: PathBuf,
    /// Its name for the node; empty: not known.
    node_name: String,
}

impl Kubelet {
    /// The one with this root folder.
    pub fn new(root: &Path, pods: &PodSources) -> Self {
        Self { root: root.to_path_buf(), node_name: pods.node_name.clone() }
    }
}

/// The state of a kubelet's node at one moment.
pub struct Seen {
    look: Look,
    /// The inputs of its ledger.
    inputs: LedgerInputs,
    /// What pods hold, and how the node is known.
    pub snapshot: Snapshot,
    quarantine: Quarantine,
    requests: Requests,
    /// The version of the reported pods that it includes.
    version: Version,
    /// Why the files cannot be of one moment; `None`: they can.
    misfit: Option<String>,
}

/// The first look that fits together, or that has not changed for five seconds.
///
/// # Errors
/// There are no files, or for as long they are such that a kubelet would not start from them.
pub fn first(kubelet: &Kubelet, node: &LoadedNode, clock: &Arc<dyn Clock>) -> anyhow::Result<Seen> {
    let root = &kubelet.root;
    // Sources of pods are watched once the first state is served.
    let pods = KubeletPods::new(clock.clone());
    let nothing = BTreeMap::new();
    let mut look = Look::settled(root)?;
    let mut seen = see(kubelet, look.clone(), node, &pods, &nothing);
    let mut since = clock.now();
    // Between two writes of the kubelet the files may not fit together.
    while !seen.as_ref().is_ok_and(|seen| seen.misfit.is_none()) && clock.since(since) < LASTING {
        clock.sleep(QUIET);
        let now = Look::settled(root)?;
        if now != look {
            seen = see(kubelet, now.clone(), node, &pods, &nothing);
            (look, since) = (now, clock.now());
        }
    }
    seen
}

/// The settings of an observation.
pub struct Observation<'a> {
    /// The kubelet.
    pub kubelet: Kubelet,
    /// The machine as it was at the start.
    pub machine: &'a LoadedMachine,
    /// Where the parts of the node are read from.
    pub sources: NodeSources,
    /// The sources of its pods.
    pub pods: &'a PodSources,
    /// Where the cgroups of its containers are.
    pub cgroups: &'a CgroupRoot,
    /// Where node files are written of pods that are decided otherwise here; `None`: nowhere.
    pub disagreements: Option<Disagreements>,
    /// Where a guard of exclusive CPUs writes its report, if there is one.
    pub guard: PathBuf,
    /// Notified when everything has to be read again.
    pub reload: Arc<Notify>,
}

/// Observes for the rest of the program.
pub fn start(
    observation: Observation<'_>,
    view: NodeView,
    writers: Writers,
    first: Seen,
) -> anyhow::Result<()> {
    let Observation { kubelet, machine, sources, pods: pod_sources, cgroups, disagreements, guard, reload } =
        observation;
    let root = &kubelet.root;
    drift::start(cgroups, view.clone())?;
    claims::start(root, pod_sources, view.clone())?;
    guard::start(guard, view.clone())?;
    if let Some(node) = &pod_sources.cluster {
        pod_events::start(node, view.events.clone())?;
    }
    let folders = [root.clone(), root.join(StateFile::Device.path()).with_file_name("")];
    let there: Vec<PathBuf> = folders.into_iter().filter(|folder| folder.is_dir()).collect();
    let changes = Changes::of(&there, PACE);
    let pods = Arc::new(KubeletPods::new(view.clock.clone()));
    pods::listen(
        sources::all(root, pod_sources, &view.clock),
        view.clone(),
        pods.clone(),
        changes.announcer(),
    )?;
    let rules = Rules::new(sources.clone(), reload.clone(), &first.look, machine);
    let mut watching = Watching {
        kubelet,
        rules,
        view: view.clone(),
        writers,
        reload,
        pods,
        served: None,
        inputs: None,
        unserved: None,
        earlier: Earlier::default(),
        undecided: Undecided::default(),
        disagreements,
    };
    watching.serve(first);
    next_start::start(sources, view)?;
    thread::Builder::new().name("observe".to_owned()).spawn(move || watching.run(&changes))?;
    Ok(())
}

struct Watching {
    kubelet: Kubelet,
    rules: Rules,
    view: NodeView,
    writers: Writers,
    /// Notified when everything has to be read again.
    reload: Arc<Notify>,
    pods: Arc<KubeletPods>,
    /// The files that are served, and the version of the reported pods with them.
    served: Option<(Look, Version)>,
    /// The inputs of the ledger that is served.
    inputs: Option<LedgerInputs>,
    /// The files that were read last, if they are not served.
    unserved: Option<Unserved>,
    earlier: Earlier,
    undecided: Undecided,
    /// Where node files are written of pods that are decided otherwise here.
    disagreements: Option<Disagreements>,
}

/// Files that are not served: they cannot be parsed, or do not fit together.
struct Unserved {
    look: Look,
    /// When these very files were found.
    since: Instant,
    /// When the first look after the served one could not be served.
    first: Instant,
}

impl Watching {
    fn run(mut self, changes: &Changes) {
        loop {
            // Taken before the look: what is seen then is at least as new as each of them.
            let (refusals, admissions) = (self.pods.take_refusals(), self.pods.take_admissions());
            let undecided = self.pods.take_undecided();
            self.look();
            let decisions = &self.writers.decisions;
            for refusal in &refusals {
                let disagreements = self.disagreements.as_ref();
                refusals::explain(&self.view, decisions, &self.earlier, disagreements, refusal);
            }
            self.earlier.forget_ledgers();
            for admission in &admissions {
                admissions::report(&self.view, admission);
                fates::report_admitted(&self.view, decisions, &admission.pod);
            }
            self.undecided.report(&self.view, decisions, &self.pods, &undecided);
            changes.wait();
        }
    }

    fn look(&mut self) {
        let look = match Look::settled(&self.kubelet.root) {
            Ok(look) => look,
            Err(error) => {
                // That of a kubelet in a container is below its process, and ends with it.
                if self.kubelet.root.starts_with("/proc") && !self.kubelet.root.exists() {
                    self.reload.notify_one();
                }
                return self.stale(&error);
            }
        };
        if let Some(unknown) = self.rules.why_unknown(&self.view, &look) {
            return self.stale(&anyhow!(unknown));
        }
        let version = self.pods.version();
        if let Some((served, reported)) = &mut self.served
            && *served == look
            && reported.running == version.running
        {
            if reported.refused != version.refused {
                reported.refused = version.refused;
                let now = Snapshot::clone(&self.view.snapshot());
                self.writers.snapshots.publish(Snapshot { refused: self.pods.refused(), ..now });
            }
            self.unserved = None;
            self.view.conditions.works(Current);
            return;
        }
        let was_there = self.unserved.as_ref().is_some_and(|unserved| unserved.look == look);
        let known = self.view.snapshot().pods.clone();
        let seen = see(&self.kubelet, look.clone(), self.view.node(), &self.pods, &known);
        self.keep_unserved(look);
        let lasts =
            self.unserved.as_ref().is_some_and(|unserved| self.view.clock.since(unserved.since) >= LASTING);
        match seen {
            Ok(seen) if seen.misfit.is_none() || lasts => self.serve(seen),
            // The kubelet may be between two writes; files that stay like this are reported.
            _ if !was_there && !self.is_late() => {}
            Ok(seen) => self.stale(&anyhow!(seen.misfit.unwrap_or_default())),
            Err(error) => {
                if let Some(unserved) = self.unserved.as_ref().filter(|_| lasts) {
                    let fits = |node: &LoadedNode| {
                        see(&self.kubelet, unserved.look.clone(), node, &self.pods, &known).is_ok()
                    };
                    self.rules.recount(&self.view, fits);
                }
                self.stale(&error);
            }
        }
    }

    /// Serves a state, and sets the conditions of its files.
    fn serve(&mut self, seen: Seen) {
        let Seen { look, inputs, snapshot, quarantine, requests, version, misfit } = seen;
        let names = inputs.names.clone();
        if let Some(before) = self.inputs.replace(inputs) {
            self.earlier.add(before, self.view.clock.now());
        }
        self.writers.snapshots.publish(snapshot);
        let folder = look.folder.clone();
        self.writers.observed.publish(Observed { folder, quarantine, names, requests });
        (self.served, self.unserved) = (Some((look, version)), None);
        let misfit = misfit.map(|why| {
            format!(
                "the state is served though its files do not fit together, since they have not changed for {LASTING:?}: {why}"
            )
        });
        self.view.conditions.works(Current);
        self.view.conditions.found(FilesAgree, misfit.as_deref());
    }

    /// Keeps files that are not served, with the time since when.
    fn keep_unserved(&mut self, look: Look) {
        let now = self.view.clock.now();
        let first = self.unserved.as_ref().map_or(now, |unserved| unserved.first);
        if self.unserved.as_ref().is_none_or(|unserved| unserved.look != look) {
            self.unserved = Some(Unserved { look, since: now, first });
        }
    }

    /// Whether what is served has been out of date for longer than a kubelet needs for an admission.
    fn is_late(&self) -> bool {
        self.unserved.as_ref().is_some_and(|unserved| self.view.clock.since(unserved.first) >= LATE)
    }

    fn stale(&self, error: &anyhow::Error) {
        self.view.conditions.fails(Current, &format!("what is known stays as it was: {error:#}"));
    }
}

/// The state of the node by these files and the reported pods. `known` are the records of the last state, which are kept for pods
/// that have not changed.
fn see(
    kubelet: &Kubelet,
    look: Look,
    node: &LoadedNode,
    pods: &KubeletPods,
    known: &BTreeMap<PodUid, Arc<Record>>,
) -> anyhow::Result<Seen> {
    let root = &kubelet.root;
    let version = pods.version();
    let folder = &look.folder;
    let mut contents = folder.contents_of_any();
    if !contents.unknown.is_empty() {
        return Err(contents.unknown.swap_remove(0).into());
    }
    of_same_policies(&contents, node)?;
    let holders = contents.holders();
    let mut names = match pods.names(holders.as_ref()) {
        Some(names) => names,
        None => node_input::pod_names(None, root, holders.as_ref())?,
    };
    let resources = match names.known() {
        Some(_) => PodResources::ask(root, node, Wanted::Devices),
        None => PodResources::ask(root, node, Wanted::DevicesAndPods),
    };
    if names.known().is_none() {
        let own = resources.as_ref().map(|resources| resources.names(&contents)).unwrap_or_default();
        names = names.with_names(own);
        let unnamed = holders.iter().flatten().filter(|uid| !names.is_named(uid)).cloned().collect();
        let manifests = static_pods::names(node.static_pods.as_deref(), &kubelet.node_name, &unnamed);
        names = names.with_names(manifests);
    }
    let quarantine = node_input::parse_quarantine(root, look.quarantine.as_deref())?.still(folder, &names);
    let inventory = match resources {
        Ok(resources) => Some(with_registered(resources.inventory, &contents)),
        Err(error) => {
            tracing::warn!("names of pods and free devices are not known: {error}");
            None
        }
    };
    let misfit = fit::misfit(&contents, node, &names);
    let inputs = LedgerInputs { folder: folder.clone(), names, inventory };
    let (ledger, requests) = inputs.ledger(node)?;
    let mut arrivals = known.values().map(|record| record.arrival + 1).max().unwrap_or(0)..;
    let records = ledger.shared_pods().map(|pod| {
        let quarantined = quarantine.pods.get(pod.uid.as_str());
        let why = quarantined.map(|quarantined| format!("{}{}", quarantined.why, quarantined.kept()));
        let before = known.get(&pod.uid);
        let record = match before {
            Some(before) if Arc::ptr_eq(&before.pod, pod) && before.quarantine == why => before.clone(),
            _ => {
                let arrival = before.map(|before| before.arrival).or_else(|| arrivals.next());
                let new = Record::new(pod.clone(), Source::Request, arrival.unwrap_or(u64::MAX));
                Arc::new(Record { quarantine: why, ..new })
            }
        };
        (pod.uid.clone(), record)
    });
    let records = records.collect();
    let places = pods.containers().into_iter().map(|(id, container)| Enforcement {
        pinning: Pinning::new(&node.node, &ledger, &container.pod, &container.container),
        cgroup: None,
        container,
        id,
    });
    let places = places.collect();
    let snapshot = Snapshot {
        pods: records,
        ledger,
        refused: pods.refused(),
        waiting: Vec::new(),
        deferred: Vec::new(),
        at: Moment::default(),
        places,
        behind: None,
    };
    Ok(Seen { look, inputs, snapshot, quarantine, requests, version, misfit })
}

/// The devices of the pod resources service, with the resources that have no healthy device: their plugins have registered, by
/// the kubelet's file.
fn with_registered(mut inventory: Inventory, contents: &Contents) -> Inventory {
    let file = contents.device.as_ref().filter(|read| read.fault.is_none());
    let registered = file.and_then(|read| read.state.registered.as_ref());
    for (resource, _) in registered.into_iter().flatten() {
        if !inventory.is_registered(resource) {
            inventory.remember(resource, Moment::default());
        }
    }
    inventory
}

/// An error if the files were written under other policies than the configuration has.
fn of_same_policies(contents: &Contents, node: &LoadedNode) -> anyhow::Result<()> {
    let cpu = contents.cpu.as_ref().and_then(|read| Some(read.as_ref().ok()?.policy.as_str()));
    let memory = contents.memory.as_ref().and_then(|read| Some(read.as_ref().ok()?.state.policy.as_str()));
    let policies = [
        (StateFile::Cpu, "CPU", cpu, files::cpu_policy(&node.node)),
        (StateFile::Memory, "memory", memory, files::memory_policy(&node.node)),
    ];
    for (file, manager, stored, configured) in policies {
        if let Some(stored) = stored.filter(|stored| *stored != configured) {
            bail!(
                "{} is of {manager} manager policy \"{stored}\", and configuration {} has \"{configured}\": \
                 --config names the one that the kubelet has",
                file.path(),
                node.line.configuration
            );
        }
    }
    Ok(())
}
