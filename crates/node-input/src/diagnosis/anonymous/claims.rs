//! Slices, classes, claims, templates and taint rules with made-up names.
//!
//! Expressions are not copied: what each selects is found out, and an attribute of each device says it in its place, which is absent
//! where the expression fails on the device. Of other attributes those stay that constraints compare, with values that are equal where
//! they were. Parameters of drivers are left out: they decide nothing.

use std::collections::BTreeMap;

use dra_cel::{DeviceVariable, Environment, Program};
use dra_model::{
    AllocationMode, AllocationResult, Attribute, AttributeValue, ClaimStatus, Consumer, Device, DeviceClass,
    DeviceId, DeviceResult, DeviceTaint, DeviceTaintRule, DeviceToleration, Metadata, NodeSelection,
    NodeSelector, NodeSelectorRequirement, QualifiedName, RequestName, RequestedDevices, ResourceClaim,
    ResourceClaimSpec, ResourceClaimTemplate, ResourceSlice, Selector, TaintEffect, TolerationOperator,
};
use pod_claims::ClusterObjects;
use serde_json::{Value, json};
use topology_manifest::ResourceObject;

use super::names::{NameKind, Names};
use super::objects::time;
use super::plain::LEFT_OUT;

/// The domain of what stands in the place of expressions and attributes.
const DOMAIN: &str = "anonymous.example";

/// Drivers that are public, whose names tell nothing.
const DRIVERS: [&str; 12] = [
    "compute-domain.nvidia.com",
    "dra.cpu",
    "dra.memory",
    "dra.net",
    "gaudi.intel.com",
    "gpu.amd.com",
    "gpu.example.com",
    "gpu.intel.com",
    "gpu.nvidia.com",
    "qat.intel.com",
    "sriovnetwork.k8snetworkplumbingwg.io",
    "tpu.google.com",
];

/// The objects as one list; `None`: there are none.
pub(super) fn written(objects: &ClusterObjects, names: &mut Names) -> Option<Value> {
    if objects.is_empty() {
        return None;
    }
    let told = Told::of(objects);
    let ClusterObjects { slices, classes, claims, templates, taint_rules } = objects;
    let mut all = Vec::new();
    all.extend(slices.iter().map(|own| ResourceObject::Slice(Box::new(slice(own, &told, names)))));
    all.extend(classes.iter().map(|own| ResourceObject::Class(Box::new(class(own, &told, names)))));
    all.extend(claims.iter().map(|own| ResourceObject::Claim(Box::new(claim(own, &told, names)))));
    all.extend(templates.iter().map(|own| ResourceObject::Template(Box::new(template(own, &told, names)))));
    all.extend(taint_rules.iter().map(|own| ResourceObject::TaintRule(Box::new(rule(own, names)))));
    let items: Vec<Value> = all.iter().map(ResourceObject::to_json).collect();
    Some(json!({"apiVersion": "v1", "kind": "List", "items": items}))
}

/// What stands in the place of expressions, and of the attributes that constraints compare.
struct Told {
    /// Expressions that select, by their texts, in ascending order. `None`: it does not compile.
    selectors: BTreeMap<String, Option<Program>>,
    /// Attributes that constraints compare, by their full names.
    compared: BTreeMap<QualifiedName, usize>,
}

impl Told {
    fn of(objects: &ClusterObjects) -> Self {
        let specs = objects.claims.iter().map(|claim| &claim.spec);
        let specs: Vec<&ResourceClaimSpec> =
            specs.chain(objects.templates.iter().map(|template| &template.spec)).collect();
        let of_requests = specs.iter().flat_map(|spec| &spec.requests).flat_map(|request| {
            request.exactly.iter().chain(&request.first_available).flat_map(|devices| &devices.selectors)
        });
        let all = objects.classes.iter().flat_map(|class| &class.selectors).chain(of_requests);
        let texts = all.filter_map(|selector| selector.expression.as_deref());
        let compiled = |text: &str| Program::compile(text, &Environment::stored()).ok();
        let selectors = texts.map(|text| (text.to_owned(), compiled(text))).collect();
        let constraints = specs.iter().flat_map(|spec| &spec.constraints);
        let attributes =
            constraints.flat_map(|own| own.match_attribute.iter().chain(&own.distinct_attribute));
        let mut compared: BTreeMap<QualifiedName, usize> = attributes.map(|name| (name.clone(), 0)).collect();
        for (number, at) in compared.values_mut().zip(1..) {
            *number = at;
        }
        Self { selectors, compared }
    }

