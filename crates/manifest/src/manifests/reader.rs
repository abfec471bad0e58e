//! Reads object by object.

use std::collections::BTreeSet;

use pod_spec::{Pod, PodRules, PodUid};

use super::{Failure, Manifests, Owner, PodLimit, Remark, Skipped, UnknownFields};
use crate::dra::read_resource_objects;
use crate::node::{Field, Node, Value};
use crate::pods::{Identity, read_body};
use crate::workload::{Kind, Replicas};
use crate::yaml::{Documents, Piece, Pieces, manifests};
use crate::{
    MAX_BYTES, ManifestError, NodeObject, PodEvent, Problem, Refusal, Source, Warning, api, operators,
};

/// What the templates of one text may become; no node has as many pods.
const MAX_PODS: u64 = 10_000;
/// The same for what runs in a cluster: Kubernetes supports "no more than 150,000 total pods".
const MAX_CLUSTER_PODS: u64 = 150_000;
/// Values and letters that copies of templates may have together: some hundred mebibytes.
const MAX_COPIED: u64 = 32 << 20;
/// Counted for each copy and each of its containers besides: names, and lists of amounts that are empty.
const COPY: u64 = 16;

/// Reads every object of a text: `Pod` (`v1`), `Deployment`, `StatefulSet`, `ReplicaSet`, `DaemonSet` (`apps/v1`),
/// `Job`, `CronJob` (`batch/v1`), `ReplicationController` (`v1`), and lists of them (`List`, `PodList` and so on); and
/// kinds of which operators make pods, such as `RayCluster`, `JobSet` or `VirtualMachine`. In objects of other kinds each
/// template of a pod counts once, and a [`Remark`] says that their replicas are not known.
///
/// The text is YAML or JSON of at most 64 MiB, and each object of at most 1 MiB. What makes pods becomes as many of
/// them as it has replicas, a `DaemonSet` one. Pods that a cluster lists keep their UIDs, their phase and the name of
/// their node; a mirror of a static pod has the UID by which its node knows that pod. Amounts are taken as they are written. `unknown` says what becomes of objects with fields that their
/// kind does not have.
///
/// # Errors
/// The text cannot be read at all.
pub fn read_manifests(
    source: &Source<'_>,
    rules: impl Into<PodRules>,
    unknown: UnknownFields,
) -> Result<Manifests, ManifestError> {
    read_manifests_up_to(PodLimit::Usual, source, rules, unknown)
}

/// The same for a text that may become no more than `limit` pods.
///
/// # Errors
/// The text cannot be read at all, or is more pods ([`Problem::TooManyPodsAsked`]).
pub fn read_manifests_up_to(
    limit: PodLimit,
    source: &Source<'_>,
    rules: impl Into<PodRules>,
    unknown: UnknownFields,
) -> Result<Manifests, ManifestError> {
    Reader::new(rules.into(), unknown, limit).read(source)
}

/// Reads objects into [`Manifests`].
pub(super) struct Reader {
    pub(super) read: Manifests,
    pub(super) rules: PodRules,
    unknown: UnknownFields,
    limit: PodLimit,
    names: BTreeSet<(String, String)>,
    uids: BTreeSet<PodUid>,
    copied: u64,
    /// Objects that others name as theirs.
    workloads: Vec<Node>,
}

/// A template and how many pods are made of it.
pub(super) struct Copies<'f, 'a> {
    pub(super) object: &'f Field<'a>,
    pub(super) template: &'f Field<'a>,
    pub(super) namespace: &'f str,
    /// Numbers are put behind it.
    pub(super) prefix: &'f str,
    pub(super) replicas: Replicas,
}

/// What an object says that it is, or what its list implies.
#[derive(Clone)]
struct Header {
    version: String,
    kind: String,
}

/// What a list holds.
enum Members {
    /// Each says what it is.
    Any,
    /// All are this.
    All(Header),
}

impl Members {
    const fn implied(&self) -> Option<&Header> {
        match self {
            Self::Any => None,
            Self::All(header) => Some(header),
        }
    }
}

impl Reader {
    fn new(rules: PodRules, unknown: UnknownFields, limit: PodLimit) -> Self {
        let (names, uids) = (BTreeSet::new(), BTreeSet::new());
        let (read, workloads) = (Manifests::default(), Vec::new());
        Self { read, rules, unknown, limit, names, uids, copied: 0, workloads }
    }

