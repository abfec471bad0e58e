//! A container whose cgroup another program has changed without the kubelet: `serve --observe` finds it, and
//! finds nothing once it is as it was.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde_json::json;

use super::compare::Difference;
use super::wish::{Class, PodWish};
use super::{Session, facts};
use crate::machine::{put, text};

/// The observer looks every two seconds, and believes what it sees twice.
const PATIENCE: Duration = Duration::from_mins(1);
const METRIC: &str = "topolet_observe_drifted_containers";

pub(super) fn all(session: &mut Session<'_>) -> anyhow::Result<()> {
    let wish = PodWish::of("pinned", Class::Guaranteed, "cpu=2 memory=64Mi");
    session.start(wish.clone())?;
    let actual = facts::pods()?.find(&wish.name).context("the pod is gone")?;
    let id = actual.running.values().next().context("the pod has no container")?;
    let file = actual.group(id).context("the container has no cgroup")?.join("cpuset.cpus");
    let own = text(&file)?;
    // As wide as its pod may be, whose own cgroup has every CPU.
    fs::write(&file, text("/sys/devices/system/cpu/online")?)?;
    let found = counted(session, 1.0)?;
    session.row("drift", &wish.name, "all CPUs", &json!({}), &found);
    put(&file, &own)?;
    let found = counted(session, 0.0)?;
    session.row("drift", &wish.name, "its CPUs again", &json!({}), &found);
    session.empty()
}

/// Nothing, once so many containers are found.
fn counted(session: &Session<'_>, count: f64) -> anyhow::Result<Vec<Difference>> {
    let began = Instant::now();
    loop {
        let found = session.processes.counted(METRIC)?;
        let difference = Difference::of(METRIC, &found, &count);
        if difference.is_none() || began.elapsed() > PATIENCE {
            return Ok(difference.into_iter().collect());
        }
        std::thread::sleep(Duration::from_millis(300));
    }
}
