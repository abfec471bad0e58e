//! Slices and device classes of a node, looked at beside its configuration and its device plugins.

use std::path::PathBuf;

use claim_advice::{CpuManager, ForbiddenPair};
use dra_model::{Features, Node, ResourceSlice};
use pod_claims::ClusterObjects;

use crate::claims::{named_by, selects_by_labels};
use crate::node::LoadedNode;
use crate::object_text::ObjectText;
use crate::packed::Packed;

/// Slices and device classes that are given for a node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClaimsBeside {
    /// The objects, which replace those of the same name in a node file.
    pub objects: ClusterObjects,
    /// What slices call the node; `None`: the one node that they name.
    pub node_name: Option<String>,
}

/// The pairs that exclude each other on a node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Pairs {
    /// Those that were found.
    pub(crate) found: Vec<ForbiddenPair>,
    /// What was not looked at, and why, as sentences.
    pub(crate) gaps: Vec<String>,
}

impl ClaimsBeside {
    /// The objects of files.
    ///
    /// # Errors
    /// A file cannot be read, or one of its objects.
    pub fn of_files(files: &[PathBuf], node_name: Option<String>) -> anyhow::Result<Self> {
        Ok(Self { objects: ObjectText::objects(&ObjectText::of_files(files)?)?, node_name })
    }

    /// The objects beside those of a node file.
    fn objects(&self, packed: Option<&Packed>) -> ClusterObjects {
        let mut objects = packed.map(|packed| packed.objects.clone()).unwrap_or_default();
        objects.extend(self.objects.clone());
        objects
    }

    /// That nothing is looked at for this reason; `None`: nothing is there to look at.
    pub(crate) fn not_looked_at(&self, packed: Option<&Packed>, why: &str) -> Option<String> {
        (!self.objects(packed).is_empty())
            .then(|| format!("slices and device classes are not looked at: {why}"))
    }

    /// What excludes each other on a node with such a CPU manager and device plugins of `resources`.
    pub(crate) fn pairs<'r>(
        &self,
        packed: Option<&Packed>,
        cpus: CpuManager,
        resources: impl IntoIterator<Item = &'r str>,
    ) -> Pairs {
        let objects = self.objects(packed);
        let mut gaps = Vec::new();
        let node = match &self.node_name {
            Some(name) => {
                gaps.extend(by_labels(&objects.slices, name));
                Some(Node { name: name.clone(), ..Node::default() })
            }
            None => match named_by(&objects.slices, &mut Vec::new()) {
                Ok(node) => Some(node),
                Err(why) => {
                    gaps.push(format!("slices are not looked at: {why}"));
                    None
                }
            },
        };
        // Which classes there are does not depend on the node.
        let slices = if node.is_some() { objects.slices.as_slice() } else { &[] };
        let node = node.unwrap_or_default();
        let found = ForbiddenPair::all(slices, &objects.classes, &node, Features::DEFAULT, cpus, resources);
        Pairs { found, gaps }
    }
}

/// That the slices which select nodes by labels are not looked at; `None`: there are none.
fn by_labels(slices: &[ResourceSlice], node: &str) -> Option<String> {
    let mut slices = slices.iter().filter(|slice| selects_by_labels(slice));
    let first = &slices.next()?.metadata.name;
    let more = match slices.count() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!(
        "ResourceSlice {first}{more} selects nodes by labels and is not looked at: the labels of node {node} are not known"
    ))
}

impl LoadedNode {
    /// Whether its kubelet gives containers exclusive CPUs.
    pub(crate) fn cpu_manager(&self) -> CpuManager {
        if self.node.cpus().is_some() { CpuManager::Static } else { CpuManager::None }
    }

    /// The resources of its device plugins.
    pub(crate) fn plugin_resources(&self) -> Vec<String> {
        self.inventory.resources().map(ToString::to_string).collect()
    }
}
