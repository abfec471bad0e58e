//! New objects as an API server of 1.37.2 with default gates judges them.

use dra_model::Features;
use dra_validation::{AdminNamespace, ApiServer, FieldError, slice_warnings};
use serde_json::{Value, json};
use topology_manifest::{ResourceObject, Source, read_resource_object};

use crate::case::{Case, Outcome};
use crate::corpus::Corpus;

pub(super) fn validate(_: &Corpus, case: &Case) -> Outcome {
    let text = case.input["object"].to_string();
    let source = Source { name: "case", text: &text };
    let object = match read_resource_object(&source) {
        Ok(object) => object,
        Err(error) => return case.compare(json!({ "decode_error": error.decoder_text(&source) })),
    };
    if is_elsewhere(&object) {
        let error = "the namespace of the provided object does not match the namespace sent on the request";
        return case.compare(json!({ "error": error }));
    }
    let is_labelled = case.input["adminNamespace"].as_bool() == Some(true);
    let namespace = if is_labelled { AdminNamespace::Labelled } else { AdminNamespace::Other };
    case.compare(judged(&object, namespace))
}

/// Claims are created in `default`; of other objects the API server drops the namespace.
fn is_elsewhere(object: &ResourceObject) -> bool {
    let namespace = match object {
        ResourceObject::Claim(claim) => &claim.metadata.namespace,
        ResourceObject::Template(template) => &template.metadata.namespace,
        ResourceObject::Slice(_) | ResourceObject::Class(_) | ResourceObject::TaintRule(_) => return false,
    };
    !namespace.is_empty() && namespace != "default"
}

fn judged(object: &ResourceObject, namespace: AdminNamespace) -> Value {
    let server = ApiServer { features: Features::DEFAULT };
    let (errors, warnings) = match object {
        ResourceObject::Slice(slice) => (server.slice(slice), slice_warnings(slice)),
        ResourceObject::Class(class) => (server.class(class), Vec::new()),
        ResourceObject::Claim(claim) => (server.claim(claim, namespace), Vec::new()),
        ResourceObject::Template(template) => (server.template(template, namespace), Vec::new()),
        ResourceObject::TaintRule(rule) => (server.taint_rule(rule), Vec::new()),
    };
    if !errors.is_empty() {
        return json!({ "errors": errors.iter().map(described).collect::<Vec<_>>() });
    }
    let mut accepted = json!({ "accepted": true });
    if !warnings.is_empty() {
        accepted["warnings"] = json!(warnings);
    }
    accepted
}

fn described(error: &FieldError) -> Value {
    json!({ "field": error.field, "type": error.kind.reason(), "message": error.message })
}
