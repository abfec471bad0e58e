//! The same kubelet for those who say beforehand what it does.

use serde_json::{Value, json};
use topology_model::MachineInfo;

use super::node::{Machine, configuration};
use super::sequence::{Kubelet, identity};
use crate::case::Case;
use kubelet_fates::Fates;

/// A start: the kubelet if there is one, what it prints, and all errors of which it reports any.
type Start<'a> = (Option<Kubelet<'a>>, Value, Vec<String>);

impl<'a> Kubelet<'a> {
    /// The kubelet of a case that starts on a machine.
    ///
    /// # Errors
    /// What of the case cannot be read.
    pub(crate) fn begin(case: &'a Case, info: MachineInfo) -> Result<Start<'a>, String> {
        let machine = Machine::of(info).map_err(|error| error.to_string())?;
        let config = configuration(case)?;
        let invalid: Vec<String> = config.validate().iter().map(ToString::to_string).collect();
        if !invalid.is_empty() {
            return Ok((None, json!({ "invalid": invalid }), Vec::new()));
        }
        let node = match machine.start(case, &config) {
            Ok(node) => node.with_identity(identity()),
            Err(errors) => return Ok((None, json!({ "error": errors.first() }), errors)),
        };
        let mut kubelet = Self::new(case, machine, config, node);
        kubelet.fates = Some(Vec::new());
        let start = kubelet.start();
        Ok((Some(kubelet), start, Vec::new()))
    }

    /// Our answer to a step; what becomes of the kubelet is [kept](Kubelet::take_fates).
    ///
    /// # Errors
    /// What of the step cannot be read.
    pub(crate) fn foretell(&mut self, step: &Value) -> Result<Value, String> {
        self.errors.clear();
        if !step["config"].is_null() {
            let mut case = self.case.clone();
            case.input["config"] = step["config"].clone();
            let invalid: Vec<String> =
                configuration(&case)?.validate().iter().map(ToString::to_string).collect();
            if !invalid.is_empty() {
                return Ok(json!({ "invalid": invalid }));
            }
        }
        self.step(step)
    }

    /// What becomes of the kubelet with each pod of the last step, in its order.
    pub(crate) fn take_fates(&mut self) -> Vec<Fates> {
        self.fates.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The errors of which it reports any, if it did not start.
    pub(crate) fn take_errors(&mut self) -> Vec<String> {
        std::mem::take(&mut self.errors)
    }

    pub(crate) fn fates_of_start(&self) -> Fates {
        kubelet_fates::of_configuration(self.as_asked())
    }

    pub(super) const fn as_asked(&self) -> kubelet_fates::Kubelet<'_> {
        kubelet_fates::Kubelet { node: &self.node, view: &self.machine.view, config: &self.config }
    }
}
