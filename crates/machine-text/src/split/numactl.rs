//! `numactl --hardware`.

use cpuset::CpuSet;

use super::cpus::cpus;
use super::line::Line;
use crate::error::MachineTextError;
use crate::facts::Facts;
use crate::form::Form;

/// What a line is.
pub(super) enum Read {
    /// None of that output.
    Nothing,
    /// The CPUs of a node, whose list can go on.
    Cpus(i64, CpuSet),
    /// Another of it.
    Other,
}

/// Reads a line, if it is one of that output.
pub(super) fn line(line: Line<'_>, facts: &mut Facts) -> Result<Read, MachineTextError> {
    if let Some(available) = line.text.strip_prefix("available: ").filter(|rest| rest.contains(" node")) {
        facts.forms.insert(Form::Numactl);
        facts.available_nodes = available.split(' ').next().and_then(|count| count.parse().ok());
        return Ok(Read::Other);
    }
    let Some((node, what, value)) = of_node(line.text) else { return Ok(Read::Nothing) };
    facts.forms.insert(Form::Numactl);
    match what {
        "cpus" => {
            if value.contains("...") || value.contains('…') {
                return Err(line.error(Form::Numactl, "CPUs are left out here: it has to be whole"));
            }
            let listed = cpus(value).ok_or_else(|| no_list(line, value))?;
            return Ok(Read::Cpus(node, listed));
        }
        "size" if value != "<not available>" => {
            let mebibytes = value.strip_suffix("MB").and_then(|number| number.trim().parse::<u64>().ok());
            let bytes = mebibytes.and_then(|mebibytes| mebibytes.checked_mul(1 << 20));
            let bytes =
                bytes.ok_or_else(|| line.error(Form::Numactl, format!("{value:?} is no size in MB")))?;
            facts.set_memory(node, Form::Numactl, bytes)?;
        }
        // What is free changes from one moment to the next.
        _ => {}
    }
    Ok(Read::Other)
}

fn no_list(line: Line<'_>, value: &str) -> MachineTextError {
    line.error(Form::Numactl, format!("{value:?} is no list of CPUs"))
}

/// Whether a line goes on with a list of CPUs; if so, it is read.
pub(super) fn more_cpus(line: Line<'_>, known: &mut CpuSet) -> Result<bool, MachineTextError> {
    if !line.text.chars().all(|c| c.is_ascii_digit() || c == ' ') {
        return Ok(false);
    }
    *known |= &cpus(line.text).ok_or_else(|| no_list(line, line.text))?;
    Ok(true)
}

/// `node 0 size: 64405 MB`: the node, what of it, and how much.
fn of_node(text: &str) -> Option<(i64, &str, &str)> {
    let (head, value) = text.strip_prefix("node ")?.split_once(':')?;
    let (node, what) = head.split_once(' ')?;
    let node = node.parse::<u32>().ok()?;
    ["cpus", "size", "free"].contains(&what).then_some((node.into(), what, value.trim()))
}

/// Reads a line below `node distances:`, whose columns are `ids` once they are known; whether it is one.
pub(super) fn distances(
    line: Line<'_>,
    ids: &mut Vec<i64>,
    facts: &mut Facts,
) -> Result<bool, MachineTextError> {
    if let Some(header) = line.text.strip_prefix("node ").filter(|_| ids.is_empty()) {
        let columns = header.split_whitespace().map(|id| id.parse::<u32>().ok().map(i64::from));
        *ids = columns.collect::<Option<_>>().unwrap_or_default();
        return Ok(!ids.is_empty());
    }
    let row = line.text.split_once(':').and_then(|(id, row)| Some((id.trim().parse::<u32>().ok()?, row)));
    let Some((from, row)) = row.filter(|_| !ids.is_empty()) else { return Ok(false) };
    let values: Option<Vec<u32>> = row.split_whitespace().map(|value| value.parse().ok()).collect();
    let values = values.filter(|values| values.len() == ids.len() && values.iter().all(|value| *value >= 10));
    let values = values.ok_or_else(|| {
        line.error(Form::Numactl, format!("expected {} distances of at least 10", ids.len()))
    })?;
    facts.forms.insert(Form::Numactl);
    facts.node(from.into()).distances.extend(ids.iter().copied().zip(values));
    Ok(true)
}
