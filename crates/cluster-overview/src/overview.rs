//! All nodes of a cluster, from its objects.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::thread;

use scheduler_extender::{ScopedThreads, View};
use serde::Serialize;

use crate::asked::{Asked, AskedPod};
use crate::objects::ClusterObjects;
use crate::rows::{self, NodeFound, NodeRow};

/// All nodes of a cluster.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClusterOverview {
    /// What pods of the last day asked for, the largest first; at most 20.
    pub asked: Vec<AskedPod>,
    /// The nodes, by name.
    pub nodes: Vec<NodeRow>,
    /// What could not be seen, and what is not known for want of it, each as a sentence without a full stop.
    pub not_seen: Vec<String>,
}

impl ClusterOverview {
    /// The nodes as these objects have them.
    #[must_use]
    pub fn new(objects: &ClusterObjects) -> Self {
        let mut not_seen = Vec::new();
        let mut view = View::new();
        let mut found: BTreeMap<String, NodeFound> = BTreeMap::new();
        for node in &objects.nodes {
            let node = NodeFound::of_object(node);
            found.insert(node.name.clone(), node);
        }
        rows::read_topologies(objects, &mut found, &mut view, &mut not_seen);
        rows::read_states(objects, &mut found, &mut view, &mut not_seen);
        let asked = match &objects.pods {
            Ok(pods) => {
                for (name, node) in &mut found {
                    node.refused = Some(pods.refused.get(name).cloned().unwrap_or_default());
                }
                Asked::of(&pods.asked, &mut not_seen)
            }
            Err(why) => {
                not_seen
                    .push(format!("pods: {why}; so what was asked for, and what was refused, is not known"));
                Asked::default()
            }
        };
        let threads = ScopedThreads(thread::available_parallelism().unwrap_or(NonZeroUsize::MIN));
        let names: Vec<&str> = found.keys().map(String::as_str).collect();
        let fits: Vec<Vec<bool>> = asked
            .pods
            .iter()
            .map(|asked| {
                let judged = view.filter(&asked.pod, names.iter().copied(), &threads);
                judged.iter().map(|judgement| judgement.verdict.fits()).collect()
            })
            .collect();
        let nodes = found.into_values().enumerate().map(|(at, node)| {
            let fits = fits.iter().map(|fits| fits.get(at).copied().unwrap_or_default());
            node.row(fits.collect())
        });
        let nodes: Vec<NodeRow> = nodes.collect();
        Self { asked: asked.described(&nodes), nodes, not_seen }
    }
}
