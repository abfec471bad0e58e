//! Which differences are known, and why they are.

use serde::Deserialize;
use serde_json::{Map, Value};
use topology_manifest::{ConfigKind, ManifestError, Problem, Source, json_documents, read_kubelet_config};

use super::shapes::Form;

/// What the Go code read of a text.
#[derive(Deserialize)]
pub(super) struct Read {
    documents: Vec<Value>,
    /// Why it was refused; empty if it was not.
    #[serde(default)]
    error: String,
    /// Whether another reading gave another value.
    #[serde(default)]
    varies: bool,
}

/// What becomes of a text here and there.
pub(super) enum Judged {
    /// Both read it, and alike.
    Equal,
    BothRefuse,
    /// They differ for a reason that has a name.
    Listed(&'static str),
    /// They differ; what each says.
    Unlisted(String),
}

/// What is refused here alone: the start of our message, and what that is.
const REFUSED_HERE: &[(&str, &str)] = &[
    (
        "cannot decode `aGk=` as a !!binary",
        "refused here: `!!binary`, whose bytes no field of Kubernetes takes",
    ),
    ("cannot decode `2001-01-01` as a !!timestamp", "refused here: `!!timestamp`, which is text there"),
    (
        "a byte order mark stands",
        "refused here: a byte order mark inside a text, after which the Go library loses letters",
    ),
    ("unsupported map key", "refused here: a key that is no text, in a value that a later key replaces"),
    ("json: unsupported value", "refused here: infinity, in a value that a later key replaces"),
    ("quantity ", "refused here: more than any machine has, or less than nothing"),
    ("values are nested too deeply", "refused here: more than 200 levels; the Go library takes 10,000"),
];

/// Compares what is read of a text with what the Go code read.
pub(super) fn judge(form: Form, text: &str, theirs: &Read) -> Judged {
    if theirs.varies {
        return Judged::Listed(
            "read now so, now otherwise: keys such as `1` and `\"1\"` are one, and a map's order decides",
        );
    }
    let ours = match form {
        Form::Manifest => manifests(text),
        Form::Configuration => match configuration(text) {
            Ok(Configuration::OfOthers(why)) if !theirs.error.is_empty() => return Judged::Listed(why),
            Ok(Configuration::Template(_)) if !theirs.error.is_empty() => {
                return Judged::Listed("read here with a warning: a template, none of whose places decides");
            }
            Ok(Configuration::OfOthers(_)) => Ok(Vec::new()),
            Ok(Configuration::Own(fields) | Configuration::Template(fields)) => Ok(vec![fields]),
            Err(error) => Err(error),
        },
    };
    let expected: Vec<Value> = match form {
        Form::Manifest => theirs.documents.iter().map(plain).collect(),
        Form::Configuration => theirs.documents.iter().map(compared).collect(),
    };
    match (ours, theirs.error.as_str()) {
        (Ok(ours), "") if ours == expected => Judged::Equal,
        (Err(_), error) if !error.is_empty() => Judged::BothRefuse,
        (Ok(_), error) if error.contains("unrecognized feature gate") => {
            Judged::Listed("read here: a feature gate that is not there, which ends the kubelet later")
        }
        (Ok(_), error) if is_of_others(error) => Judged::Listed(
            "read here: a wrong type in a field that topolet does not look at, with which the kubelet does not start",
        ),
        (Err(error), "") if refused_here(&error).is_some() => {
            Judged::Listed(refused_here(&error).unwrap_or_default())
        }
        (Err(error), "") if form == Form::Configuration && is_place(error.problem()) => {
            Judged::Listed("refused here: a place of a template, which the decoder takes as a text")
        }
        (ours, error) => {
            let ours = match ours {
                Ok(ours) => Value::from(ours).to_string(),
                Err(error) => error.to_string(),
            };
            let theirs = if error.is_empty() { Value::from(expected).to_string() } else { error.to_owned() };
            Judged::Unlisted(format!("--- text\n{text}\n--- here: {ours}\n--- there: {theirs}"))
        }
    }
}

/// Whether the kubelet's decoder complains of a field that is not read here.
fn is_of_others(error: &str) -> bool {
    let field = error.split_once("Go struct field ").and_then(|(_, rest)| rest.split_once(" of type"));
    let path = field.and_then(|(field, _)| field.split('.').nth(1));
    path.is_some_and(|field| !FIELDS.contains(&field) && !OTHER_FIELDS.contains(&field))
}

/// Whether a value is refused because something is to be filled in there first.
fn is_place(problem: &Problem) -> bool {
    matches!(problem, Problem::Template { .. })
        || matches!(problem, Problem::Unexpected { .. }) && problem.next_step().is_some()
}

fn refused_here(error: &ManifestError) -> Option<&'static str> {
    let words = error.problem().to_string();
    REFUSED_HERE.iter().find(|(start, _)| words.starts_with(start)).map(|(_, kind)| *kind)
}

