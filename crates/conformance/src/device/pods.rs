//! Pods as device cases write them.

use std::collections::BTreeSet;

use k8s_quantity::ParseError;
use pod_spec::{Container, ContainerName, Pod, PodUid, ResourceList, ResourceName, Role};
use serde_json::Value;

use crate::case::text;

/// A pod of a case.
pub(super) struct Played {
    pub(super) pod: Pod,
    /// What dynamic resource allocation serves.
    pub(super) dra: BTreeSet<(ContainerName, ResourceName)>,
    pub(super) activity: Activity,
}

/// Whether a pod is among those that run or will.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Activity {
    Active,
    Gone,
}

/// `{"uid","name","namespace","init","containers","dra"}`.
pub(super) fn pod(value: &Value) -> Result<Played, ParseError> {
    let mut containers = Vec::new();
    for (list, plain) in [("init", Role::Init), ("containers", Role::App)] {
        for container in value[list].as_array().into_iter().flatten() {
            let is_sidecar = container["sidecar"].as_bool() == Some(true);
            containers.push(Container {
                name: ContainerName::new(text(&container["name"])),
                role: if is_sidecar { Role::Sidecar } else { plain },
                requests: ResourceList::new(),
                limits: amounts(&container["limits"])?,
            });
        }
    }
    let uid = text(&value["uid"]);
    let name = value["name"].as_str().map_or_else(|| format!("pod-{uid}"), str::to_owned);
    let namespace = value["namespace"].as_str().unwrap_or("default");
    let pod = Pod { uid: PodUid::new(uid), ..Pod::new(namespace, &name, containers) };
    let dra = value["dra"].as_array().into_iter().flatten();
    let dra = dra.map(|pair| {
        (ContainerName::new(text(&pair["container"])), ResourceName::new(text(&pair["resource"])))
    });
    Ok(Played { pod, dra: dra.collect(), activity: Activity::Active })
}

pub(super) fn amounts(value: &Value) -> Result<ResourceList, ParseError> {
    let amounts = value.as_object().into_iter().flatten();
    amounts.map(|(name, amount)| Ok((ResourceName::new(name), text(amount).parse()?))).collect()
}
