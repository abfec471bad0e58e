//! Gives each node its type and each call its overloads.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;

use dra_model::Feature;

use super::declarations::overloads;
use super::signatures::{Style, signature};
use super::types::{DEVICE, QUANTITY, Type};
use super::unification::Unification;
use crate::environment::Environment;
use crate::fault::Place;
use crate::syntax::expression::{
    Call, Comprehension, Element, Entry, Expression, Kind, Literal, Need, Select, Wanted,
};

/// What is known of each node, by its id.
#[derive(Debug)]
pub(crate) struct Checked {
    types: Vec<Option<Type>>,
    overloads: Vec<Vec<&'static str>>,
}

impl Checked {
    /// The type of a node; dyn for nodes that were replaced.
    pub(crate) fn type_of(&self, expression: &Expression) -> &Type {
        self.types.get(expression.id).and_then(Option::as_ref).unwrap_or(&Type::Dyn)
    }

    /// The overloads that a call may have.
    pub(crate) fn overloads(&self, call: &Expression) -> &[&'static str] {
        self.overloads.get(call.id).map_or(&[], Vec::as_slice)
    }
}

/// Checks an expression with `count` ids. Names of functions become whole ones: `optional.of(x)` is no call on `optional`.
pub(crate) fn check(
    expression: &mut Expression,
    count: usize,
    environment: Environment,
) -> Result<Checked, Place> {
    let checked = Checked { types: vec![None; count], overloads: vec![Vec::new(); count] };
    let mut checker =
        Checker { environment, checked, unification: Unification::default(), scopes: Vec::new() };
    checker.check(expression)?;
    let Checker { mut checked, mut unification, .. } = checker;
    for found in checked.types.iter_mut().flatten() {
        *found = unification.closed(found);
    }
    if unification.is_exhausted() {
        return Err(Place::new(0, "the types of the expression are too complex"));
    }
    Ok(checked)
}

struct Variable {
    name: String,
    declared: Type,
}

struct Checker {
    environment: Environment,
    checked: Checked,
    unification: Unification,
    scopes: Vec<Variable>,
}

/// The type of an attribute's value.
pub(crate) fn attribute_type(environment: Environment) -> Type {
    if environment.has(Feature::ListTypeAttributes) { Type::Dyn } else { Type::Any }
}

fn device_field(environment: Environment, field: &str) -> Option<Type> {
    let by_domain = |value: Type| Type::map(Type::String, Type::map(Type::String, value));
    let has_allocations = environment.has(Feature::ConsumableCapacity);
    match field {
        "driver" => Some(Type::String),
        "attributes" => Some(by_domain(attribute_type(environment))),
        "capacity" => Some(by_domain(Type::Object(QUANTITY))),
        "allowMultipleAllocations" if has_allocations => Some(Type::Bool),
        _ => None,
    }
}

impl Checker {
    fn known(&self, expression: &Expression) -> Type {
        self.checked.type_of(expression).clone()
    }

    fn check(&mut self, expression: &mut Expression) -> Result<Type, Place> {
        let found = self.kind(expression)?;
        if self.unification.is_exhausted() {
            return Err(Place::new(expression.offset, "the types of the expression are too complex"));
        }
        if let Some(place) = self.checked.types.get_mut(expression.id) {
            *place = Some(found.clone());
        }
        Ok(found)
    }

    fn kind(&mut self, expression: &mut Expression) -> Result<Type, Place> {
        let (id, offset) = (expression.id, expression.offset);
        if let Some(name) = self.qualified_type(expression) {
            let found = Type::Type(Type::named(&name).map(Into::into));
            expression.kind = Kind::Identifier(name);
            return Ok(found);
        }
        match &mut expression.kind {
            Kind::Literal(literal) => Ok(of_literal(literal)),
            Kind::Identifier(name) => self.identifier(name, offset),
            Kind::Select(select) => self.select(select, offset),
            Kind::Call(call) => self.call(call, id, offset),
            Kind::List(elements) => self.list(elements),
            Kind::Map(entries) => self.map(entries),
            Kind::Message(name) => Err(undeclared(offset, name)),
            Kind::Comprehension(comprehension) => self.comprehension(comprehension),
        }
    }

