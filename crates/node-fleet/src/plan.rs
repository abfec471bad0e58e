//! The annotations of a pod that say how its simulated containers run.

use std::time::{Duration, Instant};

use kubelet_status::PodObject;

/// Seconds after which each container exits; by default it runs until the pod is deleted.
const RUN: &str = "fleet.topolet.dev/run-seconds";
/// Its exit code then.
const CODE: &str = "fleet.topolet.dev/exit-code";
/// Seconds that a container takes to exit when its pod is deleted. The node kills it after the grace period.
const STOP: &str = "fleet.topolet.dev/stop-seconds";

/// How the containers of a pod run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Plan {
    /// `None`: until the pod is deleted.
    run: Option<Duration>,
    /// The exit code of each container after `run`.
    pub(crate) code: u8,
    /// How long each container takes to exit when the pod is deleted.
    pub(crate) stop: Duration,
}

impl Plan {
    /// Reads the annotations. One that cannot be read is ignored with a warning.
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
