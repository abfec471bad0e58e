//! A pod, as a kubelet tells it.

use prost::Message as _;
use thiserror::Error;

use crate::proto::core;

/// What a kubelet tells of a pod: the fields that decide on its admission, its names and its status. Others are left
/// out.
#[derive(Clone, PartialEq, Debug)]
pub struct KubeletPod(core::Pod);

/// What the kubelet puts before the message of a pod that it does not admit.
const REJECTED: &str = "Pod was rejected: ";

/// Bytes or text that are no pod.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NotAPod {
    /// They are no protobuf message of a pod.
    #[error("the kubelet's answer holds no pod: {0}")]
    Bytes(#[from] prost::DecodeError),
    /// It is no JSON document of a pod.
    #[error("no pod: {0}")]
    Text(#[from] serde_json::Error),
    /// A pod without a UID, by which pods are distinguished.
    #[error("the kubelet's answer holds a pod without a UID")]
    WithoutUid,
}

impl KubeletPod {
    /// From a `core/v1` pod in its protobuf form, without the envelope of stored objects.
    ///
    /// # Errors
    /// The bytes are no pod, or it has no UID.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, NotAPod> {
        Self::with_uid(core::Pod::decode(bytes)?)
    }

    /// From a pod in JSON, as an API server writes it.
    ///
    /// # Errors
    /// The text is no pod, or it has no UID.
    pub fn from_json(text: &str) -> Result<Self, NotAPod> {
        Self::with_uid(serde_json::from_str(text)?)
    }

    fn with_uid(pod: core::Pod) -> Result<Self, NotAPod> {
        let pod = Self(pod);
        if pod.uid().is_empty() { Err(NotAPod::WithoutUid) } else { Ok(pod) }
    }

    /// The pod in its protobuf form.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.encode_to_vec()
    }

    /// The pod in JSON with `apiVersion` and `kind`, as readers of manifests take it. With `status` as the kubelet has
    /// it: a pod that it refused is of phase `Failed` there.
    ///
    /// # Errors
    /// None that a pod is known to lead to.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        let core::Pod { metadata, spec, status } = &self.0;
        serde_json::to_string(&Document { api_version: "v1", kind: "Pod", metadata, spec, status })
    }

    /// By which the kubelet's state files know it.
    #[must_use]
    pub fn uid(&self) -> &str {
        self.metadata(|metadata| metadata.uid.as_deref())
    }

    /// Its name in its namespace.
    #[must_use]
    pub fn name(&self) -> &str {
        self.metadata(|metadata| metadata.name.as_deref())
    }

    /// Its namespace.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.metadata(|metadata| metadata.namespace.as_deref())
    }

    /// `Pending`, `Running`, `Succeeded`, `Failed`; empty where the kubelet has none yet.
    #[must_use]
    pub fn phase(&self) -> &str {
        self.status(|status| status.phase.as_deref())
    }

    /// Why it is in its phase, as one word; empty where there is none.
    #[must_use]
    pub fn reason(&self) -> &str {
        self.status(|status| status.reason.as_deref())
    }

    /// The same for people.
    #[must_use]
    pub fn message(&self) -> &str {
        self.status(|status| status.message.as_deref())
    }

    /// Why the kubelet did not admit it, without what it puts before each such message; `None`: it has not refused it.
    #[must_use]
    pub fn rejection(&self) -> Option<&str> {
        self.message().strip_prefix(REJECTED).filter(|_| self.phase() == "Failed")
    }

    /// The names of containers, init containers too, with the ids under which the runtime runs them or ran them last, as
    /// `containerd://0aa1`.
    pub fn containers(&self) -> impl Iterator<Item = (&str, &str)> {
        let status = self.0.status.iter();
        let all =
            status.flat_map(|status| status.init_container_statuses.iter().chain(&status.container_statuses));
        all.filter_map(|container| {
            let id = container.container_id.as_deref().filter(|id| !id.is_empty())?;
            Some((container.name.as_deref()?, id))
        })
    }

    /// Whether the kubelet has written how each container is, as it does once it has admitted the pod.
    #[must_use]
    pub fn has_container_statuses(&self) -> bool {
        self.0.status.as_ref().is_some_and(|status| {
            !status.container_statuses.is_empty() || !status.init_container_statuses.is_empty()
        })
    }

    /// Without its status: the pod as the kubelet was asked to run it.
    #[must_use]
    pub fn without_status(self) -> Self {
        Self(core::Pod { status: None, ..self.0 })
    }

    /// The pod as the kubelet was asked to run it, with the names of the `ResourceClaim`s that were made for it.
    #[must_use]
    pub fn as_asked(self) -> Self {
        let claims = self.0.status.map(|status| core::PodStatus {
            resource_claim_statuses: status.resource_claim_statuses,
            ..core::PodStatus::default()
        });
        let status = claims.filter(|status| !status.resource_claim_statuses.is_empty());
        Self(core::Pod { status, ..self.0 })
    }

    fn metadata(&self, field: impl Fn(&core::ObjectMeta) -> Option<&str>) -> &str {
        self.0.metadata.as_ref().and_then(field).unwrap_or_default()
    }

    fn status(&self, field: impl Fn(&core::PodStatus) -> Option<&str>) -> &str {
        self.0.status.as_ref().and_then(field).unwrap_or_default()
    }
}

#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    api_version: &'a str,
    kind: &'a str,
    metadata: &'a Option<core::ObjectMeta>,
    spec: &'a Option<core::PodSpec>,
    status: &'a Option<core::PodStatus>,
}
