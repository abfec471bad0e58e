//! `topolet explain --resize`: whether a pod that runs can have other amounts, and which CPUs it would have then.

use admission_report::ResizeReport;
use anyhow::{Context as _, bail};
use node_input::quantity;
use node_output::{Document, Format, Resize};
use pod_spec::{Container, Pod, ResourceName, Role};
use topology_admission::{Ledger, Sizes};

use crate::arguments::PodsArguments;
use crate::outcome::Outcome;
use crate::screen::Screen;

/// `words`: the pod, then the sizes.
pub(super) fn run(
    arguments: &PodsArguments,
    words: &[String],
    format: Format,
    screen: Screen,
) -> anyhow::Result<Outcome> {
    let sources = arguments.sources();
    let node = sources.load()?.node;
    let ledger = node.residents(&sources.residents)?.ledger;
    let Some((name, sizes)) = words.split_first() else { bail!("--resize: expected a pod and its sizes") };
    let pod = found(&ledger, name)?;
    let sizes = read_sizes(pod, sizes)?;
    let attempt = node.node.resize(&ledger, &pod.uid, &sizes)?;
    let resize = ResizeReport::of(&node.node, &ledger, &sizes, &attempt);
    let outcome = if resize.resized { Outcome::Done } else { Outcome::SomeRefused };
    match format {
        Format::Table => {
            let text = node_output::resize(&resize, screen.page);
            let line = &node.line;
            let head = line.imagined_line(screen.page) + &line.headline(screen.page);
            screen.show(&format!("{head}\n{text}"))?;
        }
        Format::Json | Format::Yaml => {
            let content = Resize::new(&node.line, resize);
            let document = Document::new("Resize", content).of(&node.line.rules_of).text(format)?;
            screen.print(&document.unwrap_or_default())?;
        }
    }
    Ok(outcome)
}

/// The running pod that is meant: by namespace and name, by name alone, or by UID.
fn found<'l>(ledger: &'l Ledger, name: &str) -> anyhow::Result<&'l Pod> {
    let is_meant = |pod: &&Pod| {
        pod.name == name || pod.uid.as_str() == name || format!("{}/{}", pod.namespace, pod.name) == name
    };
    let mut pods = ledger.pods().filter(is_meant);
    match (pods.next(), pods.next()) {
        (Some(pod), None) => Ok(pod),
        (Some(first), Some(second)) => bail!(
            "--resize: {name} is the name of {}/{} and of {}/{}: write the namespace too",
            first.namespace,
            first.name,
            second.namespace,
            second.name
        ),
        (None, _) => {
            bail!("--resize: no pod {name} runs on this node; --state and --pods say which do")
        }
    }
}

fn read_sizes(pod: &Pod, words: &[String]) -> anyhow::Result<Sizes> {
    let mut sizes = Sizes::default();
    for word in words {
        let (what, amount) = word
            .split_once('=')
            .with_context(|| format!("--resize: expected cpu=AMOUNT or memory=AMOUNT, found {word:?}"))?;
        // Names of containers have no dot.
        let (container, resource) = match what.rsplit_once('.') {
            Some((container, resource)) => (Some(container), resource),
            None => (None, what),
        };
        if !matches!(resource, "cpu" | "memory") {
            bail!("--resize: {resource} cannot be resized; cpu and memory can");
        }
        let amount = quantity(amount).with_context(|| format!("--resize: {what}"))?;
        let container = match container {
            Some(name) => named(pod, name)?,
            None => only(pod)?,
        };
        sizes.set(pod, container, &ResourceName::new(resource), &amount);
    }
    Ok(sizes)
}

/// `NAMESPACE/NAME`, or the UID of a pod that only state files list.
fn called(pod: &Pod) -> String {
    if pod.namespace.is_empty() { pod.name.clone() } else { format!("{}/{}", pod.namespace, pod.name) }
}

fn named<'p>(pod: &'p Pod, name: &str) -> anyhow::Result<&'p Container> {
    let known = pod.containers.iter().find(|container| container.name.as_str() == name);
    known.with_context(|| {
        let names: Vec<&str> = pod.containers.iter().map(|container| container.name.as_str()).collect();
        format!("--resize: pod {} has no container {name}; it has {}", called(pod), names.join(", "))
    })
}

/// The one container that can be meant where none is named.
fn only(pod: &Pod) -> anyhow::Result<&Container> {
    let mut resizable = pod.containers.iter().filter(|container| container.role != Role::Init);
    match (resizable.next(), resizable.next()) {
        (Some(container), None) => Ok(container),
        (Some(first), Some(_)) => bail!(
            "--resize: pod {} has several containers: name one, as in {}.cpu=AMOUNT",
            called(pod),
            first.name
        ),
        (None, _) => {
            bail!("--resize: pod {} has no container that can be resized", called(pod))
        }
    }
}
