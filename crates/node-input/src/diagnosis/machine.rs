//! The machine of a node: its files, else what tools print of it, else an object that describes its NUMA nodes.

use support_bundle::{Document, DocumentKind, MachineFiles, NodeEvidence, Sourced};
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
        // The memory of a machine alone is none.
        let is_meminfo = |text: &[u8]| text.starts_with(b"MemTotal:");
        if texts.iter().any(|document| !is_meminfo(&document.text)) {
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
}
