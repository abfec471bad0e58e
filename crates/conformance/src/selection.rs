//! A small part of the cases, evenly spaced over each file, that travels with the project.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::corpus::{Corpus, CorpusError, read, read_error};

/// What is taken.
#[derive(Clone, Debug)]
pub struct Selection {
    /// How much of each file.
    pub share: Share,
    /// Machines whose cases are left out.
    pub without: Vec<String>,
}

/// How much of one file is taken, whichever is reached first.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// At most so many cases.
    pub cases: usize,
    /// At most so many bytes; one case is always taken.
    pub bytes: usize,
}

impl Selection {
    /// Writes the selection of every file below `source` to the same place below `target`, with the machines that
    /// its cases name; returns how many cases there are.
    pub fn write(&self, source: &Path, target: &Path) -> Result<usize, CorpusError> {
        let (corpus, files) = Corpus::open(source)?;
        let source = source.canonicalize().map_err(|error| read_error(source, error))?;
        let (mut written, mut machines) = (0, BTreeSet::new());
        for file in files {
            let text = read(&file)?;
            // Data that cases name is taken whole.
            let is_data = !text.lines().any(|line| line.contains("\"case\":"));
            let share = if is_data { Share { cases: usize::MAX, bytes: usize::MAX } } else { self.share };
            let lines: Vec<&str> = text.lines().filter(|line| self.is_wanted(line)).collect();
            let step = lines.len().div_ceil(share.cases).max(1);
            let (mut taken, mut bytes) = (String::new(), 0);
            for line in lines.into_iter().step_by(step) {
                if bytes > 0 && bytes + line.len() > share.bytes {
                    continue;
                }
                bytes += line.len();
                written += usize::from(!is_data);
                machines.extend(machine_of(line));
                taken.push_str(line);
                taken.push('\n');
            }
            if taken.is_empty() {
                continue;
            }
            let own = file.canonicalize().map_err(|error| read_error(&file, error))?;
            let place = own.strip_prefix(&source).unwrap_or(&own);
            write(&target.join(place.with_extension("").with_extension("jsonl")), &taken)?;
        }
        for machine in machines {
            let text = corpus.machine_info(&machine)?.to_string();
            write(&target.join("admission/machines").join(format!("{machine}.json")), &text)?;
        }
        Ok(written)
    }

    /// Whether the line is on no machine that is left out.
    fn is_wanted(&self, line: &str) -> bool {
        !self.without.iter().any(|name| line.contains(&format!("\"{name}")))
    }
}

/// The machine that a case names without describing it.
fn machine_of(line: &str) -> Option<String> {
    let value: Value = serde_json::from_str(line).ok()?;
    let case = &value["case"];
    let described = ["nodes", "machineinfo", "tree"].iter().any(|field| !case[field].is_null());
    let name = case["machine"].as_str()?.split('~').next()?;
    // Machines of the CPU tables are not described by cAdvisor.
    (!described && !name.starts_with("mini-")).then(|| name.to_owned())
}

fn write(path: &Path, text: &str) -> Result<(), CorpusError> {
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent).map_err(|error| read_error(parent, error))?;
    fs::write(path, text).map_err(|error| read_error(path, error))
}
