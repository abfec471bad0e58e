//! The steps of an attempt that give something out: devices, CPUs, memory, then what providers of your own have.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use cpu_manager::{Granted as GrantedCpus, PodGranted as PodCpus};
use device_manager::{Choices, DeviceIds, NotServed, Request};
use memory_manager::{Granted as GrantedMemory, PodGranted as PodMemory};
use pod_spec::{Container, ContainerName, ResourceName, Unit};
use topology_hint::Hint;

use crate::attempt::Placed;
use crate::attempt::refusal::Cause;
use crate::attempt::steps::{DeviceFile, Steps, Stop};

impl<'a> Steps<'a> {
    /// Every manager allocates for one container near `hint`; without one anywhere.
    pub(crate) fn allocate(&mut self, container: &'a Container, hint: Option<Hint>) -> Result<(), Stop> {
        let near = hint.unwrap_or(Hint::NONE);
        let devices = self.allocate_devices(container, near)?;
        let cpus = self.allocate_cpus(container, near)?;
        let memory = self.allocate_memory(container, near)?;
        self.allocate_others(Unit::Container(self.pod, container), near)?;
        self.placement.containers.push(Placed {
            name: container.name.clone(),
            role: container.role,
            hint,
            cpus,
            memory,
            devices,
        });
        Ok(())
    }

    fn allocate_devices(
        &mut self,
        container: &Container,
        near: Hint,
    ) -> Result<BTreeMap<ResourceName, DeviceIds>, Stop> {
        let sources = self.after.sources_for(&self.pod.key(container));
        let (devices, pod, replies) = (self.node.devices, self.pod, self.replies);
        let held = self.after.devices().of_container(&pod.uid, &container.name);
        let before: Vec<ResourceName> = held.map(|(resource, _)| resource.clone()).collect();
        let links = self.node.links().map(|links| Choices { links, choices: &self.chosen });
        let keep_whole = self.node.keep_whole.as_deref();
        let served = self.after.book_devices(|inventory, held, is_active| {
            let request = Request {
                is_active,
                sources,
                links,
                keep_whole,
                ..Request::new(pod, container, near.affinity)
            };
            devices.allocate_in(inventory, held, &request, replies)
        });
        let granted = match served {
            Ok(granted) => granted,
            Err(NotServed::NeedsPlugin(question)) => return Err(Stop::Ask(question)),
            Err(NotServed::Failed(error)) => {
                if core::mem::replace(&mut self.device_file, DeviceFile::Written) == DeviceFile::Due {
                    self.after.store_devices_before(pod, container, &before);
                }
                return Err(Stop::refused(Some(&container.name), Cause::Devices(error)));
            }
        };
        if !granted.is_empty() {
            self.device_file = DeviceFile::Due;
        }
        Ok(if before.is_empty() { granted } else { self.devices_of(container) })
    }

    fn devices_of(&self, container: &Container) -> BTreeMap<ResourceName, DeviceIds> {
        let held = self.after.devices().of_container(&self.pod.uid, &container.name);
        held.map(|(resource, held)| (resource.clone(), held.devices())).collect()
    }

    fn allocate_cpus(&mut self, container: &Container, near: Hint) -> Result<Option<GrantedCpus>, Stop> {
        let (Some(policy), pod) = (&self.node.cpus, self.pod) else { return Ok(None) };
        let decision = self.after.book_cpus(|held| policy.allocate_in(held, pod, container, near.affinity));
        self.cpus_granted(Some(&container.name), decision)
    }

    fn allocate_memory(&mut self, container: &Container, near: Hint) -> Result<Option<GrantedMemory>, Stop> {
        let (Some(policy), pod) = (&self.node.memory, self.pod) else { return Ok(None) };
        let decision = self.after.book_memory(|held| policy.allocate_in(held, pod, container, near));
        self.memory_granted(Some(&container.name), decision)
    }

    /// Managers that serve a pod as a whole do so; the device manager has nothing for such pods before their
    /// containers are created.
    pub(crate) fn allocate_whole(&mut self, hint: Hint) -> Result<(), Stop> {
        let mut cpus = self.allocate_whole_cpus(hint)?;
        let mut memory = self.allocate_whole_memory(hint)?;
        self.allocate_others(Unit::Pod(self.pod), hint)?;
        for container in &self.pod.containers {
            self.placement.containers.push(Placed {
                name: container.name.clone(),
                role: container.role,
                hint: Some(hint),
                cpus: cpus.remove(&container.name),
                memory: memory.remove(&container.name),
                devices: self.devices_of(container),
            });
        }
        Ok(())
    }

