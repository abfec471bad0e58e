//! Objects of which operators make pods: the templates in them, as the pods come out of them.
//!
//! A kind of [`table::WORKLOADS`] says where its templates are and how many pods each makes; which templates of an Argo workflow
//! run at once is followed from its entrypoint (`argo_graph`). In an object of any other kind each list of containers of which
//! one has a name counts once as a pod (`structure`), unless the kind is known to make none (`without_pods`). Names of pods are
//! the object's, the part's and a number.

mod path;
mod tree;
mod table;
mod form;
mod spark;
mod launcher;
mod instance_type;
mod structure;
mod without_pods;
mod openshift_template;
mod argo_resource;
mod argo_graph;
mod workload_ref;

use std::collections::BTreeSet;

use self::argo_graph::{Plan, Pods};
use self::argo_resource::Manifest;
use self::form::{Form, Template};
pub(crate) use self::openshift_template::{is_template, processed};
use self::path::{Place, beside, places};
pub(crate) use self::table::When;
use self::table::{Count, FORMER_VERSIONS, Part, WORKLOADS, Workload};
use self::tree::{Tree, picked};
pub(crate) use self::without_pods::is_without_pods;
use self::workload_ref::Referring;
pub(crate) use self::workload_ref::named_workloads;
use crate::constraints::integer;
use crate::names::group_of;
use crate::node::{Field, Node, Value};
use crate::workload::Kind;
use crate::{ManifestError, Problem};

/// The pods of an object.
#[derive(Default)]
pub(crate) struct Made {
    pub(crate) parts: Vec<MadePart>,
    /// What their owner may not expect.
    pub(crate) remarks: Vec<String>,
}

/// Pods of one template.
pub(crate) struct MadePart {
    /// What they are called beside the object; may be empty.
    pub(crate) role: String,
    /// A pod's template: `metadata` and `spec`. What its operator adds has the place of what it is made of.
    pub(crate) template: Node,
    /// Where the template is in the object.
    pub(crate) path: String,
    /// How many pods there are.
    pub(crate) count: u32,
    /// When they run.
    pub(crate) when: When,
}

/// The pods of an object that is none of Kubernetes' own workloads; `None`: nothing in it makes pods. `workloads` are objects
/// of the same text that it may name ([`named_workloads`]).
///
/// # Errors
/// The object should have a template and has none, or it is made into others before it has pods.
pub(crate) fn made(
    object: &Field<'_>,
    version: &str,
    kind: &str,
    workloads: &[Node],
) -> Result<Option<Made>, ManifestError> {
    let group = group_of(version);
    if (group, kind) == (argo_resource::GROUP, "Rollout")
        && let Some(Referring { node, remark }) = workload_ref::with_template(object, workloads)?
    {
        let made = made(&Field { node: &node, ..object.clone() }, version, kind, &[])?;
        let noted = |Made { parts, mut remarks }| {
            remarks.push(remark);
            Made { parts, remarks }
        };
        return Ok(made.map(noted));
    }
    match WORKLOADS.iter().find(|known| (known.group, known.kind) == (group, kind)) {
        Some(known) if group == argo_resource::GROUP => match argo_resource::with_parameters(object)? {
            Some(node) => known.made(&Field { node: &node, ..object.clone() }).map(Some),
            None => known.made(object).map(Some),
        },
        Some(known) => known.made(object).map(Some),
        None if let Some(former) = former(object, version, kind)? => former.made(object).map(Some),
        // A definition of a kind has the names of its fields, and no object.
        None if group == "apiextensions.k8s.io" || without_pods::is_listed(group, kind) => Ok(None),
        None => by_structure(object),
    }
}

