//! What stands at a place of pods, as the template that its operator makes of it.

use super::instance_type::with_instance_type;
use super::path::Place;
use super::tree::{Tree, entries, picked, set_default};
use super::{launcher, spark};
use crate::ManifestError;
use crate::constraints::integer;
use crate::node::{Field, Node, Value};

/// What stands at the place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// A pod's template.
    Template,
    /// A pod's specification, with other fields beside its own.
    Spec,
    /// A job's specification, which has a template and how many pods run at once.
    Job,
    /// A template of Knative: a container needs no name there, and another one passes requests on to it.
    Knative,
    /// A component of `KServe`: a pod's specification, or a model in place of containers.
    Component,
    /// A template of Argo: a container, a script or a set of containers.
    Argo,
    /// The trainer of a `TrainJob`: resources of each node.
    Trainer,
    /// The application of Spark whose driver it is.
    SparkDriver,
    /// The same, of which it is an executor.
    SparkExecutor,
    /// A virtual machine of `KubeVirt`: metadata and a specification.
    Launcher,
    /// What an operator writes a template by: the resources of its one container, and where its pods may run.
    Resources,
    /// A plan of the system upgrade controller: containers without resources.
    Upgrade,
}

/// The template of pods.
pub(super) struct Template {
    pub(super) node: Node,
    /// Where it is in the object.
    pub(super) path: String,
    /// How many pods of it run at once, beside what the object says elsewhere.
    pub(super) times: u32,
}

impl Template {
    /// Of a pod's specification, with the fields of it that are read.
    pub(super) fn of_spec(spec: &Field<'_>) -> Self {
        let tree = Tree::at(spec);
        let node = tree.template(None, tree.map(picked(spec.node, POD_FIELDS)));
        Self::beside(spec, node)
    }

    /// A template that is made of a specification.
    fn beside(spec: &Field<'_>, node: Node) -> Self {
        // Complaints name the place of the specification, of which `spec` is the last part in a template.
        let path = spec.path.strip_suffix("spec").filter(|path| path.is_empty() || path.ends_with('.'));
        Self { node, path: path.unwrap_or(&spec.path).trim_end_matches('.').to_owned(), times: 1 }
    }
}

/// The fields of a pod's specification that are read.
const POD_FIELDS: &[&str] = &[
    "affinity",
    "containers",
    "hostNetwork",
    "initContainers",
    "nodeName",
    "nodeSelector",
    "os",
    "overhead",
    "priority",
    "priorityClassName",
    "resourceClaims",
    "resources",
    "restartPolicy",
    "runtimeClassName",
    "schedulerName",
    "securityContext",
    "tolerations",
];

impl Form {
    /// The template; `None`: what stands there makes no pod.
    pub(super) fn template(
        self,
        object: &Field<'_>,
        place: &Place<'_>,
    ) -> Result<Option<Template>, ManifestError> {
        let field = &place.field;
        let tree = Tree::at(field);
        let metadata = || field.node.value.get("metadata");
        let made = |node| Some(Template { node, path: field.path.clone(), times: 1 });
        Ok(match self {
            Self::Template => made(field.node.clone()),
            Self::Spec => field.get("containers")?.is_some().then(|| Template::of_spec(field)),
            Self::Job => job(field)?,
            Self::Knative => made(tree.template(metadata(), knative(&tree, field)?)),
            Self::Component => {
                component(&tree, object, field)?.map(|spec| tree.template(None, spec)).and_then(made)
            }
            Self::Argo => {
                argo(&tree, object, field).map(|spec| tree.template(metadata(), spec)).and_then(made)
            }
            Self::Trainer => trainer(&tree, field).and_then(made),
            Self::SparkDriver => Some(Template::beside(field, spark::driver(field)?)),
            Self::SparkExecutor => Some(Template::beside(field, spark::executor(field)?)),
            Self::Launcher => match with_instance_type(object, field)? {
                Some(node) => made(launcher::template(&Field { node: &node, ..field.clone() })?),
                None => made(launcher::template(field)?),
            },
            Self::Resources => made(of_resources(&tree, field)),
            Self::Upgrade => upgrade(&tree, field).and_then(made),
        })
    }
}

