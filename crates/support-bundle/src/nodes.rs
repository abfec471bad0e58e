//! How files and objects become nodes.
//!
//! Files lie in units: a folder of a node in a must-gather, the root of a node, or loose files. Loose files are those of one node
//! unless two of their folders have what a node has once. A unit is the node that its folder or its `hostname` names; one that has
//! neither is the only node that there is. Objects say to which node they belong.

use std::collections::{BTreeMap, BTreeSet};

use topology_manifest::NodeObject;

use crate::bundle::{Bundle, BundlePod, DocumentKind, MachineFiles, NodeEvidence, Sourced};
use crate::log::LogRead;
use crate::reader::Found;
use crate::unit::{Unit, UnitKey};

/// A bundle of what was found.
pub(crate) fn assembled(found: Found) -> Bundle {
    let Found { paths, units, pods, nodes, events, configurations, claims, zones, logs, mut remarks } = found;
    let objects = one_of_each(nodes);
    let (pods, unbound) = once(pods).into_iter().partition(|pod| bound_to(pod).is_some());
    let pods: Vec<BundlePod> = pods;
    let bound: BTreeSet<String> = pods.iter().filter_map(bound_to).map(str::to_owned).collect();
    let mut all = Nodes::default();
    for object in objects {
        let name = object.value.name.clone();
        all.named(&name).object = Some(object);
    }
    let units = grouped(units);
    let is_alone = units.len() == 1;
    for (key, unit) in units {
        let own = own_name(&key, &unit);
        let only = || {
            let mut names =
                all.names().chain(bound.iter().map(String::as_str)).collect::<BTreeSet<_>>().into_iter();
            names.next().filter(|_| is_alone && names.next().is_none()).map(str::to_owned)
        };
        let name = match own {
            Some(own) => Some(all.known(&own, &bound).unwrap_or(own)),
            None => only(),
        };
        let node = match name {
            Some(name) => all.named(&name),
            None => all.unnamed(),
        };
        take(node, &key, unit);
    }
    for pod in pods {
        if let Some(name) = bound_to(&pod).map(str::to_owned) {
            all.named(&name).pods.push(pod);
        }
    }
    for event in events {
        let pod = (&event.value.namespace, &event.value.name);
        if let Some(node) = all.of_host(&event.value.host).or_else(|| all.of_pod(pod.0, pod.1)) {
            all.named(&node).events.push(event);
        }
    }
    for log in logs {
        for (name, log) in by_node(log, &all) {
            match name {
                Some(name) => all.named(&name).logs.push(log),
                None => {
                    remarks.push(format!("{}: no node is called as the hosts of its lines are", log.path));
                }
            }
        }
    }
    let mut nodes = all.finish();
    if is_alone {
        foreign_pods(&mut nodes);
    }
    for node in &mut nodes {
        node.documents.sort_by(|one, other| (one.kind, &one.path).cmp(&(other.kind, &other.path)));
        contradict(node);
    }
    Bundle { paths, nodes, configurations, claims, zones, unbound, remarks }
}

/// The nodes, by name.
#[derive(Default)]
struct Nodes {
    named: BTreeMap<String, NodeEvidence>,
    unnamed: Option<NodeEvidence>,
}

impl Nodes {
    fn names(&self) -> impl Iterator<Item = &str> {
        self.named.keys().map(String::as_str)
    }

    fn named(&mut self, name: &str) -> &mut NodeEvidence {
        let new = || NodeEvidence { name: Some(name.to_owned()), ..NodeEvidence::default() };
        self.named.entry(name.to_owned()).or_insert_with(new)
    }

    fn unnamed(&mut self) -> &mut NodeEvidence {
        self.unnamed.get_or_insert_default()
    }

    /// What the cluster calls a host: the same, or the same before the first dot.
    fn known(&self, host: &str, bound: &BTreeSet<String>) -> Option<String> {
        let label = |node: &NodeEvidence| {
            node.object.as_ref().and_then(|object| object.value.labels.get("kubernetes.io/hostname").cloned())
        };
        let by_label = self.named.iter().find(|(_, node)| label(node).as_deref() == Some(host));
        let names = self.names().chain(bound.iter().map(String::as_str));
        let all: BTreeSet<&str> = names.collect();
        let short = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
        let mut alike = all.iter().filter(|name| short(name) == short(host));
        let exact = all.get(host).copied().or_else(|| by_label.map(|(name, _)| name.as_str()));
        exact.or_else(|| alike.next().copied().filter(|_| alike.next().is_none())).map(str::to_owned)
    }

    fn of_host(&self, host: &str) -> Option<String> {
        if host.is_empty() { None } else { self.known(host, &BTreeSet::new()) }
    }

