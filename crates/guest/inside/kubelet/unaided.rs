//! topolet beside the kubelet, given the pod and nothing else: it finds the kubelet by its process, and asks its sockets.
//!
//! The configuration lies elsewhere, in drop-ins or in flags; the plugin's devices lie on one NUMA node, on both or on none,
//! and are free, half held or all held; memory is plugged in and huge pages are made while the kubelet runs. Each pod with
//! devices is asked about a second time without the kubelet's sockets: what is then not decided is no difference, a wrong
//! verdict is one.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::compare::{self, Difference};
use super::configuration::{Configuration, Place};
use super::facts::{self, KubeletPod, ROOT};
use super::processes::{COUNT, DeviceNodes, admit, until};
use super::wish::{Class, DEVICE, PodWish};
use super::{Session, print_line};
use crate::machine::{json_of_line, put, text};

/// A node with a configuration and a plugin, and what happens on it.
struct Stage {
    policy: &'static str,
    scope: &'static str,
    place: Place,
    devices: DeviceNodes,
    /// How many devices a pod holds from the start to the end.
    held: usize,
    change: Change,
}

/// What changes under the running kubelet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Change {
    Nothing,
    /// NUMA node 0 gets more memory.
    Memory,
    /// NUMA node 0 gets more huge pages.
    HugePages,
}

const STAGES: &[Stage] = &[
    Stage {
        policy: "single-numa-node",
        scope: "container",
        place: Place::Elsewhere,
        devices: DeviceNodes::One,
        held: 0,
        change: Change::Nothing,
    },
    Stage {
        policy: "restricted",
        scope: "pod",
        place: Place::DropIns,
        devices: DeviceNodes::None,
        held: COUNT / 2,
        change: Change::Nothing,
    },
    Stage {
        policy: "best-effort",
        scope: "container",
        place: Place::Flags,
        devices: DeviceNodes::Both,
        held: COUNT / 2,
        change: Change::Nothing,
    },
    Stage {
        policy: "restricted",
        scope: "container",
        place: Place::Elsewhere,
        devices: DeviceNodes::One,
        held: COUNT,
        change: Change::Nothing,
    },
    Stage {
        policy: "single-numa-node",
        scope: "container",
        place: Place::DropIns,
        devices: DeviceNodes::Both,
        held: 0,
        change: Change::Memory,
    },
    Stage {
        policy: "restricted",
        scope: "pod",
        place: Place::Flags,
        devices: DeviceNodes::None,
        held: 0,
        change: Change::HugePages,
    },
];

/// The sockets at which topolet asks a kubelet, below its root folder.
const SOCKETS: &[&str] = &["pod-resources/kubelet.sock", "pods-api/pods-api.sock"];
const MEMORY: &str = "/sys/devices/system/node/node0/meminfo";
const HUGE_PAGES: &str = "/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages";

/// So many pods, spread over the stages.
pub(super) fn all(session: &mut Session<'_>, count: usize) -> anyhow::Result<()> {
    for (at, stage) in STAGES.iter().enumerate() {
        let of = |stage: usize| count * stage / STAGES.len();
        stage.run(session, of(at)..of(at + 1)).with_context(|| format!("stage {at}"))?;
    }
    session.row("end", "", "", &json!({}), &[]);
    Ok(())
}

impl Stage {
    fn run(&self, session: &mut Session<'_>, pods: std::ops::Range<usize>) -> anyhow::Result<()> {
        let configuration = Configuration::new(self.policy, self.scope).at(self.place);
        session.processes.replace(session.guest, configuration, self.devices)?;
        let holder = (self.held > 0).then(|| {
            let amounts = format!("cpu=1 memory=64Mi {DEVICE}={}", self.held);
            PodWish::of(&format!("holder{}", pods.start), Class::Guaranteed, &amounts)
        });
        session.running.extend(holder);
        for wish in session.running.clone() {
            add(session, &wish)?;
        }
        self.change(session)?;
        let middle = pods.start + pods.len() / 2;
        for at in pods {
            if at == middle {
                restart(session)?;
            }
            let kept = usize::from(self.held > 0);
            while session.running.len() > 4 + kept
                || (session.running.len() > 1 + kept && session.rng.u8(..) < 110)
            {
                let leaving = session.rng.usize(kept..session.running.len());
                session.delete_at(leaving)?;
            }
            let wish = self.draw(session, at);
            if add(session, &wish)? {
                session.running.push(wish);
            }
        }
        session.empty()
    }

