//! The simulated containers of an admitted pod: init containers succeed at once. The others run until their time is over or the
//! pod is deleted, and restart as the restart policy says, after the kubelet's back-off.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use kubelet_status::{Exit, History, PodObject, RunningContainer, Stage};
use serde_json::Value;

use crate::plan::Plan;

/// Before the second start; each later one waits twice as long, as a kubelet has it.
const BACK_OFF: Duration = Duration::from_secs(10);
/// It never waits longer.
const MOST: Duration = Duration::from_mins(5);
/// The exit code of a container that the node kills.
const KILLED: i32 = 137;

/// The containers of a pod, without init containers, which exit at once.
pub(crate) struct Runs {
    plan: Plan,
    each: BTreeMap<String, Run>,
    /// When all exit or are killed, once the pod is deleted.
    stops: Option<Instant>,
}

/// A container that has been started.
struct Run {
    id: String,
    /// How often it was started before.
    restarts: u32,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Until then; `None`: until the pod is deleted.
    Runs(Option<Instant>),
    /// It starts again then.
    Waits(Instant),
    /// It does not start again.
    Ended,
}

impl Runs {
    /// Starts the containers of a pod that has just been admitted. After a restart of the fleet a container that runs by the
    /// pod's status keeps its id, and its time starts at zero.
    pub(crate) fn start(object: &PodObject, history: &mut History, now: Instant) -> Self {
        let plan = Plan::of(object);
        let mut runs = Self { plan, each: BTreeMap::new(), stops: None };
        for (list, statuses) in
            [("initContainers", "initContainerStatuses"), ("containers", "containerStatuses")]
        {
            for container in object.json()["spec"][list].as_array().into_iter().flatten() {
                let name = container["name"].as_str().unwrap_or_default();
                let known = object.json()["status"][statuses].as_array().into_iter().flatten();
                let known = known.into_iter().find(|status| status["name"] == name);
                let restarts = restarts(known);
                if list == "initContainers" && container["restartPolicy"] != "Always" {
                    history.exited(name, Exit { id: id(object, name, restarts), code: 0 });
                } else {
                    let run = runs.begun(object, name, known, restarts, now);
                    runs.each.insert(name.to_owned(), run);
                }
            }
        }
        runs
    }

    fn begun(
        &self,
        object: &PodObject,
        name: &str,
        known: Option<&Value>,
        restarts: u32,
        now: Instant,
    ) -> Run {
        let code = known.and_then(|status| status["state"]["terminated"]["exitCode"].as_i64());
        let runs = State::Runs(self.plan.end(now));
        let (restarts, state) = match code {
            Some(code) if starts_again(object, code) => (restarts.saturating_add(1), runs),
            Some(_) => (restarts, State::Ended),
            None => (restarts, runs),
        };
        Run { id: id(object, name, restarts), restarts, state }
    }

    /// Starts and ends the containers that are due by `now`. Gives when the next one is due.
    pub(crate) fn advance(
        &mut self,
        object: &PodObject,
        history: &mut History,
        now: Instant,
    ) -> Option<Instant> {
        if object.stage() != Stage::Active {
            let grace = object.json()["metadata"]["deletionGracePeriodSeconds"].as_u64();
            let grace = Duration::from_secs(grace.unwrap_or_default());
            let stops = *self.stops.get_or_insert(now + self.plan.stop.min(grace));
            // A container that exits within the grace period succeeds.
            let code = if self.plan.stop > grace { KILLED } else { 0 };
            for (name, run) in &mut self.each {
                if stops <= now && matches!(run.state, State::Runs(_)) {
                    history.exited(name, Exit { id: run.id.clone(), code });
                }
                if stops <= now || matches!(run.state, State::Waits(_)) {
                    run.state = State::Ended;
                }
            }
            return (stops > now).then_some(stops);
        }
        let plan = &self.plan;
        for (name, run) in &mut self.each {
            match run.state {
                State::Runs(Some(end)) if end <= now => {
                    history.exited(name, Exit { id: run.id.clone(), code: plan.code.into() });
                    let again = starts_again(object, plan.code.into());
                    run.state = if again { State::Waits(now + pause(run.restarts)) } else { State::Ended };
                }
                State::Waits(until) if until <= now => {
                    run.restarts = run.restarts.saturating_add(1);
                    run.id = id(object, name, run.restarts);
                    run.state = State::Runs(plan.end(now));
                }
                State::Runs(_) | State::Waits(_) | State::Ended => {}
            }
        }
        let due = self.each.values().filter_map(|run| match run.state {
            State::Runs(end) => end,
            State::Waits(until) => Some(until),
            State::Ended => None,
        });
        due.min()
    }

    /// The running containers, by name.
    pub(crate) fn running(&self) -> BTreeMap<String, RunningContainer> {
        let running = self.each.iter().filter(|(_, run)| matches!(run.state, State::Runs(_)));
        running.map(|(name, run)| (name.clone(), RunningContainer { id: run.id.clone() })).collect()
    }
}

