//! A slice or device whose node selector cannot be parsed.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use core::fmt;

use crate::node_match::GoSelector;
use crate::{BadNodeSelector, Device, ResourceSlice};

/// Of what the nodes cannot be told. Displays as the allocator's error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadSelection {
    /// Name of the slice.
    pub slice: String,
    /// The device, if it is its selector.
    pub device: Option<Box<Device>>,
    /// What is wrong.
    pub error: BadNodeSelector,
}

impl BadSelection {
    pub(super) fn of_slice(slice: &ResourceSlice, error: BadNodeSelector) -> Self {
        Self { slice: slice.metadata.name.clone(), device: None, error }
    }

    pub(super) fn of_device(slice: &ResourceSlice, device: &Device, error: BadNodeSelector) -> Self {
        Self { device: Some(Box::new(device.clone())), ..Self::of_slice(slice, error) }
    }
}

impl fmt::Display for BadSelection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { slice, device, error } = self;
        f.write_str("failed to perform node selection for ")?;
        match device {
            None => write!(f, "slice {slice}: {error}"),
            Some(device) => write!(f, "device {} in slice {slice}: {error}", GoDevice(device)),
        }
    }
}

impl core::error::Error for BadSelection {}

/// A device as Go prints one. Go prints attributes, capacities and the like as addresses in memory, which differ each
/// time: here they are left out.
struct GoDevice<'a>(&'a Device);

impl fmt::Display for GoDevice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Device { name, nodes, .. } = self.0;
        let selector = nodes.node_selector.as_ref();
        let selector = selector.map_or_else(
            || "nil".to_string(),
            |selector| GoSelector(selector).to_string().replacen("&NodeSelector", "&v11.NodeSelector", 1),
        );
        write!(
            f,
            "&Device{{Name:{name},Attributes:map[QualifiedName]DeviceAttribute{{}},Capacity:map[QualifiedName]DeviceCapacity{{}},\
             ConsumesCounters:[]DeviceCounterConsumption{{}},NodeName:nil,NodeSelector:{selector},AllNodes:nil,\
             Taints:[]DeviceTaint{{}},BindsToNode:nil,BindingConditions:[{}],BindingFailureConditions:[{}],\
             AllowMultipleAllocations:nil,NodeAllocatableResources:map[k8s_io_api_core_v1.ResourceName]NodeAllocatableResource{{}},}}",
            self.0.binding_conditions.join(" "),
            self.0.binding_failure_conditions.join(" "),
        )
    }
}
