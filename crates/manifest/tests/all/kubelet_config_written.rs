//! A kubelet configuration that is written by serde is read back as the same one.

use node_config::{Release, Rules};
use topology_manifest::{Source, read_kubelet_config_of};

#[track_caller]
fn check(written: &str) {
    // The newest release knows every field.
    let rules = Rules::of(Release::V1_37);
    let read = |text: &str| read_kubelet_config_of(&Source { name: "kubelet.yaml", text }, rules).unwrap();
    let config = read(written).config;
    let again = read(&serde_saphyr::to_string(&config).unwrap());
    assert_eq!(again.config, config, "{}", serde_saphyr::to_string(&config).unwrap());
    assert!(again.warnings.is_empty());
}

#[test]
fn what_is_written_is_read_as_the_same_configuration() {
    let head = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
    for fields in [
        "",
        "cpuManagerPolicy: static\nreservedSystemCPUs: \"0\"\ncpuManagerPolicyOptions: {full-pcpus-only: \"true\"}",
        "reservedSystemCPUs: \"0,48\"\ncpuManagerReconcilePeriod: 1m30s",
        "reservedSystemCPUs: 'no: [a, list'\nsystemCgroups: '#/system'",
        "memoryManagerPolicy: Static\nreservedMemory: [{numaNode: 0, limits: {memory: 1Gi, hugepages-1Gi: 2Gi}}, {numaNode: -1}]",
        "evictionHard: {}\nenforceNodeAllocatable: []\nmergeDefaultEvictionSettings: false",
        "evictionHard: {memory.available: 5%, nodefs.available: \"10%\"}\nenforceNodeAllocatable: [pods, 'null']",
        "kubeReserved: {cpu: \"1\", memory: \"1e3\"}\nsystemReserved: {cpu: 500m, pid: \"1000\"}\nmaxPods: 0\npodsPerCore: 10",
        "topologyManagerPolicy: 'true'\ntopologyManagerScope: pod\ntopologyManagerPolicyOptions: {max-allowable-numa-nodes: \"34\"}",
        "memoryThrottlingFactor: 0.95\ndefaultPodSysctls: {net.core.somaxconn: \"1024\", user.max_ipc_namespaces: '0'}",
        "cgroupsPerQOS: false\ncgroupRoot: /\nsystemReservedCgroup: /a\nkubeReservedCgroup: \"~\"\nfeatureGates: {A: true, B: false}",
    ] {
        check(&format!("{head}{fields}\n"));
    }
}
