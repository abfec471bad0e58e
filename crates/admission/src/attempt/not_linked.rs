//! Why devices cannot be given as the option `devices.links` requires.

use alloc::vec::Vec;
use core::fmt;

use device_manager::{Demand, LinkLack};
use topology_model::Link;

/// Devices that cannot be given as the option `devices.links` requires.
#[derive(Clone, PartialEq, Debug)]
pub enum NotLinked {
    /// No link has enough.
    Lacks(LinkLack),
    /// Links have enough, on NUMA nodes where the unit cannot have the rest.
    Elsewhere {
        /// The first demand of the unit.
        demand: Demand,
        /// The links that serve it.
        links: Vec<Link>,
        /// Whether there are more ways to combine links than were tried.
        is_cut: bool,
    },
}

impl fmt::Display for NotLinked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let demand = match self {
            Self::Lacks(lack) => &lack.demand,
            Self::Elsewhere { demand, .. } => demand,
        };
        f.write_str("devices.links requires one link for ")?;
        let last = demand.asked.len().saturating_sub(1);
        for (at, (resource, count)) in demand.asked.iter().enumerate() {
            let before = if at == 0 {
                ""
            } else if at == last {
                " and "
            } else {
                ", "
            };
            write!(f, "{before}{count} {resource}")?;
        }
        f.write_str(match self {
            Self::Lacks(_) => ", and none has them free",
            Self::Elsewhere { is_cut: false, .. } => {
                ", and none that has them free is where the other resources are"
            }
            Self::Elsewhere { is_cut: true, .. } => {
                ", and of those that have them free none that was tried is where the other resources are: not every way to \
                 combine links was"
            }
        })
    }
}
