//! One filling: for each step first our answer, then the kubelet's.

use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::draw::Described;
use super::tally::{Exception, Said, Tally, What};
use super::worker::{self, Program, Reply, Worker};
use crate::admission::{Kubelet, is_end, names_all};
use crate::case::Case;
use crate::compare::{Unstable, accepts};
use kubelet_fates::{Fate, Fates};

/// Below so many seconds an answer is foretold to come within one.
const SOON: f64 = 0.3;
/// A kubelet that is predicted to be slow is so much faster at the most.
const MAGNITUDE: f64 = 10.0;
/// CPU time within which a promise is kept.
const PROMPT: Duration = Duration::from_secs(1);
/// How often a case is asked again where the kubelet may have walked its maps in another order. A walk begins at a random
/// one of eight places, so that the order that we take may be one of eight.
const AGAIN: usize = 48;

/// How often in a configuration the whole time is waited for an answer that is not foretold.
const WAITS: u32 = 3;
/// Later ones are waited for so long: whether no answer comes at once, which takes a few milliseconds.
const AT_ONCE: Duration = Duration::from_millis(250);

/// How long is waited.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// Where no answer is foretold, the first times.
    pub(super) fate: Duration,
    /// Where an answer is.
    pub(super) hang: Duration,
}

/// A case with its places in the run.
pub(super) struct Filling<'a> {
    pub(super) machine: &'a Described,
    pub(super) case: &'a Case,
    pub(super) steps: &'a [Value],
    /// Numbers of the configuration and of the filling.
    pub(super) numbers: (u64, u64),
}

/// Who asks, and whom.
pub(super) struct Player<'a> {
    pub(super) program: &'a Program,
    pub(super) patience: Patience,
    pub(super) worker: Option<Worker>,
    /// How often an answer that was not foretold was waited for with this configuration.
    pub(super) waits: u32,
}

/// Our answer to a step.
struct Foretold {
    value: Value,
    /// Other answers of which the kubelet gives any.
    or_errors: Vec<String>,
    fates: Fates,
    /// Resources of which the kubelet takes devices at random.
    by_chance: Vec<String>,
}

/// What is to be compared next.
enum Next {
    GoOn,
    /// The kubelet is dead, or may hold something else than we think.
    Stop,
}