    /// The node of a pod; of several the only one.
    fn of_pod(&self, namespace: &str, name: &str) -> Option<String> {
        let has = |node: &NodeEvidence| {
            node.pods.iter().any(|own| own.pod.namespace == namespace && own.pod.name == name)
        };
        let by_pod = self.named.iter().find(|(_, node)| has(node)).map(|(name, _)| name.clone());
        by_pod.or_else(|| self.named.keys().next().filter(|_| self.named.len() == 1).cloned())
    }

    fn finish(mut self) -> Vec<NodeEvidence> {
        // Objects of a bundle with one node's files alone are about that node.
        if self.named.is_empty() && self.unnamed.is_none() {
            return Vec::new();
        }
        let mut all: Vec<NodeEvidence> = std::mem::take(&mut self.named).into_values().collect();
        all.extend(self.unnamed);
        all
    }
}

/// Loose files that are of one node as one unit.
fn grouped(units: BTreeMap<UnitKey, Unit>) -> Vec<(UnitKey, Unit)> {
    let (loose, mut others): (Vec<_>, Vec<_>) =
        units.into_iter().partition(|(key, _)| matches!(key, UnitKey::Loose { .. }));
    let mut joined: Vec<(UnitKey, Unit)> = Vec::new();
    if is_one(loose.iter().map(|(_, unit)| unit)) {
        let all = loose.into_iter().reduce(|(key, mut unit), (_, other)| {
            unit.join(other);
            (key, unit)
        });
        joined.extend(all);
    } else {
        joined = loose;
    }
    // Loose files beside the root of a node are about it.
    match (others.as_mut_slice(), joined.len()) {
        ([(_, only)], 1) if joined.iter().all(|(_, loose)| !only.excludes(loose)) => {
            for (_, loose) in joined {
                only.join(loose);
            }
        }
        _ => others.extend(joined),
    }
    others
}

fn is_one<'u>(units: impl Iterator<Item = &'u Unit>) -> bool {
    let units: Vec<&Unit> = units.collect();
    let rest = |at: usize| units.iter().skip(at + 1);
    units.iter().enumerate().all(|(at, unit)| rest(at).all(|other| !unit.excludes(other)))
}

/// The name that a unit has by its folder or its files.
fn own_name(key: &UnitKey, unit: &Unit) -> Option<String> {
    let of_folder = match key {
        UnitKey::Node { name, .. } => Some(name.clone()),
        UnitKey::Root(_) | UnitKey::Loose { .. } => None,
    };
    of_folder.or_else(|| unit.hostname()).or_else(|| of_sosreport(key)).or_else(|| of_log(&unit.logs))
}

/// The host in the name of a sosreport's folder: `sosreport-HOST-CASE-DATE-ID`, of which HOST may have hyphens.
fn of_sosreport(key: &UnitKey) -> Option<String> {
    let UnitKey::Root(folder) = key else { return None };
    let name = folder.split('/').find_map(|part| part.strip_prefix("sosreport-"))?;
    let parts: Vec<&str> = name.split('-').collect();
    // The date is three numbers.
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let date = parts
        .windows(3)
        .position(|three| three.iter().all(is_number) && three.first().is_some_and(|year| year.len() == 4))?;
    let host = parts.get(..date)?;
    // Before it stands the number of a case, if there is one.
    let host = host
        .split_last()
        .filter(|(last, rest)| is_number(last) && !rest.is_empty())
        .map_or(host, |(_, rest)| rest);
    Some(host.join("-")).filter(|host| !host.is_empty())
}

/// The host of all lines that are kept.
fn of_log(logs: &[LogRead]) -> Option<String> {
    let mut hosts = logs.iter().flat_map(LogRead::hosts).collect::<BTreeSet<_>>().into_iter();
    hosts.next().filter(|_| hosts.next().is_none()).map(str::to_owned)
}

/// Gives a node what a unit has.
fn take(node: &mut NodeEvidence, key: &UnitKey, unit: Unit) {
    let hostname = unit.hostname();
    let Unit { documents, logs, folder, trees } = unit;
    if let (Some(host), UnitKey::Node { name, .. }) = (hostname, key)
        && host.split('.').next() != name.split('.').next()
    {
        node.contradictions.push(format!("its folder is called {name}, and the hostname in it is {host}"));
    }
    node.documents.extend(documents);
    node.logs.extend(logs);
    let folder = folder.map(|(path, folder)| Sourced { path, value: MachineFiles::Folder(folder) });
    node.machines.extend(folder);
    let trees = trees.into_iter().map(|(root, tree)| Sourced {
        path: if root.is_empty() { "sys".to_owned() } else { format!("{root}/sys") },
        value: MachineFiles::Tree(Box::new(tree)),
    });
    node.machines.extend(trees);
}

