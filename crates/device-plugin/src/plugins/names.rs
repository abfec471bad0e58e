//! Resources whose plugins have registered. Each has a part of the budgets that is reserved for it, so there are
//! [`MAX_RESOURCES`] at most.
//!
//! A resource gives its place up when its plugin has been gone for so long that the inventory has forgotten it, and no
//! pod holds a device of it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use device_manager::{GRACE_PERIOD, MAX_RESOURCES};
use pod_spec::ResourceName;

/// How long a plugin has to be gone: the inventory forgets it some time after [`GRACE_PERIOD`].
const GONE: Duration = GRACE_PERIOD.saturating_mul(2);

/// Resources, and since when each has had no plugin.
#[derive(Debug, Default)]
pub(super) struct Names(BTreeMap<ResourceName, Option<Instant>>);

impl Names {
    /// Whether a plugin of the resource may register.
    pub(super) fn has_room(&self, resource: &ResourceName) -> bool {
        self.0.len() < MAX_RESOURCES || self.0.contains_key(resource)
    }

    /// A plugin of the resource has registered.
    pub(super) fn insert(&mut self, resource: &ResourceName) {
        self.0.insert(resource.clone(), None);
    }

    /// Removes the resources without a plugin and without a holder, some time after their plugin has gone.
    pub(super) fn prune(
        &mut self,
        held: &BTreeSet<ResourceName>,
        is_connected: impl Fn(&ResourceName) -> bool,
        now: Instant,
    ) {
        self.0.retain(|resource, gone| {
            if is_connected(resource) {
                *gone = None;
                return true;
            }
            let since = *gone.get_or_insert(now);
            held.contains(resource) || now.saturating_duration_since(since) <= GONE
        });
    }

    /// The plugin of the resource has gone.
    pub(super) fn gone(&mut self, resource: &ResourceName, now: Instant) {
        if let Some(gone) = self.0.get_mut(resource) {
            *gone = Some(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_without_plugin_that_no_pod_holds_gives_its_place_up() {
        let name = |at: usize| ResourceName::new(&format!("vendor.example/r{at}"));
        let (mut names, start) = (Names::default(), Instant::now());
        for at in 0..MAX_RESOURCES {
            assert!(names.has_room(&name(at)), "{at}");
            names.insert(&name(at));
        }
        let (new, later) = (name(MAX_RESOURCES), start + GONE + Duration::from_secs(1));
        assert!(names.has_room(&name(7)) && !names.has_room(&new));
        // All but the first are gone, and pods hold devices of the second.
        for at in 1..MAX_RESOURCES {
            names.gone(&name(at), start);
        }
        let (held, is_connected) =
            (BTreeSet::from([name(1)]), |resource: &ResourceName| *resource == name(0));
        names.prune(&held, is_connected, start + GONE);
        assert!(!names.has_room(&new), "plugins may come back for a while");
        names.prune(&held, is_connected, later);
        assert_eq!(names.0.keys().collect::<Vec<_>>(), [&name(0), &name(1)]);
        assert!(names.has_room(&new));
        names.prune(&BTreeSet::new(), is_connected, later);
        assert_eq!(names.0.keys().collect::<Vec<_>>(), [&name(0)], "no pod holds it any more");
    }
}