impl Player<'_> {
    /// Plays a filling and counts.
    pub(super) fn play(&mut self, filling: &Filling<'_>, tally: &mut Tally) -> anyhow::Result<()> {
        tally.fillings += 1;
        let (mut kubelet, start) = start(filling)?;
        let mut asked = vec![worker::begin(&filling.case.input)];
        if let Next::Stop = self.compare(filling, &asked, What::Start, &start, tally)? {
            return Ok(());
        }
        let Some(kubelet) = &mut kubelet else { return Ok(()) };
        for step in filling.steps {
            let what = match step["op"].as_str() {
                Some("add") => What::Pod,
                Some("restart") => What::Restart,
                _ => What::Other,
            };
            let foretold = foretold(kubelet, step)?;
            asked.push(worker::step(step));
            if let Next::Stop = self.compare(filling, &asked, what, &foretold, tally)? {
                return Ok(());
            }
            if is_end(&foretold.value) || foretold.value.get("invalid").is_some() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Asks the last of these lines, before which the others were asked, and compares.
    fn compare(
        &mut self,
        filling: &Filling<'_>,
        asked: &[Value],
        what: What,
        foretold: &Foretold,
        tally: &mut Tally,
    ) -> anyhow::Result<Next> {
        let said = said(what, foretold);
        tally.count(said.clone());
        let patience = match said {
            Said::Fate(TWICE | CRASHES) | Said::Promise(_) | Said::Refusal(_) | Said::NotDecided => {
                self.patience.hang
            }
            Said::Fate(_) if self.waits < WAITS => self.patience.fate,
            Said::Fate(_) => self.patience.fate.min(AT_ONCE),
        };
        let mut reply = self.ask(asked.last().unwrap_or(&Value::Null), patience)?;
        let mut verdict = judged(filling, &said, foretold, &reply);
        // Maps are walked in another order each time.
        let mut tries = 0;
        while verdict.is_err() && matches!(reply, Reply::Answer { .. }) && tries < AGAIN {
            tries += 1;
            self.worker = None;
            reply = self.replay(asked, patience)?;
            verdict = judged(filling, &said, foretold, &reply);
        }
        if let Err(how) = verdict {
            let did = match &reply {
                Reply::Answer { value, took } => json!({ "answer": value, "took": took.as_secs_f64() }),
                Reply::Died => json!("died"),
                Reply::Silent => json!("no answer"),
            };
            tally.exceptions.push(Exception {
                how,
                machine: filling.machine.name.clone(),
                configuration: filling.numbers.0,
                filling: filling.numbers.1,
                step: asked.len() - 1,
                said: json!({ "value": foretold.value, "fates": format!("{:?}", foretold.fates) }),
                did,
                case: as_case(filling, asked),
            });
            self.worker = None;
            return Ok(Next::Stop);
        }
        let is_over = !matches!(reply, Reply::Answer { .. })
            || matches!(said, Said::NotDecided)
            || verdict == Ok(Agreement::ByChance)
            || matches!(&reply, Reply::Answer { value, .. } if value.get("panic").is_some());
        match &reply {
            Reply::Answer { took, .. } if said == Said::Fate(SLOW) => {
                tally.late.push(took.as_secs_f64() / foretold.fates.work.seconds());
            }
            Reply::Answer { .. } => {}
            Reply::Died | Reply::Silent => {
                self.waits += 1;
                self.worker = None;
            }
        }
        Ok(if is_over { Next::Stop } else { Next::GoOn })
    }

    fn ask(&mut self, line: &Value, patience: Duration) -> anyhow::Result<Reply> {
        let worker = match &mut self.worker {
            Some(worker) => worker,
            none => none.insert(Worker::start(self.program)?),
        };
        worker.ask(line, patience)
    }

    /// All lines again in a new process; the answer to the last.
    fn replay(&mut self, asked: &[Value], patience: Duration) -> anyhow::Result<Reply> {
        let mut last = Reply::Died;
        for line in asked {
            last = self.ask(line, patience)?;
            // On another way the kubelet may be dead earlier.
            match &last {
                Reply::Answer { value, .. } if !is_end(value) => {}
                _ => break,
            }
        }
        Ok(last)
    }
}

/// Our kubelet, if it starts, and what is predicted of its start.
fn start<'a>(filling: &Filling<'a>) -> anyhow::Result<(Option<Kubelet<'a>>, Foretold)> {
    let (kubelet, value, or_errors) = Kubelet::begin(filling.case, filling.machine.info.clone())
        .map_err(|what| anyhow::anyhow!("{what}"))
        .with_context(|| format!("failed to play {}", filling.machine.name))?;
    let fates = kubelet.as_ref().map(Kubelet::fates_of_start).unwrap_or_default();
    Ok((kubelet, Foretold { value, or_errors, fates, by_chance: Vec::new() }))
}

fn foretold(kubelet: &mut Kubelet<'_>, step: &Value) -> anyhow::Result<Foretold> {
    let value = kubelet.foretell(step).map_err(|what| anyhow::anyhow!("{what}"))?;
    let mut all = Fates::default();
    for fates in kubelet.take_fates() {
        all.work = all.work + fates.work;
        all.is_cut |= fates.is_cut;
        if all.fate.is_none() || matches!(all.fate, Some(Fate::GivesTwice(_))) {
            all.fate = fates.fate.or(all.fate);
        }
        if matches!(all.fate, Some(Fate::Crashes(_) | Fate::NeverAnswers)) {
            break;
        }
    }
    let by_chance = by_chance(&step["pod"]);
    Ok(Foretold { value, or_errors: kubelet.take_errors(), fates: all, by_chance })
}

const TWICE: &str = "gives CPUs twice";
const NEVER: &str = "never answers";
const SLOW: &str = "answers late";
const CRASHES: &str = "crashes";

