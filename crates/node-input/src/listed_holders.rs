//! What pods hold by a kubelet's answer of `List`.

use topology_manifest::PodHoldings;

/// The pods of an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ListedHolders {
    /// What has the answer, as messages call it.
    pub(crate) name: String,
    /// The pods.
    pub(crate) pods: Vec<PodHoldings>,
}

impl ListedHolders {
    /// `None`: no pod of the answer holds anything.
    pub(crate) fn of(name: &str, pods: Vec<PodHoldings>) -> Option<Self> {
        let holds = pods.iter().any(is_holder);
        holds.then(|| Self { name: name.to_owned(), pods })
    }

    /// That another source of what pods hold counts in its place.
    pub(crate) fn not_counted(&self, other: &str) -> String {
        let count = self.pods.iter().filter(|pod| is_holder(pod)).count();
        let pods = if count == 1 { "1 pod holds".to_owned() } else { format!("{count} pods hold") };
        format!(
            "{}: what {pods} by this answer of List is not counted: the state files of {other} count",
            self.name
        )
    }
}

fn is_holder(pod: &PodHoldings) -> bool {
    pod.containers
        .iter()
        .any(|(_, held)| !(held.devices.is_empty() && held.cpus.is_empty() && held.memory.is_empty()))
}
