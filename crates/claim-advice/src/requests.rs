//! Requests and constraints: unknown classes, too many devices, attributes that no device has.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use dra_model::{AllocationMode, RequestForm, RequestedDevices, ResourceClaimSpec};

use crate::advice::ClaimAdvice;
use crate::findings::Warning;
use crate::selectors::missing;

/// The most devices of a claim.
const MOST_DEVICES: i64 = 32;

impl ClaimAdvice<'_> {
    pub(crate) fn requests(&self, spec: &ResourceClaimSpec, at: &str, warnings: &mut Vec<Warning>) {
        let mut needed = 0_i64;
        for (number, request) in spec.requests.iter().enumerate() {
            let at = format!("{at}.requests[{number}]");
            let minimum = match request.form() {
                RequestForm::Exactly(devices) => {
                    self.devices_of(devices, &format!("{at}.exactly"), warnings);
                    minimum(devices)
                }
                RequestForm::FirstAvailable(alternatives) => {
                    for (place, devices) in alternatives.iter().enumerate() {
                        self.devices_of(devices, &format!("{at}.firstAvailable[{place}]"), warnings);
                    }
                    alternatives.iter().map(minimum).min().unwrap_or_default()
                }
                RequestForm::Neither => 0,
            };
            if needed.saturating_add(minimum) > MOST_DEVICES {
                warnings.push(Warning::new(
                    at,
                    format!(
                        "a claim can have {MOST_DEVICES} devices, and with this request it needs {}: kube-scheduler stops the \
                         pod on every node",
                        needed.saturating_add(minimum)
                    ),
                ));
                return;
            }
            needed += minimum;
        }
    }

    fn devices_of(&self, devices: &RequestedDevices, at: &str, warnings: &mut Vec<Warning>) {
        let class = self.objects.classes.iter().find(|class| class.metadata.name == devices.class.as_str());
        self.unpublished(&devices.selectors, &format!("{at}.selectors"), warnings);
        match class {
            None => {
                let field = format!("{at}.deviceClassName");
                let text = format!(
                    "DeviceClass {} is not among the objects given: the pod waits until it exists",
                    devices.class
                );
                warnings.push(Warning::new(field, text));
            }
            Some(class) => {
                let field = match devices.selectors.len() {
                    0 => format!("{at}.deviceClassName"),
                    1 => format!("{at}.selectors[0].cel.expression"),
                    _ => format!("{at}.selectors"),
                };
                self.selects_nothing(&[&class.selectors, &devices.selectors], &field, warnings);
            }
        }
    }

    pub(crate) fn constraints(&self, spec: &ResourceClaimSpec, at: &str, warnings: &mut Vec<Warning>) {
        if self.devices.is_empty() {
            return;
        }
        for (number, constraint) in spec.constraints.iter().enumerate() {
            let named = [
                ("matchAttribute", &constraint.match_attribute),
                ("distinctAttribute", &constraint.distinct_attribute),
            ];
            for (field, name) in named {
                let Some(name) = name else { continue };
                let text = missing("attribute", name, &self.devices.attributes);
                let text: Option<String> =
                    text.map(|text| format!("no device satisfies the constraint: {text}"));
                let field = format!("{at}.constraints[{number}].{field}");
                warnings.extend(text.map(|text| Warning::new(field, text)));
            }
        }
    }
}

/// The fewest devices that it takes. Mode `All` counts as 0, since its number depends on the node.
fn minimum(devices: &RequestedDevices) -> i64 {
    match &devices.mode {
        AllocationMode::ExactCount(count) => *count,
        AllocationMode::All(_) | AllocationMode::Other { .. } => 0,
    }
}