/// A kind of `apps/v1` by a former version of it; without a template it is one that is misspelt.
fn former(object: &Field<'_>, version: &str, kind: &str) -> Result<Option<&'static Workload>, ManifestError> {
    let is_this = |known: &&(&str, &str, Workload)| (known.0, known.1) == (version, kind);
    let Some((_, _, workload)) = FORMER_VERSIONS.iter().find(is_this) else { return Ok(None) };
    Ok(object.descend(&["spec", "template"])?.map(|_| workload))
}

/// The same error about an object of a kind, or what to give where its value is known later.
pub(crate) fn explained(version: &str, kind: &str, error: ManifestError) -> ManifestError {
    let is_workflow = group_of(version) == argo_resource::GROUP && kind.contains("Workflow");
    if is_workflow { argo_resource::explained(error) } else { error }
}

/// The kind of a kustomization, which says so or not.
pub(crate) const KUSTOMIZATION_KIND: &str = "Kustomization";
/// What to give in place of files of kustomize.
pub(crate) const KUSTOMIZE: &str =
    "the objects that it makes: `kubectl kustomize FOLDER > OBJECTS`, and OBJECTS in its place";

/// What `kustomization.yaml` is where it does not say its kind, as version and kind.
///
/// # Errors
/// It is a patch as a list of changes.
pub(crate) fn of_kustomize(object: &Field<'_>) -> Result<Option<(String, String)>, ManifestError> {
    const KEYS: [&str; 6] =
        ["resources", "bases", "patches", "patchesStrategicMerge", "components", "configMapGenerator"];
    let value = &object.node.value;
    let is_list = |key: &str| value.get(key).is_some_and(|node| matches!(node.value, Value::List(_)));
    match value {
        Value::Map(_) if value.get("kind").is_none() && KEYS.iter().any(|key| is_list(key)) => {
            Ok(Some(("kustomize.config.k8s.io/v1beta1".to_owned(), KUSTOMIZATION_KIND.to_owned())))
        }
        Value::List(items) => {
            let is_change = |item: &Node| item.value.get("op").is_some() && item.value.get("path").is_some();
            if items.is_empty() || !items.iter().all(is_change) {
                return Ok(None);
            }
            Err(patch(object))
        }
        _ => Ok(None),
    }
}

/// Refuses an object with a directive of a strategic merge patch.
///
/// # Errors
/// It has one.
pub(crate) fn refuse_patch(object: &Field<'_>) -> Result<(), ManifestError> {
    const DIRECTIVES: [&str; 4] = ["$patch", "$retainKeys", "$setElementOrder/", "$deleteFromPrimitiveList/"];
    match &object.node.value {
        Value::Map(_) => object.entries()?.iter().try_for_each(|entry| {
            let is_directive = DIRECTIVES.iter().any(|own| match own.strip_suffix('/') {
                Some(_) => entry.key.starts_with(own),
                None => entry.key == *own,
            });
            if is_directive { Err(patch(&entry.value)) } else { refuse_patch(&entry.value) }
        }),
        Value::List(_) => object.items()?.iter().try_for_each(refuse_patch),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => Ok(()),
    }
}

fn patch(part: &Field<'_>) -> ManifestError {
    let what = "this is a patch of an object, for kustomize or kubectl".to_owned();
    part.fail(Problem::OtherForm { what, instead: KUSTOMIZE })
}

impl Workload {
    fn made(&self, object: &Field<'_>) -> Result<Made, ManifestError> {
        let mut parts = Vec::new();
        // The name of the template that each part is of, where it is one of Argo.
        let mut names = Vec::new();
        let mut not_counted = Vec::new();
        for part in self.parts {
            for place in places(object, part.at)? {
                let Some(Template { node, path, times }) = part.form.template(object, &place)? else {
                    if part.form == Form::Argo {
                        parts.extend(made_by_step(&place.field)?);
                        names.resize(parts.len(), place.name);
                    }
                    continue;
                };
                let count = part.count(object, &place)?.saturating_mul(times);
                if matches!(part.count, Count::NotKnown) {
                    not_counted.push(path.clone());
                }
                names.push(place.name.clone());
                let role = if part.role.is_empty() { place.name } else { part.role.to_owned() };
                parts.push(MadePart { role, template: node, path, count, when: part.when });
            }
        }
        if parts.is_empty() {
            return Err(self.nothing(object));
        }
        let mut remarks = Vec::new();
        // An annotation may say that the pods are those of other objects.
        let is_counted = self.parts.iter().all(|part| !matches!(part.count, Count::Unless(..)));
        if is_counted && parts.iter().all(|part| part.count == 0) {
            remarks.push("it has 0 replicas".to_owned());
        }
        for &(at, says) in self.remarks {
            let (at, value) = at.split_once('=').map_or((at, None), |(at, value)| (at, Some(value)));
            let is_so = |place: &Place<'_>| match value {
                Some(value) => is_value(&place.field, value),
                None => !is_off(&place.field),
            };
            if places(object, at)?.iter().any(is_so) {
                remarks.push(says.to_owned());
            }
        }
        remarks.extend(not_known(&not_counted));
        if parts.iter().any(|part| part.when == When::Apart) {
            let with_pods: BTreeSet<String> = names.iter().cloned().collect();
            let steps = names.into_iter().zip(parts).collect();
            let (planned, remark) = planned(steps, argo_graph::plan(object.node, &with_pods));
            parts = planned;
            remarks.extend(remark);
        }
        Ok(Made { parts, remarks })
    }

    /// Why there are no pods.
    fn nothing(&self, object: &Field<'_>) -> ManifestError {
        for &(at, instead) in self.elsewhere {
            if let Some(place) = places(object, at).ok().and_then(|places| places.into_iter().next()) {
                let what =
                    format!("this {} has no template of a pod: {at} says where it comes from", self.kind);
                return place.field.fail(Problem::OtherForm { what, instead });
            }
        }
        let at: Vec<&str> = self.parts.iter().map(|part| part.at).collect();
        let what = format!("this {} has no template of a pod at {}", self.kind, at.join(" or "));
        object.fail(Problem::OtherForm {
            what,
            instead: "the whole object, or the pods that it has made: `kubectl get pods -o yaml`",
        })
    }
}

