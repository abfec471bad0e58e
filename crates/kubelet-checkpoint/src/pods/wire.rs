//! The structures of the files, as Go declares them in each release.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString as _};

use k8s_quantity::Quantity;
use pod_spec::{ContainerName, PodUid, ResourceList, ResourceName};

use super::allocation::{Allocation, PodAllocation};
use crate::go::{Dump, Go, Reader, TypeName, items, pointed_to, quote, structure};
use crate::{JsonError, JsonFault, List, Map};

/// The file around the text.
#[derive(Default)]
pub(super) struct File {
    pub(super) data: String,
    pub(super) checksum: u64,
}

structure! {
    File: "state" "Checkpoint" {
        data => "Data" "data";
        checksum => "Checksum" "checksum" ["checksum.Checksum"];
    }
}

/// The pods of a text.
pub(super) trait Pods: Go + Default {
    fn pods(self) -> BTreeMap<PodUid, PodAllocation>;
}

/// Members of all releases.
#[derive(Default)]
struct Entry {
    containers: Map<ContainerName, Requirements>,
    pod: Option<Requirements>,
    volumes: Map<String, Option<Amount>>,
}

/// A text of a release, whose entries have these members.
macro_rules! release {
    ($data:ident, $entry:ident { $($field:ident => $name:literal;)* }) => {
        #[derive(Default)]
        struct $entry {
            of: Entry,
        }

        structure! {
            $entry: "state" "PodResourceInfo" { $(of.$field => $name $name;)* }
        }

        items!($entry);

        #[derive(Default)]
        pub(super) struct $data(Map<PodUid, $entry>);

        structure! {
            $data: "state" "PodResourceCheckpointInfo" {
                0 => "Entries" "entries" ["state.PodResourceInfoMap"] left_out;
            }
        }

        impl Pods for $data {
            fn pods(self) -> BTreeMap<PodUid, PodAllocation> {
                let entries = self.0.unwrap_or_default().into_iter();
                entries.map(|(uid, entry)| (uid, entry.of.into())).collect()
            }
        }
    };
}

release!(Data34, Entry34 {
    containers => "ContainerResources";
});
release!(Data35, Entry35 {
    containers => "ContainerResources";
    pod => "PodLevelResources";
});
release!(Data37, Entry37 {
    containers => "ContainerResources";
    pod => "PodLevelResources";
    volumes => "EmptyDirVolumeLimits";
});

impl From<Entry> for PodAllocation {
    fn from(entry: Entry) -> Self {
        let containers = entry.containers.unwrap_or_default().into_iter();
        Self {
            containers: containers.map(|(name, of)| (name, of.into())).collect(),
            pod: entry.pod.map(Into::into),
        }
    }
}

#[derive(Default)]
struct Requirements {
    limits: Map<ResourceName, Amount>,
    requests: Map<ResourceName, Amount>,
    claims: List<Claim>,
}

structure! {
    Requirements: "v1" "ResourceRequirements" {
        limits => "Limits" "limits" ["v1.ResourceList"] left_out;
        requests => "Requests" "requests" ["v1.ResourceList"] left_out;
        claims => "Claims" "claims" left_out;
    }
}

items!(Requirements, Claim);
pointed_to!(Requirements, Amount);

impl From<Requirements> for Allocation {
    fn from(of: Requirements) -> Self {
        let amounts = |amounts: Map<ResourceName, Amount>| -> ResourceList {
            amounts.unwrap_or_default().into_iter().map(|(name, Amount(amount))| (name, amount)).collect()
        };
        Self { requests: amounts(of.requests), limits: amounts(of.limits) }
    }
}

#[derive(Default)]
struct Claim {
    name: String,
    request: String,
}

structure! {
    Claim: "v1" "ResourceClaim" {
        name => "Name" "name";
        request => "Request" "request" left_out;
    }
}

/// A quantity, which reads itself of whatever stands there.
#[derive(Default)]
struct Amount(Quantity);

items!(Amount);

impl Go for Amount {
    const TYPE: TypeName = TypeName::Plain("resource.Quantity");

    fn read(&mut self, reader: &mut Reader<'_>, _: TypeName) -> Result<(), JsonError> {
        let offset = reader.at();
        let token = String::from_utf8_lossy(reader.skipped());
        self.0 = Quantity::from_json_token(&token)
            .map_err(|error| JsonError { fault: JsonFault::Quantity(error), offset })?;
        Ok(())
    }

    fn write(&self, json: &mut String) {
        quote(json, &self.0.to_string());
    }

    /// These files hash their text, and never a quantity.
    fn dump(&self, dump: &mut Dump, of: TypeName) {
        dump.begin(of);
        dump.show(&self.0);
    }
}