    fn selector(&self, own: &Selector) -> Selector {
        let Some(text) = &own.expression else { return Selector { expression: None } };
        let number = self.selectors.range(..text.clone()).count() + 1;
        match self.selectors.get(text) {
            Some(Some(_)) => Selector::cel(&format!("device.attributes[\"{DOMAIN}\"].selector{number}")),
            // It does not compile either.
            _ => Selector::cel("left out"),
        }
    }

    fn compared(&self, name: &QualifiedName) -> QualifiedName {
        let number = self.compared.get(name).copied().unwrap_or_default();
        format!("{DOMAIN}/attribute{number}").into()
    }

    /// The attributes of a device of a driver: what each expression says of it, and what constraints compare.
    fn attributes(
        &self,
        driver: &str,
        device: &Device,
        names: &mut Names,
    ) -> BTreeMap<QualifiedName, Attribute> {
        let variable = DeviceVariable::of(driver, device);
        let mut attributes = BTreeMap::new();
        for (program, number) in self.selectors.values().zip(1..) {
            let matches = program.as_ref().and_then(|program| program.matches(&variable).ok());
            if let Some(matches) = matches {
                attributes.insert(format!("{DOMAIN}/selector{number}").into(), Attribute::from(matches));
            }
        }
        for name in self.compared.keys() {
            if let Some(attribute) = device.attribute(driver, name) {
                let values = attribute.values.iter().map(|value| self::value(value, names)).collect();
                attributes.insert(self.compared(name), Attribute { values });
            }
        }
        attributes
    }
}

/// A value that is equal to others where it was.
fn value(value: &AttributeValue, names: &mut Names) -> AttributeValue {
    let mut text = |text: &String| names.name(NameKind::Text, text);
    // A version equals no text, and is one of a driver or of firmware.
    let version = |own: &String| format!("version {own}");
    match value {
        AttributeValue::String(own) => AttributeValue::String(text(own)),
        AttributeValue::Strings(all) => AttributeValue::Strings(all.iter().map(text).collect()),
        AttributeValue::Version(own) => AttributeValue::String(text(&version(own))),
        AttributeValue::Versions(all) => {
            AttributeValue::Strings(all.iter().map(|own| text(&version(own))).collect())
        }
        AttributeValue::Int(_)
        | AttributeValue::Bool(_)
        | AttributeValue::Ints(_)
        | AttributeValue::Bools(_) => value.clone(),
    }
}

fn slice(of: &ResourceSlice, told: &Told, names: &mut Names) -> ResourceSlice {
    let devices = of
        .devices
        .as_ref()
        .map(|devices| devices.iter().map(|device| self::device(&of.driver, device, told, names)).collect());
    let counters = of.shared_counters.as_ref().map(|sets| {
        let set = |set: &dra_model::CounterSet| dra_model::CounterSet {
            name: names.name(NameKind::Claim, &set.name).into(),
            counters: keys(&set.counters, names),
        };
        sets.iter().map(set).collect()
    });
    let mut pool = of.pool.clone();
    pool.name = names.name(NameKind::Pool, &of.pool.name).into();
    ResourceSlice {
        metadata: metadata(&of.metadata, names),
        driver: driver(&of.driver, names).into(),
        pool,
        nodes: nodes(&of.nodes, names),
        per_device_node_selection: of.per_device_node_selection,
        devices,
        shared_counters: counters,
        partition_type: None,
        skip_node_operations: of.skip_node_operations.iter().map(|own| names.scalar(own)).collect(),
    }
}

fn device(driver: &str, of: &Device, told: &Told, names: &mut Names) -> Device {
    let texts = |all: &Option<Vec<String>>, names: &mut Names| {
        all.as_ref().map(|all| all.iter().map(|own| names.name(NameKind::Text, own)).collect())
    };
    let consumes = of.consumes.iter().map(|own| dra_model::CounterConsumption {
        set: names.name(NameKind::Claim, &own.set).into(),
        counters: keys(&own.counters, names),
        compatibility_groups: own
            .compatibility_groups
            .iter()
            .map(|group| names.name(NameKind::Text, group))
            .collect(),
    });
    let consumes = consumes.collect();
    Device {
        name: names.device(&of.name).into(),
        attributes: told.attributes(driver, of, names),
        capacity: capacities(driver, &of.capacity, names),
        consumes,
        nodes: nodes(&of.nodes, names),
        taints: of.taints.iter().map(|own| taint(own, names)).collect(),
        binds_to_node: of.binds_to_node,
        binding_conditions: texts(&of.binding_conditions, names),
        binding_failure_conditions: texts(&of.binding_failure_conditions, names),
        allow_multiple_allocations: of.allow_multiple_allocations,
    }
}

/// Amounts under made-up names.
fn keys<K: Ord + AsRef<str> + From<String>, V: Clone>(
    of: &BTreeMap<K, V>,
    names: &mut Names,
) -> BTreeMap<K, V> {
    of.iter().map(|(key, own)| (names.name(NameKind::Claim, key.as_ref()).into(), own.clone())).collect()
}

