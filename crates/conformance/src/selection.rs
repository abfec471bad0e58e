//! A small part of the cases, evenly spaced over each kind of each file, that travels with the project.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::case::text;
use crate::corpus::{Corpus, CorpusError, read, read_error};

/// What is taken.
#[derive(Clone, Debug)]
pub struct Selection {
    /// How much of each kind in each file.
    pub share: Share,
    /// Machines whose cases are left out.
    pub without: Vec<String>,
}

/// How much is taken, whichever is reached first.
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
            let lines = text.lines().filter(|line| self.is_wanted(line));
            let lines: Vec<(&str, Value)> =
                lines.filter_map(|line| Some((line, serde_json::from_str(line).ok()?))).collect();
            // Data that cases name is taken whole.
            let is_data = lines.iter().all(|(_, value)| value.get("case").is_none());
            let taken = if is_data { (0..lines.len()).collect() } else { self.spaced(&lines) };
            if taken.is_empty() {
                continue;
            }
            let mut kept = String::new();
            for at in taken {
                let (line, value) = &lines[at];
                written += usize::from(!is_data);
                machines_of(&value["case"], &mut machines);
                kept.push_str(line);
                kept.push('\n');
            }
            let own = file.canonicalize().map_err(|error| read_error(&file, error))?;
            let place = own.strip_prefix(&source).unwrap_or(&own);
            write(&target.join(place.with_extension("").with_extension("jsonl")), &kept)?;
        }
        for machine in machines {
            // Machines of the CPU tables alone are not described by cAdvisor.
            let Ok(info) = corpus.machine_info(&machine) else { continue };
            let text = info.to_string();
            write(&target.join("admission/machines").join(format!("{machine}.json")), &text)?;
        }
        Ok(written)
    }

    /// Which lines are taken: for each kind an evenly spaced share, in the order of the file.
    fn spaced(&self, lines: &[(&str, Value)]) -> BTreeSet<usize> {
        let mut kinds: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, (_, value)) in lines.iter().enumerate() {
            kinds.entry(text(&value["case"]["kind"])).or_default().push(at);
        }
        let mut taken = BTreeSet::new();
        for places in kinds.values() {
            let step = places.len().div_ceil(self.share.cases).max(1);
            let mut bytes = 0;
            for at in places.iter().step_by(step) {
                let size = lines[*at].0.len();
                if bytes == 0 || bytes + size <= self.share.bytes {
                    bytes += size;
                    taken.insert(*at);
                }
            }
        }
        taken
    }

    /// Whether the line is on no machine that is left out.
    fn is_wanted(&self, line: &str) -> bool {
        !self.without.iter().any(|name| line.contains(&format!("\"{name}")))
    }
}

/// The machines that a case names, wherever in it; some are changed by what follows a `~`.
fn machines_of(value: &Value, machines: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match field.as_str() {
                    Some(machine) if name == "machine" => {
                        machines.extend(machine.split('~').next().map(str::to_owned));
                    }
                    _ => machines_of(field, machines),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| machines_of(item, machines)),
        _ => {}
    }
}

fn write(path: &Path, text: &str) -> Result<(), CorpusError> {
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent).map_err(|error| read_error(parent, error))?;
    fs::write(path, text).map_err(|error| read_error(path, error))
}
