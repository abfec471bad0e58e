//! What type variables stand for, and whether one type can be used as another.
//!
//! Work is counted: types can grow with each use of a variable, and an expression is refused before that takes long.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::types::Type;

/// Steps after which an expression is refused.
const MOST_STEPS: usize = 2_000_000;

/// Assignments to type variables, by their number.
#[derive(Debug, Default)]
pub(super) struct Unification {
    variables: Vec<Option<Type>>,
    /// What was there before each change since the last question that was answered with yes.
    undo: Vec<Change>,
    steps: usize,
}

#[derive(Debug)]
struct Change {
    variable: usize,
    before: Option<Type>,
}

impl Unification {
    pub(super) fn fresh(&mut self) -> Type {
        self.variables.push(None);
        Type::Variable(self.variables.len() - 1)
    }

    /// Whether the types needed more work than an expression may.
    pub(super) const fn is_exhausted(&self) -> bool {
        self.steps > MOST_STEPS
    }

    /// Whether each of `from` can be used as its neighbour in `to`; then variables are assigned so that they are equal.
    pub(super) fn assignable(&mut self, from: &[Type], to: &[Type]) -> bool {
        self.undo.clear();
        let fits = self.all(from, to);
        if !fits {
            while let Some(change) = self.undo.pop() {
                if let Some(place) = self.variables.get_mut(change.variable) {
                    *place = change.before;
                }
            }
        }
        fits
    }

    fn found(&self, variable: usize) -> Option<&Type> {
        self.variables.get(variable)?.as_ref()
    }

    fn assign(&mut self, variable: usize, value: Type) {
        if let Some(place) = self.variables.get_mut(variable) {
            let before = place.replace(value);
            self.undo.push(Change { variable, before });
        }
    }

    fn all(&mut self, from: &[Type], to: &[Type]) -> bool {
        from.len() == to.len() && from.iter().zip(to).all(|(from, to)| self.fits(from, to))
    }

    fn fits(&mut self, from: &Type, to: &Type) -> bool {
        self.steps += 1;
        if self.is_exhausted() {
            return false;
        }
        if let Type::Variable(variable) = *to {
            let had = self.found(variable).is_some();
            let is_same = from == to;
            if is_same || self.substitutes(from, variable) {
                return true;
            }
            if had {
                return false;
            }
        }
        if let Type::Variable(variable) = *from {
            return from == to || self.substitutes(to, variable);
        }
        self.fits_known(from, to)
    }

    /// As [`Self::fits`], for types that are no variables, though their parameters may be.
    fn fits_known(&mut self, from: &Type, to: &Type) -> bool {
        match (from, to) {
            _ if from.is_dyn() || to.is_dyn() => true,
            (Type::Null, other) | (other, Type::Null) => {
                let nullable = [Type::Null, Type::Duration, Type::Timestamp].contains(other);
                nullable || matches!(other, Type::Opaque(..) | Type::Object(_))
            }
            (Type::Type(_), Type::Type(_)) => true,
            (Type::List(from), Type::List(to)) => self.fits(from, to),
            (Type::Map(from), Type::Map(to)) => self.all(&**from, &**to),
            (Type::Opaque(name, from), Type::Opaque(other, to)) => name == other && self.all(from, to),
            _ => from == to,
        }
    }

    /// Whether a variable can stand for a type, and if so makes it do that.
    fn substitutes(&mut self, value: &Type, variable: usize) -> bool {
        match self.found(variable).cloned() {
            Some(known) if *value == known => true,
            Some(known) => {
                if !self.fits(value, &known) {
                    return false;
                }
                let general = if self.is_less_specific(value, &known) { value.clone() } else { known };
                if !self.occurs(variable, &general) {
                    self.assign(variable, general);
                }
                true
            }
            None if self.occurs(variable, value) => false,
            None => {
                self.assign(variable, value.clone());
                true
            }
        }
    }

    /// Whether a variable occurs in a type, or in what its variables stand for.
    fn occurs(&mut self, variable: usize, within: &Type) -> bool {
        self.steps += 1;
        if self.is_exhausted() {
            return false;
        }
        match within {
            Type::Variable(other) if *other == variable => true,
            Type::Variable(other) => {
                let known = self.found(*other).cloned();
                known.is_some_and(|known| self.occurs(variable, &known))
            }
            _ => within.parameters().iter().any(|parameter| self.occurs(variable, parameter)),
        }
    }

    /// Whether the first type says no more than the second.
    fn is_less_specific(&mut self, first: &Type, second: &Type) -> bool {
        self.steps += 1;
        let is_open = |of: &Type| of.is_dyn() || matches!(of, Type::Variable(_));
        if self.is_exhausted() || is_open(first) || is_open(second) {
            return is_open(first);
        }
        match (first, second) {
            (Type::Opaque(name, _), Type::Opaque(other, _)) if name != other => false,
            (Type::Opaque(..), Type::Opaque(..))
            | (Type::List(_), Type::List(_))
            | (Type::Map(_), Type::Map(_)) => {
                let pairs = first.parameters().iter().zip(second.parameters());
                pairs.into_iter().all(|(first, second)| self.is_less_specific(first, second))
            }
            (Type::Type(_), Type::Type(_)) => true,
            _ => first == second,
        }
    }

    /// The more general of two types, of which one can be used as the other.
    pub(super) fn most_general(&mut self, first: &Type, second: &Type) -> Type {
        if self.is_less_specific(first, second) { first.clone() } else { second.clone() }
    }

    /// The type with its variables replaced by what they stand for, and others left as they are.
    pub(super) fn substituted(&mut self, of: &Type) -> Type {
        self.replaced(of, Free::Kept)
    }

    /// The type without variables: dyn for those that stand for nothing.
    pub(super) fn closed(&mut self, of: &Type) -> Type {
        self.replaced(of, Free::Dyn)
    }

    fn replaced(&mut self, of: &Type, free: Free) -> Type {
        self.steps += 1;
        if self.is_exhausted() {
            return Type::Dyn;
        }
        match of {
            Type::Variable(variable) => match (self.found(*variable).cloned(), free) {
                (Some(known), _) => self.replaced(&known, free),
                (None, Free::Dyn) => Type::Dyn,
                (None, Free::Kept) => of.clone(),
            },
            Type::List(element) => Type::list(self.replaced(element, free)),
            Type::Map(parameters) => {
                let [key, value] = &**parameters;
                Type::map(self.replaced(key, free), self.replaced(value, free))
            }
            Type::Opaque(name, parameters) => Type::Opaque(
                name,
                parameters.iter().map(|parameter| self.replaced(parameter, free)).collect(),
            ),
            Type::Type(Some(parameter)) => Type::Type(Some(Arc::new(self.replaced(parameter, free)))),
            _ => of.clone(),
        }
    }
}

/// What becomes of a variable that stands for nothing.
#[derive(Clone, Copy)]
enum Free {
    Kept,
    Dyn,
}
