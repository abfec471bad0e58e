//! State files that the new release writes in another form, and what the old release makes of them.

use std::fmt;

use kubelet_checkpoint::Forms;
use kubelet_checkpoint::cpu::{ContainerIds, CpuFile, CpuFormat, CpuState};
use kubelet_checkpoint::memory::{MemoryFile, MemoryFormat, MemoryState};
use kubelet_checkpoint::store::StateFile;
use kubelet_release::Release;
use node_state::files;
use serde::Serialize;
use topology_admission::{Node, RunningPods, SourcesReady, StoredHoldings};

use crate::subject::{Started, cpus, memory};

/// A state file that the new release writes in another form.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    /// Below the kubelet's root folder.
    pub file: &'static str,
    /// Which form the old release writes: `V2`.
    pub from: String,
    /// Which form the new one does, at the first change of what is held.
    pub to: String,
    /// What the old release makes of that.
    pub back: WayBack,
}

/// What the old release makes of a file that the new one has written.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum WayBack {
    /// It starts from it, and all is there.
    Whole,
    /// It starts from it without this.
    Loses(Vec<Loss>),
    /// It does not start: its words.
    Refused(String),
}

/// What a file has and an older release does not read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Loss {
    /// What so many pods hold as a whole.
    WholePods(usize),
    /// What so many pods held as containers.
    Containers(usize),
    /// The CPUs with which containers of so many pods were admitted.
    Baselines(usize),
}

impl FileChange {
    /// The files that differ in form; `new` is the node by the new release.
    pub(crate) fn all(old: &Started, new: &Started) -> Vec<Self> {
        let (from, to) = (files::forms(&old.node), files::forms(&new.node));
        let mut changes = Vec::new();
        if from.cpu() != to.cpu() && new.node.cpus().is_some() {
            let state = files::cpu_state(&new.node, &new.ledger);
            let text = state.encode(to.cpu());
            let back = cpus_back(&state, &text, from, &old.node);
            let (from, to) = (cpu_form(from.cpu()), cpu_form(to.cpu()));
            changes.push(Self { file: StateFile::Cpu.path(), from, to, back });
        }
        if from.memory() != to.memory() && new.node.memory().is_some() {
            let state = files::memory_state(&new.node, &new.ledger);
            let text = state.encode(to.memory());
            let back = memory_back(&state, &text, from, &old.node);
            let (from, to) = (memory_form(from.memory()), memory_form(to.memory()));
            changes.push(Self { file: StateFile::Memory.path(), from, to, back });
        }
        changes
    }
}

fn cpu_form(format: CpuFormat) -> String {
    format!("{format:?}")
}

fn memory_form(format: MemoryFormat) -> String {
    format!("{format:?}")
}

fn cpus_back(state: &CpuState, text: &str, forms: Forms, node: &Node) -> WayBack {
    let file = text.as_bytes();
    let stored = cpus(file, forms, node);
    let read = CpuFile::read(file, forms, &ContainerIds::new());
    let read = read
        .map_err(|error| error.to_string())
        .and_then(|read| read.state().map_err(|error| error.to_string()));
    let restored = stored.and_then(|cpus| starts(node, StoredHoldings { cpus, ..StoredHoldings::default() }));
    match (restored, read) {
        (Err(error), _) | (_, Err(error)) => WayBack::Refused(error),
        (Ok(()), Ok(read)) => WayBack::of([
            Loss::WholePods(missing(state.pods.keys(), |pod| read.pods.contains_key(pod))),
            Loss::Containers(missing(state.containers.keys(), |pod| {
                read.containers.get(pod) == state.containers.get(pod)
            })),
            Loss::Baselines(missing(state.baselines.keys(), |pod| read.baselines.contains_key(pod))),
        ]),
    }
}

fn memory_back(state: &MemoryState, text: &str, forms: Forms, node: &Node) -> WayBack {
    let file = text.as_bytes();
    let stored = memory(file, forms, node);
    let restored =
        stored.and_then(|memory| starts(node, StoredHoldings { memory, ..StoredHoldings::default() }));
    match (restored, MemoryFile::read(file, forms)) {
        (Err(error), _) => WayBack::Refused(error),
        (_, Err(error)) => WayBack::Refused(error.to_string()),
        (Ok(()), Ok(MemoryFile { state: read, .. })) => WayBack::of([
            Loss::WholePods(missing(state.pod_entries.keys(), |pod| read.pod_entries.contains_key(pod))),
            Loss::Containers(missing(state.entries.keys(), |pod| {
                read.entries.get(pod) == state.entries.get(pod)
            })),
        ]),
    }
}

fn missing<'a, K: 'a>(keys: impl Iterator<Item = &'a K>, is_there: impl Fn(&K) -> bool) -> usize {
    keys.filter(|key| !is_there(key)).count()
}

fn starts(node: &Node, stored: StoredHoldings) -> Result<(), String> {
    let pods = RunningPods { sources: SourcesReady::No, ..RunningPods::default() };
    node.restore(stored, pods).map(|_| ()).map_err(|error| error.to_string())
}

impl WayBack {
    fn of(losses: impl IntoIterator<Item = Loss>) -> Self {
        let losses: Vec<Loss> = losses.into_iter().filter(|loss| loss.count() > 0).collect();
        if losses.is_empty() { Self::Whole } else { Self::Loses(losses) }
    }
}

impl Loss {
    const fn count(self) -> usize {
        match self {
            Self::WholePods(count) | Self::Containers(count) | Self::Baselines(count) => count,
        }
    }
}

impl FileChange {
    /// As a line, where the old release is `old`.
    pub(crate) fn line(&self, old: Release) -> String {
        let Self { file, from, to, back } = self;
        let back = match back {
            WayBack::Whole => format!("kubelet {old} reads {to} whole"),
            WayBack::Loses(losses) => {
                let losses: Vec<String> = losses.iter().map(Loss::to_string).collect();
                format!("kubelet {old} starts from {to} and loses {}", losses.join(", "))
            }
            WayBack::Refused(error) => format!("kubelet {old} does not start from {to}: {error}"),
        };
        format!("{file}: written as {to} instead of {from}; {back}")
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pods = |count: &usize| format!("{count} {}", if *count == 1 { "pod" } else { "pods" });
        match self {
            Self::WholePods(count) => write!(f, "what {} hold as a whole", pods(count)),
            Self::Containers(count) => write!(f, "what containers of {} hold", pods(count)),
            Self::Baselines(count) => write!(f, "the first CPUs of containers of {}", pods(count)),
        }
    }
}
