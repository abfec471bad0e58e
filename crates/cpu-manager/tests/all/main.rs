//! The static policy on machines and pods of one line each.

mod machines;
mod pods;
mod take;
mod distribute;
mod policy;
mod whole_pods;
mod cache_alignment;
mod keep_whole;
mod reconcile;
mod resize;
