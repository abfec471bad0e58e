//! Caches, each once, by the CPUs that share them.

use std::collections::{BTreeMap, BTreeSet};

use cpuset::{CpuId, CpuSet};
use topology_model::{CacheKind, CpuCache};

use crate::kernel::{CPUS, Kernel, below, shown};
use crate::problem::Substitute;

/// Names of the files that hold the CPUs of a cache.
pub(crate) const SHARED: [&str; 2] = ["shared_cpu_list", "shared_cpu_map"];

/// Every cache of the CPUs that are online. A CPU without a cache folder has none that is known.
pub(super) fn caches(kernel: &Kernel<'_>, online: &CpuSet) -> Vec<CpuCache> {
    let mut all = CacheTable::default();
    for cpu in online {
        let folder = format!("{CPUS}/cpu{}/cache", cpu.get());
        for index in kernel.numbered(&folder, "index").unwrap_or_default() {
            let folder = format!("{folder}/index{index}");
            if let Some((cache, shared)) = cache(kernel, &folder, cpu, online) {
                all.add(kernel, folder, cpu, cache, shared);
            }
        }
    }
    all.complain(kernel)
}

/// Caches with where they were first read.
#[derive(Default)]
struct CacheTable {
    caches: Vec<CpuCache>,
    read: Vec<CacheReading>,
    /// For a level, a kind and a CPU the first cache that lists the CPU.
    of: BTreeMap<(u8, CacheKind, CpuId), usize>,
    /// Levels and kinds of which some CPU has a file.
    having: BTreeSet<(u8, CacheKind, &'static str)>,
    lacking: Vec<((u8, CacheKind, &'static str), String)>,
}

/// Where a cache was first read, and at how many CPUs it was found.
struct CacheReading {
    folder: String,
    shared: &'static str,
    times: usize,
}

impl CacheTable {
    /// Adds a cache, which is found again at each of its CPUs.
    fn add(
        &mut self,
        kernel: &Kernel<'_>,
        folder: String,
        cpu: CpuId,
        cache: CpuCache,
        shared: &'static str,
    ) {
        let (level, kind) = (cache.level, cache.kind);
        for (name, is_there) in [("size", cache.size_kib.is_some()), ("id", cache.id.is_some())] {
            if is_there {
                self.having.insert((level, kind, name));
            } else {
                self.lacking.push(((level, kind, name), format!("{folder}/{name}")));
            }
        }
        let mut cpus = [cpu].into_iter().chain(&cache.cpus);
        let known = cpus.find_map(|cpu| self.of.get(&(level, kind, cpu)).copied());
        if let Some((before, read)) =
            known.and_then(|at| Some((self.caches.get(at)?, self.read.get_mut(at)?)))
        {
            if before.cpus == cache.cpus {
                read.times += 1;
                let differs = |name: &str, before: Option<String>, own: Option<String>| {
                    if let Some((before, own)) = before.zip(own).filter(|(before, own)| before != own) {
                        let (path, other) = (below(&folder, name), below(&read.folder, name));
                        kernel.differs((&path, own), (&other, before), Substitute::FirstRead);
                    }
                };
                let size = |cache: &CpuCache| cache.size_kib.map(|kib| format!("{kib}K"));
                differs("size", size(before), size(&cache));
                let id = |cache: &CpuCache| cache.id.map(|id| id.to_string());
                differs("id", id(before), id(&cache));
                return;
            }
            let (path, other) = (below(&folder, shared), below(&read.folder, read.shared));
            kernel.differs((&path, shown(&cache.cpus)), (&other, shown(&before.cpus)), Substitute::AsRead);
        }
        for cpu in &cache.cpus {
            self.of.entry((level, kind, cpu)).or_insert(self.caches.len());
        }
        self.caches.push(cache);
        self.read.push(CacheReading { folder, shared, times: 1 });
    }

    /// The caches, after saying what some of them lack.
    fn complain(self, kernel: &Kernel<'_>) -> Vec<CpuCache> {
        // Some processors have no sizes, and some kernels no ids: then no cache of a kind has any.
        for (_, path) in self.lacking.iter().filter(|(key, _)| self.having.contains(key)) {
            kernel.missing_unless_there(path, Substitute::Unknown);
        }
        let shared_by = |cache: &CpuCache, read: &CacheReading| cache.cpus.len() != read.times;
        for (cache, read) in self.caches.iter().zip(&self.read).filter(|(cache, read)| shared_by(cache, read))
        {
            let own = format!("{}/{}", read.folder, read.shared);
            let others = cache.cpus.iter().map(|cpu| format!("{CPUS}/cpu{}/cache", cpu.get()));
            let mut others = others.filter(|other| !own.starts_with(other));
            // A CPU without any caches is one whose folder is missing in the tree.
            if let Some(other) = others.find(|other| kernel.tree.list(other).is_some()) {
                kernel.contradicts(&own, &other, Substitute::AsRead);
            }
        }
        self.caches
    }
}

fn cache(kernel: &Kernel<'_>, folder: &str, cpu: CpuId, online: &CpuSet) -> Option<(CpuCache, &'static str)> {
    let file = |name: &str| below(folder, name);
    let level = file("level");
    let Some(level) = kernel.parsed(&level, Substitute::LeftOut, str::parse) else {
        kernel.missing_unless_there(&level, Substitute::LeftOut);
        return None;
    };
    let kind = file("type");
    let Some(kind) = kernel.parsed(&kind, Substitute::LeftOut, |text| match text {
        "Data" => Ok(CacheKind::Data),
        "Instruction" => Ok(CacheKind::Instruction),
        "Unified" => Ok(CacheKind::Unified),
        other => Err(format!("{other:?} is no type of cache")),
    }) else {
        kernel.missing_unless_there(&kind, Substitute::LeftOut);
        return None;
    };
    let Some((name, shared)) = kernel.cpus_with_name(folder, &SHARED) else {
        kernel.missing(&file("shared_cpu_map"), Substitute::LeftOut);
        return None;
    };
    let mut cpus = &shared & online;
    if cpus.insert(cpu) {
        kernel.unusable(&file(name), &format!("CPU {} is not in it", cpu.get()), Substitute::WithItself);
    }
    let size_kib = kernel.parsed(&file("size"), Substitute::Unknown, |text| {
        let digits = text.strip_suffix('K').ok_or_else(|| format!("{text:?} is no size in K"))?;
        digits.parse::<u64>().map_err(|error| error.to_string())
    });
    Some((
        CpuCache { level, kind, id: kernel.number(&file("id"), Substitute::Unknown), size_kib, cpus },
        name,
    ))
}
