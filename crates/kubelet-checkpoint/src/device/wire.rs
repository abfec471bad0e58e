//! The structures of the file, as Go declares them.

use super::state::{DeviceEntry, DeviceState};
use crate::go::{items, structure};

pub(super) struct File {
    pub(super) data: Data,
    pub(super) checksum: u64,
}

pub(super) struct Data(pub(super) DeviceState);

structure! {
    File: "checkpoint" "Data" {
        data => "Data" "Data";
        checksum => "Checksum" "Checksum" ["checksum.Checksum"];
    }
}

structure! {
    Data: "checkpoint" "checkpointData" {
        0.entries => "PodDeviceEntries" "PodDeviceEntries";
        0.registered => "RegisteredDevices" "RegisteredDevices" ["map[string][]string"];
    }
}

structure! {
    DeviceEntry: "checkpoint" "PodDevicesEntry" {
        pod => "PodUID" "PodUID";
        container => "ContainerName" "ContainerName";
        resource => "ResourceName" "ResourceName" ["string"];
        devices => "DeviceIDs" "DeviceIDs" ["checkpoint.DevicesPerNUMA"];
        reply => "AllocResp" "AllocResp";
    }
}

items!(DeviceEntry);
