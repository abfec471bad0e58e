//! The containers of the node: which CPUs each was asked for, has, and lost to exclusive ones.

use std::collections::BTreeMap;

use cgroup_cpuset::{CgroupDriver, CgroupPath};
use cpuset::CpuSet;
use nri_plugin::ContainerId;

pub use crate::request::NotGuarded;
use crate::request::Requested;
use crate::state_view::{Holding, NodeCpus};

/// Whether cgroups that systemd makes are written.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum SystemdWrites {
    /// They are only looked at.
    #[default]
    Off,
    /// They are, and the runtime's update follows each write, since systemd writes its own values again when it reloads.
    On,
}

/// A container that was created and is not gone.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) request: Requested,
    /// The CPUs that it has, as far as is known: those that the kubelet or a plugin asked for last, or what was written
    /// or read in its cgroup since.
    pub(crate) has: Option<CpuSet>,
    /// What it had before CPUs were taken from it; `None`: none were, or the kubelet has asked anew since.
    pub(crate) taken_from: Option<CpuSet>,
    /// What the runtime has on record since the guard changed it last; `None`: what was asked for.
    pub(crate) recorded: Option<CpuSet>,
}

impl Known {
    pub(crate) fn new(request: Requested) -> Self {
        let has = request.cpus.clone();
        Self { request, has, taken_from: None, recorded: None }
    }

    /// Whether it may be narrowed: it is guarded and holds nothing exclusively, nor must it by its request, which files
    /// that are older than its pod do not have.
    pub(crate) fn is_shared(&self, node: &NodeCpus) -> bool {
        self.request.not_guarded.is_none()
            && !self.request.is_exclusive_by_request
            && self.holding(node) == Holding::Shared
    }

    pub(crate) fn holding<'a>(&self, node: &'a NodeCpus) -> Holding<'a> {
        node.holding(&self.request.pod, &self.request.container)
    }

    /// Its cgroup, if the guard may write it.
    pub(crate) fn cgroup(&self, systemd: SystemdWrites) -> Result<&CgroupPath, NoCgroup> {
        match &self.request.cgroup {
            None => Err(NoCgroup::NotKnown),
            Some((_, CgroupDriver::Systemd)) if systemd == SystemdWrites::Off => Err(NoCgroup::OfSystemd),
            Some((path, _)) => Ok(path),
        }
    }

    /// Whether it may run on CPUs that are not shared, as far as is known.
    pub(crate) fn may_overlap(&self, node: &NodeCpus) -> bool {
        self.has.as_ref().is_none_or(|has| !has.is_subset(&node.shared))
    }

    /// What the runtime's record of it has to be: what it had before CPUs were taken from it, without what others hold
    /// now. `None`: its record is the kubelet's.
    pub(crate) fn record(&self, node: &NodeCpus) -> Option<CpuSet> {
        self.taken_from.as_ref().map(|from| from & &node.shared).filter(|cpus| !cpus.is_empty())
    }

    /// What the runtime has on record.
    pub(crate) fn on_record(&self) -> Option<&CpuSet> {
        self.recorded.as_ref().or(self.request.cpus.as_ref())
    }

    /// CPUs were taken from it.
    pub(crate) fn lost(&mut self, from: CpuSet, to: CpuSet) {
        self.has = Some(to);
        self.taken_from.get_or_insert(from);
    }

    /// The kubelet, or a plugin, asks for these CPUs.
    pub(crate) fn asked(&mut self, cpus: CpuSet) {
        self.request.cpus = Some(cpus.clone());
        self.has = Some(cpus);
        self.taken_from = None;
        self.recorded = None;
    }
}

/// Why a container's cgroup is not written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NoCgroup {
    NotKnown,
    OfSystemd,
}

/// All of them.
pub(crate) type Containers = BTreeMap<ContainerId, Known>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::tests::{container, pod};

    fn set(text: &str) -> CpuSet {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn a_record_grows_again_with_the_kubelets_pool_and_never_beyond_what_was_asked() {
        let pod = pod("a", Some("api"));
        let mut known =
            Known::new(Requested::of(&pod, &container(&pod, "0a", "/kubepods/poda/0a", "0-7", 2)));
        let node = |shared: &str| NodeCpus { shared: set(shared), ..NodeCpus::default() };
        assert_eq!(known.record(&node("0-7")), None, "it is the kubelet's");
        known.lost(set("0-7"), set("0-5"));
        known.lost(set("0-5"), set("0-3"));
        for (shared, record) in [("0-3", "0-3"), ("0-5", "0-5"), ("0-15", "0-7")] {
            assert_eq!(known.record(&node(shared)), Some(set(record)), "{shared}");
        }
        known.asked(set("0-3"));
        assert_eq!(known.record(&node("0-15")), None, "the kubelet gives it more");
    }
}
