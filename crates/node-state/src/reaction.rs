//! The faults of state files as `topolet state check` prints them: what is wrong, what the kubelet does about it, and
//! what helps.

use std::path::Path;

use kubelet_checkpoint::PodLevel;
use kubelet_checkpoint::pods::PodFile;
use kubelet_checkpoint::store::StateFile;
use kubelet_release::Fault as Upstream;
use topology_admission::Node;

use crate::audit::Audit;
use crate::books::{BookDifference, Column};
use crate::fault::{Fault, Finding, ReservedGiven, ReservedPart};
use crate::files;
use crate::finding_line::{FindingLine, Problem};
use crate::folder::StateFolder;
use crate::names::PodNames;
use crate::quarantine::{QUARANTINE, Quarantine, Quarantined};
use crate::start::StartError;
use crate::words;

impl StateFolder {
    /// Checks the files against a `node` that is as strict as the kubelet; most harmful first. `names` says which pods
    /// run, `quarantine` what a repair has left behind.
    #[must_use]
    pub fn check(&self, node: &Node, names: &PodNames, quarantine: &Quarantine) -> Vec<FindingLine> {
        self.lines(&self.audit(node, &names.pod_list(self, quarantine)), node, quarantine)
    }

    /// The same where the kubelet's configuration is not known: `node` has one under which the files can have been written,
    /// and what another would explain is no fault.
    #[must_use]
    pub fn check_files(&self, node: &Node, names: &PodNames, quarantine: &Quarantine) -> Vec<FindingLine> {
        let mut audit = self.audit(node, &names.pod_list(self, quarantine));
        let found = std::mem::take(&mut audit.findings);
        audit.findings = found.into_iter().filter_map(Finding::of_files).collect();
        let cpus = Path::new(StateFile::Cpu.path());
        let is_full = audit.refusal(cpus).is_some_and(StartError::is_full_node);
        if is_full && audit.findings.iter().all(|finding| finding.file != cpus) {
            audit.findings.push(Finding { file: cpus.to_path_buf(), fault: Fault::FullNode });
        }
        self.lines(&audit, node, quarantine)
    }

    fn lines(&self, audit: &Audit, node: &Node, quarantine: &Quarantine) -> Vec<FindingLine> {
        let mut lines: Vec<FindingLine> =
            audit.findings.iter().map(|finding| line(finding, audit, self.upstream(finding, node))).collect();
        lines.extend(quarantine.pods.values().map(quarantined));
        lines.extend(quarantine.lost.iter().map(|file| FindingLine {
            problem: Problem::Quarantined,
            file: QUARANTINE.to_owned(),
            what: format!(
                "parts of {file} were lost, and a repair wrote it without a list of the running pods"
            ),
            kubelet:
                "does not know: pods that the file does not list may run on what other pods hold".to_owned(),
            fault: None,
            help: format!("restart or delete the pods that run on this node, then remove {QUARANTINE}"),
        }));
        lines.sort_by_key(|line| line.problem);
        lines
    }

    /// The fault of the kubelet by which a file that it refuses can have come about.
    fn upstream(&self, finding: &Finding, node: &Node) -> Option<Upstream> {
        let fault = match &finding.fault {
            Fault::UnownedCpus(_) if self.has_whole_pods(node) => Upstream::PodCpusLost,
            Fault::UnownedCpus(_) => Upstream::KilledBetweenWrites,
            Fault::FullNode => Upstream::FullNode,
            Fault::UnevenPages(_) => Upstream::UnevenGroup,
            Fault::CpusReserved { given: ReservedGiven::WithCores(_), .. } => Upstream::BusySibling,
            _ => return None,
        };
        fault.is_in(node.kubelet_rules().version.release()).then_some(fault)
    }

    /// Whether a pod has its CPUs as a whole.
    fn has_whole_pods(&self, node: &Node) -> bool {
        let contents = self.contents(files::pod_level(node));
        contents.cpu.and_then(Result::ok).is_some_and(|file| !file.pod_entries.is_empty())
    }
}

/// Whether a folder has the fault whatever the kubelet's configuration is.
const fn is_of_files(fault: &Fault) -> bool {
    !matches!(
        fault,
        Fault::OtherPolicy { .. }
            | Fault::OtherGate(_)
            | Fault::CpusReserved { .. }
            | Fault::SharedCpusReserved(..)
            | Fault::ReservedNotShared(..)
            | Fault::UnownedCpus(_)
            | Fault::Overbooked { .. }
    )
}

impl Finding {
    /// The same as far as it is a fault whatever the kubelet's configuration is.
    fn of_files(self) -> Option<Self> {
        match self.fault {
            Fault::MemoryDrifted(mut differences) => {
                differences.retain(|difference| {
                    let BookDifference::Amount { column, .. } = difference else { return true };
                    !matches!(column, Column::SystemReserved | Column::Allocatable)
                });
                let fault = Fault::MemoryDrifted(differences);
                let is_any = matches!(&fault, Fault::MemoryDrifted(differences) if !differences.is_empty());
                is_any.then_some(Self { fault, ..self })
            }
            fault => is_of_files(&fault).then_some(Self { fault, ..self }),
        }
    }
}