    /// `net.IP` is the name of a type, unless `net` is a variable.
    fn qualified_type(&self, expression: &Expression) -> Option<String> {
        let Kind::Select(select) = &expression.kind else { return None };
        if select.wanted == Wanted::Presence {
            return None;
        }
        let name = qualified_name(expression)?;
        let first = name.split('.').next()?;
        let is_variable = first == "device" || self.scopes.iter().any(|variable| variable.name == first);
        (!is_variable && Type::named(&name).is_some()).then_some(name)
    }

    fn identifier(&self, name: &mut String, offset: usize) -> Result<Type, Place> {
        let global = name.strip_prefix('.');
        let local = self.scopes.iter().rev().find(|variable| variable.name == *name);
        if let (Some(variable), None) = (local, global) {
            return Ok(variable.declared.clone());
        }
        let plain = global.unwrap_or(name);
        if plain == "device" {
            return Ok(Type::Object(DEVICE));
        }
        let named = Type::named(plain).ok_or_else(|| undeclared(offset, name))?;
        Ok(Type::Type(Some(named.into())))
    }

    fn select(&mut self, select: &mut Select, offset: usize) -> Result<Type, Place> {
        self.check(&mut select.operand)?;
        let found = self.field(&select.operand, &select.field, offset)?;
        let found = if select.wanted == Wanted::Presence { Type::Bool } else { found };
        Ok(self.unification.substituted(&found))
    }

    /// The type of a field of a node; that of an optional's field is optional.
    fn field(&mut self, operand: &Expression, field: &str, offset: usize) -> Result<Type, Place> {
        let known = self.known(operand);
        let operand = self.unification.substituted(&known);
        let target = operand.unwrapped().unwrap_or(&operand);
        let found = match target {
            Type::Map(parameters) => parameters[1].clone(),
            Type::Object(DEVICE) => device_field(self.environment, field)
                .ok_or_else(|| Place::new(offset, format!("undefined field '{field}'")))?,
            Type::Object(_) => return Err(Place::new(offset, format!("undefined field '{field}'"))),
            Type::Variable(_) => {
                self.unification.assignable(&[Type::Dyn], core::slice::from_ref(target));
                Type::Dyn
            }
            _ if target.is_dyn() => Type::Dyn,
            _ => {
                let message = format!("type '{target}' does not support field selection");
                return Err(Place::new(offset, message));
            }
        };
        Ok(if operand.unwrapped().is_some() { Type::optional(found) } else { found })
    }

    fn call(&mut self, call: &mut Call, id: usize, offset: usize) -> Result<Type, Place> {
        if call.function == "_?._" {
            return self.optional_field(call, id, offset);
        }
        for argument in &mut call.arguments {
            self.check(argument)?;
        }
        if let Some(target) = &mut call.target {
            let whole = qualified_name(target).map(|prefix| format!("{prefix}.{}", call.function));
            let whole = whole.map(|name| name.trim_start_matches('.').to_string());
            match whole.filter(|name| overloads(name, self.environment).next().is_some()) {
                Some(name) => {
                    call.function = name;
                    call.target = None;
                }
                None => {
                    self.check(target)?;
                }
            }
        } else if let Some(plain) = call.function.strip_prefix('.') {
            call.function = plain.to_string();
        }
        self.resolve(call, id, offset)
    }

    fn optional_field(&mut self, call: &mut Call, id: usize, offset: usize) -> Result<Type, Place> {
        let [operand, field] = &mut *call.arguments else {
            return Err(Place::new(offset, "unsupported optional field selection"));
        };
        self.check(operand)?;
        let Kind::Literal(Literal::String(name)) = &field.kind else {
            return Err(Place::new(offset, "unsupported optional field selection"));
        };
        let found = self.field(operand, name, offset)?;
        let found = if found.unwrapped().is_some() && self.is_optional(operand) {
            found
        } else {
            Type::optional(found)
        };
        self.note(id, vec!["select_optional_field"]);
        Ok(self.unification.substituted(&found))
    }

