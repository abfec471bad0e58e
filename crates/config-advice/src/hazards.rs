//! Configurations with which a kubelet starts and then cannot work.
//!
//! - Admissions that take impractically long (see the estimate in `cost.rs`).
//! - Node ids that do not fit a mask of 64 bits, and ids with gaps where distances are looked up by id: the kubelet
//!   crashes at the first pod.
//! - NUMA nodes that do not have the machine's memory, so that their totals change (see `memory_gap.rs`).
//! - More reserved on a NUMA node than it has: the kubelet's free memory wraps.
//! - Reserved CPUs that the kubelet can give to a pod, after which it does not start again (see `given_out.rs`).
//! - Rules under which no ordinary pod is ever admitted (see `trial.rs`).
//! - A full node on which the kubelet does not start again, or refuses pods that run (see `full_node.rs`).

use alloc::string::String;
use alloc::vec::Vec;

use kubelet_release::Fault;
use node_config::{FeatureGates, Gate, KubeletConfiguration};
use topology_model::{KubeletView, NodeMemory};

use crate::DecidedBy;
use crate::cost::{Cost, Walked, cost};
use crate::full_node::full_node;
use crate::given_out::{TakenWhole, reserved_by, taken_whole};
use crate::hazard::{CLOSEST, CPU_OPTIONS, Hazard, HintUser, MEMORY, POLICY};
use crate::memory_gap::MemoryGap;
use crate::trial::{self, NothingAdmitted};

/// Seconds that an ordinary container may take.
const AFFORDABLE: f64 = 1.0;
/// Seconds that a container with huge pages may take.
const AFFORDABLE_WITH_HUGE_PAGES: f64 = 10.0;

/// All hazards of a configuration, the worst first.
pub(crate) fn hazards(config: &KubeletConfiguration, view: &KubeletView, target: DecidedBy) -> Vec<Hazard> {
    let mut found = untried_hazards(config, view, target);
    if found.is_empty() {
        found.extend(trial::admits_nothing(config, view).map(|nothing| {
            let NothingAdmitted { reason, no_room, memory } = nothing;
            let field = field_of(no_room.as_deref().unwrap_or(&reason), config);
            Hazard::AdmitsNothing { reason, memory, field }
        }));
    }
    if found.is_empty() && target == DecidedBy::Kubelet {
        found.extend(full_node(config, view));
    }
    found
}

/// The hazards as far as they can be about this field: pods are tried only where they can tell.
pub(crate) fn hazards_in(
    field: &str,
    config: &KubeletConfiguration,
    view: &KubeletView,
    target: DecidedBy,
) -> Vec<Hazard> {
    const TRIED: [&str; 6] = [POLICY, CPU_OPTIONS, MEMORY, "reservedSystemCPUs", "systemReserved", "maxPods"];
    if TRIED.contains(&field) { hazards(config, view, target) } else { untried_hazards(config, view, target) }
}

/// The field by which a node has no room for any pod, or no policy that admits one.
fn field_of(reason: &str, config: &KubeletConfiguration) -> &'static str {
    match reason {
        "OutOfcpu" if !config.reserved_cpus().is_empty() => "reservedSystemCPUs",
        "OutOfcpu" | "OutOfmemory" => "systemReserved",
        "OutOfpods" => "maxPods",
        "SMTAlignmentError" => CPU_OPTIONS,
        _ => POLICY,
    }
}

/// Memory of the machine that its nodes do not have, where policy Static depends on the nodes.
fn memory_not_all_there(config: &KubeletConfiguration, view: &KubeletView) -> Option<Hazard> {
    let gap = if config.memory_policy() == "Static" { MemoryGap::of_view(view) } else { None };
    gap.map(Hazard::MemoryNotAllThere)
}

/// Reserved CPUs that pods can be given.
fn given_out(config: &KubeletConfiguration, view: &KubeletView) -> Option<Hazard> {
    let TakenWhole { unit, reserved, kind } = taken_whole(view, &reserved_by(config, view)?)?;
    Some(Hazard::ReservedGivenOut { unit, reserved, kind })
}

/// Whether pods are served as a whole by a kubelet that does not find their CPUs again.
pub(crate) fn loses_cpus(config: &KubeletConfiguration) -> bool {
    let gates = FeatureGates::check(config.rules.gates, &config.feature_gates);
    let is_on = |gate| gates.as_ref().is_ok_and(|gates| gates.is_on(gate));
    Fault::PodCpusLost.is_in(config.rules.version.release())
        && config.cpu_policy() == "static"
        && config.topology_policy() != "none"
        && config.topology_scope() == "pod"
        && is_on(Gate::PodLevelResources)
        && is_on(Gate::PodLevelResourceManagers)
}