/// How the memory of NUMA nodes differs from that of a file, where nothing brings it back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Moved {
    /// By less than a boot changes.
    Little,
    /// It has grown.
    Up,
}

/// The most bytes by which a node's memory changes from boot to boot, however small it is: the kernel's image lies on another
/// node (KEP-6232).
const IMAGE: u64 = 64 << 20;

/// Whether totals of memory alone differ, each by less than 1 % or 64Mi, or each upwards; `None`: otherwise.
fn moved(differences: &[BookDifference]) -> Option<Moved> {
    let total = |difference: &BookDifference| match difference {
        BookDifference::Amount { resource, column: Column::Total, stored, actual, .. }
            if resource.as_str() == "memory" =>
        {
            Some((*stored, *actual))
        }
        _ => None,
    };
    let totals: Vec<(u64, u64)> = differences.iter().map(total).collect::<Option<_>>()?;
    let is_little = |(stored, actual): &(u64, u64)| stored.abs_diff(*actual) < (stored / 100).max(IMAGE);
    if totals.iter().all(is_little) {
        return Some(Moved::Little);
    }
    totals.iter().all(|(stored, actual)| stored < actual).then_some(Moved::Up)
}

/// The way out for a file whose totals are those of the same machine at another time.
const ANOTHER_BOOT: &str = "the file was written at another boot of this machine, or before its memory changed: after a reboot \
    delete it before the kubelet starts; while pods run, drain the node first";

/// What brings back the memory that a file was written for.
fn drifted(differences: &[BookDifference]) -> String {
    let is_reserved = |difference: &BookDifference| {
        matches!(difference, BookDifference::Amount { column: Column::SystemReserved, .. })
    };
    let of_reservation = differences.iter().filter(|difference| is_reserved(difference)).count();
    match of_reservation {
        0 => "bring back the memory and huge pages that the file has",
        all if all == differences.len() => "reserve the memory that the file has as reserved",
        _ => "bring back the memory and huge pages that the file has, and reserve what it has as reserved",
    }
    .to_owned()
}

/// The way out that always works.
const DELETE: &str = "drain the node, delete the file and restart the kubelet";

/// The way out for files of what pods were admitted or run with.
const PUT_ASIDE: &str = "delete the file before the kubelet starts, or have 'topolet state repair --apply' put it aside: the \
    kubelet then takes what the pods' manifests request";

/// The kubelet starts without its file of devices.
const STARTS_EMPTY: &str =
    "starts and forgets who holds which device, so it can allocate devices that are in use";

fn line(finding: &Finding, audit: &Audit, upstream: Option<Upstream>) -> FindingLine {
    let page = match upstream {
        Some(fault @ Upstream::KilledBetweenWrites) => {
            format!(". The CPUs came online since, or it was killed between two writes ({})", fault.page())
        }
        Some(fault) => format!(" ({})", fault.page()),
        None => String::new(),
    };
    FindingLine {
        problem: problem(&finding.fault),
        file: finding.file.display().to_string(),
        what: finding.fault.to_string(),
        kubelet: kubelet(finding, audit) + &page,
        fault: upstream,
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
        fault: None,
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
        | Fault::SharedCpusReserved(..)
        | Fault::ReservedNotShared(..)
        | Fault::MemoryDrifted(_)
        | Fault::Books(_)
        | Fault::Overbooked { .. }
        | Fault::Unproven(_)
        | Fault::Disagreement { .. }
        | Fault::FullNode
        | Fault::UnevenPages(_)
        | Fault::Rejected(_) => Problem::Sums,
        Fault::PodGone { .. } => Problem::Gone,
        Fault::Odd(_) => Problem::Odd,
    }
}

