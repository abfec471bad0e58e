//! Paths in objects of which some parts are lists: `spec.tasks[].template`.
//!
//! Keys with dots between them, or nothing: the object itself. Behind a key `[]` means each member of its list, and `{}`
//! each value of its mapping.

use crate::ManifestError;
use crate::node::Field;

/// A place that a path leads to.
#[derive(Clone, Debug)]
pub(super) struct Place<'a> {
    pub(super) field: Field<'a>,
    /// Which members of lists and mappings the path took, in its order.
    pub(super) members: Vec<usize>,
    /// What the last of those is called: a member's `name` or `groupName`, or a mapping's key; else empty.
    pub(super) name: String,
}

/// What a step of a path takes of the value of its key.
#[derive(Clone, Copy)]
enum Take {
    Value,
    Items,
    Entries,
}

/// A step as its key and what it takes.
fn step(text: &str) -> (&str, Take) {
    let key = |end| text.strip_suffix(end);
    match (key("[]"), key("{}")) {
        (Some(key), _) => (key, Take::Items),
        (_, Some(key)) => (key, Take::Entries),
        (None, None) => (text, Take::Value),
    }
}

/// Every place that a path leads to, in the order of the text.
///
/// # Errors
/// Something on the path is of another type.
pub(super) fn places<'a>(object: &Field<'a>, path: &str) -> Result<Vec<Place<'a>>, ManifestError> {
    let mut found = vec![Place { field: object.clone(), members: Vec::new(), name: String::new() }];
    for text in path.split('.').filter(|text| !text.is_empty()) {
        let (key, take) = step(text);
        let mut next = Vec::new();
        for place in found {
            let Some(field) = place.field.get(key)? else { continue };
            let members: Vec<(Field<'_>, String)> = match take {
                Take::Value => {
                    next.push(Place { field, ..place });
                    continue;
                }
                Take::Items => {
                    let items = field.items()?.into_iter();
                    items
                        .map(|item| Ok((item.clone(), member_name(&item)?)))
                        .collect::<Result<_, ManifestError>>()?
                }
                Take::Entries => {
                    let entries = field.entries()?.into_iter();
                    entries.map(|entry| (entry.value, entry.key.to_ascii_lowercase())).collect()
                }
            };
            next.extend(members.into_iter().enumerate().map(|(at, (field, name))| {
                let members = place.members.iter().copied().chain([at]).collect();
                Place { field, members, name }
            }));
        }
        found = next;
    }
    Ok(found)
}

/// The place of another path in the members that a first one took; `None` where it has none.
pub(super) fn beside<'a>(
    object: &Field<'a>,
    path: &str,
    members: &[usize],
) -> Result<Option<Field<'a>>, ManifestError> {
    let mut members = members.iter().copied();
    let mut at = object.clone();
    for text in path.split('.') {
        let (key, take) = step(text);
        let Some(field) = at.get(key)? else { return Ok(None) };
        let member = match take {
            Take::Value => Some(field),
            Take::Items => members.next().and_then(|at| field.items().ok()?.into_iter().nth(at)),
            Take::Entries => {
                members.next().and_then(|at| field.entries().ok()?.into_iter().nth(at)).map(|of| of.value)
            }
        };
        let Some(member) = member else { return Ok(None) };
        at = member;
    }
    Ok(Some(at))
}

fn member_name(member: &Field<'_>) -> Result<String, ManifestError> {
    if !member.is_mapping() {
        return Ok(String::new());
    }
    for key in ["name", "groupName"] {
        if let Some(name) = member.get(key)? {
            return Ok(name.text("a name").unwrap_or_default().to_owned());
        }
    }
    Ok(String::new())
}
