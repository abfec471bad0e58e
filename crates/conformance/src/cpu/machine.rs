//! The tables of the machines that CPU cases name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use cpuset::{CpuId, CpuSet};
use serde_json::Value;
use topology_model::{CacheId, CoreId, CpuCounts, CpuRow, CpuTable, NodeId, SocketId};

use crate::case::text;
use crate::corpus::{Corpus, read};

/// A machine as the CPU manager sees it.
pub(crate) struct Machine {
    pub(crate) cpus: CpuTable,
}

type Tables = BTreeMap<String, Value>;

/// Files that have been read, by path: thousands of cases name the same machines.
static READ: Mutex<BTreeMap<PathBuf, Arc<Tables>>> = Mutex::new(BTreeMap::new());

impl Machine {
    /// The machine `NAME`, or `NAME~off=LIST`: without these CPUs.
    pub(crate) fn named(corpus: &Corpus, name: &str) -> anyhow::Result<Self> {
        let tables = tables(corpus)?;
        let (name, off) = name.split_once("~off=").unwrap_or((name, ""));
        let table = tables.get(name).ok_or_else(|| anyhow::anyhow!("no machine {name:?}"))?;
        let off: CpuSet = off.parse()?;
        let number = |value: &Value| value.as_i64().unwrap_or_default();
        let count = |key: &str| usize::try_from(number(&table[key])).unwrap_or(0);
        let mut rows = Vec::new();
        for row in table["cpus"].as_array().into_iter().flatten() {
            rows.push(CpuRow {
                cpu: CpuId::try_from(number(&row[0]))?,
                core: CoreId(number(&row[1])),
                socket: SocketId(number(&row[2])),
                node: NodeId(number(&row[3])),
                cache: CacheId(number(&row[4])),
            });
        }
        if off.is_empty() {
            let (cpus, cores, sockets) = (count("numCPUs"), count("numCores"), count("numSockets"));
            return Ok(Self { cpus: CpuTable::from_rows(CpuCounts { cpus, cores, sockets }, rows) });
        }
        rows.retain(|row| !off.contains(row.cpu));
        // A core is known by its lowest CPU, which may be another one now.
        let mut lowest = BTreeMap::new();
        for row in &rows {
            let cpu = i64::try_from(row.cpu.get())?;
            lowest.entry(row.core).and_modify(|first: &mut i64| *first = cpu.min(*first)).or_insert(cpu);
        }
        for row in &mut rows {
            row.core = CoreId(lowest[&row.core]);
        }
        let sockets: BTreeSet<_> = rows.iter().map(|row| row.socket).collect();
        let counts = CpuCounts { cpus: rows.len(), cores: lowest.len(), sockets: sockets.len() };
        Ok(Self { cpus: CpuTable::from_rows(counts, rows) })
    }
}

fn tables(corpus: &Corpus) -> anyhow::Result<Arc<Tables>> {
    let path = corpus.data("cpu/topologies.jsonl");
    let mut known = READ.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(tables) = known.get(&path) {
        return Ok(Arc::clone(tables));
    }
    let mut tables = Tables::new();
    for line in read(&path)?.lines().filter(|line| !line.is_empty()) {
        let table: Value = serde_json::from_str(line)?;
        tables.insert(text(&table["name"]).to_owned(), table);
    }
    let tables = Arc::new(tables);
    known.insert(path, Arc::clone(&tables));
    Ok(tables)
}
