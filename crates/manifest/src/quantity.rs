//! Amounts of resources.

use k8s_quantity::{ParseError, Quantity, Sign};
use pod_spec::{ResourceList, ResourceName};

use crate::names::is_resource;
use crate::node::{Field, MapEntry};
use crate::{ManifestError, Problem};

/// A mapping of resource names to amounts.
pub(crate) fn resource_list(field: &Field<'_>) -> Result<ResourceList, ManifestError> {
    for MapEntry { key, key_span, .. } in field.entries()? {
        if !is_resource(key) {
            let expected = "a resource such as cpu, hugepages-1Gi or example.com/device";
            let problem = Problem::UnknownField { found: key.to_owned(), expected };
            return Err(field.fail_at(key_span, problem));
        }
    }
    any_resources(field)
}

/// A mapping of any names to any amounts, where what is wrong with them is found out later.
pub(crate) fn any_amounts(field: &Field<'_>) -> Result<ResourceList, ManifestError> {
    let entries = field.entries()?.into_iter();
    entries.map(|entry| Ok((ResourceName::new(entry.key), quantity(&entry.value)?.0))).collect()
}

/// A mapping of any names to amounts, where what is no resource is found out later.
pub(crate) fn any_resources(field: &Field<'_>) -> Result<ResourceList, ManifestError> {
    let entries = field.entries()?.into_iter();
    entries.map(|entry| Ok((ResourceName::new(entry.key), amount(entry.key, &entry.value)?))).collect()
}

/// One amount: zero or more, and such that it fits 64 bits (a CPU's in thousandths).
fn amount(resource: &str, field: &Field<'_>) -> Result<Quantity, ManifestError> {
    let (quantity, text) = quantity(field)?;
    if quantity.sign() == Sign::Negative {
        return Err(field.fail(Problem::NegativeQuantity(text.to_owned())));
    }
    // What does not fit is cut to the largest integer by Kubernetes' binary suffixes, so that one is refused too.
    let scale = if resource == "cpu" { 1000 } else { 1 };
    let most = i128::from(i64::MAX - 1) / scale;
    match quantity.ceil_units() {
        Some(units) if units <= most => Ok(quantity),
        _ => Err(field.fail(Problem::AbsurdQuantity(text.to_owned()))),
    }
}

/// A quantity, bare or quoted, and its text.
pub(crate) fn quantity<'a>(field: &Field<'a>) -> Result<(Quantity, &'a str), ManifestError> {
    // Kubernetes reads `null` as zero.
    if field.is_null() {
        return Ok((Quantity::default(), "0"));
    }
    // Go's decoder trims the JSON text, in which line ends and tabs are escapes.
    let is_blank = |c: char| c.is_whitespace() && (!c.is_control() || c == '\u{85}');
    let text = field.scalar("an amount such as 2, 500m or 1.5Gi")?.trim_matches(is_blank);
    let quantity = text.parse().map_err(|error| {
        field.fail(match error {
            ParseError::TooLarge => Problem::AbsurdQuantity(text.to_owned()),
            error => Problem::Quantity { text: text.to_owned(), error },
        })
    })?;
    Ok((quantity, text))
}
