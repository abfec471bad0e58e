//! The names of attributes and of the annotation, which readers look for. `docs/nrt.md` describes each.

/// Of the node: `restricted`.
pub const TOPOLOGY_MANAGER_POLICY: &str = "topologyManagerPolicy";
/// Of the node: `container` or `pod`.
pub const TOPOLOGY_MANAGER_SCOPE: &str = "topologyManagerScope";
/// Of the node: the largest number of NUMA nodes that its topology manager accepts.
pub const TOPOLOGY_MANAGER_MAX_NUMA_NODES: &str = "topologyManagerMaxNUMANodes";
/// Of the node: `prefer-closest-numa-nodes=true`, several with commas.
pub const TOPOLOGY_MANAGER_POLICY_OPTIONS: &str = "topologyManagerPolicyOptions";
/// Of the node: `none` or `static`.
pub const CPU_MANAGER_POLICY: &str = "cpuManagerPolicy";
/// Of the node: `full-pcpus-only=true`, several with commas.
pub const CPU_MANAGER_POLICY_OPTIONS: &str = "cpuManagerPolicyOptions";
/// Of the node: `None` or `Static`.
pub const MEMORY_MANAGER_POLICY: &str = "memoryManagerPolicy";
/// Of the node: what pods may choose by annotations, `policy,scope=pod`, where `topolet` lets them.
pub const POD_POLICY: &str = "topolet.dev/podPolicy";
/// Of the node: pods that have chosen a policy or scope, `db/main=restricted/pod`, several with commas.
pub const CHOSEN_POLICIES: &str = "topolet.dev/chosenPolicies";
/// Of the node: resources whose device plugins are not back yet, and for which pods wait, with commas; on nodes of `topolet`
/// where they do.
pub const LATE_PLUGINS: &str = "topolet.dev/latePlugins";
/// Of the node: the fingerprint of its pods.
pub const FINGERPRINT: &str = "nodeTopologyPodsFingerprint";
/// Of the node: which pods the fingerprint covers.
pub const FINGERPRINT_METHOD: &str = "nodeTopologyPodsFingerprintMethod";
/// The annotation with the fingerprint of all pods, where schedulers looked for it before there were attributes.
pub const FINGERPRINT_ANNOTATION: &str = "topology.node.k8s.io/fingerprint";
/// Of the node: of how many containers the placement is published, and how it is encoded.
pub const PLACEMENT_METADATA: &str = "topology.node.k8s.io/numaplacement-metadata";
/// Of a zone: which containers are placed there.
pub const PLACEMENT_VECTOR: &str = "topology.node.k8s.io/numaplacement-vector";
/// Of a zone: the ids of the NUMA nodes that memory of containers binds together with this one, `0,1`.
pub const MEMORY_GROUP: &str = "topolet.dev/memoryGroup";
/// Of a zone: the number of physical cores all of whose CPUs can become exclusive.
pub const FREE_CORES: &str = "topolet.dev/freeCores";