/// The pods of the objects that a step of a workflow makes.
fn made_by_step(template: &Field<'_>) -> Result<Vec<MadePart>, ManifestError> {
    let mut parts = Vec::new();
    let Some(Manifest { text, objects, name }) = argo_resource::manifest(template)? else { return Ok(parts) };
    for node in &objects {
        let object = Field { node, ..text.clone() };
        let word = |key| {
            let field = object.get(key).ok().flatten();
            field.and_then(|field| field.text("").ok()).unwrap_or_default()
        };
        let (version, kind) = (word("apiVersion"), word("kind"));
        if group_of(version) == argo_resource::GROUP {
            let what = format!("a template that makes another object of Argo, a {kind}");
            return Err(text.fail(Problem::OtherForm { what, instead: "that object as a file" }));
        }
        if let Some(own) = Kind::find(version, kind) {
            let pod = object.descend(own.template())?.unwrap_or_else(|| object.clone());
            let count = own.replicas(&object)?.count;
            let (role, template) = (name.to_owned(), template_of(&pod));
            parts.push(MadePart { role, template, path: pod.path, count, when: When::Apart });
        } else if let Some(Made { parts: inner, .. }) = made(&object, version, kind, &[])? {
            let part = |part: MadePart| {
                let names = [name, part.role.as_str()];
                let role =
                    names.iter().copied().filter(|name| !name.is_empty()).collect::<Vec<_>>().join("-");
                MadePart { role, when: When::Apart, ..part }
            };
            parts.extend(inner.into_iter().map(part));
        }
    }
    Ok(parts)
}

/// Of a pod or a template what a template has: a pod says too what it is.
fn template_of(pod: &Field<'_>) -> Node {
    Tree::at(pod).map(picked(pod.node, &["metadata", "spec"]))
}

impl Part {
    /// How many pods a template makes.
    fn count(&self, object: &Field<'_>, place: &Place<'_>) -> Result<u32, ManifestError> {
        match self.count {
            Count::NotKnown => Ok(1),
            Count::Executors => spark::executors(&place.field),
            Count::Of(factors) => product(object, factors, place, 0),
            Count::LessOne(factors, other) => {
                let less = u32::from(beside(object, other, &place.members)?.is_some());
                product(object, factors, place, less)
            }
            Count::Unless(factors, annotation) => {
                let value = object.descend(&["metadata", "annotations", annotation])?;
                let is_enabled =
                    value.is_some_and(|value| value.text("").is_ok_and(|text| text == "enabled"));
                if is_enabled { Ok(0) } else { product(object, factors, place, 0) }
            }
        }
    }
}

/// The product of numbers of the object, of the last of which `less` is taken.
fn product(
    object: &Field<'_>,
    factors: &[(&str, u32)],
    place: &Place<'_>,
    less: u32,
) -> Result<u32, ManifestError> {
    let mut product = 1_u32;
    for (at, (paths, default)) in factors.iter().enumerate() {
        let mut number = *default;
        for path in paths.split('|') {
            if let Some(field) = beside(object, path, &place.members)? {
                number = integer(&field, "a number, zero or more")?;
                break;
            }
        }
        let is_last = at + 1 == factors.len();
        product = product.saturating_mul(if is_last { number.saturating_sub(less) } else { number });
    }
    Ok(product)
}

fn is_off(field: &Field<'_>) -> bool {
    matches!(field.node.value, Value::Null | Value::Bool(false))
}

fn is_value(field: &Field<'_>, wanted: &str) -> bool {
    match &field.node.value {
        Value::Bool(switch) => switch.to_string() == wanted,
        Value::Text(text) => text == wanted,
        _ => false,
    }
}