/// As many pods run at once as a job may have in parallel, and no more than it has to complete.
fn job(spec: &Field<'_>) -> Result<Option<Template>, ManifestError> {
    let Some(template) = spec.get("template")? else { return Ok(None) };
    let number = |key: &str| {
        let field = spec.get(key)?;
        field.map(|field| integer::<u32>(&field, "a number, zero or more")).transpose()
    };
    let times = number("parallelism")?.unwrap_or(1).min(number("completions")?.unwrap_or(u32::MAX));
    Ok(Some(Template { node: template.node.clone(), path: template.path.clone(), times }))
}

/// The items of the list `containers`, each with a name.
fn named(tree: &Tree, fields: &mut [(String, Node)], name: &str) {
    let Some((_, list)) = fields.iter_mut().find(|(key, _)| key == "containers") else { return };
    let Value::List(items) = &list.value else { return };
    let items = items.iter().enumerate().map(|(at, item)| {
        let mut container = entries(item);
        let name = if at == 0 { name.to_owned() } else { format!("{name}-{at}") };
        set_default(&mut container, "name", tree.text(name));
        tree.map(container)
    });
    *list = tree.list(items.collect());
}

/// Adds a container to those of a pod.
fn with_container(tree: &Tree, fields: &mut Vec<(String, Node)>, container: Node) {
    with_item(tree, fields, "containers", container);
}

/// Adds an item to a list.
fn with_item(tree: &Tree, fields: &mut Vec<(String, Node)>, list: &str, item: Node) {
    match fields.iter_mut().find(|(key, _)| key == list) {
        Some((_, Node { value: Value::List(items), .. })) => items.push(item),
        _ => fields.push((list.to_owned(), tree.list(vec![item]))),
    }
}

/// `queue-proxy` requests 25m CPU unless the cluster's `config-deployment` has another amount.
fn queue_proxy(tree: &Tree) -> Node {
    tree.container("queue-proxy", &amounts("25m", ""), &[])
}

/// Amounts of CPUs and memory; an empty one is none.
fn amounts(cpu: &str, memory: &str) -> Vec<(String, String)> {
    let amounts = [("cpu", cpu), ("memory", memory)].into_iter().filter(|(_, amount)| !amount.is_empty());
    amounts.map(|(resource, amount)| (resource.to_owned(), amount.to_owned())).collect()
}

fn knative(tree: &Tree, template: &Field<'_>) -> Result<Node, ManifestError> {
    let spec = template.require("spec", "a mapping with the revision's containers")?;
    let mut fields = picked(spec.node, POD_FIELDS);
    named(tree, &mut fields, "user-container");
    with_container(tree, &mut fields, queue_proxy(tree));
    Ok(tree.map(fields))
}

/// The resources that `KServe` gives a container which has none of that name: both a request and a limit.
const COMPONENT_DEFAULTS: [(&str, &str); 2] = [("cpu", "1"), ("memory", "2Gi")];
/// Keys of a component under which a model with a container's fields stands.
const MODELS: &[&str] = &[
    "model",
    "sklearn",
    "xgboost",
    "tensorflow",
    "pytorch",
    "triton",
    "onnx",
    "huggingface",
    "pmml",
    "lightgbm",
    "paddle",
    "alibi",
    "art",
];

