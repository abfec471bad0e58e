//! The faults of state files as `topolet state check` prints them: what is wrong, what the kubelet does about it, and
//! what helps.

use kubelet_checkpoint::PodLevel;
use kubelet_checkpoint::store::StateFile;
use topology_admission::Node;

use crate::audit::Audit;
use crate::fault::{Fault, Finding};
use crate::finding_line::{FindingLine, Problem};
use crate::folder::StateFolder;
use crate::names::PodNames;
use crate::quarantine::{QUARANTINE, Quarantine, Quarantined};

impl StateFolder {
    /// Checks the files against a `node` that is as strict as the kubelet; most harmful first. `names` says which pods
    /// run, `quarantine` what a repair has left behind.
    #[must_use]
    pub fn check(&self, node: &Node, names: &PodNames, quarantine: &Quarantine) -> Vec<FindingLine> {
        lines(&self.audit(node, &names.pod_list(self, quarantine)), quarantine)
    }
}

fn lines(audit: &Audit, quarantine: &Quarantine) -> Vec<FindingLine> {
    let mut lines: Vec<FindingLine> = audit.findings.iter().map(|finding| line(finding, audit)).collect();
    lines.extend(quarantine.pods.values().map(quarantined));
    lines.extend(quarantine.lost.iter().map(|file| FindingLine {
        problem: Problem::Quarantined,
        file: QUARANTINE.to_owned(),
        what: format!("parts of {file} were lost, and a repair wrote it without a list of the running pods"),
        kubelet: "does not know: pods that the file does not list may run on what other pods hold".to_owned(),
        help: format!("restart or delete the pods that run on this node, then remove {QUARANTINE}"),
    }));
    lines.sort_by_key(|line| line.problem);
    lines
}

/// The way out that always works.
const DELETE: &str = "drain the node, delete the file and restart the kubelet";

/// The kubelet starts without its file of devices.
const STARTS_EMPTY: &str =
    "starts and forgets who holds which device, so it can allocate devices that are in use";

fn line(finding: &Finding, audit: &Audit) -> FindingLine {
    FindingLine {
        problem: problem(&finding.fault),
        file: finding.file.display().to_string(),
        what: finding.fault.to_string(),
        kubelet: kubelet(finding, audit),
        help: help(finding),
    }
}

/// What a repair has left behind.
fn quarantined(quarantined: &Quarantined) -> FindingLine {
    let Quarantined { name, why, .. } = quarantined;
    FindingLine {
        problem: Problem::Quarantined,
        file: QUARANTINE.to_owned(),
        what: format!("{name} is quarantined since a repair: {why}{}", quarantined.kept()),
        kubelet: "does not know: the pod may go on running on what another pod holds by now".to_owned(),
        help: format!("delete the pod, or remove {QUARANTINE} when you have seen to it"),
    }
}

const fn problem(fault: &Fault) -> Problem {
    match fault {
        Fault::NotRegular(_)
        | Fault::Damaged(_)
        | Fault::NotCpus(_)
        | Fault::UnreadablePod(_)
        | Fault::UnreadableMoves(_)
        | Fault::MisnamedPod(_)
        | Fault::RemovedPod(_)
        | Fault::Missing
        | Fault::NullBooks(_) => Problem::Unreadable,
        Fault::UnknownFormat(_) | Fault::OtherForm(_) => Problem::UnknownFormat,
        Fault::OtherGate(_) | Fault::WholeCpus { .. } => Problem::OtherGate,
        Fault::OtherPolicy { .. } => Problem::OtherPolicy,
        Fault::CpusGone { .. } | Fault::SharedCpusGone(_) | Fault::MemoryGone { .. } => Problem::Unknown,
        Fault::OwnedAndShared { .. } | Fault::CpusOwnedTwice { .. } | Fault::DevicesOwnedTwice { .. } => {
            Problem::Overlap
        }
        Fault::UnownedCpus(_)
        | Fault::CpusReserved { .. }
        | Fault::SharedCpusReserved(_)
        | Fault::ReservedNotShared(_)
        | Fault::MemoryDrifted(_)
        | Fault::Books(_)
        | Fault::Overbooked { .. }
        | Fault::Unproven(_)
        | Fault::Disagreement { .. }
        | Fault::Rejected(_) => Problem::Sums,
        Fault::PodGone { .. } => Problem::Gone,
        Fault::Odd(_) => Problem::Odd,
    }
}

/// What the kubelet does about it, in its own words where it refuses to start.
fn kubelet(finding: &Finding, audit: &Audit) -> String {
    let is_of_devices = finding.file == std::path::Path::new(StateFile::Device.path());
    let reaction = match &finding.fault {
        Fault::Odd(_) => "accepts it as it is",
        Fault::PodGone { .. } => "releases them when it next admits a pod",
        Fault::CpusOwnedTwice { .. } => "does not look for this: both run on them",
        Fault::DevicesOwnedTwice { .. } => "does not look for this: both use them",
        Fault::NullBooks(_) => "crashes when it starts",
        Fault::Damaged(_) | Fault::UnknownFormat(_) if is_of_devices => STARTS_EMPTY,
        fault => match (audit.refusal(&finding.file), fault) {
            (Some(refusal), _) => return format!("does not start: {refusal}"),
            (None, Fault::UnknownFormat(_)) => "takes it for empty",
            (None, _) => "does not look for this",
        },
    };
    reaction.to_owned()
}

fn help(finding: &Finding) -> String {
    let first = match &finding.fault {
        Fault::Odd(oddities) => {
            return match oddities.first() {
                Some((_, kubelet_checkpoint::Oddity::NoChecksum)) => {
                    "the kubelet adds one when it next writes the file"
                }
                _ => "somebody edited the file: check that its contents are true",
            }
            .to_owned();
        }
        Fault::PodGone { .. } => {
            return "nothing if the kubelet runs; otherwise they stay allocated until it does".to_owned();
        }
        Fault::CpusOwnedTwice { .. } | Fault::DevicesOwnedTwice { .. } => {
            return "delete one of the two pods".to_owned();
        }
        Fault::UnknownFormat(_) => "run the kubelet that wrote it".to_owned(),
        Fault::Damaged(damage) if damage.is_of_embedded() => {
            "run 'topolet state repair', which takes what kubelets up to v1.36 read of the file".to_owned()
        }
        Fault::Damaged(_) if finding.file == std::path::Path::new(StateFile::Device.path()) => {
            return "before the kubelet starts, delete the pods that hold devices".to_owned();
        }
        Fault::OtherGate(PodLevel::Off) => "turn the gate on again".to_owned(),
        Fault::OtherGate(PodLevel::On) => "turn the gate off again".to_owned(),
        Fault::OtherPolicy { stored, configured: "static" | "none" } => {
            format!("set cpuManagerPolicy to {stored:?} again")
        }
        Fault::OtherPolicy { stored, .. } => format!("set memoryManagerPolicy to {stored:?} again"),
        Fault::CpusGone { .. } | Fault::SharedCpusGone(_) => "bring them online again".to_owned(),
        Fault::CpusReserved { .. } | Fault::SharedCpusReserved(_) | Fault::ReservedNotShared(_) => {
            "undo the change of the reservation".to_owned()
        }
        Fault::MemoryDrifted(_) => "restore the memory and the reservation that the file has".to_owned(),
        _ => return DELETE.to_owned(),
    };
    format!("{first}, or {DELETE}")
}
