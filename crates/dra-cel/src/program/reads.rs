//! Which parts of a device a plan reads.

use alloc::collections::BTreeSet;
use alloc::string::{String, ToString as _};

use crate::plan::{Attribute, By, Node, Root};
use crate::value::Key;

/// Which parts of a device an expression can read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reads {
    /// These alone: two devices that agree in them, and neither of which has a fault, get the same answer.
    Fields {
        /// Whether `device.driver` is read.
        driver: bool,
        /// Whether `device.allowMultipleAllocations` is read.
        multiple_allocations: bool,
        /// Attributes, as domain and id.
        attributes: BTreeSet<(String, String)>,
        /// Capacities, as domain and id.
        capacity: BTreeSet<(String, String)>,
    },
    /// What is read depends on the device, as in a macro over a map of attributes.
    Everything,
}

/// What is known to be read.
#[derive(Default)]
struct Found {
    driver: bool,
    multiple_allocations: bool,
    attributes: BTreeSet<(String, String)>,
    capacity: BTreeSet<(String, String)>,
    everything: bool,
}

/// What a plan reads.
pub(super) fn reads(root: &Node) -> Reads {
    let mut found = Found::default();
    found.node(root);
    let Found { driver, multiple_allocations, attributes, capacity, everything } = found;
    if everything {
        return Reads::Everything;
    }
    Reads::Fields { driver, multiple_allocations, attributes, capacity }
}

impl Found {
    fn nodes<'n>(&mut self, nodes: impl IntoIterator<Item = &'n Node>) {
        nodes.into_iter().for_each(|node| self.node(node));
    }

    fn node(&mut self, node: &Node) {
        match node {
            Node::Constant(_) => {}
            Node::Attribute(attribute) => self.attribute(attribute),
            Node::And(both)
            | Node::Or(both)
            | Node::Equal(both)
            | Node::Unequal(both)
            | Node::FirstPresent(both)
            | Node::OrValue(both) => self.nodes(&**both),
            Node::NotStrictlyFalse(inner) | Node::Membership(inner, _) | Node::Append(_, inner) => {
                self.node(inner);
            }
            Node::Call(call) => self.nodes(&call.arguments),
            Node::Insert(_, arguments) => self.nodes(&**arguments),
            Node::List(items) => self.nodes(items.iter().map(|item| &item.value)),
            Node::Map(pairs) => self.nodes(pairs.iter().flat_map(|pair| [&pair.key, &pair.value])),
            Node::Fold(fold) => {
                self.nodes([&fold.range, &fold.initial, &fold.condition, &fold.step, &fold.result]);
            }
        }
    }

    fn attribute(&mut self, attribute: &Attribute) {
        match &attribute.root {
            Root::Device => self.path(attribute),
            Root::Local(_) => {}
            Root::Operand(node) => self.node(node),
            Root::Choice(choice) => {
                self.node(&choice.condition);
                self.attribute(&choice.yes);
                self.attribute(&choice.no);
            }
        }
        for step in &attribute.steps {
            if let By::Attribute(inner) = &step.by {
                self.attribute(inner);
            }
        }
    }

    /// `device.attributes["domain"].id` and the like; whatever else is read of the device is everything.
    fn path(&mut self, attribute: &Attribute) {
        let mut names = attribute.steps.iter().map(|step| match &step.by {
            By::Constant(_, Key::String(name)) | By::Presence(Key::String(name)) => Some(&**name),
            _ => None,
        });
        let field = names.next().flatten();
        match (field, names.next().flatten(), names.next().flatten()) {
            (Some("driver"), ..) => self.driver = true,
            (Some("allowMultipleAllocations"), ..) => self.multiple_allocations = true,
            (Some("attributes"), Some(domain), Some(id)) => {
                self.attributes.insert((domain.to_string(), id.to_string()));
            }
            (Some("capacity"), Some(domain), Some(id)) => {
                self.capacity.insert((domain.to_string(), id.to_string()));
            }
            _ => self.everything = true,
        }
    }
}
