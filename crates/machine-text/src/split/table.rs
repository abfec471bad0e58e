//! Rows of `lscpu -e` and `lscpu -p`: one for each CPU.

use std::collections::BTreeMap;

use cpuset::CpuId;
use topology_model::CacheKind;

use super::line::Line;
use crate::error::MachineTextError;
use crate::facts::{CacheName, Facts, Row};
use crate::form::Form;

/// The columns of a table, in the order in which they are printed.
#[derive(Debug)]
pub(super) struct Columns(Vec<Column>);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Column {
    Cpu,
    Core,
    Socket,
    Book,
    Drawer,
    Node,
    Online,
    /// Caches with `:` between them.
    Caches(Vec<CacheName>),
    /// A value that has blanks.
    ModelName,
    /// Nothing that is needed.
    Other,
}

impl Column {
    fn of(name: &str) -> Option<Self> {
        let upper = name.to_ascii_uppercase();
        Some(match upper.as_str() {
            "CPU" => Self::Cpu,
            "CORE" => Self::Core,
            "SOCKET" => Self::Socket,
            "BOOK" => Self::Book,
            "DRAWER" => Self::Drawer,
            "NODE" => Self::Node,
            "ONLINE" => Self::Online,
            "MODELNAME" => Self::ModelName,
            _ => match name.split(':').map(cache_name).collect::<Option<_>>() {
                Some(caches) => Self::Caches(caches),
                // Each version has more of them: MHZ, POLARIZATION, MICROCODE.
                None if is_name(name) => Self::Other,
                None => return None,
            },
        })
    }
}

/// Whether it can be the name of a column.
fn is_name(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || "%_-".contains(c);
    // The tables with commas, and the keys in JSON, are not in capitals.
    let is_word = |letters: &str| letters.chars().all(|c| c.is_ascii_alphanumeric() || "%_-()".contains(c));
    !name.is_empty() && (name.chars().all(is_letter) || is_word(name) && name.len() <= 16)
}

/// `L1d`, `L2`.
pub(super) fn cache_name(name: &str) -> Option<CacheName> {
    let level = name.strip_prefix(['L', 'l'])?;
    let (digits, kind) = match level.strip_suffix(['d', 'i', 'D', 'I']) {
        Some(digits) if level.ends_with(['d', 'D']) => (digits, CacheKind::Data),
        Some(digits) => (digits, CacheKind::Instruction),
        None => (level, CacheKind::Unified),
    };
    Some((digits.parse().ok().filter(|level| (1..=9).contains(level))?, kind))
}

/// The columns of `lscpu -e`, if a line names them.
pub(super) fn header(text: &str) -> Option<Columns> {
    // A sentence can begin with that word.
    let is_header = text.split_whitespace().all(|word| {
        word.contains(':')
            || word.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || "%_-".contains(c))
            || cache_name(word).is_some()
    });
    is_header.then(|| columns(text.split_whitespace())).flatten()
}

/// The columns of `lscpu -p`, if a line names them: `# CPU,Core,Socket,Node,,L1d,L1i,L2,L3`.
pub(super) fn parsable_header(text: &str) -> Option<Columns> {
    let names = text.strip_prefix('#')?.trim().split(',');
    // An empty column stands before the caches.
    columns(names.map(|name| if name.is_empty() { "ADDRESS" } else { name }))
}

fn columns<'a>(names: impl Iterator<Item = &'a str>) -> Option<Columns> {
    let columns: Vec<Column> = names.map(Column::of).collect::<Option<_>>()?;
    let has_place = columns.iter().any(|column| !matches!(column, Column::Cpu | Column::Other));
    (has_place && columns.contains(&Column::Cpu)).then_some(Columns(columns))
}

/// Whether a line in a table is one of its rows.
pub(super) fn is_row(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit() || first == '-')
}

/// Whether a line in a table with commas is one of its rows.
pub(super) fn is_parsable_row(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit()) && text.contains(',')
}

impl Columns {
    /// Columns by the keys of an object of `lscpu --json`.
    pub(super) fn of_keys<'a>(names: impl Iterator<Item = &'a str>) -> Option<Self> {
        columns(names)
    }

    /// Adds a row.
    pub(super) fn row(
        &self,
        line: Line<'_>,
        values: Vec<&str>,
        facts: &mut Facts,
    ) -> Result<(), MachineTextError> {
        let mut values = self.one_each(values);
        // Of a CPU without the last caches the table with commas has fewer values.
        if values.len() < self.0.len()
            && self.0.iter().skip(values.len()).all(|column| matches!(column, Column::Caches(_)))
        {
            values.resize(self.0.len(), "");
        }
        if values.len() != self.0.len() {
            let reason = format!("{} values in a table of {} columns", values.len(), self.0.len());
            return Err(line.error(Form::LscpuTable, reason));
        }
        let (mut cpu, mut row) = (None, Row::default());
        for (column, value) in self.0.iter().zip(values) {
            let number = || number(line, value);
            match column {
                Column::Cpu => cpu = number()?,
                Column::Core => row.core = number()?,
                Column::Socket => row.socket = number()?,
                Column::Book => row.book = number()?,
                Column::Drawer => row.drawer = number()?,
                Column::Node => row.node = number()?,
                Column::Online => {
                    row.is_offline = matches!(value.to_ascii_lowercase().as_str(), "no" | "n" | "false");
                }
                Column::Caches(names) => row.caches.extend(caches(line, names, value)?),
                Column::ModelName | Column::Other => {}
            }
        }
        let cpu = cpu.and_then(|number| CpuId::try_from(number).ok());
        let cpu = cpu.ok_or_else(|| line.error(Form::LscpuTable, "a row has no number of a CPU"))?;
        facts.add_row(Form::LscpuTable, cpu, row)
    }

    /// The values, of which those of the model's name are one.
    fn one_each<'a>(&self, mut values: Vec<&'a str>) -> Vec<&'a str> {
        let more = values.len().saturating_sub(self.0.len());
        if let Some(at) = self.0.iter().position(|column| *column == Column::ModelName)
            && more > 0
        {
            values.drain(at + 1..=at + more);
        }
        values
    }
}

/// A number, where the machine has it.
fn number(line: Line<'_>, value: &str) -> Result<Option<i64>, MachineTextError> {
    if matches!(value, "" | "-") {
        return Ok(None);
    }
    let number = value.parse().ok().filter(|number| (-1..=i64::from(u32::MAX)).contains(number));
    number.map(Some).ok_or_else(|| line.error(Form::LscpuTable, format!("{value:?} is no number")))
}

/// Numbers of caches: `0:0:0:0`.
fn caches(
    line: Line<'_>,
    names: &[CacheName],
    value: &str,
) -> Result<BTreeMap<CacheName, i64>, MachineTextError> {
    let mut caches = BTreeMap::new();
    // A cache that a CPU lacks is left out without a mark: which one of them it is, is not known then.
    if value == "-" || value.split(':').count() != names.len() {
        return Ok(caches);
    }
    for (name, value) in names.iter().zip(value.split(':')) {
        if let Some(number) = number(line, value)? {
            caches.insert(*name, number);
        }
    }
    Ok(caches)
}