/// What a kubelet with this configuration suffers on this machine and topolet does not, without a trial of pods.
/// What changes no answer of the kubelet that runs, but its next start, is left out.
pub fn hazards_of_kubelet(config: &KubeletConfiguration, view: &KubeletView) -> Vec<Hazard> {
    let mut found = untried_hazards(config, view, DecidedBy::Kubelet);
    found.retain(|hazard| !matches!(hazard, Hazard::MemoryNotAllThere(_)));
    found
}

/// The hazards that show without a trial of pods.
pub(crate) fn untried_hazards(
    config: &KubeletConfiguration,
    view: &KubeletView,
    target: DecidedBy,
) -> Vec<Hazard> {
    let mut found = excessive_reservations(config, view, target);
    if target == DecidedBy::Kubelet {
        found.extend(memory_not_all_there(config, view));
        found.extend(given_out(config, view));
        found.extend(loses_cpus(config).then_some(Hazard::LosesCpusOfPods));
        found.extend(crashes(config, view));
        found.extend(slow_admissions(config, view));
    }
    found
}

fn slow_admissions(config: &KubeletConfiguration, view: &KubeletView) -> Vec<Hazard> {
    let Cost { cpus, memory, merge, merge_with_huge_pages } = cost(config, view);
    let Walked { with_cpus, all } = Walked::of(view);
    let policy = String::from(config.topology_policy());
    let mut found = Vec::new();
    if memory > AFFORDABLE {
        found.push(Hazard::SlowMemoryHints { nodes: all, seconds: memory });
    }
    if cpus > AFFORDABLE {
        found.push(Hazard::SlowCpuHints { nodes: with_cpus, seconds: cpus });
    }
    if found.is_empty() && merge > AFFORDABLE {
        found.push(Hazard::SlowMerge { policy: policy.clone(), with_cpus, nodes: all, seconds: merge });
    }
    if found.is_empty() && merge_with_huge_pages > AFFORDABLE_WITH_HUGE_PAGES {
        found.push(Hazard::SlowMergeOfHugePages { policy, nodes: all, seconds: merge_with_huge_pages });
    }
    found
}

fn crashes(config: &KubeletConfiguration, view: &KubeletView) -> Vec<Hazard> {
    let mut found = Vec::new();
    let policy = config.topology_policy();
    if let Some(id) = view.nodes().ids().find(|id| !(0..64).contains(&id.0)) {
        if policy != "none" {
            found.push(Hazard::NodeIdOutOfRange { id, user: HintUser::Topology(policy.into()) });
        }
        if config.memory_policy() == "Static" {
            found.push(Hazard::NodeIdOutOfRange { id, user: HintUser::Memory });
        }
    }
    let closest = config.topology_manager_policy_options.get(CLOSEST);
    let is_on = closest.and_then(|value| node_config::parse_bool(value)).unwrap_or(false);
    if is_on && matches!(policy, "best-effort" | "restricted") && has_gaps(view) {
        found.push(Hazard::DistancesById);
    }
    found
}

/// Whether the node ids are others than 0, 1, 2 and so on.
pub(crate) fn has_gaps(view: &KubeletView) -> bool {
    (0..).zip(view.nodes().ids()).any(|(at, id): (i64, _)| id.0 != at)
}

/// Reservations above what a node has.
pub(crate) fn excessive_reservations(
    config: &KubeletConfiguration,
    view: &KubeletView,
    target: DecidedBy,
) -> Vec<Hazard> {
    if config.memory_policy() != "Static" {
        return Vec::new();
    }
    let mut found = Vec::new();
    for reserved in &config.reserved_memory {
        let is_meant = |node: &&NodeMemory| node.id.0 == i64::from(reserved.numa_node);
        let Some(node) = view.node_memory().iter().find(is_meant) else { continue };
        for (resource, amount) in &reserved.limits {
            let Some(available) = available(node, resource) else { continue };
            if i128::from(amount.value()) > i128::from(available) {
                found.push(Hazard::ReservedTooMuch {
                    amount: amount.clone(),
                    resource: resource.clone(),
                    node: reserved.numa_node,
                    available,
                    target,
                });
            }
        }
    }
    found
}

