//! Resources that a pod asks for and no device plugin has registered. The kubelet leaves them to the scheduler and
//! checks nothing, so neither an admission nor a change that would fit says anything about them.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use device_manager::Inventory;
use pod_spec::{Amounts, Container, Overhead, Pod, ResourceList, ResourceName};
use serde::Serialize;
use topology_admission::{Node, UnitName};

use crate::facts::{Facts, UserAdvice, full_name};
use crate::json;
use crate::notice::Notice;
use crate::words::{joined, verb};

/// A resource that was not checked.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UncheckedResource {
    /// Its name.
    #[serde(serialize_with = "json::text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub resource: ResourceName,
    /// How much of it is asked for; at least 1.
    pub asked: u64,
}

/// Resources that a pod asks for and the node does not have, in ascending order.
#[must_use]
pub fn unchecked_resources(node: &Node, inventory: &Inventory, pod: &Pod) -> Vec<ResourceName> {
    let is_unknown = |resource: &&ResourceName| {
        resource.as_str().contains('/')
            && !inventory.is_registered(resource)
            && !node.allocatable().contains_key(resource.as_str())
    };
    let asked = pod.containers.iter().flat_map(|container| container.limits.keys());
    let unknown: BTreeSet<&ResourceName> = asked.filter(is_unknown).collect();
    unknown.into_iter().cloned().collect()
}

/// [`unchecked_resources`] in a sentence, for where a pod is decided on without a report; `None` if there are none.
#[must_use]
pub fn unchecked_notice(node: &Node, inventory: &Inventory, pod: &Pod, advice: UserAdvice) -> Option<Notice> {
    let names = unchecked_resources(node, inventory, pod);
    let are = verb(names.len(), "is", "are");
    (!names.is_empty()).then(|| {
        let (listed, pod) = (joined(&names, " and "), full_name(pod));
        let why = why_unchecked(names.len());
        Notice::warning(format!("{listed} of pod {pod} {are} not checked: {why}{}", advice.unchecked))
    })
}

/// Why so many resources are not checked.
#[must_use]
pub fn why_unchecked(count: usize) -> String {
    let them = verb(count, "it", "them");
    format!("no device plugin of {them} is known here, and the kubelet does not check what it does not know")
}

impl Facts<'_> {
    pub(crate) fn unchecked_of_unit(&self, unit: &UnitName) -> Vec<UncheckedResource> {
        match unit {
            UnitName::Container(name) => {
                let container = self.pod.container(name);
                container.map(|container| self.unchecked_of(container)).unwrap_or_default()
            }
            UnitName::Pod => self.unchecked_among(&self.pod.effective(
                Amounts::Requests,
                self.pod_rules().pod_level,
                Overhead::LeftOut,
            )),
        }
    }

    pub(crate) fn unchecked_of(&self, container: &Container) -> Vec<UncheckedResource> {
        self.unchecked_among(&container.limits)
    }

    /// Of the whole pod.
    pub(crate) fn unchecked(&self) -> Vec<ResourceName> {
        let mut names = unchecked_resources(self.node, self.before.inventory(), self.pod);
        names.retain(|name| self.is_free_of(name));
        names
    }

    fn unchecked_among(&self, amounts: &ResourceList) -> Vec<UncheckedResource> {
        let names = self.unchecked();
        let asked = amounts.iter().filter(|(resource, _)| names.contains(resource));
        let unchecked = asked.map(|(resource, amount)| UncheckedResource {
            resource: resource.clone(),
            asked: u64::try_from(amount.value()).unwrap_or_default(),
        });
        unchecked.filter(|unchecked| unchecked.asked > 0).collect()
    }

    /// Whether no pod that runs holds any of it. Where one does, the kubelet refuses others that ask for it.
    fn is_free_of(&self, resource: &ResourceName) -> bool {
        let mut holders = self.before.devices().iter().filter(|(_, _, of, _)| *of == resource);
        holders.all(|(pod, ..)| self.before.pods().all(|running| running.uid != *pod))
    }
}
