//! The steps of an attempt that give something out: devices, CPUs, memory, then what providers of your own have.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use cpu_manager::{Granted as GrantedCpus, PodGranted as PodCpus, Served};
use device_manager::{DeviceIds, NotServed, Request};
use memory_manager::{Granted as GrantedMemory, PodGranted as PodMemory};
use pod_spec::{Container, ContainerName, PodUid, ResourceName, Unit};
use topology_hint::Hint;

use crate::attempt::Placed;
use crate::attempt::refusal::Cause;
use crate::attempt::steps::{Steps, Stop};
use crate::ledger::Ledger;

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
        let Ledger { inventory, devices: held, pods, dead, .. } = &mut self.after;
        // Unlike the others, the device manager collects only where devices are asked for.
        let is_active = |pod: &PodUid| !dead.may_hold_devices() || pods.contains(pod);
        let request =
            Request { is_active: &is_active, sources, ..Request::new(self.pod, container, near.affinity) };
        match self.node.devices.allocate_in(inventory, held, &request, self.replies) {
            Ok(granted) if granted.is_empty() => {}
            Ok(_) => self.after.store_devices(),
            Err(NotServed::NeedsPlugin(question)) => return Err(Stop::Ask(question)),
            Err(NotServed::Failed(error)) => {
                return Err(Stop::refused(Some(&container.name), Cause::Devices(error)));
            }
        }
        Ok(self.devices_of(container))
    }

    fn devices_of(&self, container: &Container) -> BTreeMap<ResourceName, DeviceIds> {
        let held = self.after.devices.of_container(&self.pod.uid, &container.name);
        held.map(|(resource, held)| (resource.clone(), held.devices())).collect()
    }

    fn allocate_cpus(&mut self, container: &Container, near: Hint) -> Result<Option<GrantedCpus>, Stop> {
        self.after.collect_cpus();
        let (Some(policy), Some(held)) = (&self.node.cpus, &mut self.after.cpus) else { return Ok(None) };
        let served = match held.assigned(&self.pod.uid, &container.name) {
            Some(_) => Served::Before,
            None => Served::Now,
        };
        let outcome = policy.allocate_in(held, self.pod, container, near.affinity);
        let counted = policy.metrics_of_granted(served, outcome.as_ref().map(|granted| (granted, &*held)));
        self.counted.cpus.extend(counted);
        outcome.map(Some).map_err(|error| Stop::refused(Some(&container.name), Cause::Cpus(error)))
    }

    fn allocate_memory(&mut self, container: &Container, near: Hint) -> Result<Option<GrantedMemory>, Stop> {
        self.after.collect_memory();
        let (Some(policy), Some(held)) = (&self.node.memory, &mut self.after.memory) else { return Ok(None) };
        match policy.allocate_in(held, self.pod, container, near) {
            Ok((granted, counted)) => {
                self.count_memory(counted);
                Ok(Some(granted))
            }
            Err(error) => {
                self.counted.memory += policy.counted_refusal();
                Err(Stop::refused(Some(&container.name), Cause::Memory(error)))
            }
        }
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
        self.after.collect_cpus();
        let (Some(policy), Some(held)) = (&self.node.cpus, &self.after.cpus) else {
            return Ok(BTreeMap::new());
        };
        let outcome = policy.allocate_pod(held, self.pod, hint.affinity);
        self.counted.cpus.extend(policy.metrics_of_pod(held, outcome.as_ref()));
        let allocation = match outcome {
            Ok(allocation) => allocation,
            Err(failure) => {
                self.after.cpus = Some(failure.after);
                return Err(Stop::refused(None, Cause::Cpus(failure.error)));
            }
        };
        self.after.cpus = Some(allocation.after);
        Ok(match allocation.granted {
            PodCpus::Bubble { containers, .. } => {
                let shares = containers.into_iter();
                shares.map(|(name, share)| (name, GrantedCpus::Exclusive(share.cpus().clone()))).collect()
            }
            PodCpus::SharedPool(reason) => self.for_each_name(GrantedCpus::SharedPool(reason)),
        })
    }

    fn allocate_whole_memory(&mut self, hint: Hint) -> Result<BTreeMap<ContainerName, GrantedMemory>, Stop> {
        self.after.collect_memory();
        let (Some(policy), Some(held)) = (&self.node.memory, &self.after.memory) else {
            return Ok(BTreeMap::new());
        };
        let allocation = match policy.allocate_pod(held, self.pod, hint) {
            Ok(allocation) => allocation,
            Err(error) => {
                self.counted.memory += policy.counted_refusal();
                return Err(Stop::refused(None, Cause::Memory(error)));
            }
        };
        self.count_memory(allocation.counted);
        self.after.memory = Some(allocation.after);
        Ok(match allocation.granted {
            PodMemory::Blocks { containers, .. } => {
                containers.into_iter().map(|(name, blocks)| (name, GrantedMemory::Blocks(blocks))).collect()
            }
            PodMemory::NotPinned(reason) => self.for_each_name(GrantedMemory::NotPinned(reason)),
            // The kubelet admits such a pod, which then has nothing.
            PodMemory::NotInt64(_) => self.for_each_name(GrantedMemory::Blocks(Vec::new())),
        })
    }

    /// Adds to the counters; a cut search shows in the trace of the unit that is served.
    fn count_memory(&mut self, counted: memory_manager::Counted) {
        self.counted.memory += counted;
        if counted.cut_searches > 0 {
            self.mark_cut();
        }
    }

    fn allocate_others(&mut self, unit: Unit<'_>, near: Hint) -> Result<(), Stop> {
        let name = match unit {
            Unit::Container(_, container) => Some(&container.name),
            Unit::Pod(_) => None,
        };
        for provider in &self.node.others {
            let held = self.after.held_of(provider.name());
            let grant = provider.allocate(held, unit, near.affinity).map_err(|refusal| {
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