/// The documents of a text. No document is nothing to apply.
fn manifests(text: &str) -> Result<Vec<Value>, ManifestError> {
    match json_documents(&Source { name: "text", text }) {
        Ok(read) => {
            let value = |text: &String| serde_json::from_str(text).unwrap_or(Value::Null);
            Ok(read.documents.iter().map(value).map(|value| plain(&value)).collect())
        }
        Err(error) if *error.problem() == Problem::Empty => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// A configuration that was read.
enum Configuration {
    /// The kubelet's own.
    Own(Value),
    /// One in which a template still fills in places that decide nothing.
    Template(Value),
    /// One that another program makes the kubelet's of, and why it is taken for one.
    OfOthers(&'static str),
}

fn configuration(text: &str) -> Result<Configuration, ManifestError> {
    let read = read_kubelet_config(&Source { name: "text", text })?;
    Ok(match (read.kind, read.others.is_empty()) {
        (ConfigKind::Kubelet, true) => {
            let fields = compared(&serde_json::to_value(&read.config).unwrap_or(Value::Null));
            if read.is_template { Configuration::Template(fields) } else { Configuration::Own(fields) }
        }
        (_, true) => Configuration::OfOthers(
            "read here: fields without the kind, of which an installer makes a configuration",
        ),
        (_, false) => Configuration::OfOthers(
            "read here: a later document, as kubeadm does; the kubelet reads the first alone",
        ),
    })
}

/// Numbers by their value: `-3e2` of JSON is -300.
fn plain(value: &Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => Value::from(number.as_f64().unwrap_or(f64::NAN)),
        #[expect(clippy::cast_precision_loss, reason = "both sides lose the same")]
        Value::Number(number) => Value::from(
            number
                .as_i64()
                .map_or_else(|| number.as_u64().map_or(f64::NAN, |value| value as f64), |value| value as f64),
        ),
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), plain(value))).collect(),
        other => other.clone(),
    }
}

/// The fields of a configuration that are read here. What is empty is not set: Go leaves it out or writes it.
fn compared(configuration: &Value) -> Value {
    let mut configuration = configuration.clone();
    for reserved in
        configuration.get_mut("reservedMemory").and_then(Value::as_array_mut).into_iter().flatten()
    {
        if let Some(limits) = reserved.get_mut("limits").filter(|limits| limits.is_null()) {
            *limits = Value::Object(Map::new());
        }
    }
    let is_set = |value: &Value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty() && text != "0s",
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::Bool(_) => true,
    };
    let fields = FIELDS.iter().filter_map(|name| Some((*name, configuration.get(name)?)));
    let fields = fields.filter(|(_, value)| is_set(value));
    Value::from(fields.map(|(name, value)| (name.to_owned(), plain(value))).collect::<Map<String, Value>>())
}

/// The fields that both write and that are compared.
const FIELDS: &[&str] = &[
    "cpuManagerPolicy",
    "cpuManagerPolicyOptions",
    "cpuManagerReconcilePeriod",
    "reservedSystemCPUs",
    "memoryManagerPolicy",
    "reservedMemory",
    "topologyManagerPolicy",
    "topologyManagerScope",
    "topologyManagerPolicyOptions",
    "kubeReserved",
    "systemReserved",
    "evictionHard",
    "mergeDefaultEvictionSettings",
    "enforceNodeAllocatable",
    "systemReservedCgroup",
    "kubeReservedCgroup",
    "systemCgroups",
    "cgroupRoot",
    "cgroupsPerQOS",
    "maxPods",
    "podsPerCore",
    "memoryThrottlingFactor",
    "featureGates",
];

/// Fields that are read here and not written.
const OTHER_FIELDS: &[&str] = &[
    "registerWithTaints",
    "nodeStatusUpdateFrequency",
    "nodeStatusReportFrequency",
    "nodeLeaseDurationSeconds",
    "staticPodPath",
];
