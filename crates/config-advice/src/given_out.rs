//! Reserved CPUs that the kubelet gives to a pod.
//!
//! The kubelet takes a core or a socket as a whole if as many of its CPUs are free as cores or sockets have *on average*,
//! and then takes all of its CPUs. Where all have equally many, a unit with a reserved CPU never looks free. On a machine
//! whose cores have one and two threads the average is one: a core of two threads of which one is reserved looks free,
//! and both go to the pod. The pool lacks a reserved CPU then, and no kubelet starts from such a state.

use cpuset::CpuSet;
use node_config::KubeletConfiguration;
use topology_admission::{Compat, Node};
use topology_model::KubeletView;

/// A core or socket that the kubelet can take with its reserved CPUs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct TakenWhole {
    /// All of its CPUs.
    pub(crate) unit: CpuSet,
    /// Those of them that are reserved.
    pub(crate) reserved: CpuSet,
    /// What it is.
    pub(crate) kind: Unit,
}

/// What the kubelet takes as a whole by an average.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// A core.
    Core,
    /// A socket.
    Socket,
}

/// The first unit that can be taken with reserved CPUs, cores first, whatever else pods hold.
pub(crate) fn taken_whole(view: &KubeletView, reserved: &CpuSet) -> Option<TakenWhole> {
    let table = view.cpus();
    let allocatable = table.all() - reserved;
    let is_taken = |unit: &CpuSet, average: usize| {
        let left = unit - reserved;
        // Pods may hold some of what is left, so that exactly the average is free.
        average > 0 && left.len() < unit.len() && left.len() >= average && unit.len() <= allocatable.len()
    };
    let cores = table.cores().map(|(_, unit)| (unit, Unit::Core, table.cpus_per_core()));
    let sockets = table.sockets().map(|(_, unit)| (unit, Unit::Socket, table.cpus_per_socket()));
    let (unit, kind, _) = cores.chain(sockets).find(|(unit, _, average)| is_taken(unit, *average))?;
    Some(TakenWhole { unit: unit.clone(), reserved: unit & reserved, kind })
}

/// Whether a core of this machine can be given to a second pod while a first one holds a part of it: it has more threads
/// than cores have on average.
pub(crate) fn cores_differ(view: &KubeletView) -> bool {
    let average = view.cpus().cpus_per_core();
    average > 0 && view.cpus().cores().any(|(_, core)| core.len() > average)
}

/// The CPUs that the kubelet reserves with a configuration, listed or counted; `None`: it pins no CPUs, or does not start.
pub(crate) fn reserved_by(config: &KubeletConfiguration, view: &KubeletView) -> Option<CpuSet> {
    let alone = KubeletConfiguration {
        memory_manager_policy: None,
        topology_manager_policy: None,
        topology_manager_scope: None,
        ..config.clone()
    };
    let node = Node::start_as(view, &alone, Compat::KUBELET).ok()?;
    node.cpus().map(|cpus| cpus.reserved().clone())
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec;
    use alloc::vec::Vec;

    use topology_model::{MachineCore, MachineInfo, MachineNode};

    use super::*;

    /// Cores of these numbers of threads on these sockets, CPUs numbered in turn.
    fn machine(cores: &[(i64, usize)]) -> KubeletView {
        let mut next = 0;
        let core = |(socket, threads): &(i64, usize)| {
            let own: Vec<_> = (next..).take(*threads).collect();
            next += i64::try_from(*threads).unwrap();
            MachineCore { thread_ids: Some(own), socket_id: *socket, ..MachineCore::default() }
        };
        let cores: Vec<MachineCore> = cores.iter().map(core).collect();
        let mut sockets: Vec<i64> = cores.iter().map(|core| core.socket_id).collect();
        sockets.dedup();
        let num_sockets = i64::try_from(sockets.len()).unwrap();
        let node = MachineNode { cores: Some(cores), memory: 64 << 30, ..MachineNode::default() };
        let info = MachineInfo {
            num_cpus: next,
            num_sockets,
            memory_capacity: 64 << 30,
            topology: Some(vec![node]),
            ..MachineInfo::default()
        };
        KubeletView::new(&info).unwrap()
    }

    #[track_caller]
    fn check(cores: &[(i64, usize)], reserved: &str, expected: Option<(Unit, &str, &str)>) {
        let view = machine(cores);
        let found = taken_whole(&view, &reserved.parse().unwrap());
        let found = found.map(|own| (own.kind, own.unit.to_string(), own.reserved.to_string()));
        let expected = expected.map(|(kind, unit, own)| (kind, unit.to_string(), own.to_string()));
        assert_eq!(found, expected, "{cores:?} with {reserved}");
    }

    #[test]
    fn a_unit_of_more_cpus_than_the_average_is_taken_with_its_reserved_ones() {
        let hybrid = [(0, 2), (0, 2), (0, 1), (0, 1)];
        check(&hybrid, "0", Some((Unit::Core, "0-1", "0")));
        check(&hybrid, "0-1", None);
        check(&hybrid, "4", None);
        // All cores alike: a half of one never looks free.
        check(&[(0, 2), (0, 2), (1, 2), (1, 2)], "0", None);
        check(&[(0, 1), (0, 1), (1, 1), (1, 1)], "0", None);
        // Six and two cores: four are an average socket.
        let uneven = [(0, 1), (0, 1), (0, 1), (0, 1), (0, 1), (0, 1), (1, 1), (1, 1)];
        check(&uneven, "0", Some((Unit::Socket, "0-5", "0")));
        check(&uneven, "0-2", None);
        check(&uneven, "6", None);
    }
}
