//! Two objects of one node, field by field.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// What is equal and what is not.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    pub(super) equal: usize,
    pub(super) differences: Vec<Difference>,
    /// Zones that only one of the objects has.
    lonely: BTreeSet<String>,
}

/// One field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Difference {
    /// `node-0 memory capacity`, `attribute topologyManagerPolicy`
    pub(super) field: String,
    /// `None`: the field is not there.
    pub(super) theirs: Option<String>,
    /// The same of ours.
    pub(super) ours: Option<String>,
}

impl Comparison {
    pub(super) fn of(theirs: &Value, ours: &Value) -> Self {
        let lonely = zones(theirs).symmetric_difference(&zones(ours)).cloned().collect();
        let (theirs, ours) = (fields(theirs), fields(ours));
        let mut found = Self { lonely, ..Self::default() };
        for field in theirs.keys().chain(ours.keys()).collect::<BTreeSet<_>>() {
            match (theirs.get(field), ours.get(field)) {
                (one, other) if one == other => found.equal += 1,
                (one, other) => found.differences.push(Difference {
                    field: field.clone(),
                    theirs: one.cloned(),
                    ours: other.cloned(),
                }),
            }
        }
        found
    }

    /// Whether the field is of a zone that only one object has, or of the way to one.
    pub(super) fn is_of_lonely_zone(&self, field: &str) -> bool {
        let mut words = field.split(' ');
        let (zone, to) = (words.next(), words.nth(1).filter(|_| field.contains(" cost ")));
        zone.into_iter().chain(to).any(|name| self.lonely.contains(name))
    }
}

fn zones(object: &Value) -> BTreeSet<String> {
    object["zones"].as_array().into_iter().flatten().map(|zone| text(&zone["name"])).collect()
}

/// Values by what they are of.
fn fields(object: &Value) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    for policy in list(&object["topologyPolicies"]) {
        found.insert("topologyPolicies".to_owned(), text(&policy));
    }
    for (name, value) in object["metadata"]["annotations"].as_object().into_iter().flatten() {
        found.insert(format!("annotation {name}"), text(value));
    }
    for attribute in list(&object["attributes"]) {
        found.insert(format!("attribute {}", text(&attribute["name"])), text(&attribute["value"]));
    }
    for zone in list(&object["zones"]) {
        let name = text(&zone["name"]);
        found.insert(format!("{name} type"), text(&zone["type"]));
        for cost in list(&zone["costs"]) {
            found.insert(format!("{name} cost {}", text(&cost["name"])), text(&cost["value"]));
        }
        for attribute in list(&zone["attributes"]) {
            found.insert(format!("{name} attribute {}", text(&attribute["name"])), text(&attribute["value"]));
        }
        for resource in list(&zone["resources"]) {
            for amount in ["capacity", "allocatable", "available"] {
                let field = format!("{name} {} {amount}", text(&resource["name"]));
                found.insert(field, text(&resource[amount]));
            }
        }
    }
    found
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_field_is_compared() {
        let resource =
            |available| json!({"name": "cpu", "capacity": "8", "allocatable": "7", "available": available});
        let one = json!({"zones": [{"name": "node-0", "type": "Node", "resources": [resource("5")]}]});
        let other = json!({
            "attributes": [{"name": "a", "value": "b"}],
            "zones": [{"name": "node-0", "type": "Node", "resources": [resource("7")]}],
        });
        let found = Comparison::of(&one, &other);
        assert_eq!(found.equal, 3, "type, capacity and allocatable");
        let difference = |field: &str, theirs: Option<&str>, ours: &str| Difference {
            field: field.to_owned(),
            theirs: theirs.map(str::to_owned),
            ours: Some(ours.to_owned()),
        };
        let expected =
            [difference("attribute a", None, "b"), difference("node-0 cpu available", Some("5"), "7")];
        assert_eq!(found.differences, expected);
        assert!(!found.is_of_lonely_zone("node-0 cpu available"));
    }

    #[test]
    fn fields_of_zones_that_one_object_has_are_told_apart() {
        let zones =
            |names: [&str; 2]| json!({"zones": names.map(|name| json!({"name": name, "type": "Node"}))});
        let found = Comparison::of(&zones(["node-0", "node-1"]), &zones(["node-0", "node-8"]));
        for (field, expected) in [
            ("node-1 cpu available", true),
            ("node-8 type", true),
            ("node-0 cost node-8", true),
            ("node-0 cost node-0", false),
            ("node-0 cpu available", false),
            ("attribute a", false),
        ] {
            assert_eq!(found.is_of_lonely_zone(field), expected, "{field}");
        }
    }
}
