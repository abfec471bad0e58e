//! A slice or device whose node selector cannot be parsed.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

use crate::node_match::GoSelector;
use crate::{BadNodeSelector, CounterConsumption, Device, ResourceSlice};

/// A slice or device whose node selector cannot be read. Displays as the allocator's error.
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

/// A device as Go prints one. Go prints attributes and capacities with addresses in memory, which differ each time: here they
/// are left out, as are taints.
struct GoDevice<'a>(&'a Device);

impl fmt::Display for GoDevice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Device { name, nodes, .. } = self.0;
        let consumes: String = self.0.consumes.iter().map(go_consumption).collect();
        let selector = nodes.node_selector.as_ref();
        let selector = selector.map_or_else(
            || "nil".to_string(),
            |selector| GoSelector(selector).to_string().replacen("&NodeSelector", "&v11.NodeSelector", 1),
        );
        write!(
            f,
            "&Device{{Name:{name},Attributes:map[QualifiedName]DeviceAttribute{{}},Capacity:map[QualifiedName]DeviceCapacity{{}},\
             ConsumesCounters:[]DeviceCounterConsumption{{{consumes}}},NodeName:nil,NodeSelector:{selector},AllNodes:nil,\
             Taints:[]DeviceTaint{{}},BindsToNode:nil,BindingConditions:[{}],BindingFailureConditions:[{}],\
             AllowMultipleAllocations:nil,NodeAllocatableResources:map[k8s_io_api_core_v1.ResourceName]NodeAllocatableResource{{}},}}",
            self.0.conditions().join(" "),
            self.0.failure_conditions().join(" "),
        )
    }
}

fn go_consumption(consumption: &CounterConsumption) -> String {
    let CounterConsumption { set, counters, compatibility_groups } = consumption;
    let counters = counters.iter().map(|(name, amount)| format!("{name}: {{{}}},", amount.go_struct()));
    format!(
        "DeviceCounterConsumption{{CounterSet:{set},Counters:map[string]Counter{{{}}},CompatibilityGroups:[{}],}},",
        counters.collect::<String>(),
        compatibility_groups.join(" "),
    )
}
