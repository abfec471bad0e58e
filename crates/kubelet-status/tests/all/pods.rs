//! Statuses of pods as a kubelet writes them.

use kubelet_status::{
    Containers, DeviceHealth, Draft, Exit, Given, GivenDevice, Life, PodObject, Refusal, Repeated,
    RunningContainer, Simulated, Stage, Whole,
};
use serde_json::{Value, json};

const BEFORE: &str = "2026-01-01T00:00:00Z";
const NOW: &str = "2026-01-01T00:00:09Z";

/// A pod with these containers, of which those with `:init` or `:sidecar` are init containers.
fn pod(containers: &str, restart_policy: &str) -> PodObject {
    let (mut apps, mut inits) = (Vec::new(), Vec::new());
    for container in containers.split(' ') {
        match container.split_once(':') {
            None => apps.push(json!({ "name": container, "image": "none" })),
            Some((name, "sidecar")) => {
                inits.push(json!({ "name": name, "image": "none", "restartPolicy": "Always" }));
            }
            Some((name, _)) => inits.push(json!({ "name": name, "image": "none" })),
        }
    }
    PodObject::new(json!({
        "metadata": { "uid": "9f1c", "namespace": "default", "name": "a", "generation": 1 },
        "spec": { "containers": apps, "initContainers": inits, "restartPolicy": restart_policy },
        "status": {
            "phase": "Pending",
            "qosClass": "Guaranteed",
            "conditions": [{ "type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": BEFORE }],
        },
    }))
    .unwrap()
}

/// What is known of containers: `app=1` runs under id 1, `app=1x3` ended with exit code 3.
fn known(text: &str) -> Containers {
    let mut known = Containers::default();
    for (name, what) in text.split_whitespace().filter_map(|one| one.split_once('=')) {
        match what.split_once('x') {
            None => {
                known.running.insert(name.to_owned(), RunningContainer { id: what.to_owned() });
            }
            Some((id, code)) => {
                let exit = Exit { id: id.to_owned(), code: code.parse().unwrap() };
                known.exits.insert(name.to_owned(), exit);
            }
        }
    }
    known
}

/// Of a draft: its phase, the conditions that are false with their reasons, and the states of its containers.
fn shown(draft: &Draft, pod: &PodObject) -> String {
    let status = draft.patch(pod).map(|patch| patch["status"].clone()).unwrap_or_default();
    let list = |name: &str| status[name].as_array().cloned().unwrap_or_default();
    let unmet = list("conditions").into_iter().filter(|condition| condition["status"] == "False");
    let unmet: Vec<String> = unmet
        .map(|condition| {
            let reason = condition["reason"].as_str().unwrap_or("-");
            format!("{}:{reason}", condition["type"].as_str().unwrap())
        })
        .collect();
    let containers = list("initContainerStatuses").into_iter().chain(list("containerStatuses"));
    let containers: Vec<String> = containers
        .map(|container| {
            let (state, inner) = container["state"].as_object().unwrap().iter().next().unwrap();
            let reason = inner["reason"].as_str().unwrap_or("-");
            let ready = if container["ready"] == true { "!" } else { "" };
            format!("{}={state}:{reason}{ready}", container["name"].as_str().unwrap())
        })
        .collect();
    format!("{} | {} | {}", draft.phase(), unmet.join(" "), containers.join(" "))
}

