//! What is wrong with a folder of state, as it is told.

use kubelet_checkpoint::store::StateFile;
use serde::Serialize;

/// What kind of thing is wrong, most harmful first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Problem {
    /// The file is torn, or no state file, or changed by somebody else.
    Unreadable,
    /// A kubelet of another release wrote it, in a format that is not known.
    UnknownFormat,
    /// A kubelet with another feature gate wrote it.
    OtherGate,
    /// Another policy wrote it.
    OtherPolicy,
    /// CPUs or nodes that the machine does not have, or not any more.
    Unknown,
    /// Two have the same.
    Overlap,
    /// A repair has found a conflict that the files do not show any more.
    Quarantined,
    /// What is held, free and installed do not add up.
    Sums,
    /// Something is held for a pod that is not there any more.
    Gone,
    /// Nothing that harms: the kubelet takes it, but did not write it.
    Odd,
}

/// One thing that is wrong.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Finding {
    pub(crate) problem: Problem,
    /// The file's path below the folder.
    pub(crate) file: &'static str,
    /// What is wrong.
    pub(crate) what: String,
    /// What the kubelet makes of it: its own words where it refuses to start.
    pub(crate) kubelet: String,
    /// What helps.
    pub(crate) help: String,
}

/// All that was found, most harmful first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Findings(Vec<Finding>);

impl Findings {
    pub(crate) fn add(&mut self, problem: Problem, file: StateFile, told: [String; 3]) {
        self.add_at(problem, file.path(), told);
    }

    /// About any file.
    pub(crate) fn add_at(&mut self, problem: Problem, file: &'static str, told: [String; 3]) {
        let [what, kubelet, help] = told;
        self.0.push(Finding { problem, file, what, kubelet, help });
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Most harmful first; of equal harm as they were found.
    pub(crate) fn sorted(mut self) -> Vec<Finding> {
        self.0.sort_by_key(|finding| finding.problem);
        self.0
    }
}
