//! Objects of one form in a file, each for other nodes: node groups, machine pools, templates of Cluster API.
//!
//! What they set is compared. Where it is the same, or one alone sets something, there is nothing to choose. Where several
//! differ, the first for workers is read, and the others are named.

use super::kind::{ConfigKind, names};
use super::machines::{Machines, machines};
use super::node_class::{NodeClass, instance_types};
use super::node_files::refused_form;
use super::node_groups::{group_lists, groups, instance_groups, is_kops, with_pods};
use super::object_choice::ObjectChoice;
use super::roles::{is_of_control_plane, selector};
use super::steps::steps;
use super::{body, flags, kind_of};
use crate::node::{Field, Node};
use crate::warning::Warning;
use crate::{ManifestError, Problem, Source};

/// An object, or a node group of one.
struct Candidate {
    document: Node,
    name: String,
    is_control_plane: bool,
    kind: ConfigKind,
    /// Everything in it that decides on the kubelet, to be compared.
    sets: String,
    is_empty: bool,
    /// What the base beneath it depends on, to be compared.
    base: String,
    /// The refusal where something beside its fields changes the kubelet.
    refused: Option<ManifestError>,
}

impl Candidate {
    fn of(source: &Source<'_>, document: Node, name: String) -> Result<Self, ManifestError> {
        let field = Field::document(source, &document);
        let kind = kind_of(&field);
        let fields = match kind {
            ConfigKind::PerformanceProfile => document.value.get("spec").map(Node::to_json),
            _ => Some(body(&field)?.node.to_json()),
        };
        let fields = fields.unwrap_or_default();
        let flags: Vec<String> = flags(&field)?.iter().map(|flag| flag.text().to_owned()).collect();
        let class = NodeClass::of(&field)?;
        let beside = class.as_ref().is_some_and(|class| class.user_data.is_some());
        let is_empty = matches!(fields.as_str(), "" | "{}") && flags.is_empty() && !beside;
        let refused = refused_form(&field);
        let is_empty = is_empty && refused.is_none();
        let is_control_plane = is_of_control_plane(&document);
        let sets = format!("{fields} {flags:?} {class:?} {refused:?}");
        let base = format!("{:?} {:?}", class.map(|class| class.family), instance_types(&field));
        Ok(Self { document, name, is_control_plane, kind, sets, is_empty, base, refused })
    }
}

/// The one object that is read of several, or of one with several node groups.
///
/// # Errors
/// Several forms set something, or several objects of one that has one configuration.
pub(super) fn picked(
    source: &Source<'_>,
    documents: Vec<Node>,
    warnings: &mut Vec<Warning>,
) -> Result<(Node, Option<ObjectChoice>), ManifestError> {
    let mut candidates = last_of_selectors(source, candidates(source, documents)?, warnings);
    let is_worker = |one: &Candidate| !one.is_control_plane;
    let at = candidates
        .iter()
        .position(|one| !one.is_empty && is_worker(one))
        .or_else(|| candidates.iter().position(|one| !one.is_empty))
        .or_else(|| candidates.iter().position(is_worker))
        .unwrap_or_default();
    if candidates.is_empty() {
        return Err(ManifestError::at(source, "", &(0..0), Problem::Empty));
    }
    let chosen = candidates.remove(at);
    // Objects of OpenShift for the same machines lie over each other.
    let is_over = |one: &&Candidate| {
        one.kind == ConfigKind::OpenShift && one.is_control_plane == chosen.is_control_plane
    };
    let beside = candidates.iter().filter(is_over).find_map(|one| one.refused.clone());
    if let Some(error) = chosen.refused.or(beside) {
        return Err(error);
    }
    let named = |one: &Candidate| one.name.clone();
    let has_base = |one: &Candidate| one.kind != chosen.kind || one.base == chosen.base;
    let is_alike = |one: &&Candidate| (one.sets == chosen.sets || one.is_empty) && has_base(one);
    let differing: Vec<&Candidate> = candidates.iter().filter(|one| !is_alike(one)).collect();
    // Objects of a cluster are for different nodes, and others lie over each other on the same ones.
    let is_of_cluster = |kind: ConfigKind| matches!(kind, ConfigKind::Part(_) | ConfigKind::Rke2);
    let is_other = |one: &&&Candidate| {
        one.kind != chosen.kind && !(is_of_cluster(one.kind) && is_of_cluster(chosen.kind))
            || one.kind == ConfigKind::Kubelet
    };
    let other = differing.iter().find(is_other).copied();
    // Two files of a kubelet are a mistake even where they are the same.
    let again = candidates.iter().find(|one| one.kind == ConfigKind::Kubelet);
    if let Some(other) = other.or(again.filter(|_| chosen.kind == ConfigKind::Kubelet)) {
        let problem = Problem::OtherForm {
            what: "found another configuration".to_owned(),
            instead: "one configuration: split the file",
        };
        return Err(Field::document(source, &other.document).fail(problem));
    }
    let choice = ObjectChoice {
        chosen: chosen.name.clone(),
        alike: candidates.iter().filter(is_alike).map(named).collect(),
        differing: differing.into_iter().map(named).collect(),
    };
    Ok((chosen.document, Some(choice).filter(|_| !candidates.is_empty())))
}

