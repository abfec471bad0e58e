//! `-smp`: how many CPUs there are, and of which levels, with what QEMU takes where a count is left out.

use cpuset::{CpuId, CpuSet};

use super::options::Options;
use crate::guest::Levels;

/// A machine without `-smp`.
const ONE: Levels = Levels { packages: 1, dies: 1, clusters: 1, cores: 1, threads: 1 };

/// The CPUs that run when the machine starts, and the levels; `None`: the counts do not fit each other.
pub(super) fn read(smp: Option<&Options>, assumed: &mut Vec<String>) -> Option<(usize, Levels)> {
    let Some(smp) = smp else { return Some((1, ONE)) };
    // 0 is what is left out.
    let count = |key: &str| smp.get(key).map_or(Some(0), |count| count.parse::<usize>().ok());
    let first = smp.first().map_or(Some(0), |count| count.parse::<usize>().ok())?;
    let cpus = count("cpus")?.max(first);
    let most = count("maxcpus")?.max(cpus);
    let one = |count: usize| count.max(1);
    let (drawers, books) = (one(count("drawers")?), one(count("books")?));
    let (dies, clusters) = (one(count("dies")?), one(count("clusters")?).max(count("modules")?));
    let (mut sockets, mut cores, mut threads) = (count("sockets")?, count("cores")?, count("threads")?);
    let around = drawers.checked_mul(books)?.checked_mul(dies)?.checked_mul(clusters)?;
    let left = |of: usize, others: [usize; 2]| {
        let divisor = around.checked_mul(others[0])?.checked_mul(others[1])?;
        of.checked_div(divisor)
    };
    if most == 0 {
        (sockets, cores, threads) = (one(sockets), one(cores), one(threads));
    } else if cores == 0 {
        if sockets == 0 && most > 1 {
            assumed.push("its CPUs are taken as cores of one package, as in QEMU from 6.2 on".to_owned());
        }
        (sockets, threads) = (one(sockets), one(threads));
        cores = left(most, [sockets, threads])?;
    } else if sockets == 0 {
        threads = one(threads);
        sockets = left(most, [cores, threads])?;
    } else if threads == 0 {
        threads = left(most, [sockets, cores])?;
    }
    let packages = sockets.checked_mul(drawers)?.checked_mul(books)?;
    let levels = Levels { packages, dies, clusters, cores, threads };
    let all = levels.cpus().filter(|all| *all > 0)?;
    let most = if most == 0 { all } else { most };
    let cpus = if cpus == 0 { most } else { cpus };
    (most == all).then_some((cpus, levels))
}

/// The CPUs at a place of `-numa cpu`; levels that it does not name are all of it.
pub(super) fn placed(place: &Options, levels: Levels) -> CpuSet {
    let is_at = |key: &str, own: usize| place.get(key).is_none_or(|wanted| wanted.parse() == Ok(own));
    let all = (0..levels.cpus().unwrap_or(0)).map_while(|cpu| CpuId::new(cpu).ok());
    let is_there = |cpu: &CpuId| {
        let core = cpu.get() / levels.threads;
        let cluster = core / levels.cores;
        let die = cluster / levels.clusters;
        is_at("thread-id", cpu.get() % levels.threads)
            && is_at("core-id", core % levels.cores)
            && is_at("cluster-id", cluster % levels.clusters)
            && is_at("die-id", die % levels.dies)
            && is_at("socket-id", die / levels.dies)
    };
    all.filter(is_there).collect()
}

#[cfg(test)]
mod tests {
    use super::{Options, read};

    #[test]
    fn counts_that_are_left_out_are_filled_in_as_qemu_does() {
        for (smp, expected) in [
            ("4", Some((4, [1, 4, 1]))),
            ("8,sockets=2", Some((8, [2, 4, 1]))),
            ("8,cores=2,threads=2", Some((8, [2, 2, 2]))),
            ("cpus=4,maxcpus=8,sockets=2,cores=2", Some((4, [2, 2, 2]))),
            ("sockets=2,cores=2,threads=2", Some((8, [2, 2, 2]))),
            ("8,sockets=3,cores=2,threads=1", None),
            ("x", None),
            ("18446744073709551615,sockets=2", None),
        ] {
            let read = read(Options::read(smp).as_ref(), &mut Vec::new());
            let counts = read.map(|(cpus, levels)| (cpus, [levels.packages, levels.cores, levels.threads]));
            assert_eq!(counts, expected, "{smp}");
        }
    }
}