    /// Every object of a text.
    fn read(mut self, source: &Source<'_>) -> Result<Manifests, ManifestError> {
        if source.text.len() > MAX_BYTES {
            self.read_pieces(source)?;
        } else {
            let Documents { nodes, unnoticed } = manifests(source)?;
            self.read.unnoticed.extend(unnoticed.into_iter().map(Warning));
            if source.text.contains("workloadRef") {
                self.workloads = operators::named_workloads(&nodes);
            }
            for node in &nodes {
                self.read_object(&Field::document(source, node), None)?;
            }
        }
        self.read.claim_objects.name_classes(&mut self.read.pods);
        if source.text.contains("resource.k8s.io/") {
            self.read_resources(source)?;
        }
        Ok(self.read)
    }

    /// Reads what decides on claims; what cannot be decoded is refused, once.
    fn read_resources(&mut self, source: &Source<'_>) -> Result<(), ManifestError> {
        let mut resources = read_resource_objects(source)?;
        let refused = core::mem::take(&mut resources.refused);
        let is_same = |one: &Refusal, other: &Refusal| (&one.kind, &one.name) == (&other.kind, &other.name);
        self.read.refused.retain(|one| !refused.iter().any(|other| is_same(one, other)));
        self.read.refused.extend(refused);
        self.read.unknown_fields.append(&mut resources.unknown_fields);
        self.read.resources = resources;
        Ok(())
    }

    /// Reads a text that is too large to be one tree.
    fn read_pieces(&mut self, source: &Source<'_>) -> Result<(), ManifestError> {
        let (mut pieces, outlines) = Pieces::new(source)?;
        for outline in outlines {
            let Some(header) = outline.header(source.text) else {
                let piece = pieces.next(outline.whole.clone());
                self.read_piece(&piece, pieces.read(&piece)?, None)?;
                continue;
            };
            let header = Source { name: source.name, text: &header };
            let Documents { nodes, unnoticed } = pieces.read_header(&header)?;
            self.read.unnoticed.extend(unnoticed.into_iter().map(Warning));
            let Some(node) = nodes.into_iter().next() else { continue };
            let list = Field::document(&header, &node);
            // Without its items a list says only what is wrong with itself.
            self.read_object(&list, None)?;
            let Some(members) = Header::read(&list).ok().and_then(|header| header.members()) else {
                continue;
            };
            for item in &outline.items {
                let piece = pieces.next(item.clone());
                self.read_piece(&piece, pieces.read_item(&piece)?, members.implied())?;
            }
        }
        Ok(())
    }

    /// Reads objects of a part of a text; errors and warnings have positions in the whole text.
    fn read_piece(
        &mut self,
        piece: &Piece<'_>,
        Documents { nodes, unnoticed }: Documents,
        implied: Option<&Header>,
    ) -> Result<(), ManifestError> {
        let unnoticed = unnoticed.into_iter().map(|error| Warning(error.after(piece.start)));
        self.read.unnoticed.extend(unnoticed);
        let Manifests { refused, skipped, unknown_fields, .. } = &self.read;
        let before = (refused.len(), skipped.len(), unknown_fields.len());
        for node in &nodes {
            self.read_object(&Field::document(&piece.source, node), implied)
                .map_err(|error| error.after(piece.start))?;
        }
        let Manifests { refused, skipped, unknown_fields, .. } = &mut self.read;
        for refusal in refused.iter_mut().skip(before.0) {
            let causes = core::mem::take(&mut refusal.causes).into_iter();
            refusal.causes = causes.map(|cause| cause.after(piece.start)).collect();
        }
        for Warning(unknown) in unknown_fields.iter_mut().skip(before.2) {
            *unknown = unknown.clone().after(piece.start);
        }
        for Skipped { place, .. } in skipped.iter_mut().skip(before.1) {
            place.position = place.position.after(piece.start);
        }
        Ok(())
    }

    /// `implied`: members of a list such as `PodList` do not say what they are.
    ///
    /// # Errors
    /// [`Problem::TooManyPodsAsked`]: nothing more is read then. Anything else refuses the object alone.
    fn read_object(&mut self, object: &Field<'_>, implied: Option<&Header>) -> Result<(), ManifestError> {
        let text = |path: &[&str]| {
            let field = object.descend(path).ok().flatten();
            field.and_then(|field| field.text("").ok()).unwrap_or_default().to_owned()
        };
        if let Err(error) = self.try_object(object, implied) {
            if matches!(error.problem(), Problem::TooManyPodsAsked { .. }) {
                return Err(error);
            }
            let error = operators::explained(&text(&["apiVersion"]), &text(&["kind"]), error);
            let kind = implied.map_or_else(|| text(&["kind"]), |header| header.kind.clone());
            let name = text(&["metadata", "name"]);
            self.read.refused.push(Refusal { kind, name, causes: vec![error] });
        }
        Ok(())
    }

