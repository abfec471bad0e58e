//! How the pods of a configuration claim devices.

use std::collections::BTreeSet;

use crate::node::{Field, known_fields};
use crate::{ManifestError, Problem};

/// How the pods of a configuration claim devices, in place of device plugins.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ScenarioClaims {
    /// The extended resources that are claimed; `None`: all that the machines have.
    pub resources: Option<BTreeSet<String>>,
    /// The attribute in which all devices of a claim are equal, `domain/id`.
    pub match_attribute: Option<String>,
    /// The devices that the CPU driver makes of CPUs; `None`: the kubelet gives CPUs.
    pub cpus: Option<ScenarioCpuDevices>,
}

/// The devices that the CPU driver makes of CPUs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScenarioCpuDevices {
    /// `numanode`: one for each NUMA node.
    ByNode,
    /// `socket`: one for each socket.
    BySocket,
    /// `individual`: one for each CPU.
    Individual,
}

pub(super) fn read_claims(configuration: &Field<'_>) -> Result<Option<ScenarioClaims>, ManifestError> {
    const RESOURCE: &str = "an extended resource such as nvidia.com/gpu";
    const ATTRIBUTE: &str = "an attribute with its domain, such as resource.kubernetes.io/numaNode";
    const CPUS: &str = "numanode, socket or individual";
    let Some(field) = configuration.get("claims")? else { return Ok(None) };
    known_fields(&field, &["resources", "matchAttribute", "cpus"], "resources, matchAttribute or cpus")?;
    let resources = match field.get("resources")? {
        None => None,
        Some(list) => {
            let names = list.items()?.into_iter().map(|item| match item.text(RESOURCE)? {
                name if name.contains('/') => Ok(name.to_owned()),
                _ => Err(item.unexpected(RESOURCE)),
            });
            Some(names.collect::<Result<BTreeSet<_>, ManifestError>>()?)
        }
    };
    let match_attribute = match field.get("matchAttribute")? {
        None => None,
        Some(attribute) => match attribute.text(ATTRIBUTE)? {
            name if name.contains('/') => Some(name.to_owned()),
            _ => return Err(attribute.unexpected(ATTRIBUTE)),
        },
    };
    let cpus = match field.get("cpus")? {
        None => None,
        Some(cpus) => match cpus.text(CPUS)? {
            "numanode" => Some(ScenarioCpuDevices::ByNode),
            "socket" => Some(ScenarioCpuDevices::BySocket),
            "individual" => Some(ScenarioCpuDevices::Individual),
            _ => return Err(cpus.unexpected(CPUS)),
        },
    };
    if resources.as_ref().is_some_and(BTreeSet::is_empty) && cpus.is_none() {
        let found = "no resource and no CPUs".to_owned();
        return Err(field.fail(Problem::Unexpected { found, expected: "something that pods claim" }));
    }
    Ok(Some(ScenarioClaims { resources, match_attribute, cpus }))
}
