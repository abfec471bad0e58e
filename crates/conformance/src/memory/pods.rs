//! Pods as memory cases write them.

use k8s_quantity::ParseError;
use pod_spec::{
    Container, ContainerName, Pod, PodResources, PodUid, QosClass, ResourceList, ResourceName, Role,
};
use serde_json::Value;

use crate::case::text;

/// `{"uid","qos","resources","init","containers"}`; of a container `res` are requests and limits at once.
pub(super) fn pod(value: &Value) -> Result<Pod, ParseError> {
    let mut containers = Vec::new();
    for (list, plain) in [("init", Role::Init), ("containers", Role::App)] {
        for container in value[list].as_array().into_iter().flatten() {
            let stays = plain == Role::Init && container["sidecar"].as_bool() == Some(true);
            let both = &container["res"];
            let or_both = |named: &str| amounts(container.get(named).unwrap_or(both));
            containers.push(Container {
                name: ContainerName::new(text(&container["name"])),
                role: if stays { Role::Sidecar } else { plain },
                requests: or_both("requests")?,
                limits: or_both("limits")?,
            });
        }
    }
    let resources = match &value["resources"] {
        Value::Null => None,
        level => {
            Some(PodResources { requests: amounts(&level["requests"])?, limits: amounts(&level["limits"])? })
        }
    };
    let status_qos = match text(&value["qos"]) {
        "Guaranteed" => Some(QosClass::Guaranteed),
        "Burstable" => Some(QosClass::Burstable),
        "BestEffort" => Some(QosClass::BestEffort),
        _ => None,
    };
    let uid = text(&value["uid"]);
    Ok(Pod { uid: PodUid::new(uid), resources, status_qos, ..Pod::new("", uid, containers) })
}

/// Amounts by resource.
pub(super) fn amounts(value: &Value) -> Result<ResourceList, ParseError> {
    let amounts = value.as_object().into_iter().flatten();
    amounts.map(|(name, amount)| Ok((ResourceName::new(name), text(amount).parse()?))).collect()
}
