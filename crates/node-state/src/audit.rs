//! What is wrong with a folder from a kubelet's point of view.
//!
//! The faults are those that a repair would find, so a check and a repair never judge a file differently. What
//! concerns only a repair is left out: its assumptions about an unreadable file, and pods' own files. The
//! kubelet's reaction is added. It refuses to start from one file at a time, and it does not look for
//! everything that is wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kubelet_checkpoint::pods::PodFile;
use kubelet_checkpoint::store::StateFile;
use topology_admission::{Node, RestoreError};

use crate::fault::{Fault, Finding, Weight};
use crate::folder::StateFolder;
use crate::repair::PodList;
use crate::start::StartError;

/// The faults of a folder, most harmful first, and the files from which a kubelet does not start.
#[derive(Clone, Debug, Default)]
pub struct Audit {
    /// The faults.
    pub findings: Vec<Finding>,
    refusals: BTreeMap<&'static str, Arc<StartError>>,
}

impl Audit {
    /// Why a kubelet does not start from the file at a path; `None`: it starts.
    #[must_use]
    pub fn refusal(&self, path: &Path) -> Option<&StartError> {
        let mut refusals = self.refusals.iter();
        refusals.find(|(file, _)| Path::new(file) == path).map(|(_, error)| error.as_ref())
    }

    /// Whether a finding explains why the kubelet refuses its file.
    fn is_explained(&self, file: &str) -> bool {
        let mut own = self.findings.iter().filter(|finding| finding.file == Path::new(file));
        own.any(|finding| {
            matches!(finding.fault.weight(), Weight::WholeFile | Weight::IfRefused)
                || matches!(finding.fault, Fault::OtherPolicy { .. })
        })
    }
}

impl StateFolder {
    /// What is wrong with the state files on a node that is as strict as the kubelet.
    #[must_use]
    pub fn audit(&self, node: &Node, pods: &PodList) -> Audit {
        let unknown = self.unknown();
        let mut readable = self.clone();
        for file in &unknown {
            match file.file {
                StateFile::Cpu => readable.cpu = None,
                StateFile::Memory => readable.memory = None,
                StateFile::Device => readable.device = None,
            }
        }
        let mut audit = Audit { findings: Vec::new(), refusals: self.refusals(node) };
        let unknown = unknown.into_iter().map(|unknown| Finding {
            file: PathBuf::from(unknown.file.path()),
            fault: Fault::UnknownFormat(unknown.format),
        });
        let planned = readable.plan(node, pods).findings.into_iter().map(|repair| repair.finding);
        let all: Vec<Finding> = unknown.chain(planned).collect();
        let unusable: BTreeSet<PathBuf> = all
            .iter()
            .filter(|finding| finding.fault.weight() == Weight::WholeFile)
            .map(|finding| finding.file.clone())
            .collect();
        for finding in all {
            let is_kept = match finding.fault.weight() {
                Weight::WholeFile => true,
                Weight::Fault => !unusable.contains(&finding.file),
                Weight::IfRefused => {
                    !unusable.contains(&finding.file) && audit.refusal(&finding.file).is_some()
                }
                Weight::RepairOnly => false,
            };
            if is_kept {
                audit.findings.extend(one_by_one(finding));
            }
        }
        for (file, error) in audit.refusals.clone() {
            if !audit.is_explained(file) {
                let fault = match error.uneven_pages() {
                    Some(uneven) => Fault::UnevenPages(uneven.clone()),
                    None if error.is_full_node() => Fault::FullNode,
                    None => Fault::Rejected(error),
                };
                audit.findings.push(Finding { file: PathBuf::from(file), fault });
            }
        }
        audit.findings.sort_by_key(|finding| finding.fault.kind());
        audit
    }

    /// The files from which a kubelet does not start. Without the file of devices it starts.
    fn refusals(&self, node: &Node) -> BTreeMap<&'static str, Arc<StartError>> {
        let memory = self.strict_memory(node).and_then(|stored| match node.memory().zip(stored) {
            Some((policy, stored)) => {
                policy.restore(&stored).map(|_| ()).map_err(|error| RestoreError::from(error).into())
            }
            None => Ok(()),
        });
        let cpus = self.strict_cpus(node).map(|_| ());
        let [allocated, actuated] = PodFile::ALL.map(|file| self.strict_pods(node, file).map(|_| ()));
        let all = [
            (PodFile::Allocated.path(), allocated),
            (PodFile::Actuated.path(), actuated),
            (StateFile::Cpu.path(), cpus),
            (StateFile::Memory.path(), memory),
        ];
        all.into_iter().filter_map(|(file, started)| Some((file, Arc::new(started.err()?)))).collect()
    }
}

/// Each oddity of a file as a finding.
fn one_by_one(finding: Finding) -> Vec<Finding> {
    let Finding { file, fault: Fault::Odd(oddities) } = finding else { return vec![finding] };
    let each = oddities.into_iter();
    each.map(|oddity| Finding { file: file.clone(), fault: Fault::Odd(vec![oddity]) }).collect()
}