fn candidates(source: &Source<'_>, documents: Vec<Node>) -> Result<Vec<Candidate>, ManifestError> {
    let mut candidates = Vec::new();
    let (kops, others): (Vec<Node>, Vec<Node>) =
        documents.into_iter().partition(|node| is_kops(&Field::document(source, node)));
    for document in instance_groups(source, kops).into_iter().chain(others) {
        let field = Field::document(source, &document);
        let text = |path: &[&str]| {
            let field = field.descend(path).ok().flatten();
            field.and_then(|field| field.text("a name").ok()).unwrap_or_default().to_owned()
        };
        let apart = machines(source, &document);
        if !apart.is_empty() {
            for Machines { name, mut document, are_of_control_plane } in apart {
                with_pods(source, &mut document);
                let own = Candidate::of(source, document, name)?;
                let is_control_plane = own.is_control_plane || are_of_control_plane;
                candidates.push(Candidate { is_control_plane, ..own });
            }
            continue;
        }
        let lists = group_lists(&field);
        if lists.is_empty() {
            let (kind, _) = names(&field);
            let name = format!("{kind} {:?}", text(&["metadata", "name"]));
            let of_steps = steps(source, &document)?;
            let is_one = of_steps.is_empty();
            for (step, alone) in of_steps {
                candidates.push(Candidate::of(source, alone, format!("{name}, {step}"))?);
            }
            if is_one {
                candidates.push(Candidate::of(source, document, name)?);
            }
        } else {
            for (name, group) in groups(&document, &lists) {
                candidates.push(Candidate::of(source, group, format!("node group {name:?}"))?);
            }
        }
    }
    Ok(candidates)
}

/// The candidates without each `KubeletConfig` of OpenShift that a later one of the same pools of machines replaces: the machine
/// config operator writes one file of the kubelet for each, and of these the one of the last object counts
/// (`pkg/controller/kubelet-config` in openshift/machine-config-operator).
fn last_of_selectors(
    source: &Source<'_>,
    candidates: Vec<Candidate>,
    warnings: &mut Vec<Warning>,
) -> Vec<Candidate> {
    const EXPECTED: &str = "one KubeletConfig for a pool of machines";
    let own = |one: &Candidate| {
        let (kind, _) = names(&Field::document(source, &one.document));
        Some(selector(&one.document)).filter(|selector| kind == "KubeletConfig" && !selector.is_empty())
    };
    let selectors: Vec<Option<String>> = candidates.iter().map(own).collect();
    let names: Vec<String> = candidates.iter().map(|one| one.name.clone()).collect();
    let mut kept = Vec::new();
    for (at, one) in candidates.into_iter().enumerate() {
        let own = selectors.get(at).cloned().flatten();
        let last =
            own.as_ref().and_then(|own| selectors.iter().rposition(|other| other.as_ref() == Some(own)));
        let Some(last) = last.filter(|last| *last > at).and_then(|last| names.get(last)) else {
            kept.push(one);
            continue;
        };
        let what = format!("{last} selects the same machines later: {} has no effect", one.name);
        let problem = Problem::Useless { what, expected: EXPECTED };
        warnings.push(Warning(Field::document(source, &one.document).fail(problem)));
    }
    kept
}
