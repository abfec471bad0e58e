//! [`Order::AcrossNodes`](crate::Order::AcrossNodes): equal shares of as few NUMA nodes as can give them.
//!
//! For each number of nodes, from the fewest that could hold the request when empty: among the combinations of so
//! many nodes that can give equal shares (in groups of a core where whole cores are required), the one that leaves
//! the free CPUs of all nodes most even. What equal shares leave over is given in single groups by a subset of the
//! combination, again the one that leaves it most even, larger subsets first. Strictly better wins, so the first of
//! equals stays. Inside a node CPUs are taken packed. If nothing fits, the request is packed.
//!
//! Example: 2 nodes with 12 and 8 free CPUs, 10 wanted. One node cannot (8) or leaves 2 and 8: fewest nodes first,
//! so node 0 gives all 10. 13 wanted: two nodes give 6 each and node 0 one more, which leaves 5 and 2.
//!
//! With [`Alignment::BySocket`](crate::Alignment::BySocket), [`AlignedShare::Lowered`](kubelet_release::AlignedShare)
//! lowers the shares of a combination to what its poorest node has, so that none is left out for being poor, and
//! combinations of nodes in one socket come before all others of their size.
//!
//! Which combination that is, is found without looking at each: see [`sharing`](crate::sharing).

use alloc::vec::Vec;

use cpuset::CpuSet;
use node_cover::Solution;

use crate::sharing::{NodeShare, Shares, Sharing, Sockets};
use crate::take::Taking;
use crate::{Allocator, TakeError, WholeCores};

impl Allocator {
    pub(crate) fn distributed(&self, free: &CpuSet, count: usize) -> Result<Solution<CpuSet>, TakeError> {
        let group = match self.whole_cores {
            WholeCores::Required => self.units.cpus_per_core.max(1),
            WholeCores::NotRequired => 1,
        };
        if !count.is_multiple_of(group) {
            return self.packed(free, count).map(Solution::Exact);
        }
        let free = Taking::new(self, free, count)?.free;
        if count == 0 {
            return Ok(Solution::Exact(CpuSet::new()));
        }
        let order: Vec<usize> = self.units.node_order(&free).iter().map(|listed| listed.at).collect();
        let mut distinct = order.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let groups_of_node = self.units.all.len().div_ceil(group).div_ceil(self.units.nodes.len().max(1));
        let groups = count.div_ceil(group);
        let fewest = groups.div_ceil(groups_of_node.max(1));
        let most = groups.min(distinct.len());

        let free_of: Vec<_> = self.units.nodes.iter().map(|node| signed(node.free(&free))).collect();
        // Even shares do not ask for sockets.
        let sockets: Sockets = match self.share {
            NodeShare::Lowered => order.iter().map(|&node| self.units.socket_of_node(node)).collect(),
            NodeShare::Even | NodeShare::EvenIfThere => Sockets::default(),
        };
        let sharing = Sharing::new(&order, &distinct, &free_of, signed(count), signed(group))
            .with(self.share, &sockets);
        let shares = (fewest..=most).find_map(|size| sharing.best(size));
        let cpus = match shares {
            Some(shares) => self.hand_out(free, count, group, &shares),
            None => self.packed(&free, count),
        };
        cpus.map(if sharing.is_cut() { Solution::Cut } else { Solution::Exact })
    }

    fn hand_out(
        &self,
        mut free: CpuSet,
        count: usize,
        group: usize,
        shares: &Shares,
    ) -> Result<CpuSet, TakeError> {
        let even = count / shares.nodes.len() / group * group;
        let share = match self.share {
            NodeShare::Even => even,
            NodeShare::EvenIfThere | NodeShare::Lowered => {
                let most = |&node: &usize| self.units.nodes[node].free(&free) / group * group;
                shares.nodes.iter().map(most).fold(even, usize::min)
            }
        };
        let mut taken = CpuSet::new();
        let mut need = signed(count);
        let mut give = |node: usize, cpus: usize| -> bool {
            let here = &self.units.nodes[node].cpus & &free;
            if here.len() < cpus {
                return false;
            }
            if let Ok(given) = self.packed(&here, cpus) {
                need -= signed(given.len());
                free -= &given;
                taken |= &given;
            }
            true
        };
        for &node in &shares.nodes {
            give(node, share);
        }
        let mut rest = count - share * shares.nodes.len();
        while rest > 0 {
            let before = rest;
            for &node in &shares.more {
                if rest > 0 && give(node, group) {
                    rest -= group;
                }
            }
            if rest == before {
                break;
            }
        }
        match need {
            0 => Ok(taken),
            1.. => Err(TakeError::TooFew(need)),
            _ => Err(TakeError::TooMany(need)),
        }
    }
}

/// A number of CPUs, of which there are at most 8192 in any set.
fn signed(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
