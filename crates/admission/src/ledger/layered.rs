//! A sorted map of which copies are cheap to make and cheap to change, however large it is.
//!
//! An attempt changes a copy of the ledger. With one shared tree it would copy every entry to add one, and a list of
//! pods would take the square of its length. Here changes lie in a small layer above a shared base, and only the layer
//! is copied. [`Layered::settle`] makes a new base when the layer has grown to the square root of the base's size.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::iter::Peekable;
use core::ops::RangeFrom;

/// A layer up to this length is cheap to copy, however small the base is.
const SHORT: usize = 64;

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Layered<K, V> {
    base: Arc<BTreeMap<K, V>>,
    /// What differs from the base; `None`: the key is gone.
    changes: Arc<BTreeMap<K, Option<V>>>,
    len: usize,
}

impl<K, V> Default for Layered<K, V> {
    fn default() -> Self {
        Self { base: Arc::default(), changes: Arc::default(), len: 0 }
    }
}

/// Equal entries, however they lie in base and layer.
impl<K: Ord + Clone, V: Clone + PartialEq> PartialEq for Layered<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for Layered<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let base: BTreeMap<K, V> = entries.into_iter().collect();
        Self { len: base.len(), base: Arc::new(base), changes: Arc::default() }
    }
}

impl<K: Ord + Clone, V: Clone> Layered<K, V> {
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.changes.get(key).map_or_else(|| self.base.get(key), Option::as_ref)
    }

    /// Puts a value under a key, and returns the one before.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        let before = self.get(&key).cloned();
        self.len += usize::from(before.is_none());
        Arc::make_mut(&mut self.changes).insert(key, Some(value));
        before
    }

    /// Takes a key out, and returns its value. Nothing is copied if it has none.
    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        let before = self.get(key).cloned()?;
        self.len -= 1;
        let changes = Arc::make_mut(&mut self.changes);
        if self.base.contains_key(key) {
            changes.insert(key.clone(), None);
        } else {
            changes.remove(key);
        }
        Some(before)
    }

    /// All entries in order of their keys.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        Merged { base: self.base.iter().peekable(), changes: self.changes.iter().peekable() }
    }

    /// The entries from a key on.
    pub(crate) fn range(&self, from: RangeFrom<K>) -> impl Iterator<Item = (&K, &V)> {
        let base = self.base.range(from.clone()).peekable();
        Merged { base, changes: self.changes.range(from).peekable() }
    }

    /// Makes a new base if the layer above it has become long. Worth it only for a value that is kept.
    pub(crate) fn settle(&mut self) {
        let length = self.changes.len();
        if length <= SHORT || length.saturating_mul(length) <= self.base.len() {
            return;
        }
        let base = Arc::make_mut(&mut self.base);
        for (key, value) in core::mem::take(&mut self.changes).iter() {
            match value {
                Some(value) => drop(base.insert(key.clone(), value.clone())),
                None => drop(base.remove(key)),
            }
        }
    }
}

/// Entries of the base and of the layer above it, in order; the layer counts.
struct Merged<B: Iterator, C: Iterator> {
    base: Peekable<B>,
    changes: Peekable<C>,
}

impl<'a, K, V, B, C> Iterator for Merged<B, C>
where
    K: Ord + 'a,
    V: 'a,
    B: Iterator<Item = (&'a K, &'a V)>,
    C: Iterator<Item = (&'a K, &'a Option<V>)>,
{
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Some((changed, _)) = self.changes.peek() else { return self.base.next() };
            if let Some(before) = self.base.next_if(|(key, _)| key < changed) {
                return Some(before);
            }
            self.base.next_if(|(key, _)| key == changed);
            if let Some((key, Some(value))) = self.changes.next() {
                return Some((key, value));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn a_layered_map_is_a_map() {
        let (mut layered, mut plain) = (Layered::default(), BTreeMap::new());
        // Numbers in an order without a pattern, of which one in three is taken out again.
        for step in 0_u32..5000 {
            let key = step.wrapping_mul(2_654_435_761) >> 22;
            if step % 3 == 2 {
                assert_eq!(layered.remove(&key), plain.remove(&key));
            } else {
                assert_eq!(layered.insert(key, step), plain.insert(key, step));
            }
            if step % 7 == 0 {
                layered.settle();
            }
            assert_eq!((layered.len(), layered.get(&key)), (plain.len(), plain.get(&key)));
        }
        assert_eq!(layered.iter().collect::<Vec<_>>(), plain.iter().collect::<Vec<_>>());
        assert_eq!(layered.range(500..).collect::<Vec<_>>(), plain.range(500..).collect::<Vec<_>>());
    }

    #[test]
    fn a_copy_of_a_large_map_is_changed_by_little_work() {
        const SIZE: usize = 10_000;
        let mut layered = Layered::default();
        let mut copied = 0;
        for key in 0..SIZE {
            // What an attempt does: it changes a copy, and the one before is still there.
            let before = layered.clone();
            copied += before.changes.len();
            layered.insert(key, key);
            let base = Arc::as_ptr(&layered.base);
            layered.settle();
            copied += if Arc::as_ptr(&layered.base) == base { 0 } else { layered.len() };
        }
        assert!(copied < SIZE * 300, "{copied} entries were copied for {SIZE}");
    }
}
