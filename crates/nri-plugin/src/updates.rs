//! Changes of containers that exist: what runtimes pass on, one change a container.
//!
//! containerd passes on eight things of an update and drops everything else in silence; [`ResourceUpdate`] has these
//! eight. A plugin that lists a container twice in one answer conflicts with itself; [`Updates`] is a map.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt;
use std::num::{NonZeroI64, NonZeroU64};

use crate::lists::{Cpus, MemoryNodes};
use crate::messages;

/// The id that a runtime gives a container.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ContainerId(String);

impl ContainerId {
    /// An id as the runtime writes it.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for ContainerId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ContainerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&messages::Container> for ContainerId {
    fn from(container: &messages::Container) -> Self {
        Self(container.id.clone())
    }
}

/// What becomes of a request if an update of this container conflicts with another plugin's.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum OnConflict {
    /// The request fails, with the names of both plugins.
    #[default]
    FailRequest,
    /// The update is dropped without a word. It holds only if every plugin that updates the container asks for it.
    DropUpdate,
}

/// Changed resources of one container. What is not set stays as it is.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ResourceUpdate {
    cpus: Option<Cpus>,
    mems: Option<MemoryNodes>,
    shares: Option<NonZeroU64>,
    quota: Option<NonZeroI64>,
    period: Option<NonZeroU64>,
    memory_limit: Option<NonZeroI64>,
    hugepage_limits: BTreeMap<String, u64>,
    unified: BTreeMap<String, String>,
    on_conflict: OnConflict,
}

impl ResourceUpdate {
    /// Changes nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// The CPUs that it may use.
    #[must_use]
    pub fn cpus(mut self, cpus: Cpus) -> Self {
        self.cpus = Some(cpus);
        self
    }

    /// The NUMA nodes that its memory may lie on.
    #[must_use]
    pub fn mems(mut self, nodes: MemoryNodes) -> Self {
        self.mems = Some(nodes);
        self
    }

    /// Its weight: 1,024 shares for one CPU.
    #[must_use]
    pub fn shares(mut self, shares: NonZeroU64) -> Self {
        self.shares = Some(shares);
        self
    }

    /// Microseconds of CPU time a period; negative: no limit.
    #[must_use]
    pub fn quota(mut self, quota: NonZeroI64) -> Self {
        self.quota = Some(quota);
        self
    }

    /// The period of the quota, in microseconds.
    #[must_use]
    pub fn period(mut self, period: NonZeroU64) -> Self {
        self.period = Some(period);
        self
    }

    /// Bytes of memory; negative: no limit. containerd sets the limit of swap to the same.
    #[must_use]
    pub fn memory_limit(mut self, bytes: NonZeroI64) -> Self {
        self.memory_limit = Some(bytes);
        self
    }

    /// Bytes of huge pages of a size such as `2MB`. containerd adds an entry to its record with each update.
    #[must_use]
    pub fn hugepage_limit(mut self, size: impl Into<String>, bytes: u64) -> Self {
        self.hugepage_limits.insert(size.into(), bytes);
        self
    }

    /// A file of cgroup v2 and what is written to it, such as `memory.high`.
    #[must_use]
    pub fn unified(mut self, file: impl Into<String>, value: impl Into<String>) -> Self {
        self.unified.insert(file.into(), value.into());
        self
    }

    /// What a conflict with another plugin leads to.
    #[must_use]
    pub fn on_conflict(mut self, on_conflict: OnConflict) -> Self {
        self.on_conflict = on_conflict;
        self
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self { on_conflict: self.on_conflict, ..Self::default() }
    }

    fn into_message(self, id: ContainerId) -> messages::ContainerUpdate {
        let has_cpu = self.cpus.is_some()
            || self.mems.is_some()
            || self.shares.is_some()
            || self.quota.is_some()
            || self.period.is_some();
        let cpu = has_cpu.then(|| messages::LinuxCpu {
            cpus: self.cpus.as_ref().map(ToString::to_string).unwrap_or_default(),
            mems: self.mems.as_ref().map(ToString::to_string).unwrap_or_default(),
            shares: self.shares.map(|value| messages::OptionalUInt64 { value: value.get() }),
            quota: self.quota.map(|value| messages::OptionalInt64 { value: value.get() }),
            period: self.period.map(|value| messages::OptionalUInt64 { value: value.get() }),
            ..messages::LinuxCpu::default()
        });
        let limit = self.memory_limit.map(|value| messages::OptionalInt64 { value: value.get() });
        let memory = limit.map(|limit| messages::LinuxMemory { limit: Some(limit), ..Default::default() });
        let hugepage_limits = self.hugepage_limits.into_iter();
        let resources = messages::LinuxResources {
            cpu,
            memory,
            hugepage_limits: hugepage_limits
                .map(|(page_size, limit)| messages::HugepageLimit { page_size, limit })
                .collect(),
            unified: self.unified,
            ..Default::default()
        };
        messages::ContainerUpdate {
            container_id: id.0,
            linux: Some(messages::LinuxContainerUpdate { resources: Some(resources) }),
            ignore_failure: self.on_conflict == OnConflict::DropUpdate,
        }
    }
}

