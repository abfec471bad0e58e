//! A pod's specification, alone or in a template.

use std::collections::BTreeSet;

use pod_spec::Role;

use super::names::dns_label;
use super::placement::{check_affinity, check_node_name, check_selector, check_tolerations};
use super::ports::Port;
use super::resources::{Names, Requirements, check_consistency, check_within, defaulted};
use super::spec_owner::SpecOwner;
use super::{Complaint, Findings};
use crate::ManifestError;
use crate::node::Field;

/// The specification of a pod, or with it absent, what should have it.
pub(super) fn check_spec(
    parent: &Field<'_>,
    spec_of: SpecOwner,
    found: &mut Findings,
) -> Result<(), ManifestError> {
    let Some(spec) = parent.get("spec")? else {
        let path = format!("{}.containers", parent.path_of("spec"));
        found.add(&parent.at_path(path), Complaint::REQUIRED);
        return Ok(());
    };
    let on_host_network = spec.get("hostNetwork")?.is_some_and(|field| field.is_true());
    let read = |key, app| Containers::read(&spec, key, app, on_host_network && spec_of == SpecOwner::Pod);
    let (mut apps, mut inits) = (read("containers", Role::App)?, read("initContainers", Role::Init)?);
    let is_windows = spec.get("os")?.map_or(Ok(None), |os| os.get("name"))?;
    let is_windows = is_windows.map_or(Ok(""), |name| name.text("a text"))? == "windows";
    let mut pod_level = match spec.get("resources")? {
        Some(_) => Some(Requirements::read(&spec)?),
        None => None,
    };
    let mut all: Vec<_> = inits.requirements.drain(..).chain(apps.requirements.drain(..)).collect();
    let pod = defaulted(spec_of, &mut all, pod_level.as_mut());
    apps.requirements = all.split_off(inits.places.len());
    inits.requirements = all;

    check_apps(&spec, &apps, found)?;
    check_inits(&inits, &apps, found)?;
    if let Some(own) = &pod_level {
        if is_windows {
            let place = spec.child_or_self("resources")?;
            found.add(&place, Complaint::Forbidden("may not be set for a windows pod"));
        } else {
            own.check(Names::Pod, found);
            check_consistency(&pod, own, found);
            for (at, (_, container)) in apps.requirements.iter().enumerate() {
                check_within(at, container, own, found);
            }
        }
    }
    if on_host_network {
        for port in apps.ports.iter().flatten() {
            port.check_match(found)?;
        }
    }
    if let Some(policy) = spec.get("restartPolicy")? {
        check_word(&policy, &["Always", "OnFailure", "Never"], found)?;
    }
    check_selector(&spec, found)?;
    if let Some(policy) = spec.descend(&["securityContext", "supplementalGroupsPolicy"])? {
        if is_windows {
            found.add(&policy, Complaint::Forbidden("cannot be set for a windows pod"));
        }
        check_word(&policy, &["Merge", "Strict"], found)?;
    }
    check_affinity(&spec, found)?;
    check_node_name(&spec, found)?;
    check_tolerations(&spec, found)?;
    if let Some(overhead) = spec.get("overhead")? {
        Requirements::overhead(&overhead)?.check(Names::Container, found);
    }
    check_os(&spec, found)
}

/// One of the two lists.
struct Containers<'a> {
    places: Vec<Field<'a>>,
    requirements: Vec<(Role, Requirements<'a>)>,
    ports: Vec<Vec<Port<'a>>>,
}

impl<'a> Containers<'a> {
    fn read(spec: &Field<'a>, key: &str, app: Role, ports_are_hosts: bool) -> Result<Self, ManifestError> {
        let places = spec.get(key)?.map_or(Ok(Vec::new()), |list| list.items())?;
        let mut read = Self { requirements: Vec::new(), ports: Vec::new(), places };
        for place in &read.places {
            let always = policy(place)?.is_some_and(|policy| policy == "Always");
            let role = if app == Role::Init && always { Role::Sidecar } else { app };
            read.requirements.push((role, Requirements::read(place)?));
            let mut ports = Port::read_all(place)?;
            if ports_are_hosts {
                ports.iter_mut().for_each(Port::on_host_network);
            }
            read.ports.push(ports);
        }
        Ok(read)
    }