#[test]
fn admitted_pods_have_the_phases_and_conditions_of_a_kubelet() {
    const UNREADY: &str = "Ready:ContainersNotReady ContainersReady:ContainersNotReady";
    for (containers, policy, report, expected) in [
        (
            "app",
            "Always",
            "",
            format!("Pending | PodReadyToStartContainers:- {UNREADY} | app=waiting:ContainerCreating"),
        ),
        ("app", "Always", "app=1", "Running |  | app=running:-!".to_owned()),
        ("app b", "Always", "app=1", format!("Pending | {UNREADY} | app=running:-! b=waiting:ContainerCreating")),
        ("app", "Always", "app=1x0", format!("Running | {UNREADY} | app=terminated:Completed")),
        (
            "app",
            "Never",
            "app=1x0",
            "Succeeded | PodReadyToStartContainers:- Ready:PodCompleted ContainersReady:PodCompleted | \
             app=terminated:Completed"
                .to_owned(),
        ),
        (
            "app",
            "Never",
            "app=1x3",
            "Failed | PodReadyToStartContainers:- Ready:PodFailed ContainersReady:PodFailed | app=terminated:Error"
                .to_owned(),
        ),
        ("app", "OnFailure", "app=1x3", format!("Running | {UNREADY} | app=terminated:Error")),
        ("app b", "Never", "app=1x0 b=2", format!("Running | {UNREADY} | app=terminated:Completed b=running:-!")),
        (
            "i:init app",
            "Always",
            "",
            format!(
                "Pending | PodReadyToStartContainers:- Initialized:ContainersNotInitialized {UNREADY} | \
                 i=waiting:PodInitializing app=waiting:PodInitializing"
            ),
        ),
        (
            "i:init app",
            "Always",
            "i=1",
            format!(
                "Pending | Initialized:ContainersNotInitialized {UNREADY} | i=running:- app=waiting:PodInitializing"
            ),
        ),
        (
            "i:init app",
            "Always",
            "i=1x0",
            format!("Pending | {UNREADY} | i=terminated:Completed! app=waiting:PodInitializing"),
        ),
        ("i:init app", "Always", "i=1x0 app=2", "Running |  | i=terminated:Completed! app=running:-!".to_owned()),
        (
            "i:init app",
            "Never",
            "i=1x1",
            "Failed | PodReadyToStartContainers:- Initialized:ContainersNotInitialized Ready:PodFailed \
             ContainersReady:PodFailed | i=terminated:Error app=waiting:PodInitializing"
                .to_owned(),
        ),
        ("s:sidecar app", "Always", "s=1 app=2", "Running |  | s=running:-! app=running:-!".to_owned()),
        (
            "s:sidecar app",
            "Always",
            "s=1",
            format!("Pending | {UNREADY} | s=running:-! app=waiting:PodInitializing"),
        ),
    ] {
        let pod = pod(containers, policy);
        let draft = Draft::of(&pod).next(&pod, &Life::Admitted(known(report)), &["10.0.0.1".to_owned()], NOW);
        assert_eq!(shown(&draft, &pod), expected, "{containers} {policy} {report}");
    }
}

#[test]
fn a_refused_pod_has_no_conditions_of_a_kubelet_and_those_of_others() {
    let mut object = pod("app", "Always").json().clone();
    let others = json!({ "type": "example.com/gate", "status": "False" });
    object["status"]["conditions"].as_array_mut().unwrap().push(others);
    let pod = PodObject::new(object).unwrap();
    let refusal = Refusal { reason: "OutOfcpu".to_owned(), message: "Node didn't have enough".to_owned() };
    let draft = Draft::of(&pod).next(&pod, &Life::Refused(refusal), &[], NOW);
    assert_eq!(
        draft.patch(&pod).unwrap(),
        json!({
            "metadata": { "uid": "9f1c" },
            "status": {
                "phase": "Failed",
                "reason": "OutOfcpu",
                "message": "Pod was rejected: Node didn't have enough",
                "startTime": NOW,
                "observedGeneration": 1,
                "conditions": [{ "type": "PodScheduled", "$patch": "delete" }],
            },
        })
    );
}

/// The object with the status that the draft makes of it.
fn patched(pod: &PodObject, draft: &Draft) -> PodObject {
    let mut object = pod.json().clone();
    let Some(patch) = draft.patch(pod) else { return pod.clone() };
    for (field, value) in patch["status"].as_object().unwrap() {
        if field != "conditions" {
            object["status"][field] = value.clone();
            continue;
        }
        let conditions = object["status"]["conditions"].as_array_mut().unwrap();
        for changed in value.as_array().unwrap() {
            conditions.retain(|condition| condition["type"] != changed["type"]);
            conditions.push(changed.clone());
        }
    }
    PodObject::new(object).unwrap()
}

#[test]
fn what_has_been_told_is_not_told_again_and_times_stay() {
    let start = pod("i:init app", "Always");
    let addresses = ["10.0.0.1".to_owned()];
    let life = Life::Admitted(known("i=1x0 app=2"));
    let first = Draft::of(&start).next(&start, &life, &addresses, BEFORE);
    let there = patched(&start, &first);
    let later = first.next(&there, &life, &addresses, NOW);
    assert_eq!(later.patch(&there), None);
    // So does a daemon that has started since.
    assert_eq!(Draft::of(&there).next(&there, &life, &addresses, NOW).patch(&there), None);
    // The container starts again under another id.
    let again = later.next(&there, &Life::Admitted(known("i=1x0 app=2x1")), &addresses, NOW);
    let there = patched(&there, &again);
    let again = again.next(&there, &Life::Admitted(known("i=1x0 app=3")), &addresses, NOW);
    let status = &again.patch(&there).unwrap()["status"]["containerStatuses"][0];
    assert_eq!((&status["restartCount"], &status["containerID"]), (&json!(1), &json!("topolet://3")));
    assert_eq!(status["lastState"]["terminated"]["exitCode"], 1);
    assert_eq!(status["lastState"]["terminated"]["startedAt"], BEFORE);
}

