//! `kubectl topolet explain POD`: what the agent of the pod's node knows of it, else what amounts say.

use anyhow::{Context as _, bail};
use clap::Args;
use node_daemon::cluster_node::pods_api::KubeletPod;
use node_daemon::cluster_node::{BoundPod, Cluster, ClusterError, PodName};
use node_input::{ObjectText, SeenNode, SlowSearch, TimedOut, told_pod, was_admitted};
use node_output::{Document, Format, KubeletWord, PendingPod, PodOutlook, UnitOutlook, WholeLine};
use pod_spec::{Pod, PodLevelResources, PodRules};
use serde::Deserialize;

use super::agent::{Agent, NoAnswer};
use super::cluster::ClusterArguments;
use super::seen;
use crate::arguments::OutputArguments;
use crate::outcome::Outcome;
use crate::pod_words::checked;
use crate::screen::Screen;

#[derive(Args, Debug)]
pub(crate) struct ExplainPod {
    /// The pod.
    #[arg(value_name = "POD")]
    name: String,
    #[command(flatten)]
    cluster: ClusterArguments,
    #[command(flatten)]
    output: OutputArguments,
}

pub(super) fn run(arguments: &ExplainPod, screen: Screen) -> anyhow::Result<Outcome> {
    let cluster = arguments.cluster.connect()?;
    let namespace = arguments.cluster.namespace.clone();
    let namespace = namespace.unwrap_or_else(|| cluster.default_namespace().to_owned());
    let name = PodName { namespace, name: arguments.name.clone() };
    let BoundPod { pod, node } = cluster.pod(&name).map_err(|error| no_pod(error, &name))?;
    let Some(node) = node else { return pending(&cluster, &name, &pod, arguments, screen) };
    let agent = Agent::of(&node, &cluster, arguments.cluster.agent.as_ref());
    let why = match agent {
        Ok(agent) => match asked(&agent, &pod, arguments, screen) {
            Ok(outcome) => return Ok(outcome),
            Err(error) => agent.no_answer(error)?,
        },
        Err(why) => why,
    };
    compared(&cluster, &node, &pod, &why, arguments, screen)
}

fn no_pod(error: ClusterError, PodName { namespace, name }: &PodName) -> anyhow::Error {
    match error {
        ClusterError::NotFound(_) => anyhow::anyhow!(
            "there is no pod {name} in namespace {namespace}; -n names another namespace, and `kubectl get pods -A` lists \
             all pods"
        ),
        error => error.into(),
    }
}

/// What is known of a pod that no scheduler has found a node for.
fn pending(
    cluster: &Cluster,
    name: &PodName,
    told: &KubeletPod,
    arguments: &ExplainPod,
    screen: Screen,
) -> anyhow::Result<Outcome> {
    let PodName { namespace, name: pod } = name;
    let mut pending =
        PendingPod { pod: format!("{namespace}/{pod}"), scheduler: None, search: None, not_seen: None };
    match cluster.why_unscheduled(name) {
        Ok(said) => pending.scheduler = said,
        Err(error) => pending.not_seen = Some(format!("events of the scheduler: {error}")),
    }
    if let Some(timed_out) = pending.scheduler.as_deref().and_then(TimedOut::by) {
        let search = search_of(cluster, told, timed_out.node());
        let known = search.as_ref().ok().and_then(Option::as_ref).map(|search| format!(": {search}"));
        pending.search =
            Some(format!("kube-scheduler's search for devices {timed_out}{}", known.unwrap_or_default()));
        pending.not_seen = search.err().map(|error| format!("what would end the search in time: {error:#}"));
    }
    match Document::new("PendingPod", &pending).text(arguments.output.output)? {
        Some(text) => screen.print(&text)?,
        None => screen.show(&pending.text(screen.page))?,
    }
    Ok(Outcome::SomeRefused)
}

/// kube-scheduler's longest search for devices of the pod, as the API server's objects are now; `None`: none is too long.
fn search_of(cluster: &Cluster, told: &KubeletPod, node: Option<&str>) -> anyhow::Result<Option<SlowSearch>> {
    let pod = told_pod(told, PodRules::default()).map_err(anyhow::Error::msg)?;
    let server = cluster.server();
    let texts = cluster
        .claim_lists()?
        .pages
        .into_iter()
        .map(|(kind, list)| ObjectText::of_list(format!("{} of {server}", kind.resource()), &list));
    let objects = ObjectText::objects(&texts.collect::<anyhow::Result<Vec<_>>>()?)?;
    Ok(SlowSearch::in_cluster(&pod, &objects, node))
}

