//! `topolet diagnose`: what is wrong with the nodes of a support bundle.

mod anonymise;

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::{Args, ValueHint};
use machine_picture::svg;
use node_input::{DiagnosisOf, Pictures, diagnose};
use node_output::{Diagnosis, Document, RefusalDepth, RefusedPod, diagnosis};

use crate::arguments::{DecisionFormat, DecisionOutputArguments};
use crate::outcome::Outcome;
use crate::screen::Screen;

#[derive(Args, Debug)]
pub(crate) struct DiagnoseArguments {
    /// The bundle: a must-gather, a sosreport, what `kubectl cluster-info dump --output-directory` writes, a file of `topolet capture
    /// --node`, or files such as lscpu.txt, kubelet.yaml, `cpu_manager_state`, pods.yaml and kubelet.log; as folders or as archives
    /// (.tar, .tgz, .tar.xz, .tar.bz2, .tar.zst, .zip), and several of them together. Links are not followed.
    #[arg(value_name = "PATH", required = true, value_hint = ValueHint::AnyPath)]
    paths: Vec<PathBuf>,
    /// Looks at this node alone.
    #[arg(long = "node", value_name = "NODE")]
    only_node: Option<String>,
    /// Explains the refusal of this pod alone, as NAME or NAMESPACE/NAME, with all that led to the decision.
    #[arg(long, value_name = "POD")]
    pod: Option<String>,
    /// Writes a bundle that can be attached to a public issue, FILE.tar.gz, and no diagnosis: `topolet diagnose` decides on it as on
    /// the original. Names, namespaces, UIDs, labels and devices are made up, the same everywhere; amounts, CPUs, policies and
    /// resources of public vendors stay. Environment, arguments, annotations, images, Secrets, and whatever is not understood are
    /// left out.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["only_node", "pod", "output"])]
    anonymise: Option<PathBuf>,
    /// With --anonymise: writes which made-up name stands for which, as JSON that only you can read.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "anonymise")]
    mapping: Option<PathBuf>,
    #[command(flatten)]
    output: DecisionOutputArguments,
}

pub(super) fn run(arguments: &DiagnoseArguments, screen: Screen) -> anyhow::Result<Outcome> {
    let DiagnoseArguments { paths, only_node, pod, anonymise, mapping, output } = arguments;
    if let Some(file) = anonymise {
        return anonymise::run(paths, file, mapping.as_deref(), screen);
    }
    let of = DiagnosisOf { node: only_node.clone(), pod: pod.clone(), pictures: Pictures::None };
    show(paths, of, output.output, screen)
}

/// All about the refusal of one pod: `topolet explain BUNDLE POD`.
pub(super) fn explain(
    bundle: &Path,
    pod: &str,
    output: DecisionFormat,
    screen: Screen,
) -> anyhow::Result<Outcome> {
    let of = DiagnosisOf { pod: Some(pod.to_owned()), ..DiagnosisOf::default() };
    show(&[bundle.to_path_buf()], of, output, screen)
}

fn show(
    paths: &[PathBuf],
    of: DiagnosisOf,
    output: DecisionFormat,
    screen: Screen,
) -> anyhow::Result<Outcome> {
    let bundle = support_bundle::read(paths)?;
    let Some(format) = output.text() else {
        let found = diagnose(bundle, &DiagnosisOf { pictures: Pictures::Drawn, ..of })?;
        screen.print_picture(&svg::decision(drawn(&found)?), "decision.svg")?;
        return Ok(Outcome::SomethingWrong);
    };
    let depth = if of.pod.is_some() { RefusalDepth::Full } else { RefusalDepth::Short };
    let found = diagnose(bundle, &of)?;
    if let Some(text) = Document::new("Diagnosis", &found).text(format)? {
        screen.print(&text)?;
    } else {
        screen.show(&diagnosis(&found, depth, screen.page))?;
    }
    Ok(match found.is_wrong() {
        _ if found.tells_nothing() => Outcome::Partial,
        true => Outcome::SomethingWrong,
        false => Outcome::Done,
    })
}

/// The decision that is drawn: the only one that there is.
fn drawn(found: &Diagnosis) -> anyhow::Result<&svg::Decision> {
    let refused: Vec<&RefusedPod> = found.nodes.iter().flat_map(|node| &node.refused).collect();
    let drawn: Vec<(&RefusedPod, &svg::Decision)> =
        refused.iter().filter_map(|pod| Some((*pod, pod.picture.as_deref()?))).collect();
    match drawn.as_slice() {
        [(_, only)] => Ok(only),
        [] => match refused.first() {
            None => {
                bail!("the bundle tells of no pod that was refused, and a picture shows the decision on one")
            }
            Some(first) => {
                let why = first.not_decided.as_deref().unwrap_or_default();
                bail!("a picture shows a decision, and {} is not decided on: {why}", first.pod)
            }
        },
        [(first, _), ..] => bail!(
            "{} pods were refused, and a picture shows one: choose it with --pod, as in --pod {}",
            drawn.len(),
            first.pod
        ),
    }
}
