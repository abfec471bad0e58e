//! Requests and limits as an API server checks them.

use core::ops::Range;

use k8s_quantity::{Quantity, Sign};
use pod_spec::{
    Amounts, Container, ContainerName, Pod, PodLevelResources, PodResources, ResourceList, ResourceName, Role,
};

use super::complaint::NO_STANDARD;
use super::names::qualified;
use super::spec_owner::SpecOwner;
use super::{Complaint, Findings};
use crate::ManifestError;
use crate::node::Field;
use crate::quantity::any_amounts;

/// What `resources` says, and where. After [`defaulted`] the amounts are those that are checked.
pub(super) struct Requirements<'a> {
    /// `resources`, or what should have it.
    place: Field<'a>,
    requests: ResourceListField<'a>,
    limits: ResourceListField<'a>,
}

/// One of the two lists.
struct ResourceListField<'a> {
    place: Field<'a>,
    written: Option<Field<'a>>,
    amounts: ResourceList,
}

/// Which resources may be named.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    Container,
    Pod,
}

impl<'a> Requirements<'a> {
    /// Of a container, or at pod level.
    pub(super) fn read(parent: &Field<'a>) -> Result<Self, ManifestError> {
        let place = parent.child_or_self("resources")?;
        let resources = parent.get("resources")?;
        let list = |key| {
            let written = resources.as_ref().map_or(Ok(None), |resources| resources.get(key))?;
            let place = written.clone().unwrap_or_else(|| place.at_path(format!("{}.{key}", place.path)));
            ResourceListField::read(place, written)
        };
        Ok(Self { requests: list("requests")?, limits: list("limits")?, place })
    }

    /// `spec.overhead`, which is checked as limits are.
    pub(super) fn overhead(overhead: &Field<'a>) -> Result<Self, ManifestError> {
        let at = |key| overhead.at_path(format!("{}.{key}", overhead.path));
        let mut limits = ResourceListField::read(at("limits"), Some(overhead.clone()))?;
        for amount in limits.amounts.values_mut() {
            *amount = core::mem::take(amount).round_up_to_milli();
        }
        Ok(Self { requests: ResourceListField::read(at("requests"), None)?, limits, place: overhead.clone() })
    }

    /// The complaints, in the API server's order; where it has none, in that of names.
    pub(super) fn check(&self, names: Names, found: &mut Findings) {
        for (name, amount) in &self.limits.amounts {
            let place = self.place_of(&self.limits, name);
            check_name(name, &self.name_of(&self.limits, name, &place), names, found);
            check_amount(name, amount, &place, found);
        }
        for (name, amount) in &self.requests.amounts {
            let place = self.place_of(&self.requests, name);
            check_name(name, &self.name_of(&self.requests, name, &place), names, found);
            check_amount(name, amount, &place, found);
            match self.limits.amounts.get(name) {
                Some(limit) => {
                    let must = if amount != limit && !is_overcommitted(name) {
                        "equal to"
                    } else if amount > limit {
                        "less than or equal to"
                    } else {
                        continue;
                    };
                    let must = format!("must be {must} {name} limit of {limit}");
                    let place = place.at_path(self.requests.place.path.clone());
                    found.add(&place, Complaint::invalid(&text(amount), must));
                }
                None if !is_overcommitted(name) => {
                    let why = "Limit must be set for non overcommitable resources";
                    let place = place.at_path(self.limits.place.path.clone());
                    found.add(&place, Complaint::Required(why.into()));
                }
                None => {}
            }
        }
        let mut all = self.limits.amounts.keys().chain(self.requests.amounts.keys());
        let has_compute = all.clone().any(|name| matches!(name.as_str(), "cpu" | "memory"));
        if !has_compute && all.any(ResourceName::is_hugepages) {
            found.add(&self.place, Complaint::Forbidden("HugePages require cpu or memory"));
        }
    }