    /// Reads objects that one object is a template of, each as if it stood alone.
    pub(super) fn read_inner(&mut self, object: &Field<'_>) -> Result<(), ManifestError> {
        self.read_object(object, None)
    }

    fn try_object(&mut self, object: &Field<'_>, implied: Option<&Header>) -> Result<(), ManifestError> {
        let header = match implied {
            Some(header) => header.clone(),
            None => match operators::of_kustomize(object)? {
                Some((version, kind)) => Header { version, kind },
                None => Header::read(object)?,
            },
        };
        if let Some(members) = header.members() {
            self.read.lists += 1;
            return self.read_items(object, members.implied());
        }
        let Some(kind) = Kind::find(&header.version, &header.kind) else {
            let name = object.descend(&["metadata", "name"])?;
            let name = name.map_or(Ok(""), |name| name.text("a name"))?.to_owned();
            let Header { version, kind } = header;
            if is_node(&version, &kind) {
                self.read.nodes.extend(NodeObject::read(object));
            }
            if is_event(&version, &kind) {
                self.read.events.extend(PodEvent::read(object));
            }
            if operators::is_template(&version, &kind) {
                return self.read_template(object, kind, name);
            }
            if self.read.claim_objects.read(object, &version, &kind)? {
                return Ok(());
            }
            // A misspelt kind of Kubernetes itself is none of an operator, whatever templates it has.
            let is_misspelt = Kind::meant(&version, &kind).is_some_and(|(_, meant)| meant != kind);
            let made = operators::made(object, &version, &kind, &self.workloads);
            if let Some(made) = made?.filter(|_| !is_misspelt) {
                return self.read_made(object, &kind, made);
            }
            self.read.skipped.push(Skipped { version, kind, name, place: object.place() });
            return Ok(());
        };
        let causes = match self.undecodable(object, kind)? {
            none if none.is_empty() => api::check(object, kind)?,
            unknown => unknown,
        };
        if causes.is_empty() {
            return self.read_pods(object, kind);
        }
        let name = object.descend(&["metadata", "name"])?;
        let name = name.map_or(Ok(""), |name| name.text("a name"))?.to_owned();
        self.read.refused.push(Refusal { kind: header.kind, name, causes });
        Ok(())
    }

    /// Unknown fields for which the object is refused; others are noted.
    fn undecodable(&mut self, object: &Field<'_>, kind: Kind) -> Result<Vec<ManifestError>, ManifestError> {
        let unknown = api::unknown_fields(object, kind);
        if !unknown.is_empty() {
            operators::refuse_patch(object)?;
        }
        let was_accepted = object.descend(&["metadata", "resourceVersion"])?.is_some();
        if self.unknown == UnknownFields::Refuse && !was_accepted {
            return Ok(unknown);
        }
        self.read.unknown_fields.extend(unknown.into_iter().map(Warning));
        Ok(Vec::new())
    }

    fn read_items(&mut self, list: &Field<'_>, implied: Option<&Header>) -> Result<(), ManifestError> {
        for item in list.get("items")?.map_or(Ok(Vec::new()), |items| items.items())? {
            // Complaints are about the member, as if it were alone.
            self.read_object(&item.at_path(String::new()), implied)?;
        }
        Ok(())
    }

    fn read_pods(&mut self, object: &Field<'_>, kind: Kind) -> Result<(), ManifestError> {
        let text = |path: &[&str]| {
            let field = object.descend(path)?;
            Ok::<_, ManifestError>(field.map_or(Ok(""), |field| field.text("a text"))?.to_owned())
        };
        let namespace = Some(text(&["metadata", "namespace"])?).filter(|namespace| !namespace.is_empty());
        let namespace = namespace.unwrap_or_else(|| "default".to_owned());
        let (name, prefix) = (text(&["metadata", "name"])?, text(&["metadata", "generateName"])?);
        let template = object.descend(kind.template())?.unwrap_or_else(|| object.clone());
        let spec = template.require("spec", "a mapping with the pod's containers")?;
        let pods = if kind == Kind::Pod && !name.is_empty() {
            self.check_limit(object, 1)?;
            let (identity, place) = self.listed(object, namespace, name.clone())?;
            let metadata = object.get("metadata")?;
            let pod = read_body(identity, metadata.as_ref(), &spec, Some(object))?;
            self.claim(&pod, &place)?;
            self.read.failures.extend(failure(object)?.map(|failure| (pod.uid.clone(), failure)));
            vec![pod]
        } else {
            let prefix = match (kind, name.is_empty()) {
                (_, false) => format!("{name}-"),
                (Kind::Pod, true) => prefix,
                (_, true) => format!("{prefix}0-"),
            };
            let replicas = kind.replicas(object)?;
            self.copies(&Copies {
                object,
                template: &template,
                namespace: &namespace,
                prefix: &prefix,
                replicas,
            })?
        };
        self.read.remarks.extend(Remark::on(kind, object, &name)?);
        let uids = pods.iter().map(|pod| pod.uid.clone());
        if kind == Kind::Pod {
            let controller = object.get("metadata")?.as_ref().map_or(Ok(None), controller)?;
            self.read.controllers.extend(uids.zip(controller));
        } else {
            let owner = Owner { kind: kind.name().to_owned(), name };
            self.read.owners.extend(uids.map(|uid| (uid, owner.clone())));
        }
        self.read.pods.extend(pods.into_iter().map(|pod| pod.with_defaults(self.rules)));
        Ok(())
    }

