//! What is wrong with the files, on this machine and with this configuration.

mod cpus;
mod devices;
mod memory;

use kubelet_checkpoint::store::StateFile;
use kubelet_checkpoint::{Oddities, Oddity, PodLevel};
use node_state::files::{self, UnknownFile};
use pod_spec::PodUid;
use topology_admission::Node;

use super::{Finding, Findings, PodNames, Problem, QUARANTINE, Quarantine, Quarantined};
use node_state::StateFolder;

/// Checks the files against a node that is as strict as the kubelet.
pub(crate) fn check(
    folder: &StateFolder,
    node: &Node,
    names: &PodNames,
    quarantine: &Quarantine,
) -> Vec<Finding> {
    let pod_level = match node.pod_level() {
        topology_admission::PodLevel::Managed => PodLevel::On,
        topology_admission::PodLevel::Ignored | topology_admission::PodLevel::NotPinned => PodLevel::Off,
    };
    let mut checking = Checking { node, names, pod_level, found: Findings::default() };
    if let Some(file) = &folder.cpu {
        checking.cpus(file);
    }
    if let Some(file) = &folder.memory {
        checking.memory(file);
    }
    if let Some(file) = &folder.device {
        checking.devices(file);
    }
    for quarantined in quarantine.pods.values() {
        checking.quarantined(quarantined);
    }
    for file in &quarantine.lost {
        let told = [
            format!("parts of {file} were lost, and a repair wrote it without a list of the pods that run"),
            "does not know: pods that the file does not name may run on what others hold".to_owned(),
            format!("restart or delete the pods that run on this node, then remove {QUARANTINE}"),
        ];
        checking.found.add_at(Problem::Quarantined, QUARANTINE, told);
    }
    checking.found.sorted()
}

struct Checking<'a> {
    node: &'a Node,
    names: &'a PodNames,
    pod_level: PodLevel,
    found: Findings,
}

/// A file's path at a kubelet; its messages name it so, wherever the copy is.
pub(super) fn kubelets(file: StateFile) -> String {
    format!("{}/{}", super::names::OWN, file.path())
}

/// The way out that always works.
const DELETE: &str = "drain the node, delete the file and restart the kubelet";

/// What a kubelet says that does not start.
fn no_start(manager: &str, error: impl std::fmt::Display) -> String {
    format!("does not start: start {manager} manager error: {error}")
}

impl Checking<'_> {
    fn add(&mut self, problem: Problem, file: StateFile, what: String, kubelet: String, help: &str) {
        self.found.add(problem, file, [what, kubelet, help.to_owned()]);
    }

    /// What the kubelet takes although it did not write it.
    fn odd(&mut self, file: StateFile, oddities: &Oddities) {
        for (offset, oddity) in oddities.iter() {
            let (what, help) = match oddity {
                Oddity::NoChecksum => {
                    (oddity.to_string(), "it is given one when the kubelet next writes the file")
                }
                _ => (
                    format!("at byte {offset}: {oddity}"),
                    "somebody edited the file: see that it says what is true",
                ),
            };
            self.add(Problem::Odd, file, what, "takes it as it is".to_owned(), help);
        }
    }

    /// What a repair has left behind.
    fn quarantined(&mut self, quarantined: &Quarantined) {
        let Quarantined { name, why, .. } = quarantined;
        let told = [
            format!("{name} is quarantined since a repair: {why}{}", quarantined.kept()),
            "does not know: the pod may go on running on what another has by now".to_owned(),
            format!("delete the pod, or remove {QUARANTINE} when you have seen to it"),
        ];
        self.found.add_at(Problem::Quarantined, QUARANTINE, told);
    }

    /// Whether the format of the file is not known, which is told.
    fn is_unknown(&mut self, file: StateFile, contents: &[u8], kubelet: &str) -> bool {
        let Err(UnknownFile { format, .. }) = files::known(file, contents) else { return false };
        self.add(
            Problem::UnknownFormat,
            file,
            format.to_string(),
            kubelet.to_owned(),
            "run the kubelet that wrote it; to go back to v1.36, drain the node and delete the file",
        );
        true
    }

    /// What is held for pods that are not there any more.
    fn gone<'p>(&mut self, file: StateFile, pods: impl Iterator<Item = (&'p PodUid, String)>) {
        for (pod, held) in pods {
            if self.names.is_gone(pod) {
                self.add(
                    Problem::Gone,
                    file,
                    format!("pod {pod} is gone and still holds {held}"),
                    "frees them when it next admits a pod".to_owned(),
                    "nothing, if the kubelet runs; else they stay taken until it does",
                );
            }
        }
    }
}
