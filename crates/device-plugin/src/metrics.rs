//! The kubelet's metrics of plugins and of the pod resources service, by its names and with its help texts.
//!
//! OpenMetrics gives every counter the end `_total`. Some of the kubelet's counters do not have it; they are
//! exported as of unknown type. `prometheus-client` adds a full stop to each help text, after the kubelet's.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use pod_spec::ResourceName;
use prometheus_client::encoding::{EncodeLabelSet, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::Registry;

/// Upper bounds of `kubelet_device_plugin_alloc_duration_seconds`.
const ALLOC_BUCKETS: [f64; 11] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// The metrics of one server. Clones count together.
#[derive(Clone, Debug)]
pub struct Metrics {
    /// How many names there are, or have been tried.
    names: Arc<AtomicU64>,
    registrations: Family<OfResource, Counter>,
    allocations: Family<OfResource, Histogram, fn() -> Histogram>,
    asked: Family<OfVersion, Counter>,
    listed: Family<OfVersion, Plain>,
    told_allocatable: Family<OfVersion, Plain>,
    told_pod: Family<OfVersion, Plain>,
    failed_list: Family<OfVersion, Plain>,
    failed_allocatable: Family<OfVersion, Plain>,
    failed_pod: Family<OfVersion, Plain>,
    found: Family<OfSocket, Gauge>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct OfResource {
    resource_name: String,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct OfVersion {
    server_api_version: &'static str,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct OfSocket {
    socket_path: String,
    state: &'static str,
}

/// The longest name of a resource.
pub(crate) const MAX_NAME: usize = 317;
/// Number of distinct names that are counted separately.
const MAX_NAMES: u64 = 4096;

/// The versions of the pod resources service that are served.
const V1: OfVersion = OfVersion { server_api_version: "v1" };
/// See [`V1`].
const V1ALPHA1: OfVersion = OfVersion { server_api_version: "v1alpha1" };

/// A method of the pod resources service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Method {
    List,
    Allocatable,
    Get,
    /// `List` of `v1alpha1`, which the kubelet counts among all requests only.
    ListV1Alpha1,
}

/// In which of the kubelet's two worlds a found socket is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum World {
    Desired,
    Actual,
}

/// A counter whose name is exported as it is.
#[derive(Clone, Debug, Default)]
struct Plain(Arc<AtomicU64>);

impl Plain {
    fn inc(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl TypedMetric for Plain {
    const TYPE: MetricType = MetricType::Unknown;
}

impl EncodeMetric for Plain {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), fmt::Error> {
        encoder.encode_gauge(&self.0.load(Ordering::Relaxed))
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            names: Arc::default(),
            registrations: Family::default(),
            allocations: Family::new_with_constructor(|| Histogram::new(ALLOC_BUCKETS)),
            asked: Family::default(),
            listed: Family::default(),
            told_allocatable: Family::default(),
            told_pod: Family::default(),
            failed_list: Family::default(),
            failed_allocatable: Family::default(),
            failed_pod: Family::default(),
            found: Family::default(),
        }
    }
}

impl Metrics {
    /// Has them exported by `registry`.
    pub fn register(&self, registry: &mut Registry) {
        // The format adds `_total` to what is a counter.
        registry.register(
            "kubelet_device_plugin_registration",
            "[ALPHA] Cumulative number of device plugin registrations. Broken down by resource name.",
            self.registrations.clone(),
        );
        registry.register(
            "kubelet_device_plugin_alloc_duration_seconds",
            "[ALPHA] Duration in seconds to serve a device plugin Allocation request. Broken down by resource name.",
            self.allocations.clone(),
        );
        registry.register(
            "kubelet_pod_resources_endpoint_requests",
            "[ALPHA] Cumulative number of requests to the PodResource endpoint. Broken down by server api version.",
            self.asked.clone(),
        );
        let plain = [
            ("requests_list", "requests to the PodResource List endpoint", &self.listed),
            (
                "requests_get_allocatable",
                "requests to the PodResource GetAllocatableResources endpoint",
                &self.told_allocatable,
            ),
            ("requests_get", "requests to the PodResource Get endpoint", &self.told_pod),
            (
                "errors_list",
                "requests to the PodResource List endpoint which returned error",
                &self.failed_list,
            ),
            (
                "errors_get_allocatable",
                "requests to the PodResource GetAllocatableResources endpoint which returned error",
                &self.failed_allocatable,
            ),
            ("errors_get", "requests to the PodResource Get endpoint which returned error", &self.failed_pod),
        ];
        for (name, what, counter) in plain {
            registry.register(
                format!("kubelet_pod_resources_endpoint_{name}"),
                format!("[ALPHA] Number of {what}. Broken down by server api version."),
                counter.clone(),
            );
        }
        registry.register(
            "plugin_manager_total_plugins",
            "[ALPHA] Number of plugins in Plugin Manager",
            self.found.clone(),
        );
    }

    /// Counts a call of `Register`, accepted or refused. Names that no resource can have are cut, and at most
    /// [`MAX_NAMES`] names are counted separately.
    pub(crate) fn count_registration(&self, resource: &str) {
        let cut = resource.chars().take(MAX_NAME).collect();
        let of = OfResource { resource_name: cut };
        if let Some(counter) = self.registrations.get(&of) {
            counter.inc();
        } else if self.names.fetch_add(1, Ordering::Relaxed) < MAX_NAMES {
            self.registrations.get_or_create(&of).inc();
        }
    }

    /// A plugin has answered `Allocate`, or failed to.
    pub(crate) fn observe_allocation(&self, resource: &ResourceName, took: Duration) {
        let of = OfResource { resource_name: resource.as_str().to_owned() };
        self.allocations.get_or_create(&of).observe(took.as_secs_f64());
    }

    pub(crate) fn count_question(&self, method: Method) {
        let version = if method == Method::ListV1Alpha1 { V1ALPHA1 } else { V1 };
        self.asked.get_or_create(&version).inc();
        let counter = match method {
            Method::ListV1Alpha1 => return,
            Method::List => &self.listed,
            Method::Allocatable => &self.told_allocatable,
            Method::Get => &self.told_pod,
        };
        counter.get_or_create(&V1).inc();
    }

    pub(crate) fn count_pod_not_found(&self) {
        self.failed_pod.get_or_create(&V1).inc();
    }

    /// A socket of a plugin that is to be found has been seen (desired), or has been registered (actual).
    pub(crate) fn found(&self, socket: &Path, world: World) {
        self.found.get_or_create(&of_socket(socket, world)).set(1);
    }

    pub(crate) fn lost(&self, socket: &Path, world: World) {
        self.found.remove(&of_socket(socket, world));
    }
}

fn of_socket(socket: &Path, world: World) -> OfSocket {
    let state = match world {
        World::Desired => "desired_state_of_world",
        World::Actual => "actual_state_of_world",
    };
    OfSocket { socket_path: socket.display().to_string(), state }
}
