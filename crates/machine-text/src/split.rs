//! Which output a line belongs to: a text has several of them one after the other, with prompts and sentences between.

mod counts;
mod cpus;
mod json;
mod kubelet;
mod line;
mod lspci;
mod lstopo;
mod memory;
mod node_files;
mod numactl;
mod table;

use cpuset::CpuSet;

use crate::error::MachineTextError;
use crate::facts::Facts;
use crate::form::{Form, OtherForm};
use crate::machine_text::MachineText;
use crate::{object, qemu, xml};
use line::Line;

/// What the lines before the present one have begun.
#[derive(Debug, Default)]
enum Block {
    #[default]
    Nothing,
    /// Rows of `lscpu -e`.
    Table(table::Columns),
    /// Rows of `lscpu -p`.
    Parsable(table::Columns),
    /// Objects of `lstopo`.
    Drawing(lstopo::Drawing),
    /// CPUs of a NUMA node, whose list can go on in the next line.
    NodeCpus(i64, CpuSet),
    /// Rows of distances, with the ids of their columns.
    Distances(Vec<i64>),
    /// Lines about a PCI function.
    Function,
}

/// All outputs in a text: what those of lines say, and the machine of one in XML.
pub(crate) fn outputs(text: &str) -> Result<(Facts, Option<MachineText>), MachineTextError> {
    let (mut facts, mut machine) = (Facts::default(), None);
    let mut block = Block::Nothing;
    let text = text.trim_start_matches('\u{feff}');
    let (mut rest, mut number) = (text, 0);
    while !rest.is_empty() {
        let (first, after) = rest.split_once('\n').unwrap_or((rest, ""));
        number += 1;
        let row = row_of_table(first);
        let line = printed(number, row.as_deref().unwrap_or(first));
        let read = if object::is_one(line.text, rest) {
            one(&mut machine, object::read(rest, None)?)?;
            Some(rest.len())
        } else if let Some(end) = qemu::end(first, rest) {
            one(&mut machine, qemu::read(rest.get(..end).unwrap_or_default())?)?;
            // Its last line break is that of the line which is passed over.
            Some(rest.get(..end).map_or(end, |command| command.trim_end_matches('\n').len()))
        } else if line.text.starts_with('{') {
            Some(json::read(rest, line, &mut facts)?)
        } else if let Some(end) = xml::end(line.text, rest) {
            let start = rest.find('<').unwrap_or_default();
            one(&mut machine, xml::read(rest.get(start..end).unwrap_or_default())?)?;
            Some(end)
        } else {
            None
        };
        if let Some(read) = read {
            finish(std::mem::take(&mut block), &mut facts)?;
            number += rest.get(..read).map_or(0, |part| part.matches('\n').count());
            // What is left of the last line is no output.
            rest = rest.get(read..).and_then(|rest| rest.split_once('\n')).map_or("", |(_, after)| after);
            continue;
        }
        block = self::line(line, block, &mut facts)?;
        rest = after;
    }
    finish(block, &mut facts)?;
    node_files::finish(&mut facts);
    let has_none = facts.forms.is_empty() || OtherForm::is_node_info(text) && facts.has_counts_alone();
    if has_none && machine.is_none() {
        return Err(
            OtherForm::of(text).map_or(MachineTextError::Unknown, |form| MachineTextError::Other { form })
        );
    }
    Ok((facts, machine))
}

/// Whether a line stands for others: `...`, `[snip]`, `...<snip>...`.
fn leaves_lines_out(line: &str) -> bool {
    let word = line.trim_matches(|letter: char| !letter.is_alphanumeric());
    let is_marked = line.contains("...") || line.contains('…') || line.contains(['<', '[']);
    line.len() < 40 && is_marked && (word.is_empty() || word.eq_ignore_ascii_case("snip"))
}

/// The cells of a row of a table in Markdown with two columns, as one line; `None`: it is none.
fn row_of_table(text: &str) -> Option<String> {
    let mut cells = text.trim().strip_prefix('|')?.strip_suffix('|')?.split('|').map(str::trim);
    let (name, value) = (cells.next()?, cells.next()?);
    (cells.next().is_none() && name.ends_with(':')).then(|| format!("{name} {value}"))
}

