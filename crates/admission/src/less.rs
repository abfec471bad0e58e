//! Pods that ask for less.

use alloc::collections::BTreeMap;

use k8s_quantity::{Format, Quantity};
use pod_spec::{Container, ContainerName, Pod, ResourceList, ResourceName};

use crate::explain::Less;
use crate::refusal::{Cause, Refused};
use crate::trace::{UnitName, UnitTrace};

/// What the refusal itself says there is.
pub(crate) fn lower(refused: &Refused) -> Option<BTreeMap<ResourceName, Less>> {
    use cpu_manager::{AllocateError, TakeError, WholeCoresError};

    let of_cpus = |asked: usize, fits: usize| {
        let less = Less { asked: asked as u64, fits: fits as u64 };
        (0 < fits && fits < asked).then(|| BTreeMap::from([("cpu".into(), less)]))
    };
    match &refused.cause {
        Cause::Cpus(AllocateError::WholeCores(WholeCoresError::NotMultiple { requested, per_core })) => {
            of_cpus(*requested, requested - requested % per_core.max(&1))
        }
        Cause::Cpus(AllocateError::Take(TakeError::NotEnough { requested, available })) => {
            of_cpus(*requested, *available)
        }
        Cause::Shortage(shortages) => {
            let less = shortages.iter().map(|shortage| {
                let unit = if shortage.resource.as_str() == "cpu" { 1000 } else { 1 };
                let whole = |amount: i64| u64::try_from(amount / unit).unwrap_or(0);
                let fits = whole(shortage.capacity.saturating_sub(shortage.used));
                (shortage.resource.clone(), Less { asked: whole(shortage.requested), fits })
            });
            let less: BTreeMap<_, _> = less.collect();
            less.values().all(|less| 0 < less.fits && less.fits < less.asked).then_some(less)
        }
        _ => None,
    }
}

/// The pod with smaller requests and limits; `None` where it is not clear which of several containers should ask for
/// less.
pub(crate) fn smaller_requests(
    pod: &Pod,
    unit: Option<&UnitTrace>,
    less: &BTreeMap<ResourceName, Less>,
) -> Option<Pod> {
    let mut smaller = pod.clone();
    for (resource, less) in less {
        let container = the_one_asking(&mut smaller, unit, resource)?;
        let amount = Quantity::from_units(i64::try_from(less.fits).ok()?, Format::BinarySi);
        let lower = |amounts: &mut ResourceList| {
            if let Some(asked) = amounts.get_mut(resource.as_str()) {
                asked.clone_from(&amount);
            }
        };
        lower(&mut container.requests);
        lower(&mut container.limits);
    }
    Some(smaller)
}

fn the_one_asking<'a>(
    pod: &'a mut Pod,
    unit: Option<&UnitTrace>,
    resource: &ResourceName,
) -> Option<&'a mut Container> {
    let of_unit = |name: &ContainerName| match unit.map(|unit| &unit.unit) {
        Some(UnitName::Container(own)) => own == name,
        Some(UnitName::Pod) | None => true,
    };
    let mut asking = pod.containers.iter_mut().filter(|container| {
        of_unit(&container.name)
            && (container.limits.contains_key(resource.as_str())
                || container.requests.contains_key(resource.as_str()))
    });
    let only = asking.next()?;
    asking.next().is_none().then_some(only)
}
