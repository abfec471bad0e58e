//! Checks one object after the other.

use alloc::vec::Vec;

use dra_model::{
    DeviceClass, DeviceTaintRule, Features, ResourceClaim, ResourceClaimSpec, ResourceClaimTemplate,
    ResourceSlice,
};
use dra_validation::{AdminNamespace, ApiServer, FieldError, slice_warnings};
use pod_claims::ClusterObjects;

use crate::devices::Devices;
use crate::findings::{Findings, Warning};
use crate::search::Search;

/// Checks objects beside all others of their cluster.
pub struct ClaimAdvice<'a> {
    pub(crate) objects: &'a ClusterObjects,
    pub(crate) features: Features,
    pub(crate) devices: Devices<'a>,
    search: Search<'a>,
}

impl<'a> ClaimAdvice<'a> {
    /// Checks beside these objects, in a cluster with these feature gates.
    #[must_use]
    pub fn new(objects: &'a ClusterObjects, features: Features) -> Self {
        let devices = Devices::of(objects);
        Self { objects, features, devices, search: Search::on(objects, features) }
    }

    /// Checks a slice.
    pub fn slice(&mut self, slice: &ResourceSlice) -> Findings {
        Self::found(self.server().slice(slice), || {
            let of_server = slice_warnings(slice).into_iter();
            // The API server's warnings begin with their field.
            let of_server = of_server.map(|text| match text.split_once(": ") {
                Some((field, text)) => Warning::new(field, text),
                None => Warning::new("spec", text),
            });
            of_server.chain(crate::pools::warnings(self.objects, slice, self.features)).collect()
        })
    }

    /// Checks a class.
    pub fn class(&mut self, class: &DeviceClass) -> Findings {
        Self::found(self.server().class(class), || {
            let mut warnings = Vec::new();
            self.unpublished(&class.selectors, "spec.selectors", &mut warnings);
            self.selects_nothing(&[&class.selectors], "spec.selectors", &mut warnings);
            warnings
        })
    }

    /// Checks a claim, with its allocation if it has one.
    pub fn claim(&mut self, claim: &ResourceClaim) -> Findings {
        let errors = self.server().claim(claim, AdminNamespace::Labelled);
        if !errors.is_empty() {
            return Findings { errors, ..Findings::default() };
        }
        let mut warnings = self.spec(&claim.spec, "spec.devices");
        let results = claim.status.allocation.iter().flat_map(|allocation| &allocation.results);
        warnings.extend(results.enumerate().filter(|(_, result)| !self.devices.has(&result.device)).map(
            |(at, result)| {
                let field = alloc::format!("status.allocation.devices.results[{at}].device");
                let text = alloc::format!(
                    "no slice lists device {}: kube-scheduler takes the claim as allocated, and the device's driver cannot \
                     prepare it",
                    result.device
                );
                Warning::new(field, text)
            },
        ));
        if claim.status.allocation.is_none() {
            warnings.extend(self.search.timeout_warning(&claim.metadata, &claim.spec, "spec.devices"));
        }
        Findings { errors, warnings }
    }

    /// Checks a template of claims.
    pub fn template(&mut self, template: &ResourceClaimTemplate) -> Findings {
        let errors = self.server().template(template, AdminNamespace::Labelled);
        if !errors.is_empty() {
            return Findings { errors, ..Findings::default() };
        }
        let mut warnings = self.spec(&template.spec, "spec.spec.devices");
        warnings.extend(self.search.timeout_warning(&template.metadata, &template.spec, "spec.spec.devices"));
        Findings { errors, warnings }
    }

    /// Checks a `DeviceTaintRule`.
    pub fn taint_rule(&mut self, rule: &DeviceTaintRule) -> Findings {
        Self::found(self.server().taint_rule(rule), || {
            let selects = self.devices.is_empty() || self.devices.ids().any(|id| rule.selects(&id));
            let nothing = (!selects).then(|| {
                Warning::new(
                    "spec.deviceSelector",
                    "no device that a slice lists is selected: nothing is tainted",
                )
            });
            nothing.into_iter().collect()
        })
    }

    fn server(&self) -> ApiServer {
        ApiServer { features: self.features }
    }

    fn found(errors: Vec<FieldError>, warnings: impl FnOnce() -> Vec<Warning>) -> Findings {
        let warnings = if errors.is_empty() { warnings() } else { Vec::new() };
        Findings { errors, warnings }
    }

    fn spec(&self, spec: &ResourceClaimSpec, at: &str) -> Vec<Warning> {
        let mut warnings = Vec::new();
        self.requests(spec, at, &mut warnings);
        self.constraints(spec, at, &mut warnings);
        warnings
    }
}
