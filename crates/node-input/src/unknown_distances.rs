//! A machine whose text does not tell the distances between its NUMA nodes.
//!
//! A kubelet with `prefer-closest-numa-nodes` does not start on a machine without distances, such as one whose kernel gives none. A text
//! such as that of `lscpu` leaves them out though the machine has them: whether the kubelet starts is not known then.

use anyhow::Context as _;
use machine_text::Lack;
use node_config::{KubeletConfiguration, TopologyConfigError};
use topology_admission::{Compat, Node, StartError, StartFault};
use topology_model::{KubeletView, MachineInfo};

use crate::machine::LoadedMachine;

/// What stands in the place of distances that are not known: a node itself, and any other, as kernels count those of one kind.
const NEAR: u64 = 10;
const FAR: u64 = 20;

impl LoadedMachine {
    /// The machine as a kubelet counts it, to check a configuration on. Distances that its text does not tell are taken to be there.
    ///
    /// # Errors
    /// No kubelet could use the machine.
    pub fn view_to_check(&self) -> anyhow::Result<KubeletView> {
        let info = if self.lacks_distances() { with_distances(self.info.clone()) } else { self.info.clone() };
        KubeletView::new(&info).with_context(|| format!("the kubelet could not use machine {}", self.name))
    }

    fn lacks_distances(&self) -> bool {
        self.text.as_ref().is_some_and(|text| text.lacks(Lack::Distances))
    }

    /// Why it is not known whether a kubelet starts that fails with `error`, as text to be shown; `None`: it fails.
    pub(crate) fn start_depends_on_distances(&self, error: &StartError) -> Option<String> {
        let is_of_distances =
            |fault: &StartFault| matches!(fault, StartFault::Topology(TopologyConfigError::NoDistances));
        (self.lacks_distances() && error.faults().iter().all(is_of_distances)).then(|| {
            format!(
                "whether the kubelet starts: prefer-closest-numa-nodes needs the distances between NUMA nodes, which {} does not tell; \
                 `{}` prints them: give its output beside this one, as --machine FILE,FILE",
                self.name,
                Lack::Distances.printed_by()
            )
        })
    }

    /// The same of a configuration. `None`: the kubelet starts, or fails anyway.
    pub(crate) fn checked_without_distances(&self, config: &KubeletConfiguration) -> Option<String> {
        let view = KubeletView::new(&self.info).ok().filter(|_| self.lacks_distances())?;
        self.start_depends_on_distances(&Node::start_as(&view, config, Compat::KUBELET).err()?)
    }
}

fn with_distances(mut info: MachineInfo) -> MachineInfo {
    let nodes = info.topology.as_deref().unwrap_or_default().len();
    for (at, node) in info.topology.iter_mut().flatten().enumerate() {
        let row = || (0..nodes).map(|other| if other == at { NEAR } else { FAR }).collect();
        node.distances.get_or_insert_with(row);
    }
    info
}
