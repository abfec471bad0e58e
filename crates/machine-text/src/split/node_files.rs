//! Files of NUMA nodes as `grep . /sys/devices/system/node/node*/*` prints them: `PATH:CONTENT`.

use super::cpus::cpus;
use super::line::Line;
use crate::error::MachineTextError;
use crate::facts::Facts;
use crate::form::Form;

/// Whether it is the line of such a file; if so, it is read.
pub(super) fn line(line: Line<'_>, facts: &mut Facts) -> Result<bool, MachineTextError> {
    let Some((path, value)) = line.text.split_once(':') else { return Ok(false) };
    let mut names = path.rsplit('/');
    let (file, node) = (names.next().unwrap_or_default(), names.next().unwrap_or_default());
    let node = node.strip_prefix("node").and_then(|number| number.parse::<u32>().ok()).map(i64::from);
    let Some(node) = node.filter(|_| names.next() == Some("node")) else { return Ok(false) };
    let fail = |what: &str| line.error(Form::NodeFiles, format!("{:?} is no {what}", value.trim()));
    match file {
        "cpulist" => {
            facts.set_cpus(node, Form::NodeFiles, cpus(value.trim()).ok_or_else(|| fail("list of CPUs"))?)?;
        }
        "distance" => {
            let row: Option<Vec<u32>> = value.split_whitespace().map(|value| value.parse().ok()).collect();
            let row = row.filter(|row| row.iter().all(|value| *value >= 10));
            facts.distance_rows.insert(node, row.ok_or_else(|| fail("row of distances of at least 10"))?);
        }
        _ => return Ok(false),
    }
    facts.forms.insert(Form::NodeFiles);
    Ok(true)
}

/// Gives rows of distances the nodes of their columns: those that are online, in ascending order.
pub(super) fn finish(facts: &mut Facts) {
    let rows = std::mem::take(&mut facts.distance_rows);
    let ids: Vec<i64> = rows.keys().copied().collect();
    // Where some nodes have no row, it is not known which the columns are of.
    for (from, row) in rows.into_iter().filter(|(_, row)| row.len() == ids.len()) {
        facts.node(from).distances.extend(ids.iter().copied().zip(row));
    }
}