/// What the kubelet does about it, in its own words where it refuses to start.
fn kubelet(finding: &Finding, audit: &Audit) -> String {
    let is_of_devices = finding.file == Path::new(StateFile::Device.path());
    let reaction = match &finding.fault {
        Fault::Odd(_) => "accepts it as it is",
        Fault::PodGone { .. } => "releases them when it next admits a pod",
        Fault::CpusOwnedTwice { .. } => "does not look for this: both run on them",
        Fault::DevicesOwnedTwice { .. } => "does not look for this: both use them",
        Fault::NullBooks(_) | Fault::UnevenPages(_) => "crashes when it starts",
        Fault::Damaged(_) | Fault::UnknownFormat(_) if is_of_devices => STARTS_EMPTY,
        fault => match (audit.refusal(&finding.file), fault) {
            (Some(refusal @ StartError::Pods(..)), _) => return format!("panics when it starts: {refusal}"),
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
            "run 'topolet state repair --apply', which takes what kubelets up to v1.36 read of the file"
                .to_owned()
        }
        Fault::Damaged(_) if finding.file == Path::new(StateFile::Device.path()) => {
            return "before the kubelet starts, delete the pods that hold devices".to_owned();
        }
        Fault::Damaged(_) if PodFile::ALL.iter().any(|file| finding.file == Path::new(file.path())) => {
            return format!("{PUT_ASIDE}; drain the node first if pods are being resized");
        }
        Fault::FullNode => {
            return format!(
                "while the kubelet runs, delete a pod that holds exclusive CPUs before you restart it; where it does not run, \
                 {DELETE}. Without strict-cpu-reservation the pool keeps the reserved CPUs"
            );
        }
        Fault::UnevenPages(_) => {
            return format!(
                "while the kubelet runs, delete the pods whose memory is bound over both NUMA nodes before you restart it; \
                 where it does not run, {DELETE}"
            );
        }
        Fault::OtherGate(PodLevel::Off) => "turn the gate on again".to_owned(),
        Fault::OtherGate(PodLevel::On) => "turn the gate off again".to_owned(),
        Fault::OtherPolicy { stored, configured: "static" | "none" } => {
            format!("set cpuManagerPolicy to {stored:?} again")
        }
        Fault::OtherPolicy { stored, .. } => format!("set memoryManagerPolicy to {stored:?} again"),
        Fault::UnownedCpus(_) => {
            "run 'topolet state repair --apply', which gives them back to the shared pool".to_owned()
        }
        Fault::CpusGone { .. } | Fault::SharedCpusGone(_) => "bring them online again".to_owned(),
        Fault::CpusReserved { given: ReservedGiven::WithCores(cores), .. } => {
            return format!(
                "reserve whole cores: add {} to reservedSystemCPUs; then {DELETE}. Delete the pod first while the kubelet \
                 runs, and the file may stay",
                words::cpus(cores)
            );
        }
        Fault::CpusReserved { given: ReservedGiven::Before, .. } => {
            "reserve the CPUs that were reserved when the pod got its own".to_owned()
        }
        Fault::SharedCpusReserved(_, ReservedPart::All) => "turn strict-cpu-reservation off again".to_owned(),
        Fault::ReservedNotShared(_, ReservedPart::All) => {
            "turn strict-cpu-reservation on again (with an empty pool no kubelet starts with it either), or run 'topolet state \
             repair --apply', which puts them into the pool"
                .to_owned()
        }
        Fault::SharedCpusReserved(_, ReservedPart::Some)
        | Fault::ReservedNotShared(_, ReservedPart::Some) => {
            "reserve the CPUs that were reserved when the file was written".to_owned()
        }
        Fault::MemoryDrifted(differences) => match moved(differences) {
            Some(Moved::Little) => return ANOTHER_BOOT.to_owned(),
            Some(Moved::Up) => return format!("{DELETE}: the memory has grown since the file was written"),
            None => drifted(differences),
        },
        _ => return DELETE.to_owned(),
    };
    format!("{first}, or {DELETE}")
}

#[cfg(test)]
mod tests {
    use pod_spec::ResourceName;
    use topology_model::NodeId;

    use super::*;

    #[test]
    fn memory_of_another_boot_is_told_from_memory_that_is_gone() {
        const GIB: u64 = 1 << 30;
        const MIB: u64 = 1 << 20;
        let total = |resource: &str, stored, actual| BookDifference::Amount {
            node: NodeId(0),
            resource: ResourceName::new(resource),
            column: Column::Total,
            stored,
            actual,
        };
        let reserved = BookDifference::Amount {
            node: NodeId(0),
            resource: ResourceName::new("memory"),
            column: Column::SystemReserved,
            stored: GIB,
            actual: 2 * GIB,
        };
        for (differences, expected) in [
            // kubernetes#131253.
            (vec![total("memory", 135_233_794_048, 135_277_490_176)], Some(Moved::Little)),
            (vec![total("memory", 4 * GIB, 4 * GIB - 60 * MIB)], Some(Moved::Little)),
            (
                vec![total("memory", 126 * GIB, 125 * GIB), total("memory", 126 * GIB, 127 * GIB)],
                Some(Moved::Little),
            ),
            (vec![total("memory", 5_061_984_256, 5_196_201_984)], Some(Moved::Up)),
            (vec![total("memory", 126 * GIB, 120 * GIB)], None),
            (vec![total("memory", 8 * GIB, 9 * GIB), total("memory", 8 * GIB, 7 * GIB)], None),
            (vec![total("hugepages-2Mi", 8 * GIB, 8 * GIB + 2 * MIB)], None),
            (vec![total("memory", 8 * GIB, 8 * GIB + MIB), reserved], None),
            (vec![BookDifference::NodeGone(NodeId(1))], None),
        ] {
            assert_eq!(moved(&differences), expected, "{differences:?}");
        }
    }
}
