//! A proposal in the words of the configuration that it is for: what only differs in how it is written stays as it is.

use alloc::collections::BTreeMap;
use alloc::string::String;

use cpuset::CpuSet;
use k8s_quantity::Quantity;
use node_config::{KubeletConfiguration, ReservedMemory};

/// `proposal` with those values of `config` that mean the same.
pub(crate) fn spelled_as(
    config: &KubeletConfiguration,
    mut proposal: KubeletConfiguration,
) -> KubeletConfiguration {
    let cpus = |text: &KubeletConfiguration| text.reserved_cpus().parse::<CpuSet>().ok();
    if cpus(config).is_some() && cpus(config) == cpus(&proposal) {
        proposal.reserved_system_cpus.clone_from(&config.reserved_system_cpus);
    }
    if config.cpu_policy() == proposal.cpu_policy() {
        proposal.cpu_manager_policy.clone_from(&config.cpu_manager_policy);
    }
    if config.memory_policy() == proposal.memory_policy() {
        proposal.memory_manager_policy.clone_from(&config.memory_manager_policy);
    }
    if config.topology_policy() == proposal.topology_policy() {
        proposal.topology_manager_policy.clone_from(&config.topology_manager_policy);
    }
    if config.topology_scope() == proposal.topology_scope() {
        proposal.topology_manager_scope.clone_from(&config.topology_manager_scope);
    }
    let amounts = [
        (&config.kube_reserved, &mut proposal.kube_reserved),
        (&config.system_reserved, &mut proposal.system_reserved),
    ];
    for (own, proposed) in amounts {
        if is_same(own, proposed) {
            proposed.clone_from(own);
        }
    }
    if is_same_memory(&config.reserved_memory, &proposal.reserved_memory) {
        proposal.reserved_memory.clone_from(&config.reserved_memory);
    }
    let period = config.cpu_manager_reconcile_period;
    let is_default = |config: &KubeletConfiguration| config.reconcile_period();
    if is_default(config) == is_default(&proposal) {
        proposal.cpu_manager_reconcile_period = period;
    }
    proposal
}

/// Whether two maps have the same amounts.
fn is_same(own: &BTreeMap<String, String>, proposed: &BTreeMap<String, String>) -> bool {
    let is_equal = |(name, text): (&String, &String)| {
        let other = proposed.get(name).and_then(|other| other.parse::<Quantity>().ok());
        other.is_some() && text.parse::<Quantity>().ok() == other
    };
    own.len() == proposed.len() && own.iter().all(is_equal)
}

/// Whether two lists reserve the same on each NUMA node.
fn is_same_memory(own: &[ReservedMemory], proposed: &[ReservedMemory]) -> bool {
    own.len() == proposed.len() && own.iter().all(|one| proposed.contains(one))
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::vec::Vec;

    use topology_manifest::{Source, read_kubelet_config};

    use super::*;
    use crate::changes;

    fn configuration(fields: &str) -> KubeletConfiguration {
        let text =
            format!("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n{fields}\n");
        read_kubelet_config(&Source { name: "kubelet.yaml", text: &text }).unwrap().config
    }

    #[track_caller]
    fn check(own: &str, proposed: &str, expected: &[&str]) {
        let (own, proposed) = (configuration(own), configuration(proposed));
        let changed = changes(&own, &spelled_as(&own, proposed));
        let changed: Vec<_> = changed.iter().map(|change| change.field.as_str()).collect();
        assert_eq!(changed, expected, "{own:?}");
    }

    #[test]
    fn only_another_meaning_is_a_change() {
        check("reservedSystemCPUs: '0,32,1,33'", "reservedSystemCPUs: 0-1,32-33", &[]);
        check("reservedSystemCPUs: '0,32'", "reservedSystemCPUs: '0,33'", &["reservedSystemCPUs"]);
        check("", "memoryManagerPolicy: None\ntopologyManagerPolicy: none\ncpuManagerPolicy: none", &[]);
        check("topologyManagerScope: container", "", &[]);
        check("topologyManagerScope: pod", "", &["topologyManagerScope"]);
        check("kubeReserved: {memory: 1Gi}", "kubeReserved: {memory: 1024Mi}", &[]);
        check("kubeReserved: {memory: 1Gi}", "kubeReserved: {memory: 1G}", &["kubeReserved"]);
        check("cpuManagerReconcilePeriod: 10s", "", &[]);
        let memory = |nodes: [i32; 2], amount: &str| {
            let on = nodes.map(|node| format!("{{numaNode: {node}, limits: {{memory: {amount}}}}}"));
            format!("reservedMemory: [{}]", on.join(", "))
        };
        check(&memory([1, 0], "1Gi"), &memory([0, 1], "1024Mi"), &[]);
        check(&memory([1, 0], "1Gi"), &memory([0, 1], "1Mi"), &["reservedMemory"]);
    }
}