/// A remark on templates that count once, as their number is not known.
fn not_known(paths: &[String]) -> Option<String> {
    let shown =
        paths.iter().map(|path| if path.is_empty() { "the object" } else { path }).collect::<Vec<_>>();
    let pods = if paths.len() == 1 {
        "replicas not known: one pod counts"
    } else {
        "replicas not known: one pod of each template counts"
    };
    (!paths.is_empty()).then(|| format!("{pods} ({})", shown.join(", ")))
}

/// The pods of a workflow as its plan has them, those that run alone first, and remarks. `steps` are the parts with the names
/// of their templates.
fn planned(steps: Vec<(String, MadePart)>, plan: Plan) -> (Vec<MadePart>, Vec<String>) {
    let (at_once, apart) = match plan {
        Plan::Known { at_once, apart } => (at_once, apart),
        // A template that is the only one is one pod.
        Plan::NoEntrypoint if steps.len() == 1 => return (as_they_are(steps, When::AtOnce), Vec::new()),
        Plan::NoEntrypoint => return not_planned(steps, "it has no entrypoint"),
        Plan::NotKnown(why, None) => return not_planned(steps, why),
        Plan::NotKnown(why, Some(reached)) => {
            let (steps, others): (Vec<_>, Vec<_>) =
                steps.into_iter().partition(|(name, _)| reached.contains(name));
            let (parts, mut remarks) = not_planned(steps, why);
            remarks.extend(unused(&others.into_iter().map(|(name, _)| name).collect()));
            return (parts, remarks);
        }
    };
    let roles = |pods: &Pods| {
        let shown = pods.iter().map(|(name, count)| match count {
            1 => name.clone(),
            _ => format!("{name} {count} times"),
        });
        shown.collect::<Vec<_>>().join(", ")
    };
    let (mut alone, mut beside, mut others) = (Vec::new(), Vec::new(), BTreeSet::new());
    for (name, part) in steps {
        let with = |times: u32, when| MadePart { count: part.count.saturating_mul(times), when, ..part };
        match (at_once.get(&name), apart.get(&name)) {
            (Some(times), _) => beside.push(with(*times, When::AtOnce)),
            (None, Some(times)) => alone.push(with(*times, When::Apart)),
            (None, None) => _ = others.insert(name),
        }
    }
    let mut remarks = Vec::new();
    if !apart.is_empty() {
        remarks.push(if at_once.is_empty() {
            format!("its templates run as steps or alternatives, not at once: {}", roles(&apart))
        } else {
            let (at_once, apart) = (roles(&at_once), roles(&apart));
            format!(
                "at most these of its pods run at once: {at_once}; others run before or after them and count alone: {apart}"
            )
        });
    }
    remarks.extend(unused(&others));
    alone.append(&mut beside);
    (alone, remarks)
}

/// A remark on templates that the entrypoint does not lead to.
fn unused(names: &BTreeSet<String>) -> Option<String> {
    let shown = names.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    let is_some = !names.is_empty();
    is_some.then(|| format!("its entrypoint does not lead to these templates, which make no pods: {shown}"))
}

/// Each template counts once, alone, where the plan is not known.
fn not_planned(steps: Vec<(String, MadePart)>, why: &str) -> (Vec<MadePart>, Vec<String>) {
    if steps.len() == 1 {
        let text =
            format!("how many of its pods run at once is not known, since {why}: its template counts once");
        return (as_they_are(steps, When::AtOnce), vec![text]);
    }
    let roles = steps.iter().map(|(_, part)| part.role.as_str()).collect::<Vec<_>>().join(", ");
    let text =
        format!("which of its templates run at once is not known, since {why}; each counts alone: {roles}");
    (as_they_are(steps, When::Apart), vec![text])
}

fn as_they_are(steps: Vec<(String, MadePart)>, when: When) -> Vec<MadePart> {
    steps.into_iter().map(|(_, part)| MadePart { when, ..part }).collect()
}

/// Each template that is found counts once.
fn by_structure(object: &Field<'_>) -> Result<Option<Made>, ManifestError> {
    let found = structure::templates(object)?;
    if found.is_empty() {
        return Ok(None);
    }
    let remarks = not_known(&found.iter().map(|found| found.path.clone()).collect::<Vec<_>>());
    let part = |Template { node, path, .. }| MadePart {
        role: String::new(),
        template: node,
        path,
        count: 1,
        when: When::AtOnce,
    };
    Ok(Some(Made { parts: found.into_iter().map(part).collect(), remarks: remarks.into_iter().collect() }))
}