    /// A pod that has a name, and perhaps a UID: who it is, and where that is written.
    fn listed<'a>(
        &self,
        object: &Field<'a>,
        namespace: String,
        name: String,
    ) -> Result<(Identity, Field<'a>), ManifestError> {
        let metadata = object.require("metadata", "a mapping with the pod's name")?;
        let place = metadata.require("name", "the pod's name")?;
        if self.names.contains(&(namespace.clone(), name.clone())) {
            return Err(place.fail(Problem::DuplicatePod(format!("{namespace}/{name}"))));
        }
        let Some(uid) = metadata.get("uid")? else { return Ok((Identity::made_up(namespace, name), place)) };
        // The node knows a static pod by the hash of its manifest, which its mirror names.
        let mirrored = metadata.descend(&["annotations", "kubernetes.io/config.mirror"])?;
        let uid = mirrored.unwrap_or(uid);
        let text = crate::names::check_uid(&uid)?;
        if self.uids.contains(text) {
            return Err(uid.fail(Problem::DuplicatePod(text.to_owned())));
        }
        Ok((Identity { uid: PodUid::new(text), namespace, name }, uid))
    }

    /// A pod takes its name and UID.
    fn claim(&mut self, pod: &Pod, place: &Field<'_>) -> Result<(), ManifestError> {
        self.names.insert((pod.namespace.clone(), pod.name.clone()));
        if self.uids.insert(pod.uid.clone()) {
            Ok(())
        } else {
            Err(place.fail(Problem::DuplicatePod(pod.uid.to_string())))
        }
    }

    /// The pods of a template, each with the next number that is free.
    pub(super) fn copies(&mut self, copies: &Copies<'_, '_>) -> Result<Vec<Pod>, ManifestError> {
        let Copies { object, template, namespace, prefix, replicas: Replicas { count, first } } = *copies;
        self.check_limit(object, count.into())?;
        self.check_amount(object, kept(template.node), count)?;
        if count == 0 {
            return Ok(Vec::new());
        }
        let spec = template.require("spec", "a mapping with the pod's containers")?;
        let metadata = template.get("metadata")?;
        let mut pods = Vec::new();
        let mut numbers = u64::from(first)..;
        while pods.len() < usize::try_from(count).unwrap_or(usize::MAX) {
            let Some(number) = numbers.next() else { break };
            let name = format!("{prefix}{number}");
            if self.names.contains(&(namespace.to_owned(), name.clone())) {
                continue;
            }
            let identity = Identity::made_up(namespace.to_owned(), name);
            let pod = match pods.first() {
                None => read_body(identity, metadata.as_ref(), &spec, None)?,
                Some(pod) => {
                    let Identity { uid, namespace, name } = identity;
                    Pod { uid, namespace, name, ..Pod::clone(pod) }
                }
            };
            self.claim(&pod, object)?;
            pods.push(pod);
        }
        Ok(pods)
    }

    /// So many more are not more than the reader was asked for.
    fn check_limit(&self, object: &Field<'_>, count: u64) -> Result<(), ManifestError> {
        let PodLimit::AtMost(most) = self.limit else { return Ok(()) };
        let most = u64::try_from(most.get()).unwrap_or(u64::MAX);
        let pods = u64::try_from(self.read.pods.len()).unwrap_or(u64::MAX).saturating_add(count);
        if pods > most { Err(object.fail(Problem::TooManyPodsAsked { pods, most })) } else { Ok(()) }
    }

    /// A small text cannot become more pods than memory holds.
    fn check_amount(&mut self, object: &Field<'_>, weight: u64, count: u32) -> Result<(), ManifestError> {
        let count = u64::from(count);
        let most = if self.limit == PodLimit::Cluster { MAX_CLUSTER_PODS } else { MAX_PODS };
        self.copied = self.copied.saturating_add(count.saturating_mul(weight));
        let before = u64::try_from(self.read.pods.len()).unwrap_or(u64::MAX);
        if before.saturating_add(count) > most || self.copied > MAX_COPIED {
            return Err(object.fail(Problem::TooManyPods(count)));
        }
        Ok(())
    }
}

