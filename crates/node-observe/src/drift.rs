//! Compares the cgroups of a kubelet's containers with the CPUs and memory nodes in its state files.
//!
//! A runtime, systemd or an administrator may change a container's cgroup, and the kernel narrows it when CPUs go. A
//! kubelet writes cgroups after its files, and looks at them every 10 s. So what differs counts when it has differed in
//! the same way one such period before. Nothing is written.

use std::collections::BTreeMap;
use std::thread;

use anyhow::Context as _;
use cgroup_cpuset::{Cgroups, Difference, Kernel, Set};
use node_agent::Snapshot;
use node_view::{NodeCondition, NodeView};
use pod_spec::ContainerKey;

use node_enforce::CgroupRoot;

/// Differences between cgroups and files, by container.
type Differing = BTreeMap<ContainerKey, Vec<Difference>>;

/// Compares for the rest of the program. Where this host has no cgroups that can be read, the log says so.
///
/// # Errors
/// There are none below the folder that was named.
pub(super) fn start(root: &CgroupRoot, view: NodeView) -> anyhow::Result<()> {
    let cgroups = match root {
        CgroupRoot::Off => return Ok(()),
        CgroupRoot::At(root) => Cgroups::on(Kernel, root)
            .with_context(|| format!("CPUs of containers cannot be read below {}", root.display()))?,
        CgroupRoot::Usual => match Cgroups::live() {
            Ok(cgroups) => cgroups,
            Err(error) => {
                tracing::info!("CPUs of containers are not compared with the kubelet's files: {error}");
                return Ok(());
            }
        },
    };
    let period = view.node().keeping.period;
    let mut comparison = Comparison { cgroups, view, before: Differing::new() };
    thread::Builder::new().name("drift".to_owned()).spawn(move || {
        loop {
            comparison.round();
            comparison.view.clock.sleep(period);
        }
    })?;
    Ok(())
}

struct Comparison {
    cgroups: Cgroups<Kernel>,
    view: NodeView,
    /// What differed one period ago.
    before: Differing,
}

impl Comparison {
    fn round(&mut self) {
        // The files are not known while they change.
        if self.view.conditions.why_stale().is_some() {
            return;
        }
        let snapshot = self.view.snapshot();
        let cgroups = match self.cgroups.containers() {
            Ok(cgroups) if !snapshot.places.is_empty() => cgroups,
            Ok(_) => BTreeMap::new(),
            Err(error) => {
                tracing::debug!("cgroups of containers cannot be read: {error}");
                return;
            }
        };
        let mut differing = Differing::new();
        for place in &snapshot.places {
            // A container without a cgroup has ended.
            let Some(cgroup) = cgroups.get(place.id.as_str()) else { continue };
            let found =
                self.cgroups.differing(cgroup, &node_enforce::place(&place.pinning)).unwrap_or_default();
            if !found.is_empty() {
                differing.insert(place.container.clone(), found);
            }
        }
        let lasting = differing.iter().filter(|(container, found)| self.before.get(container) == Some(found));
        let lasting = lasting.map(|(container, found)| {
            (format!("{}/{}", container.pod, container.container), sentence(&snapshot, container, found))
        });
        for new in self.view.conditions.fails_of(NodeCondition::InPlace, lasting) {
            tracing::warn!("{new}");
        }
        self.before = differing;
    }
}

fn sentence(snapshot: &Snapshot, container: &ContainerKey, found: &[Difference]) -> String {
    let pod = snapshot.pods.get(&container.pod).map_or_else(
        || container.pod.to_string(),
        |record| format!("{}/{}", record.pod.namespace, record.pod.name),
    );
    let each = found.iter().map(|Difference { set, wanted, effective }| match set {
        Set::Cpus => format!("CPUs {effective} where the kubelet's files say {wanted}"),
        Set::Mems => format!("memory of NUMA {effective} where the kubelet's files say {wanted}"),
    });
    let each: Vec<String> = each.collect();
    format!("container {} of pod {pod} has {}", container.container, each.join(", and "))
}
