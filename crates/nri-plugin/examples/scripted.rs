//! A plugin that does what rules say, and prints a line of JSON for each request. `cargo xtask nri` runs it on
//! recorded cases.
//!
//! `scripted -socket PATH -name NAME -idx NN [-events LIST] [-rules JSON] [-policy LIST] [-own-deadline PERCENT] [-raw]
//! [-again]`. Rules are `{"CreateContainer": {"c1": ACTION, "*": ACTION}}`, by the name of the container, that of the pod,
//! or `*`. An action has `delay_ms`, `error`, `adjust`, `update`, `unsolicited`, `reject`, `exit`, and `times`, for how many
//! requests delay, error and exit hold; messages are in protobuf's JSON. With `-raw` the pages of Synchronize are printed in
//! place of what is in them. Without `-own-deadline` it has no deadline.
#![expect(clippy::print_stdout, reason = "its output")]

mod scripted {
    pub(crate) mod rules;
}

use std::collections::BTreeMap;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use nri_plugin::messages::{Container, LinuxResources, PodSandbox, ValidateContainerAdjustmentRequest};
use nri_plugin::{
    Backoff, ContainerEvent, Creation, Ended, Event, Events, FailurePolicy, Handler, LateConnection,
    LateRequest, NodeState, OwnDeadline, Plugin, PodEvent, Reconnect, Refusal, RunError, RuntimeInfo,
    UpdateError, Updates, Verdict,
};
use serde_json::{Value, json};

use scripted::rules::{Action, Rules};

struct Scripted {
    rules: Rules,
    events: Events,
    is_raw: bool,
    unsolicited: Sender<Updates>,
}

fn say(line: &Value) {
    println!("{line}");
}

/// CPUs and NUMA nodes of a container as a plugin sees them: `2-3/1`.
fn cpus(container: &Container) -> String {
    format!("{}/{}", container.cpus(), container.mems()).trim_end_matches('/').to_owned()
}

impl Scripted {
    fn pod(&mut self, request: &str, event: PodEvent<'_>) -> Result<(), Refusal> {
        say(&json!({ "got": request, "pod": event.pod.id }));
        self.act(request, &[&event.pod.name]).map(|_| ())
    }

    fn container(
        &mut self,
        request: &str,
        pod: &PodSandbox,
        container: &Container,
    ) -> Result<Action, Refusal> {
        let mut line = json!({ "got": request, "pod": pod.id, "container": container.id });
        let cpus = cpus(container);
        if !cpus.is_empty() {
            line["cpus"] = cpus.into();
        }
        say(&line);
        self.act(request, &[&container.name, &pod.name])
    }

    fn simple(&mut self, request: &str, event: ContainerEvent<'_>) -> Result<(), Refusal> {
        self.container(request, event.pod, event.container).map(|_| ())
    }

    fn act(&mut self, request: &str, names: &[&str]) -> Result<Action, Refusal> {
        let (action, counts) = self.rules.next(request, names);
        if let Some(updates) = action.unsolicited()? {
            // The other thread may have ended.
            let _ = self.unsolicited.send(updates);
        }
        if counts {
            std::thread::sleep(Duration::from_millis(action.number("delay_ms")));
            if action.is("exit") {
                std::process::exit(3);
            }
            if let Some(error) = action.text("error") {
                return Err(Refusal::new(error));
            }
        }
        Ok(action)
    }
}

impl Handler for Scripted {
    fn events(&self) -> Events {
        self.events
    }

    fn configured(&mut self, runtime: &RuntimeInfo) -> Result<(), Refusal> {
        let milliseconds = |time: Option<Duration>| time.map_or(0, |time| time.as_millis());
        let mut line = json!({
            "got": "Configure",
            "runtime": runtime.name,
            "version": runtime.version,
            "registration_timeout": milliseconds(runtime.registration_timeout),
            "request_timeout": milliseconds(runtime.request_timeout),
        });
        if !runtime.config.is_empty() {
            line["config"] = runtime.config.clone().into();
        }
        say(&line);
        self.act("Configure", &[]).map(|_| ())
    }

    fn synchronize(&mut self, node: NodeState) -> Result<Updates, Refusal> {
        if self.is_raw {
            for _ in 1..node.pages {
                say(&json!({ "got": "Synchronize", "more": true }));
            }
            say(&json!({ "got": "Synchronize", "pages": node.pages }));
        } else {
            let (pods, containers) = (node.pods.len(), node.containers.len());
            say(&json!({ "got": "Synchronize", "pods": pods, "containers": containers }));
        }
        self.act("Synchronize", &[])?.updates()
    }

    fn run_pod_sandbox(&mut self, event: PodEvent<'_>) -> Result<(), Refusal> {
        self.pod("RunPodSandbox", event)
    }

    fn update_pod_sandbox(
        &mut self,
        event: PodEvent<'_>,
        _: Option<&LinuxResources>,
        _: Option<&LinuxResources>,
    ) -> Result<(), Refusal> {
        self.pod("UpdatePodSandbox", event)
    }

    fn post_update_pod_sandbox(&mut self, event: PodEvent<'_>) -> Result<(), Refusal> {
        self.pod("PostUpdatePodSandbox", event)
    }

    fn stop_pod_sandbox(&mut self, event: PodEvent<'_>) -> Result<(), Refusal> {
        self.pod("StopPodSandbox", event)
    }

    fn remove_pod_sandbox(&mut self, event: PodEvent<'_>) -> Result<(), Refusal> {
        self.pod("RemovePodSandbox", event)
    }

