//! Words that tell nothing of whose node it is: they are Kubernetes' own, or those of makers of devices.

/// Values of fields and flags of a kubelet, and names that Kubernetes itself gives.
#[rustfmt::skip]
pub(super) const VALUES: &[&str] = &[
    "", "0.0.0.0", "BestEffort", "Burstable", "DoesNotExist", "Equal", "Exists", "Failed", "Gt", "Guaranteed", "In",
    "KubeletConfiguration", "Lt", "Memory", "NoExecute", "NoSchedule", "None", "NotIn", "Pending", "PreferNoSchedule",
    "Running", "SCTP", "Static", "Succeeded", "TCP", "UDP", "Unknown", "amd64", "arm64", "best-effort", "container",
    "cpu", "ephemeral-storage", "false", "imagefs.available", "imagefs.inodesFree", "kube-reserved",
    "kubelet.config.k8s.io/v1beta1", "linux", "memory", "memory.available", "nodefs.available", "nodefs.inodesFree",
    "none", "pid", "pid.available", "pod", "pods", "restricted", "single-numa-node", "static", "system-reserved",
    "systemd", "cgroupfs", "true", "v1", "allocatableMemory.available", "containerfs.available",
    "containerfs.inodesFree", "align-by-socket", "distribute-cpus-across-cores", "distribute-cpus-across-numa",
    "full-pcpus-only", "prefer-align-cpus-by-uncorecache", "strict-cpu-reservation", "prefer-closest-numa-nodes",
    "max-allowable-numa-nodes", "/", "/kubepods.slice", "/system.slice", "/kube.slice", "/podruntime.slice",
    "/runtime.slice", "/system", "/kubelet", "/kube-reserved", "/system-reserved", "windows", "ppc64le", "s390x",
];

/// Domains whose resources, labels and taints are public names: Kubernetes' own, and those of makers of devices.
#[rustfmt::skip]
pub(super) const DOMAINS: &[&str] = &[
    "amd.com", "aws.amazon.com", "cloud.google.com", "devices.kubevirt.io", "gpu.intel.com", "habana.ai",
    "huawei.com", "intel.com", "k8s.io", "kubernetes.io", "mellanox.com", "node-role.kubernetes.io",
    "node.kubernetes.io", "node.openshift.io", "nvidia.com", "openshift.io", "qat.intel.com", "rdma",
    "smarter-devices", "topology.kubernetes.io", "vpc.amazonaws.com", "xilinx.com", "broadcom.com", "marvell.com",
    "google.com", "sgx.intel.com", "fpga.intel.com", "dsa.intel.com", "gpu.amd.com", "metax-tech.com",
    "cambricon.com",
];

/// Labels and taints by which Kubernetes itself decides, whose values are public words too or are replaced.
#[rustfmt::skip]
pub(super) const KEYS: &[&str] = &[
    "kubernetes.io/os", "kubernetes.io/arch", "kubernetes.io/hostname", "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch", "node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master",
    "node-role.kubernetes.io/worker", "node-role.kubernetes.io/infra", "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone", "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable",
    "node.kubernetes.io/memory-pressure", "node.kubernetes.io/disk-pressure", "node.kubernetes.io/pid-pressure",
    "node.kubernetes.io/network-unavailable", "node.kubernetes.io/unschedulable",
    "node.cloudprovider.kubernetes.io/uninitialized", "nvidia.com/gpu", "amd.com/gpu", "CriticalAddonsOnly",
    "metadata.name",
];

/// One word as reasons of kubelets are.
#[rustfmt::skip]
pub(super) const REASONS: &[&str] = &[
    "TopologyAffinityError", "UnexpectedAdmissionError", "SMTAlignmentError", "EmptyPodSharedPoolError",
    "PodOSSelectorNodeLabelDoesNotMatch", "PodOSNotSupported", "SupplementalGroupsPolicyNotSupported",
    "PodLevelResourcesNotSupported", "NodeAffinity", "NodeName", "NodePorts", "TaintToleration", "AppArmor",
    "InvalidNodeInfo", "InitContainerRestartPolicyForbidden", "NodeShutdown", "PodFeatureUnsupported",
    "SysctlForbidden", "UnexpectedPredicateFailureType", "UnknownReason", "VolumeAttachmentLimitExceeded", "Evicted",
    "OutOfcpu", "OutOfmemory", "OutOfpods", "OutOfephemeral-storage",
];

