//! What a pod asks for in effect, and the defaulting that an API server does before the kubelet sees a pod.

use alloc::collections::BTreeMap;
use alloc::string::ToString;

use k8s_quantity::Quantity;

use crate::{Container, Origin, Pod, PodLevelResources, ResourceList, ResourceName, Role};

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
    /// limits, and pod-level requests from what the containers ask for and from pod-level limits.
    #[must_use]
    pub fn with_defaults(mut self, pod_level: PodLevelResources) -> Self {
        for container in &mut self.containers {
            for (resource, limit) in &container.limits {
                container.requests.entry(resource.clone()).or_insert_with(|| limit.clone());
            }
        }
        // Amounts are rounded last: what is filled in is the sum of what is written.
        self.with_pod_level_defaults(pod_level).rounded()
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

    fn with_pod_level_defaults(mut self, pod_level: PodLevelResources) -> Self {
        let Some(mut resources) = self.resources.take() else { return self };
        if pod_level == PodLevelResources::Count {
            if !resources.limits.is_empty() || !resources.requests.is_empty() {
                for (resource, limit) in self.containers_amounts(Amounts::Limits) {
                    if resource.is_hugepages() && !resources.requests.contains_key(&resource) {
                        resources.limits.entry(resource).or_insert(limit);
                    }
                }
            }
            if !resources.limits.is_empty() {
                for (resource, request) in self.containers_amounts(Amounts::Requests) {
                    if matches!(resource.as_str(), "cpu" | "memory") {
                        resources.requests.entry(resource).or_insert(request);
                    }
                }
                for (resource, limit) in
                    resources.limits.iter().filter(|(resource, _)| resource.is_pod_level())
                {
                    resources.requests.entry(resource.clone()).or_insert_with(|| limit.clone());
                }
            }
        }
        self.resources = Some(resources);
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
