//! A command line of QEMU: `-smp`, `-m`, `-numa` and `-object memory-backend-…` of it.

mod options;
mod smp;
mod words;

use std::collections::BTreeMap;

use cpuset::{CpuId, CpuSet};

use crate::error::MachineTextError;
use crate::form::Form;
use crate::guest::{Cell, Guest};
use crate::machine_text::MachineText;
use options::Options;

/// Where a command line of QEMU ends that begins in the first line of a text; `None`: none does.
pub(crate) fn end(first: &str, text: &str) -> Option<usize> {
    if first.trim_start().starts_with('#') || !first.to_ascii_lowercase().contains("qemu") {
        return None;
    }
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        end += line.len();
        if !line.trim_end().ends_with('\\') {
            break;
        }
    }
    let command = text.get(..end)?;
    let is_started = words::words(command).iter().any(|word| is_program(word));
    let has_option =
        command.split_whitespace().any(|word| matches!(word, "-smp" | "--smp" | "-numa" | "-m" | "--m"));
    (is_started && has_option).then_some(end)
}

fn is_program(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or_default();
    let is_variable = || word.starts_with('$') && word.to_ascii_lowercase().contains("qemu");
    name.starts_with("qemu-system-") || matches!(name, "qemu-kvm" | "qemu") || is_variable()
}

/// Reads a machine from a command line.
pub(crate) fn read(command: &str) -> Result<MachineText, MachineTextError> {
    let words = words::words(command);
    let arguments: Vec<&str> =
        words.iter().skip_while(|word| !is_program(word)).skip(1).map(String::as_str).collect();
    let mut machine = Definition::default();
    for pair in arguments.windows(2) {
        let [option, value] = pair else { continue };
        if !option.starts_with('-') {
            continue;
        }
        let name = option.trim_start_matches('-');
        if matches!(name, "smp" | "m" | "numa") || name == "object" && value.contains("memory-backend") {
            machine.add(name, value)?;
        }
    }
    machine.guest()?.machine()
}

/// What the options say.
#[derive(Debug, Default)]
struct Definition {
    smp: Option<Options>,
    memory: Option<u64>,
    /// Sizes of memory backends by id.
    backends: BTreeMap<String, u64>,
    cells: BTreeMap<i64, Cell>,
    /// The backends of nodes.
    backed: BTreeMap<i64, String>,
    /// CPUs by where they are, and their node.
    placed: Vec<(Options, i64)>,
}

const MEBI: u64 = 1 << 20;

fn wrong(option: &str, value: &str, reason: &str) -> MachineTextError {
    let reason = if value.contains('$') {
        format!(
            "-{option} {value} is filled in by a shell: `ps -ww -C qemu-system-x86_64 -o args` on the host prints it as it runs"
        )
    } else {
        format!("-{option} {value}: {reason}")
    };
    MachineTextError::Definition { form: Form::Qemu, reason }
}

impl Definition {
    fn add(&mut self, option: &str, value: &str) -> Result<(), MachineTextError> {
        let fail = |reason: &str| wrong(option, value, reason);
        if value.contains('$') {
            return Err(fail(""));
        }
        let options = Options::read(value).ok_or_else(|| fail("expected KEY=VALUE with commas between"))?;
        match option {
            "smp" => self.smp = Some(options),
            "m" => {
                let size = options.get("size").or(options.first());
                self.memory = Some(
                    size.and_then(|size| options::size(size, MEBI)).ok_or_else(|| fail("expected a size"))?,
                );
            }
            "object" => {
                let size = options.get("size").and_then(|size| options::size(size, 1));
                if let (Some(id), Some(size)) = (options.get("id"), size) {
                    self.backends.insert(id.to_owned(), size);
                }
            }
            _ => match options.first() {
                Some("node") => {
                    self.node(&options).ok_or_else(|| fail("expected nodeid, cpus, mem and memdev"))?;
                }
                Some("dist") => {
                    self.distance(&options).ok_or_else(|| fail("expected src, dst and val"))?;
                }
                Some("cpu") => {
                    let node = options.number("node-id").ok_or_else(|| fail("expected node-id"))?;
                    self.placed.push((options, node));
                }
                // Latency and bandwidth.
                _ => {}
            },
        }
        Ok(())
    }

    fn node(&mut self, options: &Options) -> Option<()> {
        let next = self.cells.keys().next_back().map_or(0, |last| last + 1);
        let id = options.get("nodeid").map_or(Some(next), |id| id.parse::<u32>().ok().map(i64::from))?;
        let mut cell = Cell::default();
        for list in options.all("cpus") {
            cell.cpus |= &CpuSet::from_kernel_list(list).ok()?;
        }
        if let Some(size) = options.get("mem") {
            cell.memory = Some(options::size(size, MEBI)?);
        }
        self.backed.extend(options.get("memdev").map(|memdev| (id, memdev.to_owned())));
        self.cells.insert(id, cell);
        Some(())
    }

    fn distance(&mut self, options: &Options) -> Option<()> {
        let (from, to) = (options.number("src")?, options.number("dst")?);
        let value = options.get("val")?.parse().ok()?;
        self.cells.get_mut(&from)?.distances.insert(to, value);
        Some(())
    }

    fn guest(mut self) -> Result<Guest, MachineTextError> {
        let mut assumed = Vec::new();
        let smp = self.smp.as_ref().map_or("", |smp| smp.text.as_str());
        let counted = smp::read(self.smp.as_ref(), &mut assumed);
        let (cpus, levels) = counted.ok_or_else(|| {
            let reason = "expected counts whose product is the number of CPUs";
            wrong("smp", smp, reason)
        })?;
        for (id, memdev) in &self.backed {
            let size = self.backends.get(memdev).copied();
            let size = size.ok_or_else(|| {
                let reason = format!("-object with id={memdev} and a size is missing");
                MachineTextError::Definition { form: Form::Qemu, reason }
            })?;
            if let Some(cell) = self.cells.get_mut(id) {
                cell.memory = Some(size);
            }
        }
        for (place, node) in &self.placed {
            let Some(cell) = self.cells.get_mut(node) else { continue };
            cell.cpus |= &smp::placed(place, levels);
        }
        let count = u64::try_from(self.cells.len()).unwrap_or(u64::MAX);
        if count > 1 && self.cells.values().all(|cell| cell.memory.is_none()) {
            let share = self.memory.map(|memory| memory / count);
            self.cells.values_mut().for_each(|cell| cell.memory = share);
            assumed.push("each NUMA node is taken to have the same share of memory".to_owned());
        } else if count > 1 {
            // A node without memory has neither size nor backend.
            self.cells.values_mut().for_each(|cell| cell.memory = cell.memory.or(Some(0)));
        }
        let online = (0..cpus).map_while(|cpu| CpuId::new(cpu).ok()).collect();
        let memory = self.memory;
        Ok(Guest { form: Form::Qemu, online, levels, cells: self.cells, memory, assumed })
    }
}