/// At most one change for each container. An id that the runtime does not know is passed over by it, without an error.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Updates(BTreeMap<ContainerId, ResourceUpdate>);

impl Updates {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the change of a container, in place of one that is there. A change of nothing is none.
    pub fn set(&mut self, id: ContainerId, update: ResourceUpdate) {
        if update.is_empty() {
            self.0.remove(&id);
        } else {
            self.0.insert(id, update);
        }
    }

    /// The change of a container.
    pub fn get(&self, id: &str) -> Option<&ResourceUpdate> {
        self.0.get(id)
    }

    /// All changes, by container.
    pub fn iter(&self) -> impl Iterator<Item = (&ContainerId, &ResourceUpdate)> {
        self.0.iter()
    }

    /// How many containers are changed.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no container is changed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn into_messages(self) -> Vec<messages::ContainerUpdate> {
        self.0.into_iter().map(|(id, update)| update.into_message(id)).collect()
    }
}

impl FromIterator<(ContainerId, ResourceUpdate)> for Updates {
    fn from_iter<T: IntoIterator<Item = (ContainerId, ResourceUpdate)>>(changes: T) -> Self {
        let mut updates = Self::new();
        for (id, update) in changes {
            updates.set(id, update);
        }
        updates
    }
}

#[cfg(test)]
mod tests {
    use std::num::{NonZeroI64, NonZeroU64};

    use super::{ContainerId, OnConflict, ResourceUpdate, Updates};
    use crate::messages;

    fn id(text: &str) -> ContainerId {
        ContainerId::new(text)
    }

    #[test]
    fn a_container_has_one_change_and_a_change_of_nothing_is_none() {
        let cpus = |list: &str| ResourceUpdate::new().cpus(list.parse().unwrap());
        let mut updates = Updates::new();
        updates.set(id("a"), cpus("0-1"));
        updates.set(id("b"), cpus("2"));
        updates.set(id("a"), cpus("3"));
        updates.set(id("b"), ResourceUpdate::new().on_conflict(OnConflict::DropUpdate));
        assert_eq!(updates.len(), 1);
        assert_eq!(updates.get("a"), Some(&cpus("3")));
    }

    #[test]
    fn all_eight_things_arrive_and_nothing_else() {
        let update = ResourceUpdate::new()
            .cpus("0-1".parse().unwrap())
            .mems("1".parse().unwrap())
            .shares(NonZeroU64::new(2).unwrap())
            .quota(NonZeroI64::new(-1).unwrap())
            .period(NonZeroU64::new(100_000).unwrap())
            .memory_limit(NonZeroI64::new(1 << 20).unwrap())
            .hugepage_limit("2MB", 4 << 20)
            .unified("memory.high", "max")
            .on_conflict(OnConflict::DropUpdate);
        let message = Updates::from_iter([(id("c"), update)]).into_messages().remove(0);
        assert_eq!((message.container_id.as_str(), message.ignore_failure), ("c", true));
        let resources = message.linux.unwrap().resources.unwrap();
        let expected = messages::LinuxResources {
            cpu: Some(messages::LinuxCpu {
                cpus: "0-1".to_owned(),
                mems: "1".to_owned(),
                shares: Some(messages::OptionalUInt64 { value: 2 }),
                quota: Some(messages::OptionalInt64 { value: -1 }),
                period: Some(messages::OptionalUInt64 { value: 100_000 }),
                ..Default::default()
            }),
            memory: Some(messages::LinuxMemory {
                limit: Some(messages::OptionalInt64 { value: 1 << 20 }),
                ..Default::default()
            }),
            hugepage_limits: vec![messages::HugepageLimit { page_size: "2MB".to_owned(), limit: 4 << 20 }],
            unified: [("memory.high".to_owned(), "max".to_owned())].into(),
            ..Default::default()
        };
        assert_eq!(resources, expected);
        let bare = ResourceUpdate::new().memory_limit(NonZeroI64::new(1).unwrap());
        let bare = Updates::from_iter([(id("c"), bare)]).into_messages().remove(0);
        assert_eq!(bare.linux.unwrap().resources.unwrap().cpu, None, "what is not set is not there");
    }
}
