//! Machines that one object configures apart: workers of a Gardener shoot, machines that a label selects in Rancher, and worker
//! profiles of k0s. The object becomes several, each with what its machines get.

use super::kind::{ConfigKind, K0S_GROUP, K0SCTL_GROUP, RANCHER_GROUP, names};
use super::node_groups::{at, put, text};
use crate::kubelet_arguments::{KubeletConf, is_of_configuration};
use crate::node::{Entry, Field, Node, Value};
use crate::problem::CONFIGZ;
use crate::{ManifestError, Problem, Source};

/// Machines of an object, which is `document` for them alone.
pub(super) struct Machines {
    /// As it is shown: `worker "a"`.
    pub(super) name: String,
    pub(super) document: Node,
    pub(super) are_of_control_plane: bool,
}

/// The machines that an object configures apart; of another object none.
pub(super) fn machines(source: &Source<'_>, document: &Node) -> Vec<Machines> {
    let (kind, version) = names(&Field::document(source, document));
    match kind {
        "Shoot" if version.starts_with("core.gardener.cloud/") => workers(document),
        "Cluster" if version.starts_with(RANCHER_GROUP) => selected(document),
        "Cluster" if version.starts_with(K0SCTL_GROUP) => profiles(document, OF_K0SCTL),
        "ClusterConfig" if version.starts_with(K0S_GROUP) => profiles(document, OF_K0S),
        _ => Vec::new(),
    }
}

fn items<'a>(document: &'a Node, path: &[&str]) -> &'a [Node] {
    match at(document, path).map(|list| &list.value) {
        Some(Value::List(items)) => items,
        _ => &[],
    }
}

/// Where a shoot of Gardener has its workers.
const WORKERS: &[&str] = &["spec", "provider", "workers"];

/// Each group of workers with the fields that it gets: its own ones take the place of the cluster's.
fn workers(document: &Node) -> Vec<Machines> {
    let alone = |item: &Node| {
        let mut alone = document.clone();
        if let Some(own) = at(item, &["kubernetes", "kubelet"]).filter(|own| own.value != Value::Null) {
            put(&mut alone, &["spec", "kubernetes", "kubelet"], own.clone());
        }
        put(&mut alone, WORKERS, Node { value: Value::Null, span: item.span.clone() });
        let name = format!("worker {:?}", text(item, &["name"]).unwrap_or_default());
        Machines { name, document: alone, are_of_control_plane: false }
    };
    items(document, WORKERS).iter().map(alone).collect()
}

/// Where a cluster of Rancher has the options of k3s or RKE2 that all its machines get (`RKEClusterSpecCommon` in
/// `pkg/apis/rke.cattle.io/v1` of rancher/rancher).
pub(super) const OF_ALL: &[&str] = &["spec", "rkeConfig", "machineGlobalConfig"];
/// The same of machines that a label selects; without one of all.
const OF_SELECTED: &[&str] = &["spec", "rkeConfig", "machineSelectorConfig"];

/// The machines that no label selects, and those that one does. Keys of a later entry take the place of an earlier one's, as in
/// `addUserConfig` of `pkg/capr/planner/config.go`.
fn selected(document: &Node) -> Vec<Machines> {
    let entries = items(document, OF_SELECTED);
    let selector =
        |entry: &Node| at(entry, &["machineLabelSelector"]).filter(|own| own.value != Value::Null).cloned();
    let with = |chosen: Option<usize>| {
        let mut alone = document.clone();
        let span = document.span.clone();
        let mut made = at(document, OF_ALL).cloned().unwrap_or(Node { value: Value::Null, span });
        for (number, entry) in entries.iter().enumerate() {
            let own = at(entry, &["config"]).filter(|_| selector(entry).is_none() || chosen == Some(number));
            if let Some(Value::Map(own)) = own.map(|own| &own.value) {
                let Value::Map(all) = &mut made.value else {
                    made.value = Value::Map(own.clone());
                    continue;
                };
                all.retain(|entry| !own.iter().any(|own| own.key == entry.key));
                all.extend(own.iter().cloned());
            }
        }
        put(&mut alone, OF_ALL, made);
        put(&mut alone, OF_SELECTED, Node { value: Value::Null, span: document.span.clone() });
        alone
    };
    let all = Machines {
        name: "machineGlobalConfig".to_owned(),
        document: with(None),
        are_of_control_plane: false,
    };
    let apart = entries.iter().enumerate().filter_map(|(number, entry)| {
        let labels = shown(&selector(entry)?);
        Some(Machines {
            are_of_control_plane: labels.contains("control-plane-role") || labels.contains("etcd-role"),
            name: format!("machineSelectorConfig[{number}] ({labels})"),
            document: with(Some(number)),
        })
    });
    core::iter::once(all).chain(apart).collect()
}

