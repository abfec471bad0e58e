//! The values of rules: what a release does, one enum for each rule.

/// What the feature gates are: known names, stages, defaults, locks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GateTable {
    /// Of 1.34.
    V1_34,
    /// Of 1.35.
    V1_35,
    /// Of 1.36.
    V1_36,
    /// Of 1.37.
    V1_37,
}

/// How a missing or forbidden `memoryThrottlingFactor` is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemoryThrottling {
    /// It is 0.9 unless set, and required where gate `MemoryQoS` is on.
    Defaulted,
    /// It has no default; with gate `MemoryQoS` off only 0.9 may be set.
    Optional,
}

/// Whether a configuration has `defaultPodSysctls`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PodSysctls {
    /// It has not: the field is ignored, as any unknown one.
    Unknown,
    /// It has, where gate `DefaultPodSysctls` is on.
    Gated,
}

/// Which fields `allocated_pods_state` and `actuated_pods_state` have, and how a kubelet names the latter when it does not
/// read it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PodAllocationsForm {
    /// Containers' resources; both files are named alike in errors.
    Containers,
    /// Resources at pod level too; errors name `actuated_pods_state` separately.
    PodLevel,
    /// The fields of 1.37.
    Whole,
}

/// Who fills in what a pod requests as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DefaultedBy {
    /// Every program that decodes a pod, so the kubelet for static pods too; limits are not filled in.
    Decoder,
    /// The API server alone, limits included: the kubelet takes static pods as they are written.
    ApiServer,
}

/// What the QoS class of a pod is worked out from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum QosBy {
    /// Sums over the containers; an empty `resources` of the pod hides them.
    Sums,
    /// Each container by itself; an empty `resources` of the pod says nothing.
    Containers,
}

/// How many CPUs each NUMA node gives with `distribute-cpus-across-numa` and `align-by-socket`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AlignedShare {
    /// The even share; a combination with a poorer node is skipped, and sockets do not matter.
    Even,
    /// The even share, or less where a node has less; combinations within one socket come first.
    Lowered,
}

/// When `full-pcpus-only` asks for whole cores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WholeCoreCheck {
    /// Before the state is looked at: a container that has CPUs can be refused after a restart.
    Everyone,
    /// After it: a container that has CPUs passes.
    NewContainers,
}

/// What a container is given by the memory manager that requests neither memory nor huge pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EmptyMemoryRequest {
    /// It is served like any other: an empty list of hints, and an entry without blocks.
    Served,
    /// It is left alone: no hints, no entry, no count.
    LeftAlone,
}

/// How mature a policy option is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OptionStage {
    /// It can be named where the gate for options in beta is on.
    Beta,
    /// It can be named.
    Stable,
}

/// How the errors of the flag `--reserved-memory` are spelt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlagTexts {
    /// With `quantatity` and `exptected`.
    Misspelt,
    /// With `quantity` and `expected`.
    Spelt,
}

/// Which flags a kubelet has beside those that all releases have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum FlagTable {
    /// None.
    OfAll,
    /// Those of cAdvisor, such as `--storage-driver-db`.
    OfCadvisor,
    /// Those of cAdvisor and `--pod-infra-container-image`.
    OfSandboxImage,
}

/// Which forms of the state files of the CPU and memory managers are written and read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CheckpointForm {
    /// One form each, CPU form 2 and memory form 1. The names of their types have no version, and an older CPU form is
    /// tried first.
    Single,
    /// The manager's entries alone: CPU form 2 and memory form 1, or forms 3 and 2 with pods as a whole.
    Plain,
    /// The same with the data once more as text: CPU form 4 and memory form 3.
    Embedded,
}

/// The NUMA nodes of which the device manager lists sets in its hints for a resource.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeviceHintNodes {
    /// All nodes of the machine.
    OfMachine,
    /// Those that have a device of the resource; all nodes of the machine if none has.
    WithDevices,
}

/// What the managers of CPUs and memory do for a pod with resources at pod level while `PodLevelResources` is off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PodsOfGateOff {
    /// Its containers are served as if the pod had none.
    Served,
    /// Nothing.
    LeftAlone,
}

/// Which instances of a container tell the device manager that it has run through a restart of the kubelet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunningInstances {
    /// One of them, which may have ended: of a container that was started again before, chance decides.
    One,
    /// Any that runs.
    Any,
}

/// How many device plugins may serve one resource.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PluginsPerResource {
    /// One: a newer one replaces it.
    One,
    /// Several, distinguished by their sockets.
    Several,
}

/// How an amount of `ephemeral-storage` is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StorageForm {
    /// With the unit of a binary quantity: `100Gi`.
    Binary,
    /// As a decimal number: `107374182400`.
    Decimal,
}

/// How the metrics of the resource managers begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MetricPrefix {
    /// `resource_manager_`.
    Bare,
    /// `kubelet_resource_manager_`; counters end with `_total`.
    Kubelet,
}

/// What the pod resources service tells of a pod whose CPUs and memory are allocated to it as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PodResourcesTold {
    /// What its containers have, shared or not.
    Containers,
    /// What the pod has, and of its containers what is their own.
    PodsToo,
}
