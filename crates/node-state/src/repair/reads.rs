//! The three state files as far as they can be read.

use std::collections::{BTreeMap, BTreeSet};

use device_manager::Holdings;
use kubelet_checkpoint::PodLevel;
use kubelet_checkpoint::cpu::CpuState;
use kubelet_checkpoint::device::DeviceState;
use kubelet_checkpoint::memory::MemoryState;
use kubelet_checkpoint::store::StateFile;
use pod_spec::{ContainerName, PodUid};

use super::damage::{self, Read};
use crate::files;
use crate::folder::StateFolder;

/// The pods of a file with their containers.
pub(super) type Names = BTreeMap<PodUid, BTreeSet<ContainerName>>;

/// The state files.
pub(super) struct Reads {
    pub(super) cpu: Read<CpuState>,
    pub(super) memory: Read<MemoryState>,
    pub(super) device: Read<DeviceState>,
    /// By file, in the order of [`StateFile::ALL`].
    names: [Names; 3],
    /// What pods hold by the file of devices.
    pub(super) devices: Holdings,
}

impl Reads {
    pub(super) fn of(found: &StateFolder, pod_level: PodLevel) -> Self {
        let StateFolder { cpu, memory, device, .. } = found;
        // Without a device plugin there is no file of devices.
        let no_devices = Read { state: Some(DeviceState::default()), fault: None, doubt: None };
        let mut reads = Self {
            cpu: cpu.as_deref().map_or_else(Read::of_nothing, |file| damage::cpus(file, pod_level)),
            memory: memory.as_deref().map_or_else(Read::of_nothing, |file| damage::memory(file, pod_level)),
            device: device.as_deref().map_or(no_devices, damage::devices),
            names: Default::default(),
            devices: Holdings::default(),
        };
        reads.name_again();
        reads
    }

    /// Once a file is settled.
    pub(super) fn name_again(&mut self) {
        self.names = StateFile::ALL.map(|file| self.names_in(file));
        self.devices = self.device.state.as_ref().map(files::devices).unwrap_or_default();
    }

    /// The pods and containers of a file.
    pub(super) fn named(&self, file: StateFile) -> &Names {
        let [cpu, memory, device] = &self.names;
        match file {
            StateFile::Cpu => cpu,
            StateFile::Memory => memory,
            StateFile::Device => device,
        }
    }

    fn names_in(&self, file: StateFile) -> Names {
        let mut named = Names::new();
        match file {
            StateFile::Cpu => {
                if let Some(state) = &self.cpu.state {
                    for (pod, of) in &state.containers {
                        named.entry(pod.clone()).or_default().extend(of.keys().cloned());
                    }
                    for pod in state.pods.keys() {
                        named.entry(pod.clone()).or_default();
                    }
                }
            }
            StateFile::Memory => {
                if let Some(state) = &self.memory.state {
                    for (pod, of) in &state.entries {
                        let names = of.iter().flat_map(BTreeMap::keys);
                        named.entry(pod.clone()).or_default().extend(names.cloned());
                    }
                    for pod in state.pod_entries.keys() {
                        named.entry(pod.clone()).or_default();
                    }
                }
            }
            StateFile::Device => {
                for entry in self.device.state.iter().flat_map(|state| state.entries.iter().flatten()) {
                    named.entry(entry.pod.clone()).or_default().insert(entry.container.clone());
                }
            }
        }
        named
    }
}
