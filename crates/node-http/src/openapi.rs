//! The description of the HTTP interface, as `OpenAPI` 3.1 (<https://spec.openapis.org/oas/v3.1.1>), of the table of
//! operations and of the types that are written and read.

use std::sync::LazyLock;

use node_output::schema::{Form, generator, simplify};
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::containers::{ExitedBody, StartedBody};
use super::events::LAST_EVENT_ID;
use super::operations::{Access, Answer, Described, ERROR, OPERATIONS, Operation, Sent};
use super::query::{Parameter, Values};
use super::resize::ResizeBody;
use node_output::http::{FILE, OUTCOME};

/// Where types are defined in the description.
const SCHEMAS: &str = "#/components/schemas/";

/// What the interface is called by generators of clients and by readers.
const ABOUT: &str = "\
One Linux node whose CPUs, memory and devices are allocated by NUMA node, as topolet serve decides on it, or as it watches \
a kubelet do it with --observe. Requests come in on a unix socket (`curl --unix-socket /var/lib/topolet/topolet.sock \
http://localhost/v1/pods`) and with --tcp on a loopback address. Over TCP a Host or Origin that is not this host is refused.

Who asks more than its share at once is answered 503 with `Retry-After`. A query parameter that the path does not take is an \
error, and nothing is done then. There are no conditional requests: every answer is made for its request.

Other paths below `/v1` are those of the page at `/`. They change with it, and are no part of this interface.";

/// The description as `GET /openapi.json` gives it.
pub(super) fn written() -> &'static str {
    static WRITTEN: LazyLock<String> = LazyLock::new(|| format!("{:#}\n", interface()));
    &WRITTEN
}

/// The forms of all documents that a daemon writes.
pub fn forms() -> impl Iterator<Item = Form> {
    let written = OPERATIONS.iter().filter_map(|operation| operation.answer.document());
    written.map(|described| described.form).chain([ERROR])
}

/// The description.
#[must_use]
pub fn interface() -> Value {
    let mut generator = generator(SCHEMAS);
    let mut named = Map::new();
    let mut paths = Map::new();
    named.insert("Error".to_owned(), ERROR.schema(&mut generator).to_value());
    named.insert("Manifest".to_owned(), manifest());
    for operation in &OPERATIONS {
        if let Some(Described { name, form, .. }) = operation.answer.document() {
            let mut schema = form.schema(&mut generator);
            schema.remove("title");
            named.insert((*name).to_owned(), schema.to_value());
        }
        let sent = sent(operation.sent, &mut generator);
        let methods = paths.entry(operation.path).or_insert_with(|| json!({}));
        methods[operation.verb.name()] = method(operation, sent);
    }
    named.extend(generator.take_definitions(true));
    let mut schemas = Value::Object(named);
    simplify(&mut schemas);
    json!({
        "openapi": "3.1.1",
        "info": {
            "title": "topolet",
            "summary": "A NUMA-aware resource manager for one Linux node.",
            "description": ABOUT,
            "version": "v1alpha1",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": "/", "description": "The node that serves this document." }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The first line of --token-file. TCP needs it to change something; on the socket root and \
                                    the daemon's user may do so without it.",
                },
            },
        },
    })
}

fn method(operation: &Operation, sent: Option<Value>) -> Value {
    let mut method = json!({
        "operationId": operation.id,
        "summary": operation.summary,
        "parameters": parameters(operation),
        "responses": responses(operation),
        // Nothing is needed where `{}` is among the choices.
        "security": match operation.access {
            Access::Look => json!([{}]),
            Access::Change => json!([{ "token": [] }, {}]),
        },
    });
    if !operation.about.is_empty() {
        method["description"] = operation.about.into();
    }
    if let Some(sent) = sent {
        method["requestBody"] = sent;
    }
    method
}

fn parameters(operation: &Operation) -> Vec<Value> {
    let parts = operation.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let in_path = parts.map(|name| {
        let about = match name {
            "namespace" => "The pod's namespace.",
            "name" => "The pod's name.",
            _ => "The container's name.",
        };
        json!({ "name": name, "in": "path", "required": true, "description": about, "schema": { "type": "string" } })
    });
    let in_query = operation.query.iter().map(parameter);
    let mut in_head = Vec::new();
    if operation.sent == Sent::Manifests {
        in_head.push(json!({
            "name": FILE,
            "in": "header",
            "description": "What messages call the body: the name of the file that it comes from.",
            "schema": { "type": "string" },
        }));
    }
    if matches!(operation.answer, Answer::Events(_)) {
        in_head.push(json!({
            "name": LAST_EVENT_ID.as_str(),
            "in": "header",
            "description": "A stream goes on after the event of this number; it comes before `after`.",
            "schema": { "type": "integer", "minimum": 0 },
        }));
    }
    in_path.chain(in_query).chain(in_head).collect()
}

fn parameter(Parameter { name, values, about }: &Parameter) -> Value {
    let schema = match values {
        Values::OneOf(names) => json!({ "type": "string", "enum": names }),
        Values::Number(least, None) => json!({ "type": "integer", "minimum": least }),
        Values::Number(least, Some(most)) => json!({ "type": "integer", "minimum": least, "maximum": most }),
        Values::Text => json!({ "type": "string" }),
    };
    json!({ "name": name, "in": "query", "description": about, "schema": schema })
}

