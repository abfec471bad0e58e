//! Which kubelet reads or writes: its release's forms, and the feature gates that decide on members.

use kubelet_release::CheckpointForm;

use crate::cpu::CpuFormat;
use crate::memory::MemoryFormat;

/// The kubelet's feature gate `PodLevelResourceManagers`, which decides on formats.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PodLevel {
    /// Off, the default: pods have no entries as a whole.
    #[default]
    Off,
    /// On: they may.
    On,
}

/// The kubelet's feature gate `InPlacePodVerticalScalingExclusiveCPUs`, which decides whether the CPUs are kept with
/// which containers were admitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Baselines {
    /// Off, the default: they are neither read nor written.
    #[default]
    Off,
    /// On: they are, in CPU format V4.
    On,
}

/// What decides how the files of CPUs and memory are read and written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Forms {
    /// The release's.
    pub checkpoint: CheckpointForm,
    /// Whether pods may have entries as a whole.
    pub pod_level: PodLevel,
    /// Whether the first CPUs of containers are kept.
    pub baselines: Baselines,
}

impl Forms {
    /// Of every release, with the gate `PodLevelResourceManagers` off and on where there is one.
    pub const ALL: [Self; 5] = [
        Self::SINGLE,
        Self::plain(PodLevel::Off),
        Self::plain(PodLevel::On),
        Self::embedded(PodLevel::Off),
        Self::embedded(PodLevel::On),
    ];

    /// Of releases up to 1.35.
    pub const SINGLE: Self = Self { checkpoint: CheckpointForm::Single, ..Self::plain(PodLevel::Off) };

    /// Of release 1.36.
    #[must_use]
    pub const fn plain(pod_level: PodLevel) -> Self {
        Self { checkpoint: CheckpointForm::Plain, pod_level, baselines: Baselines::Off }
    }

    /// Of release 1.37.
    #[must_use]
    pub const fn embedded(pod_level: PodLevel) -> Self {
        Self { checkpoint: CheckpointForm::Embedded, ..Self::plain(pod_level) }
    }

    /// The format of the CPU manager's file that is written.
    #[must_use]
    pub const fn cpu(self) -> CpuFormat {
        match (self.checkpoint, self.pod_level) {
            (CheckpointForm::Single, _) | (CheckpointForm::Plain, PodLevel::Off) => CpuFormat::V2,
            (CheckpointForm::Plain, PodLevel::On) => CpuFormat::V3,
            (CheckpointForm::Embedded, _) => CpuFormat::V4,
        }
    }

    /// The format of the memory manager's file that is written.
    #[must_use]
    pub const fn memory(self) -> MemoryFormat {
        match (self.checkpoint, self.pod_level) {
            (CheckpointForm::Single, _) | (CheckpointForm::Plain, PodLevel::Off) => MemoryFormat::V1,
            (CheckpointForm::Plain, PodLevel::On) => MemoryFormat::V2,
            (CheckpointForm::Embedded, _) => MemoryFormat::V3,
        }
    }
}
