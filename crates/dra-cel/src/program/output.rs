//! What an expression may give, and derived attributes.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use dra_model::{AttributeValue, Feature};

use crate::checker::attribute_type;
use crate::checker::types::{SEMVER, Type};
use crate::environment::{Environment, Purpose};
use crate::fault::{CompileError, EvaluationError};
use crate::value::{List, Value};

/// Whether the type of an expression suits its purpose.
pub(super) fn check(found: &Type, environment: Environment) -> Result<(), CompileError> {
    let message = match environment.purpose {
        Purpose::Selector if *found == Type::Bool || *found == attribute_type(environment) => return Ok(()),
        Purpose::Selector => format!("must evaluate to bool or the unknown type, not {}", named(found)),
        Purpose::DerivedAttribute => {
            let lists = environment.has(Feature::ListTypeAttributes);
            let element = match found {
                Type::List(element) if lists => element,
                other => other,
            };
            if is_scalar(element) {
                return Ok(());
            }
            let suffix = if lists { " or a list of these scalars" } else { "" };
            let scalars = "must evaluate to a primitive scalar (string, integer, boolean, semver)";
            format!("{scalars}{suffix}, not {}", named(found))
        }
    };
    Err(CompileError(message))
}

fn is_scalar(of: &Type) -> bool {
    of.is_dyn() || matches!(of, Type::Bool | Type::Int | Type::String | Type::Object(SEMVER))
}

/// The type's own name, with its parameters.
fn named(of: &Type) -> String {
    let parameters: Vec<_> = of.parameters().iter().map(named).collect();
    match (of, parameters.is_empty()) {
        (Type::Any, _) => "google.protobuf.Any".to_string(),
        (_, true) => of.runtime_name().to_string(),
        (_, false) => format!("{}({})", of.runtime_name(), parameters.join(", ")),
    }
}

/// A value as an attribute.
pub(super) fn attribute(value: &Value) -> Result<AttributeValue, EvaluationError> {
    Ok(match value {
        Value::Bool(value) => AttributeValue::Bool(*value),
        Value::Int(value) => AttributeValue::Int(*value),
        Value::String(value) => AttributeValue::String(value.to_string()),
        Value::Version(value) => AttributeValue::Version(value.to_string()),
        Value::List(list) => return of_list(list),
        other => return Err(unsupported("CEL return type", other)),
    })
}

fn unsupported(what: &str, value: &Value) -> EvaluationError {
    EvaluationError::Expression(format!("unsupported {what}: {}", value.type_name()))
}

/// The type is that of the first element. An empty list is one of texts.
fn of_list(list: &List) -> Result<AttributeValue, EvaluationError> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.to_string()),
        _ => None,
    };
    let version = |value: &Value| match value {
        Value::Version(version) => Some(version.to_string()),
        _ => None,
    };
    match list.get(0) {
        None => Ok(AttributeValue::Strings(Vec::new())),
        Some(Value::String(_)) => all(list, text).map(AttributeValue::Strings),
        Some(Value::Version(_)) => all(list, version).map(AttributeValue::Versions),
        Some(Value::Bool(_)) => all(list, |value| match value {
            Value::Bool(value) => Some(*value),
            _ => None,
        })
        .map(AttributeValue::Bools),
        Some(Value::Int(_)) => all(list, |value| match value {
            Value::Int(value) => Some(*value),
            _ => None,
        })
        .map(AttributeValue::Ints),
        Some(other) => Err(unsupported("list element type", other)),
    }
}

fn all<T>(list: &List, of: impl Fn(&Value) -> Option<T>) -> Result<Vec<T>, EvaluationError> {
    let element = |(at, value)| {
        of(value).ok_or_else(|| {
            let message = format!("expected list element at index {at} to be of the type of the first");
            EvaluationError::Expression(message)
        })
    };
    list.iter().enumerate().map(element).collect()
}
