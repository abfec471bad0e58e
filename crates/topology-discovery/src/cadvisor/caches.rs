//! Caches as cAdvisor sorts them: those of a core, those that cover exactly a node, and *uncore* caches.
//!
//! A cache above level 2 is the node's if its CPUs are as many as the threads of this core times the cores of the
//! node. On a processor whose cores differ, that product differs from core to core. A file that is missing or
//! malformed ends the reading of caches for the rest of the node.

use topology_model::{Cache, MachineNode};

use super::{CpuArchitecture, Reader, scan};
use crate::kernel::{CPUS, below};

impl Reader<'_, '_> {
    /// Adds its caches to a node and its cores.
    pub(super) fn add_caches(&self, node: &mut MachineNode) {
        let MachineNode { cores, caches, .. } = node;
        let Some(cores) = cores else { return };
        let cores_of_node = cores.len();
        for core in cores {
            let threads = core.thread_ids.as_deref().unwrap_or_default();
            let Some(found) = threads.first().and_then(|first| self.caches_of(*first)) else { return };
            let threads_of_core = threads.len();
            for (cache, cpus) in found {
                if cache.level > 2 {
                    let covers_node = cpus == threads_of_core * cores_of_node;
                    let list = if covers_node { &mut *caches } else { &mut core.uncore_caches };
                    let list = list.get_or_insert_default();
                    if !list.contains(&cache) {
                        list.push(cache);
                    }
                } else if cpus == threads_of_core {
                    core.caches.get_or_insert_default().push(cache);
                }
            }
        }
    }

    /// The caches of a CPU, each with how many CPUs share it, in lexical order of their folders; `None` if one of
    /// them cannot be read.
    fn caches_of(&self, cpu: i64) -> Option<Vec<(Cache, usize)>> {
        let folder = format!("{CPUS}/cpu{cpu}/cache");
        let names = self.kernel.tree.list(&folder)?;
        let indexes = names.iter().filter(|name| name.starts_with("index"));
        indexes.map(|name| self.cache(&below(&folder, name))).collect()
    }

    fn cache(&self, folder: &str) -> Option<(Cache, usize)> {
        let file = |name: &str| self.text(&below(folder, name)).ok().flatten();
        let id = match self.architecture {
            CpuArchitecture::S390x => 0,
            _ => scan::signed(&file("id")?)?,
        };
        let (size, unit) =
            scan::unsigned(&file("size")?).map(|(size, unit)| (size, unit.starts_with('K')))?;
        let level = scan::signed(&file("level")?)?;
        let kind = file("type")?.trim().to_owned();
        let cpus = count_bits(&file("shared_cpu_map")?)?;
        unit.then_some((Cache { id, size: size.wrapping_mul(1024), kind, level }, cpus))
    }
}

/// The bits of a mask; groups of up to 64 bits count.
fn count_bits(mask: &str) -> Option<usize> {
    mask.split(',').try_fold(0, |count, group| {
        let group = group.trim();
        let is_hex = !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_hexdigit());
        let bits = is_hex.then(|| u64::from_str_radix(group, 16).ok()).flatten()?;
        Some(count + bits.count_ones() as usize)
    })
}