/// Words of which the messages of kubelets are made, in small letters.
#[rustfmt::skip]
pub(super) const WORDS: &[&str] = &[
    "a", "absent", "admission", "admit", "affinity", "after", "align", "aligned", "all", "alloc", "allocatable",
    "allocate", "allocated", "allocating", "allocation", "already", "an", "and", "any", "are", "as", "asked", "at",
    "available", "based", "be", "because", "been", "before", "being", "best-effort", "beyond", "blocks", "both",
    "but", "by", "cache", "calculate", "can", "cannot", "capacity", "cgroup", "check", "checkpoint", "checksum",
    "cluster", "code", "config", "configuration", "configured", "container", "containers", "context", "core",
    "corrupted", "corrupt", "could", "cpu", "cpus", "cpuset", "cpusets", "create", "current", "cpumanager", "data",
    "deadline", "default", "delete", "deleted", "denied", "deny", "desc", "detected", "device", "devices", "did",
    "didn't", "differs", "directory", "disk", "does", "doesn't", "drain", "due", "during", "empty", "enough",
    "ensure", "error", "exceeded", "exist", "exists", "expected", "fail", "failed", "fails", "feature", "field",
    "file", "find", "for", "found", "free", "from", "full", "gate", "gave", "get", "given", "group", "had", "has",
    "have", "healthy", "host", "huge", "hugepages", "id", "ids", "if", "impossible", "in", "inconsistent", "info",
    "information", "init", "initial", "initialise", "initialize", "initialized", "insufficient", "interface",
    "internal", "into", "invalid", "is", "isn't", "it", "its", "kind", "kubelet", "label", "labels", "larger", "less",
    "level", "limit", "list", "local", "locality", "low", "machine", "manager", "match", "matched", "matches",
    "maximum", "memory", "memorymanager", "merged", "message", "minimum", "missing", "more", "must", "name", "needs",
    "no", "node", "node's", "nodes", "none", "not", "numa", "number", "of", "off", "offline", "on", "one", "online",
    "only", "open", "operation", "option", "options", "or", "os", "other", "out", "over", "parse", "physical",
    "plugin", "please", "pod", "pods", "policy", "pool", "ports", "possible", "predicate", "preferred", "present",
    "previous", "range", "reading", "ready", "reason", "reconcile", "refused", "registered", "release", "remove",
    "removing", "requested", "requests", "request", "required", "requires", "reserved", "reservation", "resource",
    "resources", "restart", "restarting", "restore", "restoring", "restricted", "returned", "rpc", "run", "running",
    "runtime", "selector", "served", "set", "shared", "should", "single-numa-node", "size", "smt", "socket", "some",
    "start", "started", "state", "static", "still", "stored", "sum", "support", "supported", "system", "taint",
    "taints", "than", "that", "the", "there", "they", "this", "threads", "timed", "to", "toleration", "tolerate",
    "too", "topology", "total", "type", "unable", "unavailable", "unexpected", "unhealthy", "unknown", "unmarshal",
    "unreachable", "unsupported", "until", "use", "used", "using", "valid", "validate", "value", "values", "wait",
    "want", "wanted", "was", "we", "were", "when", "which", "while", "will", "with", "within", "without", "write",
    "wrong", "zero", "rejected", "satisfy", "unsatisfied", "existing", "hint", "hints", "mask", "nil", "null",
    "previously", "devicemanager", "endpoint", "prestartcontainer", "getpreferredallocation", "starting", "again",
    "condition", "diskpressure", "memorypressure", "pidpressure", "regained", "end", "input", "json", "character",
    "looking", "beginning", "string", "literal", "topologymanager", "starts", "daemon", "containermanager",
    "accounts", "reserve", "smt-level", "multiple", "per", "isolation", "exclusive", "assigned", "unassigned",
    "quantity", "request's", "obtained", "command",
];

/// Words in the names that vendors and their plugins give resources.
#[rustfmt::skip]
pub(super) const DEVICES: &[&str] = &[
    "gpu", "gpus", "mig", "shared", "vf", "pf", "sriov", "netdevice", "net", "nic", "nics", "fpga", "qat", "dsa",
    "iaa", "sgx", "epc", "enclave", "provision", "rdma", "hca", "roce", "ib", "infiniband", "vfio", "kvm", "tun",
    "vhost", "neuron", "neuroncore", "neurondevice", "efa", "gaudi", "ascend", "npu", "tpu", "dpdk", "e810", "x710",
    "xl710", "cx5", "cx6", "cx7", "i915", "xe", "cc", "sym", "asym", "generic", "mlnx", "mlx", "a100", "h100",
];
