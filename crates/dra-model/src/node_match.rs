//! Whether a node is meant by a name, a selector, or because all are.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use cpuset::go_quote;

use crate::text::{is_label_key, label_value};
use crate::{NodeSelection, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm};

/// What selection reads of a node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
}

/// A node selector that cannot be parsed. Displays as the allocator's error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadNodeSelector {
    selector: NodeSelector,
    faults: Vec<String>,
}

impl fmt::Display for BadNodeSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed to parse node selector {}: ", GoSelector(&self.selector))?;
        // Go's aggregate names each text once.
        let mut faults: Vec<&String> = Vec::new();
        for fault in &self.faults {
            if !faults.contains(&fault) {
                faults.push(fault);
            }
        }
        match faults.as_slice() {
            [only] => f.write_str(only),
            several => {
                let several: Vec<&str> = several.iter().map(|fault| fault.as_str()).collect();
                write!(f, "[{}]", several.join(", "))
            }
        }
    }
}

impl core::error::Error for BadNodeSelector {}

impl NodeSelection {
    /// Whether anything is set that selects nodes.
    #[must_use]
    pub fn selects(&self) -> bool {
        self.node_name.as_ref().is_some_and(|name| !name.is_empty())
            || self.all_nodes == Some(true)
            || self.node_selector.is_some()
    }

    /// Whether the node is meant: by its name if one is set, else if all nodes are meant, else by the selector.
    ///
    /// # Errors
    /// [`BadNodeSelector`]
    pub fn matches(&self, node: &Node) -> Result<bool, BadNodeSelector> {
        match (&self.node_name, self.all_nodes, &self.node_selector) {
            (Some(name), _, _) if !name.is_empty() => Ok(*name == node.name),
            (_, Some(true), _) => Ok(true),
            (_, _, Some(selector)) => selector.matches(node),
            _ => Ok(false),
        }
    }
}

impl NodeSelector {
    /// Whether a term holds for the node.
    ///
    /// # Errors
    /// [`BadNodeSelector`]: a requirement of any term cannot be parsed.
    pub fn matches(&self, node: &Node) -> Result<bool, BadNodeSelector> {
        let faults = self.faults();
        if !faults.is_empty() {
            return Err(BadNodeSelector { selector: self.clone(), faults });
        }
        Ok(self.terms.iter().any(|term| term.matches(node)))
    }

    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for (number, term) in self.terms.iter().enumerate() {
            let at = |list: &str, of: usize| format!("nodeSelectorTerms[{number}].{list}[{of}]");
            for (of, requirement) in term.labels.iter().enumerate() {
                faults.extend(label_fault(requirement, &at("matchExpressions", of)));
            }
            for (of, requirement) in term.fields.iter().enumerate() {
                faults.extend(field_fault(requirement, &at("matchFields", of)));
            }
        }
        faults
    }
}

impl NodeSelectorTerm {
    fn matches(&self, node: &Node) -> bool {
        let has_any = !self.labels.is_empty() || !self.fields.is_empty();
        let on_labels = self.labels.iter().all(|wanted| wanted.accepts(node.labels.get(&wanted.key)));
        // A node without a name is not asked for it.
        let on_fields = node.name.is_empty()
            || self.fields.iter().all(|wanted| {
                let value = if wanted.key == "metadata.name" { node.name.as_str() } else { "" };
                (wanted.operator == "In") == wanted.values.iter().any(|other| other == value)
            });
        has_any && on_labels && on_fields
    }
}

impl NodeSelectorRequirement {
    fn accepts(&self, value: Option<&String>) -> bool {
        let has = || value.is_some_and(|value| self.values.contains(value));
        let numbers = || {
            let wanted = self.values.first().and_then(|wanted| wanted.parse::<i64>().ok());
            value.and_then(|value| value.parse::<i64>().ok()).zip(wanted)
        };
        match self.operator.as_str() {
            "In" => has(),
            "NotIn" => !has(),
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            "Gt" => numbers().is_some_and(|(value, wanted)| value > wanted),
            "Lt" => numbers().is_some_and(|(value, wanted)| value < wanted),
            _ => false,
        }
    }
}

