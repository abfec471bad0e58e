#![doc = include_str!("../README.md")]

mod document;
pub mod http;
#[cfg(feature = "schema")]
pub mod schema;
mod node_line;
mod judged_by;
mod cells;
mod alike;
mod pod_group;
mod tally;
mod comparison;
mod rows;
mod explained_claims;
mod decision;
mod diagnosis;
mod diagnosis_text;
mod decisions;
mod explanation;
mod moves;
mod resize;
mod legend;
mod decision_writer;
mod decision_picture;
mod held;
mod pod_shares;
mod state;
mod state_repair;
mod state_repair_text;
mod condition;
mod status;
mod claim_check;
mod config_check;
mod config_check_text;
mod profile_advice;
mod upgrade_check;
mod outlook;
mod pod_outlook;
mod pending;
mod machine_view;
mod topology;
mod quotes;
mod ranges;

pub use cells::{claimed, joined};
pub use claim_check::{CheckedClaims, ClaimCheck};
pub use comparison::{Compared, Comparison};
pub use condition::NodeCondition;
pub use config_check::{ConfigCheck, ConfigFinding, GivenConfig};
pub use config_check_text::config_check;
pub use decision::decision;
pub use decision_picture::{NodeBefore, decision_picture, free_cpus};
pub use decision_writer::{DecisionDepth, DecisionParts, DecisionWriter, Preamble};
pub use decisions::{DecisionSummary, Decisions, Explanations};
pub use diagnosis::{
    ConfigDiagnosis, DiagnosedPath, Diagnosis, FailedStart, FoundPart, MissingPart, NamedRelease,
    NodeDiagnosis, RefusedPod, SightedBy, Sighting, StateDiagnosis,
};
pub use diagnosis_text::{RefusalDepth, diagnosis};
pub use document::{Document, Format, JsonList, WriteError};
pub use explanation::explanation;
pub use held::{ContainerLine, DevicesHeld, FileLine, Held, MemoryHeld, Shown, shown};
pub use judged_by::{BareNode, JudgedBy};
pub use legend::legend;
pub use machine_view::{MachineView, Machines};
pub use moves::{AppliedMoves, Manner, MovedPod, RepackPlans, moves};
pub use node_line::NodeLine;
pub use outlook::{BoundLine, NodeOutlook, PolicyLine, PublishedCell, PublishedRoom, WholeLine};
pub use pending::PendingPod;
pub use pod_group::{PodGroup, PodGroups, Workload, workload};
pub use pod_outlook::{KubeletWord, PodOutlook, ResourceOutlook, UnitOutlook};
pub use pod_shares::shares;
pub use profile_advice::{profile_fields, profile_findings, profile_others};
pub use quotes::{
    QuotedError, in_one_line, is_quoted, locale_glyphs, manifest_error, manifest_style, next_step,
    quoted_error,
};
pub use ranges::ranges;
pub use resize::{Resize, resize};
pub use state::{StateCheck, checked, holders, shown as shown_text};
pub use state_repair::{RepairProgress, RepairedFile, StateRepair};
pub use state_repair_text::repairs;
pub use status::{NodeStatus, NotRunning, NumaNodes, PodStatus, Usage};
pub use tally::{Tally, is_not_pinned};
pub use topology::{frame, topology};
pub use upgrade_check::UpgradeCheck;

/// The kubelet release whose answers these are.
pub const RELEASE: &str = "v1.36.3";
