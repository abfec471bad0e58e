//! Attributes and capacities that no device of the node has, where a near name is meant.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use dra_cel::{Environment, Program, Reads};
use dra_model::{QualifiedName, ResourceSlice, Selector};
use terminal_text::nearest;

/// The names that the devices of some slices have, as `domain/id`.
pub(crate) struct Published {
    attributes: BTreeSet<String>,
    capacity: BTreeSet<String>,
}

/// A selector in which a name is replaced by a near one.
pub(crate) struct Respelt {
    /// Its number among the selectors.
    pub(crate) number: usize,
    /// The name that no device has.
    pub(crate) written: String,
    /// The near one.
    pub(crate) meant: String,
    /// The expression with it.
    pub(crate) expression: String,
}

impl Published {
    pub(crate) fn of(slices: &[ResourceSlice]) -> Self {
        let mut published = Self { attributes: BTreeSet::new(), capacity: BTreeSet::new() };
        for slice in slices {
            let full = |name: &QualifiedName| full(&slice.driver, name);
            for device in slice.devices() {
                published.attributes.extend(device.attributes.keys().map(full));
                published.capacity.extend(device.capacity.keys().map(full));
            }
        }
        published
    }

    /// The attribute that is meant by one that no device has.
    pub(crate) fn meant(&self, attribute: &str) -> Option<&str> {
        near_name(attribute, &self.attributes)
    }

    /// The first selector with such a name, without it.
    pub(crate) fn respelt(&self, selectors: &[Selector]) -> Option<Respelt> {
        selectors.iter().enumerate().find_map(|(number, selector)| {
            let written = selector.expression.as_deref()?;
            let program = Program::compile(written, &Environment::stored()).ok()?;
            let Reads::Fields { attributes, capacity, .. } = program.reads() else { return None };
            let read = [(attributes, &self.attributes), (capacity, &self.capacity)];
            let mut near = read.into_iter().flat_map(|(names, published)| {
                names.iter().filter_map(move |(domain, id)| {
                    let name = format!("{domain}/{id}");
                    let meant = near_name(&name, published)?.to_string();
                    Some((domain.clone(), id.clone(), name, meant))
                })
            });
            let (domain, id, name, meant) = near.next()?;
            let (meant_domain, meant_id) = meant.split_once('/')?;
            let expression = replaced(&replaced(written, &domain, meant_domain), &id, meant_id);
            Some(Respelt { number, written: name, meant: meant.clone(), expression })
        })
    }
}

/// The published name that is meant by one that is not published: both `domain/id`, with a domain and an id that are near.
#[must_use]
pub fn near_name<'p>(name: &str, published: &'p BTreeSet<String>) -> Option<&'p str> {
    if published.contains(name) {
        return None;
    }
    let (domain, id) = name.split_once('/')?;
    // A quarter of the letters may differ; behind the id itself that is half of it.
    let doubled = format!("{id}{id}");
    let is_near = |full: &&str| {
        full.split_once('/').is_some_and(|(own_domain, own_id)| {
            let behind = format!("{id}{own_id}");
            nearest(domain, &[own_domain]).is_some() && nearest(&doubled, &[&behind]).is_some()
        })
    };
    let names: Vec<&str> = published.iter().map(String::as_str).filter(is_near).collect();
    nearest(name, &names)
}

/// An attribute of a driver's device in full.
pub(crate) fn full(driver: &str, name: &str) -> String {
    if name.contains('/') { name.to_string() } else { format!("{driver}/{name}") }
}

/// The text with each whole occurrence of a name replaced: letters, digits, `_`, and in domains `.` and `-`, go on with a name.
fn replaced(text: &str, name: &str, by: &str) -> String {
    let in_name = |symbol: char| symbol.is_ascii_alphanumeric() || symbol == '_';
    let (mut result, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(name) {
        let (before, after) = (&rest[..at], &rest[at + name.len()..]);
        let starts = result.chars().chain(before.chars()).next_back();
        let is_whole = !starts.is_some_and(in_name) && !after.chars().next().is_some_and(in_name);
        result.push_str(before);
        result.push_str(if is_whole { by } else { name });
        rest = after;
    }
    result + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_name_has_a_near_domain_and_a_near_id() {
        let published: BTreeSet<String> =
            ["resource.kubernetes.io/pcieRoot", "gpu.example.com/model", "gpu.example.com/numaNode"]
                .map(String::from)
                .into();
        for (name, expected) in [
            ("gpu.example.com/modle", Some("gpu.example.com/model")),
            ("gpu.exmple.com/model", Some("gpu.example.com/model")),
            ("resource.kubernetes.io/numaNode", None),
            ("gpu.example.com/model", None),
            ("model", None),
        ] {
            assert_eq!(near_name(name, &published), expected, "{name}");
        }
    }

    #[test]
    fn whole_names_are_replaced() {
        for (text, expected) in [
            ("d[\"a\"].modle == \"modle\"", "d[\"a\"].model == \"model\""),
            ("d.modles == modle1 || _modle", "d.modles == modle1 || _modle"),
            ("modle", "model"),
            ("", ""),
        ] {
            assert_eq!(replaced(text, "modle", "model"), expected);
        }
    }
}
