//! What a pod asks for in effect, and the defaulting that an API server does before the kubelet sees a pod.

use alloc::collections::BTreeMap;
use alloc::string::ToString;

use k8s_quantity::Quantity;

use crate::{
    Container, Origin, Pod, PodLevelDefaults, PodLevelResources, PodResources, PodRules, ResourceList,
    ResourceName, Role,
};

/// Which of a container's two lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Amounts {
    /// Its requests.
    Requests,
    /// Its limits.
    Limits,
}

/// Whether a pod's overhead is added.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Overhead {
    /// It is: to requests always, to limits where there is one that is not zero.
    Added,
    /// It is not.
    LeftOut,
}

impl Container {
    /// One of the two lists.
    #[must_use]
    pub const fn amounts(&self, which: Amounts) -> &ResourceList {
        match which {
            Amounts::Requests => &self.requests,
            Amounts::Limits => &self.limits,
        }
    }

    /// Whether CPU and memory requests are set, not zero, and equal to the limits.
    #[must_use]
    pub fn is_guaranteed_equivalent(&self) -> bool {
        ["cpu", "memory"].into_iter().all(|resource| {
            let request = self.requests.get(resource).filter(|request| !request.is_zero());
            request.is_some_and(|request| self.limits.get(resource) == Some(request))
        })
    }
}

impl Pod {
    /// The pod as an API server would hand it on: quantities rounded up to thousandths, requests filled in from
    /// limits, and at pod level what [`PodRules::defaults`] says.
    #[must_use]
    pub fn with_defaults(mut self, rules: impl Into<PodRules>) -> Self {
        for container in &mut self.containers {
            for (resource, limit) in &container.limits {
                container.requests.entry(resource.clone()).or_insert_with(|| limit.clone());
            }
        }
        let PodRules { pod_level, defaults, .. } = rules.into();
        match (pod_level, defaults) {
            // Amounts are rounded last: what is filled in is the sum of what is written.
            (PodLevelResources::Count, PodLevelDefaults::Requests) => {
                self.with_pod_level(Fill::Requests).rounded()
            }
            // An API server sums what it has decoded and rounded.
            (PodLevelResources::Count, PodLevelDefaults::RequestsAndLimits)
                if self.constraints.origin != Origin::Static =>
            {
                self.rounded().with_pod_level(Fill::RequestsAndLimits)
            }
            _ => self.rounded(),
        }
    }

    /// Every quantity rounded up to thousandths, and nothing filled in: as an API server keeps a template of pods.
    #[must_use]
    pub fn rounded(mut self) -> Self {
        round_up(&mut self.overhead);
        for container in &mut self.containers {
            round_up(&mut container.requests);
            round_up(&mut container.limits);
        }
        if let Some(resources) = &mut self.resources {
            round_up(&mut resources.requests);
            round_up(&mut resources.limits);
        }
        self
    }

    fn with_pod_level(mut self, fill: Fill) -> Self {
        let Some(mut own) = self.resources.take() else { return self };
        if !own.limits.is_empty() || !own.requests.is_empty() {
            Resources { own: &mut own, pod: &self }.fill(fill);
        }
        self.resources = Some(own);
        self
    }

    /// What the containers ask for together, pod-level resources and overhead left out: the larger of all app
    /// containers and sidecars together, and the peak while init containers run.
    #[must_use]
    pub fn containers_amounts(&self, which: Amounts) -> ResourceList {
        let mut together = ResourceList::new();
        // App containers first, as in the kubelet: a sum is written in the format of its first amount.
        for container in self.containers.iter().filter(|container| container.role == Role::App) {
            add(&mut together, container.amounts(which));
        }
        let mut sidecars = ResourceList::new();
        let mut peak = ResourceList::new();
        for container in &self.containers {
            let own = container.amounts(which);
            match container.role {
                Role::App => {}
                Role::Sidecar => {
                    add(&mut together, own);
                    add(&mut sidecars, own);
                    raise(&mut peak, &sidecars);
                }
                Role::Init => {
                    let mut running = own.clone();
                    add(&mut running, &sidecars);
                    raise(&mut peak, &running);
                }
            }
        }
        raise(&mut together, &peak);
        together
    }

    /// The effective requests or limits of the pod. Pod-level amounts replace what the containers ask for.
    #[must_use]
    pub fn effective(
        &self,
        which: Amounts,
        pod_level: PodLevelResources,
        overhead: Overhead,
    ) -> ResourceList {
        let mut amounts = self.containers_amounts(which);
        if let (Some(resources), PodLevelResources::Count) = (&self.resources, pod_level) {
            let own = match which {
                Amounts::Requests => &resources.requests,
                Amounts::Limits => &resources.limits,
            };
            let supported = own.iter().filter(|(resource, _)| resource.is_pod_level());
            amounts.extend(supported.map(|(resource, amount)| (resource.clone(), amount.clone())));
        }
        if overhead == Overhead::Added {
            match which {
                Amounts::Requests => add(&mut amounts, &self.overhead),
                Amounts::Limits => {
                    for (resource, more) in &self.overhead {
                        if let Some(limit) = amounts.get_mut(resource).filter(|limit| !limit.is_zero()) {
                            *limit += more;
                        }
                    }
                }
            }
        }
        amounts
    }
}