fn restarts(known: Option<&Value>) -> u32 {
    let count = known.and_then(|status| status["restartCount"].as_u64()).unwrap_or_default();
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn id(object: &PodObject, name: &str, restarts: u32) -> String {
    format!("simulated-{}-{name}-{restarts}", object.uid())
}

/// Whether a container of the pod starts again that has ended with this exit code.
fn starts_again(object: &PodObject, code: i64) -> bool {
    match object.json()["spec"]["restartPolicy"].as_str() {
        Some("Never") => false,
        Some("OnFailure") => code != 0,
        _ => true,
    }
}

fn pause(restarts: u32) -> Duration {
    BACK_OFF.saturating_mul(1_u32.checked_shl(restarts).unwrap_or(u32::MAX)).min(MOST)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(policy: &str, annotations: &[(&str, &str)]) -> PodObject {
        let annotations: BTreeMap<_, _> =
            annotations.iter().map(|(name, value)| (format!("fleet.topolet.dev/{name}"), value)).collect();
        let object = json!({
            "metadata": {"uid": "u", "name": "job", "annotations": annotations},
            "spec": {"restartPolicy": policy, "containers": [{"name": "app"}], "initContainers": [{"name": "init"}]},
        });
        PodObject::new(object).unwrap()
    }

    fn deleted(pod: &PodObject, grace: u64) -> PodObject {
        let mut object = pod.json().clone();
        object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        object["metadata"]["deletionGracePeriodSeconds"] = grace.into();
        PodObject::new(object).unwrap()
    }

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    #[test]
    fn a_container_ends_after_its_time_and_starts_again_as_its_policy_says() {
        let began = Instant::now();
        for (policy, code, again) in [
            ("Never", "1", false),
            ("OnFailure", "0", false),
            ("OnFailure", "1", true),
            ("Always", "0", true),
        ] {
            let (pod, mut history) =
                (pod(policy, &[("run-seconds", "5"), ("exit-code", code)]), History::default());
            let mut runs = Runs::start(&pod, &mut history, began);
            assert_eq!(history.exits()["init"].code, 0);
            assert_eq!(runs.advance(&pod, &mut history, began + seconds(4)), Some(began + seconds(5)));
            assert_eq!(runs.running()["app"].id, "simulated-u-app-0");
            let next = runs.advance(&pod, &mut history, began + seconds(5));
            assert_eq!(history.exits()["app"].code.to_string(), code);
            assert_eq!(
                (next, runs.running().len()),
                (again.then_some(began + seconds(15)), 0),
                "{policy} {code}"
            );
            if again {
                // Twice as long after the second end.
                assert_eq!(runs.advance(&pod, &mut history, began + seconds(15)), Some(began + seconds(20)));
                assert_eq!(runs.running()["app"].id, "simulated-u-app-1");
                assert_eq!(runs.advance(&pod, &mut history, began + seconds(20)), Some(began + seconds(40)));
            }
        }
    }

    #[test]
    fn a_container_that_does_not_end_in_time_is_killed() {
        let began = Instant::now();
        for (stop, grace, after, code) in [("0", 30, 0, 0), ("3", 30, 3, 0), ("60", 30, 30, 137)] {
            let (pod, mut history) = (pod("Always", &[("stop-seconds", stop)]), History::default());
            let mut runs = Runs::start(&pod, &mut history, began);
            assert_eq!(runs.advance(&pod, &mut history, began), None);
            let pod = deleted(&pod, grace);
            if after > 0 {
                assert_eq!(runs.advance(&pod, &mut history, began), Some(began + seconds(after)));
                assert_eq!(runs.running().len(), 1);
            }
            assert_eq!(runs.advance(&pod, &mut history, began + seconds(after)), None);
            assert_eq!((runs.running().len(), history.exits()["app"].code), (0, code));
        }
    }

    #[test]
    fn containers_go_on_after_a_restart_of_the_fleet() {
        let (pod, mut history) = (pod("OnFailure", &[]), History::default());
        let mut object = pod.json().clone();
        object["status"]["containerStatuses"] = json!([
            {"name": "app", "restartCount": 2, "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}},
        ]);
        let runs = Runs::start(&PodObject::new(object.clone()).unwrap(), &mut history, Instant::now());
        assert_eq!(runs.running()["app"].id, "simulated-u-app-2");
        for (code, running) in [(0, None), (1, Some("simulated-u-app-3"))] {
            object["status"]["containerStatuses"][0]["state"] = json!({"terminated": {"exitCode": code}});
            let runs = Runs::start(&PodObject::new(object.clone()).unwrap(), &mut history, Instant::now());
            assert_eq!(runs.running().get("app").map(|run| run.id.as_str()), running);
        }
    }
}
