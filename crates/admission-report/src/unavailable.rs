//! Device plugins that are gone, that list no healthy device, or more devices than there is room for. A pod that asks for their devices is
//! refused until they register again or list fewer, so an empty node does not show whether waiting helps.

use alloc::vec::Vec;

use device_manager::{Endpoint, Life};
use pod_spec::ResourceName;
use topology_admission::{Cause, Refused};

use crate::facts::Facts;
use crate::obstacle::Obstacle;
use crate::resource::Resource;

impl Facts<'_> {
    /// Obstacles about resources that the pod asks for and of which no device can be had, whatever other pods hold.
    pub(crate) fn unavailable(&self) -> Vec<Obstacle> {
        let inventory = self.before.inventory();
        let asked = self.asked();
        let is_gone = |resource: &&&ResourceName| {
            matches!(inventory.endpoint(resource), Some(Endpoint::Plugin { life: Life::Stopped(_), .. }))
        };
        let gone: Vec<Resource> =
            asked.iter().filter(is_gone).map(|resource| Resource::from(*resource)).collect();
        let refused = asked.iter().filter_map(|resource| {
            let excess = inventory.refused_list(resource)?;
            Some(Obstacle::ListRefused { resource: Resource::from(*resource), excess })
        });
        let is_ill = |resource: &&&ResourceName| {
            inventory.is_registered(resource)
                && inventory.healthy(resource).next().is_none()
                && inventory.refused_list(resource).is_none()
                && !is_gone(resource)
        };
        let ill: Vec<Resource> =
            asked.iter().filter(is_ill).map(|resource| Resource::from(*resource)).collect();
        let gone = (!gone.is_empty()).then_some(Obstacle::PluginsGone(gone));
        let ill = (!ill.is_empty()).then_some(Obstacle::NoneHealthy(ill));
        gone.into_iter().chain(ill).chain(refused).collect()
    }

    /// `obstacles` and those of [`Facts::unavailable`]; only the latter if nothing else is known to be missing.
    pub(crate) fn with_unavailable(&self, refused: &Refused, mut obstacles: Vec<Obstacle>) -> Vec<Obstacle> {
        let unavailable = self.unavailable();
        if !unavailable.is_empty() && self.is_only_about(&unavailable, refused) {
            return unavailable;
        }
        obstacles.extend(unavailable);
        obstacles
    }

    /// Resources that containers ask for, in order, each once.
    pub(crate) fn asked(&self) -> Vec<&ResourceName> {
        let limits = self.pod.containers.iter().flat_map(|container| container.limits.iter());
        let mut asked: Vec<&ResourceName> =
            limits.filter(|(_, amount)| !amount.is_zero()).map(|(resource, _)| resource).collect();
        asked.sort();
        asked.dedup();
        asked
    }

    fn is_only_about(&self, unavailable: &[Obstacle], refused: &Refused) -> bool {
        let rows = self.trace.units.last().map_or(&[][..], |unit| &unit.resources);
        let lacking = rows
            .iter()
            .find(|row| row.amounts.as_ref().is_some_and(|amounts| amounts.free() < amounts.asked));
        let Some(row) = lacking else { return matches!(refused.cause, Cause::Devices(_)) };
        let lacking = Resource::from(row);
        unavailable.iter().any(|obstacle| match obstacle {
            Obstacle::PluginsGone(resources) | Obstacle::NoneHealthy(resources) => {
                resources.contains(&lacking)
            }
            Obstacle::ListRefused { resource, .. } => *resource == lacking,
            _ => false,
        })
    }
}
