//! Pods that the kubelet refuses, kind by kind: each is explained by `serve --observe` with the kubelet's own reason, and
//! what it says would fit is tried on that kubelet.

use std::collections::BTreeSet;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::Session;
use super::compare::Difference;
use super::configuration::{Configuration, Cores};
use super::facts::KubeletPod;
use super::wish::{Class, PodWish};

/// A reason to refuse pods, and pods that are refused for it. Amounts are written as for [`PodWish::of`]. A node has
/// four CPUs, of which one is reserved on node 0, half a gigabyte and more of memory, and three devices.
struct Kind {
    name: &'static str,
    policy: &'static str,
    scope: &'static str,
    cores: Cores,
    /// Pods that run before.
    residents: &'static [&'static str],
    class: Class,
    /// Pods that are refused, one at a time.
    refused: &'static [&'static str],
}

const KINDS: &[Kind] = &[
    Kind {
        name: "more CPUs than a NUMA node has",
        policy: "single-numa-node",
        scope: "container",
        cores: Cores::Any,
        residents: &[],
        class: Class::Guaranteed,
        refused: &[
            "cpu=5 memory=64Mi",
            "cpu=6 memory=64Mi",
            "cpu=7 memory=64Mi",
            "cpu=8 memory=64Mi",
            "cpu=1 memory=32Mi + cpu=5 memory=32Mi",
        ],
    },
    Kind {
        name: "more CPUs than are free on a NUMA node",
        policy: "single-numa-node",
        scope: "container",
        cores: Cores::Any,
        residents: &["cpu=3 memory=64Mi", "cpu=3 memory=64Mi"],
        class: Class::Guaranteed,
        refused: &[
            "cpu=2 memory=64Mi",
            "cpu=3 memory=64Mi",
            "cpu=4 memory=64Mi",
            "cpu=2 memory=96Mi",
            "cpu=1 memory=32Mi + cpu=2 memory=32Mi",
        ],
    },
    Kind {
        name: "more memory than a NUMA node has",
        policy: "single-numa-node",
        scope: "container",
        cores: Cores::Any,
        residents: &[],
        class: Class::Guaranteed,
        refused: &[
            "cpu=1 memory=1000Mi",
            "cpu=2 memory=1050Mi",
            "cpu=500m memory=1100Mi",
            "cpu=1 memory=1150Mi",
            "cpu=1 memory=1200Mi",
        ],
    },
    Kind {
        name: "more devices than a NUMA node has",
        policy: "single-numa-node",
        scope: "container",
        cores: Cores::Any,
        residents: &[],
        class: Class::Guaranteed,
        refused: &[
            "cpu=1 memory=64Mi example.com/fn=4",
            "cpu=2 memory=64Mi example.com/fn=5",
            "cpu=1 memory=64Mi example.com/fn=6",
            "cpu=500m memory=64Mi example.com/fn=4",
            "cpu=3 memory=64Mi example.com/fn=4",
        ],
    },
    Kind {
        name: "free CPUs and free devices on different NUMA nodes",
        policy: "single-numa-node",
        scope: "container",
        cores: Cores::Any,
        residents: &["cpu=3 memory=64Mi", "cpu=1 memory=64Mi example.com/fn=3"],
        class: Class::Guaranteed,
        refused: &[
            "cpu=1 memory=64Mi example.com/fn=1",
            "cpu=1 memory=64Mi example.com/fn=2",
            "cpu=2 memory=64Mi example.com/fn=1",
            "cpu=2 memory=64Mi example.com/fn=3",
            "cpu=3 memory=64Mi example.com/fn=2",
        ],
    },
    Kind {
        name: "containers that do not fit one NUMA node together",
        policy: "single-numa-node",
        scope: "pod",
        cores: Cores::Any,
        residents: &[],
        class: Class::Guaranteed,
        refused: &[
            "cpu=2 memory=64Mi + cpu=3 memory=64Mi",
            "cpu=3 memory=64Mi + cpu=3 memory=64Mi",
            "cpu=4 memory=64Mi + cpu=1 memory=64Mi",
            "cpu=1 memory=64Mi example.com/fn=2 + cpu=1 memory=64Mi example.com/fn=2",
            "cpu=4 memory=64Mi + cpu=2 memory=64Mi",
        ],
    },
    Kind {
        name: "fewer NUMA nodes would do on an empty machine",
        policy: "restricted",
        scope: "container",
        cores: Cores::Any,
        residents: &["cpu=2 memory=64Mi", "cpu=1 memory=64Mi", "cpu=2 memory=64Mi"],
        class: Class::Guaranteed,
        refused: &[
            "cpu=3 memory=64Mi",
            "cpu=4 memory=64Mi",
            "cpu=3 memory=96Mi",
            "cpu=4 memory=96Mi",
            "cpu=3 memory=32Mi",
        ],
    },
    Kind {
        name: "more CPUs than are free",
        policy: "best-effort",
        scope: "container",
        cores: Cores::Any,
        residents: &["cpu=3 memory=64Mi", "cpu=3 memory=64Mi"],
        class: Class::Guaranteed,
        refused: &[
            "cpu=2 memory=64Mi",
            "cpu=3 memory=64Mi",
            "cpu=5 memory=64Mi",
            "cpu=7 memory=64Mi",
            "cpu=1 memory=32Mi + cpu=1 memory=32Mi",
        ],
    },
    Kind {
        name: "more memory than is free",
        policy: "best-effort",
        scope: "container",
        cores: Cores::Any,
        residents: &["cpu=1 memory=300Mi"],
        class: Class::Guaranteed,
        refused: &[
            "cpu=1 memory=1400Mi",
            "cpu=2 memory=1450Mi",
            "cpu=500m memory=1500Mi",
            "cpu=1 memory=1550Mi",
            "cpu=3 memory=1600Mi",
        ],
    },
    Kind {
        name: "more huge pages than are free",
        policy: "best-effort",
        scope: "container",
        cores: Cores::Any,
        residents: &["cpu=1 memory=64Mi hugepages-2Mi=4Mi"],
        class: Class::Guaranteed,
        refused: &[
            "cpu=1 memory=64Mi hugepages-2Mi=60Mi",
            "cpu=2 memory=64Mi hugepages-2Mi=80Mi",
            "cpu=500m memory=64Mi hugepages-2Mi=100Mi",
            "cpu=1 memory=32Mi + cpu=1 memory=32Mi hugepages-2Mi=60Mi",
            "cpu=3 memory=64Mi hugepages-2Mi=120Mi",
        ],
    },
    Kind {
        name: "more devices than are free",
        policy: "best-effort",
        scope: "container",
        cores: Cores::Any,
        residents: &["cpu=1 memory=64Mi example.com/fn=2"],
        class: Class::Guaranteed,
        refused: &[
            "cpu=1 memory=64Mi example.com/fn=5",
            "cpu=2 memory=64Mi example.com/fn=6",
            "cpu=500m memory=64Mi example.com/fn=7",
            "cpu=1 memory=64Mi example.com/fn=3 + cpu=1 memory=64Mi example.com/fn=2",
            "cpu=100m memory=64Mi example.com/fn=5",
        ],
    },
    Kind {
        name: "part of a core",
        policy: "best-effort",
        scope: "container",
        cores: Cores::Whole,
        residents: &[],
        class: Class::Guaranteed,
        refused: &[
            "cpu=1 memory=64Mi",
            "cpu=3 memory=64Mi",
            "cpu=5 memory=64Mi",
            "cpu=2 memory=32Mi + cpu=1 memory=32Mi",
            "cpu=1 memory=96Mi example.com/fn=1",
        ],
    },
    Kind {
        name: "more than the node has for all pods",
        policy: "best-effort",
        scope: "container",
        cores: Cores::Any,
        residents: &["cpu=1 memory=64Mi"],
        class: Class::Burstable,
        refused: &[
            "cpu=7500m memory=64Mi",
            "cpu=8 memory=64Mi",
            "cpu=9 memory=64Mi",
            "cpu=100m memory=3000Mi",
            "cpu=4 memory=64Mi + cpu=4 memory=64Mi",
        ],
    },
];

