//! Why the claims of a pod get no devices on a node of Kubernetes v1.37.2, and what would do.
//!
//! [`explain`] takes the question that `claim-allocator` answered with no. It finds the smallest set of requests and constraints
//! that contradict each other, lists what becomes of each device for each request, and tries changes. Every statement about
//! what fits is an answer of the allocator: the crate asks it again with parts left out or changed, at most
//! [`Limits::questions`] times with [`Limits::steps`] each. Where an answer is cut, it counts neither as yes nor as no.
//!
//! [`numa_node`] and [`pcie_root`] say where a device is: by [`PLACES`], the attributes of published drivers, or by its PCI
//! address on a machine. [`DevicePlaces`] says it of all devices of a node, as seen from the CPUs of its machine.
//!
//! This crate does not know YAML, pods, the managers of a kubelet, files or clocks.
#![no_std]

extern crate alloc;

mod limits;
mod objects;
mod asker;
mod explain;
mod members;
mod contradiction;
mod examined;
mod candidates;
mod values;
mod reason;
mod change;
mod remedies;
mod spelling;
mod order;
mod names;
mod nodes;
mod places;
mod device_places;

pub use candidates::{Candidates, Taken};
pub use change::{Change, SelectorPlace};
pub use contradiction::{Contradiction, Size};
pub use device_places::{DevicePlace, DevicePlaces, UnknownPlace};
pub use explain::{Explanation, Searched, answer, explain};
pub use limits::Limits;
pub use members::{Member, Part};
pub use names::folded;
pub use nodes::{NodeAnswer, NodesAnswer, NodesRefused, fold};
pub use objects::{Asked, Objects};
pub use order::{CheapestOrder, cheapest_order};
pub use places::{CPU_DRIVER, KnownBy, Located, PLACES, Place, PlaceAttribute, numa_node, pcie_root};
pub use remedies::Remedy;
pub use spelling::near_name;
pub use values::{ValueRow, Values};

/// The examples of the README are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
