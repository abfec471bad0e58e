//! Deletes pods, and records containers that start and end.

use std::path::{Component, Path as FsPath, PathBuf};

use axum::Extension;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use bounded_http::Peer;
use cpu_manager::ContainerId;
use node_agent::{Request, RequestError};
use node_state::Source;
use pod_spec::{ContainerKey, ContainerName, PodUid};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::failure::Failure;
use super::json::parsed;
use super::node::{Answered, Node, body, failed, find};
use super::reply::Shape;
use super::segments::Segments;

pub(super) async fn delete(
    State(node): State<Node>,
    Extension(peer): Extension<Peer>,
    Segments((namespace, name)): Segments<(String, String)>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answered {
    let shape = Shape::alone(query.as_deref(), &headers)?;
    let changer = node.changeable(&peer, &headers)?;
    let snapshot = node.snapshot();
    let uid = find(&snapshot, &namespace, &name)?.uid.clone();
    let done = Done { pod: format!("{namespace}/{name}"), container: None };
    let is_bound = snapshot.pods.get(&uid).is_some_and(|record| record.source == Source::Cluster);
    if is_bound && changer.control.news.has_listener() {
        let text = format!("pod {} is bound to this node by the API server: delete it there", done.pod);
        return Err(Failure::new(StatusCode::CONFLICT, text));
    }
    node.change(changer, &done.pod, Request::Delete(uid)).await?;
    shape.document("PodDeleted", done, |done, _| format!("pod {} deleted\n", done.pod))
}

/// A container that has been created.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "StartedContainer")]
#[serde(deny_unknown_fields)]
pub(super) struct StartedBody {
    /// As the runtime names it, with or without `containerd://`.
    id: String,
    /// Its cgroup, below the root of cgroups.
    #[schemars(with = "Option<String>")]
    cgroup: Option<PathBuf>,
    /// Or a process of it.
    pid: Option<u32>,
}

/// A container that has ended.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ExitedContainer")]
#[serde(deny_unknown_fields)]
pub(super) struct ExitedBody {
    /// As the runtime names it, with or without `containerd://`.
    id: String,
    /// As its process ended.
    #[serde(default, rename = "exitCode")]
    exit_code: i32,
}

/// What has been done, and with what.
#[derive(Serialize, JsonSchema)]
pub(super) struct Done {
    /// Namespace and name.
    pod: String,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    container: Option<OneContainer>,
}

#[derive(Serialize, JsonSchema)]
struct OneContainer {
    container: String,
    id: String,
}

impl Done {
    fn container(namespace: &str, name: &str, container: &str, id: &ContainerId) -> Self {
        let container = OneContainer { container: container.to_owned(), id: id.to_string() };
        Self { pod: format!("{namespace}/{name}"), container: Some(container) }
    }

    /// What it has been done with, as the log names it.
    fn on(&self) -> String {
        let of = self.container.as_ref().map_or("", |of| of.container.as_str());
        format!("{}/{of}", self.pod)
    }

    fn line(&self, verb: &str) -> String {
        let of = self.container.as_ref().map_or("", |of| of.container.as_str());
        format!("container {of} of pod {} {verb}\n", self.pod)
    }
}

/// The longest id of a container.
const LONGEST_ID: usize = 256;

fn container_id(text: &str) -> Result<ContainerId, Failure> {
    // As a status writes it, or bare.
    let id = ContainerId::of_status(text).unwrap_or_else(|| ContainerId::from(text));
    let is_id = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let length = id.as_str().len();
    if (1..=LONGEST_ID).contains(&length) && id.as_str().bytes().all(is_id) {
        return Ok(id);
    }
    Err(Failure::wrong("id: expected a container's id of letters, digits, '-', '_' and '.'"))
}

pub(super) async fn started(
    State(node): State<Node>,
    Extension(peer): Extension<Peer>,
    Segments((namespace, name, container)): Segments<(String, String, String)>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    sent: Body,
) -> Answered {
    let shape = Shape::alone(query.as_deref(), &headers)?;
    let changer = node.changeable(&peer, &headers)?;
    let sent = body(sent).await?;
    let StartedBody { id, cgroup, pid } = parsed(&sent)?;
    let id = container_id(&id)?;
    let cgroup = match (cgroup, pid) {
        (Some(cgroup), _) => Some(below_root(&cgroup)?),
        (None, Some(pid)) => Some(cgroup_of(pid)?),
        (None, None) => None,
    };
    let pod: PodUid = find(&node.snapshot(), &namespace, &name)?.uid.clone();
    let done = Done::container(&namespace, &name, &container, &id);
    let container = ContainerKey { pod, container: ContainerName::new(&container) };
    node.change(changer, &done.on(), Request::Started { container, id, cgroup }).await?;
    shape.document("ContainerStarted", done, |done, _| done.line("started"))
}

pub(super) async fn exited(
    State(node): State<Node>,
    Extension(peer): Extension<Peer>,
    Segments((namespace, name, container)): Segments<(String, String, String)>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    sent: Body,
) -> Answered {
    let shape = Shape::alone(query.as_deref(), &headers)?;
    let changer = node.changeable(&peer, &headers)?;
    let sent = body(sent).await?;
    let ExitedBody { id, exit_code } = parsed(&sent)?;
    let id = container_id(&id)?;
    let snapshot = node.snapshot();
    let uid = find(&snapshot, &namespace, &name)?.uid.clone();
    let running = snapshot.pods.get(&uid).and_then(|record| record.running.get(&id));
    if running.is_none_or(|running| running.container.as_str() != container) {
        return Err(failed(&RequestError::NoContainerId(id)));
    }
    let done = Done::container(&namespace, &name, &container, &id);
    let key = ContainerKey { pod: uid, container: ContainerName::new(&container) };
    // The exit code is queued before the owner releases the container: the status thread has it when it sees the change.
    changer.control.news.exited(key, id.clone(), exit_code);
    node.change(changer, &done.on(), Request::Exited(id)).await?;
    shape.document("ContainerExited", done, |done, _| done.line("exited"))
}

/// A path below the root of cgroups, which leads nowhere else.
fn below_root(path: &FsPath) -> Result<PathBuf, Failure> {
    let inside = path.strip_prefix("/sys/fs/cgroup").unwrap_or(path);
    let inside = inside.strip_prefix("/").unwrap_or(inside);
    let is_plain = inside.components().all(|part| matches!(part, Component::Normal(_)));
    if is_plain && inside.components().next().is_some() {
        return Ok(inside.to_path_buf());
    }
    Err(Failure::wrong("cgroup: expected a path below /sys/fs/cgroup"))
}

/// The cgroup v2 of a process.
fn cgroup_of(pid: u32) -> Result<PathBuf, Failure> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).map_err(|error| {
        Failure::wrong(format!("pid: failed to read the cgroup of process {pid}: {error}"))
    })?;
    below_root(FsPath::new(of_version_2(&text).map_err(|why| {
        Failure::wrong(format!(
            "pid: process {pid} {why}, and containers are kept on their CPUs by cgroups of version 2 alone: give the id \
             without a pid, or cgroup"
        ))
    })?))
}

