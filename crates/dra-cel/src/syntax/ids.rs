//! Ids of nodes, in the order in which nodes are made.

use alloc::string::ToString as _;
use alloc::vec::Vec;

use super::expression::{Call, Expression, Kind, Literal};

/// Gives out ids, and makes nodes with them.
#[derive(Debug, Default)]
pub(super) struct Ids(usize);

impl Ids {
    /// How many were given out.
    pub(super) const fn count(&self) -> usize {
        self.0
    }

    pub(super) fn node(&mut self, offset: usize, kind: Kind) -> Expression {
        self.0 += 1;
        let mut node = Expression { id: self.0 - 1, offset, height: 1, kind };
        node.height += node.children().iter().map(|child| child.height).max().unwrap_or(0);
        node
    }

    pub(super) fn call(&mut self, offset: usize, function: &str, arguments: Vec<Expression>) -> Expression {
        self.node(offset, Kind::Call(Call { function: function.to_string(), target: None, arguments }))
    }

    pub(super) fn literal(&mut self, offset: usize, value: Literal) -> Expression {
        self.node(offset, Kind::Literal(value))
    }

    pub(super) fn identifier(&mut self, offset: usize, name: &str) -> Expression {
        self.node(offset, Kind::Identifier(name.to_string()))
    }

    /// The same expression with new ids.
    pub(super) fn copy(&mut self, original: &Expression) -> Expression {
        let mut copy = original.clone();
        self.renumber(&mut copy);
        copy
    }

    fn renumber(&mut self, expression: &mut Expression) {
        self.0 += 1;
        expression.id = self.0 - 1;
        match &mut expression.kind {
            Kind::Literal(_) | Kind::Identifier(_) | Kind::Message(_) => {}
            Kind::Select(select) => self.renumber(&mut select.operand),
            Kind::Call(call) => {
                let target = call.target.as_deref_mut().into_iter();
                target.chain(&mut call.arguments).for_each(|child| self.renumber(child));
            }
            Kind::List(elements) => elements.iter_mut().for_each(|element| self.renumber(&mut element.value)),
            Kind::Map(entries) => {
                let children = entries.iter_mut().flat_map(|entry| [&mut entry.key, &mut entry.value]);
                children.for_each(|child| self.renumber(child));
            }
            Kind::Comprehension(of) => {
                let of = &mut **of;
                for child in [&mut of.range, &mut of.initial, &mut of.condition, &mut of.step, &mut of.result]
                {
                    self.renumber(child);
                }
            }
        }
    }
}
