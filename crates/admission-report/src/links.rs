//! Devices and links in sentences: which link a container's devices are on, and which link lacks what.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use device_manager::{LinkLack, Links};
use serde::Serialize;
use topology_admission::NotLinked;

use crate::device_set::DeviceSet;
use crate::json;
use crate::resource::Resource;
use crate::words::{and_more, joined};

/// So many links are named.
const MOST_LINKS: usize = 4;

/// Several devices of a container that belong together, on a node where links count.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinkedDevices {
    /// Their resources: one, or those of a group.
    #[serde(serialize_with = "json::texts")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub resources: Vec<Resource>,
    /// The link that has all of them: `PCI switch 0000:21:00.0`; `None`: none has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

impl LinkedDevices {
    /// What of `devices` belongs together; nothing of what has no address.
    pub(crate) fn all(links: Option<&Links>, devices: &[DeviceSet]) -> Vec<Self> {
        let Some(links) = links else { return Vec::new() };
        let mut groups: Vec<(Option<&str>, Vec<&DeviceSet>)> = Vec::new();
        for set in devices.iter().filter(|set| set.ids.iter().any(|id| links.address(id).is_some())) {
            let group = links.group_of(&set.resource.as_str().into());
            match groups.iter_mut().find(|(known, _)| group.is_some() && *known == group) {
                Some((_, sets)) => sets.push(set),
                None => groups.push((group, alloc::vec![set])),
            }
        }
        let linked = groups.into_iter().filter_map(|(_, sets)| {
            let ids = || sets.iter().flat_map(|set| &set.ids);
            let link = links.common(ids()).map(|link| format!("{link}"));
            let resources = sets.iter().map(|set| set.resource.clone()).collect();
            (ids().count() > 1).then_some(Self { resources, link })
        });
        linked.collect()
    }
}

/// `PCI switch 0000:21:00.0`, or what is on several links in words.
impl fmt::Display for LinkedDevices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.link.as_deref().unwrap_or("several links"))
    }
}

/// Why no link will do, with what each has.
pub(crate) fn not_linked(not_linked: &NotLinked, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let demand = match not_linked {
        NotLinked::Lacks(lack) => &lack.demand,
        NotLinked::Elsewhere { demand, .. } => demand,
    };
    let asked: Vec<String> = demand
        .asked
        .iter()
        .map(|(resource, count)| format!("{} {resource}", Resource::from(resource).amount(*count)))
        .collect();
    write!(
        f,
        "devices.links is require: {} have to be on one PCI switch, port or domain, ",
        joined(asked, " and ")
    )?;
    match not_linked {
        NotLinked::Elsewhere { is_cut: true, .. } => f.write_str(
            "and there are more ways to combine links than were tried: devices.groups can join the resources",
        ),
        NotLinked::Elsewhere { links, .. } => {
            let links: Vec<String> = links.iter().map(|link| format!("{link}")).collect();
            write!(
                f,
                "and where {} {} them the other resources are not to be had",
                and_more(&links, MOST_LINKS, " and "),
                if links.len() == 1 { "has" } else { "have" }
            )
        }
        NotLinked::Lacks(lack) => {
            if lack.links.is_empty() {
                f.write_str("and no link of this machine is known to have any of them")?;
            } else {
                write!(f, "and none has them: {}", joined(rooms(lack), ", "))?;
            }
            let unplaced: Vec<String> =
                lack.unplaced.iter().map(|(resource, count)| format!("{count} {resource}")).collect();
            if unplaced.is_empty() {
                return Ok(());
            }
            write!(
                f,
                "; the PCI addresses of {} are not known (devices.addresses)",
                joined(unplaced, " and ")
            )
        }
    }
}

/// What the links have that lack least, those that have the same together.
fn rooms(lack: &LinkLack) -> Vec<String> {
    let mut alike: Vec<(String, Vec<String>)> = Vec::new();
    for room in &lack.links {
        let short = room.has.iter().filter(|own| own.free < own.needed);
        let short = short.map(|own| format!("{} free of {} {}", own.free, own.all, own.resource));
        let (has, name) = (joined(short, " and "), format!("{}", room.link));
        match alike.iter_mut().find(|(same, _)| *same == has) {
            Some((_, names)) => names.push(name),
            None => alike.push((has, alloc::vec![name])),
        }
    }
    let shown = alike.iter().take(MOST_LINKS).map(|(has, names)| {
        let each = if names.len() == 1 { "has" } else { "each have" };
        format!("{} {each} {has}", and_more(names, MOST_LINKS, " and "))
    });
    let mut shown: Vec<String> = shown.collect();
    if alike.len() > MOST_LINKS {
        shown.push("others lack more".into());
    }
    shown
}