    fn allocate_whole_cpus(&mut self, hint: Hint) -> Result<BTreeMap<ContainerName, GrantedCpus>, Stop> {
        let (Some(policy), pod) = (&self.node.cpus, self.pod) else { return Ok(BTreeMap::new()) };
        let decision = self.after.book_cpus(|held| policy.allocate_pod_in(held, pod, hint.affinity));
        Ok(match self.cpus_granted(None, decision)? {
            None => BTreeMap::new(),
            Some(PodCpus::Bubble { containers, .. }) => {
                let shares = containers.into_iter();
                shares.map(|(name, share)| (name, GrantedCpus::Exclusive(share.cpus().clone()))).collect()
            }
            Some(PodCpus::SharedPool(reason)) => self.for_each_name(GrantedCpus::SharedPool(reason)),
        })
    }

    fn allocate_whole_memory(&mut self, hint: Hint) -> Result<BTreeMap<ContainerName, GrantedMemory>, Stop> {
        let (Some(policy), pod) = (&self.node.memory, self.pod) else { return Ok(BTreeMap::new()) };
        let decision = self.after.book_memory(|held| policy.allocate_pod_in(held, pod, hint));
        Ok(match self.memory_granted(None, decision)? {
            None => BTreeMap::new(),
            Some(PodMemory::Blocks { containers, .. }) => {
                containers.into_iter().map(|(name, blocks)| (name, GrantedMemory::Blocks(blocks))).collect()
            }
            Some(PodMemory::NotPinned(reason)) => self.for_each_name(GrantedMemory::NotPinned(reason)),
            // The kubelet admits such a pod, which then has nothing.
            Some(PodMemory::NotInt64(_)) => self.for_each_name(GrantedMemory::Blocks(Arc::default())),
        })
    }

    /// What the CPU manager granted, once its metrics are counted; `None` where CPUs are not managed. Without a name it
    /// is the pod that was served.
    fn cpus_granted<G>(
        &mut self,
        name: Option<&ContainerName>,
        decision: Option<cpu_manager::Decision<G>>,
    ) -> Result<Option<G>, Stop> {
        let Some(cpu_manager::Decision { granted, counted, is_cut }) = decision else { return Ok(None) };
        if self.counted.cpus.is_empty() {
            self.counted.cpus = counted;
        } else {
            self.counted.cpus.extend(counted);
        }
        self.mark_cut(is_cut);
        granted.map(Some).map_err(|error| Stop::refused(name, Cause::Cpus(error)))
    }

    /// The same of the memory manager.
    fn memory_granted<G>(
        &mut self,
        name: Option<&ContainerName>,
        decision: Option<memory_manager::Decision<G>>,
    ) -> Result<Option<G>, Stop> {
        let Some(memory_manager::Decision { granted, counted, is_cut }) = decision else { return Ok(None) };
        self.counted.memory += counted;
        self.mark_cut(is_cut);
        granted.map(Some).map_err(|error| Stop::refused(name, Cause::Memory(error)))
    }

    fn allocate_others(&mut self, unit: Unit<'_>, near: Hint) -> Result<(), Stop> {
        let name = match unit {
            Unit::Container(_, container) => Some(&container.name),
            Unit::Pod(_) => None,
        };
        for provider in &self.node.others {
            let held = self.after.held_of(provider.name());
            let nodes = &self.node.nodes;
            let grant = provider.allocate(nodes, held, unit, near.affinity).map_err(|refusal| {
                Stop::refused(name, Cause::Provider { name: provider.name().into(), refusal })
            })?;
            if let Some(grant) = grant {
                self.after.book_grant(provider.name(), unit.holder(), grant);
            }
        }
        Ok(())
    }

    fn for_each_name<T: Clone>(&self, same: T) -> BTreeMap<ContainerName, T> {
        self.pod.containers.iter().map(|container| (container.name.clone(), same.clone())).collect()
    }
}