/// What is wrong with a requirement on a label, as one text.
fn label_fault(requirement: &NodeSelectorRequirement, at: &str) -> Option<String> {
    const OPERATORS: &str = "\"In\", \"NotIn\", \"Exists\", \"DoesNotExist\", \"Gt\", \"Lt\"";
    let NodeSelectorRequirement { key, operator, values } = requirement;
    let mut faults = Vec::new();
    let key_rules = is_label_key(key);
    if !key_rules.is_empty() {
        faults.push(format!("{at}.key: Invalid value: {}: {}", go_quote(key), key_rules.join("; ")));
    }
    let list = || format!("{at}.values: Invalid value: {}", json_list(values));
    match (operator.as_str(), values.len()) {
        ("In" | "NotIn", 0) => {
            faults.push(format!("{}: for 'in', 'notin' operators, values set can't be empty", list()));
        }
        ("Exists" | "DoesNotExist", 1..) => {
            faults.push(format!("{}: values set must be empty for exists and does not exist", list()));
        }
        ("Gt" | "Lt", number) => {
            if number != 1 {
                faults.push(format!("{}: for 'Gt', 'Lt' operators, exactly one value is required", list()));
            }
            faults.extend(not_integers(values, at));
        }
        ("In" | "NotIn" | "Exists" | "DoesNotExist", _) => {}
        _ => {
            return Some(format!(
                "{at}.operator: Unsupported value: {}: supported values: {OPERATORS}",
                go_quote(operator)
            ));
        }
    }
    for (number, value) in values.iter().enumerate() {
        let rules = label_value(value);
        if !rules.is_empty() {
            faults.push(format!(
                "{at}.values[{number}][{key}]: Invalid value: {}: {}",
                go_quote(value),
                rules.join("; ")
            ));
        }
    }
    aggregate(&faults)
}

fn not_integers(values: &[String], at: &str) -> Vec<String> {
    let fault = |(number, value): (usize, &String)| {
        let rule = "for 'Gt', 'Lt' operators, the value must be an integer";
        let is_integer = value.parse::<i64>().is_ok();
        (!is_integer).then(|| format!("{at}.values[{number}]: Invalid value: {}: {rule}", go_quote(value)))
    };
    values.iter().enumerate().filter_map(fault).collect()
}

fn field_fault(requirement: &NodeSelectorRequirement, at: &str) -> Option<String> {
    let NodeSelectorRequirement { operator, values, .. } = requirement;
    match operator.as_str() {
        "In" | "NotIn" => {
            let list = json_list(values);
            (values.len() != 1).then(|| format!("{at}.values: Invalid value: {list}: must have one element"))
        }
        _ => Some(format!(
            "{at}.operator: Unsupported value: {}: supported values: \"In\", \"NotIn\"",
            go_quote(operator)
        )),
    }
}

fn json_list(values: &[String]) -> String {
    if values.is_empty() {
        return "null".to_string();
    }
    let values: Vec<String> = values.iter().map(|value| go_quote(value).to_string()).collect();
    format!("[{}]", values.join(","))
}

fn aggregate(faults: &[String]) -> Option<String> {
    match faults {
        [] => None,
        [only] => Some(only.clone()),
        several => Some(format!("[{}]", several.join(", "))),
    }
}

/// A selector as Go prints one.
pub(crate) struct GoSelector<'a>(pub(crate) &'a NodeSelector);

impl fmt::Display for GoSelector<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("&NodeSelector{NodeSelectorTerms:[]NodeSelectorTerm{")?;
        for term in &self.0.terms {
            f.write_str("NodeSelectorTerm{")?;
            for (name, requirements) in [("MatchExpressions", &term.labels), ("MatchFields", &term.fields)] {
                write!(f, "{name}:[]NodeSelectorRequirement{{")?;
                for NodeSelectorRequirement { key, operator, values } in requirements {
                    let values = values.join(" ");
                    write!(
                        f,
                        "NodeSelectorRequirement{{Key:{key},Operator:{operator},Values:[{values}],}},"
                    )?;
                }
                f.write_str("},")?;
            }
            f.write_str("},")?;
        }
        f.write_str("},}")
    }
}