    fn is_optional(&mut self, expression: &Expression) -> bool {
        let known = self.known(expression);
        self.unification.substituted(&known).unwrapped().is_some()
    }

    fn note(&mut self, id: usize, overloads: Vec<&'static str>) {
        if let Some(place) = self.checked.overloads.get_mut(id) {
            *place = overloads;
        }
    }

    fn resolve(&mut self, call: &Call, id: usize, offset: usize) -> Result<Type, Place> {
        if overloads(&call.function, self.environment).next().is_none() {
            return Err(undeclared(offset, &call.function));
        }
        let style = if call.target.is_some() { Style::Member } else { Style::Global };
        let nodes = call.target.as_deref().into_iter().chain(&call.arguments);
        let given: Vec<_> = nodes.clone().map(|node| self.known(node)).collect();
        if matches!(&*call.function, "_&&_" | "_||_") {
            return self.logic(call, &given, id);
        }
        let mut matching = Vec::new();
        let mut result: Option<Type> = None;
        for overload in overloads(&call.function, self.environment) {
            let Some(signature) = signature(overload.signature, &mut self.unification) else { continue };
            if signature.style != style || !self.unification.assignable(&given, &signature.arguments) {
                continue;
            }
            matching.push(overload.overload);
            let found = self.unification.substituted(&signature.result);
            result = Some(match result {
                None => found,
                Some(other) if other.is_dyn() || other == found => other,
                Some(_) => Type::Dyn,
            });
        }
        self.note(id, matching);
        result.ok_or_else(|| self.no_overload(call, &given, offset))
    }

    fn logic(&mut self, call: &Call, given: &[Type], id: usize) -> Result<Type, Place> {
        for (argument, found) in call.arguments.iter().zip(given) {
            if !self.unification.assignable(core::slice::from_ref(found), &[Type::Bool]) {
                return Err(mismatch(argument.offset, &Type::Bool, found));
            }
        }
        self.note(id, vec![if call.function == "_&&_" { "logical_and" } else { "logical_or" }]);
        Ok(Type::Bool)
    }

    fn no_overload(&mut self, call: &Call, given: &[Type], offset: usize) -> Place {
        let shown: Vec<_> = given.iter().map(|given| self.unification.closed(given).to_string()).collect();
        let applied = match (&call.target, shown.split_first()) {
            (Some(_), Some((target, rest))) => format!("{target}.({})", rest.join(", ")),
            _ => format!("({})", shown.join(", ")),
        };
        let function = &call.function;
        Place::new(offset, format!("found no matching overload for '{function}' applied to '{applied}'"))
    }

    fn list(&mut self, elements: &mut [Element]) -> Result<Type, Place> {
        let mut joined = None;
        for element in elements {
            let found = self.check(&mut element.value)?;
            let found = Self::needed(&element.value, found, element.need)?;
            joined = Some(self.joined(&element.value, joined, found)?);
        }
        Ok(Type::list(joined.unwrap_or_else(|| self.unification.fresh())))
    }

    fn map(&mut self, entries: &mut [Entry]) -> Result<Type, Place> {
        let (mut keys, mut values) = (None, None);
        for entry in entries {
            let key = self.check(&mut entry.key)?;
            keys = Some(self.joined(&entry.key, keys, key)?);
            let value = self.check(&mut entry.value)?;
            let value = Self::needed(&entry.value, value, entry.need)?;
            values = Some(self.joined(&entry.value, values, value)?);
        }
        let key = keys.unwrap_or_else(|| self.unification.fresh());
        let value = values.unwrap_or_else(|| self.unification.fresh());
        Ok(Type::map(key, value))
    }

