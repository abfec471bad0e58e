//! Pods that request the same, read once.

use std::collections::HashMap;

use anyhow::Context as _;
use node_output::manifest_error;
use pod_spec::{Pod, PodRules};
use topology_manifest::{Source, read_pods_with};

/// So many are kept; then all are forgotten and read again.
const KEPT: usize = 10_000;

/// Pods that have been read, by the text of what they request.
#[derive(Debug, Default)]
pub struct PodShapes(HashMap<(PodRules, String), Pod>);

impl PodShapes {
    /// The nameless pod that the text describes.
    pub(super) fn read(&mut self, text: &str, rules: PodRules) -> anyhow::Result<&Pod> {
        let key = (rules, text.to_owned());
        if !self.0.contains_key(&key) {
            let read = Source::from_bytes("a shape", text.as_bytes())
                .and_then(|source| read_pods_with(&source, rules))
                .map_err(manifest_error)?;
            let pod = read.into_iter().next().context("a shape is empty")?;
            if self.0.len() == KEPT {
                self.0.clear();
            }
            self.0.insert(key.clone(), pod);
        }
        self.0.get(&key).context("a shape is empty")
    }
}