#[test]
fn containers_that_nobody_has_seen_end_are_lost() {
    let start = pod("app", "Never");
    let first = Draft::of(&start).next(&start, &Life::Admitted(known("app=1")), &[], BEFORE);
    let there = patched(&start, &first);
    let lost = Draft::of(&there).next(&there, &Life::Over(Containers::default()), &[], NOW);
    assert_eq!(lost.phase(), "Failed");
    // As `convertToAPIContainerStatuses` and then `TerminatePod` of the kubelet have it.
    let unknown = |message: &str| {
        json!({ "terminated": { "exitCode": 137, "reason": "ContainerStatusUnknown", "message": message,
            "startedAt": null, "finishedAt": null } })
    };
    let status =
        |draft: &Draft, of: &PodObject| draft.patch(of).unwrap()["status"]["containerStatuses"][0].clone();
    let deleted =
        "The container could not be located when the pod was deleted.  The container used to be Running";
    let over = "The container could not be located when the pod was terminated";
    let app = status(&lost, &there);
    assert_eq!(app["lastState"], unknown(deleted));
    assert_eq!((&app["state"]["terminated"]["message"], &app["restartCount"]), (&json!(over), &json!(1)));

    // While the pod goes on the container is waited for.
    let goes_on = Draft::of(&there).next(&there, &Life::Admitted(Containers::default()), &[], NOW);
    let app = status(&goes_on, &there);
    assert_eq!(app["state"]["waiting"]["reason"], "ContainerCreating");
    assert_eq!((&app["lastState"], &app["restartCount"]), (&unknown(deleted), &json!(1)));
}

#[test]
fn containers_that_a_pod_never_came_to_stay_waiting() {
    let start = pod("first:init second:init app", "Never");
    let first = Draft::of(&start).next(&start, &Life::Admitted(known("first=1")), &[], BEFORE);
    let there = patched(&start, &first);
    let over = Draft::of(&there).next(&there, &Life::Over(Containers::default()), &[], NOW);
    let after = patched(&there, &over);
    let state = |list: &str, at: usize| after.json()["status"][list][at]["state"].clone();
    assert_eq!(state("initContainerStatuses", 0)["terminated"]["exitCode"], 137);
    for untried in [state("initContainerStatuses", 1), state("containerStatuses", 0)] {
        assert_eq!(untried, json!({ "waiting": { "reason": "PodInitializing" } }));
    }
    assert_eq!(over.phase(), "Failed");
}

#[test]
fn simulated_containers_run_at_once_and_end_with_their_pod() {
    let start = pod("i:init s:sidecar app", "Always");
    let with = |simulated| Containers { simulated, ..Containers::default() };
    let runs = Draft::of(&start).next(&start, &Life::Admitted(with(Simulated::Running)), &[], BEFORE);
    assert_eq!(shown(&runs, &start), "Running |  | i=terminated:Completed! s=running:-! app=running:-!");
    let there = patched(&start, &runs);
    let ended = runs.next(&there, &Life::Over(with(Simulated::Ended)), &[], NOW);
    assert_eq!(ended.phase(), "Succeeded");
}

#[test]
fn a_preempted_pod_says_so() {
    let pod = pod("app", "Always");
    let draft = Draft::of(&pod).next(&pod, &Life::Preempted, &[], NOW);
    let status = draft.patch(&pod).unwrap()["status"].clone();
    assert_eq!((&status["phase"], &status["reason"]), (&json!("Failed"), &json!("Preempting")));
    assert_eq!(status["message"], "Preempted in order to admit critical pod");
    let conditions: Vec<&Value> = status["conditions"].as_array().unwrap().iter().collect();
    let target = conditions.iter().find(|condition| condition["type"] == "DisruptionTarget").unwrap();
    assert_eq!((&target["status"], &target["reason"]), (&json!("True"), &json!("TerminationByKubelet")));
}

#[test]
fn readiness_gates_keep_a_pod_unready() {
    let mut object = pod("app", "Always").json().clone();
    object["spec"]["readinessGates"] = json!([{ "conditionType": "example.com/lb" }]);
    for (there, expected) in [
        (json!([]), Some("corresponding condition of pod readiness gate \"example.com/lb\" does not exist.")),
        (
            json!([{ "type": "example.com/lb", "status": "False" }]),
            Some("the status of pod readiness gate \"example.com/lb\" is not \"True\", but False"),
        ),
        (json!([{ "type": "example.com/lb", "status": "True" }]), None),
    ] {
        object["status"]["conditions"] = there;
        let pod = PodObject::new(object.clone()).unwrap();
        let draft = Draft::of(&pod).next(&pod, &Life::Admitted(known("app=1")), &[], NOW);
        let conditions = draft.patch(&pod).unwrap()["status"]["conditions"].clone();
        let ready = conditions.as_array().unwrap().iter().find(|one| one["type"] == "Ready").unwrap().clone();
        assert_eq!(ready["message"].as_str(), expected);
    }
}