    /// Any pod, which mostly asks for what the stage is about.
    fn draw(&self, session: &mut Session<'_>, at: usize) -> PodWish {
        let rng = &mut session.rng;
        let wish = PodWish::random(at, rng);
        if rng.u8(..4) == 0 {
            return wish;
        }
        let (resource, amount) = match self.change {
            Change::Nothing => (DEVICE, rng.usize(1..=4).to_string()),
            Change::Memory => ("memory", format!("{}Mi", 32 * rng.u64(20..=38))),
            Change::HugePages => ("hugepages-2Mi", format!("{}Mi", 2 * rng.u64(1..=14))),
        };
        wish.with_amount(None, resource, &amount)
    }

    fn change(&self, session: &Session<'_>) -> anyhow::Result<()> {
        let what = match self.change {
            Change::Nothing => return Ok(()),
            Change::Memory => {
                put("/sys/devices/system/memory/auto_online_blocks", "online")?;
                let before = text(MEMORY)?;
                print_line("ask memory");
                until("more memory", || (total(&text(MEMORY).ok()?) > total(&before)).then_some(()))?;
                "memory plugged in"
            }
            Change::HugePages => {
                put(HUGE_PAGES, "20")?;
                "20 huge pages made"
            }
        };
        let outcome = outcome(&status()?);
        let differences = Difference::of("the next restart", &outcome, &"doesNotStart".to_owned());
        let what = json!({"kind": what, "said": format!("the next restart: {outcome}")});
        session.row("change", "", "", &what, &differences.into_iter().collect::<Vec<_>>());
        Ok(())
    }
}

/// The line of a node's total.
fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find(|line| line.contains("MemTotal"))?;
    line.split_whitespace().rev().nth(1)?.parse().ok()
}

/// Asks, gives the kubelet the pod, and compares; whether it runs.
fn add(session: &mut Session<'_>, wish: &PodWish) -> anyhow::Result<bool> {
    let (answer, asked) = decided(wish)?;
    let mut predicted = answer["decisions"][0].clone();
    let blind = if wish.asks_for(DEVICE) { Some(without_sockets(|| admit(wish, &[]))?) } else { None };
    if session.plan.wrong_answers {
        compare::falsify(&mut predicted);
    }
    session.processes.put(wish)?;
    let actual = session.processes.wait_for(&wish.name)?;
    let mut differences = compare::verdict(&predicted, &actual);
    let configuration = answer["node"]["configuration"].as_str().unwrap_or_default();
    let is_found = configuration.starts_with("/opt/kubelet/kubelet.yaml")
        && configuration.contains(" of the kubelet with PID ");
    differences.extend(Difference::of("the configuration is found", &is_found, &true));
    if let Some(blind) = &blind {
        differences.extend(never_wrong(&blind["decisions"][0], &actual));
    }
    if actual.is_running() {
        differences.extend(compare::placement(&predicted, wish, session.processes.devices())?);
    } else {
        session.processes.take(&wish.name)?;
    }
    differences.extend(compare::node(&session.processes)?);
    differences.extend(Difference::of(
        "status",
        &holders(&status()?).to_string(),
        &compare::entries(&facts::state()?).to_string(),
    ));
    let blind = blind.map(|blind| format!(", without sockets {}", verdict(&blind["decisions"][0])));
    let again = if asked > 1 { format!(", asked {asked} times") } else { String::new() };
    let predicted = compare::summary(&predicted) + &again + &blind.unwrap_or_default();
    let what = json!({"said": predicted, "did": actual.summary()});
    session.row("add", &wish.name, &wish.summary(), &what, &differences);
    Ok(actual.is_running())
}

/// Asks, and asks again while nothing is decided: on an emulated machine a kubelet may need longer for an answer than the two
/// seconds that topolet gives it. How often it was asked is a part of the figures.
fn decided(wish: &PodWish) -> anyhow::Result<(Value, usize)> {
    const TRIES: usize = 5;
    let mut asked = 1;
    loop {
        let answer = admit(wish, &[])?;
        if asked == TRIES || verdict(&answer["decisions"][0]) != "undecided" {
            return Ok((answer, asked));
        }
        asked += 1;
    }
}