/// What of a pod as a whole is filled in besides limits of huge pages.
#[derive(Clone, Copy)]
enum Fill {
    /// Requests, where there is a limit.
    Requests,
    RequestsAndLimits,
}

/// Resources of a pod as a whole that are filled in.
struct Resources<'a> {
    own: &'a mut PodResources,
    pod: &'a Pod,
}

impl Resources<'_> {
    fn fill(mut self, what: Fill) {
        self.limit_hugepages();
        match what {
            Fill::Requests if self.own.limits.is_empty() => {}
            Fill::Requests => self.request(),
            Fill::RequestsAndLimits => {
                self.request();
                self.limit();
            }
        }
    }

    /// What containers may use of huge pages together, where the pod itself names no amount of the size.
    fn limit_hugepages(&mut self) {
        for (resource, limit) in self.pod.containers_amounts(Amounts::Limits) {
            if resource.is_hugepages() && !self.own.requests.contains_key(&resource) {
                self.own.limits.entry(resource).or_insert(limit);
            }
        }
    }

    /// What containers ask for together, then what the pod as a whole may use.
    fn request(&mut self) {
        let PodResources { requests, limits } = &mut *self.own;
        for (resource, request) in self.pod.containers_amounts(Amounts::Requests) {
            if matches!(resource.as_str(), "cpu" | "memory") {
                requests.entry(resource).or_insert(request);
            }
        }
        for (resource, limit) in limits.iter().filter(|(resource, _)| resource.is_pod_level()) {
            requests.entry(resource.clone()).or_insert_with(|| limit.clone());
        }
    }

    /// What containers may use together of a resource that the pod requests and every container limits; at least the
    /// request.
    fn limit(&mut self) {
        let PodResources { requests, limits } = &mut *self.own;
        let together = self.pod.containers_amounts(Amounts::Limits);
        for (resource, request) in requests.iter().filter(|(resource, _)| resource.is_pod_level()) {
            let is_limited = |container: &Container| container.limits.contains_key(resource);
            if limits.contains_key(resource) || !self.pod.containers.iter().all(is_limited) {
                continue;
            }
            if let Some(limit) = together.get(resource) {
                limits.insert(resource.clone(), request.max(limit).clone());
            }
        }
    }
}

impl Pod {
    /// The pod with every amount in the form in which an API server hands it on: `1.5Gi` as `1536Mi`. Only what is
    /// read from a file by the kubelet itself (a static pod) stays as it is written.
    #[must_use]
    pub fn delivered(mut self) -> Self {
        if self.constraints.origin == Origin::Static {
            return self;
        }
        canonicalize(&mut self.overhead);
        for container in &mut self.containers {
            canonicalize(&mut container.requests);
            canonicalize(&mut container.limits);
        }
        if let Some(resources) = &mut self.resources {
            canonicalize(&mut resources.requests);
            canonicalize(&mut resources.limits);
        }
        self
    }
}

fn canonicalize(amounts: &mut BTreeMap<ResourceName, Quantity>) {
    for amount in amounts.values_mut() {
        // What has been printed can be read again.
        if let Ok(canonical) = amount.canonical().to_string().parse() {
            *amount = canonical;
        }
    }
}

fn round_up(amounts: &mut BTreeMap<ResourceName, Quantity>) {
    for amount in amounts.values_mut() {
        *amount = core::mem::take(amount).round_up_to_milli();
    }
}

fn add(sum: &mut ResourceList, more: &ResourceList) {
    if sum.is_empty() {
        sum.clone_from(more);
        return;
    }
    // Most containers name what the one before named, in the same order.
    if sum.len() == more.len() && sum.keys().eq(more.keys()) {
        sum.values_mut().zip(more.values()).for_each(|(sum, amount)| *sum += amount);
        return;
    }
    for (resource, amount) in more {
        match sum.get_mut(resource) {
            Some(sum) => *sum += amount,
            None => {
                sum.insert(resource.clone(), amount.clone());
            }
        }
    }
}

/// What is absent is not zero: a negative amount, which is refused later, stays negative.
fn raise(floor: &mut ResourceList, to: &ResourceList) {
    for (resource, amount) in to {
        let raised = match floor.get(resource) {
            Some(own) if amount <= own => continue,
            // Comparing changes the inner form, on which it hangs whether there is an integer.
            Some(own) if own.is_big() => amount.clone().into_big(),
            None | Some(_) => amount.clone(),
        };
        floor.insert(resource.clone(), raised);
    }
}