/// A selector of labels, for people.
fn shown(selector: &Node) -> String {
    let Some(Value::Map(labels)) = at(selector, &["matchLabels"]).map(|labels| &labels.value) else {
        return selector.to_json();
    };
    let label = |label: &Entry| match &label.value.value {
        Value::Text(value) => format!("{}={value}", label.key),
        _ => label.key.clone(),
    };
    labels.iter().map(label).collect::<Vec<_>>().join(", ")
}

/// Whether Rancher installs k3s or RKE2, by the version.
pub(super) fn kind_of_rancher(document: &Field<'_>) -> ConfigKind {
    let version = text(document.node, &["spec", "kubernetesVersion"]).unwrap_or_default();
    if version.contains("+k3s") { ConfigKind::K3s } else { ConfigKind::Rke2 }
}

/// Where a configuration of k0s has worker profiles, and one of k0sctl, in which the former is.
const OF_K0S: &[&str] = &["spec", "workerProfiles"];
const OF_K0SCTL: &[&str] = &["spec", "k0s", "config", "spec", "workerProfiles"];
/// Where one profile is put, and its values are then.
const ALONE: &[&str] = OF_K0S;
pub(super) const PROFILE: &[&str] = &["spec", "workerProfiles", "values"];

/// Each profile alone: `k0s worker --profile NAME` chooses one (docs.k0sproject.io, "Worker node configuration").
fn profiles(document: &Node, path: &[&str]) -> Vec<Machines> {
    let Some(Node { value: Value::List(profiles), span }) = at(document, path) else { return Vec::new() };
    let none = [Node { value: Value::Null, span: span.clone() }];
    let alone = |profile: &Node| {
        let mut alone = document.clone();
        put(&mut alone, ALONE, profile.clone());
        let name = format!("worker profile {:?}", text(profile, &["name"]).unwrap_or_default());
        Machines { name, document: alone, are_of_control_plane: false }
    };
    let profiles = if profiles.is_empty() { none.as_slice() } else { profiles };
    profiles.iter().map(alone).collect()
}

/// Fields that k0s lets no profile set (`workerprofile.go` in `pkg/apis/k0s/v1beta1` of k0sproject/k0s).
const LOCKED: [&str; 5] = ["apiVersion", "clusterDNS", "clusterDomain", "kind", "staticPodURL"];

/// The refusal of an object by what installs it, or of one whose machines get more than it holds; `None`: it is neither.
pub(super) fn refused(document: &Field<'_>) -> Option<ManifestError> {
    let other =
        |field: &Field<'_>, what: String, instead| Some(field.fail(Problem::OtherForm { what, instead }));
    let list = |path: &[&str]| document.descend(path).ok().flatten()?.items().ok();
    let (_, version) = names(document);
    if version.starts_with(RANCHER_GROUP) {
        for file in list(&["spec", "rkeConfig", "machineSelectorFiles"]).unwrap_or_default() {
            if let Some(path) = written_path(file.node) {
                let what = format!("{path} configures the kubelet, and its content is in another object");
                return other(&file, what, CONFIGZ);
            }
        }
    }
    if version.starts_with(K0SCTL_GROUP) {
        for host in list(&["spec", "hosts"]).unwrap_or_default() {
            let flags = host.get("installFlags").ok().flatten().and_then(|flags| flags.items().ok());
            let is_flag =
                |flag: &Field<'_>| flag.text("a flag").is_ok_and(|flag| flag.contains("kubelet-extra-args"));
            if let Some(flag) = flags.unwrap_or_default().iter().find(|flag| is_flag(flag)) {
                let what = "a host has flags of the kubelet beside its worker profile".to_owned();
                return other(flag, what, CONFIGZ);
            }
        }
    }
    if version.starts_with(K0S_GROUP) || version.starts_with(K0SCTL_GROUP) {
        let values = document.descend(PROFILE).ok().flatten().and_then(|values| values.entries().ok());
        let locked = values.unwrap_or_default().into_iter().find(|entry| LOCKED.contains(&entry.key))?;
        let what = format!("{}, for which k0s refuses a worker profile", locked.key);
        return other(&locked.value, what, "the profile without the field");
    }
    None
}

/// The path of a file that configures the kubelet, k3s or RKE2, somewhere in a value.
fn written_path(value: &Node) -> Option<&str> {
    match &value.value {
        Value::Map(entries) => entries.iter().find_map(|entry| match &entry.value.value {
            Value::Text(path) if entry.key == "path" => {
                let is_one =
                    path.starts_with("/etc/rancher/") || is_of_configuration(path, KubeletConf::Credentials);
                is_one.then_some(path.as_str())
            }
            _ => written_path(&entry.value),
        }),
        Value::List(items) => items.iter().find_map(written_path),
        _ => None,
    }
}
