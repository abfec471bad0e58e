//! Node selectors.

use dra_model::text::{Length, dns_subdomain, is_label_key, label_value};
use dra_model::{NodeSelector, NodeSelectorRequirement};

use crate::errors::Faults;
use crate::json;
use crate::path::Path;

pub(crate) fn node_name(name: &str, at: &Path, faults: &mut Faults) {
    faults.invalid_for(at, name, dns_subdomain(name, Length::Characters));
}

pub(crate) fn node_selector(selector: &NodeSelector, at: &Path, faults: &mut Faults) {
    let at = at.child("nodeSelectorTerms");
    if selector.terms.is_empty() {
        return faults.required(&at, "must have at least one node selector term");
    }
    for (number, term) in selector.terms.iter().enumerate() {
        let at = at.index(number);
        for (number, requirement) in term.labels.iter().enumerate() {
            on_label(requirement, &at.child("matchExpressions").index(number), faults);
        }
        for (number, requirement) in term.fields.iter().enumerate() {
            on_field(requirement, &at.child("matchFields").index(number), faults);
        }
    }
}

/// The selector of a slice, whose terms are merged with those of other slices.
pub(crate) fn single_term(selector: &NodeSelector, at: &Path, faults: &mut Faults) {
    node_selector(selector, at, faults);
    if selector.terms.len() != 1 {
        let terms = json::node_selector_terms(&selector.terms);
        let at = at.child("nodeSelectorTerms");
        faults.invalid_value(&at, &terms, "must have exactly one node selector term");
    }
}

const NO_OPERATOR: &str = "not a valid selector operator";

fn on_label(requirement: &NodeSelectorRequirement, at: &Path, faults: &mut Faults) {
    let values = at.child("values");
    let operator = requirement.operator.as_str();
    match (operator, requirement.values.len()) {
        ("In" | "NotIn", 0) => {
            faults.required(&values, "must be specified when `operator` is 'In' or 'NotIn'");
        }
        ("Exists" | "DoesNotExist", 1..) => {
            faults.forbidden(&values, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
        }
        ("Gt" | "Lt", 0 | 2..) => {
            faults.required(&values, "must be specified single value when `operator` is 'Lt' or 'Gt'");
        }
        ("In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt", _) => {}
        _ => faults.invalid_value(&at.child("operator"), &json::text(operator), NO_OPERATOR),
    }
    faults.invalid_for(&at.child("key"), &requirement.key, is_label_key(&requirement.key));
    for (number, value) in requirement.values.iter().enumerate() {
        faults.invalid_for(&values.index(number), value, label_value(value));
    }
}

fn on_field(requirement: &NodeSelectorRequirement, at: &Path, faults: &mut Faults) {
    let values = at.child("values");
    match requirement.operator.as_str() {
        "In" | "NotIn" => {
            if requirement.values.len() != 1 {
                let rule =
                    "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
                faults.required(&values, rule);
            }
        }
        operator => faults.invalid_value(&at.child("operator"), &json::text(operator), NO_OPERATOR),
    }
    if requirement.key == "metadata.name" {
        for (number, value) in requirement.values.iter().enumerate() {
            node_name(value, &values.index(number), faults);
        }
    } else {
        faults.invalid(&at.child("key"), &requirement.key, "not a valid field selector key");
    }
}
