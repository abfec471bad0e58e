//! The CPU driver, `kubernetes-sigs/dra-driver-cpu` 0.2.0: which devices it publishes, and which CPUs a claim gets of them.
//!
//! In groups a device stands for the CPUs of a NUMA node or of a socket, and claims take a part of its capacity. The driver chooses
//! the CPUs when the kubelet prepares the claim, by the kubelet's own packed order with last-level caches preferred. Individually
//! each CPU is a device, the threads of a core one behind the other.
//!
//! It knows cores by the firmware's number, which is unique within a socket only: on a machine with several sockets a whole core is
//! taken in each of them at once, where whole cores are taken outside one cache. Those are CPUs of another group, which another
//! claim can have already. That is its answer, and here too.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use claim_explanation::CPU_DRIVER;
use cpu_manager::{Allocator, BusySibling, Order, TakeError};
use cpuset::{CpuId, CpuSet};
use dra_model::{Attribute, Capacity, Device, DeviceResult};
use k8s_quantity::{Format, Quantity};
use thiserror::Error;
use topology_model::{CacheId, CoreId, CpuCounts, CpuRow, CpuTable, MachineInfo};

/// The capacity of a group, of which claims take a part.
pub(crate) const CPU_CAPACITY: &str = "dra.cpu/cpu";

/// Which devices the driver makes of CPUs: its options `--cpu-device-mode` and `--group-by`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CpuDevices {
    /// A device for each NUMA node: `grouped`, by `numanode`, its default.
    ByNode,
    /// A device for each socket: `grouped`, by `socket`.
    BySocket,
    /// A device for each CPU: `individual`.
    Individual,
}

/// Why a claim cannot be prepared, so that its pod does not start.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum PrepareError {
    /// The CPUs of a group that are left do not do.
    #[error(transparent)]
    Take(#[from] TakeError),
    /// A claim has CPUs that another one has too.
    #[error("the claim has overlapping device assignment with other claims")]
    Overlapping,
    /// The driver publishes no such device.
    #[error("device {0:?} is none of the driver's")]
    Unknown(String),
}

/// The driver on one machine.
#[derive(Clone, Debug)]
pub struct CpuDriver {
    table: CpuTable,
    allocator: Allocator,
    /// Without reserved CPUs.
    allocatable: CpuSet,
    mode: CpuDevices,
    /// The CPUs of each device, in the order in which it publishes them.
    devices: Vec<(String, CpuSet)>,
}

impl CpuDriver {
    /// On a machine with these CPUs, without those that are reserved (`--reserved-cpus`).
    #[must_use]
    pub fn new(info: &MachineInfo, cpus: &CpuTable, reserved: &CpuSet, mode: CpuDevices) -> Self {
        let (table, siblings) = as_driver(info, cpus);
        let allocator = Allocator::new(&table).with_order(Order::ByCache);
        let allocator = allocator.with_busy_sibling(BusySibling::HandOut);
        let allocatable = table.all() - reserved;
        let group = |kind: &'static str, id: i64, cpus: &CpuSet| {
            let own = cpus & &allocatable;
            (!own.is_empty()).then(|| (format!("cpudev{kind}{id:03}"), own))
        };
        let devices = match mode {
            CpuDevices::ByNode => table.nodes().filter_map(|(id, cpus)| group("numa", id.0, cpus)).collect(),
            CpuDevices::BySocket => {
                table.sockets().filter_map(|(id, cpus)| group("socket", id.0, cpus)).collect()
            }
            CpuDevices::Individual => singly(&allocatable, &siblings),
        };
        Self { table, allocator, allocatable, mode, devices }
    }

    /// The devices as it publishes them, without options.
    #[must_use]
    pub fn devices(&self) -> Vec<Device> {
        self.devices.iter().filter_map(|(name, cpus)| self.device(name, cpus)).collect()
    }

    fn device(&self, name: &str, cpus: &CpuSet) -> Option<Device> {
        let row = self.table.get(cpus.first()?)?;
        let smt = self.table.num_cpus() > self.table.num_cores();
        let count = i64::try_from(cpus.len()).ok()?;
        let mut device = Device::new(name);
        let mut say = |name: &str, value: Attribute| {
            device.attributes.insert(name.into(), value);
        };
        say("dra.cpu/socketID", row.socket.0.into());
        say("dra.cpu/smtEnabled", smt.into());
        if self.mode != CpuDevices::BySocket {
            say("dra.cpu/numaNodeID", row.node.0.into());
            say("dra.net/numaNode", row.node.0.into());
        }
        if self.mode == CpuDevices::Individual {
            say("dra.cpu/cacheL3ID", row.cache.0.into());
            say("dra.cpu/coreType", "standard".into());
            say("dra.cpu/coreID", row.core.0.into());
            say("dra.cpu/cpuID", number(row.cpu).into());
        } else {
            say("dra.cpu/numCPUs", count.into());
            let value = Quantity::from_units(count, Format::DecimalSi);
            device.capacity.insert(CPU_CAPACITY.into(), Capacity { value, policy: None });
            device.allow_multiple_allocations = Some(true);
        }
        Some(device)
    }

    /// How many CPUs the largest group has; `None`: each CPU is a device.
    #[must_use]
    pub fn largest_group(&self) -> Option<i64> {
        let largest = self.devices.iter().map(|(_, cpus)| cpus.len()).max().unwrap_or(1);
        (self.mode != CpuDevices::Individual).then(|| i64::try_from(largest).unwrap_or(i64::MAX))
    }

    /// The CPUs that a claim with these devices gets, where other claims have `held`. The devices of other drivers are passed over.
    ///
    /// # Errors
    /// The driver cannot prepare the claim.
    pub fn prepare(&self, held: &CpuSet, devices: &[DeviceResult]) -> Result<CpuSet, PrepareError> {
        let shared = &self.allocatable - held;
        let mut given = CpuSet::new();
        for result in devices.iter().filter(|result| *result.device.driver == *CPU_DRIVER) {
            let name = &*result.device.device;
            let (_, own) = self
                .devices
                .iter()
                .find(|(device, _)| device == name)
                .ok_or_else(|| PrepareError::Unknown(name.into()))?;
            if self.mode == CpuDevices::Individual {
                given = &given | own;
                continue;
            }
            let consumed = result.consumed_capacity.as_ref().and_then(|of| of.get(CPU_CAPACITY));
            let count = consumed.map_or(0, |amount| usize::try_from(amount.value()).unwrap_or(0));
            let free = &(&shared - &given) & own;
            given = &given | &self.allocator.take(&free, count)?;
        }
        if self.mode == CpuDevices::Individual && !given.is_subset(&shared) {
            return Err(PrepareError::Overlapping);
        }
        Ok(given)
    }
}

