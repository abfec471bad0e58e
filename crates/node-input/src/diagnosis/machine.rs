//! The machine of a node: its files, else what tools print of it, else what its kubelet has logged of it, else an object that
//! describes its NUMA nodes.

use support_bundle::{Document, DocumentKind, MachineFiles, MachineLine, NodeEvidence, Sourced};
use topology_discovery::SysfsTree;

use crate::machine::LoadedMachine;

/// A machine, and the files that it was read from.
pub(super) struct FoundMachine {
    pub(super) machine: LoadedMachine,
    pub(super) files: Vec<String>,
}

impl FoundMachine {
    /// The first machine that can be read. `notes` hear of those that cannot.
    pub(super) fn of(
        evidence: &mut NodeEvidence,
        zones: &[Document],
        notes: &mut Vec<String>,
    ) -> Option<Self> {
        let name = evidence.name.clone().unwrap_or_else(|| "the machine".to_owned());
        let mut failed = Vec::new();
        for Sourced { path, value } in std::mem::take(&mut evidence.machines) {
            let tree = match value {
                MachineFiles::Folder(folder) => SysfsTree::directory(folder).map_err(anyhow::Error::from),
                MachineFiles::Tree(tree) => Ok(SysfsTree::from(*tree)),
            };
            match tree.and_then(|tree| LoadedMachine::of_tree(&path, &name, &tree)) {
                Ok(machine) => {
                    let problems: Vec<String> = machine.problems.iter().map(ToString::to_string).collect();
                    if let [first, rest @ ..] = problems.as_slice() {
                        let more = if rest.is_empty() {
                            String::new()
                        } else {
                            format!(" (and {} more)", rest.len())
                        };
                        notes.push(format!("{path}: {first}{more}"));
                    }
                    return Some(Self { machine, files: vec![path] });
                }
                Err(error) => failed.push(format!("{path}: no machine is read from it: {error:#}")),
            }
        }
        let texts: Vec<_> = evidence.of_kind(DocumentKind::Machine).collect();
        // The memory of a machine alone is none, and what cAdvisor prints is one by itself.
        let is_meminfo = |text: &[u8]| text.starts_with(b"MemTotal:");
        let (of_cadvisor, of_tools): (Vec<&Document>, Vec<&Document>) =
            texts.into_iter().partition(|document| is_of_cadvisor(&document.text));
        let has_tools = of_tools.iter().any(|document| !is_meminfo(&document.text));
        let texts = if has_tools { of_tools } else { of_cadvisor };
        if !texts.is_empty() {
            let named: Vec<(&str, &[u8])> =
                texts.iter().map(|document| (document.path.as_str(), document.text.as_slice())).collect();
            match LoadedMachine::of_texts(&name, &named) {
                Ok(machine) => {
                    let files: Vec<String> = texts.iter().map(|document| document.path.clone()).collect();
                    notes.extend(machine.text.iter().flat_map(|text| text.gaps(&files.join(" and "))));
                    return Some(Self { machine, files });
                }
                Err(error) => failed.push(format!("no machine is read from text: {error:#}")),
            }
        }
        if let Some(found) = Self::logged(&name, evidence, notes, &mut failed) {
            return Some(found);
        }
        notes.extend(failed);
        let own = evidence.name.as_deref()?;
        let described = zones.iter().find_map(|document| {
            let text = std::str::from_utf8(&document.text).ok()?;
            Some((document, LoadedMachine::described(own, text)?))
        });
        let (document, machine) = described?;
        match machine {
            Ok(machine) => {
                notes.extend(machine.text.iter().flat_map(|text| text.gaps(&document.path)));
                Some(Self { machine, files: vec![document.path.clone()] })
            }
            Err(error) => {
                notes.push(format!("{}: no machine is read from it: {error}", document.path));
                None
            }
        }
    }

    /// The machine by the lines that its kubelet has logged at its last start.
    fn logged(
        name: &str,
        evidence: &NodeEvidence,
        notes: &mut Vec<String>,
        failed: &mut Vec<String>,
    ) -> Option<Self> {
        let log = evidence.logs.iter().rfind(|log| !log.machine.is_empty())?;
        let place = |line: &MachineLine| format!("{}:{}", log.path, line.place.line);
        // What cAdvisor counts is the whole, and what the CPU manager logs a part of it.
        for line in &log.machine {
            let at = place(line);
            match LoadedMachine::of_texts(name, &[(&at, line.text.as_bytes())]) {
                Ok(machine) => {
                    notes.extend(machine.text.iter().flat_map(|text| text.gaps(&at)));
                    if machine.text.is_none() {
                        notes.push(format!(
                            "the machine is as its kubelet counted it at its start ({at}), without PCI devices: `topolet capture` \
                             has these"
                        ));
                    }
                    return Some(Self { machine, files: vec![at] });
                }
                Err(error) => failed.push(format!("{at}: no machine is read from it: {error:#}")),
            }
        }
        None
    }
}

/// Whether it is the JSON of cAdvisor's `machine`.
fn is_of_cadvisor(text: &[u8]) -> bool {
    text.trim_ascii_start().starts_with(b"{") && text.windows(12).any(|part| part == b"\"num_cores\":")
}
