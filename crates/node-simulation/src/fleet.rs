//! The machines of a run.

use alloc::vec::Vec;
use core::num::NonZeroU32;
use core::time::Duration;

use crate::host::Host;
use crate::queue::Retry;
use crate::scheduler::Scheduler;

/// The machines, and how pods are sent to them.
#[derive(Debug)]
pub struct Fleet<'a> {
    /// Each kind of machine, and how many there are of it.
    pub hosts: Vec<(Host<'a>, usize)>,
    /// How pods are sent to machines.
    pub scheduler: Scheduler,
    /// Whether pods that did not run are tried again.
    pub retry: Retry,
    /// Whether pods move for one that was refused; `None`: they stay where they are.
    pub repack: Option<Repack>,
}

/// Pods that move so that one that was refused fits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Repack {
    /// The most that move for one.
    pub most: NonZeroU32,
    /// What a move costs: so much longer a pod runs that was moved, since it is made anew.
    pub price: Duration,
}