/// Kinds of changes that have been tried, as `change` of an alternative names them.
type Tried = BTreeSet<String>;

/// Goes through all kinds.
///
/// # Errors
/// Something does not come to rest, or a pod that is to be refused runs.
pub(super) fn all(session: &mut Session<'_>) -> anyhow::Result<()> {
    let mut tried = Tried::new();
    for (at, kind) in KINDS.iter().enumerate() {
        kind.run(session, at, &mut tried).with_context(|| kind.name)?;
    }
    let disagreements = session.processes.counted("topolet_observe_disagreements_total")?;
    let differences = Difference::of("disagreements counted", &0.0, &disagreements);
    session.row("count", "", "", &json!({}), &differences.into_iter().collect::<Vec<_>>());
    Ok(())
}

impl Kind {
    fn configuration(&self) -> Configuration {
        let configuration = Configuration::new(self.policy, self.scope);
        match self.cores {
            Cores::Any => configuration,
            Cores::Whole => configuration.whole_cores(),
        }
    }

    fn run(&self, session: &mut Session<'_>, at: usize, tried: &mut Tried) -> anyhow::Result<()> {
        session.configure(&self.configuration())?;
        for (number, amounts) in self.residents.iter().enumerate() {
            session.start(PodWish::of(&format!("r{at}-{number}"), Class::Guaranteed, amounts))?;
        }
        let mut first = None;
        for (number, amounts) in self.refused.iter().enumerate() {
            let wish = PodWish::of(&format!("p{at}-{number}"), self.class, amounts);
            let explained = self.refuse(session, &wish)?;
            first.get_or_insert((wish, explained));
        }
        if let Some((wish, explained)) = first {
            let alternatives = explained["refusal"]["wouldFit"].as_array().into_iter().flatten();
            // The first is tried always, since people read it; of the others those whose kind of change has not been tried.
            let mut is_first = true;
            for alternative in alternatives {
                let change = alternative["change"].as_str().unwrap_or_default().to_owned();
                if (is_first || !tried.contains(&change))
                    && self.try_alternative(session, &wish, alternative)?
                {
                    tried.insert(change);
                    is_first = false;
                }
            }
        }
        session.empty()
    }

