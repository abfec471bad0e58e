//! How the slices of a ledger change: each manager books in its own slice, after what dead pods held there has been
//! collected.

use alloc::collections::BTreeSet;
use alloc::sync::Arc;

use cpu_manager::Holdings as CpuHoldings;
use device_manager::{Holdings as DeviceHoldings, Inventory};
use memory_manager::Holdings as MemoryHoldings;
use pod_spec::{ContainerKey, Holder, PodUid, ResourceName};
use topology_hint::{Grant, Held, Hint};

use crate::ledger::dead::{Dead, Point};
use crate::ledger::layered::Layered;
use crate::ledger::residents::Residents;
use crate::ledger::{Ledger, SourcesReady, Version};
use crate::placement::KnownMix;

impl Ledger {
    /// Nothing runs, and these slices are as they are on an empty machine.
    pub(crate) fn new(
        cpus: Option<CpuHoldings>,
        memory: Option<MemoryHoldings>,
        inventory: Inventory,
    ) -> Self {
        Self {
            version: Version::default(),
            cpus,
            memory,
            devices: DeviceHoldings::default(),
            device_file: DeviceHoldings::default(),
            inventory: Arc::new(inventory),
            others: Arc::default(),
            hints: Layered::default(),
            created: Arc::default(),
            sources: SourcesReady::Yes,
            was_running: Arc::default(),
            pods: Residents::default(),
            dead: Dead::default(),
            mix: KnownMix::default(),
        }
    }

    /// The kubelet starts: devices are held as its file says, and it is not known whom what is held belongs to.
    pub(crate) fn start(
        mut self,
        devices: DeviceHoldings,
        running: BTreeSet<ContainerKey>,
        sources: SourcesReady,
    ) -> Self {
        self.devices = devices;
        self.store_devices();
        let (was_running, mix) = (Arc::new(running), KnownMix::default());
        Self { was_running, sources, dead: Dead::EVERYWHERE, mix, ..self }
    }

    /// The same with other CPUs.
    pub(crate) fn with_cpus(self, held: CpuHoldings) -> Self {
        Self { cpus: Some(held), mix: KnownMix::default(), ..self }
    }

    /// The same with other memory; `None`: memory is not managed.
    pub(crate) fn with_memory(self, memory: Option<MemoryHoldings>) -> Self {
        Self { memory, mix: KnownMix::default(), ..self }
    }

    /// Books CPUs; `None` where CPUs are not managed.
    pub(crate) fn book_cpus<T>(&mut self, book: impl FnOnce(&mut CpuHoldings) -> T) -> Option<T> {
        self.collect_at(Point::Cpus);
        self.cpus.as_mut().map(book)
    }

    /// Books memory; `None` where memory is not managed.
    pub(crate) fn book_memory<T>(&mut self, book: impl FnOnce(&mut MemoryHoldings) -> T) -> Option<T> {
        self.collect_at(Point::Memory);
        self.memory.as_mut().map(book)
    }

    /// Books devices. Unlike the others, the device manager collects only where devices are asked for, so
    /// `book` gets a function that says which pods are active.
    pub(crate) fn book_devices<T>(
        &mut self,
        book: impl FnOnce(&Inventory, &mut DeviceHoldings, &dyn Fn(&PodUid) -> bool) -> T,
    ) -> T {
        let Self { inventory, devices, pods, dead, .. } = self;
        book(inventory, devices, &|pod| !dead.may_hold_devices() || pods.contains(pod))
    }

    /// Books what a provider granted.
    pub(crate) fn book_grant(&mut self, provider: &str, holder: Holder, grant: Grant) {
        let others = Arc::make_mut(&mut self.others);
        others.entry(provider.into()).or_default().insert(holder, grant);
    }

    /// What a provider has granted.
    pub(crate) fn held_of(&self, provider: &str) -> &Held {
        static NOTHING: Held = Held::new();
        self.others.get(provider).unwrap_or(&NOTHING)
    }

    /// Remembers the merged hint of a container.
    pub(crate) fn store_hint(&mut self, container: ContainerKey, hint: Hint) {
        self.hints.insert(container, hint);
    }

    /// How many pods run besides `pod`.
    pub(crate) fn count_beside(&self, pod: &PodUid) -> usize {
        self.pods.len() - usize::from(self.pods.contains(pod))
    }

    /// How much of a resource the pods besides `pod` request together.
    pub(crate) fn used_beside(&self, pod: &PodUid, resource: &ResourceName) -> i64 {
        self.pods.used_beside(pod, resource)
    }
}