    fn create_container(&mut self, event: ContainerEvent<'_>, answer: &mut Creation) -> Result<(), Refusal> {
        let action = self.container("CreateContainer", event.pod, event.container)?;
        action.adjust(&mut answer.adjust)?;
        for (id, update) in action.updates()?.iter() {
            answer.update(id.clone(), update.clone())?;
        }
        Ok(())
    }

    fn post_create_container(&mut self, event: ContainerEvent<'_>) -> Result<(), Refusal> {
        self.simple("PostCreateContainer", event)
    }

    fn start_container(&mut self, event: ContainerEvent<'_>) -> Result<(), Refusal> {
        self.simple("StartContainer", event)
    }

    fn post_start_container(&mut self, event: ContainerEvent<'_>) -> Result<(), Refusal> {
        self.simple("PostStartContainer", event)
    }

    fn update_container(
        &mut self,
        event: ContainerEvent<'_>,
        _: Option<&LinuxResources>,
        updates: &mut Updates,
    ) -> Result<(), Refusal> {
        *updates = self.container("UpdateContainer", event.pod, event.container)?.updates()?;
        Ok(())
    }

    fn post_update_container(&mut self, event: ContainerEvent<'_>) -> Result<(), Refusal> {
        self.simple("PostUpdateContainer", event)
    }

    fn stop_container(&mut self, event: ContainerEvent<'_>, updates: &mut Updates) -> Result<(), Refusal> {
        *updates = self.container("StopContainer", event.pod, event.container)?.updates()?;
        Ok(())
    }

    fn remove_container(&mut self, event: ContainerEvent<'_>) -> Result<(), Refusal> {
        self.simple("RemoveContainer", event)
    }

    fn validate(&mut self, request: &ValidateContainerAdjustmentRequest) -> Result<Verdict, Refusal> {
        let container = request.container.clone().unwrap_or_default();
        let plugins = request.plugins.iter().map(|plugin| format!("{}-{}", plugin.index, plugin.name));
        let mut line = json!({
            "got": "ValidateContainerAdjustment",
            "container": container.id,
            "plugins": plugins.collect::<Vec<_>>(),
        });
        if let Some(owner) = request.owner_of_cpus(&container.id) {
            line["cpus_owner"] = owner.into();
        }
        say(&line);
        let action = self.act("ValidateContainerAdjustment", &[&container.name])?;
        Ok(action.text("reject").map_or(Verdict::Accept, |reason| Verdict::Reject(reason.to_owned())))
    }
}

/// The arguments by name; those without a value have an empty one.
fn arguments() -> Result<BTreeMap<String, String>, String> {
    let mut all = BTreeMap::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value = match argument.as_str() {
            "-raw" | "-again" => String::new(),
            "-socket" | "-name" | "-idx" | "-events" | "-rules" | "-policy" | "-own-deadline" => {
                arguments.next().ok_or_else(|| format!("{argument} has no value"))?
            }
            _ => return Err(format!("{argument} is not known")),
        };
        all.insert(argument, value);
    }
    Ok(all)
}

/// The answer to an update as a line, with an error in the words of a client in Go.
fn answered(result: Result<usize, UpdateError>) -> Value {
    let error = match result {
        Ok(failed) => return json!({ "answer": "UpdateContainers", "failed": failed }),
        Err(UpdateError::Refused(status)) => format!("rpc error: code = Unknown desc = {}", status.message),
        Err(error) => error.to_string(),
    };
    json!({ "answer": "UpdateContainers", "failed": 0, "error": error })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = arguments()?;
    let value = |name: &str| arguments.get(name).map_or("", String::as_str);
    let rules = Rules::of(if value("-rules").is_empty() { "{}" } else { value("-rules") })?;
    let events = if value("-events").is_empty() {
        let with_rules = rules.requests().filter_map(Event::named);
        with_rules.fold(Event::CreateContainer.into(), |events: Events, event| events | event)
    } else {
        let named =
            value("-events").split(',').map(|name| Event::named(name).ok_or(format!("no event {name}")));
        let named = named.collect::<Result<Vec<Event>, String>>()?;
        let first = *named.first().ok_or("no events")?;
        named.into_iter().fold(first.into(), |events: Events, event| events | event)
    };
    let policy = FailurePolicy {
        request: if value("-policy").contains("fail_request") {
            LateRequest::Fail
        } else {
            LateRequest::GoOn
        },
        connection: if value("-policy").contains("keep_connected") {
            LateConnection::Keep
        } else {
            LateConnection::Drop
        },
    };
    let own_deadline = match value("-own-deadline") {
        "" => OwnDeadline::None,
        percent => OwnDeadline::Percent(percent.parse()?),
    };
    let soon = Backoff { first: Duration::from_millis(100), most: Duration::from_millis(100) };
    let is_again = arguments.contains_key("-again");
    let plugin = Plugin::new(value("-name"), value("-idx").parse()?)?
        .socket(value("-socket"))
        .failure_policy(policy)
        .own_deadline(own_deadline)
        .reconnect(if is_again { Reconnect::After(soon) } else { Reconnect::Never });
    let (unsolicited, asked) = channel();
    let handler = Scripted { rules, events, is_raw: arguments.contains_key("-raw"), unsolicited };
    let result = plugin.run_with(handler, |updater| {
        for updates in asked {
            // Once the event is over.
            std::thread::sleep(Duration::from_millis(100));
            say(&answered(updater.send(updates).map(|failed| failed.len())));
        }
    });
    let ended = match result {
        Ok(()) => "stopped".to_owned(),
        Err(RunError::Ended(Ended::Closed | Ended::Cut)) => "connection closed".to_owned(),
        Err(RunError::Ended(reason)) => reason.to_string(),
        Err(error) => error.to_string(),
    };
    say(&json!({ "ended": ended }));
    Ok(())
}
