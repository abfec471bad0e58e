//! The structures of the file, as Go declares them.

use alloc::string::String;
use alloc::vec::Vec;

use pod_spec::PodUid;

use super::prepared::{PreparedClaim, PreparedDevice};
use crate::go::{Dump, Go, Reader, TypeName, items, pointed_to, structure};
use crate::{JsonError, List, Map};

/// The file around the text.
#[derive(Default)]
pub(super) struct File {
    pub(super) data: String,
    pub(super) checksum: u64,
}

structure! {
    File: "state" "Checkpoint" {
        data => "Data" "Data";
        checksum => "Checksum" "Checksum" ["uint32"];
    }
}

/// The text.
#[derive(Default)]
pub(super) struct Data {
    kind: String,
    version: String,
    claims: List<Claim>,
}

structure! {
    Data: "state" "CheckpointData" {
        kind => in "TypeMeta" "Kind" "kind" left_out;
        version => in "TypeMeta" "APIVersion" "apiVersion" left_out;
        claims => "ClaimInfoStateList" "ClaimInfoStateList" ["state.ClaimInfoStateList"];
    }
}

impl Data {
    pub(super) fn claims(self) -> Vec<PreparedClaim> {
        self.claims.unwrap_or_default().into_iter().map(Into::into).collect()
    }
}

#[derive(Default)]
struct Claim {
    uid: String,
    name: String,
    namespace: String,
    pods: Map<PodUid, Empty>,
    drivers: Map<String, Driver>,
}

structure! {
    Claim: "state" "ClaimInfoState" {
        uid => "ClaimUID" "ClaimUID" ["types.UID"];
        name => "ClaimName" "ClaimName";
        namespace => "Namespace" "Namespace";
        pods => "PodUIDs" "PodUIDs" ["sets.Set[string]"];
        drivers => "DriverState" "DriverState";
    }
}

/// A value of a set in Go: a structure without members.
#[derive(Default)]
struct Empty;

impl Go for Empty {
    const TYPE: TypeName = TypeName::Plain("sets.Empty");

    fn read(&mut self, reader: &mut Reader<'_>, of: TypeName) -> Result<(), JsonError> {
        reader.structure(of, &[], |_, _| Ok(()))
    }

    fn write(&self, json: &mut String) {
        json.push_str("{}");
    }

    fn dump(&self, dump: &mut Dump, of: TypeName) {
        dump.begin(of);
        dump.put("{}");
    }
}

#[derive(Default)]
struct Driver {
    devices: List<Device>,
    skipped: List<String>,
}

structure! {
    Driver: "state" "DriverState" {
        devices => "Devices" "Devices";
        skipped => "SkipNodeOperations" "skipNodeOperations" left_out;
    }
}

#[derive(Default)]
struct Device {
    pool: String,
    name: String,
    share: Option<String>,
    requests: List<String>,
    cdi: List<String>,
}

structure! {
    Device: "state" "Device" {
        pool => "PoolName" "PoolName";
        name => "DeviceName" "DeviceName";
        share => "ShareID" "ShareID";
        requests => "RequestNames" "RequestNames";
        cdi => "CDIDeviceIDs" "CDIDeviceIDs";
    }
}

items!(Claim, Empty, Driver, Device);
pointed_to!(String);

impl From<Claim> for PreparedClaim {
    fn from(of: Claim) -> Self {
        let devices =
            |driver: Driver| driver.devices.unwrap_or_default().into_iter().map(Into::into).collect();
        let drivers = of.drivers.unwrap_or_default().into_iter();
        Self {
            uid: of.uid,
            namespace: of.namespace,
            name: of.name,
            pods: of.pods.unwrap_or_default().into_keys().collect(),
            drivers: drivers.map(|(name, driver)| (name, devices(driver))).collect(),
        }
    }
}

impl From<Device> for PreparedDevice {
    fn from(of: Device) -> Self {
        let Device { pool, name, share, requests, cdi: _ } = of;
        Self { pool, device: name, share, requests: requests.unwrap_or_default() }
    }
}
