//! Taints, tolerations, and rules for taints.

use dra_model::text::{is_label_key, label_value};
use dra_model::{DeviceTaint, DeviceTaintRule, DeviceToleration, TaintEffect, TolerationOperator};

use crate::errors::Faults;
use crate::names;
use crate::path::Path;

const EFFECTS: [&str; 3] = ["NoExecute", "NoSchedule", "None"];

pub(crate) fn by_hand(taint: &DeviceTaint, at: &Path, faults: &mut Faults) {
    faults.invalid_for(&at.child("key"), &taint.key, is_label_key(&taint.key));
    if !taint.value.is_empty() {
        faults.invalid_for(&at.child("value"), &taint.value, label_value(&taint.value));
    }
}

pub(crate) fn declared(taint: &DeviceTaint, at: &Path, faults: &mut Faults) {
    let at = at.child("effect");
    match &taint.effect {
        TaintEffect::Other(text) if text.is_empty() => faults.required(&at, ""),
        TaintEffect::Other(text) => faults.not_supported(&at, text, &EFFECTS),
        TaintEffect::None | TaintEffect::NoSchedule | TaintEffect::NoExecute => {}
    }
}

pub(crate) fn toleration_by_hand(toleration: &DeviceToleration, at: &Path, faults: &mut Faults) {
    let at = at.child("value");
    match toleration.operator {
        TolerationOperator::Exists => {
            if !toleration.value.is_empty() {
                faults.invalid(&at, &toleration.value, "must be empty for operator `Exists`");
            }
        }
        TolerationOperator::Equal => {
            faults.invalid_for(&at, &toleration.value, label_value(&toleration.value));
        }
        TolerationOperator::Other(_) => {}
    }
}

pub(crate) fn toleration_declared(toleration: &DeviceToleration, at: &Path, faults: &mut Faults) {
    if !toleration.key.is_empty() {
        faults.invalid_for(&at.child("key"), &toleration.key, is_label_key(&toleration.key));
    }
    if let TolerationOperator::Other(text) = &toleration.operator {
        faults.not_supported(&at.child("operator"), text, &["Equal", "Exists"]);
    }
    if let Some(TaintEffect::Other(text)) = &toleration.effect {
        faults.not_supported(&at.child("effect"), text, &EFFECTS);
    }
}

pub(crate) fn rule_by_hand(rule: &DeviceTaintRule, faults: &mut Faults) {
    let spec = Path::new("spec");
    let at = spec.child("deviceSelector");
    if let Some(selector) = &rule.selector {
        if let Some(driver) = &selector.driver {
            names::driver(driver, &at.child("driver"), faults);
        }
        if let Some(pool) = &selector.pool {
            names::pool(pool, &at.child("pool"), faults);
        }
        if let Some(device) = &selector.device {
            names::label(device, &at.child("device"), faults);
        }
    }
    by_hand(&rule.taint, &spec.child("taint"), faults);
}
