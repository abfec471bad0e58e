//! Cores, packages and caches where only their counts are printed.
//!
//! `lscpu` without options prints how many threads a core has and which CPUs a NUMA node has, and not which CPUs are one
//! core. Linux numbers them in one of two ways: first one thread of each core, then the second of each, as on most x86
//! machines; or the threads of a core one after the other, as on POWER and on machines of IBM. Where the CPUs of a node are so many ranges as a
//! core has threads it is the first; where several nodes have one range each it is the second.

use cpuset::{CpuId, CpuSet};

use crate::facts::Counts;

/// How the threads of a core are numbered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Numbering {
    /// The n-th core of a node has its n-th CPU, and the n-th of each further part of them.
    Apart,
    /// Threads of a core follow each other.
    Adjacent,
}

/// Cores as sets of CPUs, and what was taken for granted with them.
#[derive(Debug)]
pub(crate) struct CountedCores {
    /// By NUMA node, in order of their lowest CPU.
    pub(crate) of_nodes: Vec<Vec<CpuSet>>,
    /// How their threads are numbered, where nothing tells it.
    pub(crate) assumed: Option<Numbering>,
}

/// The cores of nodes with these CPUs; `None`: the counts do not fit them.
pub(crate) fn cores(counts: &Counts, nodes: &[CpuSet]) -> Option<CountedCores> {
    let threads = usize::try_from(counts.threads?).ok()?;
    // Of hybrid processors and where CPUs are offline the counts are of some packages or cores alone.
    let product = counts
        .cores
        .zip(counts.sockets)
        .and_then(|(cores, sockets)| cores.checked_mul(sockets)?.checked_mul(counts.threads?));
    let online: usize = nodes.iter().map(CpuSet::len).sum();
    if product.is_some_and(|product| usize::try_from(product) != Ok(online)) {
        return None;
    }
    if nodes.iter().any(|cpus| !cpus.len().is_multiple_of(threads)) {
        return None;
    }
    if threads == 1 {
        let of_nodes = nodes.iter().map(|cpus| cpus.iter().map(CpuSet::from).collect()).collect();
        return Some(CountedCores { of_nodes, assumed: None });
    }
    let told = told(counts, nodes, threads);
    let numbering =
        told.unwrap_or(if counts.has_adjacent_threads { Numbering::Adjacent } else { Numbering::Apart });
    let of_nodes = nodes.iter().map(|cpus| of_node(cpus, threads, numbering)).collect();
    Some(CountedCores { of_nodes, assumed: told.is_none().then_some(numbering) })
}

/// How the CPUs of nodes tell that threads are numbered.
fn told(counts: &Counts, nodes: &[CpuSet], threads: usize) -> Option<Numbering> {
    let with_cpus = || nodes.iter().filter(|cpus| !cpus.is_empty());
    if with_cpus().all(|cpus| ranges(cpus) == threads && threads < cpus.len()) {
        return Some(Numbering::Apart);
    }
    let are_ranges = with_cpus().count() > 1 && with_cpus().all(|cpus| ranges(cpus) == 1);
    (are_ranges || counts.has_adjacent_threads).then_some(Numbering::Adjacent)
}

/// Of how many ranges without a gap a set is made.
fn ranges(cpus: &CpuSet) -> usize {
    let mut before: Option<CpuId> = None;
    let mut ranges = 0;
    for cpu in cpus {
        if before.is_none_or(|before| before.get() + 1 != cpu.get()) {
            ranges += 1;
        }
        before = Some(cpu);
    }
    ranges
}

fn of_node(cpus: &CpuSet, threads: usize, numbering: Numbering) -> Vec<CpuSet> {
    let all: Vec<CpuId> = cpus.iter().collect();
    let count = all.len() / threads;
    match numbering {
        Numbering::Adjacent => all.chunks(threads).map(|core| core.iter().copied().collect()).collect(),
        Numbering::Apart => {
            (0..count).map(|at| all.iter().skip(at).step_by(count).copied().collect()).collect()
        }
    }
}

/// Items in so many groups of one size, in order; `None`: they cannot be parted so.
pub(crate) fn parted<T>(items: &[T], groups: usize) -> Option<impl Iterator<Item = &[T]>> {
    let fits = groups > 0 && !items.is_empty() && items.len().is_multiple_of(groups);
    fits.then(|| items.chunks(items.len() / groups))
}

#[cfg(test)]
mod tests {
    use cpuset::CpuSet;

    use super::{Counts, Numbering, cores};

    fn set(text: &str) -> CpuSet {
        text.parse().unwrap()
    }

    #[test]
    fn nodes_tell_how_threads_are_numbered() {
        type Case = (&'static [&'static str], u64, bool, &'static str, Option<Numbering>);
        let cases: [Case; 7] = [
            (&["0-5,12-17", "6-11,18-23"], 2, false, "0,12", None),
            (&["0-7", "8-15"], 2, false, "0-1", None),
            (&["0,2,4,6,8,10", "1,3,5,7,9,11"], 2, false, "0,6", Some(Numbering::Apart)),
            (&["0-15"], 2, false, "0,8", Some(Numbering::Apart)),
            (&["0-15"], 2, true, "0-1", None),
            (&["0-127", "128-255"], 8, true, "0-7", None),
            (&["0-3", "4-7"], 1, false, "0", None),
        ];
        for (nodes, threads, has_adjacent_threads, first, assumed) in cases {
            let counts = Counts { threads: Some(threads), has_adjacent_threads, ..Counts::default() };
            let nodes: Vec<CpuSet> = nodes.iter().map(|cpus| set(cpus)).collect();
            let found = cores(&counts, &nodes).unwrap();
            assert_eq!((&found.of_nodes[0][0], found.assumed), (&set(first), assumed), "{nodes:?}");
            let all = found.of_nodes.iter().flatten().fold(CpuSet::new(), |all, core| &all | core);
            assert_eq!(all, nodes.iter().fold(CpuSet::new(), |all, node| &all | node));
        }
    }

    #[test]
    fn counts_that_do_not_fit_tell_no_cores() {
        let counts = Counts { threads: Some(2), ..Counts::default() };
        assert!(cores(&counts, &[set("0-2")]).is_none());
        assert!(cores(&Counts::default(), &[set("0-3")]).is_none());
    }
}
