//! What kube-scheduler is answered.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use node_input::told_text;
use pod_spec::{PodRules, PodUid};
use scheduler_extender::{Judgement, Knowledge, ScopedThreads, Sparing, Verdict};

use crate::metrics::Metrics;
use crate::outlook::{Asker, Open, Outlook};
use crate::protocol::{
    ExtenderArgs, ExtenderFilterResult, ExtenderPreemptionArgs, ExtenderPreemptionResult, HostPriority, List,
    MetaPod, MetaVictims,
};

/// So many nodes are decided on between two looks at the clock.
const STEP: usize = 256;

/// Answers the requests of kube-scheduler.
#[derive(Clone)]
pub(crate) struct Answers {
    pub(crate) outlook: Arc<Outlook>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) threads: NonZeroUsize,
    /// How long an answer may take.
    pub(crate) within: Duration,
}

impl Answers {
    /// Which of the nodes the pod fits, and why not the others.
    ///
    /// # Errors
    /// The pod cannot be read.
    pub(crate) fn filter<'a>(
        &self,
        asked: ExtenderArgs<'a>,
        asker: Asker,
    ) -> Result<ExtenderFilterResult<'a>, String> {
        let clock = &*self.outlook.clock;
        let began = clock.now();
        let took = || clock.now().saturating_duration_since(began);
        let pod = told_text(asked.pod()?, PodRules::default())?;
        let names = asked.names()?;
        let mut open = self.outlook.lock_settled(&pod.uid);
        open.asked(began);
        let threads = ScopedThreads(self.threads);
        let judge = |open: &mut Open| {
            let mut judged: Vec<Judgement> = Vec::with_capacity(names.len());
            for step in names.chunks(STEP) {
                if took() > self.within {
                    break;
                }
                judged.extend(open.view.filter(&pod, step, &threads));
            }
            judged
        };
        let mut judged = judge(&mut open);
        if !judged.iter().any(|judgement| judgement.verdict.fits()) && self.outlook.wait_for_news(&mut open) {
            judged = judge(&mut open);
        }
        // By position: nodes as objects are given back as they came.
        let (mut fitting, mut result) = (Vec::new(), ExtenderFilterResult::default());
        for ((at, name), judgement) in names.iter().enumerate().zip(&judged) {
            self.metrics.judged(judgement);
            let reason = |text: String| match judgement.basis {
                Knowledge::Approximate => format!("{text} (approximate)"),
                Knowledge::Exact | Knowledge::Unknown => text,
            };
            match &judgement.verdict {
                Verdict::Fits => fitting.push(at),
                Verdict::DoesNotFit(why) => {
                    result.failed_nodes.insert(name.clone(), reason(why.to_string()));
                }
                Verdict::NeverFits(why) => {
                    result.failed_and_unresolvable_nodes.insert(name.clone(), reason(why.to_string()));
                }
            }
        }
        let late = names.get(judged.len()..).unwrap_or_default();
        if !late.is_empty() {
            self.metrics.not_looked_at(late.len());
            if fitting.is_empty() {
                // Its node decides.
                fitting.extend(judged.len()..names.len());
            } else {
                let why = format!("not looked at within {} ms", self.within.as_millis());
                result.failed_nodes.extend(late.iter().map(|name| (name.clone(), why.clone())));
            }
        }
        let left = || fitting.iter().filter_map(|at| names.get(*at));
        open.answered(&pod.uid, left(), asker, clock.now());
        drop(open);
        match asked.nodes {
            Some(mut nodes) if asked.node_names.is_none() => {
                nodes.retain(&fitting);
                result.nodes = Some(nodes);
            }
            _ => result.node_names = Some(left().cloned().collect()),
        }
        self.metrics.filtered(took());
        Ok(result)
    }

    /// How good the nodes are for the pod.
    ///
    /// # Errors
    /// The pod cannot be read.
    pub(crate) fn prioritize(
        &self,
        asked: &ExtenderArgs<'_>,
        asker: Asker,
    ) -> Result<Vec<HostPriority>, String> {
        let pod = told_text(asked.pod()?, PodRules::default())?;
        let names = asked.names()?;
        let mut open = self.outlook.lock();
        let scores = open.view.score(&pod, &names, &ScopedThreads(self.threads));
        // The others have dropped out by rules of kube-scheduler's own.
        open.answered(&pod.uid, &names, asker, self.outlook.clock.now());
        drop(open);
        let scored = names.into_iter().zip(scores);
        Ok(scored.map(|(host, score)| HostPriority { host, score: score.get().into() }).collect())
    }

    /// On which nodes the pod fits once the victims have gone.
    ///
    /// # Errors
    /// The pod cannot be read.
    pub(crate) fn preempt(
        &self,
        asked: ExtenderPreemptionArgs<'_>,
    ) -> Result<ExtenderPreemptionResult, String> {
        let pod = told_text(asked.pod()?, PodRules::default())?;
        self.metrics.asked_to_preempt();
        let victims = asked.victims();
        let uids = |victims: &MetaVictims| {
            let pods = victims.pods.iter().flat_map(|pods| &pods.0);
            pods.map(|pod| PodUid::new(&pod.uid)).collect::<Vec<PodUid>>()
        };
        let candidates: BTreeMap<String, Vec<PodUid>> =
            victims.iter().map(|(node, victims)| (node.clone(), uids(victims))).collect();
        // kube-scheduler has chosen them with regard to budgets of disruption, of which nothing is known here.
        let left = self.outlook.lock().view.preempt(&pod, &candidates, Sparing::Nobody);
        let left = left.into_iter().map(|(node, pods)| {
            let violations = victims.get(&node).map_or(0, |victims| victims.violations);
            let pods = pods.iter().map(|uid| MetaPod { uid: uid.to_string() }).collect();
            (node, MetaVictims { pods: Some(List(pods)), violations })
        });
        Ok(ExtenderPreemptionResult { node_name_to_meta_victims: left.collect() })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::sync::mpsc;

    use cluster_node::SystemClock;
    use node_input::told_object;
    use scheduler_extender::node_resource_topology::NodeResourceTopology;
    use scheduler_extender::{NodeFacts, NodeState, StateVersion, Zones};
    use serde_json::{Value, json};

    use super::*;
    use crate::outlook::{Patience, WaitsFor};

    /// CPUs that a NUMA node has; each node has two.
    const CPUS: usize = 40;
    const NODES: [&str; 5] = ["a", "b", "c", "d", "e"];

    fn node(name: &str) -> NodeState {
        let zone = |number: usize| {
            let of = |name: &str, amount: &str| json!({ "name": name, "capacity": amount, "allocatable": amount, "available": amount });
            json!({ "name": format!("node-{number}"), "type": "Node",
                "resources": [of("cpu", &CPUS.to_string()), of("memory", "400Gi")] })
        };
        let object: NodeResourceTopology = serde_json::from_value(json!({
            "apiVersion": "topology.node.k8s.io/v1alpha2", "kind": "NodeResourceTopology", "metadata": { "name": name },
            "attributes": [{ "name": "topologyManagerPolicy", "value": "single-numa-node" }],
            "zones": [zone(0), zone(1)],
        }))
        .unwrap_or_else(|error| panic!("{error}"));
        let zones = Zones::read(&object).unwrap_or_else(|error| panic!("{error}"));
        let version = StateVersion { run: 0, change: 1 };
        NodeState { version, facts: NodeFacts::Approximate(zones), told: BTreeSet::new() }
    }

    fn answers(binding: Duration) -> Answers {
        let patience = Patience { binding, ..Patience::USUAL };
        let outlook = Arc::new(Outlook::new(Arc::new(SystemClock), patience));
        for name in NODES {
            outlook.update(name, node(name));
        }
        Answers {
            outlook,
            metrics: Arc::new(Metrics::new()),
            threads: NonZeroUsize::MIN,
            within: Duration::from_mins(10),
        }
    }

    fn pod(name: &str, cpus: usize) -> Value {
        let resources = json!({ "limits": { "cpu": cpus.to_string(), "memory": "1Gi" } });
        json!({ "metadata": { "name": name, "namespace": "default", "uid": name },
            "spec": { "containers": [{ "name": "app", "image": "none", "resources": resources }] } })
    }

    fn question(pod: &Value) -> String {
        json!({ "Pod": pod, "NodeNames": NODES }).to_string()
    }

    /// The nodes that the pod fits.
    fn fitting(answers: &Answers, pod: &Value, asker: Asker) -> Vec<String> {
        let text = question(pod);
        let asked = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}"));
        let result = answers.filter(asked, asker).unwrap_or_else(|error| panic!("{error}"));
        result.node_names.unwrap_or_default()
    }

    fn shown(outlook: &Outlook, pod: &Value) {
        let pod = told_object(pod, PodRules::default()).unwrap_or_else(|error| panic!("{error}"));
        outlook.unbound(Arc::new(pod), WaitsFor::Node);
    }

    fn bound(outlook: &Outlook, pod: &Value, node: &str) {
        let pod = told_object(pod, PodRules::default()).unwrap_or_else(|error| panic!("{error}"));
        outlook.bound(Arc::new(pod), node);
    }

    #[test]
    fn made_up_pods_take_nothing_from_real_ones() {
        let answers = answers(Duration::ZERO);
        for number in 0..1000 {
            let made_up = pod(&format!("made-up-{number}"), CPUS);
            assert_eq!(fitting(&answers, &made_up, Asker::Anybody).len(), NODES.len());
        }
        let real = pod("real", CPUS);
        shown(&answers.outlook, &real);
        assert_eq!(fitting(&answers, &real, Asker::Known).len(), NODES.len());
        answers.outlook.withdrawn(&PodUid::new("real"));
        // Nor does a question about a real pod that says something else of it than the API server.
        for name in ["small", "other"] {
            shown(&answers.outlook, &pod(name, 1));
            fitting(&answers, &pod(name, CPUS), Asker::Anybody);
        }
        assert_eq!(answers.outlook.lock().view.in_flight().count(), 2);
        let beside = pod("beside", CPUS - 1);
        shown(&answers.outlook, &beside);
        assert_eq!(fitting(&answers, &beside, Asker::Known).len(), NODES.len());
    }

    /// Two hundred pods fill all nodes to the last CPU. The API server shows each of them before it is asked about, soon after,
    /// or when others have been, and bindings come late.
    #[test]
    fn pods_that_come_all_at_once_get_no_cpu_twice() {
        let answers = answers(Duration::from_mins(10));
        let (tell, heard) = mpsc::channel::<(Value, Option<String>)>();
        let outlook = answers.outlook.clone();
        let watch = std::thread::spawn(move || {
            for (pod, node) in heard {
                std::thread::yield_now();
                match node {
                    None => shown(&outlook, &pod),
                    Some(node) => bound(&outlook, &pod, &node),
                }
            }
        });
        let send = |pod: &Value, node: Option<String>| assert!(tell.send((pod.clone(), node)).is_ok());
        let count = NODES.len() * 2 * CPUS / 2;
        let mut placed: BTreeMap<String, usize> = BTreeMap::new();
        for number in 0..count {
            let pod = pod(&format!("pod-{number}"), 2);
            let is_shown_before = number % 3 == 0;
            if is_shown_before {
                send(&pod, None);
            }
            let nodes = fitting(&answers, &pod, Asker::Known);
            let Some(node) = nodes.get(number % nodes.len().max(1)).cloned() else { panic!("{placed:?}") };
            if !is_shown_before {
                send(&pod, None);
            }
            *placed.entry(node.clone()).or_default() += 2;
            send(&pod, Some(node));
        }
        drop(tell);
        assert!(watch.join().is_ok());
        let full = NODES.map(|name| (name.to_owned(), 2 * CPUS));
        assert_eq!(placed, BTreeMap::from(full));
        assert_eq!(answers.outlook.lock().bound_unasked(), 0);
    }
}
