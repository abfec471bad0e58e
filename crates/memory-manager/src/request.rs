//! What a container or pod asks for, and why if nothing is booked for it.

use kubelet_release::EmptyMemoryRequest;
use pod_spec::{Container, Pod, PodResources, QosClass, ResourceList, ResourceName, Role, Unit};
use smallvec::SmallVec;
use thiserror::Error;

use crate::reservation::is_memory;
use crate::{PodLevel, Static};

/// Bytes by resource, in order of name; each resource once.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Request(SmallVec<[Item; 4]>);

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Item {
    pub(crate) resource: ResourceName,
    /// The resource's position in the policy; `None` if no node has it.
    pub(crate) at: Option<usize>,
    pub(crate) bytes: u64,
}

/// Why nothing is booked for a container or pod.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum NotPinned {
    /// The pod's QoS class is not Guaranteed.
    NotGuaranteed,
    /// The pod has resources at pod level, which keep its containers from being pinned as configured.
    PodLevel,
    /// The container asks for neither memory nor huge pages, and the release leaves such containers alone.
    NothingAsked,
}

/// An amount that is no 64-bit integer in the form in which it is written. The text is the kubelet's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("[memorymanager] failed to represent quantity as int64")]
pub struct NotInt64;

/// Why there is no request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestError {
    /// Nothing is to be booked.
    NotPinned(NotPinned),
    /// An amount cannot be read.
    NotInt64(NotInt64),
}

impl Request {
    /// Bytes by resource.
    pub fn iter(&self) -> impl Iterator<Item = (&ResourceName, u64)> {
        self.0.iter().map(|item| (&item.resource, item.bytes))
    }

    /// How many resources are asked for; an amount of zero counts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no resource is asked for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The bytes of one resource; `None` if it is not asked for.
    #[must_use]
    pub fn bytes(&self, resource: &str) -> Option<u64> {
        self.0.iter().find(|item| item.resource.as_str() == resource).map(|item| item.bytes)
    }

    pub(crate) fn items(&self) -> &[Item] {
        &self.0
    }

    /// The bytes of one resource, 0 if it is not there yet.
    fn entry(&mut self, like: &Item) -> &mut u64 {
        let at = match self.0.binary_search_by(|item| item.resource.cmp(&like.resource)) {
            Ok(at) => at,
            Err(at) => {
                self.0.insert(at, Item { bytes: 0, ..like.clone() });
                at
            }
        };
        &mut self.0[at].bytes
    }

    /// Adds `other`, wrapping around as the kubelet does.
    pub(crate) fn add(&mut self, other: &Self) {
        for item in &other.0 {
            let own = self.entry(item);
            *own = own.wrapping_add(item.bytes);
        }
    }

    /// Subtracts `other`, wrapping around as the kubelet does.
    pub(crate) fn subtract(&mut self, other: &Self) {
        for item in &other.0 {
            let own = self.entry(item);
            *own = own.wrapping_sub(item.bytes);
        }
    }

    /// The request without amounts of zero.
    pub(crate) fn without_zeros(mut self) -> Self {
        self.0.retain(|item| item.bytes != 0);
        self
    }
}

impl Static {
    /// What `unit` asks for, or why nothing is booked for it.
    pub fn asked(&self, unit: Unit<'_>) -> Result<Request, RequestError> {
        let pod = unit.pod();
        self.pinned(pod).map_err(RequestError::NotPinned)?;
        let request = match unit {
            Unit::Container(pod, container) => {
                let request = self.container_request(pod, container);
                let is_empty = request.as_ref().is_ok_and(Request::is_empty);
                if is_empty && self.empty_request == EmptyMemoryRequest::LeftAlone {
                    return Err(RequestError::NotPinned(NotPinned::NothingAsked));
                }
                request
            }
            Unit::Pod(pod) => self.pod_request(pod),
        };
        request.map_err(RequestError::NotInt64)
    }

    /// Whether the pod is booked as a whole under pod scope.
    #[must_use]
    pub fn books_whole(&self, pod: &Pod) -> bool {
        self.pod_level == PodLevel::Managed && pod.has_pod_level_resources()
    }

    /// Whether the container has memory that it shares with no other container of its pod. Its amount is in
    /// [`Holdings`](crate::Holdings).
    #[must_use]
    pub fn is_own(&self, pod: &Pod, container: &Container) -> bool {
        !self.books_whole(pod) || container.is_guaranteed_equivalent()
    }

    pub(crate) fn pinned(&self, pod: &Pod) -> Result<(), NotPinned> {
        let class = pod.qos_class(self.pod_level.counts());
        if class != QosClass::Guaranteed {
            return Err(NotPinned::NotGuaranteed);
        }
        if self.pod_level.is_read(pod) && self.pod_level != PodLevel::Managed {
            return Err(NotPinned::PodLevel);
        }
        Ok(())
    }

    /// The container's own request; nothing if it lives in the shared pool of its pod.
    pub(crate) fn container_request(&self, pod: &Pod, container: &Container) -> Result<Request, NotInt64> {
        if !self.is_own(pod, container) {
            return Ok(Request::default());
        }
        self.read(&container.requests)
    }

    /// What is booked for the pod at once: the most that its containers need at one time. Resources that no app
    /// container asks for are left out, as in the kubelet, even if an init container does.
    fn pod_request(&self, pod: &Pod) -> Result<Request, NotInt64> {
        if let (true, Some(PodResources { requests, .. })) = (self.books_whole(pod), &pod.resources) {
            let mut request = self.read(requests)?;
            request.0.retain(|item| item.bytes.cast_signed() > 0);
            return Ok(request);
        }
        let (mut apps, mut staying, mut peak) = (Request::default(), Request::default(), Request::default());
        for container in &pod.containers {
            let own = self.container_request(pod, container)?;
            match container.role {
                Role::App => apps.add(&own),
                Role::Sidecar => staying.add(&own),
                Role::Init => {
                    for item in &own.0 {
                        let running = staying.entry(item).wrapping_add(item.bytes);
                        let peak = peak.entry(item);
                        *peak = running.max(*peak);
                    }
                }
            }
        }
        for item in &mut apps.0 {
            let together = item.bytes.wrapping_add(staying.bytes(item.resource.as_str()).unwrap_or(0));
            item.bytes = together.max(peak.bytes(item.resource.as_str()).unwrap_or(0));
        }
        Ok(apps)
    }

    fn read(&self, amounts: &ResourceList) -> Result<Request, NotInt64> {
        let mut request = Request::default();
        for (resource, amount) in amounts.iter().filter(|(resource, _)| is_memory(resource)) {
            request.0.push(Item {
                resource: resource.clone(),
                at: self.position(resource.as_str()),
                bytes: amount.as_int64().ok_or(NotInt64)?.cast_unsigned(),
            });
        }
        Ok(request)
    }
}