fn verdict(predicted: &Value) -> &str {
    predicted["verdict"].as_str().unwrap_or("nothing")
}

/// Without the kubelet's sockets an answer may be `undecided`, but not wrong.
fn never_wrong(predicted: &Value, actual: &KubeletPod) -> Option<Difference> {
    let predicted = match verdict(predicted) {
        "admitted" => "Running".to_owned(),
        "refused" if actual.phase == "Failed" => return None,
        "refused" => format!("Failed: {}", predicted["refusal"]["message"]),
        "undecided" => return None,
        other => other.to_owned(),
    };
    Difference::of("phase, without sockets", &predicted, &actual.phase)
}

/// Does something while the kubelet's sockets are not there.
fn without_sockets<T>(act: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    let aside = |name: &str| (Path::new(ROOT).join(name), Path::new(ROOT).join(format!("{name}.aside")));
    let there = SOCKETS.iter().map(|name| aside(name)).filter(|(socket, _)| socket.exists());
    let there: Vec<_> = there.collect();
    for (socket, aside) in &there {
        fs::rename(socket, aside)?;
    }
    let done = act();
    for (socket, aside) in &there {
        fs::rename(aside, socket)?;
    }
    done
}

/// What `topolet status` prints.
fn status() -> anyhow::Result<Value> {
    let output = std::process::Command::new("/bin/topolet").args(["status", "-o", "json"]).output()?;
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    json_of_line(&String::from_utf8_lossy(&output.stdout)).context(error)
}

/// What it says of the next restart.
fn outcome(status: &Value) -> String {
    status["restart"]["outcome"].as_str().unwrap_or("nothing").to_owned()
}

/// Exclusive CPUs by pod and container, of what `status` lists.
fn holders(status: &Value) -> Value {
    let pods = status["pods"].as_array().into_iter().flatten();
    let all = pods.flat_map(|pod| {
        let uid = pod["uid"].as_str().unwrap_or_default().to_owned();
        let own = pod["containers"].as_array().into_iter().flatten();
        own.filter(|own| own["exclusiveCpus"].is_string()).map(move |own| {
            let name = own["name"].as_str().unwrap_or_default();
            (format!("{uid}/{name}"), own["exclusiveCpus"].clone())
        })
    });
    json!(all.collect::<BTreeMap<_, _>>())
}

/// The kubelet ends and starts again: what `status` says of it has to happen. One that does not start has to start once the
/// state of the Memory Manager is removed, as the advice is.
fn restart(session: &mut Session<'_>) -> anyhow::Result<()> {
    let predicted = status()?;
    let is_refused = outcome(&predicted) == "doesNotStart";
    if is_refused {
        let why = session.processes.fails_to_restart()?;
        let differs = (!why.contains("memory manager"))
            .then(|| format!("the kubelet ends, but not for its memory: {why}"));
        let differences: Vec<_> = differs.map(Difference::sentence).into_iter().collect();
        let what = json!({"said": "the kubelet does not start", "did": "it ended"});
        session.row("restart", "", "", &what, &differences);
        fs::remove_file(Path::new(ROOT).join("memory_manager_state"))?;
        session.processes.start_again()?;
    } else {
        session.processes.restart()?;
    }
    let mut refused = Vec::new();
    for wish in std::mem::take(&mut session.running) {
        if session.processes.wait_for(&wish.name)?.is_running() {
            session.running.push(wish);
        } else {
            session.processes.take(&wish.name)?;
            refused.push(format!("default/{}-node1", wish.name));
        }
    }
    let expected = predicted["restart"]["refused"].as_array().into_iter().flatten();
    let mut expected: Vec<_> = expected.filter_map(|pod| Some(pod["pod"].as_str()?.to_owned())).collect();
    expected.sort();
    refused.sort();
    let mut differences = compare::node(&session.processes)?;
    // Of the start without the file nothing was asked: no process names the configuration of a kubelet that does not run.
    let is_known = !is_refused && outcome(&predicted) != "notKnown";
    differences.extend(
        Difference::of("refused again", &expected.join(", "), &refused.join(", ")).filter(|_| is_known),
    );
    let actual = format!("{} pods run, {} refused", session.running.len(), refused.len());
    session.row("restart", "", "", &json!({"said": outcome(&predicted), "did": actual}), &differences);
    Ok(())
}
