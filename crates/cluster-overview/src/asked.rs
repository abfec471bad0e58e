//! What pods of the last day asked for.

use serde::Serialize;

use crate::counts::{AskedCounts, AskedShape};
use crate::rows::{NodeRow, RowBasis};

/// So many kinds are looked at: the largest of those that come most often.
const MOST: usize = 20;

/// Pods that asked for the same.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AskedPod {
    /// What one of them asks for, for people, such as `8 CPUs, 16Gi memory, 1 nvidia.com/gpu`.
    pub asks: String,
    /// How many came.
    pub pods: usize,
    /// How many nodes one more would fit; nodes of which nothing is known do not count.
    pub fits_nodes: usize,
}

/// What was asked for, the largest first.
#[derive(Default)]
pub(crate) struct Asked {
    pub(crate) pods: Vec<AskedShape>,
}

impl Asked {
    /// Those that come most often.
    pub(crate) fn of(counts: &AskedCounts, not_seen: &mut Vec<String>) -> Self {
        let mut skipped = |pods: usize, why: &str| {
            if pods > 0 {
                let pods = if pods == 1 { "1 pod".to_owned() } else { format!("{pods} pods") };
                not_seen.push(format!("{pods} {why}; so what they ask for is not among what was asked for"));
            }
        };
        skipped(counts.unreadable, "cannot be read");
        skipped(counts.with_claims, "with resource claims, which are not decided here");
        skipped(counts.beyond, "beyond the first thousand kinds of requests");
        let mut pods: Vec<AskedShape> = counts.shapes.values().cloned().collect();
        pods.sort_by_key(|shape| std::cmp::Reverse(shape.pods));
        pods.truncate(MOST);
        pods.sort_by_key(|shape| std::cmp::Reverse(shape.size()));
        Self { pods }
    }

    /// For people, with how many of these nodes each fits.
    pub(crate) fn described(&self, nodes: &[NodeRow]) -> Vec<AskedPod> {
        let described = |(at, shape): (usize, &AskedShape)| AskedPod {
            asks: shape.asks(),
            pods: shape.pods,
            fits_nodes: nodes
                .iter()
                .filter(|node| node.basis != RowBasis::Unknown && node.fits.contains(&at))
                .count(),
        };
        self.pods.iter().enumerate().map(described).collect()
    }
}
