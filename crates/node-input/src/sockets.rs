//! What a kubelet that runs answers at its sockets: the devices that there are, and from 1.37 on its pods.
//!
//! Both are asked at the same time, each answer within [`WITHIN`].

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use device_manager::{Device, DeviceId};
use device_plugin::{ClientError, PodResourcesClient};
use node_state::PodNames;
use pod_spec::{Pod, PodRules, ResourceName};
use pods_api::{KubeletPod, PodsClient, PodsError};

use crate::packed::{Devices, inventory_text};
use crate::told::told_pod;

/// Where a kubelet answers what there is and what its pods hold, below its root folder.
const POD_RESOURCES: &str = "pod-resources/kubelet.sock";
/// How long a connection and each answer may take: together less than two seconds.
const WITHIN: Duration = Duration::from_millis(900);

/// What was answered; `None`: there is no such socket, or it gave no answer.
#[derive(Default)]
pub(crate) struct Answers {
    /// The text of an inventory file.
    pub(crate) devices: Option<Vec<u8>>,
    /// The pods.
    pub(crate) pods: Option<PodNames>,
    /// The pods that are active, as `NAMESPACE/NAME`.
    pub(crate) active: Option<BTreeSet<String>>,
    /// Sockets that gave no answer, as text to be shown.
    pub(crate) failures: Vec<String>,
}

/// Asks the kubelet whose root folder this is.
pub(crate) fn ask(root: &Path) -> Answers {
    let (resources, pods) = (root.join(POD_RESOURCES), root.join(pods_api::SOCKET));
    let of_pods = pods.clone();
    let asked = thread::Builder::new().spawn(move || is_there(&of_pods).then(|| list(&of_pods)));
    let mut answers = Answers::default();
    let mut fail = |socket: PathBuf, error: &dyn std::fmt::Display| {
        answers.failures.push(format!("the kubelet gives no answer at {}: {error}", socket.display()));
    };
    match is_there(&resources).then(|| resources_of(&resources)) {
        Some(Ok((devices, active))) => {
            answers.devices = Some(inventory_text(&devices).into_bytes());
            answers.active = Some(active);
        }
        Some(Err(error)) => fail(resources, &error),
        None => {}
    }
    match asked.map(thread::JoinHandle::join) {
        Ok(Ok(Some(Ok(names)))) => answers.pods = Some(names),
        Ok(Ok(Some(Err(error)))) => fail(pods, &error),
        // Without a thread, or after its panic, the pods are as unknown as without a socket.
        _ => {}
    }
    answers
}

fn is_there(socket: &Path) -> bool {
    // One that may not be seen is asked, so that the refusal is reported.
    socket.try_exists().unwrap_or(true)
}

/// The devices that there are, and the pods that are active.
fn resources_of(socket: &Path) -> Result<(Devices, BTreeSet<String>), ClientError> {
    let mut client = PodResourcesClient::connect(socket, WITHIN)?;
    let mut devices: BTreeMap<ResourceName, BTreeMap<DeviceId, Vec<i64>>> = BTreeMap::new();
    for entry in client.allocatable()?.devices {
        let nodes = devices.entry(entry.resource).or_default().entry(entry.device).or_default();
        nodes.extend(entry.node.map(|node| node.0));
    }
    let each = devices.into_iter().map(|(resource, devices)| {
        let devices = devices.iter().map(|(id, nodes)| Device::new(id.as_str(), nodes));
        (resource, devices.collect())
    });
    let devices = each.collect();
    let active = client.list()?.into_iter().map(|pod| format!("{}/{}", pod.namespace, pod.name));
    Ok((devices, active.collect()))
}

/// The pods that the kubelet has admitted, and those that have ended.
fn list(socket: &Path) -> Result<PodNames, PodsError> {
    let pods = PodsClient::connect(socket, WITHIN)?.list()?;
    let has_ended = |pod: &&KubeletPod| matches!(pod.phase(), "Failed" | "Succeeded");
    let (ended, others): (Vec<&KubeletPod>, Vec<&KubeletPod>) = pods.iter().partition(has_ended);
    // The others are not decided on yet.
    let running: Vec<&KubeletPod> = others
        .into_iter()
        .filter(|pod| pod.has_container_statuses() || !matches!(pod.phase(), "" | "Pending"))
        .collect();
    let read = |pods: &[&KubeletPod]| -> Vec<Arc<Pod>> {
        pods.iter().filter_map(|pod| told_pod(pod, PodRules::default()).ok().map(Arc::new)).collect()
    };
    let (known, ended) = (read(&running), read(&ended));
    let is_whole = known.len() == running.len();
    let names = PodNames::running(known).with_ended(ended.iter().map(AsRef::as_ref));
    Ok(if is_whole { names } else { names.with_unknown() })
}
