//! `/proc/meminfo`, that of NUMA nodes, and numbers of huge pages as `grep .` prints them.

use topology_model::HugePages;

use super::line::Line;
use crate::error::MachineTextError;
use crate::facts::Facts;
use crate::form::Form;

/// Whether it is a line of such an output; if so, it is read.
pub(super) fn line(line: Line<'_>, facts: &mut Facts) -> Result<bool, MachineTextError> {
    if let Some((path, value)) = line.text.split_once("/nr_hugepages:") {
        return pages(line, path, value, facts);
    }
    let (node, field) = of_node(line.text);
    let Some((name, value)) = field.split_once(':') else { return Ok(false) };
    let value = value.trim();
    let kib = || {
        let number = value.strip_suffix("kB").and_then(|number| number.trim().parse::<u64>().ok());
        number.ok_or_else(|| line.error(Form::Meminfo, format!("{value:?} is no size in kB")))
    };
    match (node, name) {
        (Some(node), "MemTotal") => facts.set_memory(node, Form::Meminfo, kib()?.saturating_mul(1024))?,
        (None, "MemTotal") => facts.memory = Some(kib()?.saturating_mul(1024)),
        (None, "Hugepagesize") => facts.default_hugepage_kib = Some(kib()?),
        (None, "HugePages_Total") => {
            let number = value.parse().ok();
            let number =
                number.ok_or_else(|| line.error(Form::Meminfo, format!("{value:?} is no number")))?;
            facts.default_hugepages = Some(number);
        }
        _ => return Ok(false),
    }
    facts.forms.insert(Form::Meminfo);
    Ok(true)
}

/// `Node 0 MemTotal: ...`: the node, and the rest.
fn of_node(text: &str) -> (Option<i64>, &str) {
    let rest = text.strip_prefix("Node ").and_then(|rest| rest.split_once(' '));
    match rest.and_then(|(node, rest)| Some((node.parse::<u32>().ok()?, rest))) {
        Some((node, rest)) => (Some(node.into()), rest.trim_start()),
        None => (None, text),
    }
}

/// `/sys/devices/system/node/node0/hugepages/hugepages-1048576kB/nr_hugepages:16`
fn pages(line: Line<'_>, path: &str, value: &str, facts: &mut Facts) -> Result<bool, MachineTextError> {
    let mut names = path.rsplit('/');
    let size =
        names.next().and_then(|name| name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok());
    let node = names.nth(1).and_then(|name| name.strip_prefix("node")?.parse::<u32>().ok());
    let (Some(page_size_kib), Some(node)) = (size, node) else { return Ok(false) };
    let num_pages = value.trim().parse().ok();
    let num_pages =
        num_pages.ok_or_else(|| line.error(Form::Meminfo, format!("{value:?} is no number of pages")))?;
    facts.forms.insert(Form::Meminfo);
    let known = &mut facts.node(node.into()).hugepages;
    known.retain(|pages| pages.page_size_kib != page_size_kib);
    known.push(HugePages { page_size_kib, num_pages });
    Ok(true)
}
