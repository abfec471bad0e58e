//! Pods, nodes and events as objects of a cluster again: what decides of them, with made-up names.

use admission_report::KubeletRefusal;
use pod_spec::{
    ClaimObject, Container, Demand, NodeSelectorTerm, Origin, Phase, Pod, PodResources, Requirement,
    ResourceList, Role, SupplementalGroups, Taint, Tolerated, Toleration, Wishes,
};
use serde_json::{Map, Value, json};
use support_bundle::BundlePod;
use topology_manifest::{NodeObject, PodEvent};

use super::names::{NameKind, Names};
use super::plain::{LEFT_OUT, is_version};

/// A pod with its status.
pub(super) fn pod(of: &BundlePod, names: &mut Names) -> Value {
    let BundlePod { pod, failure, .. } = of;
    let mut status = Map::new();
    let phase = if pod.phase == Phase::Active { "Running" } else { "Failed" };
    status.insert("phase".to_owned(), phase.into());
    if let Some(class) = pod.status_qos {
        status.insert("qosClass".to_owned(), format!("{class:?}").into());
    }
    if let Some(failure) = failure {
        let (reason, message) = said(&failure.reason, &failure.message, names);
        status.insert("reason".to_owned(), reason.into());
        status.insert("message".to_owned(), message.into());
    }
    let made: Vec<Value> = pod
        .constraints
        .claims
        .iter()
        .filter_map(|claim| {
            let made = claim.made.as_ref()?;
            Some(json!({
                "name": names.name(NameKind::Claim, &claim.name),
                "resourceClaimName": names.name(NameKind::Claim, made),
            }))
        })
        .collect();
    if !made.is_empty() {
        status.insert("resourceClaimStatuses".to_owned(), made.into());
    }
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata(pod, names),
        "spec": spec(pod, names),
        "status": status,
    })
}

fn metadata(pod: &Pod, names: &mut Names) -> Value {
    let mut metadata = Map::new();
    metadata.insert("name".to_owned(), names.name(NameKind::Pod, &pod.name).into());
    metadata.insert("namespace".to_owned(), names.namespace(&pod.namespace).into());
    // What an API server has written is read as it is.
    metadata.insert("resourceVersion".to_owned(), "1".into());
    metadata.insert("uid".to_owned(), names.name(NameKind::Uid, pod.uid.as_str()).into());
    if let Some(created) = pod.created {
        metadata.insert("creationTimestamp".to_owned(), created.to_string().into());
    }
    if let Some(os) = &pod.constraints.os_label {
        metadata.insert("labels".to_owned(), json!({"kubernetes.io/os": names.scalar(os)}));
    }
    let mut annotations = Map::new();
    match pod.constraints.origin {
        Origin::ApiServer => {}
        Origin::Static => {
            annotations.insert("kubernetes.io/config.source".to_owned(), "file".into());
        }
        // The UID is that by which the node knows the static pod.
        Origin::Mirror => {
            let uid = names.name(NameKind::Uid, pod.uid.as_str());
            annotations.insert("kubernetes.io/config.mirror".to_owned(), uid.into());
        }
    }
    for (name, value) in pod.constraints.wishes.iter() {
        let known = [Wishes::MOVE, Wishes::ALIGN_CLAIMS, "policy", "scope"];
        if known.contains(&name) {
            annotations.insert(format!("{}{name}", Wishes::PREFIX), names.scalar(value).into());
        }
    }
    if !annotations.is_empty() {
        metadata.insert("annotations".to_owned(), annotations.into());
    }
    Value::Object(metadata)
}

