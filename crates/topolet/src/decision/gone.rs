//! Device plugins that are gone. A pod that asks for their devices is refused until they register again, so that an
//! empty node says nothing about whether waiting helps.

use device_manager::{Endpoint, Life};
use pod_spec::ResourceName;
use topology_admission::{Cause, Refused};

use super::Facts;

impl Facts<'_> {
    /// Resources that the pod asks for and whose plugin is gone, each once.
    pub(super) fn gone_plugins(&self) -> Vec<&ResourceName> {
        let inventory = self.before.inventory();
        let is_gone = |resource: &ResourceName| {
            matches!(inventory.endpoint(resource), Some(Endpoint::Plugin { life: Life::Stopped(_), .. }))
        };
        let limits = self.pod.containers.iter().flat_map(|container| container.limits.iter());
        let asked = limits.filter(|(_, amount)| !amount.is_zero()).map(|(resource, _)| resource);
        let mut gone: Vec<&ResourceName> = asked.filter(|resource| is_gone(resource)).collect();
        gone.sort();
        gone.dedup();
        gone
    }

    /// That these plugins are gone, beside `why` unless the refusal is about their devices only.
    pub(super) fn with_gone(&self, gone: &[&ResourceName], refused: &Refused, why: Option<String>) -> String {
        let names: Vec<&str> = gone.iter().map(|resource| resource.as_str()).collect();
        let (names, plugins) = (names.join(" and "), if gone.len() == 1 { "plugin" } else { "plugins" });
        let are = if gone.len() == 1 { "is" } else { "are" };
        let told = format!(
            "the device {plugins} of {names} {are} gone, and no device of it can be allocated until a plugin registers again"
        );
        match why {
            Some(why) if !self.is_only_about(gone, refused) => format!("{why}; {told}"),
            _ => told,
        }
    }

    /// Whether nothing but such devices is known to be missing.
    fn is_only_about(&self, gone: &[&ResourceName], refused: &Refused) -> bool {
        let rows = self.trace.units.last().map_or(&[][..], |unit| &unit.resources);
        let lacking = rows.iter().find(|row| {
            row.amounts.as_ref().is_some_and(|amounts| {
                let cells = amounts.nodes.iter().chain([&amounts.elsewhere]);
                cells.map(|cell| cell.free).fold(0, u64::saturating_add) < amounts.asked
            })
        });
        match lacking {
            Some(row) => gone.contains(&&row.resource),
            None => matches!(refused.cause, Cause::Devices(_)),
        }
    }
}
