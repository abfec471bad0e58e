//! What several kinds of objects have.

use dra_model::{
    Controller, DeviceTaint, DeviceToleration, Metadata, NodeSelection, NodeSelector,
    NodeSelectorRequirement, NodeSelectorTerm, OpaqueConfig, Selector, TaintEffect, TolerationOperator,
};
use pod_spec::CreationTime;

use super::object::Object;
use super::shapes::{
    CEL, METADATA, NODE_SELECTOR, OPAQUE, OWNER, REQUIREMENT, SELECTOR, TAINT, TERM, TOLERATION,
};

pub(super) fn metadata(object: &Object<'_>) -> Metadata {
    let Some(metadata) = object.child("metadata", METADATA) else { return Metadata::default() };
    let created = metadata.time("creationTimestamp");
    Metadata {
        name: metadata.text("name"),
        generate_name: metadata.text("generateName"),
        namespace: metadata.text("namespace"),
        uid: metadata.text("uid"),
        created: created.and_then(|text| CreationTime::parse(&text)).map(CreationTime::seconds),
        labels: metadata.texts_by_key("labels"),
        annotations: metadata.texts_by_key("annotations"),
        controller: controller(&metadata),
    }
}

fn controller(metadata: &Object<'_>) -> Option<Controller> {
    let owners = metadata.list("ownerReferences", OWNER).unwrap_or_default();
    let owner = owners.iter().find(|owner| owner.boolean("controller") == Some(true))?;
    Some(Controller { kind: owner.text("kind"), name: owner.text("name"), uid: owner.text("uid") })
}

pub(super) fn node_selection(object: &Object<'_>) -> NodeSelection {
    NodeSelection {
        node_name: object.optional_text("nodeName"),
        node_selector: node_selector(object),
        all_nodes: object.boolean("allNodes"),
    }
}

pub(super) fn node_selector(object: &Object<'_>) -> Option<NodeSelector> {
    let selector = object.child("nodeSelector", NODE_SELECTOR)?;
    let terms = selector.list("nodeSelectorTerms", TERM).unwrap_or_default();
    Some(NodeSelector { terms: terms.iter().map(term).collect() })
}

fn term(term: &Object<'_>) -> NodeSelectorTerm {
    let requirements = |key| -> Vec<NodeSelectorRequirement> {
        let list = term.list(key, REQUIREMENT).unwrap_or_default();
        list.iter().map(requirement).collect()
    };
    NodeSelectorTerm { labels: requirements("matchExpressions"), fields: requirements("matchFields") }
}

fn requirement(requirement: &Object<'_>) -> NodeSelectorRequirement {
    NodeSelectorRequirement {
        key: requirement.text("key"),
        operator: requirement.text("operator"),
        values: requirement.texts("values").unwrap_or_default(),
    }
}

pub(super) fn selectors(object: &Object<'_>) -> Vec<Selector> {
    let selectors = object.list("selectors", SELECTOR).unwrap_or_default();
    let expression = |selector: &Object<'_>| selector.child("cel", CEL).map(|cel| cel.text("expression"));
    selectors.iter().map(|selector| Selector { expression: expression(selector) }).collect()
}

pub(super) fn opaque(object: &Object<'_>) -> Option<OpaqueConfig> {
    let opaque = object.child("opaque", OPAQUE)?;
    Some(OpaqueConfig { driver: opaque.text("driver").into(), parameters: opaque.raw("parameters") })
}

pub(super) fn taint(taint: &Object<'_>) -> DeviceTaint {
    DeviceTaint {
        key: taint.text("key"),
        value: taint.text("value"),
        effect: TaintEffect::of(&taint.text("effect")),
        added: taint.time("timeAdded"),
    }
}

pub(super) fn taints(object: &Object<'_>) -> Vec<DeviceTaint> {
    object.list("taints", TAINT).unwrap_or_default().iter().map(taint).collect()
}

pub(super) fn tolerations(object: &Object<'_>) -> Vec<DeviceToleration> {
    object.list("tolerations", TOLERATION).unwrap_or_default().iter().map(toleration).collect()
}

fn toleration(toleration: &Object<'_>) -> DeviceToleration {
    let effect = toleration.text("effect");
    DeviceToleration {
        key: toleration.text("key"),
        operator: TolerationOperator::of(&toleration.text("operator")),
        value: toleration.text("value"),
        effect: (!effect.is_empty()).then(|| TaintEffect::of(&effect)),
        seconds: toleration.integer("tolerationSeconds"),
    }
}

/// Names in a list; none if it is absent.
pub(super) fn names<N: From<String>>(object: &Object<'_>, key: &str) -> Vec<N> {
    object.texts(key).unwrap_or_default().into_iter().map(N::from).collect()
}
