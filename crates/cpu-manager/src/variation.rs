//! The same node with other CPUs reserved: what an administrator could have decided.

use cpuset::CpuSet;
use numa_bitmask::NodeMask;

use crate::{Holdings, ReservedCpus, Static, WholeCores};

impl Static {
    /// In multiples of how many CPUs a container is given: the CPUs of a core (the machine's average) where whole
    /// cores are required, else 1.
    #[must_use]
    pub fn granularity(&self) -> usize {
        match self.options.whole_cores {
            WholeCores::Required => self.allocator.units.cpus_per_core.max(1),
            WholeCores::NotRequired => 1,
        }
    }

    /// The policy if the CPUs that are reserved on the nodes `from` were reserved on the nodes `to` instead,
    /// and what its containers hold then; as many CPUs, whole cores first, out of those that are free now.
    /// `None` where nothing is reserved on `from`, or `to` has too few.
    #[must_use]
    pub fn with_reserved_moved(
        &self,
        held: &Holdings,
        from: NodeMask,
        to: NodeMask,
    ) -> Option<(Self, Holdings)> {
        let on = |nodes: NodeMask| {
            let mut cpus = CpuSet::new();
            for node in self.nodes.iter().filter(|node| node.mask.meets(nodes)) {
                cpus |= &node.cpus;
            }
            cpus
        };
        let gone = &self.reserved & &on(from);
        let free = &self.available(held) & &(&on(to) - &gone);
        if gone.is_empty() {
            return None;
        }
        let new = self.allocator.in_order(self.options.order, &free, gone.len()).ok()?;
        // On machines whose cores are not alike the allocator may hand out other CPUs.
        if new.len() != gone.len() || !new.is_subset(&free) {
            return None;
        }
        let mut held = held.clone();
        if self.options.reserved == ReservedCpus::SystemOnly {
            held.swap_shared(&gone, &new);
        }
        let kept = &self.reserved - &gone;
        Some((self.reserving(&kept | &new), held))
    }

    /// The same policy with exactly these CPUs reserved.
    fn reserving(&self, reserved: CpuSet) -> Self {
        let mut other = self.clone();
        other.reserved_cores = CpuSet::new();
        let cores = self.allocator.units.cores.iter();
        for core in cores.filter(|core| !core.cpus.is_disjoint(&reserved)) {
            other.reserved_cores |= &core.cpus;
        }
        for node in &mut other.nodes {
            node.not_reserved = &node.cpus - &reserved;
        }
        other.reserved = reserved;
        other
    }
}
