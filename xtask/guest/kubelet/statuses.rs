//! What the kubelet writes about pods: the status of each once it runs or was refused, and the events on it.

use std::fs;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::Session;
use super::configuration::Configuration;
use super::did;
use super::wish::{Class, PodWish};

/// A policy of the Topology Manager, and the pods that come under it: name, class and amounts as of [`PodWish::of`].
type Pods = (&'static str, &'static [(&'static str, Class, &'static str)]);

const PODS: &[Pods] = &[
    (
        "single-numa-node",
        &[
            ("pinned", Class::Guaranteed, "cpu=2 memory=64Mi"),
            ("device", Class::Guaranteed, "cpu=1 memory=64Mi example.com/fn=1"),
            ("two", Class::Guaranteed, "cpu=1 memory=32Mi + cpu=500m memory=32Mi"),
            ("shared", Class::Burstable, "cpu=250m memory=32Mi"),
            ("nothing", Class::Burstable, ""),
            ("too-wide", Class::Guaranteed, "cpu=60 memory=64Mi"),
        ],
    ),
    ("best-effort", &[("too-many", Class::Guaranteed, "cpu=1 memory=64Mi example.com/fn=9")]),
];

/// Nothing more comes after so long.
const SETTLED: Duration = Duration::from_secs(12);

/// Prints a row for each pod, with its manifest, status and events.
pub(super) fn all(session: &mut Session<'_>) -> anyhow::Result<()> {
    for (policy, pods) in PODS {
        session.configure(&Configuration::new(policy, "container"))?;
        for (name, class, amounts) in *pods {
            let wish = PodWish::of(name, *class, amounts);
            session.processes.put(&wish)?;
            session.processes.wait_for(name)?;
            std::thread::sleep(SETTLED);
            let pods = did::pods()?;
            let full = format!("{name}-node1");
            let items = pods.0["items"].as_array().into_iter().flatten();
            let pod = items.into_iter().find(|pod| pod["metadata"]["name"] == *full);
            let status = pod.context("the pod is gone")?["status"].clone();
            let events = events(&session.processes.kubelet_log()?, &format!("default/{full}"));
            let seen =
                json!({"policy": policy, "manifest": wish.manifest(), "status": status, "events": events});
            session.seen(name, &wish.summary(), &seen);
            session.processes.take(name)?;
        }
    }
    Ok(())
}

/// The events on a pod that the kubelet has logged, as it logs them from verbosity 3 on.
fn events(log: &str, pod: &str) -> Vec<Value> {
    let lines = log.lines().filter(|line| line.contains("\"Event occurred\""));
    let of_pod = lines.filter(|line| value(line, "object").as_deref() == Some(pod));
    let event = |line: &str| {
        let field = |name: &str| value(line, name).unwrap_or_default();
        json!({"type": field("type"), "reason": field("reason"), "message": field("message"), "fieldPath": field("fieldPath")})
    };
    of_pod.map(event).collect()
}

/// A field of a structured line: `name="text"`, quoted as Go does.
fn value(line: &str, name: &str) -> Option<String> {
    let (_, rest) = line.split_once(&format!(" {name}=\""))?;
    let mut text = String::new();
    let mut chars = rest.chars();
    loop {
        match chars.next()? {
            '"' => return Some(text),
            '\\' => match chars.next()? {
                'n' => text.push('\n'),
                't' => text.push('\t'),
                other => text.push(other),
            },
            other => text.push(other),
        }
    }
}

/// The log of a process.
pub(super) fn log_of(path: &str) -> anyhow::Result<String> {
    let bytes = fs::read(path).with_context(|| format!("failed to read {path}"))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
