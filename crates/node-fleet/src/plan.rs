//! What the annotations of a pod say of its containers, which nobody runs.

use std::time::{Duration, Instant};

use kubelet_status::PodObject;

/// How long each container runs, in seconds; without it until the pod is deleted.
const RUN: &str = "fleet.topolet.dev/run-seconds";
/// The exit code with which it ends then.
const CODE: &str = "fleet.topolet.dev/exit-code";
/// How long it takes to end when the pod is deleted, in seconds. After the grace period it is killed.
const STOP: &str = "fleet.topolet.dev/stop-seconds";

/// How the containers of a pod run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Plan {
    /// `None`: until the pod is deleted.
    run: Option<Duration>,
    /// The exit code of each after its time.
    pub(crate) code: u8,
    /// How long each takes to end once it is told to.
    pub(crate) stop: Duration,
}

impl Plan {
    /// What the pod asks for; what cannot be read is said, and left out.
    pub(crate) fn of(object: &PodObject) -> Self {
        Self {
            run: read(object, RUN, seconds),
            code: read(object, CODE, |text| text.parse().ok()).unwrap_or_default(),
            stop: read(object, STOP, seconds).unwrap_or_default(),
        }
    }

    /// When a container ends that starts `now`; `None`: it runs until the pod is deleted.
    pub(crate) fn end(&self, now: Instant) -> Option<Instant> {
        now.checked_add(self.run?)
    }
}

fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.parse().ok()?).ok()
}

fn read<T>(object: &PodObject, name: &str, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
    let text = object.json()["metadata"]["annotations"][name].as_str()?;
    let read = parse(text);
    if read.is_none() {
        let pod = format!("{}/{}", object.namespace(), object.name());
        tracing::warn!(pod, "annotation {name} cannot be read and is left out: {text:?}");
    }
    read
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_cannot_be_read_is_left_out() {
        let plan = |annotations| {
            let object = json!({"metadata": {"uid": "a", "annotations": annotations}});
            PodObject::new(object).map(|object| Plan::of(&object))
        };
        let given = plan(json!({RUN: "1.5", CODE: "3", STOP: "2"}));
        let (run, stop) = (Some(Duration::from_millis(1500)), Duration::from_secs(2));
        assert_eq!(given, Some(Plan { run, code: 3, stop }));
        for wrong in [
            json!({RUN: "-1"}),
            json!({RUN: "soon", CODE: "256"}),
            json!({RUN: "1e30", STOP: 4}),
            json!(null),
        ] {
            assert_eq!(plan(wrong), Some(Plan::default()));
        }
    }
}
