//! The machines of a run.

use alloc::vec::Vec;

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
}
