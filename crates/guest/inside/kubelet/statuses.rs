//! What the kubelet writes about pods: the status of each once it runs or was refused, and the events on it.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::Session;
use super::configuration::Configuration;
use super::facts;
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

/// How long nothing may have changed, which is longer than a kubelet's round takes here (`syncFrequency`).
const SETTLED: Duration = Duration::from_secs(12);
/// How often it is looked.
const LOOK: Duration = Duration::from_secs(1);
/// How long a pod may take.
const PATIENCE: Duration = Duration::from_mins(2);

/// Prints a row for each pod, with its manifest, status and events.
pub(super) fn all(session: &mut Session<'_>) -> anyhow::Result<()> {
    for (policy, pods) in PODS {
        session.configure(&Configuration::new(policy, "container"))?;
        for (name, class, amounts) in *pods {
            let wish = PodWish::of(name, *class, amounts);
            session.processes.put(&wish)?;
            session.processes.wait_for(name)?;
            let (status, events) = at_rest(session, name)?;
            let seen =
                json!({"policy": policy, "manifest": wish.manifest(), "status": status, "events": events});
            session.seen(name, &wish.summary(), &seen);
            session.processes.take(name)?;
        }
    }
    session.row("end", "", "", &json!({}), &[]);
    Ok(())
}

/// The status of a pod that is ready or has failed, and the events on it, once both have been the same for a while.
fn at_rest(session: &Session<'_>, name: &str) -> anyhow::Result<(Value, Vec<Value>)> {
    let full = format!("{name}-node1");
    let look = || -> anyhow::Result<(Value, Vec<Value>)> {
        let pods = facts::pods()?;
        let items = pods.0["items"].as_array().into_iter().flatten();
        let pod = items.into_iter().find(|pod| pod["metadata"]["name"] == *full);
        let status = pod.context("the pod is gone")?["status"].clone();
        Ok((status, events(&session.processes.kubelet_log()?, &format!("default/{full}"))))
    };
    let is_done = |status: &Value| {
        let conditions = status["conditions"].as_array().into_iter().flatten();
        let is_ready = |condition: &Value| condition["type"] == "Ready" && condition["status"] == "True";
        status["phase"] == "Failed" || conditions.into_iter().any(is_ready)
    };
    let (began, mut last, mut since) = (Instant::now(), look()?, Instant::now());
    loop {
        std::thread::sleep(LOOK);
        let now = look()?;
        if now != last {
            (last, since) = (now, Instant::now());
        } else if is_done(&last.0) && !last.1.is_empty() && since.elapsed() >= SETTLED {
            return Ok(last);
        }
        ensure!(began.elapsed() < PATIENCE, "{name} does not come to rest: {}", last.0);
    }
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
