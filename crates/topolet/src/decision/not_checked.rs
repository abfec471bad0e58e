//! Resources that a pod asks for and no device plugin has registered here. The kubelet leaves them to the scheduler and
//! checks nothing, so neither an admission nor a change that would fit says anything of them.

use std::collections::BTreeSet;

use device_manager::Inventory;
use pod_spec::{Amounts, Container, Overhead, Pod, ResourceList, ResourceName};
use serde::Serialize;
use topology_admission::{Node, UnitName};

use super::{Facts, Note};

/// A resource that was not checked, and how much of it is asked for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct NotChecked {
    pub(crate) resource: String,
    pub(crate) asked: u64,
}

impl Facts<'_> {
    /// Of one unit.
    pub(super) fn unit_not_checked(&self, unit: &UnitName) -> Vec<NotChecked> {
        match unit {
            UnitName::Container(name) => self
                .pod
                .container(name)
                .map(|container| self.container_not_checked(container))
                .unwrap_or_default(),
            UnitName::Pod => {
                let pod_level = self.node.node.pod_level().counts();
                self.among(&self.pod.effective(Amounts::Requests, pod_level, Overhead::LeftOut))
            }
        }
    }

    /// Of one container.
    pub(super) fn container_not_checked(&self, container: &Container) -> Vec<NotChecked> {
        self.among(&container.limits)
    }

    /// A note about all of the pod; `verdict` comes before it.
    pub(super) fn not_checked_note(&self, verdict: Verdict) -> Option<Note> {
        let names = self.names();
        let text = match verdict {
            _ if names.is_empty() => return None,
            Verdict::Admitted => format!("admitted WITHOUT {}: {}", names.join(" and "), why(&names)),
            Verdict::Refused => {
                let are = if names.len() == 1 { "is" } else { "are" };
                format!("{} {are} not checked: {}", names.join(" and "), why(&names))
            }
        };
        Some(Note { containers: Vec::new(), text: format!("{text} (--devices says what there is)") })
    }

    /// What is added to where a pod would run.
    pub(super) fn unless_checked(&self) -> String {
        let names = self.names();
        if names.is_empty() { String::new() } else { format!("; {} not checked", names.join(" and ")) }
    }

    fn names(&self) -> Vec<&str> {
        let names = unknown_resources(&self.node.node, self.before.inventory(), self.pod);
        names.into_iter().filter(|name| self.is_free_of(&ResourceName::new(name))).collect()
    }

    fn among(&self, amounts: &ResourceList) -> Vec<NotChecked> {
        let names = self.names();
        let asked = amounts.iter().filter(|(resource, _)| names.contains(&resource.as_str()));
        let view = asked.map(|(resource, amount)| NotChecked {
            resource: resource.to_string(),
            asked: u64::try_from(amount.value()).unwrap_or_default(),
        });
        view.filter(|view| view.asked > 0).collect()
    }

    /// Whether no pod that runs holds any of it. Where one does, the kubelet refuses others that ask for it.
    fn is_free_of(&self, resource: &ResourceName) -> bool {
        let mut holders = self.before.devices().iter().filter(|(_, _, of, _)| *of == resource);
        holders.all(|(pod, ..)| self.before.pods().all(|running| running.uid != *pod))
    }
}

/// What became of the pod.
#[derive(Clone, Copy)]
pub(super) enum Verdict {
    Admitted,
    Refused,
}

/// Why nobody asks for [`unknown_resources`].
fn why(names: &[&str]) -> String {
    let them = if names.len() == 1 { "it" } else { "them" };
    format!("no device plugin of {them} is known here, and the kubelet does not check what it does not know")
}

/// Resources that a pod asks for and the node does not have, in ascending order: the kubelet leaves them to the
/// scheduler and checks nothing.
pub(crate) fn unknown_resources<'a>(node: &Node, inventory: &Inventory, pod: &'a Pod) -> Vec<&'a str> {
    let is_unknown = |resource: &&ResourceName| {
        resource.as_str().contains('/')
            && !inventory.is_registered(resource)
            && !node.allocatable().contains_key(resource.as_str())
    };
    let asked = pod.containers.iter().flat_map(|container| container.limits.keys());
    let unknown: BTreeSet<&str> = asked.filter(is_unknown).map(ResourceName::as_str).collect();
    unknown.into_iter().collect()
}

/// What is said of [`unknown_resources`] where decisions come without what is told of them, if there are any; `place`
/// says of what or where.
pub(crate) fn not_checked(names: &[&str], place: &str) -> Option<String> {
    let are = if names.len() == 1 { "is" } else { "are" };
    let why = why(names);
    (!names.is_empty()).then(|| format!("{} {place} {are} not checked: {why}", names.join(" and ")))
}

/// The same as a warning about a pod.
pub(crate) fn warning_of_pod(node: &Node, inventory: &Inventory, pod: &Pod) -> Option<String> {
    let place = format!("of pod {}/{}", pod.namespace, pod.name);
    let text = not_checked(&unknown_resources(node, inventory, pod), &place)?;
    Some(format!("warning: {text} (--devices says what there is)"))
}