    /// Gives the kubelet a pod that it refuses, and removes it once topolet has explained it. Gives the
    /// explanation.
    fn refuse(&self, session: &Session<'_>, wish: &PodWish) -> anyhow::Result<Value> {
        let processes = &session.processes;
        processes.put(wish)?;
        let actual = processes.wait_for(&wish.name)?;
        ensure!(!actual.is_running(), "{} runs, and is to be refused: {}", wish.name, wish.summary());
        let explained = processes.explained(&wish.name)?;
        let mut differences = compared(&explained, &actual);
        if session.plan.wrong_answers {
            differences.extend(Difference::of("answer", &"wrong", &"right"));
        }
        processes.take(&wish.name)?;
        let reason = explained["refusal"]["reason"].as_str().unwrap_or("none");
        let what = json!({"kind": self.name, "said": reason, "did": actual.summary()});
        session.row("refusal", &wish.name, &wish.summary(), &what, &differences);
        Ok(explained)
    }

    /// Makes the change that topolet says would fit, checks that the pod runs, and undoes the change; `false`: it cannot be
    /// made here.
    fn try_alternative(
        &self,
        session: &mut Session<'_>,
        wish: &PodWish,
        alternative: &Value,
    ) -> anyhow::Result<bool> {
        let Some(changed) = Changed::of(alternative, wish, &self.configuration()) else { return Ok(false) };
        let Changed { leave, pod, configuration } = changed;
        let residents = session.running.clone();
        for resident in residents.iter().filter(|resident| leave.contains(&resident.uid())) {
            session.end(&resident.name)?;
        }
        session.configure_beside(&configuration)?;
        session.processes.put(&pod)?;
        let actual = session.processes.wait_for(&pod.name)?;
        let text = |name: &str| alternative[name].as_str().unwrap_or_default().to_owned();
        let predicted = format!("{} {}: {}", text("change"), text("detail"), text("result"));
        let differences = Difference::of("phase", &"Running".to_owned(), &actual.phase);
        let what = json!({"kind": self.name, "said": predicted, "did": actual.summary()});
        let differences: Vec<Difference> = differences.into_iter().collect();
        session.row("try", &pod.name, &pod.summary(), &what, &differences);
        session.processes.take(&pod.name)?;
        session.configure_beside(&self.configuration())?;
        for resident in residents.iter().filter(|resident| leave.contains(&resident.uid())) {
            session.start(resident.clone())?;
        }
        Ok(true)
    }
}