fn spec(pod: &Pod, names: &mut Names) -> Value {
    let of = &pod.constraints;
    let mut spec = Map::new();
    let mut set = |key: &str, value: Value| {
        spec.insert(key.to_owned(), value);
    };
    if let Some(node) = &of.node_name {
        set("nodeName", names.name(NameKind::Node, node).into());
    }
    if let Some(os) = &of.os {
        set("os", json!({"name": names.scalar(os)}));
    }
    if of.priority != 0 {
        set("priority", of.priority.into());
    }
    if of.supplemental_groups == SupplementalGroups::Strict {
        set("securityContext", json!({"supplementalGroupsPolicy": "Strict"}));
    }
    if let Some(PodResources { requests, limits }) = &pod.resources {
        set("resources", json!({"requests": amounts(requests, names), "limits": amounts(limits, names)}));
    }
    if !pod.overhead.is_empty() {
        set("overhead", amounts(&pod.overhead, names));
    }
    if !of.node_selector.is_empty() {
        let labels = of.node_selector.iter().map(|(key, value)| label(key, value, names));
        set("nodeSelector", Value::Object(labels.collect()));
    }
    if let Some(terms) = &of.node_affinity {
        let terms: Vec<Value> = terms.iter().map(|term| self::term(term, names)).collect();
        let required =
            json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}});
        set("affinity", json!({"nodeAffinity": required}));
    }
    if !of.tolerations.is_empty() {
        set("tolerations", of.tolerations.iter().map(|own| toleration(own, names)).collect());
    }
    let claims: Vec<Value> = of
        .claims
        .iter()
        .map(|claim| {
            let mut own = Map::new();
            own.insert("name".to_owned(), names.name(NameKind::Claim, &claim.name).into());
            match &claim.object {
                Some(ClaimObject::Claim(name)) => {
                    own.insert("resourceClaimName".to_owned(), names.name(NameKind::Claim, name).into());
                }
                Some(ClaimObject::Template(name)) => {
                    own.insert(
                        "resourceClaimTemplateName".to_owned(),
                        names.name(NameKind::Claim, name).into(),
                    );
                }
                None => {}
            }
            Value::Object(own)
        })
        .collect();
    if !claims.is_empty() {
        set("resourceClaims", claims.into());
    }
    let (mut inits, mut apps) = (Vec::new(), Vec::new());
    for own in &pod.containers {
        let list = if own.role == Role::App { &mut apps } else { &mut inits };
        list.push(container(pod, own, names));
    }
    // Ports are the pod's: it does not matter whose container has them.
    let ports: Vec<Value> = of.host_ports.iter().map(|port| json!({
        "containerPort": port.port,
        "hostPort": port.port,
        "hostIP": if port.address == "0.0.0.0" { port.address.clone() } else { address(&port.address, names) },
        "protocol": names.scalar(&port.protocol),
    })).collect();
    if let Some(first) = apps.first_mut().and_then(Value::as_object_mut).filter(|_| !ports.is_empty()) {
        first.insert("ports".to_owned(), ports.into());
    }
    if !inits.is_empty() {
        set("initContainers", inits.into());
    }
    set("containers", apps.into());
    Value::Object(spec)
}

/// Another address; those that are the same stay the same.
fn address(text: &str, names: &mut Names) -> String {
    let name = names.name(NameKind::Text, text);
    let number: u32 = name.rsplit('-').next().and_then(|number| number.parse().ok()).unwrap_or_default();
    format!("198.18.{}.{}", number / 256 % 256, number % 256)
}

fn container(pod: &Pod, own: &Container, names: &mut Names) -> Value {
    let mut container = json!({
        "name": names.name(NameKind::Container, own.name.as_str()),
        "image": "left-out",
    });
    let Some(fields) = container.as_object_mut() else { return container };
    if own.role == Role::Sidecar {
        fields.insert("restartPolicy".to_owned(), "Always".into());
    }
    let mut resources = Map::new();
    for (key, list) in [("requests", &own.requests), ("limits", &own.limits)] {
        if !list.is_empty() {
            resources.insert(key.to_owned(), amounts(list, names));
        }
    }
    let claims: Vec<Value> = pod
        .constraints
        .claims
        .iter()
        .filter(|claim| claim.containers.contains(&own.name))
        .flat_map(|claim| {
            let requests: Vec<&String> = claim
                .requests
                .iter()
                .filter(|(user, _)| *user == own.name)
                .map(|(_, request)| request)
                .collect();
            let name = names.name(NameKind::Claim, &claim.name);
            if requests.is_empty() {
                return vec![json!({"name": name})];
            }
            requests
                .into_iter()
                .map(|request| json!({"name": name, "request": names.name(NameKind::Claim, request)}))
                .collect()
        })
        .collect();
    if !claims.is_empty() {
        resources.insert("claims".to_owned(), claims.into());
    }
    if !resources.is_empty() {
        fields.insert("resources".to_owned(), resources.into());
    }
    container
}

fn amounts(list: &ResourceList, names: &mut Names) -> Value {
    let amounts =
        list.iter().map(|(name, amount)| (names.resource(name.as_str()), Value::from(amount.to_string())));
    Value::Object(amounts.collect())
}

fn label(key: &str, value: &str, names: &mut Names) -> (String, Value) {
    (names.label_key(key), names.label_value(key, value).into())
}

fn term(term: &NodeSelectorTerm, names: &mut Names) -> Value {
    let mut each =
        |own: &[Requirement]| -> Vec<Value> { own.iter().map(|own| requirement(own, names)).collect() };
    json!({"matchExpressions": each(&term.labels), "matchFields": each(&term.fields)})
}

fn requirement(own: &Requirement, names: &mut Names) -> Value {
    let mut values = |list: &[String]| -> Vec<String> {
        list.iter().map(|value| names.label_value(&own.key, value)).collect()
    };
    let (operator, values) = match &own.demand {
        Demand::In(list) => ("In", values(list)),
        Demand::NotIn(list) => ("NotIn", values(list)),
        Demand::Exists => ("Exists", Vec::new()),
        Demand::DoesNotExist => ("DoesNotExist", Vec::new()),
        Demand::Above(bound) => ("Gt", vec![bound.to_string()]),
        Demand::Below(bound) => ("Lt", vec![bound.to_string()]),
    };
    let mut fields = json!({"key": names.label_key(&own.key), "operator": operator});
    if let Some(fields) = fields.as_object_mut().filter(|_| !values.is_empty()) {
        fields.insert("values".to_owned(), values.into());
    }
    fields
}

