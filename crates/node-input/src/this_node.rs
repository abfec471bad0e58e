//! The parts of a node where its kubelet keeps them: configuration, state files, logs of pods.
//!
//! Below `/` for this machine, below another folder for a machine whose root is mounted there. The kubelet that runs says
//! where they are (see [`running_kubelet`](crate::running_kubelet)); without one they are looked for where kubelets usually
//! keep them. What is not there is not part of the node; what cannot be read is reported, since a decision without it is
//! about another node.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use kubelet_checkpoint::pods::PodFile;
use node_config::DecidedBy;
use node_state::{PodNames, StateFolder};
use pod_claims::ClusterObjects;
use pod_spec::PodUid;

use crate::allocated;
use crate::folder::any_state_of;
use crate::found_config::FoundConfig;
use crate::inside::inside;
use crate::packed::{Gap, Packed, Source};
use crate::pod_names::{OWN, POD_LOGS, of_logs};
use crate::running_kubelet::{RunningKubelet, Search};

/// Where a kubelet's configuration usually is.
pub(crate) const CONFIGS: [&str; 5] = [
    "/var/lib/kubelet/config.yaml",
    "/etc/kubernetes/kubelet.conf",
    "/etc/kubernetes/kubelet/config.json",
    "/etc/kubernetes/kubelet/kubelet-config.json",
    "/home/kubernetes/kubelet-config.yaml",
];

impl Packed {
    /// The parts of the node whose root is `root`, of the kubelet with process id `pid` if one is given; `None`: no kubelet runs
    /// or has kept anything there.
    ///
    /// # Errors
    /// No kubelet has that process id.
    pub fn of_root(root: &Path, pid: Option<u32>) -> anyhow::Result<Option<Self>> {
        let below = |path: &str| inside(root, path);
        let Search { kubelet, running, note } = Search::new(root, pid)?;
        let mut gaps = Vec::new();
        let (config, folder, logs) = match &kubelet {
            Some(kubelet) => (kubelet.config(), kubelet.root_dir(), kubelet.below(POD_LOGS)),
            None => (usual_config(&CONFIGS.map(below)), below(OWN), below(POD_LOGS)),
        };
        let config = config.unwrap_or_else(|gap| {
            gaps.push(gap);
            None
        });
        // A kubelet that pins nothing may not have written any.
        let relative = kubelet.as_ref().and_then(RunningKubelet::relative_root);
        let is_relative = relative.is_some();
        gaps.extend(relative.map(Gap::Residents));
        let state = if is_relative { Ok(StateFolder::default()) } else { any_state_of(&folder) };
        let state = state.map(|folder| (!folder.is_empty()).then_some(folder));
        let state = state.unwrap_or_else(|error| {
            let way_out = "--state names a copy of its state";
            gaps.push(Gap::Residents(format!("what runs on this node is not known: {error:#}; {way_out}")));
            None
        });
        let pods = of_logs(&logs).unwrap_or_else(|error| {
            gaps.push(Gap::Residents(format!("the pods of this node are not known: {error:#}")));
            PodNames::default()
        });
        let is_found = config.is_some() || state.is_some() || kubelet.is_some();
        if !is_found && gaps.is_empty() && note.is_none() {
            return Ok(None);
        }
        if config.is_none() && !gaps.iter().any(|gap| matches!(gap, Gap::Config(_))) {
            gaps.push(Gap::Config(format!(
                "the configuration of this node's kubelet was not found in {}; --config names it",
                CONFIGS.join(", ")
            )));
        }
        let has_root = kubelet.is_some() && !is_relative;
        let Answered { devices, listed, active } =
            if has_root { asked(&folder, &mut gaps) } else { Answered::default() };
        let release = kubelet.as_ref().and_then(RunningKubelet::release);
        let admitted = || {
            let state = state.as_ref().filter(|_| has_root)?;
            let names = allocated::names(state, release?, &pods, has_folder(&folder), active.as_ref())?;
            Some((names, format!("{} and {}", PodFile::Allocated.path(), logs.display())))
        };
        let listed = listed.map(|pods| (pods, "the kubelet's pods socket".to_owned()));
        let by_logs = || pods.known().is_some().then(|| logs.display().to_string());
        let (pods, named) = listed
            .or_else(admitted)
            .map_or_else(|| (pods.clone(), by_logs()), |(pods, place)| (pods, Some(place)));
        gaps.extend(note.map(Gap::Config));
        gaps.extend(kubelet.as_ref().and_then(RunningKubelet::changed_since).map(Gap::Config));
        let source = Source::Kubelet { root: folder, pods: named };
        Ok(Some(Self {
            config,
            own_config: None,
            decided_by: DecidedBy::Kubelet,
            running,
            release,
            state,
            pods,
            devices,
            objects: ClusterObjects::default(),
            source,
            gaps,
        }))
    }
}

/// Whether a pod has its folder below the kubelet's root folder; each has where the folder of all cannot be read.
fn has_folder(root: &Path) -> impl Fn(&PodUid) -> bool {
    let all = fs::read_dir(root.join("pods")).ok().map(|pods| {
        let names = pods.filter_map(|pod| pod.ok()?.file_name().into_string().ok());
        names.collect::<BTreeSet<String>>()
    });
    move |uid| all.as_ref().is_none_or(|all| all.contains(uid.as_str()))
}

/// What a kubelet answers at its sockets.
#[derive(Default)]
struct Answered {
    /// The text of an inventory file.
    devices: Option<Vec<u8>>,
    listed: Option<PodNames>,
    /// The pods that are active, as `NAMESPACE/NAME`.
    active: Option<BTreeSet<String>>,
}

/// What the kubelet with this root folder answers.
#[cfg(feature = "sockets")]
fn asked(root: &Path, gaps: &mut Vec<Gap>) -> Answered {
    let crate::sockets::Answers { devices, pods, active, failures } = crate::sockets::ask(root);
    gaps.extend(failures.into_iter().map(Gap::Residents));
    Answered { devices, listed: pods, active }
}

#[cfg(not(feature = "sockets"))]
const fn asked(_: &Path, _: &mut Vec<Gap>) -> Answered {
    Answered { devices: None, listed: None, active: None }
}

/// The first configuration that is there.
fn usual_config(paths: &[PathBuf]) -> Result<Option<FoundConfig>, Gap> {
    for path in paths {
        let shown = path.display().to_string();
        match crate::files::read_found(path) {
            Ok(text) => return Ok(Some(FoundConfig::new(shown, text))),
            Err(_) if matches!(path.try_exists(), Ok(false)) => {}
            Err(error) => {
                return Err(Gap::Config(format!(
                    "the configuration of this node's kubelet cannot be read: {error:#}; --config names another"
                )));
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packed::Running;

    #[test]
    fn a_root_without_a_kubelet_has_no_parts() {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let found = Packed::of_root(folder.path(), None);
        assert!(matches!(found, Ok(None)), "{found:?}");
        assert_eq!(
            Search::new(folder.path(), None).map(|search| search.running).ok(),
            Some(Running::NotKnown)
        );
    }
}