    /// What all containers have to be.
    fn check_common(&self, at: usize, found: &mut Findings) -> Result<(), ManifestError> {
        let (Some(place), Some((_, requirements))) = (self.places.get(at), self.requirements.get(at)) else {
            return Ok(());
        };
        let name = name(place)?;
        let name_place = place.child_or_self("name")?;
        if name.is_empty() {
            found.add(&name_place, Complaint::REQUIRED);
        } else {
            found.add_all(&name_place, name, dns_label(name));
        }
        for port in self.ports.get(at).into_iter().flatten() {
            port.check(found)?;
        }
        requirements.check(Names::Container, found);
        Ok(())
    }
}

fn check_apps(spec: &Field<'_>, apps: &Containers<'_>, found: &mut Findings) -> Result<(), ManifestError> {
    if apps.places.is_empty() {
        found.add(&spec.child_or_self("containers")?, Complaint::REQUIRED);
    }
    let mut names = BTreeSet::new();
    for (at, place) in apps.places.iter().enumerate() {
        apps.check_common(at, found)?;
        let name = name(place)?;
        if !names.insert(name) {
            found.add(&place.child_or_self("name")?, Complaint::Duplicate(name.to_owned()));
        }
        check_policy(place, found)?;
    }
    let mut taken = BTreeSet::new();
    for (place, ports) in apps.places.iter().zip(&apps.ports) {
        for (at, port) in ports.iter().enumerate() {
            port.check_unique(at, &place.path_of("ports"), &mut taken, found)?;
        }
    }
    Ok(())
}

fn check_inits(
    inits: &Containers<'_>,
    apps: &Containers<'_>,
    found: &mut Findings,
) -> Result<(), ManifestError> {
    let mut names = apps.places.iter().map(name).collect::<Result<BTreeSet<_>, _>>()?;
    for (at, place) in inits.places.iter().enumerate() {
        inits.check_common(at, found)?;
        check_policy(place, found)?;
        let name = name(place)?;
        if names.contains(name) {
            found.add(&place.child_or_self("name")?, Complaint::Duplicate(name.to_owned()));
        } else if !name.is_empty() {
            names.insert(name);
        }
        // Each is looked at alone, and so the API server calls each the first.
        let path = place.path.rsplit_once('[').map_or("", |(list, _)| list);
        let mut taken = BTreeSet::new();
        for (at, port) in inits.ports.get(at).into_iter().flatten().enumerate() {
            port.check_unique(at, &format!("{path}[0].ports"), &mut taken, found)?;
        }
    }
    Ok(())
}

fn name<'a>(container: &Field<'a>) -> Result<&'a str, ManifestError> {
    container.get("name")?.map_or(Ok(""), |name| name.text("a name, in quotes where it looks like a number"))
}

fn policy<'a>(container: &Field<'a>) -> Result<Option<&'a str>, ManifestError> {
    container.get("restartPolicy")?.map(|policy| policy.text("Always, Never or OnFailure")).transpose()
}

/// A container's own policy: unlike a pod's it cannot be empty.
fn check_policy(container: &Field<'_>, found: &mut Findings) -> Result<(), ManifestError> {
    const POLICIES: &[&str] = &["Always", "Never", "OnFailure"];
    if let Some(policy) = policy(container)?.filter(|policy| !POLICIES.contains(policy)) {
        let complaint = Complaint::not_supported(policy, POLICIES);
        found.add(&container.child_or_self("restartPolicy")?, complaint);
    }
    Ok(())
}

/// A field that has one of some words, or none.
fn check_word(
    field: &Field<'_>,
    words: &'static [&'static str],
    found: &mut Findings,
) -> Result<(), ManifestError> {
    let word = field.text("a text")?;
    if !word.is_empty() && !words.contains(&word) {
        found.add(field, Complaint::not_supported(word, words));
    }
    Ok(())
}

fn check_os(spec: &Field<'_>, found: &mut Findings) -> Result<(), ManifestError> {
    const SYSTEMS: &[&str] = &["linux", "windows"];
    let Some(os) = spec.get("os")? else { return Ok(()) };
    let name = os.get("name")?.map_or(Ok(""), |name| name.text("a text"))?;
    if name.is_empty() {
        found.add(&os.child_or_self("name")?, Complaint::REQUIRED);
    } else if !SYSTEMS.contains(&name) {
        // The complaint is about the mapping; the place is that of the name.
        let place = os.child_or_self("name")?.at_path(os.path.clone());
        found.add(&place, Complaint::not_supported(name, SYSTEMS));
    }
    Ok(())
}
