//! A mapping that grows: each key once, with the last value.

use std::collections::HashMap;

use crate::Entry;

#[derive(Default)]
pub(crate) struct Mapping {
    pub(crate) entries: Vec<Entry>,
    places: HashMap<String, Place>,
}

/// Where a key is among the entries.
struct Place {
    at: usize,
    is_merged: bool,
}

/// What became of a key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Set {
    New,
    /// Another mapping that is merged into this one had it.
    OverMerged,
    Again,
}

impl Mapping {
    /// Puts a key that is written in the mapping itself.
    pub(crate) fn set(&mut self, entry: Entry) -> Set {
        self.put(entry, false)
    }

    /// Puts a key of a mapping that is merged into this one.
    pub(crate) fn merge(&mut self, entry: Entry) {
        self.put(entry, true);
    }

    fn put(&mut self, entry: Entry, is_merged: bool) -> Set {
        let Some(place) = self.places.get_mut(&entry.key) else {
            self.places.insert(entry.key.clone(), Place { at: self.entries.len(), is_merged });
            self.entries.push(entry);
            return Set::New;
        };
        let set = if place.is_merged { Set::OverMerged } else { Set::Again };
        place.is_merged &= is_merged;
        if let Some(own) = self.entries.get_mut(place.at) {
            *own = entry;
        }
        set
    }
}
