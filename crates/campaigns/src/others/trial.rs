//! What trials share: a cluster, nodes, waiting, and outcomes.

use std::fmt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use local_cluster::{Cluster, Fleet, NODE_RIGHTS, Parts, Process, Programs};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use workspace_tools::workspace::target;

/// How long anything may take.
const PATIENCE: Duration = Duration::from_mins(2);
/// How many nodes a fleet has.
const NODES: u16 = 3;

/// What is needed to try programs.
pub(super) struct Trial {
    programs: Programs,
}

/// The outcome of a trial.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Outcome {
    /// What the program did.
    did: String,
    /// The error with which it ended, where this machine lacks what it needs.
    error: Option<String>,
}

impl Outcome {
    /// It did this, its first useful thing.
    pub(super) fn works(did: impl Into<String>) -> Self {
        Self { did: did.into(), error: None }
    }

    /// It did this, and ended with an error.
    pub(super) fn ends(did: impl Into<String>, error: impl Into<String>) -> Self {
        Self { did: did.into(), error: Some(error.into()) }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.error {
            None => f.write_str(&self.did),
            Some(error) => write!(f, "{}; then it ends: `{error}`", self.did),
        }
    }
}

impl Trial {
    pub(super) fn new(release: &str) -> anyhow::Result<Self> {
        Ok(Self { programs: Programs::built(&target(), release)? })
    }

    /// A cluster without nodes.
    pub(super) fn cluster(&self, parts: Parts) -> anyhow::Result<Cluster> {
        Cluster::start(&self.programs, parts)
    }

    /// A cluster with controllers and three nodes, `node-1` and so on, that are ready.
    pub(super) fn cluster_with_nodes(&self) -> anyhow::Result<(Cluster, Fleet)> {
        let topolet = workspace_tools::control_plane::topolet()?;
        let cluster = self.cluster(Parts::Controllers)?;
        cluster.apply(NODE_RIGHTS)?;
        let mut fleet =
            Fleet::start(&cluster, &topolet, NODES, &["--machine", workspace_tools::control_plane::MACHINE])?;
        fleet.until_ready(&cluster)?;
        Ok((cluster, fleet))
    }
}

/// Objects of the API server, as `kubectl get` names them.
pub(super) fn object(cluster: &Cluster, names: &[&str]) -> anyhow::Result<Value> {
    let text = cluster.kubectl(&[&["get", "-o", "json"], names].concat())?;
    serde_json::from_str(&text).context("kubectl prints no JSON")
}

/// Calls `is_so` until it returns a value, and returns that.
///
/// # Errors
/// `why_ended` says that a process has ended, or two minutes have gone by.
pub(crate) fn until<T>(
    what: &str,
    mut why_ended: impl FnMut() -> Option<String>,
    mut is_so: impl FnMut() -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let began = Instant::now();
    loop {
        let now = match is_so() {
            Ok(found) => return Ok(found),
            Err(now) => now,
        };
        if let Some(why) = why_ended() {
            bail!("{why}");
        }
        ensure!(began.elapsed() < PATIENCE, "{PATIENCE:?} went by and still not: {what}: {now:#}");
        thread::sleep(Duration::from_millis(100));
    }
}

/// Waits until a program ends, and gives the last error of its log, `err="…"`. Where the folder of this run is, is left out.
///
/// # Errors
/// It does not end in two minutes, or its log has no such line; its last words then.
pub(super) fn last_error(process: &mut Process, folder: &Path) -> anyhow::Result<String> {
    let why = until("the program's end", || None, || process.why_ended().context("it runs"))?;
    let log = process.log();
    let line = log.lines().rev().find_map(|line| line.split_once("err=\""));
    let (_, line) = line.with_context(|| format!("another end than expected: {why}"))?;
    Ok(reason(line, &folder.display().to_string()))
}

/// The text of an error as klog quotes it, from behind the first quote. What comes with a faulty configuration is long.
fn reason(quoted: &str, folder: &str) -> String {
    let why = quoted.strip_suffix('"').unwrap_or(quoted).replace("\\\"", "\"").replace(folder, "");
    why.split_once(", path: ").map_or_else(|| why.clone(), |(why, _)| why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::reason;

    #[test]
    fn the_reason_is_what_klog_quotes() {
        let rows = [
            (
                r#"failed to validate, error: cgroup v1, path: &TypeMeta{Kind:,}""#,
                "failed to validate, error: cgroup v1",
            ),
            (
                r#"no \"unix:///tmp/x/absent.sock\": desc = \"no such file\"""#,
                r#"no "unix:///absent.sock": desc = "no such file""#,
            ),
            ("context deadline exceeded\"", "context deadline exceeded"),
        ];
        for (quoted, why) in rows {
            assert_eq!(reason(quoted, "/tmp/x"), why);
        }
    }
}