    /// Where a name is written, with the place of its amount; one that is filled in, where it comes from.
    fn name_of<'p>(
        &self,
        list: &ResourceListField<'a>,
        name: &ResourceName,
        place: &'p Field<'a>,
    ) -> NamePlace<'p, 'a> {
        let lists = [list, &self.requests, &self.limits];
        let mut written = lists.into_iter().filter_map(|list| list.written.as_ref()?.entries().ok());
        let key = written.find_map(|entries| {
            let entry = entries.into_iter().rfind(|entry| entry.key == name.as_str())?;
            Some(entry.key_span.clone())
        });
        NamePlace { span: key.unwrap_or_else(|| place.node.span.clone()), place }
    }

    /// Where an amount is written; one that is filled in, where it comes from.
    fn place_of(&self, list: &ResourceListField<'a>, name: &ResourceName) -> Field<'a> {
        let path = format!("{}[{name}]", list.place.path);
        let lists = [list, &self.requests, &self.limits];
        let mut written = lists.into_iter().filter_map(|list| list.written.as_ref());
        let value = written.find_map(|list| list.get(name.as_str()).ok().flatten());
        value.as_ref().unwrap_or(&self.place).at_path(path)
    }
}

impl<'a> ResourceListField<'a> {
    fn read(place: Field<'a>, written: Option<Field<'a>>) -> Result<Self, ManifestError> {
        let amounts = written.as_ref().map_or_else(|| Ok(ResourceList::new()), any_amounts)?;
        Ok(Self { place, written, amounts })
    }
}