/// The same of a device, whose own driver's names go without the driver.
fn capacities<V: Clone>(
    driver: &str,
    of: &BTreeMap<QualifiedName, V>,
    names: &mut Names,
) -> BTreeMap<QualifiedName, V> {
    let key = |name: &QualifiedName| {
        let own = name.as_str().strip_prefix(driver).and_then(|rest| rest.strip_prefix('/'));
        own.unwrap_or(name.as_str()).to_owned()
    };
    of.iter().map(|(name, own)| (names.name(NameKind::Claim, &key(name)).into(), own.clone())).collect()
}

/// Amounts that a request takes, by names that it can have of any driver.
fn asked<V: Clone>(of: &BTreeMap<QualifiedName, V>, names: &mut Names) -> BTreeMap<QualifiedName, V> {
    let domain = |name: &QualifiedName| name.as_str().split_once('/').map(|(domain, _)| domain.to_owned());
    let one = |(name, own): (&QualifiedName, &V)| {
        let domain = domain(name).unwrap_or_default();
        let (key, ()) = capacities(&domain, &[(name.clone(), ())].into(), names).pop_first()?;
        Some((key, own.clone()))
    };
    of.iter().filter_map(one).collect()
}

fn class(of: &DeviceClass, told: &Told, names: &mut Names) -> DeviceClass {
    DeviceClass {
        metadata: metadata(&of.metadata, names),
        selectors: of.selectors.iter().map(|own| told.selector(own)).collect(),
        config: Vec::new(),
        extended_resource: of.extended_resource.as_ref().map(|name| names.resource(name)),
    }
}

fn template(of: &ResourceClaimTemplate, told: &Told, names: &mut Names) -> ResourceClaimTemplate {
    ResourceClaimTemplate {
        metadata: metadata(&of.metadata, names),
        claim_metadata: Metadata::default(),
        spec: spec(&of.spec, told, names),
    }
}

fn claim(of: &ResourceClaim, told: &Told, names: &mut Names) -> ResourceClaim {
    let consumer = |own: &Consumer, names: &mut Names| Consumer {
        api_group: names.scalar(&own.api_group),
        resource: names.scalar(&own.resource),
        name: names.name(NameKind::Pod, &own.name),
        uid: names.name(NameKind::Uid, &own.uid),
    };
    ResourceClaim {
        metadata: metadata(&of.metadata, names),
        spec: spec(&of.spec, told, names),
        status: ClaimStatus {
            allocation: of.status.allocation.as_ref().map(|own| allocation(own, names)),
            reserved_for: of.status.reserved_for.iter().map(|own| consumer(own, names)).collect(),
        },
    }
}

fn spec(of: &ResourceClaimSpec, told: &Told, names: &mut Names) -> ResourceClaimSpec {
    let mut requests = of.requests.clone();
    for own in &mut requests {
        own.name = request(&own.name, names);
        for devices in own.exactly.iter_mut().chain(&mut own.first_available) {
            *devices = requested(devices, told, names);
        }
    }
    let mut constraints = of.constraints.clone();
    for own in &mut constraints {
        own.requests = own.requests.iter().map(|name| request(name, names)).collect();
        own.match_attribute = own.match_attribute.as_ref().map(|name| told.compared(name));
        own.distinct_attribute = own.distinct_attribute.as_ref().map(|name| told.compared(name));
    }
    ResourceClaimSpec { requests, constraints, config: Vec::new() }
}

fn requested(of: &RequestedDevices, told: &Told, names: &mut Names) -> RequestedDevices {
    RequestedDevices {
        name: request(&of.name, names),
        class: names.name(NameKind::Claim, &of.class).into(),
        selectors: of.selectors.iter().map(|own| told.selector(own)).collect(),
        mode: match &of.mode {
            AllocationMode::Other { count, .. } => {
                AllocationMode::Other { mode: LEFT_OUT.to_owned(), count: *count }
            }
            known => known.clone(),
        },
        admin_access: of.admin_access,
        tolerations: of.tolerations.iter().map(|own| toleration(own, names)).collect(),
        capacity: of.capacity.as_ref().map(|own| asked(own, names)),
        derived_attributes: Vec::new(),
    }
}

