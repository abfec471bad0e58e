//! What a ledger knows of its mix.

use alloc::sync::Arc;
use alloc::vec::Vec;

use node_config::Scope;
use pod_spec::ResourceName;

/// Empty until the mix is first asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownMix(pub(crate) Option<Arc<Known>>);

/// How often each kind of unit is there.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// What the amounts are of.
    pub(crate) names: Arc<[ResourceName]>,
    pub(crate) scope: Scope,
    /// Amounts by name, in order.
    pub(crate) kinds: Vec<(Vec<u64>, u32)>,
}

/// It follows from what is held.
impl PartialEq for KnownMix {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Known {
    /// One unit more; one that has no place counts nothing.
    pub(crate) fn insert(&mut self, unit: &[u64]) {
        if unit.iter().all(|amount| *amount == 0) {
            return;
        }
        match self.position(unit) {
            Ok(at) => {
                if let Some((_, known)) = self.kinds.get_mut(at) {
                    *known = known.saturating_add(1);
                }
            }
            Err(at) => self.kinds.insert(at, (unit.to_vec(), 1)),
        }
    }

    /// One unit less.
    pub(crate) fn remove(&mut self, unit: &[u64]) {
        let Ok(at) = self.position(unit) else { return };
        match self.kinds.get_mut(at) {
            Some((_, count @ 2..)) => *count -= 1,
            _ => drop(self.kinds.remove(at)),
        }
    }

    fn position(&self, unit: &[u64]) -> Result<usize, usize> {
        self.kinds.binary_search_by(|(kind, _)| kind.as_slice().cmp(unit))
    }
}
