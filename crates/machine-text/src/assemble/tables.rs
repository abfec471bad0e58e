//! Several tables of one machine: `lscpu -p` beside `lscpu -p --physical` numbers the same cores and caches otherwise.

use std::collections::BTreeMap;

use cpuset::CpuId;

use crate::error::MachineTextError;
use crate::facts::{CacheName, Facts, Row};

type Table = BTreeMap<CpuId, Row>;

/// Makes one table of all: the first, with what the others have beside it. They have to put the same CPUs together.
pub(super) fn join(facts: &mut Facts) -> Result<(), MachineTextError> {
    let last = std::mem::take(&mut facts.rows);
    let form = facts.table();
    let mut tables: Vec<Table> = std::mem::take(&mut facts.tables).into_iter().chain([last]).collect();
    tables.retain(|table| !table.is_empty());
    let fits = |table: &Table| facts.counts.threads.is_none_or(|threads| largest_core(table) <= threads);
    // The firmware's numbers of cores can begin anew in each part of a package.
    if tables.iter().any(fits) {
        tables.retain(fits);
    }
    let mut tables = tables.into_iter();
    let mut whole = tables.next().unwrap_or_default();
    for table in tables {
        let are_alike = group_alike(&whole, &table);
        for (cpu, row) in table {
            let Some(known) = whole.get(&cpu) else {
                whole.insert(cpu, row);
                continue;
            };
            let joined = match known.with(&row) {
                Ok(joined) => joined,
                Err(_) if are_alike => known.clone(),
                Err([what, other_what]) => {
                    return Err(MachineTextError::Contradiction {
                        one: form,
                        what: format!("CPU {cpu} in {what}"),
                        other: form,
                        other_what: format!("in {other_what}"),
                    });
                }
            };
            whole.insert(cpu, joined);
        }
    }
    facts.rows = whole;
    Ok(())
}

/// How many CPUs the core with the most of them has.
fn largest_core(table: &Table) -> u64 {
    let mut cores: BTreeMap<[Option<i64>; 5], u64> = BTreeMap::new();
    for row in table.values().filter(|row| row.core.is_some()) {
        *cores.entry([row.drawer, row.book, row.socket, row.node, row.core]).or_default() += 1;
    }
    cores.into_values().max().unwrap_or(0)
}

/// Whether two tables list the same CPUs on the same NUMA nodes, and put the same of them into cores, packages and caches.
fn group_alike(one: &Table, other: &Table) -> bool {
    let names: Vec<CacheName> = one.values().flat_map(|row| row.caches.keys().copied()).collect();
    let by = |part: &dyn Fn(&Row) -> Option<Vec<Option<i64>>>| are_renamed(one, other, part);
    one.keys().eq(other.keys())
        && one.iter().all(|(cpu, row)| other.get(cpu).is_some_and(|other| row.node == other.node))
        && by(&|row| row.core.map(|core| vec![row.drawer, row.book, row.socket, Some(core)]))
        && by(&|row| row.socket.map(|socket| vec![row.drawer, row.book, Some(socket)]))
        && names.iter().all(|name| by(&|row| row.caches.get(name).map(|id| vec![Some(*id)])))
}

/// Whether what a part of one table is called has one name in the other, and the other way round.
fn are_renamed(one: &Table, other: &Table, part: &dyn Fn(&Row) -> Option<Vec<Option<i64>>>) -> bool {
    let (mut there, mut back) = (BTreeMap::new(), BTreeMap::new());
    one.iter().all(|(cpu, row)| match (part(row), other.get(cpu).and_then(part)) {
        (Some(own), Some(others)) => {
            *there.entry(own.clone()).or_insert_with(|| others.clone()) == others
                && *back.entry(others).or_insert_with(|| own.clone()) == own
        }
        _ => true,
    })
}
