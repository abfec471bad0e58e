//! Reports what a pod holds that the kubelet has just admitted, and why it shares CPUs if it may expect exclusive ones.
//!
//! A container may expect exclusive CPUs if it requests any and its pod is Guaranteed, whatever the amount, or if it
//! requests a CPU or more. Where the CPU manager's policy is `none`, all share, and nothing is logged.

use admission_report::{ContainerReport, Remark, SharingReason};
use k8s_quantity::Quantity;
use node_view::explain::{self, Before};
use node_view::{Kind, NodeView, holdings, reason};
use pod_spec::{Container, ContainerName, Pod, QosClass, Role};
use topology_admission::Detail;

use super::pods::Admission;

/// A CPU, in thousandths.
const ONE: i64 = 1000;

/// Adds an event with the holdings; logs, with an event, why a pod shares CPUs.
pub(super) fn report(view: &NodeView, Admission { pod }: &Admission) {
    let snapshot = view.snapshot();
    let held: Vec<ContainerReport> = pod
        .containers
        .iter()
        .map(|container| ContainerReport::held(&view.node().node, &snapshot.ledger, &pod.uid, container))
        .collect();
    view.events.add(Some((&**pod).into()), Kind::Normal, reason::ADMITTED, holdings(&held));
    let shares = |container: &Container| {
        held.iter().any(|held| held.name == container.name && held.exclusive_cpus.is_none())
    };
    // While the files are stale it is not known which containers have exclusive CPUs.
    let is_known = view.conditions.why_stale().is_none();
    let class = pod.qos_class(view.node().node.pod_rules());
    let wants = |container: &Container| wants_cpus(container, class);
    if is_known && pod.containers.iter().any(|container| wants(container) && shares(container)) {
        let before =
            Before { ledger: &snapshot.ledger.release(&pod.uid), requests: view.requests(), waiting: None };
        for why in not_pinned(view, &before, pod, wants) {
            let name = format!("{}/{}", pod.namespace, pod.name);
            tracing::info!(pod = name, why, "pod runs without exclusive CPUs");
            view.events.add(Some((&**pod).into()), Kind::Normal, reason::NOT_PINNED, why);
        }
    }
}

/// Whether a container of a pod of this class runs as long as its pod does, and may expect exclusive CPUs.
fn wants_cpus(container: &Container, class: QosClass) -> bool {
    let cpus = container.requests.get("cpu").map_or(0, Quantity::milli_value);
    let least = if class == QosClass::Guaranteed { 1 } else { ONE };
    cpus >= least && container.role != Role::Init
}

/// Why containers of the pod share CPUs, a sentence for each reason.
fn not_pinned(
    view: &NodeView,
    before: &Before<'_>,
    pod: &Pod,
    wants: impl Fn(&Container) -> bool,
) -> Vec<String> {
    let (report, _) = explain::one(view.node(), Detail::Short, before, pod);
    let notes = report.notes.iter().filter_map(|note| match &note.remark {
        Remark::NotPinned { reason: SharingReason::NoPolicy, .. } => None,
        Remark::NotPinned { .. } => {
            let wants = |name| pod.container(name).is_some_and(&wants);
            let names: Vec<&str> =
                note.containers.iter().filter(|name| wants(name)).map(ContainerName::as_str).collect();
            (!names.is_empty()).then(|| format!("{}: {}", names.join(", "), note.remark))
        }
        _ => None,
    });
    notes.collect()
}
