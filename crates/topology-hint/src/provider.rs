//! What you implement to align something else: a NIC, a CNI attachment, a licence dongle.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;

use pod_spec::{ContainerKey, Unit};

use crate::{Affinity, Answers};

/// What a provider granted to one container, in a form of its own.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Grant(pub Box<[u8]>);

/// All that a provider has granted.
pub type Held = BTreeMap<ContainerKey, Grant>;

/// Why a provider cannot serve.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The admission reason; `None` is reported as the kubelet's `UnexpectedAdmissionError`.
    pub reason: Option<String>,
    /// What a person reads.
    pub message: String,
}

/// A provider of resources with NUMA affinity. Pure: what it has granted is handed in, what it grants is handed
/// out, and whoever calls keeps the books.
pub trait Provider {
    /// The name under which it appears in traces.
    fn name(&self) -> &str;

    /// Pushes one answer for each resource of its own that `unit` asks for; none if it has no opinion.
    fn hints(&self, held: &Held, unit: Unit<'_>, answers: &mut Answers);

    /// What `unit` is given near `affinity`. `None`: it asks for nothing of this provider.
    fn allocate(&self, held: &Held, unit: Unit<'_>, affinity: Affinity) -> Result<Option<Grant>, Refusal>;
}
