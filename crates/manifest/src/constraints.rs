//! What a pod demands of its node besides resources: selectors, ports, tolerations, its origin.

use std::collections::BTreeMap;

use pod_spec::{
    ClaimPlaces, Constraints, Demand, HostPort, NodeSelectorTerm, Origin, Requirement, SupplementalGroups,
    Tolerated, Toleration, Wishes,
};

use crate::ManifestError;
use crate::claims::read_claims;
use crate::node::{Field, Value};

type Read<T> = Result<T, ManifestError>;

pub(crate) fn read_constraints(metadata: Option<&Field<'_>>, spec: &Field<'_>) -> Read<Constraints> {
    let text = |field: &Field<'_>, key| {
        let text = field.get(key)?.map(|field| field.text("a text").map(str::to_owned)).transpose()?;
        Read::Ok(text.filter(|text| !text.is_empty()))
    };
    let labels = metadata.map_or(Ok(None), |metadata| metadata.get("labels"))?;
    let os_label = labels.map_or(Ok(None), |labels| text(&labels, "kubernetes.io/os"))?;
    let os = match spec.get("os")? {
        Some(os) => text(&os, "name")?,
        None => None,
    };
    Ok(Constraints {
        os_label,
        os,
        node_name: text(spec, "nodeName")?,
        node_selector: match spec.get("nodeSelector")? {
            Some(labels) => read_labels(&labels)?,
            None => BTreeMap::new(),
        },
        node_affinity: read_affinity(spec)?,
        host_ports: read_ports(spec)?,
        tolerations: read_each(spec, "tolerations", read_toleration)?,
        priority: match spec.get("priority")? {
            Some(priority) => integer(&priority, "a priority, a 32-bit number")?,
            None => 0,
        },
        origin: read_origin(metadata)?,
        supplemental_groups: read_groups(spec)?,
        wishes: read_wishes(metadata)?,
        claims: read_claims(spec)?,
        claim_places: ClaimPlaces::default(),
        exclusive: BTreeMap::new(),
    })
}