/// Fills in what an API server fills in before it checks, and returns the pod that it did it on. In a template that is
/// next to nothing: requests follow limits only when a pod is made of it.
pub(super) fn defaulted<'a>(
    spec_of: SpecOwner,
    containers: &mut [(Role, Requirements<'a>)],
    pod_level: Option<&mut Requirements<'a>>,
) -> Pod {
    let of_container = |(at, (role, own)): (usize, &(Role, Requirements<'_>))| Container {
        name: ContainerName::new(&at.to_string()),
        role: *role,
        requests: own.requests.amounts.clone(),
        limits: own.limits.amounts.clone(),
    };
    let mut pod = Pod::new("", "", containers.iter().enumerate().map(of_container).collect());
    pod.resources = pod_level.as_ref().map(|own| PodResources {
        requests: own.requests.amounts.clone(),
        limits: own.limits.amounts.clone(),
    });
    let pod = match spec_of {
        SpecOwner::Pod => pod.with_defaults(PodLevelResources::Count),
        SpecOwner::Template => pod.rounded(),
    };
    for ((_, own), container) in containers.iter_mut().zip(&pod.containers) {
        own.requests.amounts.clone_from(&container.requests);
        own.limits.amounts.clone_from(&container.limits);
    }
    if let (Some(own), Some(resources)) = (pod_level, &pod.resources) {
        own.requests.amounts.clone_from(&resources.requests);
        own.limits.amounts.clone_from(&resources.limits);
    }
    pod
}

/// Whether the pod as a whole has what its containers ask for together.
pub(super) fn check_consistency(pod: &Pod, pod_level: &Requirements<'_>, found: &mut Findings) {
    for (name, asked) in pod.containers_amounts(Amounts::Requests) {
        let Some(own) = pod_level.requests.amounts.get(&name).filter(|own| asked > **own) else { continue };
        let must = format!("must be greater than or equal to aggregate container requests of {asked}");
        found.add(&pod_level.place_of(&pod_level.requests, &name), Complaint::invalid(&text(own), must));
    }
    for (name, limit) in pod.containers_amounts(Amounts::Limits) {
        let own = pod_level.limits.amounts.get(&name).filter(|own| name.is_hugepages() && limit > **own);
        let Some(own) = own else { continue };
        let must = format!("must be greater than or equal to aggregate container limits of {limit}");
        found.add(&pod_level.place_of(&pod_level.limits, &name), Complaint::invalid(&text(own), must));
    }
}

/// No app container may use more than the pod. `at` is its place among the app containers.
pub(super) fn check_within(
    at: usize,
    own: &Requirements<'_>,
    pod_level: &Requirements<'_>,
    found: &mut Findings,
) {
    for (name, limit) in &own.limits.amounts {
        let Some(most) = pod_level.limits.amounts.get(name).filter(|most| limit > *most) else { continue };
        // The API server's own path, though there is no such field.
        let path = format!("{}.containers[{at}][{name}].limits", pod_level.place.path);
        let must = format!("must be less than or equal to pod limits of {most}");
        let place = own.place_of(&own.limits, name).at_path(path);
        found.add(&place, Complaint::invalid(&text(limit), must));
    }
}

/// A text that is as short as it gets is kept as it is written, `+3` too.
fn text(amount: &Quantity) -> String {
    amount.to_string()
}

fn check_amount(name: &ResourceName, amount: &Quantity, place: &Field<'_>, found: &mut Findings) {
    if amount.sign() == Sign::Negative {
        found.add(place, Complaint::invalid(&text(amount), "must be greater than or equal to 0"));
    }
    if is_whole(name) && !has_no_fraction(amount) {
        found.add(place, Complaint::invalid(&text(amount), "must be an integer"));
    }
    if name.is_hugepages() && !is_divisible(name, amount) {
        let text = text(amount);
        let must = format!("{text} is not positive integer multiple of {name}");
        found.add(place, Complaint::invalid(&text, must));
    }
}

/// Whether an amount of huge pages is so many whole pages, by the API server's own arithmetic of 64 bits.
fn is_divisible(name: &ResourceName, amount: &Quantity) -> bool {
    let size = name.as_str().strip_prefix("hugepages-").and_then(|size| size.parse::<Quantity>().ok());
    let size = size.filter(|size| size.sign() == Sign::Positive && has_no_fraction(size));
    size.and_then(|size| amount.value().checked_rem(size.value())) == Some(0)
}

/// By the same arithmetic.
fn has_no_fraction(amount: &Quantity) -> bool {
    amount.milli_value() % 1000 == 0
}

/// Names without a domain that an API server knows: of nodes, and of quotas.
const STANDARD: [&str; 20] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "storage",
    "requests.storage",
    "services.nodeports",
    "services.loadbalancers",
];

/// Those of them that are counted.
const COUNTED: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

/// A resource's name in the text, and the place of its amount.
struct NamePlace<'p, 'a> {
    span: Range<usize>,
    place: &'p Field<'a>,
}

impl NamePlace<'_, '_> {
    fn add(&self, complaint: Complaint, found: &mut Findings) {
        found.push(&self.span, self.place, complaint);
    }
}

fn check_name(name: &ResourceName, place: &NamePlace<'_, '_>, names: Names, found: &mut Findings) {
    let [no_type, not_for_containers] = NO_STANDARD;
    let text = name.as_str();
    let mut wrong = qualified(text);
    let bare = !text.contains('/');
    let quota_pages = text.starts_with("requests.hugepages-");
    if wrong.is_empty() && bare && !STANDARD.contains(&text) && !name.is_hugepages() && !quota_pages {
        wrong.push(no_type.into());
    }
    match names {
        Names::Pod => {
            if wrong.is_empty() && !name.is_pod_level() {
                let supported = &["cpu", "hugepages-", "memory"];
                place.add(Complaint::not_supported(text, supported), found);
            }
        }
        Names::Container if bare => {
            if !matches!(text, "cpu" | "memory" | "ephemeral-storage") && !name.is_hugepages() {
                wrong.push(not_for_containers.into());
            }
        }
        Names::Container => {
            if !is_native(name) && !is_extended(name) {
                wrong.push("doesn't follow extended resource name standard".into());
            }
        }
    }
    for must in wrong {
        place.add(Complaint::invalid(text, must), found);
    }
}

/// In Kubernetes' own domain; names without one are.
fn is_native(name: &ResourceName) -> bool {
    !name.as_str().contains('/') || name.as_str().contains("kubernetes.io/")
}

/// Whether requests may be below limits.
fn is_overcommitted(name: &ResourceName) -> bool {
    is_native(name) && !name.is_hugepages()
}

fn is_extended(name: &ResourceName) -> bool {
    let text = name.as_str();
    !is_native(name) && !text.starts_with("requests.") && qualified(&format!("requests.{text}")).is_empty()
}

/// Whether there are no parts of it.
fn is_whole(name: &ResourceName) -> bool {
    COUNTED.contains(&name.as_str()) || is_extended(name)
}
