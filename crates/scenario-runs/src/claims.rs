//! Claims of devices (DRA): how the pods of a configuration claim them, and those that a pod's own manifest names, which are not
//! decided here.

use std::collections::BTreeSet;

use admission_report::UndecidedClaims;
use anyhow::{Context as _, bail};
use node_config::KubeletConfiguration;
use node_input::{LoadedMachine, LoadedNode};
use node_simulation::{Claims, CpuDevices, CpuDriver};
use pod_spec::{Pod, ResourceName};
use serde::Serialize;
use topology_manifest::{ScenarioClaims, ScenarioCpuDevices};

/// The names of a pod's own resource claims: it is admitted without them.
pub(crate) fn claims(pod: &Pod) -> Vec<String> {
    UndecidedClaims::of(pod).map(|claims| claims.names().to_vec()).unwrap_or_default()
}

/// How the pods of a configuration claim devices.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClaimWay {
    /// The extended resources that are claimed in place of device plugins.
    pub(crate) resources: Vec<String>,
    /// The attribute in which all devices of a claim are equal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) match_attribute: Option<String>,
    /// The devices that the CPU driver makes of CPUs, by its own words: `numanode`, `socket` or `individual`; absent: the kubelet
    /// gives CPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cpus: Option<&'static str>,
}

impl ClaimWay {
    pub(crate) fn of(claims: &Claims) -> Self {
        Self {
            resources: claims.resources.iter().map(ToString::to_string).collect(),
            match_attribute: claims.match_attribute.clone(),
            cpus: claims.cpus.map(|devices| match devices {
                CpuDevices::ByNode => "numanode",
                CpuDevices::BySocket => "socket",
                CpuDevices::Individual => "individual",
            }),
        }
    }
}

/// The claims of a configuration whose machines have these resources.
///
/// # Errors
/// It names a resource that no machine has.
pub(crate) fn of_scenario(
    claims: &ScenarioClaims,
    on_machines: &BTreeSet<ResourceName>,
) -> anyhow::Result<Claims> {
    let named = claims.resources.iter().flatten().map(|name| ResourceName::new(name));
    let resources: BTreeSet<ResourceName> =
        if claims.resources.is_some() { named.collect() } else { on_machines.clone() };
    if let Some(lacking) = resources.difference(on_machines).next() {
        bail!("no machine has {lacking}, which is to be claimed");
    }
    Ok(Claims {
        resources,
        match_attribute: claims.match_attribute.clone(),
        cpus: claims.cpus.map(cpu_devices),
    })
}

const fn cpu_devices(devices: ScenarioCpuDevices) -> CpuDevices {
    match devices {
        ScenarioCpuDevices::ByNode => CpuDevices::ByNode,
        ScenarioCpuDevices::BySocket => CpuDevices::BySocket,
        ScenarioCpuDevices::Individual => CpuDevices::Individual,
    }
}

/// The CPU driver on a machine, without the CPUs that the node's CPU manager reserves.
///
/// # Errors
/// The CPU manager gives no exclusive CPUs, so that no container would claim any.
pub(crate) fn cpu_driver(
    machine: &LoadedMachine,
    node: &LoadedNode,
    devices: ScenarioCpuDevices,
) -> anyhow::Result<CpuDriver> {
    let counts = node.node.cpus().context(
        "CPUs are claimed by the containers to which a static CPU manager would give CPUs, and cpuManagerPolicy is none",
    )?;
    Ok(CpuDriver::new(&machine.info, &node.cpus, counts.reserved(), cpu_devices(devices)))
}

/// The kubelet beside the CPU driver gives no CPUs itself.
pub(crate) fn without_exclusive_cpus(config: &mut KubeletConfiguration) {
    config.cpu_manager_policy = Some("none".to_owned());
    config.cpu_manager_policy_options.clear();
}