/// Compares topolet's explanation of a refusal with the kubelet's status of the pod.
fn compared(explained: &Value, actual: &KubeletPod) -> Vec<Difference> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let message = actual.message.trim_start_matches("Pod was rejected: ").to_owned();
    let all = [
        Difference::of("the kubelet's reason", &text(&explained["kubelet"]["reason"]), &actual.reason),
        Difference::of("the kubelet's message", &text(&explained["kubelet"]["message"]), &message),
        Difference::of("reason", &text(&explained["refusal"]["reason"]), &actual.reason),
        Difference::of("agreement", &explained["kubelet"]["agrees"].to_string(), &"true".to_owned()),
    ];
    all.into_iter().flatten().collect()
}

/// The pod and the node after the change of an alternative.
struct Changed {
    /// UIDs of the pods that leave.
    leave: BTreeSet<String>,
    pod: PodWish,
    configuration: Configuration,
}

impl Changed {
    /// `None`: it is a change of the machine, or of what a kubelet does not have.
    fn of(alternative: &Value, wish: &PodWish, configuration: &Configuration) -> Option<Self> {
        let name = format!("{}-{}", wish.name, alternative["change"].as_str()?.replace(' ', "-"));
        let (mut leave, mut pod, mut configuration) =
            (BTreeSet::new(), wish.clone().named(&name), configuration.clone());
        if let Some(pods) = alternative["pods"].as_array() {
            leave.extend(pods.iter().filter_map(|pod| Some(pod["uid"].as_str()?.to_owned())));
        } else if let Some(amounts) = alternative["amounts"].as_array() {
            for amount in amounts {
                let (resource, fits) = (amount["resource"].as_str()?, amount["fits"].as_str()?);
                pod = pod.with_amount(amount["container"].as_str(), resource, fits);
            }
        } else if let Some(policy) = alternative["topologyManagerPolicy"].as_str() {
            policy.clone_into(&mut configuration.policy);
        } else if let Some(scope) = alternative["topologyManagerScope"].as_str() {
            scope.clone_into(&mut configuration.scope);
        } else {
            alternative["reservedSystemCPUs"].as_str()?.clone_into(&mut configuration.reserved);
        }
        Some(Self { leave, pod, configuration })
    }
}

impl Session<'_> {
    /// Empties the node, and gives the kubelet this configuration.
    pub(super) fn configure(&mut self, configuration: &Configuration) -> anyhow::Result<()> {
        self.empty()?;
        self.configure_beside(configuration)
    }

    /// Gives the kubelet this configuration while pods run.
    fn configure_beside(&mut self, configuration: &Configuration) -> anyhow::Result<()> {
        if self.processes.configuration() != configuration {
            self.processes.reconfigure(self.guest, configuration.clone())?;
        }
        Ok(())
    }

    /// Starts a pod, which has to run.
    pub(super) fn start(&mut self, wish: PodWish) -> anyhow::Result<()> {
        self.processes.put(&wish)?;
        let actual = self.processes.wait_for(&wish.name)?;
        ensure!(actual.is_running(), "{} does not run: {} {}", wish.name, actual.reason, actual.message);
        self.running.push(wish);
        Ok(())
    }

    /// Ends a pod.
    fn end(&mut self, name: &str) -> anyhow::Result<()> {
        self.running.retain(|wish| wish.name != name);
        self.processes.take(name)
    }
}
