//! The parts of a node where its kubelet keeps them: configuration, state files, logs of pods.
//!
//! Below `/` for this machine, below another folder for a machine whose root is mounted there. What is not there is not
//! part of the node; what cannot be read is reported, since a decision without it is about another node.

use std::path::{Path, PathBuf};

use node_config::DecidedBy;
use node_state::PodNames;

use crate::folder::any_state_of;
use crate::gather::CONFIGS;
use crate::packed::{Gap, Packed, Running, Source};
use crate::pod_names::{OWN, POD_LOGS, of_logs};

impl Packed {
    /// The parts of the node whose root is `root`; `None`: no kubelet has kept anything there.
    pub fn of_root(root: &Path) -> Option<Self> {
        let below = |path: &str| root.join(path.trim_start_matches('/'));
        let kubelet = below(OWN);
        let mut gaps = Vec::new();
        let config = config(&CONFIGS.map(below)).unwrap_or_else(|gap| {
            gaps.push(gap);
            None
        });
        // A kubelet that pins nothing may not have written any.
        let state = any_state_of(&kubelet).map(|folder| (!folder.is_empty()).then_some(folder));
        let state = state.unwrap_or_else(|error| {
            let way_out = "--state names a copy of its state";
            gaps.push(Gap::Residents(format!("what runs on this node is not known: {error:#}; {way_out}")));
            None
        });
        let pods = of_logs(&below(POD_LOGS)).unwrap_or_else(|error| {
            gaps.push(Gap::Residents(format!("the pods of this node are not known: {error:#}")));
            PodNames::default()
        });
        if config.is_none() && state.is_none() && gaps.is_empty() {
            return None;
        }
        if config.is_none() && !gaps.iter().any(|gap| matches!(gap, Gap::Config(_))) {
            gaps.push(Gap::Config(format!(
                "the configuration of this node's kubelet was not found in {}; --config names it",
                CONFIGS.join(", ")
            )));
        }
        let (config_name, config) = config.unzip();
        let named = pods.known().is_some().then(|| below(POD_LOGS).display().to_string());
        let source = Source::Kubelet { root: kubelet, config: config_name, pods: named };
        Some(Self {
            config,
            own_config: None,
            decided_by: DecidedBy::Kubelet,
            running: Running::NotKnown,
            state,
            pods,
            devices: None,
            source,
            gaps,
        })
    }
}

/// The first configuration that is there, and its path.
fn config(paths: &[PathBuf]) -> Result<Option<(String, Vec<u8>)>, Gap> {
    for path in paths {
        let shown = path.display().to_string();
        match crate::files::read_found(path) {
            Ok(text) => return Ok(Some((shown, text))),
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
