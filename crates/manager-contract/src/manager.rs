//! What the laws see of a manager.

use alloc::string::String;
use core::fmt::Debug;

use numa_bitmask::NodeMask;
use pod_spec::{Container, Pod, PodUid, Unit};
use topology_hint::{Answers, Hint};

/// A manager of one kind of resource: decisions over a value that says who holds what.
pub trait Manager {
    /// Who holds what.
    type Holdings: Clone + PartialEq + Debug;
    /// Why a container cannot be served.
    type Error: PartialEq + Debug;

    /// The NUMA nodes of the machine; few, since every set of them is tried.
    fn nodes(&self) -> NodeMask;

    /// The holdings of a machine on which nothing runs.
    fn empty(&self) -> Self::Holdings;

    /// Pushes an answer for each resource that `unit` asks for.
    fn hints(&self, held: &Self::Holdings, unit: Unit<'_>, answers: &mut Answers);

    /// The holdings with one more container, served near `near`.
    fn allocate(
        &self,
        held: &Self::Holdings,
        pod: &Pod,
        container: &Container,
        near: Hint,
    ) -> Result<Self::Holdings, Self::Error>;

    /// The holdings without a pod.
    fn release(&self, held: &Self::Holdings, pod: &PodUid) -> Self::Holdings;

    /// What is held twice, or is more than there is; `None` if all is right.
    fn conflict(&self, held: &Self::Holdings) -> Option<String>;
}
