//! Reads what people and tools write about pods and nodes: pod manifests, kubelet configurations, device
//! inventories and scenarios of simulations, in YAML or JSON.
//!
//! Text becomes values, or one [`ManifestError`] that says what is wrong, on which line, and what was expected.
//! Nothing that comes in makes it panic. A megabyte is the most that it reads, of lists of a cluster 64.
//!
//! It opens no files and knows no machine: it is handed text with a name, and hands out values. Whether a pod fits,
//! whether a configuration is valid and which devices a selector means is decided elsewhere.

mod source;
mod problem;
mod error;
mod bytes;
mod warning;
mod template;
mod yaml;
mod node;
mod quantity;
mod names;
mod pods;
mod claims;
mod dra;
mod constraints;
mod api;
mod workload;
mod operators;
mod refusal;
mod manifests;
mod accepted;
mod merge;
mod kubelet_arguments;
mod forbidden_fields;
mod config_forms;
mod cloud_config;
mod kubelet;
mod kubelet_decoder;
mod drop_ins;
mod k3s_files;
mod profile_refusals;
mod performance_profile;
mod kubelet_fields;
mod patch;
mod own;
mod node_object;
mod pod_event;
mod devices;
mod pci_selector;
mod pod_resources;
mod function_pool;
mod scenario;
mod input_schemas;
mod json_documents;

pub use accepted::{AcceptedPods, NotAccepted, read_accepted_pods};
pub use api::{Complaint, WrongName, check_driver_name, check_node_name};
pub use claims::ClaimObjects;
pub use config_forms::{
    ConfigKind, ImageFamily, NodeClass, ObjectChoice, StatedRelease, form_fields, stated_releases,
};
pub use devices::{
    CardFunctions, DeviceEntry, DeviceHealth, DeviceSource, ListedDevice, MigStrategy, read_devices,
};
pub use dra::{
    CheckedObjects, ObjectFindings, ResourceObject, ResourceObjects, check_resource_objects,
    read_resource_object, read_resource_objects,
};
pub use drop_ins::read_kubelet_drop_ins;
pub use error::{ManifestError, Style};
pub use function_pool::{FunctionFacts, FunctionPart, FunctionPool, NotJudged, ReportedNodes};
pub use input_schemas::INPUT_SCHEMAS;
pub use json_documents::{JsonDocuments, json_documents};
pub use k3s_files::read_k3s_files;
pub use kubelet::{KubeletConfigRead, MachinePool, NodeSizing, read_kubelet_config, read_kubelet_config_of};
pub use kubelet_arguments::{
    ArgumentsOf, KubeletArgument, KubeletArguments, is_bootstrap_script, is_kubelet_arguments,
    read_bootstrap_script, read_kubelet_arguments,
};
pub use kubelet_fields::is_kubelet_field;
pub use kubernetes_yaml::plain_json;
pub use manifests::{
    Failure, Manifests, Owner, PodLimit, Remark, Skipped, UnknownFields, read_manifests, read_manifests_up_to,
};
pub use node_object::{NodeObject, read_node};
pub use own::read_own_options;
pub use patch::{FieldChange, PatchError, patch_kubelet_config, patch_object, respelt};
pub use pci_selector::{PciClass, PciSelector};
pub use performance_profile::{Profile, ProfilePages, SNIPPET as PROFILE_ANNOTATION};
pub use pod_event::PodEvent;
pub use pod_resources::{
    DeviceGroup, MemoryGroup, NodeHoldings, PodHoldings, PodResourcesRead, read_pod_resources,
};
pub use pods::{read_pods, read_pods_with};
pub use problem::Problem;
pub use profile_refusals::ProfileRefusal;
pub use refusal::Refusal;
pub use scenario::{
    Scenario, ScenarioArrivals, ScenarioClaims, ScenarioConfiguration, ScenarioCpuDevices, ScenarioMachine,
    ScenarioOptions, ScenarioPlace, ScenarioPod, ScenarioRepack, ScenarioRetry, SchedulerName, Spans,
    TracedPod, read_scenario,
};
pub use source::{MAX_BYTES, MAX_LIST_BYTES, Source};
pub use warning::Warning;

/// The examples of the README are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
