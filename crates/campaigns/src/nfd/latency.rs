//! How long an admission takes until the API server has the object with it.

use std::thread;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use local_cluster::Cluster;

use super::cases::{CONFIGURATIONS, MACHINES};
use super::node::Node;

/// More than the second within which changes go out together.
const APART: Duration = Duration::from_millis(1200);
const COUNT: &str = "topolet_nrt_publication_delay_seconds_count";
const SUM: &str = "topolet_nrt_publication_delay_seconds_sum";

pub(super) struct Latency {
    pub(super) admissions: u32,
    /// From the ledger's change to the API server's answer, as the daemon counts it.
    pub(super) mean: Duration,
    /// How many objects as many admissions at once gave.
    pub(super) objects: u32,
}

impl Latency {
    /// Admits a number of pods one after the other, and then as many at once.
    pub(super) fn measure(cluster: &Cluster, admissions: u32) -> anyhow::Result<Self> {
        let node = Node::start(cluster, MACHINES[0], CONFIGURATIONS[1].1)?;
        thread::sleep(APART);
        let before = metrics(&node)?;
        for at in 0..admissions {
            admit(&node, &manifest("one", at))?;
            thread::sleep(APART);
        }
        let after = metrics(&node)?;
        let counted = after.0 - before.0;
        ensure!(
            (counted - f64::from(admissions)).abs() < 0.5,
            "{counted} objects of {admissions} admissions that were {APART:?} apart"
        );
        let mean = Duration::from_secs_f64((after.1 - before.1) / counted);

        let many: String = (0..admissions).map(|at| format!("---\n{}", manifest("many", at))).collect();
        admit(&node, &many)?;
        let last = node.published()?;
        let all = format!("::cc={}::", 2 * admissions);
        ensure!(last["attributes"].to_string().contains(&all), "the last object is not of all pods: {last}");
        let objects = metrics(&node)?.0 - after.0;
        node.end()?;
        Ok(Self { admissions, mean, objects: round(objects) })
    }
}

fn manifest(kind: &str, at: u32) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {kind}-{at}}}\nspec:\n  containers:\n  - name: app\n    \
         image: none\n    resources: {{limits: {{cpu: 1, memory: 64Mi}}}}\n"
    )
}

fn admit(node: &Node<'_>, manifests: &str) -> anyhow::Result<()> {
    let reply = node.client().ask("POST", "/v1/pods", manifests)?;
    ensure!(reply.status == 200, "pods are not admitted: {} {}", reply.status, reply.body);
    Ok(())
}

/// How many delays there were, and their sum in seconds.
fn metrics(node: &Node<'_>) -> anyhow::Result<(f64, f64)> {
    let text = node.client().get("/metrics")?.body;
    let value = |name: &str| -> anyhow::Result<f64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.with_context(|| format!("the daemon has no {name}"))?.parse().context("a metric is no number")
    };
    Ok((value(COUNT)?, value(SUM)?))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of a few")]
fn round(count: f64) -> u32 {
    count.round() as u32
}
