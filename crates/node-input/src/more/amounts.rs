//! More memory and huge pages of a NUMA node.

use anyhow::{Context as _, ensure};
use topology_model::{HugePages, Machine, NodeId};

use crate::imagined::too_little;
use crate::machine::LoadedMachine;
use crate::memory::used_by;

impl LoadedMachine {
    /// Adds bytes of memory to a node.
    pub(super) fn add_memory(&mut self, id: NodeId, bytes: u64) -> anyhow::Result<()> {
        self.must_have_known_memory(id)?;
        // A kernel without NUMA nodes tells cAdvisor the memory of none.
        let has_nodes = self.has_numa_nodes();
        // The kubelet computes with 64 bits and a sign.
        let sum = |one: u64| one.checked_add(bytes).filter(|sum| i64::try_from(*sum).is_ok());
        let too_much = "no machine has so much memory";
        for info in self.infos() {
            let own = info.topology.iter_mut().flatten().filter(|node| has_nodes && node.id == id.0);
            for node in own {
                node.memory = sum(node.memory).context(too_much)?;
            }
            info.memory_capacity = sum(info.memory_capacity).context(too_much)?;
        }
        if let Some(machine) = self.machine.take() {
            let mut parts = machine.into_parts();
            for node in parts.nodes.iter_mut().filter(|node| node.id == id) {
                node.memory = node.memory.map(|memory| memory.saturating_add(bytes));
            }
            parts.memory = parts.memory.map(|memory| memory.saturating_add(bytes));
            self.machine = Some(Machine::new(parts)?);
        }
        Ok(())
    }

    /// Adds huge pages of `page` bytes to a node, which take memory that it has. A size that only some nodes have, or none, is
    /// there on every node then, as in the kernel.
    pub(super) fn add_pages(&mut self, id: NodeId, page: u64, bytes: u64) -> anyhow::Result<()> {
        self.must_have_known_memory(id)?;
        let has_nodes = self.has_numa_nodes();
        let (page_size_kib, more) = (page / 1024, bytes / page);
        let add = |pages: &mut Option<Vec<HugePages>>, more: u64| {
            let pages = pages.get_or_insert_default();
            if let Some(own) = pages.iter_mut().find(|own| own.page_size_kib == page_size_kib) {
                own.num_pages = own.num_pages.saturating_add(more);
                return;
            }
            pages.push(HugePages { page_size_kib, num_pages: more });
            // In the order of their folders' names.
            pages.sort_by_cached_key(|own| own.page_size_kib.to_string());
        };
        for info in self.infos() {
            for node in info.topology.iter_mut().flatten() {
                let own = node.id == id.0;
                let used = used_by(node.hugepages.as_deref().unwrap_or_default());
                let ordinary = node.memory.saturating_sub(used);
                ensure!(!(own && has_nodes && ordinary < bytes), too_little(id, ordinary, bytes));
                add(&mut node.hugepages, if own { more } else { 0 });
            }
            add(&mut info.hugepages, more);
        }
        self.set_hugepages_of_hardware()
    }

    fn must_have_known_memory(&self, id: NodeId) -> anyhow::Result<()> {
        ensure!(
            !self.nodes_of_unknown_memory().contains(&id.0),
            "nothing tells how much memory NUMA node {id} has: give it with --memory {id}=SIZE"
        );
        Ok(())
    }
}
