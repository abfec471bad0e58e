//! What kube-scheduler is answered.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use node_input::told_text;
use parking_lot::Mutex;
use pod_spec::{ClaimPlaces, Pod, PodRules, PodUid, ResourceName, Wishes};
use scheduler_extender::{ClaimRule, Judgement, Knowledge, ScopedThreads, Sparing, Verdict};

use crate::claims::{DevicePredictions, OnNode};
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
    pub(crate) claims: Arc<Mutex<DevicePredictions>>,
    /// What becomes of nodes where devices of claims will be elsewhere than CPUs and memory, for all pods.
    pub(crate) claim_rule: ClaimRule,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) threads: NonZeroUsize,
    /// How long an answer may take.
    pub(crate) within: Duration,
    /// The score of the best node.
    pub(crate) best_score: u16,
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
        let rule = self.claim_rule(&pod);
        let judge = |open: &mut Open| {
            let mut judged: Vec<Judgement> = Vec::with_capacity(names.len());
            for step in names.chunks(STEP) {
                if took() > self.within {
                    break;
                }
                let placed = self.placed(open, &pod, step);
                judged.extend(open.view.filter_placed(&pod, placed, rule, &threads));
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
        let placed = self.placed(&open, &pod, &names);
        let scores = open.view.score_placed(&pod, placed, &ScopedThreads(self.threads));
        // The others have dropped out by rules of kube-scheduler's own.
        open.answered(&pod.uid, &names, asker, self.outlook.clock.now());
        drop(open);
        let scored = names.into_iter().zip(scores);
        Ok(scored
            .map(|(host, score)| HostPriority { host, score: score.of(self.best_score).into() })
            .collect())
    }

    /// The nodes with the places that the devices of the pod's claims would have there, as far as that is known.
    fn placed<'n>(
        &self,
        open: &Open,
        pod: &Pod,
        names: &'n [String],
    ) -> Vec<(&'n str, Option<Arc<ClaimPlaces>>)> {
        let mut claims = self.claims.lock();
        let asked = claims.asked(pod);
        let mut places = |name: &str| {
            let plugin_devices = |resource: &str| {
                let count = open.view.plugin_devices(name, &ResourceName::new(resource));
                i64::try_from(count).unwrap_or(i64::MAX)
            };
            let machine = open.view.node(name)?;
            claims.places(asked?, pod, &OnNode { name, machine, plugin_devices: &plugin_devices })
        };
        names.iter().map(|name| (name.as_str(), places(name))).collect()
    }

    /// What becomes of nodes where devices of the pod's claims will be elsewhere than CPUs and memory.
    fn claim_rule(&self, pod: &Pod) -> ClaimRule {
        match pod.constraints.wishes.get(Wishes::ALIGN_CLAIMS) {
            Some("required") => ClaimRule::Require,
            _ => self.claim_rule,
        }
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
    use crate::claims::tests as claims;
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
            claims: Arc::default(),
            claim_rule: ClaimRule::Prefer,
            metrics: Arc::new(Metrics::new()),
            threads: NonZeroUsize::MIN,
            within: Duration::from_mins(10),
            best_score: 10,
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

    /// Four exclusive CPUs are on NUMA node 1 of each node, and the first GPU is there on the first alone.
    #[test]
    fn a_node_where_devices_of_claims_will_be_beside_the_cpus_is_better() {
        let mut answers = answers(Duration::ZERO);
        let machine = Arc::new(claims::machine());
        for name in ["a", "b"] {
            let facts = NodeFacts::Exact { node: Arc::clone(&machine), ledger: machine.empty_ledger() };
            let version = StateVersion { run: 1, change: 1 };
            answers.outlook.update(name, NodeState { version, facts, told: BTreeSet::new() });
        }
        let slices = vec![claims::slice("a", &[1, 0]), claims::slice("b", &[0, 1])];
        answers.claims = Arc::new(Mutex::new(claims::cluster(slices)));
        let question = |pod: &Value| json!({ "Pod": pod, "NodeNames": ["a", "b"] }).to_string();
        let pod = claims::object("p", 4);
        let text = question(&pod);
        let asked = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}"));
        let scored = answers.prioritize(&asked, Asker::Known).unwrap_or_else(|error| panic!("{error}"));
        let scores: Vec<i64> = scored.iter().map(|host| host.score).collect();
        assert!(scores[0] >= 8 && (4..=5).contains(&scores[1]), "{scores:?}");
        let filter = |answers: &Answers, pod: &Value| {
            let text = question(pod);
            let asked = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}"));
            let result = answers.filter(asked, Asker::Known).unwrap_or_else(|error| panic!("{error}"));
            (result.node_names.unwrap_or_default(), result.failed_nodes)
        };
        assert_eq!(filter(&answers, &pod).0, ["a", "b"], "its kubelet admits the pod");
        let why = "claim gpu would get devices on NUMA 0, and its container CPUs and memory on NUMA 1";
        let failed = BTreeMap::from([("b".to_owned(), why.to_owned())]);
        let mut demanding = claims::object("q", 4);
        demanding["metadata"]["annotations"] = json!({ "topolet.dev/align-claims": "required" });
        assert_eq!(filter(&answers, &demanding), (vec!["a".to_owned()], failed.clone()));
        answers.claim_rule = ClaimRule::Require;
        assert_eq!(filter(&answers, &claims::object("r", 4)), (vec!["a".to_owned()], failed));
        // Without slices nothing is predicted, and nothing is left out.
        answers.claims = Arc::default();
        assert_eq!(filter(&answers, &claims::object("s", 4)).0, ["a", "b"]);
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
