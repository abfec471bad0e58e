//! Machines in one line.

use cpuset::{CpuId, CpuSet};
use topology_model::{CacheId, CoreId, CpuCounts, CpuRow, CpuTable, NodeId, SocketId};

pub(crate) fn set(list: &str) -> CpuSet {
    list.parse().unwrap()
}

fn signed(number: usize) -> i64 {
    i64::try_from(number).unwrap()
}

/// A machine from its cores: `(socket, node, cache, CPUs)`.
pub(crate) fn irregular(cores: &[(i64, i64, i64, &[usize])]) -> CpuTable {
    let rows: Vec<_> = cores
        .iter()
        .flat_map(|&(socket, node, cache, cpus)| {
            cpus.iter().map(move |&cpu| CpuRow {
                cpu: CpuId::new(cpu).unwrap(),
                core: CoreId(signed(cpus[0])),
                socket: SocketId(socket),
                node: NodeId(node),
                cache: CacheId(cache),
            })
        })
        .collect();
    let mut sockets: Vec<_> = cores.iter().map(|core| core.0).collect();
    sockets.sort_unstable();
    sockets.dedup();
    CpuTable::from_rows(CpuCounts { cpus: rows.len(), cores: cores.len(), sockets: sockets.len() }, rows)
}

/// Alike cores with two threads; the second threads are numbered after all first ones, as Intel does.
pub(crate) fn machine(sockets: usize, nodes: usize, caches: usize, cores: usize) -> CpuTable {
    let total = sockets * nodes * caches * cores;
    let threads: Vec<_> = (0..total).map(|core| [core, core + total]).collect();
    let place = |core: usize| {
        let cache = core / cores;
        (signed(cache / caches / nodes), signed(cache / caches), signed(cache), threads[core].as_slice())
    };
    irregular(&(0..total).map(place).collect::<Vec<_>>())
}

/// Four cores with two threads (0-7) and four with one (8-11): one thread per core on average.
pub(crate) fn hybrid() -> CpuTable {
    irregular(&[
        (0, 0, 0, &[0, 1]),
        (0, 0, 0, &[2, 3]),
        (0, 0, 0, &[4, 5]),
        (0, 0, 0, &[6, 7]),
        (0, 0, 0, &[8]),
        (0, 0, 0, &[9]),
        (0, 0, 0, &[10]),
        (0, 0, 0, &[11]),
    ])
}