fn number(cpu: CpuId) -> i64 {
    i64::try_from(cpu.get()).unwrap_or(i64::MAX)
}

/// Each CPU with the other one of its core, if a core has two.
type Siblings = BTreeMap<CpuId, CpuId>;

/// What the driver reads of a CPU and the kubelet counts otherwise.
#[derive(Clone, Copy)]
struct Firmware {
    core: CoreId,
    /// The last-level cache; -1 if there is none at level 3.
    cache: CacheId,
}

/// By CPU.
fn firmware(info: &MachineInfo) -> BTreeMap<i64, Firmware> {
    let mut all = BTreeMap::new();
    for node in info.topology.iter().flatten() {
        for core in node.cores.iter().flatten() {
            let own = core.uncore_caches.iter().chain(&core.caches).chain(&node.caches);
            let cache = own.flatten().find(|cache| cache.level == 3).map_or(-1, |cache| cache.id);
            let read = Firmware { core: CoreId(core.core_id), cache: CacheId(cache) };
            all.extend(core.thread_ids.iter().flatten().map(|cpu| (*cpu, read)));
        }
    }
    all
}

/// The CPUs with the firmware's numbers of cores and caches, as the driver reads them, and the siblings of each.
fn as_driver(info: &MachineInfo, cpus: &CpuTable) -> (CpuTable, Siblings) {
    let firmware = firmware(info);
    let rows = cpus.rows().map(|row| match firmware.get(&number(row.cpu)) {
        Some(read) => CpuRow { core: read.core, cache: read.cache, ..*row },
        None => *row,
    });
    let rows: Vec<CpuRow> = rows.collect();
    let mut cores: BTreeMap<(i64, CoreId), Vec<CpuId>> = BTreeMap::new();
    for row in &rows {
        cores.entry((row.socket.0, row.core)).or_default().push(row.cpu);
    }
    let mut siblings = Siblings::new();
    for threads in cores.values() {
        if let [one, other] = threads.as_slice() {
            siblings.extend([(*one, *other), (*other, *one)]);
        }
    }
    let counts = CpuCounts { cpus: rows.len(), cores: cores.len(), sockets: cpus.sockets().len() };
    (CpuTable::from_rows(counts, rows), siblings)
}

/// A device for each CPU: the lowest CPU first, its sibling behind it unless that is reserved.
fn singly(allocatable: &CpuSet, siblings: &Siblings) -> Vec<(String, CpuSet)> {
    let mut order: Vec<CpuId> = Vec::new();
    let mut seen = CpuSet::new();
    for cpu in allocatable {
        let sibling = siblings.get(&cpu).copied().filter(|sibling| allocatable.contains(*sibling));
        for own in core::iter::once(cpu).chain(sibling) {
            if !seen.contains(own) {
                seen.insert(own);
                order.push(own);
            }
        }
    }
    let device = |(number, cpu): (usize, CpuId)| (format!("cpudev{number:03}"), CpuSet::from_iter([cpu]));
    order.into_iter().enumerate().map(device).collect()
}
