//! Values in messages, as Go writes them as JSON: fields in their order, empty ones left out.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Display;
use core::fmt::Write as _;

use dra_model::{
    CounterConsumption, CounterSet, DerivedAttribute, DeviceRequest, DeviceToleration,
    NodeSelectorRequirement, NodeSelectorTerm, RequestedDevices, Selector,
};
use k8s_quantity::Quantity;

/// A text in quotes. `<`, `>` and `&` are escaped too.
pub(crate) fn text(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\0'..='\u{1f}' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                // A `String` takes everything.
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            _ => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// An object whose fields are written one by one.
#[derive(Default)]
struct Object(Vec<String>);

impl Object {
    fn field(mut self, name: &str, value: &dyn Display) -> Self {
        self.0.push(format!("\"{name}\":{value}"));
        self
    }

    fn text(self, name: &str, value: &str) -> Self {
        self.field(name, &text(value))
    }

    /// Left out if it is empty.
    fn filled_text(self, name: &str, value: &str) -> Self {
        if value.is_empty() { self } else { self.text(name, value) }
    }

    fn filled_list<T>(self, name: &str, items: &[T], item: impl Fn(&T) -> String) -> Self {
        if items.is_empty() { self } else { self.field(name, &list(items, item)) }
    }

    fn end(self) -> String {
        format!("{{{}}}", self.0.join(","))
    }
}

fn list<T>(items: &[T], item: impl Fn(&T) -> String) -> String {
    format!("[{}]", items.iter().map(item).collect::<Vec<_>>().join(","))
}

fn quantity(quantity: &Quantity) -> String {
    text(&quantity.canonical().to_string())
}

fn amounts<K: AsRef<str>>(amounts: &BTreeMap<K, Quantity>, value: impl Fn(&Quantity) -> String) -> String {
    let entries = amounts.iter().map(|(name, amount)| format!("{}:{}", text(name.as_ref()), value(amount)));
    format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
}

fn counters<K: AsRef<str>>(object: Object, counters: &BTreeMap<K, Quantity>) -> Object {
    if counters.is_empty() {
        return object;
    }
    let counter = |amount: &Quantity| Object::default().field("value", &quantity(amount)).end();
    object.field("counters", &amounts(counters, counter))
}

pub(crate) fn counter_set(set: &CounterSet) -> String {
    counters(Object::default().text("name", &set.name), &set.counters).end()
}

pub(crate) fn consumption(consumption: &CounterConsumption) -> String {
    counters(Object::default().text("counterSet", &consumption.set), &consumption.counters)
        .filled_list("compatibilityGroups", &consumption.compatibility_groups, |group| text(group))
        .end()
}

pub(crate) fn request(request: &DeviceRequest) -> String {
    let mut object = Object::default().text("name", &request.name);
    if let Some(devices) = &request.exactly {
        object = object.field("exactly", &requested(Object::default(), devices));
    }
    object.filled_list("firstAvailable", &request.first_available, alternative).end()
}

pub(crate) fn alternative(devices: &RequestedDevices) -> String {
    requested(Object::default().text("name", &devices.name), devices)
}

fn requested(object: Object, devices: &RequestedDevices) -> String {
    let mut object = object
        .text("deviceClassName", &devices.class)
        .filled_list("selectors", &devices.selectors, selector)
        .filled_text("allocationMode", devices.mode.as_str());
    if devices.mode.count() != 0 {
        object = object.field("count", &devices.mode.count());
    }
    if let Some(access) = devices.admin_access {
        object = object.field("adminAccess", &access);
    }
    object = object.filled_list("tolerations", &devices.tolerations, toleration);
    if let Some(capacity) = &devices.capacity {
        let mut requests = Object::default();
        if !capacity.is_empty() {
            requests = requests.field("requests", &amounts(capacity, quantity));
        }
        object = object.field("capacity", &requests.end());
    }
    object.filled_list("derivedAttributes", &devices.derived_attributes, derived).end()
}

fn selector(selector: &Selector) -> String {
    let cel = selector.expression.as_ref();
    let cel = cel.map(|expression| Object::default().text("expression", expression).end());
    cel.into_iter().fold(Object::default(), |object, cel| object.field("cel", &cel)).end()
}

fn derived(attribute: &DerivedAttribute) -> String {
    Object::default().text("name", &attribute.name).text("expression", &attribute.expression).end()
}

fn toleration(toleration: &DeviceToleration) -> String {
    let effect = toleration.effect.as_ref().map_or("", |effect| effect.as_str());
    let object = Object::default()
        .filled_text("key", &toleration.key)
        .filled_text("operator", toleration.operator.as_str())
        .filled_text("value", &toleration.value)
        .filled_text("effect", effect);
    toleration
        .seconds
        .into_iter()
        .fold(object, |object, seconds| object.field("tolerationSeconds", &seconds))
        .end()
}

/// Terms of a node selector, whose fields have no JSON names in the API server: nothing is left out.
pub(crate) fn node_selector_terms(terms: &[NodeSelectorTerm]) -> String {
    let requirements = |all: &[NodeSelectorRequirement]| or_null(all, requirement);
    list(terms, |term| {
        Object::default()
            .field("MatchExpressions", &requirements(&term.labels))
            .field("MatchFields", &requirements(&term.fields))
            .end()
    })
}

fn requirement(requirement: &NodeSelectorRequirement) -> String {
    Object::default()
        .text("Key", &requirement.key)
        .text("Operator", &requirement.operator)
        .field("Values", &or_null(&requirement.values, |value| text(value)))
        .end()
}

fn or_null<T>(items: &[T], item: impl Fn(&T) -> String) -> String {
    if items.is_empty() { "null".to_string() } else { list(items, item) }
}