fn bound_to(pod: &BundlePod) -> Option<&str> {
    pod.pod.constraints.node_name.as_deref().filter(|name| !name.is_empty())
}

/// Each pod once: the object with the reason of its failure, else the first.
fn once(pods: Vec<BundlePod>) -> Vec<BundlePod> {
    let mut places = BTreeMap::new();
    let mut once: Vec<BundlePod> = Vec::new();
    for pod in pods {
        let at = *places.entry(pod.pod.uid.clone()).or_insert(once.len());
        match once.get_mut(at) {
            Some(known) if known.failure.is_none() && pod.failure.is_some() => *known = pod,
            Some(_) => {}
            None => once.push(pod),
        }
    }
    once
}

fn one_of_each(nodes: Vec<Sourced<NodeObject>>) -> Vec<Sourced<NodeObject>> {
    let mut names = BTreeSet::new();
    nodes.into_iter().filter(|node| names.insert(node.value.name.clone())).collect()
}

/// A log of several hosts, one for each of their nodes.
fn by_node(log: LogRead, all: &Nodes) -> Vec<(Option<String>, LogRead)> {
    let node_of = |place: &crate::log::LinePlace, pod: Option<(&str, &str)>| {
        all.of_host(&place.host).or_else(|| all.of_pod(pod?.0, pod?.1))
    };
    let mut nodes: BTreeMap<Option<String>, LogRead> = BTreeMap::new();
    let LogRead {
        path,
        lines,
        is_end_alone,
        span,
        refusals,
        starts,
        failures,
        machine,
        has_kubelet,
        has_entries,
    } = log;
    let new = || LogRead {
        path: path.clone(),
        lines,
        is_end_alone,
        span: span.clone(),
        has_kubelet,
        has_entries,
        ..LogRead::default()
    };
    for refusal in refusals {
        let node = node_of(&refusal.place, Some((&refusal.namespace, &refusal.name)));
        nodes.entry(node).or_insert_with(new).refusals.push(refusal);
    }
    for start in starts {
        nodes.entry(node_of(&start.place, None)).or_insert_with(new).starts.push(start);
    }
    for failure in failures {
        nodes.entry(node_of(&failure.place, None)).or_insert_with(new).failures.push(failure);
    }
    for line in machine {
        nodes.entry(node_of(&line.place, None)).or_insert_with(new).machine.push(line);
    }
    nodes.into_iter().collect()
}

/// Of a bundle with the files of one node: that its pods are those of others.
fn foreign_pods(nodes: &mut [NodeEvidence]) {
    let bound: Vec<String> =
        nodes.iter().filter(|node| !node.pods.is_empty()).filter_map(|node| node.name.clone()).collect();
    let Some(first) = bound.first() else { return };
    let more = if bound.len() > 1 { format!(" and {} more", bound.len() - 1) } else { String::new() };
    let own = nodes.iter_mut().find(|node| node.has_files()).filter(|node| node.pods.is_empty());
    if let Some(node) = own {
        node.contradictions
            .push(format!("no pod of the bundle is bound to it: they are those of {first}{more}"));
    }
}

/// In what the files of a node contradict each other.
fn contradict(node: &mut NodeEvidence) {
    let mut found = Vec::new();
    for kind in node.documents.iter().map(|document| document.kind).collect::<BTreeSet<_>>() {
        let DocumentKind::State(name) = kind else { continue };
        let mut own = node.of_kind(kind);
        if let Some(first) = own.next()
            && let Some(other) = own.find(|other| other.text != first.text)
        {
            found.push(format!(
                "{} is there twice with other contents, in {} and {}: the first is taken",
                name.file_name(),
                first.path,
                other.path
            ));
        }
    }
    let mut versions: Vec<&str> = Vec::new();
    for start in node.logs.iter().flat_map(|log| &log.starts) {
        if versions.last() != Some(&start.version.as_str()) {
            versions.push(&start.version);
        }
    }
    if versions.len() > 1 {
        found.push(format!(
            "kubelets of several versions have started, by its log: {}",
            versions.join(", then ")
        ));
    }
    let reported = node.object.as_ref().and_then(|object| object.value.kubelet_version.as_deref());
    if let (Some(reported), Some(last)) = (reported, versions.last())
        && reported != *last
    {
        found.push(format!(
            "the Node object is of kubelet {reported}, and the last that started is {last}, by its log"
        ));
    }
    node.contradictions.extend(found);
}
