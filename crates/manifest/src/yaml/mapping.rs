//! A mapping that grows: each key once, with the last value.

use std::collections::HashMap;

use crate::node::Entry;

#[derive(Default)]
pub(super) struct Mapping {
    pub(super) entries: Vec<Entry>,
    places: HashMap<String, usize>,
}

/// What became of a key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Set {
    New,
    Again,
}

impl Mapping {
    pub(super) fn set(&mut self, entry: Entry) -> Set {
        let place = self.places.get(&entry.key).and_then(|place| self.entries.get_mut(*place));
        if let Some(own) = place {
            *own = entry;
            return Set::Again;
        }
        self.places.insert(entry.key.clone(), self.entries.len());
        self.entries.push(entry);
        Set::New
    }
}
