//! `topolet diagnose`: what is wrong with the nodes of a support bundle.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use node_input::{DiagnosisOf, diagnose};
use node_output::{Document, RefusalDepth, diagnosis};

use crate::arguments::OutputArguments;
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
    #[command(flatten)]
    output: OutputArguments,
}

pub(super) fn run(arguments: &DiagnoseArguments, screen: Screen) -> anyhow::Result<Outcome> {
    let DiagnoseArguments { paths, only_node, pod, output } = arguments;
    let bundle = support_bundle::read(paths)?;
    let of = DiagnosisOf { node: only_node.clone(), pod: pod.clone() };
    let found = diagnose(bundle, &of)?;
    if let Some(text) = Document::new("Diagnosis", &found).text(output.output)? {
        screen.print(&text)?;
    } else {
        let depth = if pod.is_some() { RefusalDepth::Full } else { RefusalDepth::Short };
        screen.show(&diagnosis(&found, depth, screen.page))?;
    }
    Ok(if found.is_wrong() { Outcome::SomethingWrong } else { Outcome::Done })
}
