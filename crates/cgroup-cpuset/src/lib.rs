#![doc = include_str!("../README.md")]
//!
//! # What the kernel does with a set
//!
//! A cgroup has `cpuset.cpus` only where its parent has `+cpuset` in `cgroup.subtree_control`, which a parent can have
//! only if its own parent has it. What is written is a wish: `cpuset.cpus.effective` is the part of it that the parent
//! has too, and all that the parent has where that part is empty. So a container could run anywhere although the right
//! set stands in its file, and every write here is followed by a look at what is in effect.

mod path;
mod files;
mod memory;
mod cgroups;
mod place;
mod narrow;
mod oci;
mod partition;
mod quota;
mod limits;
mod reconcile;
mod process;
mod containers;
mod interrupts;

pub use cgroups::{Cgroups, NotUsable};
pub use files::{Files, Kernel};
pub use interrupts::{Interrupts, Move, Moved, Noise};
pub use limits::{LimitError, Limits};
pub use memory::MemoryHierarchy;
pub use narrow::Narrowed;
pub use oci::CgroupDriver;
pub use partition::{NoPartitions, Partition, PartitionError};
pub use path::{CgroupPath, NotAPath};
pub use place::{Difference, Place, PlaceError, Set, Written};
pub use process::{ProcessError, cgroup_of};
pub use quota::{Quota, QuotaError};
pub use reconcile::{Kept, Reconciled};
