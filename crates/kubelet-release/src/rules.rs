//! The table: what each release decides by.

use crate::release::{Release, Version};
use crate::value::{
    AlignedShare, CheckpointForm, DefaultedBy, DeviceHintNodes, EmptyMemoryRequest, FlagTable, FlagTexts,
    GateTable, MemoryThrottling, MetricPrefix, OptionStage, PluginsPerResource, PodAllocationsForm,
    PodResourcesTold, PodSysctls, PodsOfGateOff, QosBy, RunningInstances, StorageForm, WholeCoreCheck,
};

/// Makes [`Rules`] and [`Rule`] of a table with a row for each rule: its field, its name, the type of its values, what
/// it decides, the upstream change, and its value in 1.34, 1.35, 1.36 and 1.37.
macro_rules! table {
    ($($field:ident $name:ident: $value:ident = [$v34:ident, $v35:ident, $v36:ident, $v37:ident],
       $decides:literal, $change:literal;)*) => {
        /// What the resource managers of a release decide by.
        ///
        /// The default is [`Release::default`]'s.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct Rules {
            /// The version that they are of, but for rules of another that [`with`](Self::with) put in.
            pub version: Version,
            $(#[doc = $decides] pub $field: $value,)*
        }

        /// One rule that differs between releases.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Rule {
            $(#[doc = $decides] $name,)*
        }

        impl Rules {
            /// The rules of a release.
            #[must_use]
            pub const fn of(release: Release) -> Self {
                Self::at(release.verified())
            }

            /// The rules of a version: those of its release.
            #[must_use]
            pub const fn at(version: Version) -> Self {
                match version.release() {
                    Release::V1_34 => Self { version, $($field: $value::$v34,)* },
                    Release::V1_35 => Self { version, $($field: $value::$v35,)* },
                    Release::V1_36 => Self { version, $($field: $value::$v36,)* },
                    Release::V1_37 => Self { version, $($field: $value::$v37,)* },
                }
            }

            /// These rules with one of another release.
            #[must_use]
            pub const fn with(self, rule: Rule, of: Release) -> Self {
                let other = Self::of(of);
                match rule {
                    $(Rule::$name => Self { $field: other.$field, ..self },)*
                }
            }

            /// Whether two releases have a rule alike.
            #[must_use]
            pub fn agree(&self, other: &Self, rule: Rule) -> bool {
                match rule {
                    $(Rule::$name => self.$field == other.$field,)*
                }
            }
        }

        impl Rule {
            /// Every rule, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// What the rule decides.
            #[must_use]
            pub const fn decides(self) -> &'static str {
                match self {
                    $(Self::$name => $decides,)*
                }
            }

            /// The upstream change that brought the newest of its values.
            #[must_use]
            pub const fn change(self) -> &'static str {
                match self {
                    $(Self::$name => $change,)*
                }
            }
        }
    };
}

