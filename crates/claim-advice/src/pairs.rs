//! Two programs of a node that give out the same CPUs or devices without knowing of each other.

use alloc::string::String;
use core::fmt;

use alloc::vec::Vec;
use claim_explanation::CPU_DRIVER;
use dra_model::{DeviceClass, ExtendedResources, Feature, Features, Node, ResourceSlice, node_devices};

/// Prefix of the extended resource that the API server gives each class; the class's name follows.
const BY_CLASS: &str = "deviceclass.resource.kubernetes.io/";

/// Whether a kubelet gives containers exclusive CPUs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CpuManager {
    /// `cpuManagerPolicy: static`.
    Static,
    /// `cpuManagerPolicy: none`.
    None,
}

/// Two programs of a node that give out the same. Displays as a sentence without a full stop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ForbiddenPair {
    /// The CPU driver, which publishes so many devices, and a static CPU manager.
    Cpus {
        /// How many devices it publishes for the node.
        devices: usize,
    },
    /// A device class and a device plugin, both for one extended resource.
    Resource {
        /// The resource.
        resource: String,
        /// The class.
        class: String,
    },
}

impl ForbiddenPair {
    /// The pairs on a node: `resources` are those of its device plugins.
    #[must_use]
    pub fn all<'r>(
        slices: &[ResourceSlice],
        classes: &[DeviceClass],
        node: &Node,
        features: Features,
        cpus: CpuManager,
        resources: impl IntoIterator<Item = &'r str>,
    ) -> Vec<Self> {
        let published = node_devices(slices, node, features).into_iter();
        let devices = published.filter(|(slice, _)| slice.driver == *CPU_DRIVER).count();
        let devices = if cpus == CpuManager::Static { devices } else { 0 };
        let of_cpus = (devices > 0).then_some(Self::Cpus { devices });
        let served = ExtendedResources::of(classes);
        let has_resources = features.has(Feature::ExtendedResource);
        let of_resources = resources.into_iter().filter(|_| has_resources).filter_map(|resource| {
            let class = served.class(resource)?.metadata.name.clone();
            Some(Self::Resource { resource: resource.into(), class })
        });
        of_cpus.into_iter().chain(of_resources).collect()
    }

    /// What makes it go away, as text to be shown.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::Cpus { .. } => String::from("cpuManagerPolicy none, or a node without that driver"),
            // The API server gives each class this name.
            Self::Resource { resource, .. } if resource.starts_with(BY_CLASS) => {
                String::from("a node without the device plugin")
            }
            Self::Resource { resource, class } => alloc::format!(
                "a class {class} without extendedResourceName {resource}, or a node without the device plugin"
            ),
        }
    }
}

impl fmt::Display for ForbiddenPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpus { devices } => {
                let noun = if *devices == 1 { "device" } else { "devices" };
                write!(
                    f,
                    "driver {CPU_DRIVER} publishes {devices} {noun} of CPUs on this node beside a static CPU manager: neither knows \
                     which CPUs the other gives out, so that containers get the same ones"
                )
            }
            Self::Resource { resource, class } => write!(
                f,
                "extended resource {resource} is that of DeviceClass {class} and of a device plugin on this node: kube-scheduler \
                 leaves pods to the plugin while it has devices, and claims of the class can get the same devices again"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::borrow::ToOwned as _;
    use alloc::string::ToString as _;

    use dra_model::{Device, Metadata, NodeSelection, Pool};

    use super::*;

    fn slice(driver: &str, node: &str, generation: i64, devices: usize) -> ResourceSlice {
        ResourceSlice {
            driver: driver.into(),
            pool: Pool { name: node.into(), generation, slice_count: 1 },
            nodes: NodeSelection { node_name: Some(node.to_owned()), ..NodeSelection::default() },
            devices: Some((0..devices).map(|number| Device::new(&number.to_string())).collect()),
            ..ResourceSlice::default()
        }
    }

    fn class(name: &str, resource: Option<&str>) -> DeviceClass {
        let extended_resource = resource.map(str::to_owned);
        DeviceClass { metadata: Metadata::named(name), extended_resource, ..DeviceClass::default() }
    }

    #[test]
    fn pairs_are_found_on_their_node_alone() {
        let node = Node { name: "a".to_owned(), ..Node::default() };
        let classes = [class("gpu", Some("example.com/gpu")), class("nic", None)];
        let by_class = "deviceclass.resource.kubernetes.io/nic";
        let cpu = |devices| ForbiddenPair::Cpus { devices };
        let resource = |resource: &str, class: &str| ForbiddenPair::Resource {
            resource: resource.to_owned(),
            class: class.to_owned(),
        };
        let off = Features::DEFAULT.without(Feature::ExtendedResource);
        for (slices, manager, features, resources, expected) in [
            (slice("dra.cpu", "a", 1, 4), CpuManager::Static, Features::DEFAULT, &[][..], &[cpu(4)][..]),
            (slice("dra.cpu", "a", 1, 4), CpuManager::None, Features::DEFAULT, &[], &[]),
            (slice("dra.cpu", "b", 1, 4), CpuManager::Static, Features::DEFAULT, &[], &[]),
            (slice("cpu.example.com", "a", 1, 4), CpuManager::Static, Features::DEFAULT, &[], &[]),
            (
                slice("d", "a", 1, 1),
                CpuManager::Static,
                Features::DEFAULT,
                &["example.com/gpu", "example.com/nic", by_class],
                &[resource("example.com/gpu", "gpu"), resource(by_class, "nic")],
            ),
            (slice("d", "a", 1, 1), CpuManager::Static, off, &["example.com/gpu"], &[]),
        ] {
            let found =
                ForbiddenPair::all(&[slices], &classes, &node, features, manager, resources.iter().copied());
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_resource_that_every_class_has_is_not_taken_from_the_class() {
        let of = |resource: &str| {
            let (resource, class) = (resource.to_owned(), "gpu".to_owned());
            ForbiddenPair::Resource { resource, class }.remedy()
        };
        assert_eq!(
            of("example.com/gpu"),
            "a class gpu without extendedResourceName example.com/gpu, or a node without the device plugin"
        );
        assert_eq!(of("deviceclass.resource.kubernetes.io/gpu"), "a node without the device plugin");
    }

    #[test]
    fn slices_of_an_older_generation_publish_nothing() {
        let node = Node { name: "a".to_owned(), ..Node::default() };
        let slices = [slice("dra.cpu", "a", 1, 4), slice("dra.cpu", "a", 2, 0)];
        let found = ForbiddenPair::all(&slices, &[], &node, Features::DEFAULT, CpuManager::Static, []);
        assert_eq!(found, []);
    }

    #[test]
    fn newer_slices_of_other_nodes_replace_none_of_this_one() {
        let node = Node { name: "a".to_owned(), ..Node::default() };
        let own = slice("dra.cpu", "a", 1, 4);
        let mut other = slice("dra.cpu", "b", 2, 4);
        other.pool.name = own.pool.name.clone();
        let slices = [own, other];
        let found = ForbiddenPair::all(&slices, &[], &node, Features::DEFAULT, CpuManager::Static, []);
        assert_eq!(found, [ForbiddenPair::Cpus { devices: 4 }]);
    }
}