fn toleration(own: &Toleration, names: &mut Names) -> Value {
    let mut fields = Map::new();
    if !own.key.is_empty() {
        fields.insert("key".to_owned(), names.label_key(&own.key).into());
    }
    match &own.values {
        Tolerated::Exists => {
            fields.insert("operator".to_owned(), "Exists".into());
        }
        Tolerated::Equal(value) => {
            fields.insert("value".to_owned(), names.label_value(&own.key, value).into());
        }
    }
    if !own.effect.is_empty() {
        fields.insert("effect".to_owned(), names.scalar(&own.effect).into());
    }
    Value::Object(fields)
}

/// A Node object.
pub(super) fn node(of: &NodeObject, names: &mut Names) -> Value {
    let NodeObject { name, labels, taints, kubelet_version, cpus, memory, allocatable, machine_config: _ } =
        of;
    let labels: Map<String, Value> = labels.iter().map(|(key, value)| label(key, value, names)).collect();
    let taints: Vec<Value> = taints.iter().map(|taint| self::taint(taint, names)).collect();
    let mut capacity = Map::new();
    for (resource, amount) in [("cpu", cpus), ("memory", memory)] {
        if let Some(amount) = amount {
            capacity.insert(resource.to_owned(), amount.to_string().into());
        }
    }
    let allocatable =
        allocatable.iter().map(|(name, amount)| (names.resource(name), Value::from(amount.to_string())));
    let allocatable: Map<String, Value> = allocatable.collect();
    let version = kubelet_version.as_ref().map(|version| self::version(version));
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": names.name(NameKind::Node, name), "labels": labels, "resourceVersion": "1"},
        "spec": {"taints": taints},
        "status": {
            "capacity": capacity,
            "allocatable": allocatable,
            "nodeInfo": {"kubeletVersion": version.unwrap_or_default()},
        },
    })
}

/// The version of a kubelet without a mark that is not public.
pub(super) fn version(version: &str) -> String {
    let bare = version.split(['-', '+']).next().unwrap_or_default();
    [version, bare].into_iter().find(|text| is_version(text)).unwrap_or_default().to_owned()
}

fn taint(taint: &Taint, names: &mut Names) -> Value {
    let mut fields = json!({"key": names.label_key(&taint.key), "effect": names.scalar(&taint.effect)});
    if let Some(fields) = fields.as_object_mut().filter(|_| !taint.value.is_empty()) {
        fields.insert("value".to_owned(), names.label_value(&taint.key, &taint.value).into());
    }
    fields
}

/// An event; `None`: it tells of no refusal.
pub(super) fn event(of: &PodEvent, node: &str, names: &mut Names) -> Option<Value> {
    KubeletRefusal::of_status(&of.reason, &of.message)?;
    let (reason, message) = said(&of.reason, &of.message, names);
    let mut pod = json!({
        "kind": "Pod",
        "namespace": names.namespace(&of.namespace),
        "name": names.name(NameKind::Pod, &of.name),
    });
    if let Some(fields) = pod.as_object_mut().filter(|_| !of.uid.is_empty()) {
        fields.insert("uid".to_owned(), names.name(NameKind::Uid, &of.uid).into());
    }
    Some(json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "event", "namespace": names.namespace(&of.namespace)},
        "involvedObject": pod,
        "reason": reason,
        "message": message,
        "source": {"component": "kubelet", "host": node},
        "lastTimestamp": time(&of.last_seen),
    }))
}

/// A reason and a message of a kubelet.
pub(super) fn said(reason: &str, message: &str, names: &mut Names) -> (String, String) {
    let reason = match reason.strip_prefix("OutOf") {
        Some(resource) => format!("OutOf{}", names.resource(resource)),
        None if KubeletRefusal::of_status(reason, "").is_some()
            || reason == "Evicted"
            || reason.is_empty() =>
        {
            reason.to_owned()
        }
        None => LEFT_OUT.to_owned(),
    };
    (reason, names.sentence(message))
}

/// A time as it is written, if it is one; else nothing.
pub(super) fn time(text: &str) -> String {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let is_part = |part: &str| {
        let others =
            |letter: u8| matches!(letter, b'0'..=b'9' | b':' | b'.' | b',' | b'-' | b'+' | b'T' | b'Z');
        MONTHS.contains(&part)
            || part.bytes().all(others) && part.bytes().filter(u8::is_ascii_digit).count() <= 23
    };
    if text.split(' ').all(is_part) { text.to_owned() } else { String::new() }
}
