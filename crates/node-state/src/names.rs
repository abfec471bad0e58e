//! The pods of a node, which the kubelet's files know by UID only: what they are called and what they request.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pod_spec::{Pod, PodUid};

/// The pods of a node, as far as they are known.
#[derive(Clone, Debug, Default)]
pub struct PodNames {
    /// Every pod, as `NAMESPACE/NAME`.
    all: Option<BTreeMap<PodUid, String>>,
    /// Pods whose names are known besides, where not all are, or that have ended.
    some: BTreeMap<PodUid, String>,
    /// The manifests of running pods, as far as they are known.
    specs: BTreeMap<PodUid, Arc<Pod>>,
    /// Pods that hold nothing, whatever else is known.
    gone: BTreeSet<PodUid>,
}

impl PodNames {
    /// These pods and no others, as `NAMESPACE/NAME`.
    #[must_use]
    pub fn of(pods: impl IntoIterator<Item = (PodUid, String)>) -> Self {
        Self { all: Some(pods.into_iter().collect()), ..Self::default() }
    }

    /// These pods and no others, with what they request.
    #[must_use]
    pub fn running(pods: impl IntoIterator<Item = Arc<Pod>>) -> Self {
        let specs: BTreeMap<PodUid, Arc<Pod>> = pods.into_iter().map(|pod| (pod.uid.clone(), pod)).collect();
        let names: Vec<_> = specs.iter().map(|(uid, pod)| (uid.clone(), name(pod))).collect();
        Self { specs, ..Self::of(names) }
    }

    /// With the names of pods that have ended, and hold nothing.
    #[must_use]
    pub fn with_ended<'p>(self, ended: impl IntoIterator<Item = &'p Pod>) -> Self {
        let some: BTreeMap<PodUid, String> =
            ended.into_iter().map(|pod| (pod.uid.clone(), name(pod))).collect();
        let gone = some.keys().cloned().collect();
        Self { some, gone, ..self }
    }

    /// With pods that are not there any more.
    #[must_use]
    pub fn with_gone(mut self, gone: impl IntoIterator<Item = PodUid>) -> Self {
        self.gone.extend(gone);
        self
    }

    /// The same, but others may run too.
    #[must_use]
    pub fn with_unknown(mut self) -> Self {
        self.some.extend(self.all.take().unwrap_or_default());
        self
    }

    /// With names of pods that have none.
    #[must_use]
    pub fn with_names(mut self, more: BTreeMap<PodUid, String>) -> Self {
        for (uid, name) in more {
            if !self.is_named(&uid) {
                self.some.insert(uid, name);
            }
        }
        self
    }

    /// Whether it is known what the pod is called.
    #[must_use]
    pub fn is_named(&self, uid: &PodUid) -> bool {
        self.all.as_ref().is_some_and(|all| all.contains_key(uid)) || self.some.contains_key(uid)
    }

    /// The pods, if they are known.
    #[must_use]
    pub const fn known(&self) -> Option<&BTreeMap<PodUid, String>> {
        self.all.as_ref()
    }

    /// The manifests of running pods, as far as they are known.
    #[must_use]
    pub const fn specs(&self) -> &BTreeMap<PodUid, Arc<Pod>> {
        &self.specs
    }

    /// Whether the manifest of every pod that runs is known.
    #[must_use]
    pub fn knows_requests(&self) -> bool {
        self.all.as_ref().is_some_and(|all| all.len() == self.specs.len())
    }

    /// `NAMESPACE/NAME`, or the UID of a pod that is not known.
    #[must_use]
    pub fn name(&self, uid: &PodUid) -> String {
        let known = self.all.as_ref().and_then(|all| all.get(uid)).or_else(|| self.some.get(uid));
        known.cloned().unwrap_or_else(|| uid.to_string())
    }

    /// Whether the pod is known to hold nothing: all that run are known, and it is none of them; or it has ended.
    #[must_use]
    pub fn is_gone(&self, uid: &PodUid) -> bool {
        self.gone.contains(uid) || self.all.as_ref().is_some_and(|known| !known.contains_key(uid))
    }
}

/// `NAMESPACE/NAME`.
fn name(pod: &Pod) -> String {
    format!("{}/{}", pod.namespace, pod.name)
}