fn component(tree: &Tree, object: &Field<'_>, component: &Field<'_>) -> Result<Option<Node>, ManifestError> {
    let mut fields = picked(component.node, POD_FIELDS);
    named(tree, &mut fields, "kserve-container");
    let model = MODELS.iter().find_map(|key| component.node.value.get(key));
    if let Some(model) = model {
        let mut container = picked(model, &["name", "resources", "ports", "env", "image"]);
        set_default(&mut container, "name", tree.text("kserve-container"));
        let resources = container.iter().find(|(key, _)| key == "resources").map(|(_, node)| node.clone());
        container.retain(|(key, _)| key != "resources");
        container.push(("resources".to_owned(), with_defaults(tree, resources.as_ref())));
        with_container(tree, &mut fields, tree.map(container));
    }
    if !fields.iter().any(|(key, _)| key == "containers") {
        return Ok(None);
    }
    // What the webhook and the mode add, as `inferenceservice-config` has it by default.
    let sources = storage(component, model);
    if sources.iter().any(|source| source.starts_with("oci://")) {
        let own = amounts("10m", "15Mi");
        with_item(tree, &mut fields, "initContainers", tree.container("modelcar-init", &own, &own));
        with_container(tree, &mut fields, tree.container("modelcar", &own, &own));
    } else if sources.iter().any(|source| !source.starts_with("pvc://")) {
        let (requests, limits) = (amounts("100m", "100Mi"), amounts("1", "1Gi"));
        let container = tree.container("storage-initializer", &requests, &limits);
        with_item(tree, &mut fields, "initContainers", container);
    }
    if is_knative(object)? {
        with_container(tree, &mut fields, queue_proxy(tree));
    }
    Ok(Some(tree.map(fields)))
}

/// Where the models of a component are loaded from: volumes (`pvc://`) are mounted, images (`oci://`) run beside it, and
/// anything else is downloaded.
fn storage<'a>(component: &Field<'a>, model: Option<&'a Node>) -> Vec<&'a str> {
    let text = |node: &'a Node| match &node.value {
        Value::Text(text) => Some(text.as_str()),
        _ => None,
    };
    let items = |node: Option<&'a Node>| match node.map(|node| &node.value) {
        Some(Value::List(items)) => items.as_slice(),
        _ => &[],
    };
    let value = &component.node.value;
    let of_model = model.and_then(|model| model.value.get("storageUri")).and_then(text);
    // The storage is one that a secret names.
    let by_secret = model.and_then(|model| model.value.get("storage")).map(|_| "");
    let listed = items(value.get("storageUris")).iter();
    let listed = listed.filter_map(|item| item.value.get("uri").and_then(text));
    let settings = items(value.get("containers")).iter().flat_map(|own| items(own.value.get("env")));
    let set = settings
        .filter(|setting| setting.value.get("name").and_then(text) == Some("STORAGE_URI"))
        .filter_map(|setting| setting.value.get("value").and_then(text));
    of_model.or(by_secret).into_iter().chain(listed).chain(set).collect()
}

/// Whether the pods are those of a service of Knative: the default, which workers on several nodes do not have.
fn is_knative(object: &Field<'_>) -> Result<bool, ManifestError> {
    const MODE: [&str; 3] = ["metadata", "annotations", "serving.kserve.io/deploymentMode"];
    let mode = object.descend(&MODE)?.map_or(Ok(""), |mode| mode.text("a text"))?;
    let has_workers = object.descend(&["spec", "predictor", "workerSpec"])?.is_some();
    Ok(!has_workers && !["RawDeployment", "Standard", "ModelMesh"].contains(&mode))
}

/// Resources with the defaults of a component.
fn with_defaults(tree: &Tree, resources: Option<&Node>) -> Node {
    let list = |key| resources.and_then(|node| node.value.get(key)).map(entries).unwrap_or_default();
    let (mut requests, mut limits) = (list("requests"), list("limits"));
    for (resource, amount) in COMPONENT_DEFAULTS {
        let has = |list: &[(String, Node)]| list.iter().any(|(own, _)| own == resource);
        if !has(&requests) && !has(&limits) {
            requests.push((resource.to_owned(), tree.text(amount)));
            limits.push((resource.to_owned(), tree.text(amount)));
        }
    }
    let mut fields = resources.map(entries).unwrap_or_default();
    fields.retain(|(key, _)| key != "requests" && key != "limits");
    fields.push(("requests".to_owned(), tree.map(requests)));
    fields.push(("limits".to_owned(), tree.map(limits)));
    tree.map(fields)
}

