//! Whether outputs are whole, and of one machine.

use cpuset::CpuSet;

use super::tables;
use crate::error::MachineTextError;
use crate::facts::{Facts, Row};
use crate::form::Form;
use crate::machine_text::MAX_NODES;

/// Lays what a drawing has beneath the rows of a table, and checks that nothing was left out.
pub(super) fn settle(facts: &mut Facts) -> Result<(), MachineTextError> {
    if facts.rows.is_empty() {
        facts.rows = std::mem::take(&mut facts.drawn);
    }
    tables::join(facts)?;
    logged(facts)?;
    offline(facts);
    lay_drawing(facts)?;
    if facts.nodes.len() > MAX_NODES {
        return Err(MachineTextError::TooManyNodes);
    }
    let listed = |form: Form| {
        facts.nodes.values().filter(|node| node.cpus.as_ref().is_some_and(|(of, _)| *of == form)).count()
    };
    let count = |number: Option<u64>| number.and_then(|number| usize::try_from(number).ok());
    // Where both list the CPUs of a node, the later output is its source, so that lscpu's count is compared only without numactl.
    let has_numactl = facts.forms.contains(&Form::Numactl);
    let of_lscpu = count(facts.counts.nodes).filter(|_| !has_numactl && listed(Form::Lscpu) > 0);
    for (form, all, there) in [
        (Form::Numactl, facts.available_nodes, listed(Form::Numactl)),
        (Form::Lscpu, of_lscpu, listed(Form::Lscpu)),
    ] {
        if let Some(all) = all.filter(|all| *all > there && there > 0) {
            return Err(MachineTextError::LeftOut { form, what: "NUMA nodes", all, listed: there });
        }
    }
    // Tables can leave out what is offline.
    let offline = facts.counts.offline.as_ref().map_or(0, CpuSet::len);
    let (all, listed) = (count(facts.counts.cpus).unwrap_or(0), facts.rows.len());
    if facts.table() == Form::LscpuTable
        && facts.counts.online.is_none()
        && listed > 0
        && listed + offline < all
    {
        return Err(MachineTextError::LeftOut { form: Form::LscpuTable, what: "CPUs", all, listed });
    }
    Ok(())
}

/// What a kubelet logs counts where no other output lists CPUs, and else has to have the same.
fn logged(facts: &mut Facts) -> Result<(), MachineTextError> {
    if facts.logged.is_empty() {
        return Ok(());
    }
    let logged = std::mem::take(&mut facts.logged);
    if facts.rows.is_empty() {
        facts.rows = logged;
        return Ok(());
    }
    let online: CpuSet = facts.rows.iter().filter(|(_, row)| !row.is_offline).map(|(cpu, _)| *cpu).collect();
    let counted: CpuSet = logged.keys().copied().collect();
    if online != counted {
        return Err(MachineTextError::Contradiction {
            one: facts.table(),
            what: format!("online CPUs {online}"),
            other: Form::KubeletLog,
            other_what: counted.to_string(),
        });
    }
    Ok(())
}

/// A CPU that is nowhere, where others are somewhere, is offline: the word for that is in the language of who ran it.
fn offline(facts: &mut Facts) {
    if facts.rows.values().all(Row::is_nowhere) {
        return;
    }
    for row in facts.rows.values_mut().filter(|row| row.is_nowhere()) {
        row.is_offline = true;
    }
}

/// Rows have the NUMA nodes and sockets of a drawing of the same CPUs where the table has none.
fn lay_drawing(facts: &mut Facts) -> Result<(), MachineTextError> {
    if facts.drawn.is_empty() {
        return Ok(());
    }
    let online: CpuSet = facts.rows.iter().filter(|(_, row)| !row.is_offline).map(|(cpu, _)| *cpu).collect();
    let drawn: CpuSet = facts.drawn.keys().copied().collect();
    if online != drawn {
        return Err(MachineTextError::Contradiction {
            one: facts.table(),
            what: format!("online CPUs {online}"),
            other: Form::Lstopo,
            other_what: drawn.to_string(),
        });
    }
    let drawn = std::mem::take(&mut facts.drawn);
    for (cpu, drawn) in drawn {
        let Some(row) = facts.rows.get_mut(&cpu) else { continue };
        if let (Some(one), Some(other)) = (row.node, drawn.node)
            && one != other
        {
            return Err(MachineTextError::Contradiction {
                one: Form::LscpuTable,
                what: format!("CPU {cpu} on NUMA node {one}"),
                other: Form::Lstopo,
                other_what: format!("on NUMA node {other}"),
            });
        }
        row.node = row.node.or(drawn.node);
        row.socket = row.socket.or(drawn.socket);
    }
    Ok(())
}