fn said(what: What, foretold: &Foretold) -> Said {
    let Foretold { value, fates: Fates { work, fate, is_cut }, .. } = foretold;
    let seconds = work.seconds();
    match fate {
        _ if seconds >= SOON => Said::Fate(SLOW),
        Some(Fate::Crashes(_)) => Said::Fate(CRASHES),
        _ if value.get("panic").is_some() => Said::Fate(CRASHES),
        Some(Fate::NeverAnswers | Fate::NotReached(_)) => Said::Fate(NEVER),
        Some(Fate::GivesTwice(_)) => Said::Fate(TWICE),
        Some(Fate::AnswersLate(_)) => Said::Fate(SLOW),
        None | Some(Fate::CannotRestart(_) | Fate::LosesCpus) if *is_cut => Said::NotDecided,
        None | Some(Fate::CannotRestart(_) | Fate::LosesCpus) => {
            let is_refused = |answer: &Value| answer["admitted"] == false;
            let again = value["readmit"].as_array().into_iter().flatten();
            let is_not_started = value.get("error").is_some() || value.get("invalid").is_some();
            if is_not_started || is_refused(value) || again.into_iter().any(is_refused) {
                Said::Refusal(what)
            } else {
                Said::Promise(what)
            }
        }
    }
}

/// How the kubelet did what was predicted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Agreement {
    Exactly,
    /// But for devices that it takes at random: of those that an init container leaves to one that asks for fewer.
    ByChance,
}

/// Whether the kubelet did what was predicted; else how it differs.
fn judged(
    filling: &Filling<'_>,
    said: &Said,
    foretold: &Foretold,
    reply: &Reply,
) -> Result<Agreement, String> {
    const KEPT: Result<Agreement, String> = Ok(Agreement::Exactly);
    let seconds = foretold.fates.work.seconds();
    match (said, reply) {
        (Said::Fate(SLOW), Reply::Silent)
        | (Said::Fate(NEVER), Reply::Silent | Reply::Died)
        | (Said::Fate(CRASHES), Reply::Died)
        | (Said::NotDecided, _) => KEPT,
        (Said::Fate(SLOW), Reply::Died) => match foretold.fates.fate {
            Some(Fate::Crashes(_)) => KEPT,
            _ => Err("the process died".to_owned()),
        },
        (Said::Fate(SLOW), Reply::Answer { value, took }) => {
            if took.as_secs_f64() * MAGNITUDE < seconds {
                return Err(format!("answered after {took:.1?} where {seconds:.1} s were foretold"));
            }
            match foretold.fates.fate {
                Some(Fate::Crashes(_)) => crashed(value),
                _ => same(filling, foretold, value),
            }
        }
        (Said::Fate(CRASHES), Reply::Answer { value, .. }) => crashed(value),
        (Said::Fate(NEVER), Reply::Answer { .. }) => Err("answered where no answer was foretold".to_owned()),
        (_, Reply::Answer { value, took }) => {
            let agreement = same(filling, foretold, value)?;
            if *took > PROMPT {
                return Err(format!(
                    "answered after {took:.1?} of CPU time where {seconds:.3} s were foretold"
                ));
            }
            Ok(agreement)
        }
        (_, Reply::Died) => Err("died where an answer was foretold".to_owned()),
        (_, Reply::Silent) => Err("no answer where one was foretold".to_owned()),
    }
}

fn crashed(value: &Value) -> Result<Agreement, String> {
    if value.get("panic").is_some() {
        Ok(Agreement::Exactly)
    } else {
        Err("answered where a crash was foretold".to_owned())
    }
}

fn same(filling: &Filling<'_>, foretold: &Foretold, real: &Value) -> Result<Agreement, String> {
    if let Some(fault) = real.get("panic") {
        return Err(format!("crashed where an answer was foretold: {fault}"));
    }
    let (mut own, mut real) = (foretold.value.clone(), real.clone());
    if let (Some(_), Some(error)) = (own.get("error"), real["error"].as_str())
        && (foretold.or_errors.iter().any(|own| comparable(own) == comparable(error))
            || names_all(error, &foretold.or_errors))
    {
        return Ok(Agreement::Exactly);
    }
    for value in [&mut own, &mut real] {
        sort(value, "invalid");
        for list in filling.case.input["devices"].as_array().into_iter().flatten() {
            if list["preferred"] != true {
                without_devices(value, list["resource"].as_str().unwrap_or_default(), &["devices"]);
            }
        }
    }
    if accepts(&real, &own, &Unstable::default()) {
        return Ok(Agreement::Exactly);
    }
    let differs = first_difference(&real, &own, String::new());
    for resource in &foretold.by_chance {
        for value in [&mut own, &mut real] {
            without_devices(value, resource, &["devices", "deviceNodes"]);
        }
    }
    if accepts(&real, &own, &Unstable::default()) {
        return Ok(Agreement::ByChance);
    }
    Err(format!("differs at {differs}"))
}