/// Bytes that a node has of a resource before anything is reserved; `None` for a resource that it does not count.
fn available(node: &NodeMemory, resource: &str) -> Option<u64> {
    if resource == "memory" {
        return Some(node.beside_hugepages());
    }
    let size = node
        .hugepages
        .iter()
        .find(|size| k8s_quantity::hugepage_resource_name(size.page_size_kib) == *resource)?;
    Some(size.page_size_kib.saturating_mul(1024).saturating_mul(size.num_pages))
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::ToString as _;
    use alloc::vec;

    use topology_discovery::{SysfsTree, read};
    use topology_manifest::{Source, read_kubelet_config};
    use topology_model::{HugePages, MachineCore, MachineInfo, MachineNode};

    use super::*;
    use crate::{changes, propose};

    fn configuration(fields: &str) -> KubeletConfiguration {
        let text =
            format!("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n{fields}\n");
        read_kubelet_config(&Source { name: "kubelet.yaml", text: &text }).unwrap().config
    }

    fn machine(name: &str) -> KubeletView {
        let tree = SysfsTree::archive(machine_fixtures::archive(name).unwrap()).unwrap();
        KubeletView::new(&read(&tree).unwrap().info).unwrap()
    }

    /// Eight CPUs on node 0, and memory on each of the nodes with these ids.
    fn cpus_apart(memory_on: &[i64]) -> KubeletView {
        let core = |cpu| MachineCore { thread_ids: Some(vec![cpu]), ..MachineCore::default() };
        let cpus = MachineNode { id: 0, cores: Some((0..8).map(core).collect()), ..MachineNode::default() };
        let memory =
            memory_on.iter().map(|id| MachineNode { id: *id, memory: 64 << 30, ..MachineNode::default() });
        let nodes = core::iter::once(cpus).chain(memory).collect();
        let memory_capacity = (64 << 30) * memory_on.len() as u64;
        let info = MachineInfo {
            num_cpus: 8,
            num_sockets: 1,
            memory_capacity,
            topology: Some(nodes),
            ..MachineInfo::default()
        };
        KubeletView::new(&info).unwrap()
    }

    const STATIC: &str = "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\nmemoryManagerPolicy: Static\n\
        systemReserved: {memory: 924Mi}\n";

    #[track_caller]
    fn check(view: &KubeletView, fields: &str, expected: &[(&str, &str)]) {
        let config = configuration(&format!("{STATIC}{fields}"));
        let found = hazards(&config, view, DecidedBy::Kubelet);
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (own, (field, words)) in found.iter().zip(expected) {
            assert_eq!(own.field(), *field, "{found:?}");
            assert!(own.to_string().contains(words), "{words}: {found:?}");
        }
        let proposal = propose(&config, view, DecidedBy::Kubelet);
        assert!(hazards(&proposal, view, DecidedBy::Kubelet).is_empty(), "{proposal:?}");
        let changed = changes(&config, &proposal);
        let is_at_fault = |field: &str| changed.iter().any(|change| change.field == field);
        let at_fault = [POLICY, MEMORY, "reservedMemory"].into_iter().any(is_at_fault);
        assert_eq!(at_fault, !expected.is_empty(), "{changed:?}");
    }

    const ON_0: &str = "reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]\ntopologyManagerPolicyOptions: {max-allowable-numa-nodes: '64'}\n";

    #[test]
    fn a_kubelet_that_never_admits_its_first_pod_is_not_called_good() {
        for (name, policy, expected) in [
            ("gb200-nvl4-34node", "restricted", &[(MEMORY, "2^34 sets of the 34 NUMA nodes")][..]),
            ("gb200-nvl4-34node", "none", &[(MEMORY, "takes about 17 hours")]),
            (
                "turin-9755-nps4-l3numa-32node",
                "best-effort",
                &[(MEMORY, "takes about 4 hours"), (POLICY, "takes about 5 days")],
            ),
            ("milan-7763-l3numa-16node", "single-numa-node", &[(POLICY, "takes about 3 s")]),
            ("spr-hbm-flat-snc4-16node", "restricted", &[(MEMORY, "takes about 4 s")]),
        ] {
            check(&machine(name), &format!("{ON_0}topologyManagerPolicy: {policy}\n"), expected);
        }
    }

    #[test]
    fn memory_that_a_node_does_not_have_is_not_reserved_there() {
        let none = "which has none: the kubelet's free memory there wraps";
        let machine = machine("threadripper3960x-nps4-memoryless-4node");
        let on = |node| {
            format!(
                "topologyManagerPolicy: restricted\nreservedMemory: [{{numaNode: {node}, limits: {{memory: 1Gi}}}}]\n"
            )
        };
        let empty: Vec<_> = machine.node_memory().iter().filter(|node| node.memory == 0).collect();
        assert!(!empty.is_empty());
        for node in empty {
            check(&machine, &on(node.id.0), &[("reservedMemory", none)]);
        }
    }

    #[test]
    fn static_memory_is_not_called_good_where_nodes_lack_the_machines_memory() {
        let view = |machine: u64, node: u64| {
            let core = |cpu| MachineCore { thread_ids: Some(vec![cpu]), ..MachineCore::default() };
            let cores = Some((0..8).map(core).collect());
            let node = MachineNode { memory: node << 20, cores, ..MachineNode::default() };
            let info = MachineInfo {
                num_cpus: 8,
                num_sockets: 1,
                memory_capacity: machine << 20,
                topology: Some(vec![node]),
                ..MachineInfo::default()
            };
            KubeletView::new(&info).unwrap()
        };
        let fields = format!("{ON_0}topologyManagerPolicy: restricted\n");
        let harmful = "the NUMA nodes have 8Gi of memory together, and the machine 126Gi: pods get no more";
        check(&view(126 << 10, 8 << 10), &fields, &[(MEMORY, harmful)]);
        // From boot to boot they differ by some MiB.
        check(&view(126 << 10, (126 << 10) - 40), &fields, &[]);
        let small = view(126 << 10, 8 << 10);
        let plain = configuration("cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n");
        let proposal = propose(&plain, &small, DecidedBy::Kubelet);
        assert_eq!((proposal.topology_policy(), proposal.memory_policy()), ("restricted", "None"));
        let why = crate::held_back(&plain, &proposal, &small, DecidedBy::Kubelet);
        assert!(why.iter().any(|note| note.to_string().contains(harmful)), "{why:?}");
        // A kubelet that runs answers as before.
        assert_eq!(hazards_of_kubelet(&configuration(&format!("{STATIC}{fields}")), &small), []);
    }

    #[test]
    fn a_kubelet_that_would_crash_is_not_called_good() {
        let apart = |policy: &str| {
            format!(
                "reservedMemory: [{{numaNode: 1, limits: {{memory: 1Gi}}}}]\ntopologyManagerPolicy: {policy}\n"
            )
        };
        let crashes = "crashes the kubelet at the first pod: NUMA node 252";
        check(&cpus_apart(&[1, 252]), &apart("restricted"), &[(POLICY, crashes), (MEMORY, crashes)]);
        let closest = "topologyManagerPolicyOptions: {prefer-closest-numa-nodes: 'true'}\n";
        let found = hazards(
            &configuration(&format!("{STATIC}{}{closest}", apart("best-effort"))),
            &cpus_apart(&[1, 8]),
            DecidedBy::Kubelet,
        );
        assert_eq!(found.first().map(Hazard::field), Some("topologyManagerPolicyOptions"), "{found:?}");
    }

    #[test]
    fn a_kubelet_that_crashes_beside_a_full_node_is_not_called_good() {
        let node = |id: i64, hugepages| {
            let core = |at| MachineCore { thread_ids: Some(vec![4 * id + at]), ..MachineCore::default() };
            let cores = Some((0..4).map(core).collect());
            MachineNode { id, memory: 64 << 30, cores, hugepages: Some(hugepages), ..MachineNode::default() }
        };
        let pages = HugePages { page_size_kib: 1 << 20, num_pages: 4 };
        let view = |of_node_1| {
            let info = MachineInfo {
                num_cpus: 8,
                num_sockets: 1,
                memory_capacity: 128 << 30,
                topology: Some(vec![node(0, vec![pages]), node(1, of_node_1)]),
                ..MachineInfo::default()
            };
            KubeletView::new(&info).unwrap()
        };
        let config = configuration(&format!("{STATIC}{ON_0}topologyManagerPolicy: best-effort\n"));
        let found = hazards(&config, &view(Vec::new()), DecidedBy::Kubelet);
        let [hazard] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((hazard.field(), hazard.fault()), (MEMORY, Some(Fault::UnevenGroup)));
        let crashes = "the kubelet crashes when it starts again: NUMA nodes 0 and 1 are bound together";
        assert!(hazard.to_string().contains(crashes), "{hazard}");
        assert_eq!(hazards(&config, &view(vec![pages]), DecidedBy::Kubelet), []);
    }

    #[test]
    fn rules_under_which_no_pod_runs_are_not_called_good() {
        let fields = |policy: &str| {
            format!(
                "reservedMemory: [{{numaNode: 1, limits: {{memory: 1Gi}}}}]\ntopologyManagerPolicy: {policy}\n"
            )
        };
        let nothing = "no Guaranteed pod of 1 to 8 CPUs and 1Gi is ever admitted, even on an empty node: TopologyAffinityError";
        check(&cpus_apart(&[1, 2]), &fields("restricted"), &[(POLICY, nothing)]);
        check(&cpus_apart(&[1, 2]), &fields("best-effort"), &[]);
        // Where nothing is given, nothing of the kind is proposed either.
        let proposal = propose(&KubeletConfiguration::default(), &cpus_apart(&[1, 2]), DecidedBy::Kubelet);
        assert_eq!((proposal.topology_policy(), proposal.memory_policy()), ("restricted", "None"));
    }
}
