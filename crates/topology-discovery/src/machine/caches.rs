//! Caches, each once, by the CPUs that share them.

use std::collections::BTreeSet;

use cpuset::{CpuId, CpuSet};
use topology_model::{CacheKind, CpuCache};

use crate::kernel::{CPUS, Kernel};
use crate::problem::Assumed;

/// Every cache of the CPUs that are online. A CPU without a cache folder has none that is known.
pub(super) fn caches(kernel: &Kernel<'_>, online: &CpuSet) -> Vec<CpuCache> {
    let mut all = Vec::new();
    let mut seen = BTreeSet::new();
    for cpu in online {
        let folder = format!("{CPUS}/cpu{}/cache", cpu.get());
        for index in kernel.numbered(&folder, "index").unwrap_or_default() {
            let folder = format!("{folder}/index{index}");
            let Some(cache) = cache(kernel, &folder, cpu, online) else { continue };
            // A cache is found again at each of its CPUs.
            if seen.insert((cache.level, cache.kind, cache.cpus.first(), cache.cpus.len())) {
                all.push(cache);
            }
        }
    }
    all
}

fn cache(kernel: &Kernel<'_>, folder: &str, cpu: CpuId, online: &CpuSet) -> Option<CpuCache> {
    let file = |name: &str| format!("{folder}/{name}");
    let level = file("level");
    let Some(level) = kernel.parsed(&level, Assumed::LeftOut, str::parse) else {
        kernel.missing_unless_there(&level, Assumed::LeftOut);
        return None;
    };
    let kind = file("type");
    let Some(kind) = kernel.parsed(&kind, Assumed::LeftOut, |text| match text {
        "Data" => Ok(CacheKind::Data),
        "Instruction" => Ok(CacheKind::Instruction),
        "Unified" => Ok(CacheKind::Unified),
        other => Err(format!("{other:?} is no type of cache")),
    }) else {
        kernel.missing_unless_there(&kind, Assumed::LeftOut);
        return None;
    };
    let Some(shared) = kernel.cpus(folder, &["shared_cpu_list", "shared_cpu_map"]) else {
        kernel.missing(&file("shared_cpu_map"), Assumed::LeftOut);
        return None;
    };
    let mut cpus = &shared & online;
    cpus.insert(cpu);
    let size_kib = kernel.parsed(&file("size"), Assumed::Unknown, |text| {
        let digits = text.strip_suffix('K').ok_or_else(|| format!("{text:?} is no size in K"))?;
        digits.parse::<u64>().map_err(|error| error.to_string())
    });
    Some(CpuCache { level, kind, id: kernel.number(&file("id"), Assumed::Unknown), size_kib, cpus })
}
