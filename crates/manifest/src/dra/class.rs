//! `DeviceClass` and `DeviceTaintRule`.

use dra_model::{DeviceClass, DeviceTaintRule, DeviceTaintSelector};

use super::common::{metadata, opaque, selectors, taint};
use super::object::Object;
use super::shapes::{CLASS_CONFIG, CLASS_SPEC, TAINT, TAINT_RULE_SPEC, TAINT_SELECTOR};
use super::version::V1ALPHA3;

/// How rules for taints select devices.
const BY_NAME: &str = "driver, pool or device";

pub(super) fn class(object: &Object<'_>) -> DeviceClass {
    let mut class = DeviceClass { metadata: metadata(object), ..DeviceClass::default() };
    let Some(spec) = object.child("spec", CLASS_SPEC) else { return class };
    class.selectors = selectors(&spec);
    class.config = spec.list("config", CLASS_CONFIG).unwrap_or_default().iter().map(opaque).collect();
    class.extended_resource = spec.optional_text("extendedResourceName");
    class
}

pub(super) fn taint_rule(object: &Object<'_>) -> DeviceTaintRule {
    let mut rule = DeviceTaintRule { metadata: metadata(object), ..DeviceTaintRule::default() };
    let Some(spec) = object.child("spec", TAINT_RULE_SPEC) else { return rule };
    rule.selector = spec.child("deviceSelector", TAINT_SELECTOR).map(|selector| {
        if object.version() == V1ALPHA3 {
            // Without these the rule would be taken for one on more devices.
            for (field, by) in [("deviceClassName", "device class"), ("selectors", "expressions")] {
                let what = format!("the rule selects devices by {by}, which Kubernetes has until 1.34 alone");
                selector.refuse_former(field, &what, BY_NAME);
            }
        }
        DeviceTaintSelector {
            driver: selector.optional_text("driver").map(Into::into),
            pool: selector.optional_text("pool").map(Into::into),
            device: selector.optional_text("device").map(Into::into),
        }
    });
    rule.taint = spec.child("taint", TAINT).map(|object| taint(&object)).unwrap_or_default();
    rule
}
