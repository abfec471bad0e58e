//! The drawing of `lstopo` as text: an object a line, or several with `+` between them, each within the one before it and
//! within the nearest line above that is indented less. Lines of other objects, such as devices, are passed over.

use std::collections::BTreeMap;

use cpuset::{CpuId, CpuSet};

use super::line::Line;
use super::table::cache_name;
use crate::error::MachineTextError;
use crate::facts::{Facts, Row};
use crate::form::Form;
use crate::machine_text::MAX_NODES;

/// The most objects within each other; hwloc has a tenth.
const MAX_DEPTH: usize = 128;

/// The objects so far.
#[derive(Debug, Default)]
pub(super) struct Drawing {
    objects: Vec<Object>,
    /// The last object of each line that is around the next one.
    around: Vec<usize>,
    /// How many objects of each type there are.
    counts: BTreeMap<String, i64>,
    /// The last line ended within an object's row, as mail programs break it.
    is_broken: bool,
}

#[derive(Debug)]
struct Object {
    /// Blanks before its line.
    indent: usize,
    above: Option<usize>,
    depth: usize,
    kind: String,
    /// Its number among those of its type, in the order of the drawing, and that of the system.
    number: i64,
    /// The same as it is printed.
    logical: Option<i64>,
    system: Option<i64>,
    /// Memory of a NUMA node in bytes.
    memory: Option<u64>,
}

/// Whether a line begins a drawing.
pub(super) fn begins(text: &str) -> bool {
    let kind = kind(text);
    let is_numbered = text.contains("L#") || text.contains("P#");
    match kind {
        "Machine" => text == kind || text.contains(['(', '#', '+']),
        "Package" | "Socket" | "NUMANode" | "Die" => is_numbered,
        _ => kind.starts_with("Group") && is_numbered,
    }
}

/// The type of a line's first object, without what `lstopo` has in parentheses behind it: `Block(Disk)`.
fn kind(text: &str) -> &str {
    text.split([' ', '(', '[', ':', '+']).next().unwrap_or_default()
}

impl Drawing {
    /// Adds a line, if it is of the drawing: it is within the first one, or goes on with what was broken.
    pub(super) fn add(&mut self, line: Line<'_>) -> Result<bool, MachineTextError> {
        let Some(first) = self.objects.first() else {
            self.objects(line.text, line, line.indent, None)?;
            return Ok(true);
        };
        let begins_broken = line.text.strip_prefix('+');
        if let (Some(last), true) = (self.objects.last(), self.is_broken || begins_broken.is_some()) {
            let (indent, above) = (last.indent, self.objects.len() - 1);
            self.objects(begins_broken.unwrap_or(line.text), line, indent, Some(above))?;
            return Ok(true);
        }
        if line.indent <= first.indent && !begins(line.text) {
            return Ok(false);
        }
        while let Some(last) = self.around.last().and_then(|at| self.objects.get(*at))
            && last.indent >= line.indent
        {
            self.around.pop();
        }
        let above = self.around.last().copied();
        self.objects(line.text, line, line.indent, above)?;
        Ok(true)
    }

    /// Adds the objects of a line.
    fn objects(
        &mut self,
        text: &str,
        line: Line<'_>,
        indent: usize,
        mut above: Option<usize>,
    ) -> Result<(), MachineTextError> {
        let whole = text.trim_end_matches('+').trim_end();
        self.is_broken = whole.len() < text.len();
        for part in whole.split(" + ") {
            let depth = above.and_then(|at| self.objects.get(at)).map_or(0, |above| above.depth + 1);
            if depth > MAX_DEPTH {
                return Err(
                    line.error(Form::Lstopo, format!("more than {MAX_DEPTH} objects within each other"))
                );
            }
            let kind = kind(part.trim()).to_owned();
            let count = self.counts.entry(kind.clone()).or_default();
            let (number, memory) = (*count, memory(part));
            *count += 1;
            let (logical, system) = (numbered(part, "L#"), numbered(part, "P#"));
            self.objects.push(Object { indent, above, depth, kind, number, logical, system, memory });
            above = Some(self.objects.len() - 1);
        }
        self.around.extend(above);
        Ok(())
    }

