//! The largest size that fits where a container cannot have what it asks for.

use k8s_quantity::{Format, Quantity};
use pod_spec::{ContainerName, PodUid, ResourceName, Role};

use crate::ledger::Ledger;
use crate::node::Node;
use crate::resize::sizes::Sizes;

/// The most that is tried of one container.
const MOST_TRIES: u32 = 1024;

/// An amount that a container can have now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Largest {
    /// The container.
    pub container: ContainerName,
    /// `cpu` or `memory`.
    pub resource: ResourceName,
    /// The largest amount that fits: whole CPUs or bytes. More than the container has.
    pub amount: Quantity,
}

impl Node {
    /// The largest amount of each container whose growth is refused, everything else as it is: between what it has and
    /// what it asks for, in whole CPUs and whole MiB. None where nothing in between fits.
    #[must_use]
    pub fn largest_resize(&self, ledger: &Ledger, uid: &PodUid, sizes: &Sizes) -> Option<Largest> {
        let pod = ledger.pod(uid)?;
        let resized = self.sized(pod, sizes).ok()?;
        for resource in ["cpu", "memory"] {
            let unit: i64 = if resource == "cpu" { 1 } else { 1 << 20 };
            for container in resized.containers.iter().filter(|container| container.role != Role::Init) {
                let before = pod.container(&container.name)?;
                let amount = |of: &pod_spec::Container| of.requests.get(resource).map_or(0, Quantity::value);
                let (have, want) = (amount(before), amount(container));
                if want <= have {
                    continue;
                }
                let resource = ResourceName::new(resource);
                let format = container.requests.get(&resource).map_or(Format::DecimalSi, Quantity::format);
                let fits = |units: i64| {
                    let amount = Quantity::from_units(units.saturating_mul(unit), format);
                    let mut only = Sizes::default();
                    only.set(pod, before, &resource, &amount);
                    let fits = self.can_resize(ledger, pod, &only);
                    fits.then(|| Largest {
                        container: container.name.clone(),
                        resource: resource.clone(),
                        amount,
                    })
                };
                if fits(want / unit).is_some() {
                    continue;
                }
                return best(have.div_euclid(unit), want / unit, fits);
            }
        }
        None
    }
}

/// The largest between the two that fits: of a few all are tried, of many by halves.
fn best(have: i64, want: i64, fits: impl Fn(i64) -> Option<Largest>) -> Option<Largest> {
    if want - have <= i64::from(MOST_TRIES) {
        return (have + 1..want).rev().find_map(fits);
    }
    let (mut low, mut high) = (have, want);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if fits(middle).is_some() { low = middle } else { high = middle }
    }
    if low > have { fits(low) } else { None }
}
