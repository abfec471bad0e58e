//! The mix of a ledger from one version to the next: only units of the pod that a change was about are counted anew.

use alloc::sync::Arc;
use alloc::vec::Vec;

use memory_manager::Block;
use node_config::Scope;
use pod_spec::{ContainerName, PodUid, ResourceName};

use crate::ledger::Ledger;
use crate::placement::{Known, KnownMix, Mix, Rows};

impl Ledger {
    /// What each unit holds, as [`Mix::held`] has it.
    pub(crate) fn learn_mix(&mut self, rows: &Rows, scope: Scope) -> Mix {
        if let Some(known) = self.mix.0.as_ref().filter(|known| is_of(known, rows, scope)) {
            let mix = Mix::of(known.kinds.clone());
            debug_assert!(mix == Mix::held(rows, self, scope), "a change of holdings was not counted");
            return mix;
        }
        let mix = Mix::held(rows, self, scope);
        let names = rows.rows.iter().map(|row| row.name.clone()).collect();
        let kinds = mix.kinds().map(|(kind, count)| (kind.clone(), count)).collect();
        self.mix = KnownMix(Some(Arc::new(Known { names, scope, kinds })));
        mix
    }

    /// Counts what `pod` holds here instead of what it held `before`.
    pub(crate) fn recount_mix(&mut self, before: &Self, pod: &PodUid) {
        let Some(mut known) = self.mix.0.take() else { return };
        let (gone, new) = (units(&known, before, pod), units(&known, self, pod));
        if gone != new {
            let own = Arc::make_mut(&mut known);
            let rows = own.names.len().max(1);
            gone.chunks(rows).for_each(|unit| own.remove(unit));
            new.chunks(rows).for_each(|unit| own.insert(unit));
        }
        self.mix = KnownMix(Some(known));
    }

    /// More has changed than what one pod holds.
    pub(crate) fn forget_mix(&mut self) {
        self.mix = KnownMix::default();
    }
}

fn is_of(known: &Known, rows: &Rows, scope: Scope) -> bool {
    known.scope == scope && known.names.iter().eq(rows.rows.iter().map(|row| &row.name))
}

/// What the units of a pod hold, one after the other.
fn units(known: &Known, ledger: &Ledger, pod: &PodUid) -> Vec<u64> {
    let (cpus, memory) = (ledger.cpus(), ledger.memory());
    let whole_cpus = cpus.and_then(|held| held.whole_pod(pod));
    let whole_memory = memory.and_then(|held| held.whole_pod(pod));
    let is_one = known.scope == Scope::Pod || whole_cpus.is_some() || whole_memory.is_some();
    let mut units = Units { names: &known.names, is_one, containers: Vec::new(), amounts: Vec::new() };
    if let Some(row) = units.row("cpu") {
        if let Some(cpus) = whole_cpus {
            units.add(None, row, cpus.len() as u64);
        } else {
            for (container, cpus) in cpus.iter().flat_map(|held| held.of_pod(pod)) {
                units.add(Some(container), row, cpus.len() as u64);
            }
        }
    }
    if let Some(blocks) = whole_memory {
        units.add_blocks(None, blocks);
    } else {
        for (container, blocks) in memory.iter().flat_map(|held| held.of_pod(pod)) {
            units.add_blocks(Some(container), blocks);
        }
    }
    for (container, resource, held) in ledger.devices().of_pod(pod) {
        if let Some(row) = units.row(resource.as_str()) {
            units.add(Some(container), row, held.count() as u64);
        }
    }
    units.amounts
}

struct Units<'l> {
    names: &'l [ResourceName],
    /// Whether all containers are one unit.
    is_one: bool,
    containers: Vec<Option<&'l ContainerName>>,
    /// Those of the first, then those of the next.
    amounts: Vec<u64>,
}

impl<'l> Units<'l> {
    fn row(&self, resource: &str) -> Option<usize> {
        self.names.iter().position(|name| name.as_str() == resource)
    }

    fn add_blocks(&mut self, container: Option<&'l ContainerName>, blocks: &[Block]) {
        for Block { resource, size, .. } in blocks {
            if let Some(row) = self.row(resource.as_str()) {
                self.add(container, row, *size);
            }
        }
    }

    fn add(&mut self, container: Option<&'l ContainerName>, row: usize, amount: u64) {
        let (unit, rows) = (container.filter(|_| !self.is_one), self.names.len());
        let at = self.containers.iter().position(|own| *own == unit).unwrap_or_else(|| {
            self.containers.push(unit);
            self.amounts.resize(self.amounts.len() + rows, 0);
            self.containers.len() - 1
        });
        if let Some(cell) = self.amounts.get_mut(at * rows + row) {
            *cell = cell.saturating_add(amount);
        }
    }
}