/// The cgroup v2 in a text like `/proc/self/cgroup`, which is not the root; else what there is instead.
fn of_version_2(text: &str) -> Result<&str, &'static str> {
    let path = text.lines().find_map(|line| line.strip_prefix("0::"));
    match path.filter(|path| *path != "/") {
        Some(path) => Ok(path),
        None if text.lines().any(|line| !line.starts_with("0::")) => Err("is in cgroups of version 1"),
        None if path.is_some() => Err("is in no cgroup but the root"),
        None => Err("is in no cgroup"),
    }
}

#[cfg(test)]
mod tests {
    use super::of_version_2;

    #[test]
    fn processes_of_hosts_with_other_cgroups_are_told_apart() {
        for (text, expected) in [
            ("0::/kubepods.slice/c1\n", Ok("/kubepods.slice/c1")),
            ("3:cpuset:/kubepods/c1\n0::/kubepods/c1\n", Ok("/kubepods/c1")),
            ("3:cpuset:/kubepods/c1\n1:name=systemd:/\n", Err("is in cgroups of version 1")),
            ("3:cpuset:/kubepods/c1\n0::/\n", Err("is in cgroups of version 1")),
            ("0::/\n", Err("is in no cgroup but the root")),
            ("", Err("is in no cgroup")),
        ] {
            assert_eq!(of_version_2(text), expected, "{text:?}");
        }
    }
}
