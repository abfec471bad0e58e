//! The configuration of NVIDIA's device plugin: sharing of GPUs by time-slicing or MPS, and their resources' names.
//!
//! ```yaml
//! version: v1
//! flags: {migStrategy: none}
//! sharing:
//!   timeSlicing:
//!     renameByDefault: false
//!     resources:
//!     - {name: nvidia.com/gpu, replicas: 4}
//! ```

use pod_spec::ResourceName;

use super::entry::{DeviceEntry, DeviceSource, MigStrategy};
use crate::names::is_resource;
use crate::node::Field;
use crate::{ManifestError, Problem};

/// The most replicas of a GPU; the plugin has no limit.
const MAX_REPLICAS: u32 = 4096;

const GPU: &str = "nvidia.com/gpu";

const LISTS: &str = "the devices as the kubelet lists them: `topolet capture --node NODE.tar.zst` on the node, or its answer of GetAllocatableResources";

/// Whether a document is such a configuration.
pub(super) fn is_one(document: &Field<'_>) -> Result<bool, ManifestError> {
    Ok(document.is_mapping()
        && document.get("version")?.is_some_and(|version| version.text("v1").is_ok_and(|text| text == "v1"))
        && ["flags", "sharing", "resources"]
            .iter()
            .any(|key| document.get(key).is_ok_and(|field| field.is_some())))
}

const COUNT: &str = "how many pods share one, from 2 on";

/// What it makes of a machine's GPUs.
pub(super) fn read(document: &Field<'_>) -> Result<DeviceEntry, ManifestError> {
    let mut assumed = Vec::new();
    let strategy = document.descend(&["flags", "migStrategy"])?;
    let partitions =
        match strategy.as_ref().map_or(Ok("none"), |field| field.text("none, single or mixed"))? {
            "none" => MigStrategy::None,
            "single" => MigStrategy::Single,
            "mixed" => MigStrategy::Mixed,
            _ => {
                let field = strategy.unwrap_or_else(|| document.clone());
                return Err(field.unexpected("none, single or mixed"));
            }
        };
    let mut name = renamed(document)?;
    let mut replicas = 1;
    for (key, is_named) in [("timeSlicing", "time-slicing"), ("mps", "MPS")] {
        let Some(sharing) = document.descend(&["sharing", key])? else { continue };
        let by_default = sharing.get("renameByDefault")?.is_some_and(|field| field.is_true());
        for resource in sharing.get("resources")?.map_or(Ok(Vec::new()), |list| list.items())? {
            let own = resource.require("name", "the resource that is shared")?;
            let shared = own.text("the resource that is shared")?;
            if !is_same(shared, &name) {
                let what = format!(
                    "{shared} is shared by {is_named}, of which a machine's description does not tell the devices"
                );
                return Err(own.fail(Problem::OtherForm { what, instead: LISTS }));
            }
            let count = resource.require("replicas", COUNT)?;
            replicas = count
                .scalar(COUNT)?
                .parse()
                .ok()
                .filter(|replicas| (2..=MAX_REPLICAS).contains(replicas))
                .ok_or_else(|| count.unexpected(COUNT))?;
            if let Some(devices) = resource.get("devices")?
                && devices.text("all").ok() != Some("all")
            {
                assumed.push("every GPU is taken as shared".to_owned());
            }
            let renamed = resource.get("rename")?;
            if let Some(rename) = renamed {
                name = with_domain(rename.text("a name")?);
            } else if by_default {
                name.push_str(".shared");
            }
        }
        if sharing.get("failRequestsGreaterThanOne")?.is_some_and(|field| field.is_true())
            || key == "mps" && replicas > 1
        {
            assumed.push(format!(
                "the plugin fails a container that asks for more than 1 {name}, after it is admitted here"
            ));
        }
    }
    if !is_resource(&name) {
        return Err(document.unexpected("names of resources"));
    }
    Ok(DeviceEntry {
        resource: ResourceName::new(&name),
        source: DeviceSource::Gpus { replicas, partitions },
        assumed,
    })
}

/// The resource of whole GPUs: of several names by product the one for all.
fn renamed(document: &Field<'_>) -> Result<String, ManifestError> {
    let names = document.descend(&["resources", "gpus"])?.map_or(Ok(Vec::new()), |list| list.items())?;
    match names.as_slice() {
        [] => Ok(GPU.to_owned()),
        [only]
            if only
                .get("pattern")?
                .is_some_and(|pattern| pattern.text("*").is_ok_and(|text| text == "*")) =>
        {
            Ok(with_domain(only.require("name", "the name of a resource")?.text("the name of a resource")?))
        }
        [first, ..] => {
            let what =
                "GPUs are named by their product, which a machine's description does not tell".to_owned();
            Err(first.fail(Problem::OtherForm { what, instead: LISTS }))
        }
    }
}

fn with_domain(name: &str) -> String {
    if name.contains('/') { name.to_owned() } else { format!("nvidia.com/{name}") }
}

fn is_same(one: &str, other: &str) -> bool {
    with_domain(one) == other
}
