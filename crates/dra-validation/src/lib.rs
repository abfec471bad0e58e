//! What an API server of Kubernetes v1.37.2 says of a new object: its rules and texts, hand-written and declarative ones
//! together.
//!
//! Kubernetes moves rules from code to declarations on types. Where both have a rule, the declared one counts and has the
//! text. The two differ in more than texts: a request with both forms is not looked at further by hand-written rules, but
//! by declared ones. So each object is checked twice here, by functions in pairs: `by_hand` has the rules that no
//! declaration covers, `declared` those that one does.
//!
//! Fields whose gate is off are dropped before (`dropped`). `metadata.ownerReferences`, `finalizers`, `managedFields`
//! and `generation` are no part of these values, so they are not validated.
//!
//! This crate does not know YAML, JSON, objects that are there already, or which devices are allocated.
//!
//! # Where things are
//!
//! - How a selector is evaluated: `crates/dra-cel/src/lib.rs`. What the API server refuses of a claim or a slice:
//!   `crates/dra-validation/src/lib.rs`.
#![no_std]

extern crate alloc;

mod limits;
mod path;
mod json;
mod errors;
mod names;
mod expressions;
mod metadata;
mod node_selector;
mod taint;
mod attributes;
mod policy;
mod device;
mod slice;
mod config;
mod request;
mod namespace;
mod claim;
mod class;
mod dropped;

pub use self::dropped::{drop_disabled_claim_fields, drop_disabled_class_fields, drop_disabled_slice_fields};
pub use self::errors::{FieldError, FieldErrorKind};
pub use self::namespace::AdminNamespace;

use alloc::string::String;
use alloc::vec::Vec;

use self::errors::Faults;
use self::expressions::Expressions;
use self::path::Path;
use dra_model::{
    DeviceClass, DeviceTaintRule, Features, ResourceClaim, ResourceClaimTemplate, ResourceSlice,
};

/// An API server that validates new objects.
#[derive(Clone, Copy)]
pub struct ApiServer {
    /// Its feature gates.
    pub features: Features,
}

impl ApiServer {
    /// What is wrong with a slice, sorted by field; nothing if it is accepted.
    #[must_use]
    pub fn slice(&self, slice: &ResourceSlice) -> Vec<FieldError> {
        let slice = drop_disabled_slice_fields(slice, self.features);
        let mut faults = Faults::default();
        metadata::by_hand(&slice.metadata, metadata::Scope::Cluster, &mut faults);
        slice::by_hand(&slice, self.features, &mut faults);
        slice::declared(&slice, &mut faults);
        faults.sorted()
    }

    /// The same of a claim, which is created without a status.
    #[must_use]
    pub fn claim(&self, claim: &ResourceClaim, namespace: AdminNamespace) -> Vec<FieldError> {
        let spec = drop_disabled_claim_fields(&claim.spec, self.features);
        let mut faults = Faults::default();
        claim::admin_access(&spec, namespace, &mut faults);
        metadata::by_hand(&claim.metadata, metadata::Scope::Namespace, &mut faults);
        let at = Path::new("spec").child("devices");
        claim::by_hand(&spec, &at, self.expressions(), self.features, &mut faults);
        claim::declared(&spec, &at, &mut faults);
        faults.sorted()
    }

    /// The same of a template of claims.
    #[must_use]
    pub fn template(&self, template: &ResourceClaimTemplate, namespace: AdminNamespace) -> Vec<FieldError> {
        let spec = drop_disabled_claim_fields(&template.spec, self.features);
        let mut faults = Faults::default();
        claim::admin_access(&spec, namespace, &mut faults);
        metadata::by_hand(&template.metadata, metadata::Scope::Namespace, &mut faults);
        metadata::of_template(&template.claim_metadata, &Path::new("spec").child("metadata"), &mut faults);
        let at = Path::new("spec").child("spec").child("devices");
        claim::by_hand(&spec, &at, self.expressions(), self.features, &mut faults);
        claim::declared(&spec, &at, &mut faults);
        faults.sorted()
    }

    /// The same of a class.
    #[must_use]
    pub fn class(&self, class: &DeviceClass) -> Vec<FieldError> {
        let class = drop_disabled_class_fields(class, self.features);
        let mut faults = Faults::default();
        metadata::of_class(&class.metadata, &mut faults);
        class::by_hand(&class, self.expressions(), &mut faults);
        class::declared(&class, &mut faults);
        faults.sorted()
    }

    /// The same of a rule for taints.
    #[must_use]
    pub fn taint_rule(&self, rule: &DeviceTaintRule) -> Vec<FieldError> {
        let mut faults = Faults::default();
        metadata::by_hand(&rule.metadata, metadata::Scope::Cluster, &mut faults);
        taint::rule_by_hand(rule, &mut faults);
        taint::declared(&rule.taint, &Path::new("spec").child("taint"), &mut faults);
        faults.sorted()
    }

    const fn expressions(self) -> Expressions {
        Expressions { features: self.features }
    }
}

/// Warnings that go with a slice that is accepted.
#[must_use]
pub fn slice_warnings(slice: &ResourceSlice) -> Vec<String> {
    let driver = &slice.driver;
    let has_capitals = driver.chars().any(|c| c.to_lowercase().ne([c]));
    let text = || {
        alloc::format!(
            "spec.driver: driver names should be lowercase; {} contains uppercase characters",
            cpuset::go_quote(driver)
        )
    };
    has_capitals.then(text).into_iter().collect()
}

/// The examples of the README are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