/// What an agent knows of the pod: the decision on it; what it holds, if it runs; else what would be decided now.
fn asked(
    agent: &Agent<'_>,
    pod: &KubeletPod,
    arguments: &ExplainPod,
    screen: Screen,
) -> anyhow::Result<Outcome> {
    let output = &arguments.output;
    let uid = format!("uid={}&", checked(pod.uid())?);
    if let Some(outcome) = agent.show("/v1/decisions", &uid, None, output, screen)? {
        return Ok(outcome);
    }
    if pod.has_container_statuses() && runs(agent, pod)? {
        let path = format!("/v1/pods/{}/{}", pod.namespace(), pod.name());
        if let Some(outcome) = agent.show(&path, "", None, output, screen)? {
            return Ok(outcome);
        }
    }
    if pod.phase() == "Failed" {
        let (reason, message) = (pod.reason(), pod.message());
        screen.warn(format_args!(
            "{agent} has not seen how this pod failed ({reason}: {message}), and says what would be decided now"
        ));
    }
    let body = pod.clone().without_status().to_json().context("failed to write the pod down")?;
    let outcome = agent.show("/v1/explain", "fieldValidation=Warn&anew=true&", Some(body), output, screen)?;
    outcome.with_context(|| format!("{agent} does not explain pods: it is of another release"))
}

/// Whether an agent knows the very pod to run.
fn runs(agent: &Agent<'_>, pod: &KubeletPod) -> anyhow::Result<bool> {
    #[derive(Deserialize)]
    struct Described {
        pod: Known,
    }
    #[derive(Deserialize)]
    struct Known {
        uid: String,
        status: String,
    }
    let path = format!("/v1/pods/{}/{}?output=json", pod.namespace(), pod.name());
    let Some(reply) = agent.ask(&path, None)? else { return Ok(false) };
    let Described { pod: known } = serde_json::from_str(&reply.body).context("its answer cannot be read")?;
    Ok(known.uid == pod.uid() && matches!(known.status.as_str(), "Admitted" | "Quarantined"))
}

/// What the API server has of the node, beside what the pod asks for.
fn compared(
    cluster: &Cluster,
    node: &str,
    told: &KubeletPod,
    why: &NoAnswer,
    arguments: &ExplainPod,
    screen: Screen,
) -> anyhow::Result<Outcome> {
    let mut seen = seen::look(cluster, node, why)?;
    let pod = match told_pod(told, PodRules::default()) {
        Ok(pod) => pod,
        Err(why) => bail!("what pod {}/{} asks for cannot be read: {why}", told.namespace(), told.name()),
    };
    let outlook = outlook(&mut seen, told, &pod);
    let is_open = !pod.constraints.claims.is_empty() && !was_admitted(told);
    let refused = outlook.shows_refusal() || told.rejection().is_some() || is_open;
    match Document::new("PodOutlook", &outlook).text(arguments.output.output)? {
        Some(text) => screen.print(&text)?,
        None => screen.show(&outlook.text(screen.page))?,
    }
    if arguments.output.output != Format::Table {
        screen.warn(format_args!("amounts are compared, which is not the kubelet's answer: {}", why.0));
    }
    Ok(if refused { Outcome::SomeRefused } else { Outcome::Done })
}

fn outlook(seen: &mut SeenNode, told: &KubeletPod, pod: &Pod) -> PodOutlook {
    seen.asked(told, pod);
    let is_open = !was_admitted(told);
    let units = seen.zones.as_ref().filter(|_| is_open).map(|zones| {
        let compared = zones.compare(pod, seen.policies);
        compared.iter().map(|unit| UnitOutlook::new(unit, seen.policies.policy)).collect()
    });
    let others = seen.whole(|other| other.uid != pod.uid).filter(|_| is_open);
    let whole = others.map(|whole| {
        whole.asked_by(pod).map(|(asked, amount)| WholeLine::new(&amount, Some(&asked))).collect()
    });
    let mismatches = seen.identity.iter().flat_map(|identity| identity.mismatches(pod));
    let kubelet = KubeletWord {
        phase: told.phase().to_owned(),
        reason: told.reason().to_owned(),
        message: told.message().to_owned(),
    };
    PodOutlook {
        pod: format!("{}/{}", pod.namespace, pod.name),
        qos_class: pod.qos_class(PodLevelResources::Count).name(),
        node: seen.name.clone(),
        kubelet: (!kubelet.phase.is_empty()).then_some(kubelet),
        policies: seen.policies.into(),
        units,
        whole,
        mismatches: mismatches.map(|mismatch| mismatch.to_string()).collect(),
        not_seen: seen.gaps.clone(),
    }
}
