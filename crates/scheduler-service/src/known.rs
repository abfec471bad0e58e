//! Which objects there are, by name: after each break all of them are listed anew, and those that are not listed have gone.

use std::collections::BTreeSet;

/// The objects that are known.
#[derive(Debug, Default)]
pub(crate) struct Known {
    all: BTreeSet<String>,
    /// Those that have been listed so far; `None`: the list is complete.
    listed: Option<BTreeSet<String>>,
}

impl Known {
    /// A list begins.
    pub(crate) fn list(&mut self) {
        self.listed = Some(BTreeSet::new());
    }

    /// An object is there.
    pub(crate) fn is(&mut self, name: &str) {
        if let Some(listed) = &mut self.listed {
            listed.insert(name.to_owned());
        }
        self.all.insert(name.to_owned());
    }

    /// An object is gone; whether it was known.
    pub(crate) fn is_gone(&mut self, name: &str) -> bool {
        self.all.remove(name)
    }

    /// The list is complete. Gives the objects that have gone meanwhile, which are not known any more.
    pub(crate) fn complete(&mut self) -> Vec<String> {
        let Some(listed) = self.listed.take() else { return Vec::new() };
        self.all.extract_if(.., |name| !listed.contains(name)).collect()
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_listed_again_has_gone() {
        let mut known = Known::default();
        known.list();
        for name in ["a", "b", "a"] {
            known.is(name);
        }
        assert_eq!(known.complete(), [""; 0]);
        known.list();
        for name in ["b", "c"] {
            known.is(name);
        }
        assert_eq!(known.complete(), ["a"]);
        assert!(known.is_gone("b") && !known.is_gone("a") && known.len() == 1);
        assert_eq!(known.complete(), [""; 0], "no list has begun");
    }
}
