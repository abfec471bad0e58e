//! Objects of which operators make pods: the templates in them, as the pods come out of them.
//!
//! A kind of [`table::WORKLOADS`] says where its templates are and how many pods each makes. In an object of any other
//! kind each pod's specification counts once. Names of pods are the object's, the part's and a number.

mod path;
mod tree;
mod table;
mod form;
mod spark;
mod launcher;
mod structure;

use self::form::Template;
use self::path::{Place, beside, places};
pub(crate) use self::table::When;
use self::table::{Count, Part, WORKLOADS, Workload};
use crate::constraints::integer;
use crate::node::{Field, Node, Value};
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

/// The pods of an object that is none of Kubernetes' own workloads; `None`: nothing in it makes pods.
///
/// # Errors
/// The object should have a template and has none, or it is made into others before it has pods.
pub(crate) fn made(object: &Field<'_>, version: &str, kind: &str) -> Result<Option<Made>, ManifestError> {
    let group = group_of(version);
    if kind == "Template" && matches!(group, "template.openshift.io" | "") {
        let what = "this is a template of OpenShift, which is not processed yet".to_owned();
        let instead = "the objects that it makes: `oc process --local -f FILE -o yaml > OBJECTS`, and OBJECTS in its place";
        return Err(object.fail(Problem::OtherForm { what, instead }));
    }
    match WORKLOADS.iter().find(|known| (known.group, known.kind) == (group, kind)) {
        Some(known) => known.made(object).map(Some),
        // A definition of a kind has the names of its fields, and no object.
        None if group == "apiextensions.k8s.io" => Ok(None),
        None => by_structure(object),
    }
}

/// The API group of a version; empty: Kubernetes' first.
pub(crate) fn group_of(version: &str) -> &str {
    version.split_once('/').map_or("", |(group, _)| group)
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
            let what = "this is a patch of an object, for kustomize or kubectl".to_owned();
            Err(object.fail(Problem::OtherForm { what, instead: KUSTOMIZE }))
        }
        _ => Ok(None),
    }
}

impl Workload {
    fn made(&self, object: &Field<'_>) -> Result<Made, ManifestError> {
        let mut parts = Vec::new();
        let mut not_counted = Vec::new();
        for part in self.parts {
            for place in places(object, part.at)? {
                let Some(Template { node, path, times }) = part.form.template(object, &place)? else {
                    continue;
                };
                let count = part.count(object, &place)?.saturating_mul(times);
                if matches!(part.count, Count::NotKnown) {
                    not_counted.push(path.clone());
                }
                let role = if part.role.is_empty() { place.name } else { part.role.to_owned() };
                parts.push(MadePart { role, template: node, path, count, when: part.when });
            }
        }
        if parts.is_empty() {
            return Err(self.nothing(object));
        }
        let mut remarks = Vec::new();
        for &(at, says) in self.remarks {
            if !places(object, at)?.iter().all(|place| is_off(&place.field)) {
                remarks.push(says.to_owned());
            }
        }
        remarks.extend(not_known(&not_counted));
        remarks.extend(apart(&mut parts));
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

impl Part {
    /// How many pods a template makes.
    fn count(&self, object: &Field<'_>, place: &Place<'_>) -> Result<u32, ManifestError> {
        match self.count {
            Count::NotKnown => Ok(1),
            Count::Of(factors) => product(object, factors, place, 0),
            Count::LessOne(factors, other) => {
                let less = u32::from(beside(object, other, &place.members)?.is_some());
                product(object, factors, place, less)
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

/// Templates that run in steps: one alone runs alone, and several are a remark.
fn apart(parts: &mut [MadePart]) -> Option<String> {
    let steps: Vec<&str> =
        parts.iter().filter(|part| part.when == When::Apart).map(|part| part.role.as_str()).collect();
    if steps.len() > 1 {
        let steps = steps.join(", ");
        return Some(format!("its templates run as steps or alternatives, not at once: {steps}"));
    }
    for part in parts {
        part.when = When::AtOnce;
    }
    None
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