table! {
    gates GateTable: GateTable = [V1_34, V1_35, V1_36, V1_37],
        "which feature gates there are, which are on, and which cannot be set", "feature gates of each release";
    memory_throttling MemoryThrottling: MemoryThrottling = [Defaulted, Defaulted, Defaulted, Optional],
        "how `memoryThrottlingFactor` is checked", "KEP-2570, MemoryQoS in beta";
    pod_sysctls PodSysctls: PodSysctls = [Unknown, Unknown, Unknown, Gated],
        "whether a configuration has `defaultPodSysctls`", "gate DefaultPodSysctls";
    strict_reservation StrictReservation: OptionStage = [Beta, Stable, Stable, Stable],
        "whether `strict-cpu-reservation` needs the gate for options in beta", "kubernetes#134388";
    uncore_cache_option UncoreCacheOption: OptionStage = [Beta, Beta, Stable, Stable],
        "whether `prefer-align-cpus-by-uncorecache` needs the gate for options in beta", "KEP-4800";
    node_limit_option NodeLimitOption: OptionStage = [Beta, Stable, Stable, Stable],
        "whether `max-allowable-numa-nodes` needs the gate for options in beta", "kubernetes#134614";
    flags Flags: FlagTable = [OfSandboxImage, OfCadvisor, OfCadvisor, OfAll],
        "which flags a kubelet has", "removal of --pod-infra-container-image, then of the flags of cAdvisor";
    flag_texts FlagTexts: FlagTexts = [Misspelt, Spelt, Spelt, Spelt],
        "how the errors of `--reserved-memory` are spelt", "texts of the memory manager's flag";
    pod_level_defaults PodLevelDefaults: DefaultedBy = [Decoder, Decoder, Decoder, ApiServer],
        "who fills in requests and limits of a pod as a whole", "gate PodLevelResourcesFixDefaulting";
    pods_of_gate_off PodsOfGateOff: PodsOfGateOff = [Served, Served, LeftAlone, LeftAlone],
        "what managers do for pods with resources at pod level while `PodLevelResources` is off", "KEP-5526";
    qos Qos: QosBy = [Sums, Sums, Sums, Containers],
        "what the QoS class is worked out from", "gate PodLevelResourcesFixKubeletQOSClass";
    storage_form StorageForm: StorageForm = [Binary, Binary, Binary, Decimal],
        "how ephemeral storage is printed", "decimal capacity of ephemeral-storage";
    aligned_share AlignedShare: AlignedShare = [Even, Even, Even, Lowered],
        "how `distribute-cpus-across-numa` with `align-by-socket` spreads CPUs", "CPU manager, aligned distribution";
    whole_core_check WholeCoreCheck: WholeCoreCheck = [Everyone, Everyone, Everyone, NewContainers],
        "whether a restart asks running containers for whole cores again", "CPU manager, SMT check after the state";
    empty_memory_request EmptyMemoryRequest: EmptyMemoryRequest = [Served, Served, Served, LeftAlone],
        "what the memory manager does for containers without a memory request", "KEP-5526, containers without requests";
    checkpoints Checkpoints: CheckpointForm = [Single, Single, Plain, Embedded],
        "which forms of the state files of CPUs and memory are written and read", "kubernetes#134768, then checkpoints with data and dataChecksum";
    pod_allocations PodAllocations: PodAllocationsForm = [Containers, PodLevel, PodLevel, Whole],
        "which fields the state files of pods' allocations have", "KEP-2837, pod-level resources in the allocation manager";
    device_hint_nodes DeviceHintNodes: DeviceHintNodes = [OfMachine, OfMachine, WithDevices, WithDevices],
        "of which NUMA nodes hints for devices list the sets", "kubernetes#138244";
    running_instances RunningInstances: RunningInstances = [One, Any, Any, Any],
        "which instances of a container tell that it has run through a restart", "kubernetes#135485";
    plugins_per_resource PluginsPerResource: PluginsPerResource = [One, One, One, Several],
        "how many device plugins may serve a resource", "device manager, connections by resource and socket";
    metric_prefix MetricPrefix: MetricPrefix = [Bare, Bare, Bare, Kubelet],
        "how the metrics of pod-level resource managers are named", "KEP-5526, metric names";
    pod_resources_told PodResourcesTold: PodResourcesTold = [Containers, Containers, Containers, PodsToo],
        "what the pod resources service tells of pods that are served as a whole", "podresources, cpu_ids and memory of pods";
}

impl Default for Rules {
    fn default() -> Self {
        Self::of(Release::default())
    }
}

impl Rules {
    /// The rules that `other` has otherwise.
    pub fn differences(&self, other: &Self) -> impl Iterator<Item = Rule> {
        Rule::ALL.iter().copied().filter(|rule| !self.agree(other, *rule))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taking_every_difference_makes_the_other_release() {
        for from in Release::ALL {
            for to in Release::ALL {
                let (old, new) = (Rules::of(from), Rules::of(to));
                let taken = old.differences(&new).fold(old, |rules, rule| rules.with(rule, to));
                assert_eq!(Rules { version: to.verified(), ..taken }, new);
                assert_eq!(old.differences(&new).count() == 0, from == to);
            }
        }
    }

    #[test]
    fn each_rule_says_what_it_decides_and_what_changed_it() {
        for rule in Rule::ALL {
            assert!(!rule.decides().is_empty() && !rule.change().is_empty(), "{rule:?}");
            let oldest = Rules::of(Release::V1_34);
            let differs = |release| !oldest.agree(&Rules::of(release), *rule);
            assert!(Release::ALL.into_iter().any(differs), "{rule:?} is the same in every release");
        }
    }
}