fn sent(sent: Sent, generator: &mut SchemaGenerator) -> Option<Value> {
    let (schema, about) = match sent {
        Sent::Nothing => return None,
        Sent::Manifests => {
            let about = "Pods, and objects that make pods, as kubectl takes them: one object, a `List`, or YAML documents. At \
                         most 1 MiB. The type of the content is not looked at.";
            return Some(json!({
                "required": true,
                "description": about,
                "content": {
                    "application/json": { "schema": { "$ref": format!("{SCHEMAS}Manifest") } },
                    "application/yaml": { "schema": { "type": "string" } },
                },
            }));
        }
        Sent::Resize => (read::<ResizeBody>(generator), "The new amounts."),
        Sent::Started => {
            (read::<StartedBody>(generator), "The container, with its cgroup or a process of it.")
        }
        Sent::Exited => (read::<ExitedBody>(generator), "The container."),
    };
    let content = json!({ "application/json": { "schema": schema } });
    Some(json!({ "required": true, "description": about, "content": content }))
}

/// The schema of a body, which is read and not written.
fn read<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().for_deserialize();
    let mut reader = settings.with(|settings| settings.definitions_path = SCHEMAS.into()).into_generator();
    let schema = T::json_schema(&mut reader);
    let name = T::schema_name().into_owned();
    generator.definitions_mut().insert(name.clone(), schema.to_value());
    generator.definitions_mut().extend(reader.take_definitions(true));
    json!({ "$ref": format!("{SCHEMAS}{name}") })
}

/// An object of Kubernetes.
fn manifest() -> Value {
    json!({
        "type": "object",
        "description": "An object of Kubernetes: a pod, what makes pods, or a `List` of them.",
        "required": ["apiVersion", "kind"],
        "properties": {
            "apiVersion": { "type": "string" },
            "kind": { "type": "string" },
            "metadata": { "type": "object", "additionalProperties": true },
            "spec": { "type": "object", "additionalProperties": true },
        },
        "additionalProperties": true,
    })
}

fn responses(operation: &Operation) -> Value {
    let mut responses = Map::new();
    let mut add = |status: u16, response: Value| {
        responses.entry(status.to_string()).or_insert(response);
    };
    match &operation.answer {
        Answer::Document(described, statuses) => {
            for (status, about) in *statuses {
                let mut response = document(described, about, &[]);
                if *status > 400 && *status != 422 {
                    let mut failed = failure(*status);
                    for kind in ["application/json", "application/yaml"] {
                        let schema = &mut response["content"][kind]["schema"];
                        *schema = json!({ "anyOf": [schema.take(), { "$ref": format!("{SCHEMAS}Error") }] });
                    }
                    if let Value::Object(headers) = failed["headers"].take()
                        && let Value::Object(known) = &mut response["headers"]
                    {
                        known.extend(headers);
                    }
                }
                add(*status, response);
            }
        }
        Answer::Events(described) => {
            let about =
                "The events, or a stream of them: its events named `node` have a `NodeEvent` as data.";
            add(200, document(described, about, &["text/event-stream"]));
        }
        Answer::Metrics => {
            let kinds = ["text/plain; version=0.0.4", "application/openmetrics-text; version=1.0.0"];
            add(200, json!({ "description": "All metrics.", "content": of_text(&kinds) }));
        }
        Answer::Interface => {
            let content = json!({ "application/json": { "schema": { "type": "object", "additionalProperties": true } } });
            add(200, json!({ "description": "The description, as OpenAPI 3.1.", "content": content }));
        }
    }
    for status in failures(operation) {
        add(status, failure(status));
    }
    Value::Object(responses)
}

fn document(Described { name, outcomes, .. }: &Described, about: &str, also: &[&str]) -> Value {
    let schema = json!({ "schema": { "$ref": format!("{SCHEMAS}{name}") } });
    let mut content = Map::new();
    content.insert("application/json".to_owned(), schema.clone());
    content.insert("application/yaml".to_owned(), schema);
    content.extend(of_text(&[&["text/plain"], also].concat()));
    let mut response = json!({ "description": about, "content": content });
    if !outcomes.is_empty() {
        let about = "What has become of pods, or how the node is, without looking at each.";
        response["headers"] =
            json!({ OUTCOME: { "description": about, "schema": { "type": "string", "enum": outcomes } } });
    }
    response
}

fn of_text(kinds: &[&str]) -> Map<String, Value> {
    let schema = json!({ "schema": { "type": "string" } });
    kinds.iter().map(|kind| ((*kind).to_owned(), schema.clone())).collect()
}

/// The statuses of errors.
fn failures(operation: &Operation) -> Vec<u16> {
    let mut statuses = vec![400, 403, 503];
    if operation.answer.document().is_some() {
        statuses.extend([406, 500]);
    }
    if operation.sent != Sent::Nothing {
        statuses.extend([408, 413]);
    }
    statuses.extend(operation.fails);
    statuses.sort_unstable();
    statuses
}

/// An error, and what it means.
fn failure(status: u16) -> Value {
    let about = match status {
        400 => "The query, the path or the body is wrong. Nothing was done.",
        403 => "The client may not change anything, or the request is for another host.",
        404 => "It is not here.",
        406 => "`Accept` names no form of the answer.",
        408 => "The body takes too long to come.",
        409 => "It does not go with what is here, or a kubelet owns the node.",
        413 => "The body is too large, or asks about more pods than its user may.",
        500 => "A fault of the daemon.",
        502 => "A device plugin or the runtime refused to start the container.",
        504 => "It is still being decided.",
        507 => "State cannot be written.",
        _ => "Too much is in progress, the daemon stops, or the node is not ready.",
    };
    let content = json!({ "application/json": { "schema": { "$ref": format!("{SCHEMAS}Error") } } });
    let mut failure = json!({ "description": about, "content": content });
    if status == 503 {
        failure["headers"] = json!({ "Retry-After": {
            "description": "Seconds; there if too much is in progress.",
            "schema": { "type": "integer" },
        } });
    }
    failure
}
