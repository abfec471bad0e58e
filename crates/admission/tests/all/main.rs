//! Admission as its users rely on it: decisions, what would fit, repacking, resizes.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod alike;
mod claim_hints;
mod compat;
mod cut_search;
mod deferral;
mod device_file;
mod explained;
mod fixture;
mod links;
mod moves;
mod placement;
mod pod_policy;
mod repack;
mod repacking;
mod resize;
mod series;
mod what_runs;
mod whole_pods;
mod would_fit;
