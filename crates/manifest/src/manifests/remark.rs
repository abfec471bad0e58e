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
    /// Those on one of Kubernetes' own workloads.
    pub(super) fn on(kind: Kind, object: &Field<'_>, name: &str) -> Result<Vec<Self>, ManifestError> {
        let mut texts = Vec::new();
        if kind.is_suspended(object)? {
            texts.push("it is suspended: it makes no pods until it is resumed".to_owned());
        } else if kind.replicas(object)?.count == 0 {
            texts.push(kind.without_pods().to_owned());
        }
        texts.extend(lacking(kind, object)?);
        let remark = |text| Self { kind: kind.name().to_owned(), name: name.to_owned(), text };
        Ok(texts.into_iter().map(remark).collect())
    }
}

/// What a workload lacks that an API server wants: a patch has no selector, or containers without an image. A Pod is rarely a patch,
/// and what its image is decides nothing here.
fn lacking(kind: Kind, object: &Field<'_>) -> Result<Option<String>, ManifestError> {
    if kind == Kind::Pod {
        return Ok(None);
    }
    let has_selector = !kind.has_selector() || object.descend(&["spec", "selector"])?.is_some();
    let template = object.descend(kind.template())?.unwrap_or_else(|| object.clone());
    let mut bare = Vec::new();
    for list in ["initContainers", "containers"] {
        let containers = template.descend(&["spec", list])?;
        for container in containers.map_or(Ok(Vec::new()), |list| list.items())? {
            if container.get("image")?.is_none_or(|image| image.text("").is_ok_and(str::is_empty)) {
                let name = container.get("name")?.map_or(Ok(""), |name| name.text("a name"))?;
                bare.push(name.to_owned());
            }
        }
    }
    let images = match bare.as_slice() {
        [] => None,
        [only] => Some(format!("container {only} has no image")),
        several => Some(format!("containers {} have no image", several.join(", "))),
    };
    let lacks = match (has_selector, images) {
        (true, None) => return Ok(None),
        (true, Some(images)) => images,
        (false, None) => "it has no selector".to_owned(),
        (false, Some(images)) => format!("it has no selector, and {images}"),
    };
    Ok(Some(format!(
        "{lacks}: an API server refuses it; if it is a patch, give what `kubectl kustomize FOLDER` makes of it"
    )))
}