fn allocation(of: &AllocationResult, names: &mut Names) -> AllocationResult {
    let result = |own: &DeviceResult, names: &mut Names| DeviceResult {
        request: request(&own.request, names),
        device: DeviceId {
            driver: driver(&own.device.driver, names).into(),
            pool: names.name(NameKind::Pool, &own.device.pool).into(),
            device: names.device(&own.device.device).into(),
        },
        admin_access: own.admin_access,
        tolerations: own.tolerations.iter().map(|own| toleration(own, names)).collect(),
        binding_conditions: own
            .binding_conditions
            .iter()
            .map(|own| names.name(NameKind::Text, own))
            .collect(),
        binding_failure_conditions: own
            .binding_failure_conditions
            .iter()
            .map(|own| names.name(NameKind::Text, own))
            .collect(),
        share: own.share.as_ref().map(|share| names.name(NameKind::Uid, share).into()),
        consumed_capacity: own
            .consumed_capacity
            .as_ref()
            .map(|all| capacities(&own.device.driver, all, names)),
        skip_node_operations: own.skip_node_operations.iter().map(|own| names.scalar(own)).collect(),
    };
    AllocationResult {
        results: of.results.iter().map(|own| result(own, names)).collect(),
        config: Vec::new(),
        node_selector: of.node_selector.as_ref().map(|own| node_selector(own, names)),
    }
}

fn rule(of: &DeviceTaintRule, names: &mut Names) -> DeviceTaintRule {
    let selector = of.selector.as_ref().map(|own| dra_model::DeviceTaintSelector {
        driver: own.driver.as_ref().map(|name| driver(name, names).into()),
        pool: own.pool.as_ref().map(|name| names.name(NameKind::Pool, name).into()),
        device: own.device.as_ref().map(|name| names.device(name).into()),
    });
    DeviceTaintRule { metadata: metadata(&of.metadata, names), selector, taint: taint(&of.taint, names) }
}

fn metadata(of: &Metadata, names: &mut Names) -> Metadata {
    let controller = of.controller.as_ref().filter(|own| own.kind == "Pod");
    Metadata {
        name: names.name(NameKind::Claim, &of.name),
        generate_name: String::new(),
        namespace: if of.namespace.is_empty() { String::new() } else { names.namespace(&of.namespace) },
        uid: names.name(NameKind::Uid, &of.uid),
        created: of.created,
        labels: BTreeMap::new(),
        annotations: BTreeMap::new(),
        controller: controller.map(|own| dra_model::Controller {
            kind: own.kind.clone(),
            name: names.name(NameKind::Pod, &own.name),
            uid: names.name(NameKind::Uid, &own.uid),
        }),
    }
}

fn driver(name: &str, names: &mut Names) -> String {
    if DRIVERS.contains(&name) { name.to_owned() } else { names.name(NameKind::Driver, name) }
}

/// The name of a request, or of an alternative within one: `request/alternative`.
fn request(name: &RequestName, names: &mut Names) -> RequestName {
    let parts: Vec<String> = name.split('/').map(|part| names.name(NameKind::Claim, part)).collect();
    parts.join("/").into()
}

fn nodes(of: &NodeSelection, names: &mut Names) -> NodeSelection {
    NodeSelection {
        node_name: of.node_name.as_ref().map(|name| names.name(NameKind::Node, name)),
        node_selector: of.node_selector.as_ref().map(|own| node_selector(own, names)),
        all_nodes: of.all_nodes,
    }
}

fn node_selector(of: &NodeSelector, names: &mut Names) -> NodeSelector {
    let mut selector = of.clone();
    for term in &mut selector.terms {
        for own in term.labels.iter_mut().chain(&mut term.fields) {
            *own = NodeSelectorRequirement {
                key: if own.key == "metadata.name" { own.key.clone() } else { names.label_key(&own.key) },
                operator: names.scalar(&own.operator),
                values: own.values.iter().map(|value| names.label_value(&own.key, value)).collect(),
            };
        }
    }
    selector
}

fn taint(of: &DeviceTaint, names: &mut Names) -> DeviceTaint {
    DeviceTaint {
        key: names.label_key(&of.key),
        value: names.label_value(&of.key, &of.value),
        effect: effect(&of.effect),
        added: of.added.as_deref().map(time).filter(|time| !time.is_empty()),
    }
}

/// An effect, if it is one that is known.
fn effect(of: &TaintEffect) -> TaintEffect {
    match of {
        TaintEffect::Other(text) if !text.is_empty() => TaintEffect::Other(LEFT_OUT.to_owned()),
        known => known.clone(),
    }
}

fn toleration(of: &DeviceToleration, names: &mut Names) -> DeviceToleration {
    DeviceToleration {
        key: if of.key.is_empty() { String::new() } else { names.label_key(&of.key) },
        operator: match &of.operator {
            TolerationOperator::Other(_) => TolerationOperator::Other(LEFT_OUT.to_owned()),
            known => known.clone(),
        },
        value: names.label_value(&of.key, &of.value),
        effect: of.effect.as_ref().map(effect),
        seconds: of.seconds,
    }
}
