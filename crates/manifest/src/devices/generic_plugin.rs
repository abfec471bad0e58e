//! The configuration of the generic device plugin: files of the node as devices.
//!
//! ```yaml
//! domain: squat.ai
//! devices:
//! - name: serial
//!   groups:
//!   - count: 4
//!     paths:
//!     - path: /dev/ttyUSB0
//! ```

use pod_spec::ResourceName;

use super::entry::{DeviceEntry, DeviceSource, MAX_PER_NODE};
use crate::names::is_resource;
use crate::node::Field;
use crate::{ManifestError, Problem};

/// The domain of its resources where none is named.
const DOMAIN: &str = "squat.ai";

const LISTS: &str = "the devices as the kubelet lists them, which `topolet capture --node NODE.tar.zst` on the node packs, or `devices:` \
                     with a `list` of them";

/// Whether a document is such a configuration: its devices have groups.
pub(super) fn is_one(document: &Field<'_>) -> bool {
    let devices =
        document.get("devices").ok().flatten().and_then(|devices| devices.items().ok()).unwrap_or_default();
    devices.first().is_some_and(|first| first.get("groups").is_ok_and(|groups| groups.is_some()))
}

/// Its resources. The plugin reports no NUMA nodes.
pub(super) fn read(document: &Field<'_>) -> Result<Vec<DeviceEntry>, ManifestError> {
    const NAME: &str = "the name of a resource without its domain";
    let domain =
        document.get("domain")?.map_or(Ok(DOMAIN), |domain| domain.text("a domain such as squat.ai"))?;
    let mut entries = Vec::new();
    for device in document.require("devices", "a list of devices")?.items()? {
        let field = device.require("name", NAME)?;
        let name = format!("{domain}/{}", field.text(NAME)?);
        if !is_resource(&name) {
            return Err(field.unexpected(NAME));
        }
        let mut count = 0;
        for group in device.require("groups", "groups of paths")?.items()? {
            count += of_group(&group)?;
        }
        let assumed = vec!["every path that it names is taken to be there".to_owned()];
        let source = DeviceSource::Counted(count.min(MAX_PER_NODE));
        entries.push(DeviceEntry { resource: ResourceName::new(&name), source, assumed });
    }
    Ok(entries)
}

/// How many devices a group is: as many as `count` says, 1 by default, where its paths are no patterns.
fn of_group(group: &Field<'_>) -> Result<u32, ManifestError> {
    const COUNT: &str = "how many containers share a device, 1 to 65536";
    let paths = group.get("paths")?.map_or(Ok(Vec::new()), |paths| paths.items())?;
    for path in &paths {
        let field = path.require("path", "the path of a device")?;
        let text = field.text("the path of a device")?;
        if text.contains(['*', '?', '[']) {
            let what = format!(
                "path {text} is a pattern, and a machine's description does not tell which files match it"
            );
            return Err(field.fail(Problem::OtherForm { what, instead: LISTS }));
        }
    }
    if paths.is_empty() {
        let what =
            "a group has no paths, and a machine's description does not tell its USB devices".to_owned();
        return Err(group.fail(Problem::OtherForm { what, instead: LISTS }));
    }
    let Some(count) = group.get("count")? else { return Ok(1) };
    let number = count.scalar(COUNT)?.parse().ok().filter(|number| (1..=MAX_PER_NODE).contains(number));
    number.ok_or_else(|| count.unexpected(COUNT))
}