/// Why a pod has failed; `None`: it has not.
fn failure(object: &Field<'_>) -> Result<Option<Failure>, ManifestError> {
    let text = |field: &str| {
        let field = object.descend(&["status", field])?;
        Ok::<_, ManifestError>(field.map_or(Ok(""), |field| field.text("a text"))?.to_owned())
    };
    if text("phase")? != "Failed" {
        return Ok(None);
    }
    Ok(Some(Failure { reason: text("reason")?, message: text("message")? }))
}

/// How much of a template each of its pods keeps, in values and letters: what it asks for, and what it demands of a
/// node. Everything else, such as environments and volumes, is not read.
fn kept(template: &Node) -> u64 {
    let weight = |node: &Node, keys: &[&str]| {
        let parts = keys.iter().filter_map(|key| node.value.get(key)).map(Node::weight);
        COPY.saturating_add(
            parts.fold(0, |all, part| all.saturating_add(u64::try_from(part).unwrap_or(u64::MAX))),
        )
    };
    let Some(spec) = template.value.get("spec") else { return COPY };
    let lists = ["initContainers", "containers"].into_iter().filter_map(|list| spec.value.get(list));
    let containers = lists.flat_map(|list| match &list.value {
        Value::List(containers) => containers.as_slice(),
        _ => &[],
    });
    let containers = containers.map(|container| weight(container, &["resources", "ports"]));
    let own = weight(spec, &["nodeSelector", "affinity", "tolerations", "overhead", "resources"]);
    containers.fold(own, u64::saturating_add)
}

fn is_node(version: &str, kind: &str) -> bool {
    version == "v1" && kind == "Node"
}

fn is_event(version: &str, kind: &str) -> bool {
    matches!(version, "v1" | "events.k8s.io/v1") && kind == "Event"
}

impl Header {
    fn read(object: &Field<'_>) -> Result<Self, ManifestError> {
        const KIND: &str = "the object's kind, such as Pod or Deployment";
        const VERSION: &str = "the kind's version, such as v1 or apps/v1";
        let version = object.require("apiVersion", VERSION)?.text(VERSION)?.to_owned();
        let kind = object.require("kind", KIND)?.text(KIND)?.to_owned();
        Ok(Self { version, kind })
    }

    /// What it holds if it is a list.
    fn members(&self) -> Option<Members> {
        if self.version == "v1" && self.kind == "List" {
            return Some(Members::Any);
        }
        let kind = self.kind.strip_suffix("List")?.to_owned();
        let is_read = is_node(&self.version, &kind)
            || is_event(&self.version, &kind)
            || Kind::find(&self.version, &kind).is_some();
        is_read.then(|| Members::All(Self { version: self.version.clone(), kind }))
    }
}

/// The workload that a pod of a cluster belongs to, by its `metadata.ownerReferences`. A `ReplicaSet` that has the pod's
/// `pod-template-hash` at the end of its name is that of a Deployment. A Node owns the mirrors of its static pods, and
/// is no workload.
fn controller(metadata: &Field<'_>) -> Result<Option<Owner>, ManifestError> {
    let references = metadata.get("ownerReferences")?.map_or(Ok(Vec::new()), |list| list.items())?;
    let text = |field: Option<Field<'_>>| {
        Ok::<_, ManifestError>(field.map_or(Ok(""), |field| field.text("a text"))?.to_owned())
    };
    for reference in references {
        if reference.get("controller")?.is_some_and(|field| field.is_true()) {
            let (kind, name) = (text(reference.get("kind")?)?, text(reference.get("name")?)?);
            let hash = text(metadata.descend(&["labels", "pod-template-hash"])?)?;
            let deployment = name.strip_suffix(&hash).and_then(|name| name.strip_suffix('-'));
            return Ok(match (kind.as_str(), deployment) {
                ("Node", _) => None,
                ("ReplicaSet", Some(name)) if !hash.is_empty() => {
                    Some(Owner { kind: "Deployment".to_owned(), name: name.to_owned() })
                }
                _ => Some(Owner { kind, name }),
            });
        }
    }
    Ok(None)
}