/// The text of an error as far as it can be compared: amounts are printed as internals after that.
fn comparable(error: &str) -> &str {
    error.split(" has a reservation of ").next().unwrap_or(error)
}

fn sort(value: &mut Value, name: &str) {
    if let Some(list) = value.get_mut(name).and_then(Value::as_array_mut) {
        list.sort_by_key(ToString::to_string);
    }
}

/// Takes away what fields of these names say of a resource: which devices were chosen, or on which nodes.
fn without_devices(value: &mut Value, resource: &str, names: &[&str]) {
    match value {
        Value::Object(fields) => {
            for name in names {
                if let Some(devices) = fields.get_mut(*name).and_then(Value::as_object_mut) {
                    devices.remove(resource);
                    if devices.is_empty() {
                        fields.remove(*name);
                    }
                }
            }
            for value in fields.values_mut() {
                without_devices(value, resource, names);
            }
        }
        Value::Array(values) => {
            for value in values {
                without_devices(value, resource, names);
            }
        }
        _ => {}
    }
}

/// The resources of which an init container of a pod leaves more than one after it asks for.
fn by_chance(pod: &Value) -> Vec<String> {
    let containers = |name: &str| pod["spec"][name].as_array().cloned().unwrap_or_default();
    let init: Vec<Value> = containers("initContainers");
    let all: Vec<&Value> = init.iter().collect();
    let count = |own: &Value, resource: &str| {
        own["resources"]["limits"][resource].as_str().and_then(|count| count.parse::<u64>().ok()).unwrap_or(0)
    };
    let apps = containers("containers");
    let mut found = Vec::new();
    for (at, own) in all.iter().enumerate().filter(|(_, own)| own["restartPolicy"] != "Always") {
        let limits = own["resources"]["limits"].as_object().into_iter().flatten();
        for resource in limits.map(|(name, _)| name).filter(|name| name.contains('/')) {
            let after = all[at + 1..].iter().copied().chain(&apps);
            let is_fewer = |later: &Value| (1..count(own, resource)).contains(&count(later, resource));
            if after.into_iter().any(is_fewer) {
                found.push(resource.clone());
            }
        }
    }
    found
}

fn first_difference(real: &Value, own: &Value, path: String) -> String {
    match (real, own) {
        (Value::Object(real), Value::Object(own)) => {
            let mut names: Vec<&String> = real.keys().chain(own.keys()).collect();
            names.sort();
            names.dedup();
            let null = Value::Null;
            for name in names {
                let (real, own) = (real.get(name).unwrap_or(&null), own.get(name).unwrap_or(&null));
                if real != own {
                    return first_difference(real, own, format!("{path}/{name}"));
                }
            }
            path
        }
        (Value::Array(real), Value::Array(own)) if real.len() == own.len() => {
            let differing = real.iter().zip(own).enumerate().find(|(_, (real, own))| real != own);
            differing
                .map_or(path.clone(), |(at, (real, own))| first_difference(real, own, format!("{path}/{at}")))
        }
        _ => format!("{path}: the kubelet has {real}, foretold was {own}"),
    }
}

/// The case up to the step that was asked last.
fn as_case(filling: &Filling<'_>, asked: &[Value]) -> Value {
    let mut case = filling.case.input.clone();
    case["steps"] = asked.iter().skip(1).map(|line| line["step"].clone()).collect();
    case
}

#[cfg(test)]
mod tests {
    use topology_model::MachineInfo;

    use super::*;
    use kubelet_fates::{Crash, Work};

