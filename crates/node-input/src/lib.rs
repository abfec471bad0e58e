#![doc = include_str!("../README.md")]
//!
//! # Where things are
//!
//! - Which pods of manifests are decided on, and the decisions one after the other: `asked.rs` and `sequence.rs` of
//!   `crates/node-input`; how `admit` and `explain` write them: `crates/node-output/src/decision_writer.rs`.
//! - What a node file contains: `crates/node-input/src/packed.rs`. Where the configuration, state and pods of a live
//!   node are looked for: `this_node.rs` beside it. Which running pods are known, and what is known of each:
//!   `crates/node-input/src/residents.rs`.
#![cfg_attr(
    not(feature = "bundles"),
    expect(dead_code, reason = "diagnoses of bundles alone use some parts")
)]

mod sources;
mod node;
mod start_failure;
mod node_release;
mod other_rules;
mod fates;
mod ways_out;
mod machine;
mod armored;
mod machine_archive;
mod machine_slices;
mod machine_texts;
mod counted;
mod next_start;
mod load;
mod amount_text;
mod memory;
mod hugepages;
mod addition;
mod imagined;
mod more;
mod state_with_more;
mod view;
mod change;
mod base_choice;
mod bottlerocket;
mod bottlerocket_settings;
mod node_class;
mod configuration;
mod read_configuration;
mod counted_here;
mod k3s_folder;
mod kubelet_flags;
mod devices;
mod identity;
mod packed;
mod packed_claims;
mod claim_names;
mod published;
mod device_names;
mod gather;
mod recorder;
mod allocated;
mod this_node;
mod running_kubelet;
mod watched_kubelet;
mod found_config;
mod inside;
#[cfg(feature = "pods-api")]
mod seen;
#[cfg(feature = "pods-api")]
mod told;
#[cfg(feature = "sockets")]
mod sockets;
mod residents;
mod unknown_distances;
mod unlisted;
mod resume;
mod implied;
mod missing_memory;
mod other_machine;
mod judged;
mod sriov_policy;
mod state_beside;
mod node_status;
mod upgrade;
#[cfg(feature = "bundles")]
mod diagnosis;
mod checked_config;
mod next_restart;
mod source;
mod kubelet_version;
mod stated_release;
mod folder;
mod plugin_functions;
mod pod_names;
mod listed;
mod listed_holders;
mod listed_state;
mod links;
mod quarantine;
mod pods;
mod questions;
mod asked;
mod allocated_claims;
mod claims;
mod explained_claims;
mod slow_search;
mod claim_remedies;
mod claimed_pods;
mod claims_beside;
mod device_places;
mod object_text;
mod claim_check;
mod sequence;
mod kept_hints;
mod node_sources;
mod repacked;
mod exported;
mod remarks;
mod removed_files;
mod files;

pub use addition::{Addition, BadAddition};
pub use allocated_claims::{AllocatedClaims, claim_names};
pub use amount_text::{no_quantity, quantity};
pub use armored::armored;
pub use asked::{Asked, Listener, ManifestReading, PodlessObjects, StaticPods};
pub use base_choice::{BaseChoice, Reading};
pub use change::{changed_problems, changes};
pub use checked_config::{ConfigAdvice, ConfigSubject};
pub use claim_check::check_claims;
pub use claimed_pods::{ClaimChanges, ClaimedPod, ClaimedPods, ScheduledPod};
pub use claims::{BadFeatureGates, ClaimCount, NodeClaims, scheduler_features};
pub use claims_beside::ClaimsBeside;
pub use configuration::{PINNED, from_text as configuration_of_text};
pub use devices::DeviceText;
#[cfg(feature = "bundles")]
pub use diagnosis::{Anonymised, DiagnosisOf, NameKind, Names, Pictures, anonymised, diagnose, differences};
pub use exported::ExportedNode;
pub use fates::FateOfPod;
pub use files::{name as shown_name, read};
pub use folder::{NoState, any_state_of, must_be_folder, state_of};
pub use found_config::FoundConfig;
pub use gather::{Gathered, Given};
pub use judged::{JudgedNode, NO_CONFIGURATION};
pub use kept_hints::KeptHints;
pub use kubelet_version::{BadKubeletVersion, KubeletVersion, NamedBy};
pub use machine::{LIVE, LoadedMachine, files_of};
pub use machine_slices::MachineSlices;
pub use memory::{must_be_known as memory_must_be_known, must_be_known_by as memory_must_be_known_by};
pub use missing_memory::MissingMemory;
pub use node::{
    InputWarning, Keeping, LoadedNode, configuration_of, configuration_to_check, inventory_of, options_of,
};
pub use node_sources::{LoadedSources, NodeSources};
pub use object_text::{ObjectText, cluster_objects};
pub use other_rules::OtherRules;
pub use packed::{Contents, Gap, Packed, Packing, Running, Source};
pub use pod_names::{
    OWN, POD_LOGS, from_path as pod_names_of, of_logs as pod_names_of_logs, of_state as pod_names_of_state,
    read as pod_names,
};
pub use pods::{Wholeness, manifest_files, manifests_in};
pub use published::{
    NodeDescription, NodeHoldings, NodeState, PodShapes, PublishedPod, PublishedRefusal, StartedNode,
};
pub use quarantine::{parse_quarantine, quarantine_in, still_quarantined};
pub use questions::Questions;
pub use read_configuration::ReadConfiguration;
pub use recorder::NodeRecorder;
pub use repacked::{RepackLimits, Repacked};
pub use residents::{Known, Residents};
pub use resume::{Requests, ledger};
#[cfg(feature = "pods-api")]
pub use seen::{SeenNode, was_admitted};
pub use sequence::Sequence;
pub use slow_search::{SlowSearch, TimedOut};
pub use source::{Resident, of_node};
pub use sources::{ADVICE, IdentitySource, MachineSource, OptionsSource, ResidentsSource, RulesSource};
pub use start_failure::{ConfigurationRefused, StartFailed};
#[cfg(feature = "pods-api")]
pub use told::{told_object, told_pod, told_text};
pub use upgrade::{BeforeUpgrade, ReleaseConfigurations, UpgradeSource, UpgradeWay};
pub use watched_kubelet::NextStartFails;
