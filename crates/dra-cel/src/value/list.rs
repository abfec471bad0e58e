//! Lists, of which a sum shares its parts.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::Value;

/// A list. A sum of two costs nothing to make, however long they are.
#[derive(Clone, Debug)]
pub(crate) struct List {
    length: usize,
    parts: Arc<Parts>,
}

#[derive(Debug)]
enum Parts {
    Flat(Vec<Value>),
    Joined(List, List),
}

impl List {
    pub(crate) const fn len(&self) -> usize {
        self.length
    }

    pub(crate) fn get(&self, index: usize) -> Option<&Value> {
        let (mut list, mut index) = (self, index);
        loop {
            match &*list.parts {
                Parts::Flat(values) => return values.get(index),
                Parts::Joined(left, right) => {
                    (list, index) =
                        if index < left.length { (left, index) } else { (right, index - left.length) };
                }
            }
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Value> {
        (0..self.length).map_while(|index| self.get(index))
    }

    /// This list and another behind it.
    pub(crate) fn joined(self, other: Self) -> Self {
        if other.length == 0 {
            return self;
        }
        let length = self.length.saturating_add(other.length);
        Self { length, parts: Arc::new(Parts::Joined(self, other)) }
    }

    /// This list with more elements, in place where it is not shared.
    pub(crate) fn extended(mut self, more: &Self) -> Self {
        match Arc::get_mut(&mut self.parts) {
            Some(Parts::Flat(values)) => {
                values.extend(more.iter().cloned());
                self.length = values.len();
                self
            }
            _ => self.joined(more.clone()),
        }
    }
}

impl From<Vec<Value>> for List {
    fn from(values: Vec<Value>) -> Self {
        Self { length: values.len(), parts: Arc::new(Parts::Flat(values)) }
    }
}

impl FromIterator<Value> for List {
    fn from_iter<I: IntoIterator<Item = Value>>(values: I) -> Self {
        values.into_iter().collect::<Vec<_>>().into()
    }
}
