//! The QoS class.

/// How surely a pod gets what it asked for; only Guaranteed pods get exclusive CPUs and memory bookings.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum QosClass {
    /// No requests and no limits for CPU and memory.
    BestEffort,
    /// Some requests or limits.
    Burstable,
    /// Limits for CPU and memory in every container, equal to the requests.
    Guaranteed,
}