#[test]
fn stages_follow_the_object() {
    for (metadata, phase, expected) in [
        (json!({}), "Pending", Stage::Active),
        (json!({ "deletionTimestamp": NOW }), "Running", Stage::Deleted),
        (json!({ "deletionTimestamp": NOW }), "Failed", Stage::Deleted),
        (json!({}), "Succeeded", Stage::Ended),
    ] {
        let mut object = json!({ "metadata": { "uid": "1" }, "status": { "phase": phase } });
        for (field, value) in metadata.as_object().unwrap() {
            object["metadata"][field] = value.clone();
        }
        assert_eq!(PodObject::new(object).unwrap().stage(), expected, "{metadata} {phase}");
    }
    let version = |version: &str| {
        PodObject::new(json!({ "metadata": { "uid": "1", "resourceVersion": version } })).unwrap()
    };
    assert!(version("9").is_older_than(&version("10")));
    assert!(!version("10").is_older_than(&version("9")) && !version("a").is_older_than(&version("9")));
    assert_eq!(PodObject::new(json!({ "metadata": {} })), None);
}

#[test]
fn statuses_say_what_was_given_and_drop_what_a_kubelet_reads_from_cgroups() {
    let mut object = pod("app", "Always").json().clone();
    let amounts = json!({ "cpu": "2", "example.com/fn": "1", "memory": "64Mi" });
    object["spec"]["containers"][0]["resources"] = json!({ "limits": amounts, "requests": amounts });
    let texts = |amounts: &Value| -> std::collections::BTreeMap<String, String> {
        amounts
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, text)| (name.clone(), text.as_str().unwrap().into()))
            .collect()
    };
    let device = GivenDevice { id: "fn-0".into(), health: DeviceHealth::Unhealthy };
    let given = Given {
        whole: Some(Whole { requests: texts(&amounts), limits: texts(&amounts) }),
        devices: [("app".into(), [("example.com/fn".into(), vec![device])].into())].into(),
        ..Given::default()
    };
    let waiting = Life::Admitted(Containers { given: given.clone(), ..Containers::default() });
    let running = Life::Admitted(Containers { given: given.clone(), ..known("app=1") });
    let status = |object: &Value, life: &Life| -> Value {
        let pod = PodObject::new(object.clone()).unwrap();
        let draft = Draft::of(&pod).next(&pod, life, &[], NOW);
        draft.patch(&pod).map(|patch| patch["status"].clone()).unwrap_or_default()
    };
    let both = json!({ "limits": amounts, "requests": amounts });

    // A container that has not run repeats no amounts, but has its devices.
    let first = status(&object, &waiting);
    assert_eq!((&first["resources"], &first["allocatedResources"]), (&both, &amounts));
    let container = &first["containerStatuses"][0];
    assert_eq!((&container["resources"], &container["allocatedResources"]), (&Value::Null, &Value::Null));
    let devices =
        json!([{ "name": "example.com/fn", "resources": [{ "resourceID": "fn-0", "health": "Unhealthy" }] }]);
    assert_eq!(container["allocatedResourcesStatus"], devices);
    let second = status(&object, &running);
    let container = &second["containerStatuses"][0];
    assert_eq!((&container["resources"], &container["allocatedResources"]), (&both, &amounts));

    // Once the API server says that it runs, only CPUs and memory are those of its cgroup.
    object["status"] = second;
    let third = status(&object, &running);
    let gone = json!({ "cpu": "2", "example.com/fn": null, "memory": "64Mi" });
    assert_eq!(third["resources"], json!({ "limits": gone, "requests": gone }));
    assert_eq!(third.get("allocatedResources"), None, "{third}");

    // Amounts that are not known any more stay as they were.
    let over = status(&object, &Life::Over(Containers::default()));
    assert_eq!((over.get("resources"), over.get("allocatedResources")), (None, None), "{over}");
    // Gates that are off.
    let silent = Given { of_containers: Repeated::No, ..Given::default() };
    let plain = status(
        &pod("app", "Always").json().clone(),
        &Life::Admitted(Containers { given: silent, ..known("app=1") }),
    );
    assert_eq!(plain.get("resources"), None);
    assert_eq!(plain["containerStatuses"][0].get("resources"), None);
}