    /// Makes facts of the drawing, once it has ended.
    pub(super) fn finish(self, facts: &mut Facts) -> Result<(), MachineTextError> {
        let mut below = vec![CpuSet::new(); self.objects.len()];
        for (at, cpu) in self.cpus() {
            for above in self.around(at).skip(1) {
                below.get_mut(above).map(|cpus| cpus.insert(cpu));
            }
            if self.objects.get(at).is_some_and(|object| object.above.is_none()) {
                return Err(MachineTextError::Indentation);
            }
        }
        if self.cpus().next().is_none() {
            return Err(MachineTextError::NoCpus { form: Form::Lstopo });
        }
        self.must_be_whole()?;
        // A node lies within the CPUs that are near it, or around them.
        let mut nodes: Vec<(usize, i64, CpuSet)> = Vec::new();
        let has_memory =
            self.objects.iter().any(|object| object.kind == "NUMANode" && object.memory.is_some());
        for (at, object) in self.objects.iter().enumerate().filter(|(_, object)| object.kind == "NUMANode") {
            let id = object.system.unwrap_or(object.number);
            let near = self.around(at).find_map(|at| below.get(at).filter(|cpus| !cpus.is_empty()));
            let near = near.cloned().unwrap_or_default();
            nodes.push((near.len(), id, near));
            // One without an amount has none, where others have.
            facts.node(id).rough_memory = object.memory.or(has_memory.then_some(0));
        }
        if nodes.len() > MAX_NODES {
            return Err(MachineTextError::TooManyNodes);
        }
        // Of several nodes near a CPU the nearest has it, and of equal ones the lowest.
        nodes.sort_by_key(|(count, id, _)| (*count, *id));
        for (at, cpu) in self.cpus() {
            let node = nodes.iter().find(|(.., cpus)| cpus.contains(cpu)).map(|(_, id, _)| *id);
            let mut row = Row { node, ..Row::default() };
            for above in self.around(at).filter_map(|at| self.objects.get(at)) {
                match above.kind.as_str() {
                    "Core" => row.core = Some(above.number),
                    "Package" | "Socket" => row.socket = Some(above.number),
                    kind => {
                        if let Some(cache) = cache_name(kind.strip_suffix("Cache").unwrap_or(kind)) {
                            row.caches.insert(cache, above.number);
                        }
                    }
                }
            }
            facts.add_row(Form::Lstopo, cpu, row)?;
        }
        Ok(())
    }

    /// Logical numbers begin at 0 and have no gaps: where CPUs are missing, lines are left out.
    fn must_be_whole(&self) -> Result<(), MachineTextError> {
        let logical: Vec<i64> =
            self.objects.iter().filter(|own| own.kind == "PU").filter_map(|own| own.logical).collect();
        let all = logical.iter().max().map_or(0, |last| last + 1);
        let all = usize::try_from(all).unwrap_or(usize::MAX);
        if all > logical.len() {
            let listed = logical.len();
            return Err(MachineTextError::LeftOut { form: Form::Lstopo, what: "CPUs", all, listed });
        }
        Ok(())
    }

    fn cpus(&self) -> impl Iterator<Item = (usize, CpuId)> {
        let units = self.objects.iter().enumerate().filter(|(_, object)| object.kind == "PU");
        units.filter_map(|(at, object)| Some((at, CpuId::new(usize::try_from(object.system?).ok()?).ok()?)))
    }

    /// An object and those that it lies in, from the inside out.
    fn around(&self, at: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(at), |at| self.objects.get(*at)?.above)
    }
}

/// Words of an object: `NUMANode L#0 (P#0 local=124GB total=124GB)`.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split([' ', '(', ')', ','])
}

/// `L#0`, `P#0`
fn numbered(text: &str, mark: &str) -> Option<i64> {
    words(text).find_map(|word| word.strip_prefix(mark)?.parse::<u32>().ok().map(i64::from))
}

/// `124GB`, `local=124GB`, `124GiB`: units of 1024.
fn memory(text: &str) -> Option<u64> {
    const UNITS: [(&str, u32); 8] =
        [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40), ("KB", 10), ("MB", 20), ("GB", 30), ("TB", 40)];
    words(text).find_map(|word| {
        let amount = word.strip_prefix("local=").unwrap_or(word);
        UNITS
            .iter()
            .find_map(|(unit, shift)| amount.strip_suffix(unit)?.parse::<u64>().ok()?.checked_mul(1 << shift))
    })
}
