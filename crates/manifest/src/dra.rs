//! Objects of `resource.k8s.io`: slices of devices, device classes, claims, templates of claims, taint rules.
//!
//! An object is read as an API server of Kubernetes v1.37.2 decodes it: in versions `v1`, `v1beta2` and `v1beta1`, with
//! defaults filled in, and with unknown fields ignored, which is noted. Whether it is valid is decided elsewhere.

mod shapes;
mod version;
mod time;
mod object;
mod common;
mod slice;
mod class;
mod allocation;
mod claim;
mod lists;
mod checked;
mod written;

use dra_model::{DeviceClass, DeviceTaintRule, ResourceClaim, ResourceClaimTemplate, ResourceSlice};

pub use self::checked::{CheckedObjects, ObjectFindings};
pub use self::lists::{check_resource_objects, read_resource_objects};
use self::object::{Log, Object};
use self::version::{GROUP, Kind};
use crate::node::Field;
use crate::yaml::{RepeatedKey, documents};
use crate::{ManifestError, Problem, Refusal, Source, Warning};

/// The objects of a text, each kind in its order.
#[derive(Clone, Debug, Default)]
pub struct ResourceObjects {
    /// `ResourceSlice`.
    pub slices: Vec<ResourceSlice>,
    /// `DeviceClass`.
    pub classes: Vec<DeviceClass>,
    /// `ResourceClaim`.
    pub claims: Vec<ResourceClaim>,
    /// `ResourceClaimTemplate`.
    pub templates: Vec<ResourceClaimTemplate>,
    /// `DeviceTaintRule`.
    pub taint_rules: Vec<DeviceTaintRule>,
    /// Objects of `resource.k8s.io` that an API server cannot decode.
    pub refused: Vec<Refusal>,
    /// Fields that their objects do not have and that were ignored.
    pub unknown_fields: Vec<Warning>,
}

/// One object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ResourceObject {
    /// `ResourceSlice`.
    Slice(Box<ResourceSlice>),
    /// `DeviceClass`.
    Class(Box<DeviceClass>),
    /// `ResourceClaim`.
    Claim(Box<ResourceClaim>),
    /// `ResourceClaimTemplate`.
    Template(Box<ResourceClaimTemplate>),
    /// `DeviceTaintRule`.
    TaintRule(Box<DeviceTaintRule>),
}

impl ResourceObjects {
    fn push(&mut self, object: ResourceObject) {
        match object {
            ResourceObject::Slice(slice) => self.slices.push(*slice),
            ResourceObject::Class(class) => self.classes.push(*class),
            ResourceObject::Claim(claim) => self.claims.push(*claim),
            ResourceObject::Template(template) => self.templates.push(*template),
            ResourceObject::TaintRule(rule) => self.taint_rules.push(*rule),
        }
    }
}

/// Reads the one object of a text of at most 1 MiB.
///
/// # Errors
/// Why an API server cannot decode it ([`ManifestError::decoder_text`] has its words), or that there is another one.
pub fn read_resource_object(source: &Source<'_>) -> Result<ResourceObject, ManifestError> {
    const ONE: &str = "one object of resource.k8s.io";
    let nodes = documents(source, RepeatedKey::LastCounts)?;
    let [node] = nodes.as_slice() else {
        return Err(ManifestError::at(
            source,
            "",
            &(0..0),
            Problem::Unexpected { found: "several objects".to_owned(), expected: ONE },
        ));
    };
    let object = Field::document(source, node);
    let header = Header::read(&object)?;
    let (read, _) = decode(&object, &header)?;
    Ok(read)
}

/// What an object says that it is, or what its list implies.
#[derive(Clone)]
struct Header {
    api_version: String,
    kind: String,
}

impl Header {
    fn read(object: &Field<'_>) -> Result<Self, ManifestError> {
        let text = |key, expected| {
            let field = object.require(key, expected)?;
            let text = field.text(expected)?;
            if text.is_empty() {
                return Err(object.fail(Problem::Missing { field: key, expected }));
            }
            Ok(text.to_owned())
        };
        let kind = text("kind", "the object's kind, such as ResourceClaim")?;
        Ok(Self { kind, api_version: text("apiVersion", "the kind's version, such as resource.k8s.io/v1")? })
    }
}

/// The object, and its fields that were ignored.
fn decode(object: &Field<'_>, header: &Header) -> Result<(ResourceObject, Vec<Warning>), ManifestError> {
    let Header { api_version, kind } = header;
    let Some(found) = Kind::find(api_version, kind) else {
        return Err(object.fail(Problem::NoSuchKind { kind: kind.clone(), version: api_version.clone() }));
    };
    let version = api_version.strip_prefix(GROUP).unwrap_or_default();
    let log = Log::default();
    let root = Object::root(object.clone(), found.shape(), version, &log);
    let read = match found {
        Kind::Slice => ResourceObject::Slice(Box::new(slice::slice(&root))),
        Kind::Class => ResourceObject::Class(Box::new(class::class(&root))),
        Kind::Claim => ResourceObject::Claim(Box::new(claim::claim(&root))),
        Kind::Template => ResourceObject::Template(Box::new(claim::template(&root))),
        Kind::TaintRule => ResourceObject::TaintRule(Box::new(class::taint_rule(&root))),
    };
    match log.close() {
        (Some(error), _) => Err(error),
        (None, unknown) => Ok((read, unknown)),
    }
}

#[cfg(test)]
mod tests;
