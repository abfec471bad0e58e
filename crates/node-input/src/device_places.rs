//! Where the devices of slices are on a node.

use claim_explanation::DevicePlaces;
use dra_model::{Features, Node, ResourceSlice};
use pod_claims::ClusterObjects;

use crate::node::LoadedNode;

impl LoadedNode {
    /// The places of the devices that slices have for the node, beside those of its node file. `name` is what slices call it.
    #[must_use]
    pub fn device_places(&self, slices: Vec<ResourceSlice>, name: &str) -> DevicePlaces {
        let mut objects = self.packed.as_ref().map(|packed| packed.objects.clone()).unwrap_or_default();
        objects.extend(ClusterObjects { slices, ..ClusterObjects::default() });
        let labels = self.node.identity().map(|identity| identity.labels.clone()).unwrap_or_default();
        let node = Node { name: name.to_owned(), labels };
        DevicePlaces::of(&objects.slices, &node, Features::DEFAULT, self.view(), self.machine.as_deref())
    }

    /// Whether its node file has slices.
    #[must_use]
    pub fn has_slices(&self) -> bool {
        self.packed.as_ref().is_some_and(|packed| !packed.objects.slices.is_empty())
    }
}
