//! Which decisions are shown, and which of them as one.

use admission_report::Report;
use anyhow::ensure;
use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use node_input::Asked;
use node_output::{PodGroups, is_not_pinned};
use pod_spec::Pod;

/// Which decisions are shown. All pods are decided on: each is admitted beside those before it.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ShownArguments {
    /// Shows only pods that are not admitted, or that are admitted and share CPUs.
    #[arg(long, value_name = "OUTCOME", value_delimiter = ',')]
    pub(crate) only: Vec<Only>,
    /// Shows only these pods: NAME or NAMESPACE/NAME.
    #[arg(long = "pod", value_name = "NAME")]
    pub(crate) named: Vec<String>,
    /// Shows no pods, only how many had each outcome.
    #[arg(long, conflicts_with_all = ["only", "named", "unfold"])]
    pub(crate) summary: bool,
    /// Shows each pod of a table by itself. Without it pods of one workload with the same outcome are one entry, in which
    /// the first is explained.
    #[arg(long)]
    pub(crate) unfold: bool,
    /// Says below a table what its columns and signs mean.
    #[arg(long)]
    pub(crate) legend: bool,
}

/// An outcome that is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Only {
    /// Refused, or not decided.
    Refused,
    /// The pod is admitted, and a container of it shares CPUs.
    Unpinned,
}

/// Fails if a legend is asked for and `output` is no table.
pub(crate) fn legend_needs_table(output: &impl ValueEnum) -> anyhow::Result<()> {
    let value = output.to_possible_value();
    let name = value.as_ref().map_or("", PossibleValue::get_name);
    ensure!(name == "table", "--legend explains a table, and -o {name} prints none: leave one of them out");
    Ok(())
}

impl ShownArguments {
    /// Fails if a pod that is to be shown is not there.
    pub(crate) fn check(&self, asked: &Asked) -> anyhow::Result<()> {
        for name in &self.named {
            let count = asked.pods.len();
            let pods = if count == 1 { "1 pod is".to_owned() } else { format!("{count} pods are") };
            ensure!(
                asked.pods.iter().any(|pod| is_called(pod, name)),
                "no pod is called {name}: {pods} decided on"
            );
        }
        Ok(())
    }

    /// The first of these options that is given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let Self { only, named, summary, unfold, legend } = self;
        let given = [
            ("--only", !only.is_empty()),
            ("--pod", !named.is_empty()),
            ("--summary", *summary),
            ("--unfold", *unfold),
            ("--legend", *legend),
        ];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(name, _)| name)
    }

    /// Whether a decision is shown.
    pub(crate) fn shows(&self, pod: &Pod, report: &Report) -> bool {
        let is_asked = |only: &Only| match only {
            Only::Refused => !report.is_admitted(),
            Only::Unpinned => is_not_pinned(report),
        };
        !self.summary && (self.only.is_empty() || self.only.iter().any(is_asked)) && self.is_named(pod)
    }

    /// Whether the decision on a pod can be shown, whatever its outcome.
    pub(crate) fn can_show(&self, pod: &Pod) -> bool {
        !self.summary && self.is_named(pod)
    }

    /// Whether the pod is one of those that are named; all are if none is.
    pub(crate) fn is_named(&self, pod: &Pod) -> bool {
        self.named.is_empty() || self.named.iter().any(|name| is_called(pod, name))
    }

    /// The groups that pods are shown in.
    pub(crate) fn groups(&self, asked: &Asked) -> PodGroups {
        let owned = asked.pods.iter().filter(|_| !self.unfold).filter_map(|pod| {
            let owner = asked.owners.get(&pod.uid)?;
            Some((pod.namespace.clone(), owner.to_string()))
        });
        PodGroups::of(owned)
    }
}

/// `name` is NAME or NAMESPACE/NAME.
fn is_called(pod: &Pod, name: &str) -> bool {
    match name.split_once('/') {
        Some((namespace, name)) => pod.namespace == namespace && pod.name == name,
        None => pod.name == name,
    }
}
