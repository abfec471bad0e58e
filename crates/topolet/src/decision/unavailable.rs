//! Device plugins that are gone, or list more than there is room for. A pod that asks for their devices is refused until
//! they register again or list fewer, so that an empty node says nothing about whether waiting helps.

use device_manager::{Endpoint, Life, OverBudget};
use pod_spec::ResourceName;
use topology_admission::{Cause, Refused};

use super::Facts;

/// What no device can be had of.
pub(super) struct Unavailable<'a> {
    /// Their plugins are gone.
    gone: Vec<&'a ResourceName>,
    /// Their plugins list more than there is room for.
    refused: Vec<(&'a ResourceName, OverBudget)>,
}

impl Unavailable<'_> {
    pub(super) fn is_empty(&self) -> bool {
        self.gone.is_empty() && self.refused.is_empty()
    }

    fn resources(&self) -> Vec<&ResourceName> {
        self.gone.iter().copied().chain(self.refused.iter().map(|(resource, _)| *resource)).collect()
    }

    /// Why, and until when; `None` if there are no such resources.
    fn told(&self) -> Option<String> {
        let Self { gone, refused } = self;
        let names: Vec<&str> = gone.iter().map(|resource| resource.as_str()).collect();
        let (names, plugins) = (names.join(" and "), if gone.len() == 1 { "plugin" } else { "plugins" });
        let are = if gone.len() == 1 { "is" } else { "are" };
        let gone = (!gone.is_empty()).then(|| {
            format!(
                "the device {plugins} of {names} {are} gone, and no device of it can be allocated until a plugin registers again"
            )
        });
        let refused = refused.iter().map(|(resource, why)| {
            format!(
                "the device plugin of {resource} lists {why}: its list counts as empty until it lists fewer"
            )
        });
        let told: Vec<String> = gone.into_iter().chain(refused).collect();
        (!told.is_empty()).then(|| told.join("; "))
    }
}

impl Facts<'_> {
    /// Resources that the pod asks for and of which no device can be had, whatever others hold; each once.
    pub(super) fn unavailable(&self) -> Unavailable<'_> {
        let inventory = self.before.inventory();
        let asked = self.asked();
        let is_gone = |resource: &&ResourceName| {
            matches!(inventory.endpoint(resource), Some(Endpoint::Plugin { life: Life::Stopped(_), .. }))
        };
        let refused = |resource| inventory.refused_list(resource).map(|why| (resource, why));
        Unavailable {
            gone: asked.iter().copied().filter(is_gone).collect(),
            refused: asked.iter().copied().filter_map(refused).collect(),
        }
    }

    /// Resources that containers ask for, in order.
    fn asked(&self) -> Vec<&ResourceName> {
        let limits = self.pod.containers.iter().flat_map(|container| container.limits.iter());
        let mut asked: Vec<&ResourceName> =
            limits.filter(|(_, amount)| !amount.is_zero()).map(|(resource, _)| resource).collect();
        asked.sort();
        asked.dedup();
        asked
    }

    /// That these plugins give nothing, beside `why` unless the refusal is about their devices only.
    pub(super) fn with_unavailable(
        &self,
        unavailable: &Unavailable<'_>,
        refused: &Refused,
        why: Option<String>,
    ) -> Option<String> {
        let Some(told) = unavailable.told() else { return why };
        match why {
            Some(why) if !self.is_only_about(&unavailable.resources(), refused) => {
                Some(format!("{why}; {told}"))
            }
            _ => Some(told),
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
