//! Pods as CPU cases write them.

use k8s_quantity::{Format, ParseError, Quantity};
use pod_spec::{
    Container, ContainerName, Pod, PodResources, PodRules, PodUid, QosClass, ResourceList, ResourceName, Role,
};
use serde_json::Value;

use crate::case::text;

/// A Guaranteed pod of one container with that many CPUs.
pub(crate) fn guaranteed(cpus: i64) -> Pod {
    let resources = ResourceList::from([
        (ResourceName::new("cpu"), Quantity::from_units(cpus, Format::DecimalSi)),
        (ResourceName::new("memory"), Quantity::from_units(1 << 30, Format::BinarySi)),
    ]);
    let container = Container {
        name: ContainerName::new("c"),
        role: Role::App,
        requests: resources.clone(),
        limits: resources,
    };
    empty("p", vec![container])
}

/// `{"uid","statusQOSClass","resources","init","app"}`.
pub(crate) fn pod(value: &Value) -> Result<Pod, ParseError> {
    let mut containers = Vec::new();
    for (list, plain) in [("init", Role::Init), ("app", Role::App)] {
        for container in value[list].as_array().into_iter().flatten() {
            let stays = plain == Role::Init && text(&container["restartPolicy"]) == "Always";
            containers.push(Container {
                name: ContainerName::new(text(&container["name"])),
                role: if stays { Role::Sidecar } else { plain },
                requests: amounts(&container["requests"])?,
                limits: amounts(&container["limits"])?,
            });
        }
    }
    let resources = match &value["resources"] {
        Value::Null => None,
        level => {
            Some(PodResources { requests: amounts(&level["requests"])?, limits: amounts(&level["limits"])? })
        }
    };
    let status_qos = match text(&value["statusQOSClass"]) {
        "Guaranteed" => Some(QosClass::Guaranteed),
        "Burstable" => Some(QosClass::Burstable),
        "BestEffort" => Some(QosClass::BestEffort),
        _ => None,
    };
    Ok(Pod { resources, status_qos, ..empty(text(&value["uid"]), containers) })
}

/// The pod with its class, which managers do not work out.
pub(crate) fn classified(pod: Pod, rules: PodRules) -> Pod {
    Pod { status_qos: Some(pod.qos_class(rules)), ..pod }
}

fn empty(uid: &str, containers: Vec<Container>) -> Pod {
    Pod { uid: PodUid::new(uid), ..Pod::new("", uid, containers) }
}

fn amounts(value: &Value) -> Result<ResourceList, ParseError> {
    let amounts = value.as_object().into_iter().flatten();
    amounts.map(|(name, amount)| Ok((ResourceName::new(name), text(amount).parse()?))).collect()
}