    /// What is wrong with an answer after so many seconds, `None`: no answer.
    fn wrong(value: Value, fates: Fates, reply: Option<(Value, f64)>) -> Option<String> {
        let input = json!({ "kind": "sequence", "devices": [{ "resource": "a/b", "preferred": false }] });
        let case = Case::answered("admission", "", input, json!({ "hang": true })).unwrap();
        let machine = Described::new("none", MachineInfo::default());
        let filling = Filling { machine: &machine, case: &case, steps: &[], numbers: (0, 0) };
        let foretold = Foretold {
            value,
            or_errors: vec!["one".into(), "other".into()],
            fates,
            by_chance: vec!["c/d".into()],
        };
        let reply = match reply {
            None => Reply::Silent,
            Some((value, took)) => Reply::Answer { value, took: Duration::from_secs_f64(took) },
        };
        judged(&filling, &said(What::Pod, &foretold), &foretold, &reply).err()
    }

    #[test]
    fn what_was_said_is_what_is_done_or_an_exception() {
        let admitted =
            || json!({ "admitted": true, "containers": [{ "cpuset": "1", "devices": { "a/b": ["x"] } }] });
        let other =
            json!({ "admitted": true, "containers": [{ "cpuset": "2", "devices": { "a/b": ["x"] } }] });
        let alike =
            json!({ "admitted": true, "containers": [{ "cpuset": "1", "devices": { "a/b": ["y"] } }] });
        let of = |fate| Fates { fate: Some(fate), ..Fates::default() };
        let crash = || of(Fate::Crashes(Crash::Distance));
        let slow = || Fates { work: Work { combinations: 1e8, ..Work::default() }, ..Fates::default() };
        let panic = json!({ "panic": "index out of range" });
        for (value, fates, reply, is_kept) in [
            (admitted(), Fates::default(), Some((admitted(), 0.1)), true),
            // A plugin that prefers nothing may give any.
            (admitted(), Fates::default(), Some((alike, 0.1)), true),
            (admitted(), Fates::default(), Some((other.clone(), 0.1)), false),
            (
                json!({ "containers": [{ "devices": { "c/d": ["x"] }, "deviceNodes": { "c/d": { "0": 1 } } }] }),
                Fates::default(),
                Some((
                    json!({ "containers": [{ "devices": { "c/d": ["y"] }, "deviceNodes": { "c/d": { "1": 1 } } }] }),
                    0.1,
                )),
                true,
            ),
            (admitted(), Fates::default(), Some((json!({ "admitted": false }), 0.1)), false),
            (admitted(), Fates::default(), Some((admitted(), 1.1)), false),
            (admitted(), Fates::default(), Some((panic.clone(), 0.1)), false),
            (admitted(), Fates::default(), None, false),
            (admitted(), crash(), Some((panic.clone(), 0.1)), true),
            (admitted(), crash(), Some((admitted(), 0.1)), false),
            (admitted(), crash(), None, false),
            (admitted(), of(Fate::NeverAnswers), None, true),
            (admitted(), of(Fate::NeverAnswers), Some((admitted(), 0.1)), false),
            (admitted(), of(Fate::GivesTwice("1".parse().unwrap())), Some((admitted(), 0.1)), true),
            (admitted(), of(Fate::GivesTwice("1".parse().unwrap())), Some((other, 0.1)), false),
            // 22 seconds are foretold.
            (admitted(), slow(), None, true),
            (admitted(), slow(), Some((admitted(), 5.0)), true),
            (admitted(), slow(), Some((admitted(), 1.0)), false),
            (json!({ "error": "one" }), Fates::default(), Some((json!({ "error": "other" }), 0.1)), true),
            (json!({ "error": "one" }), Fates::default(), Some((json!({ "error": "third" }), 0.1)), false),
            (
                json!({ "invalid": ["a", "b"] }),
                Fates::default(),
                Some((json!({ "invalid": ["b", "a"] }), 0.1)),
                true,
            ),
        ] {
            let said = format!("{value} {fates:?} {reply:?}");
            let wrong = wrong(value, fates, reply);
            assert_eq!(wrong.is_none(), is_kept, "{said}: {wrong:?}");
        }
    }
}
