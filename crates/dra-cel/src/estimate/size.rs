//! Sizes of nodes: from the source, from the limits of devices, from types.

use super::entries::Entries;
use super::range::Range;
use super::{Estimator, Path, declared_size};
use crate::checker::types::Type;
use crate::syntax::ACCUMULATOR;
use crate::syntax::expression::{Expression, Kind, Literal};

impl Entries {
    pub(super) fn union(self, other: Self) -> Self {
        let (key, value) = (self.key.union(other.key), self.value.union(other.value));
        Self { container: self.container, key, value }
    }
}

impl Estimator<'_> {
    pub(super) fn path(&self, expression: &Expression) -> Option<Path> {
        if let Kind::Identifier(name) = &expression.kind
            && let Some(local) = self.local(name)
        {
            return local.path.clone();
        }
        self.paths.get(expression.id).cloned().flatten()
    }

    /// The path, but for what begins at the accumulator of a loop.
    pub(super) fn rooted_path(&self, expression: &Expression) -> Option<Path> {
        self.path(expression).filter(|path| path.first().is_none_or(|first| first != ACCUMULATOR))
    }

    pub(super) fn set_path(&mut self, expression: &Expression, path: Option<Path>) {
        if let Some(place) = self.paths.get_mut(expression.id) {
            *place = path;
        }
    }

    pub(super) fn set_size(&mut self, expression: &Expression, size: Option<Range>) {
        if let (Some(place), Some(size)) = (self.sizes.get_mut(expression.id), size) {
            *place = Some(size);
        }
    }

    pub(super) fn set_entries(&mut self, expression: &Expression, entries: Option<Entries>) {
        if let (Some(place), Some(entries)) = (self.entries.get_mut(expression.id), entries) {
            *place = Some(entries);
        }
    }

    pub(super) fn entries_of(&self, expression: &Expression) -> Option<Entries> {
        if let Some(entries) = self.entries.get(expression.id).copied().flatten() {
            return Some(entries);
        }
        match &expression.kind {
            Kind::Identifier(name) => self.local(name)?.entries,
            _ => None,
        }
    }

    pub(super) fn size(&mut self, expression: &Expression) -> Option<Range> {
        if let Some(size) = self.sizes.get(expression.id).copied().flatten() {
            return Some(size);
        }
        if let Some(size) = written_size(expression) {
            return Some(Range::fixed(size));
        }
        let declared = self.path(expression).and_then(|path| declared_size(&path));
        if let Some(size) = declared {
            let size = Some(Range::new(0, size));
            self.set_size(expression, size);
            return size;
        }
        if is_scalar(self.type_of(expression)) {
            return Some(Range::fixed(1));
        }
        match &expression.kind {
            Kind::Identifier(name) => self.local(name)?.size,
            _ => None,
        }
    }

    pub(super) fn size_or_unknown(&mut self, expression: &Expression) -> Range {
        self.size(expression).unwrap_or(Range::UNKNOWN)
    }
}

/// The size of what the source shows in full.
fn written_size(expression: &Expression) -> Option<u64> {
    let size = match &expression.kind {
        Kind::Literal(Literal::String(text)) => text.chars().count(),
        Kind::Literal(Literal::Bytes(bytes)) => bytes.len(),
        Kind::Literal(_) => 1,
        Kind::List(elements) => elements.len(),
        Kind::Map(entries) => entries.len(),
        _ => return None,
    };
    u64::try_from(size).ok()
}

/// Used where a node's type tells its size.
fn is_scalar(of: &Type) -> bool {
    match of {
        Type::Bool | Type::Double | Type::Duration | Type::Int | Type::Timestamp | Type::Uint => true,
        _ => of.unwrapped().is_some_and(is_scalar),
    }
}
