//! What kube-scheduler is answered.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use node_input::told_object;
use pod_spec::{PodRules, PodUid};
use scheduler_extender::{Judgement, Knowledge, ScopedThreads, Sparing, Verdict};

use crate::metrics::Metrics;
use crate::outlook::{Open, Outlook};
use crate::protocol::{
    ExtenderArgs, ExtenderFilterResult, ExtenderPreemptionArgs, ExtenderPreemptionResult, HostPriority,
    MetaPod, MetaVictims, NodeList, name_of,
};

/// So many nodes are decided on between two looks at the clock.
const STEP: usize = 256;

/// Whoever answers.
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
    pub(crate) fn filter(&self, asked: ExtenderArgs) -> Result<ExtenderFilterResult, String> {
        let began = Instant::now();
        let pod = told_object(&asked.pod, PodRules::default())?;
        let names = asked.names();
        let mut open = self.outlook.lock_settled(&pod.uid);
        let threads = ScopedThreads(self.threads);
        let judge = |open: &mut Open| {
            let mut judged: Vec<Judgement> = Vec::with_capacity(names.len());
            for step in names.chunks(STEP) {
                if began.elapsed() > self.within {
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
        let (mut fitting, mut result) = (Vec::new(), ExtenderFilterResult::default());
        for (name, judgement) in names.iter().zip(&judged) {
            self.metrics.judged(judgement.basis, judgement.verdict.fits());
            let reason = |text: String| match judgement.basis {
                Knowledge::Approximate => format!("{text} (approximate)"),
                Knowledge::Exact | Knowledge::Unknown => text,
            };
            match &judgement.verdict {
                Verdict::Fits => fitting.push(name.as_str()),
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
                fitting.extend(late.iter().map(String::as_str));
            } else {
                let why = format!("not looked at within {} ms", self.within.as_millis());
                result.failed_nodes.extend(late.iter().map(|name| (name.clone(), why.clone())));
            }
        }
        open.offer(&pod, &fitting, Instant::now());
        drop(open);
        match asked.nodes {
            Some(nodes) if asked.node_names.is_none() => result.nodes = Some(kept(nodes, &fitting)),
            _ => result.node_names = Some(fitting.into_iter().map(str::to_owned).collect()),
        }
        self.metrics.filtered(began.elapsed());
        Ok(result)
    }

    /// How good the nodes are for the pod.
    ///
    /// # Errors
    /// The pod cannot be read.
    pub(crate) fn prioritize(&self, asked: &ExtenderArgs) -> Result<Vec<HostPriority>, String> {
        let pod = told_object(&asked.pod, PodRules::default())?;
        let names = asked.names();
        let mut open = self.outlook.lock();
        let scores = open.view.score(&pod, &names, &ScopedThreads(self.threads));
        // The others have dropped out by rules of kube-scheduler's own.
        open.offer(&pod, &names, Instant::now());
        drop(open);
        let scored = names.into_iter().zip(scores);
        Ok(scored.map(|(host, score)| HostPriority { host, score: score.get().into() }).collect())
    }

    /// On which nodes the pod fits once the victims have gone.
    ///
    /// # Errors
    /// The pod cannot be read.
    pub(crate) fn preempt(&self, asked: ExtenderPreemptionArgs) -> Result<ExtenderPreemptionResult, String> {
        let pod = told_object(&asked.pod, PodRules::default())?;
        self.metrics.asked_to_preempt();
        let victims = asked.victims();
        let uids = |victims: &MetaVictims| {
            victims.pods.iter().flatten().map(|pod| PodUid::new(&pod.uid)).collect::<Vec<PodUid>>()
        };
        let candidates: BTreeMap<String, Vec<PodUid>> =
            victims.iter().map(|(node, victims)| (node.clone(), uids(victims))).collect();
        // kube-scheduler has chosen them with regard to budgets of disruption, of which nothing is known here.
        let left = self.outlook.lock().view.preempt(&pod, &candidates, Sparing::Nobody);
        let left = left.into_iter().map(|(node, pods)| {
            let violations = victims.get(&node).map_or(0, |victims| victims.violations);
            let pods = pods.iter().map(|uid| MetaPod { uid: uid.to_string() }).collect();
            (node, MetaVictims { pods: Some(pods), violations })
        });
        Ok(ExtenderPreemptionResult { node_name_to_meta_victims: left.collect() })
    }
}

/// The nodes that are left of a list.
fn kept(nodes: NodeList, fitting: &[&str]) -> NodeList {
    let fitting: std::collections::BTreeSet<&str> = fitting.iter().copied().collect();
    let items = nodes.items.into_iter().filter(|node| fitting.contains(name_of(node).as_str()));
    NodeList { items: items.collect(), others: nodes.others }
}
