//! The faults of state files as `topolet state check` prints them: what is wrong, what the kubelet does about it, and
//! what helps.

use std::path::Path;

use kubelet_checkpoint::store::StateFile;
use kubelet_release::Fault as Upstream;
use topology_admission::Node;

use crate::audit::Audit;
use crate::books::{BookDifference, Column};
use crate::fault::{Fault, Finding, Reaction, ReservedGiven, Scope};
use crate::files;
use crate::finding_line::{FindingLine, Problem};
use crate::folder::StateFolder;
use crate::names::PodNames;
use crate::quarantine::{QUARANTINE, Quarantine, Quarantined};
use crate::start::StartError;

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
            fault => (fault.scope() == Scope::Files).then_some(Self { fault, ..self }),
        }
    }
}

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
        problem: finding.fault.problem(),
        file: finding.file.display().to_string(),
        what: finding.fault.to_string(),
        kubelet: kubelet(finding, audit) + &page,
        fault: upstream,
        help: finding.fault.help(&finding.file),
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

/// What the kubelet does about it, in its own words where it refuses to start.
fn kubelet(finding: &Finding, audit: &Audit) -> String {
    let is_of_devices = finding.file == Path::new(StateFile::Device.path());
    let otherwise = match finding.fault.reaction() {
        Reaction::Does(this) => return this.to_owned(),
        Reaction::CannotParse(_) if is_of_devices => return STARTS_EMPTY.to_owned(),
        Reaction::CannotParse(this) | Reaction::Refuses(this) => this,
    };
    match audit.refusal(&finding.file) {
        Some(refusal @ StartError::Pods(..)) => format!("panics when it starts: {refusal}"),
        Some(refusal) => format!("does not start: {refusal}"),
        None => otherwise.to_owned(),
    }
}
