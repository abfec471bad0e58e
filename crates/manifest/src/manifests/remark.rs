//! Notes on objects that make pods.

use core::fmt;

use crate::ManifestError;
use crate::node::Field;
use crate::problem::Quoted;
use crate::workload::Kind;

/// A note on an object that makes pods, such as that its replicas are not known. Displays as one line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Remark {
    /// Its kind.
    pub kind: String,
    /// Its name; may be empty.
    pub name: String,
    /// The note, as a fragment behind kind and name.
    pub text: String,
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, name, text } = self;
        write!(f, "{kind} {}: {text}", Quoted(name))
    }
}

impl Remark {
    /// Of one of Kubernetes' own workloads.
    pub(super) fn on(kind: Kind, object: &Field<'_>, name: &str) -> Result<Option<Self>, ManifestError> {
        let text = if kind.is_suspended(object)? {
            "it is suspended: it makes no pods until it is resumed"
        } else if is_patch(kind, object)? {
            "it has no selector and its containers no image: if it is a patch, give what `kubectl kustomize FOLDER` makes of it"
        } else {
            return Ok(None);
        };
        Ok(Some(Self { kind: kind.name().to_owned(), name: name.to_owned(), text: text.to_owned() }))
    }
}

/// Whether an object lacks what each of its kind has that an API server takes.
fn is_patch(kind: Kind, object: &Field<'_>) -> Result<bool, ManifestError> {
    if !kind.has_selector() || object.descend(&["spec", "selector"])?.is_some() {
        return Ok(false);
    }
    let template = object.descend(kind.template())?;
    let spec = template.map_or(Ok(None), |template| template.get("spec"))?;
    let containers = spec.map_or(Ok(None), |spec| spec.get("containers"))?;
    let containers = containers.map_or(Ok(Vec::new()), |list| list.items())?;
    Ok(containers.iter().all(|container| container.node.value.get("image").is_none()))
}