pub(crate) fn read_each<T>(
    parent: &Field<'_>,
    key: &str,
    read: impl Fn(&Field<'_>) -> Read<T>,
) -> Read<Vec<T>> {
    let items = parent.get(key)?.map_or(Ok(Vec::new()), |list| list.items())?;
    items.iter().map(read).collect()
}

pub(crate) fn integer<T: core::str::FromStr>(field: &Field<'_>, expected: &'static str) -> Read<T> {
    field.scalar(expected)?.parse().map_err(|_| field.unexpected(expected))
}

pub(crate) fn read_labels(labels: &Field<'_>) -> Read<BTreeMap<String, String>> {
    let entries = labels.entries()?;
    let pairs = entries.iter().map(|entry| {
        let value = entry.value.text("a text; a number or a boolean needs quotes")?;
        Ok((entry.key.to_owned(), value.to_owned()))
    });
    pairs.collect()
}

/// The terms that are required; what is only preferred is the scheduler's.
fn read_affinity(spec: &Field<'_>) -> Read<Option<Vec<NodeSelectorTerm>>> {
    let path = ["affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"];
    spec.descend(&path)?.map(|required| read_each(&required, "nodeSelectorTerms", read_term)).transpose()
}

fn read_term(term: &Field<'_>) -> Read<NodeSelectorTerm> {
    Ok(NodeSelectorTerm {
        labels: read_each(term, "matchExpressions", read_requirement)?,
        fields: read_each(term, "matchFields", read_requirement)?,
    })
}

fn read_requirement(field: &Field<'_>) -> Read<Requirement> {
    const OPERATORS: &str = "In, NotIn, Exists, DoesNotExist, Gt or Lt";
    const BOUND: &str = "a list with one whole number, as text";
    let key = field.require("key", "the name of a label")?.text("the name of a label")?.to_owned();
    let values = || read_each(field, "values", |value| Ok(value.text("a text")?.to_owned()));
    let bound = || {
        let values = field.require("values", BOUND)?;
        match values.items()?.as_slice() {
            [only] => integer(only, BOUND),
            _ => Err(values.unexpected(BOUND)),
        }
    };
    let operator = field.require("operator", OPERATORS)?;
    let demand = match operator.text(OPERATORS)? {
        "In" => Demand::In(values()?),
        "NotIn" => Demand::NotIn(values()?),
        "Exists" => Demand::Exists,
        "DoesNotExist" => Demand::DoesNotExist,
        "Gt" => Demand::Above(bound()?),
        "Lt" => Demand::Below(bound()?),
        _ => return Err(operator.unexpected(OPERATORS)),
    };
    Ok(Requirement { key, demand })
}

/// The ports of the node that app containers and init containers that stay take; with the node's own network every
/// port of theirs.
fn read_ports(spec: &Field<'_>) -> Read<Vec<HostPort>> {
    let on_host_network = spec.get("hostNetwork")?.is_some_and(|field| field.is_true());
    let mut ports = Vec::new();
    for key in ["initContainers", "containers"] {
        for container in spec.get(key)?.map_or(Ok(Vec::new()), |list| list.items())? {
            let stays = match container.get("restartPolicy")? {
                Some(policy) => policy.text("a restart policy")? == "Always",
                None => false,
            };
            if key == "containers" || stays {
                let own = read_each(&container, "ports", |port| read_port(port, on_host_network))?;
                ports.extend(own.into_iter().flatten());
            }
        }
    }
    Ok(ports)
}

fn read_port(field: &Field<'_>, on_host_network: bool) -> Read<Option<HostPort>> {
    const EXPECTED: &str = "a port number up to 65535";
    let number = |key| field.get(key)?.map(|port| integer::<u16>(&port, EXPECTED)).transpose();
    let host = number("hostPort")?.filter(|port| *port > 0);
    let port = match host {
        None if on_host_network => number("containerPort")?,
        host => host,
    };
    let text = |key, default: &str| {
        let text = field.get(key)?.map(|field| field.text("a text")).transpose()?;
        Read::Ok(text.filter(|text| !text.is_empty()).unwrap_or(default).to_owned())
    };
    let (address, protocol) = (text("hostIP", "0.0.0.0")?, text("protocol", "TCP")?);
    Ok(port.map(|port| HostPort { address, protocol, port }))
}

fn read_toleration(field: &Field<'_>) -> Read<Toleration> {
    const OPERATORS: &str = "Equal or Exists";
    let text = |key| {
        let text = field.get(key)?.map(|field| field.text("a text")).transpose()?;
        Read::Ok(text.unwrap_or_default().to_owned())
    };
    let values = match text("operator")?.as_str() {
        "" | "Equal" => Tolerated::Equal(text("value")?),
        "Exists" => Tolerated::Exists,
        _ => return Err(field.unexpected(OPERATORS)),
    };
    Ok(Toleration { key: text("key")?, values, effect: text("effect")? })
}

/// By the annotations that the kubelet writes.
fn read_origin(metadata: Option<&Field<'_>>) -> Read<Origin> {
    let annotations = metadata.map_or(Ok(None), |metadata| metadata.get("annotations"))?;
    let Some(annotations) = annotations else { return Ok(Origin::ApiServer) };
    if annotations.get("kubernetes.io/config.mirror")?.is_some() {
        return Ok(Origin::Mirror);
    }
    Ok(match annotations.get("kubernetes.io/config.source")? {
        Some(source) if source.text("a text")? != "api" => Origin::Static,
        _ => Origin::ApiServer,
    })
}

/// An API server takes texts alone as values; what else stands there is kept, and is no value that a node allows.
fn read_wishes(metadata: Option<&Field<'_>>) -> Read<Wishes> {
    let Some(annotations) = metadata.map_or(Ok(None), |metadata| metadata.get("annotations"))? else {
        return Ok(Wishes::default());
    };
    let entries = annotations.entries()?;
    Ok(Wishes::among(entries.iter().map(|entry| {
        let value = match &entry.value.node.value {
            Value::Text(text) | Value::Number(text) => text.as_str(),
            Value::Bool(true) => "true",
            Value::Bool(false) => "false",
            Value::Null => "",
            Value::List(_) => "a list",
            Value::Map(_) => "a mapping",
        };
        (entry.key, value)
    })))
}

fn read_groups(spec: &Field<'_>) -> Read<SupplementalGroups> {
    let Some(context) = spec.get("securityContext")? else { return Ok(SupplementalGroups::Merge) };
    Ok(match context.get("supplementalGroupsPolicy")? {
        Some(policy) if policy.text("Merge or Strict")? == "Strict" => SupplementalGroups::Strict,
        _ => SupplementalGroups::Merge,
    })
}
