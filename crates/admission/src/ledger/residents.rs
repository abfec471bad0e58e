//! The pods that run, and what they ask for together.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::hash::{Hash as _, Hasher};

use pod_spec::{ContainerName, Pod, PodUid, ResourceName};

use crate::ledger::layered::Layered;

/// What one pod counts for: thousandths of `cpu`, whole units of all else, by name.
pub(crate) type Requests = Arc<[(ResourceName, i64)]>;

/// All pods that run, in order of UID. Cheap to clone.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Residents {
    pods: Layered<PodUid, Resident>,
    /// The sums of all requests, so that an attempt need not add them up.
    used: Arc<BTreeMap<ResourceName, i128>>,
    arrivals: u64,
}

/// A pod that runs.
#[derive(Clone, PartialEq, Debug)]
struct Resident {
    pod: Arc<Pod>,
    requests: Requests,
    /// Counts admissions.
    arrival: u64,
}

impl Residents {
    /// The pod runs from now on; one of the same UID is replaced, and has come when that did.
    pub(crate) fn enter(&mut self, pod: Arc<Pod>, requests: Requests) {
        let known = self.pods.get(&pod.uid).map(|resident| resident.arrival);
        let arrival = known.unwrap_or(self.arrivals);
        self.arrivals += 1;
        let used = Arc::make_mut(&mut self.used);
        add(used, &requests, 1);
        let resident = Resident { pod, requests, arrival };
        if let Some(before) = self.pods.insert(resident.pod.uid.clone(), resident) {
            add(used, &before.requests, -1);
        }
    }

    pub(crate) fn remove(&mut self, pod: &PodUid) {
        if let Some(gone) = self.pods.remove(pod) {
            add(Arc::make_mut(&mut self.used), &gone.requests, -1);
        }
    }

    pub(crate) fn contains(&self, pod: &PodUid) -> bool {
        self.pods.get(pod).is_some()
    }

    pub(crate) fn get(&self, pod: &PodUid) -> Option<&Arc<Pod>> {
        self.pods.get(pod).map(|resident| &resident.pod)
    }

    pub(crate) const fn len(&self) -> usize {
        self.pods.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Pod> {
        self.iter_shared().map(AsRef::as_ref)
    }

    pub(crate) fn iter_shared(&self) -> impl Iterator<Item = &Arc<Pod>> {
        self.pods.iter().map(|(_, resident)| &resident.pod)
    }

    /// In the order in which they came.
    pub(crate) fn by_arrival(&self) -> impl Iterator<Item = &Pod> {
        let mut residents: Vec<&Resident> = self.pods.iter().map(|(_, resident)| resident).collect();
        residents.sort_by_key(|resident| resident.arrival);
        residents.into_iter().map(|resident| resident.pod.as_ref())
    }

    /// For a value that is kept: copies of it are cheap to change.
    pub(crate) fn settle(&mut self) {
        self.pods.settle();
    }

    /// What a pod asks for.
    pub(crate) fn requests(&self, pod: &PodUid) -> &[(ResourceName, i64)] {
        self.pods.get(pod).map_or(&[], |resident| &resident.requests)
    }

    /// What all pods but one ask for together of a resource.
    pub(crate) fn used_beside(&self, pod: &PodUid, resource: &ResourceName) -> i64 {
        let own = self.requests(pod).iter().find(|(of, _)| of == resource).map_or(0, |(_, own)| *own);
        let all = self.used.get(resource).copied().unwrap_or(0);
        i64::try_from(all - i128::from(own)).unwrap_or(i64::MAX)
    }

    /// The same with other values of the pods, which keep their UIDs, requests and order.
    pub(crate) fn with_pods(&self, change: impl Fn(&Pod) -> Arc<Pod>) -> Self {
        let residents = self.pods.iter().map(|(uid, resident)| {
            let Resident { pod, requests, arrival } = resident;
            let resident = Resident { pod: change(pod), requests: Arc::clone(requests), arrival: *arrival };
            (uid.clone(), resident)
        });
        Self { pods: residents.collect(), used: Arc::clone(&self.used), arrivals: self.arrivals }
    }

    /// Whether the others ask for the same together.
    pub(crate) fn has_sums_of(&self, others: &Self) -> bool {
        self.sums().eq(others.sums())
    }

    pub(crate) fn hash_sums(&self, hasher: &mut impl Hasher) {
        self.sums().for_each(|sum| sum.hash(hasher));
    }

    /// What all pods ask for together; a resource of which none asks for anything is left out.
    fn sums(&self) -> impl Iterator<Item = (&ResourceName, &i128)> {
        self.used.iter().filter(|(_, sum)| **sum != 0)
    }

    /// Whether the container is one of a pod that runs.
    pub(crate) fn runs(&self, pod: &PodUid, container: &ContainerName) -> bool {
        self.get(pod).is_some_and(|pod| pod.container(container).is_some())
    }
}

fn add(used: &mut BTreeMap<ResourceName, i128>, requests: &[(ResourceName, i64)], times: i128) {
    for (resource, amount) in requests {
        let sum = match used.get_mut(resource) {
            Some(sum) => sum,
            None => used.entry(resource.clone()).or_default(),
        };
        *sum += i128::from(*amount) * times;
    }
}