    /// The type of an element or value: what an optional one holds.
    fn needed(node: &Expression, found: Type, need: Need) -> Result<Type, Place> {
        match (need, found.unwrapped()) {
            (Need::Required, _) => Ok(found),
            (Need::Optional, Some(inner)) => Ok(inner.clone()),
            (Need::Optional, None) if found.is_dyn() => Ok(found),
            (Need::Optional, None) => Err(mismatch(node.offset, &Type::optional(found.clone()), &found)),
        }
    }

    fn joined(&mut self, node: &Expression, before: Option<Type>, found: Type) -> Result<Type, Place> {
        let Some(before) = before else { return Ok(found) };
        if self.unification.assignable(core::slice::from_ref(&before), core::slice::from_ref(&found)) {
            return Ok(self.unification.most_general(&before, &found));
        }
        let (before, found) = (self.unification.closed(&before), self.unification.closed(&found));
        Err(mismatch(node.offset, &before, &found))
    }

    fn comprehension(&mut self, of: &mut Box<Comprehension>) -> Result<Type, Place> {
        let range = self.check(&mut of.range)?;
        let accumulator = self.check(&mut of.initial)?;
        let range = self.unification.substituted(&range);
        let (first, second) = self.iterated(of, &range)?;
        self.scopes.push(Variable { name: of.accumulator.clone(), declared: accumulator.clone() });
        let outer = self.scopes.len();
        self.scopes.push(Variable { name: of.variable.clone(), declared: first });
        if let Some(name) = &of.second {
            self.scopes.push(Variable { name: name.clone(), declared: second });
        }
        self.expect(&mut of.condition, &Type::Bool)?;
        self.expect(&mut of.step, &accumulator)?;
        self.scopes.truncate(outer);
        let result = self.check(&mut of.result)?;
        self.scopes.pop();
        Ok(self.unification.substituted(&result))
    }

    /// The types of the one or two variables of a loop.
    fn iterated(&mut self, of: &Comprehension, range: &Type) -> Result<(Type, Type), Place> {
        match range {
            Type::List(element) if of.second.is_some() => Ok((Type::Int, Type::clone(element))),
            Type::List(element) => Ok((Type::clone(element), Type::Dyn)),
            Type::Map(parameters) => Ok((parameters[0].clone(), parameters[1].clone())),
            Type::Dyn | Type::Variable(_) => {
                self.unification.assignable(&[Type::Dyn], core::slice::from_ref(range));
                Ok((Type::Dyn, Type::Dyn))
            }
            _ => {
                let message = format!(
                    "expression of type '{range}' cannot be range of a comprehension (must be list, map, or dynamic)"
                );
                Err(Place::new(of.range.offset, message))
            }
        }
    }

    fn expect(&mut self, expression: &mut Expression, wanted: &Type) -> Result<(), Place> {
        let found = self.check(expression)?;
        let fits = self.unification.assignable(core::slice::from_ref(wanted), core::slice::from_ref(&found));
        if fits { Ok(()) } else { Err(mismatch(expression.offset, wanted, &found)) }
    }
}

fn of_literal(literal: &Literal) -> Type {
    match literal {
        Literal::Null => Type::Null,
        Literal::Bool(_) => Type::Bool,
        Literal::Int(_) => Type::Int,
        Literal::Uint(_) => Type::Uint,
        Literal::Double(_) => Type::Double,
        Literal::String(_) => Type::String,
        Literal::Bytes(_) => Type::Bytes,
    }
}

/// `a.b.c`, if a node consists of names only.
fn qualified_name(expression: &Expression) -> Option<String> {
    match &expression.kind {
        Kind::Identifier(name) => Some(name.clone()),
        Kind::Select(select) if select.wanted == Wanted::Value => {
            Some(format!("{}.{}", qualified_name(&select.operand)?, select.field))
        }
        _ => None,
    }
}

fn undeclared(offset: usize, name: &str) -> Place {
    Place::new(offset, format!("undeclared reference to '{name}' (in container '')"))
}

fn mismatch(offset: usize, wanted: &Type, found: &Type) -> Place {
    Place::new(offset, format!("expected type '{wanted}' but found '{found}'"))
}
