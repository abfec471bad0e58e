//! Requirements on a node's labels and name.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

/// Requirements that must hold together. One without any holds for no node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NodeSelectorTerm {
    /// On labels.
    pub labels: Vec<Requirement>,
    /// On fields; the only one there is, is `metadata.name`.
    pub fields: Vec<Requirement>,
}

/// A requirement on one label or field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Requirement {
    /// Of which key.
    pub key: String,
    /// What its value must be.
    pub demand: Demand,
}

/// What the value of a key must be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Demand {
    /// One of these.
    In(Vec<String>),
    /// None of these; an absent one is fine.
    NotIn(Vec<String>),
    /// Anything, but there.
    Exists,
    /// Not there.
    DoesNotExist,
    /// An integer above this one.
    Above(i64),
    /// An integer below this one.
    Below(i64),
}

impl NodeSelectorTerm {
    /// Whether a node with these labels and this name meets all requirements.
    #[must_use]
    pub fn matches(&self, labels: &BTreeMap<String, String>, name: &str) -> bool {
        let has_any = !self.labels.is_empty() || !self.fields.is_empty();
        has_any && self.unmet(labels, name).is_none()
    }

    /// The first requirement that such a node does not meet; those on labels come first.
    #[must_use]
    pub fn unmet(&self, labels: &BTreeMap<String, String>, name: &str) -> Option<&Requirement> {
        let name = String::from(name);
        let label = self.labels.iter().find(|wanted| !wanted.demand.accepts(labels.get(&wanted.key)));
        label.or_else(|| {
            self.fields.iter().find(|wanted| {
                let value = (wanted.key == "metadata.name").then_some(&name);
                !wanted.demand.accepts(value)
            })
        })
    }
}

impl Demand {
    fn accepts(&self, value: Option<&String>) -> bool {
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match self {
            Self::In(values) => value.is_some_and(|value| values.contains(value)),
            Self::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
            Self::Exists => value.is_some(),
            Self::DoesNotExist => value.is_none(),
            Self::Above(least) => number().is_some_and(|number| number > *least),
            Self::Below(most) => number().is_some_and(|number| number < *most),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn each_operator() {
        let labels = BTreeMap::from([("zone".into(), "a".into()), ("cores".into(), "64".into())]);
        let list = |values: &[&str]| values.iter().map(|value| String::from(*value)).collect::<Vec<_>>();
        for (key, demand, holds) in [
            ("zone", Demand::In(list(&["a", "b"])), true),
            ("zone", Demand::In(list(&["b"])), false),
            ("disk", Demand::In(list(&["ssd"])), false),
            ("zone", Demand::NotIn(list(&["b"])), true),
            ("zone", Demand::NotIn(list(&["a"])), false),
            ("disk", Demand::NotIn(list(&["ssd"])), true),
            ("zone", Demand::Exists, true),
            ("disk", Demand::Exists, false),
            ("disk", Demand::DoesNotExist, true),
            ("cores", Demand::Above(63), true),
            ("cores", Demand::Above(64), false),
            ("cores", Demand::Below(65), true),
            ("zone", Demand::Below(65), false),
        ] {
            let term = NodeSelectorTerm {
                labels: vec![Requirement { key: key.into(), demand: demand.clone() }],
                fields: Vec::new(),
            };
            assert_eq!(term.matches(&labels, "node-1"), holds, "{key} {demand:?}");
        }
        assert!(!NodeSelectorTerm::default().matches(&labels, "node-1"), "no requirement holds for nobody");
    }
}
