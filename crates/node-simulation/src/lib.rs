#![doc = include_str!("../README.md")]
//!
//! # What is measured
//!
//! - *Alignment*: of the admitted pods that hold anything with a place (exclusive CPUs, booked memory, devices), the
//!   share that lies on no more NUMA nodes than the smallest set which could hold all of it on an empty machine.
//! - *Utilisation*: what is held of each resource on each NUMA node, averaged over time.
//! - *Fragmentation*: of the pods of the mix which the free resources of a machine would hold in sum, the share for
//!   which no single NUMA node has room; averaged over time. Pods that need several nodes anyway do not count.
//! - *Stranded*: what is free of each resource on each NUMA node while pods of the mix have no room there, each kind by its
//!   weight; averaged over time. That is the measure of FGD (Weng et al., USENIX ATC 2023) for NUMA nodes.
//! - *Bound*: how many pods [any placement](Limits::at_most) could admit at most.
//!
//! - *Devices beside CPUs and memory*: of the admitted pods with devices, how many have them where the CPUs and memory of their
//!   containers are. Devices are those of plugins, or with [`Host::claiming`] those of claims.
//! - *Steps*: the calls of kube-scheduler's inner search for claimed devices.
//! - *Time to place*: from the arrival of a pod to its admission; only where pods are [tried again](Retry).
//!
//! Everything is averaged from the beginning to the last arrival. What leaves after that is looked at only where pods
//! still wait for room.
#![no_std]

extern crate alloc;

mod run;
mod claims;
mod outcome;
mod workload;
mod distribution;
mod random;
mod fleet;
mod host;
mod site;
mod scheduler;
mod choice;
mod published;
mod extender;
mod queue;
mod levels;
mod fewest;
mod capacity;
mod rules;
mod reservation;
mod at_most;

pub use at_most::Limits;
pub use capacity::{Capacity, Limit, capacity};
pub use claims::{Claims, CpuDevices, CpuDriver, DeviceAlignments, PrepareError};
pub use distribution::{Distribution, DistributionError};
pub use fleet::{Fleet, Repack};
pub use host::{Host, NoPlugins, Plugins};
pub use outcome::{HostOutcome, NumaUse, Outcome, Searches, Step, TemplateOutcome};
pub use queue::Retry;
pub use random::Random;
pub use reservation::{MemoryPlace, ReservationPlace, SystemReservation};
pub use rules::{POLICIES_AND_SCOPES, PolicyOption};
pub use run::{Decision, DoesNotFit, NoObserver, Observer, fits_empty, run};
pub use scheduler::{Scheduler, lacking};
pub use workload::{Arrival, Lifetime, Template, Weight, arrivals};
