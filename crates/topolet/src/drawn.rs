//! The decision on one pod as a picture: `admit -o svg`, `explain -o svg`.

use anyhow::{Context as _, bail};
use dra_model::Features;
use machine_picture::svg;
use node_input::{Asked, NodeClaims, Sequence, Wholeness};
use node_output::{NodeBefore, decision_picture};
use pod_spec::Pod;
use terminal_text::{Glyphs, Page};
use topology_admission::{Detail, Series, Tries};

use crate::outcome::Outcome;
use crate::question::Question;
use crate::screen::Screen;
use crate::shown::ShownArguments;

/// Decides on the pods in order up to the one that is drawn, and prints its picture.
pub(crate) fn draw(
    question: Question,
    shown: &ShownArguments,
    tries: Tries,
    features: Features,
    screen: Screen,
) -> anyhow::Result<Outcome> {
    let Question { node, residents, asked } = question;
    let drawn = the_pod(&asked, shown)?;
    for warning in &node.warnings {
        screen.warn(warning);
    }
    let page = Page::endless(Glyphs::Unicode);
    let mut lines: Vec<String> = node.line.imagined_words().into_iter().chain(node.first_notes()).collect();
    lines.push(node.line.headline(page).trim_end().to_owned());
    lines.extend(residents.line.clone());
    lines.extend(residents.not_looked_at());
    lines.extend(node.not_looked_at([drawn]));
    lines.extend(node.hazards.iter().cloned());
    let claims = NodeClaims::on(&node, asked.objects.clone(), features);
    lines.extend(claims.notes(&node, &asked.pods));
    let series = Series::new(&node.node, residents.ledger, Detail::Short, tries);
    let sequence = Sequence::new(&node, &asked, series).with_claims(claims);
    let mut sequence = sequence.showing([drawn.uid.clone()]);
    let mut last = None;
    for pod in &asked.pods {
        let decided = sequence.decide_beside(pod)?;
        if pod.uid == drawn.uid {
            last = Some(decided);
            break;
        }
    }
    let (report, before) = last.context("no pod was decided on")?;
    let before = NodeBefore::new(&node.node, &node.cpus, &before);
    screen.print_picture(&svg::decision(&decision_picture(&report, before, lines)), "decision.svg")?;
    Ok(match asked.wholeness {
        Wholeness::Partial => Outcome::Partial,
        Wholeness::Whole if !report.is_admitted() => Outcome::SomeRefused,
        Wholeness::Whole if report.is_decided_otherwise() => Outcome::SomethingWrong,
        Wholeness::Whole => Outcome::Done,
    })
}

/// The one pod that is shown.
fn the_pod<'a>(asked: &'a Asked, shown: &ShownArguments) -> anyhow::Result<&'a Pod> {
    shown.check(asked)?;
    if shown.summary || !shown.only.is_empty() {
        bail!("a picture shows one pod, whatever its outcome: expected no --only and no --summary");
    }
    let named: Vec<&Pod> = asked.pods.iter().filter(|pod| shown.is_named(pod)).collect();
    match named.as_slice() {
        [only] => Ok(only),
        [] => bail!("no pod is decided on, and a picture shows one"),
        [first, ..] => bail!(
            "{} pods are decided on, and a picture shows one: choose it with --pod, as in --pod {}/{}",
            named.len(),
            first.namespace,
            first.name
        ),
    }
}