/// Takes a machine, if it is the first.
fn one(machine: &mut Option<MachineText>, read: MachineText) -> Result<(), MachineTextError> {
    match machine.replace(read) {
        Some(_) => Err(MachineTextError::TwoMachines),
        None => Ok(()),
    }
}

/// A line as it was printed, where it is quoted or commented out.
fn printed(number: usize, printed: &str) -> Line<'_> {
    let mut text = printed;
    while let Some(quoted) = text.trim_start().strip_prefix('>') {
        text = quoted.strip_prefix(' ').unwrap_or(quoted);
    }
    // The header of `lscpu -p` begins with that mark.
    let comment = text.strip_prefix("# ").filter(|_| table::parsable_header(text).is_none());
    text = comment.unwrap_or(text);
    Line { number, indent: text.len() - text.trim_start().len(), text: text.trim() }
}

/// Takes what a block has gathered.
fn finish(block: Block, facts: &mut Facts) -> Result<(), MachineTextError> {
    match block {
        Block::Drawing(drawing) => drawing.finish(facts),
        Block::NodeCpus(node, cpus) => facts.set_cpus(node, Form::Numactl, cpus),
        _ => Ok(()),
    }
}

/// Reads a line, and says what goes on after it.
fn line(line: Line<'_>, mut block: Block, facts: &mut Facts) -> Result<Block, MachineTextError> {
    // Copies of some pages have an empty line after each.
    if line.text.is_empty() {
        return Ok(block);
    }
    if let Some(form) = block.form().filter(|_| leaves_lines_out(line.text)) {
        return Err(line.error(form, "lines are left out here: it has to be whole"));
    }
    if let Some(columns) = table::parsable_header(line.text) {
        finish(block, facts)?;
        facts.begin_table();
        return Ok(Block::Parsable(columns));
    }
    if let Some(columns) = table::header(line.text) {
        finish(block, facts)?;
        facts.begin_table();
        return Ok(Block::Table(columns));
    }
    // A row of a table begins with a number too.
    if lspci::begins(line, facts) {
        finish(block, facts)?;
        return Ok(Block::Function);
    }
    if block.takes(line, facts)? {
        return Ok(block);
    }
    finish(block, facts)?;
    if lstopo::begins(line.text) {
        let mut drawing = lstopo::Drawing::default();
        drawing.add(line)?;
        return Ok(Block::Drawing(drawing));
    }
    if kubelet::line(line, facts)? {
        return Ok(Block::Nothing);
    }
    if line.text == "node distances:" {
        return Ok(Block::Distances(Vec::new()));
    }
    match numactl::line(line, facts)? {
        numactl::Read::Cpus(node, cpus) => return Ok(Block::NodeCpus(node, cpus)),
        numactl::Read::Other => {}
        numactl::Read::Nothing => {
            if !node_files::line(line, facts)? && !memory::line(line, facts)? {
                counts::line(line, facts)?;
            }
        }
    }
    Ok(Block::Nothing)
}

impl Block {
    /// The output that it is of.
    const fn form(&self) -> Option<Form> {
        match self {
            Self::Nothing => None,
            Self::Table(_) | Self::Parsable(_) => Some(Form::LscpuTable),
            Self::Drawing(_) => Some(Form::Lstopo),
            Self::NodeCpus(..) | Self::Distances(_) => Some(Form::Numactl),
            Self::Function => Some(Form::Lspci),
        }
    }

    /// Reads a line of it; whether it is one.
    fn takes(&mut self, line: Line<'_>, facts: &mut Facts) -> Result<bool, MachineTextError> {
        match self {
            Self::Table(columns) if table::is_row(line.text) => {
                // A remark of who wrote the text.
                let row = line.text.split(" #").next().unwrap_or_default();
                columns.row(line, row.split_whitespace().collect(), facts)?;
            }
            Self::Parsable(columns) if table::is_parsable_row(line.text) => {
                columns.row(line, line.text.split(',').collect(), facts)?;
            }
            // Comments stand before the header and, of some versions, after it.
            Self::Parsable(_) if line.text.starts_with('#') => {}
            Self::Drawing(drawing) => return drawing.add(line),
            Self::NodeCpus(_, cpus) => return numactl::more_cpus(line, cpus),
            Self::Distances(ids) => return numactl::distances(line, ids, facts),
            Self::Function => return Ok(lspci::more(line, facts)),
            _ => return Ok(false),
        }
        Ok(true)
    }
}