/// Argo puts containers `init` and `wait` beside those of the template; they request nothing unless the workflow
/// controller's `executor` has resources. What the template does not set the workflow's specification may.
fn argo(tree: &Tree, object: &Field<'_>, template: &Field<'_>) -> Option<Node> {
    let get = |key| template.node.value.get(key).filter(|node| matches!(node.value, Value::Map(_)));
    let own = match (get("container").or_else(|| get("script")), get("containerSet")) {
        (Some(container), _) => vec![container.clone()],
        (None, Some(set)) => match set.value.get("containers").map(|list| &list.value) {
            Some(Value::List(containers)) => containers.clone(),
            _ => return None,
        },
        (None, None) => return None,
    };
    let list = |key| match template.node.value.get(key).map(|node| &node.value) {
        Some(Value::List(items)) => items.clone(),
        _ => Vec::new(),
    };
    // Fields of the workflow's own containers that pods do not have.
    let plain = |node: &Node| {
        let mut fields = entries(node);
        fields.retain(|(key, _)| !["source", "dependencies", "mirrorVolumeMounts"].contains(&key.as_str()));
        fields
    };
    let main = own.iter().map(|container| {
        let mut container = plain(container);
        set_default(&mut container, "name", tree.text("main"));
        tree.map(container)
    });
    let beside = list("sidecars").into_iter().map(|sidecar| tree.map(plain(&sidecar)));
    let containers = main.chain(beside).chain([tree.container("wait", &[], &[])]).collect();
    let inits = list("initContainers").into_iter().map(|init| tree.map(plain(&init)));
    let inits = inits.chain([tree.container("init", &[], &[])]).collect();
    let mut fields = vec![
        ("containers".to_owned(), tree.list(containers)),
        ("initContainers".to_owned(), tree.list(inits)),
    ];
    let spec = object.node.value.get("spec");
    let spec = spec.and_then(|spec| spec.value.get("workflowSpec")).or(spec);
    for from in [Some(template.node), spec].into_iter().flatten() {
        for (key, node) in picked(from, &["nodeSelector", "affinity", "tolerations", "priorityClassName"]) {
            set_default(&mut fields, &key, node);
        }
    }
    Some(tree.map(fields))
}

/// The pod by which an operator runs its program.
fn of_resources(tree: &Tree, part: &Field<'_>) -> Node {
    let name = ("name".to_owned(), tree.text("main"));
    let container = tree.map([name].into_iter().chain(picked(part.node, &["resources"])));
    let mut fields = vec![("containers".to_owned(), tree.list(vec![container]))];
    fields.extend(picked(part.node, &["nodeSelector", "tolerations", "priorityClassName"]));
    tree.template(None, tree.map(fields))
}

/// The pod of one node: what prepares it, and what upgrades it.
fn upgrade(tree: &Tree, plan: &Field<'_>) -> Option<Node> {
    let container = |key: &str| plan.node.value.get(key).map(|_| tree.container(key, &[], &[]));
    let mut fields = vec![("containers".to_owned(), tree.list(vec![container("upgrade")?]))];
    fields.extend(container("prepare").map(|own| ("initContainers".to_owned(), tree.list(vec![own]))));
    fields.extend(picked(plan.node, &["tolerations"]));
    Some(tree.template(None, tree.map(fields)))
}

fn trainer(tree: &Tree, trainer: &Field<'_>) -> Option<Node> {
    let resources = trainer.node.value.get("resourcesPerNode")?;
    let container =
        tree.map([("name".to_owned(), tree.text("node")), ("resources".to_owned(), resources.clone())]);
    Some(tree.template(None, tree.map([("containers".to_owned(), tree.list(vec![container]))])))
}
