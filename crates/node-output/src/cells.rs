//! Cells of a table: what a container is given.

use admission_report::{Alignment, ContainerClaim, ContainerReport, DeviceSet, LinkedDevices};
use pod_spec::Role;
use topology_model::NodeIds;

/// In place of amounts that are not known.
pub(crate) const NOT_CHECKED: &str = "? not checked";

/// A cell without content.
const NOTHING: &str = "-";

/// Behind a claim of devices.
const NOT_DECIDED: &str = "? not decided";

/// Name, NUMA nodes, CPUs, memory and devices.
pub(crate) fn container(container: &ContainerReport) -> Vec<String> {
    let memory = container.memory.iter().map(|block| {
        if container.nodes.as_ref() == Some(&block.nodes) { block.amount() } else { block.to_string() }
    });
    let devices = container.devices.iter().map(DeviceSet::to_string);
    let not_checked =
        container.not_checked.iter().map(|unchecked| format!("{} {NOT_CHECKED}", unchecked.resource));
    let claims = container.claims.iter().map(|claim| format!("claim {claim} {NOT_DECIDED}"));
    let cpus = match (&container.exclusive_cpus, &container.cpu_nodes) {
        (Some(cpus), Some(nodes)) if container.nodes.as_ref() != Some(nodes) => {
            format!("{cpus} on NUMA {nodes}")
        }
        (Some(cpus), _) => cpus.to_string(),
        (None, _) => "shared".to_owned(),
    };
    let mut devices = joined(devices.chain(not_checked).chain(claims)) + &links(&container.links);
    if !container.claimed.is_empty() {
        let own = Some(devices).filter(|own| own != NOTHING);
        devices = joined(own.into_iter().chain(container.claimed.iter().map(ContainerClaim::to_string)));
    }
    vec![
        with_role(container),
        container.nodes.as_ref().map_or_else(|| "any".to_owned(), NodeIds::to_string),
        cpus,
        joined(memory),
        devices,
    ]
}

/// A claim beside what its container holds: `claim gpu on NUMA 1, NOT aligned`.
#[must_use]
pub fn claimed(claim: &ContainerClaim) -> String {
    match claim.alignment {
        Alignment::Elsewhere => format!("{claim}, NOT aligned"),
        Alignment::Aligned | Alignment::Unknown | Alignment::NothingPinned => claim.to_string(),
    }
}

/// The link of devices that belong together; with their names where there are several.
pub(crate) fn links(links: &[LinkedDevices]) -> String {
    match links {
        [] => String::new(),
        [only] => format!(" on {only}"),
        several => {
            let each = several.iter().map(|linked| {
                let resources: Vec<String> = linked.resources.iter().map(ToString::to_string).collect();
                format!("{} on {linked}", resources.join(" and "))
            });
            format!("; {}", each.collect::<Vec<_>>().join(", "))
        }
    }
}

/// A container's name, and its role if it is another than the usual one.
pub(crate) fn with_role(container: &ContainerReport) -> String {
    match container.role {
        Role::App => container.name.to_string(),
        role @ (Role::Init | Role::Sidecar) => format!("{} ({})", container.name, role.name()),
    }
}

/// Several things in one cell.
#[must_use]
pub fn joined(parts: impl Iterator<Item = String>) -> String {
    let parts: Vec<_> = parts.collect();
    if parts.is_empty() { NOTHING.to_owned() } else { parts.join(", ") }
}
