//! `topolet schema`: what documents for programs contain, as JSON Schema, and the HTTP interface, as `OpenAPI`.

use std::collections::BTreeMap;

use anyhow::Context as _;
use clap::Args;
use cluster_overview::ClusterOverview;
use node_output::schema::{Form, document};
use node_output::{
    ClaimCheck, Comparison, ConfigCheck, DecisionSummary, Decisions, Diagnosis, Explanations, MachineView,
    Machines, NodeOutlook, NodeStatus, PendingPod, PodOutlook, Resize, Shown, StateCheck, StateRepair,
    UpgradeCheck,
};
use scenario_runs::{FoundMax, Report};
use topology_manifest::INPUT_SCHEMAS;

use crate::outcome::Outcome;
use crate::screen::Screen;

#[derive(Args, Debug)]
pub(crate) struct SchemaArguments {
    /// The kind of the documents, as their `kind` has it. Without one all kinds are listed, and which command writes or reads them.
    #[arg(value_name = "KIND", conflicts_with = "openapi")]
    kind: Option<String>,
    /// The HTTP interface of `topolet serve`, as OpenAPI 3.1: what it answers at /openapi.json.
    #[arg(long)]
    openapi: bool,
}

/// What commands print by themselves.
const FORMS: [Form; 20] = [
    Form::new::<Decisions<'static>>("Decisions", "admit"),
    Form::new::<Explanations<'static>>("Explanation", "explain"),
    Form::new::<Resize<'static>>("Resize", "explain --resize"),
    Form::new::<DecisionSummary<'static>>("DecisionSummary", "admit --summary"),
    Form::new::<Comparison>("Comparison", "diff"),
    Form::new::<ClaimCheck>("ClaimCheck", "claim check"),
    Form::new::<ConfigCheck>("ConfigCheck", "config check"),
    Form::new::<Report>("Simulation", "simulate"),
    Form::new::<FoundMax>("FoundMax", "simulate --find-max"),
    Form::new::<MachineView>("Topology", "topology"),
    Form::new::<Machines>("Machines", "topology --list"),
    Form::new::<Shown>("State", "state show"),
    Form::new::<StateCheck<'static>>("StateCheck", "state check"),
    Form::new::<StateRepair<'static>>("StateRepair", "state repair"),
    Form::new::<NodeStatus>("NodeStatus", "status"),
    Form::new::<Diagnosis>("Diagnosis", "diagnose"),
    Form::new::<UpgradeCheck<'static>>("UpgradeCheck", "upgrade check"),
    Form::new::<PodOutlook>("PodOutlook", "kubectl explain, where no agent answers"),
    Form::new::<NodeOutlook>("NodeOutlook", "kubectl node, where no agent answers"),
    Form::new::<ClusterOverview>("NodesOverview", "kubectl nodes"),
];

/// What people write, and which command reads it.
const READ: [(&str, &str); 2] =
    [("Scenario", "simulate --filename"), ("TopoletConfiguration", "--topolet-config of any command")];

/// Of a pod without a node there is little to tell.
const PENDING: Form = Form::new::<PendingPod>("PendingPod", "kubectl explain, of a pod without a node");

/// The forms of each kind.
fn kinds() -> BTreeMap<&'static str, Vec<Form>> {
    let mut kinds = BTreeMap::<_, Vec<Form>>::new();
    for form in FORMS.into_iter().chain([PENDING]).chain(node_daemon::forms()) {
        let forms = kinds.entry(form.kind).or_default();
        // What a daemon and a command write of the same type is one form.
        if !forms.iter().any(|other| other.is_same(&form)) {
            forms.push(form);
        }
    }
    kinds
}

pub(super) fn run(arguments: &SchemaArguments, screen: Screen) -> anyhow::Result<Outcome> {
    let kinds = kinds();
    let text = match &arguments.kind {
        _ if arguments.openapi => format!("{:#}\n", node_daemon::openapi()),
        Some(kind) => {
            let written = kinds.get(kind.as_str()).map(|forms| format!("{:#}\n", document(forms)));
            let read = || {
                INPUT_SCHEMAS.iter().find(|(name, _)| name == kind).map(|(_, schema)| (*schema).to_owned())
            };
            written.or_else(read).with_context(|| {
                format!("no document is of kind {kind:?}: `topolet schema` lists the kinds that there are")
            })?
        }
        None => {
            let head = ["KIND", "WRITTEN OR READ BY"].map(str::to_owned).to_vec();
            let read = READ.map(|(kind, by)| vec![kind.to_owned(), format!("read by {by}")]);
            let rows = kinds.iter().map(|(kind, forms)| {
                let from: Vec<&str> = forms.iter().map(|form| form.from).collect();
                vec![(*kind).to_owned(), from.join("; ")]
            });
            screen.page.columns(std::iter::once(head).chain(rows).chain(read), "")
        }
    };
    screen.print(&text)?;
    Ok(Outcome::Done)
}
