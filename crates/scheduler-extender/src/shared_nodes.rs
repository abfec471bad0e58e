//! One value for nodes that are equal: thousands of machines of one kind, with one configuration, are one `Node`.

use alloc::collections::BTreeMap;
use alloc::sync::{Arc, Weak};

use topology_admission::Node;

/// The nodes that are in use, by what they are made of: for example the text of machine and configuration.
#[derive(Debug)]
pub struct SharedNodes<K> {
    nodes: BTreeMap<K, Weak<Node>>,
    /// Unused entries are dropped when there are twice as many as after the last time.
    next_sweep: usize,
}

impl<K> Default for SharedNodes<K> {
    fn default() -> Self {
        Self { nodes: BTreeMap::new(), next_sweep: Self::FEW }
    }
}

impl<K> SharedNodes<K> {
    const FEW: usize = 64;

    /// How many are in use, or unused and not swept away yet.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
}

impl<K: Ord> SharedNodes<K> {
    /// The node that is made of `key`: the one that is in use, else a new one.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn share<E>(&mut self, key: K, make: impl FnOnce() -> Result<Node, E>) -> Result<Arc<Node>, E> {
        if let Some(node) = self.nodes.get(&key).and_then(Weak::upgrade) {
            return Ok(node);
        }
        let node = Arc::new(make()?);
        self.nodes.insert(key, Arc::downgrade(&node));
        if self.nodes.len() > self.next_sweep {
            self.nodes.retain(|_, node| node.strong_count() > 0);
            self.next_sweep = self.nodes.len().saturating_mul(2).max(Self::FEW);
        }
        Ok(node)
    }
}
