//! Whether free CPUs could be enough for a pod at all. It looks at numbers alone, neither at cores nor at how CPUs are
//! shared out, so a `true` promises nothing; a `false` is sure.

use cpuset::CpuSet;
use pod_spec::{Container, Pod, Role};

use crate::guaranteed::Guarantee as _;
use crate::{BusySibling, Static};

/// Where the CPUs of a container have to lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Within {
    /// On any NUMA nodes.
    AllNodes,
    /// On one NUMA node, whichever it is.
    OneNode,
}

impl Static {
    /// Whether the `free` CPUs could be enough for the containers of the pod. A pod with resources as a whole is not judged.
    #[must_use]
    pub fn could_have_room(&self, pod: &Pod, free: &CpuSet, within: Within) -> bool {
        let gives_what_is_held = self.allocator.busy_sibling == BusySibling::HandOut;
        if pod.has_pod_level_resources() || gives_what_is_held {
            return true;
        }
        let asked = |container: &Container| self.pod_level.exclusive_cpus(pod, container).unwrap_or(0);
        let largest = pod.containers.iter().map(asked).max().unwrap_or(0);
        // App containers run at the same time; init containers hand theirs on.
        let together: usize =
            pod.containers.iter().filter(|container| container.role == Role::App).map(asked).sum();
        let is_on_a_node = match within {
            Within::AllNodes => true,
            Within::OneNode => {
                largest == 0 || self.nodes.iter().any(|node| free.intersection_len(&node.cpus) >= largest)
            }
        };
        free.len() >= largest.max(together) && is_on_a_node
    }
}
