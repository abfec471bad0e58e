//! The QoS class: how surely a pod gets what it asked for.

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

impl QosClass {
    /// Each of them.
    pub const ALL: [Self; 3] = [Self::BestEffort, Self::Burstable, Self::Guaranteed];

    /// The name in a pod's status.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::BestEffort => "BestEffort",
            Self::Burstable => "Burstable",
            Self::Guaranteed => "Guaranteed",
        }
    }
}
