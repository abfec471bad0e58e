//! Answers to what the page of `topolet ui` asks beside trials, as the commands of the same names give them.

use std::fmt::Display;
use std::num::NonZeroUsize;

use admission_report::MovesReport;
use anstream::adapter::strip_str;
use anyhow::{Context as _, bail, ensure};
use dra_model::Features;
use node_config::DecidedBy;
use node_http::{AskedMachine, PageAnswer, PageQuestion, PageQuestions, QuestionKind};
use node_input::{
    BeforeUpgrade, ClaimsBeside, ConfigAdvice, ConfigSubject, DeviceText, IdentitySource, KubeletVersion,
    LoadedMachine, LoadedNode, MachineSource, NodeSources, Questions, ReleaseConfigurations, RepackLimits,
    Repacked, ResidentsSource, RulesSource, UpgradeSource, UpgradeWay, cluster_objects,
    configuration_to_check, inventory_of, memory_must_be_known_by, options_of,
};
use node_output::http::{DONE, SOME_REFUSED, SOMETHING_WRONG};
use node_output::{RepackPlans, UpgradeCheck, config_check, manifest_error, quoted_error};
use pod_claims::ClusterObjects;
use pod_spec::{Pod, PodLevelDefaults, PodLevelResources, PodRules};
use release_upgrade::{Subject, Upgrade};
use scenario_runs::{Question, find_max, found_max, found_max_headline};
use terminal_text::Page;
use topology_manifest::{Manifests, PodLimit, Source, UnknownFields, read_manifests_up_to};
use topology_model::KubeletView;

/// What a configuration is called that the page sends.
const GIVEN: &str = "pasted";
/// The most pods in one manifest.
const PODS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(999);
/// The limits of `topolet repack`.
const LIMITS: RepackLimits = RepackLimits { attempts: 5000, moves: 3 };

/// The node that a page shows, for questions about it and about other machines.
pub(super) struct NodeQuestions {
    pub(super) sources: NodeSources,
    pub(super) machine: LoadedMachine,
    /// What names it on a command line.
    pub(super) arguments: Vec<String>,
}

impl PageQuestions for NodeQuestions {
    fn arguments(&self) -> &[String] {
        &self.arguments
    }

    fn answer(&self, question: &PageQuestion) -> anyhow::Result<PageAnswer> {
        let asked = AskedNode::of(self, question)?;
        match question.kind {
            QuestionKind::ConfigCheck => asked.config_check(question),
            QuestionKind::UpgradeCheck => asked.upgrade_check(question),
            QuestionKind::Repack => asked.repack(question),
            QuestionKind::FindMax => asked.find_max(question),
        }
    }
}

/// The machine that a question is about, with its rules and devices.
struct AskedNode {
    machine: LoadedMachine,
    sources: NodeSources,
    devices: Option<DeviceText>,
}

/// What stands before an answer.
struct Told {
    page: Page,
    text: String,
}

impl Told {
    const fn on(page: Page) -> Self {
        Self { page, text: String::new() }
    }

    fn add(&mut self, text: impl Display) {
        let plain = strip_str(text.to_string().trim_end()).to_string();
        // Quoted lines stay as they are.
        let shown = if plain.contains('\n') {
            format!("{plain}\n")
        } else {
            self.page.wrapped(&format!("! {plain}"), 2)
        };
        self.text.push_str(&shown);
    }

    fn add_all(&mut self, texts: impl IntoIterator<Item = impl Display>) {
        for text in texts {
            self.add(text);
        }
    }

    /// The answer below it.
    fn answer(self, outcome: &'static str, text: &str) -> PageAnswer {
        let between = if self.text.is_empty() { "" } else { "\n" };
        PageAnswer { outcome, headline: None, text: format!("{}{between}{text}", self.text) }
    }
}

impl AskedNode {
    fn of(own: &NodeQuestions, question: &PageQuestion) -> anyhow::Result<Self> {
        let empty = |machine: &str| NodeSources {
            machine: MachineSource::named(machine),
            rules: RulesSource::default(),
            identity: IdentitySource::default(),
            residents: ResidentsSource::default(),
        };
        let (mut machine, mut sources) = match &question.machine {
            AskedMachine::This => (own.machine.clone(), own.sources.clone()),
            AskedMachine::BuiltIn(name) => {
                let sources = empty(name);
                (LoadedMachine::load(&sources.machine)?, sources)
            }
            AskedMachine::Sent(machine) => (LoadedMachine::clone(machine), empty(&machine.name)),
        };
        if let Some(text) = &question.configuration {
            machine = machine.configured(GIVEN, text);
            // What is given is the whole configuration.
            let RulesSource { devices, selected, decided_by, topolet_config, .. } = sources.rules;
            sources.rules =
                RulesSource { devices, selected, decided_by, topolet_config, ..RulesSource::default() };
        }
        if let Some(version) = &question.kubelet {
            sources.rules.kubelet = Some(kubelet(version)?);
        }
        let NodeSources { machine: source, rules, identity, residents } = &sources;
        let rules = rules.clone().of_node(identity, residents, machine.packed.as_deref())?;
        let devices = match &question.machine {
            AskedMachine::Sent(_) => None,
            AskedMachine::This | AskedMachine::BuiltIn(_) => DeviceText::on(&rules, source, residents)?,
        };
        Ok(Self { machine, sources: NodeSources { rules, ..sources }, devices })
    }

    fn view(&self) -> anyhow::Result<KubeletView> {
        KubeletView::new(&self.machine.info)
            .with_context(|| format!("the kubelet could not use machine {}", self.machine.name))
    }

    fn node(&self) -> anyhow::Result<LoadedNode> {
        LoadedNode::on(&self.machine, &self.sources.rules, self.devices.clone())?
            .with_identity(&self.sources.identity)
    }

    fn config_check(&self, question: &PageQuestion) -> anyhow::Result<PageAnswer> {
        let (view, mut told) = (self.view()?, Told::on(question.page));
        let NodeSources { machine: source, rules, residents, .. } = &self.sources;
        let given = rules.config.as_deref();
        let (read, text) = configuration_to_check(given, &self.machine, &view, rules.reading())?;
        if let Some(warning) = memory_must_be_known_by(&self.machine, &read.config)? {
            told.add(warning);
        }
        for notice in read.notices().chain(read.counted_here(given, &self.machine, &view)) {
            told.add(notice);
        }
        let subject = ConfigSubject {
            machine: &self.machine,
            view: &view,
            rules,
            residents,
            claims: &ClaimsBeside::default(),
            target: DecidedBy::Kubelet,
        };
        let advice = ConfigAdvice::on(subject, &read, &text)?;
        let outcome = if advice.is_wrong() { SOMETHING_WRONG } else { DONE };
        let checked = advice.document(&source.machine)?;
        let text = config_check(&checked, advice.given(), &advice.snippet()?, question.page);
        Ok(told.answer(outcome, &text))
    }

    fn upgrade_check(&self, question: &PageQuestion) -> anyhow::Result<PageAnswer> {
        let to = question.to.as_deref().context("no release to compare with is named")?;
        let (to, view, mut told) = (kubelet(to)?, self.view()?, Told::on(question.page));
        let NodeSources { rules, identity, residents, .. } = &self.sources;
        let from = rules.kubelet.unwrap_or(KubeletVersion::DEFAULT);
        let configurations = ReleaseConfigurations::read(&self.machine, rules, &view)?;
        let before = UpgradeSource { identity, residents, to, way: UpgradeWay::Restarted };
        let running = BeforeUpgrade::read(&self.machine, rules, self.devices.clone(), before)?;
        let (inventory, not_judged) = inventory_of(&self.machine, self.devices.clone(), &view)?;
        told.add_all(not_judged);
        let written = PodRules {
            defaults: PodLevelDefaults::Nothing,
            ..PodRules::of(&to.rules(), PodLevelResources::Count)
        };
        let (arrivals, _) = pods(&question.manifests, written, &mut told)?;
        let subject = Subject {
            view: &view,
            config: &|rules| configurations.of(rules),
            refused_flag: &|rules| configurations.refused_flag(rules),
            options: &options_of(&self.machine, rules)?,
            identity: running.identity.as_ref(),
            inventory: &inventory,
            folder: running.folder.as_ref(),
            residents: &running.pods,
            arrivals: &arrivals,
        };
        let upgrade = Upgrade::check(&subject, from.version(), to.version());
        let is_changed = upgrade.changes_anything() || running.is_not_started_again;
        let (machine, named_by) = (&self.machine.name, from.named_by().to_string());
        let checked = UpgradeCheck::new(machine, &configurations.name, named_by, running.notes, upgrade);
        let outcome = if is_changed { SOMETHING_WRONG } else { DONE };
        Ok(told.answer(outcome, &checked.text(question.page)))
    }

    fn repack(&self, question: &PageQuestion) -> anyhow::Result<PageAnswer> {
        let (node, mut told) = (self.node()?, Told::on(question.page));
        let (asked, _) = pods(&question.manifests, node.node.pod_rules(), &mut told)?;
        ensure!(!asked.is_empty(), "there is no pod in it");
        let residents = node.residents(&self.sources.residents)?;
        let mut notes: Vec<String> = node.first_notes().chain(residents.not_looked_at()).collect();
        notes.extend(node.not_looked_at(&asked));
        let (quarantined, mut ledger) = (residents.quarantined, residents.ledger);
        let mut reports = Vec::new();
        for pod in &asked {
            let Repacked { report, after } = node.repack(&ledger, pod, &quarantined, LIMITS)?;
            reports.push(report);
            ledger = after;
        }
        let is_admitted = reports.iter().all(MovesReport::is_decided_for);
        let plans = RepackPlans { node: &node.line, notes, pods: reports, applied: None };
        let text = node.line.headline(question.page) + &plans.draw(question.page);
        Ok(told.answer(if is_admitted { DONE } else { SOME_REFUSED }, &text))
    }

    fn find_max(&self, question: &PageQuestion) -> anyhow::Result<PageAnswer> {
        let NodeSources { rules, identity, residents, .. } = &self.sources;
        let mut told = Told::on(question.page);
        let pod_rules = PodRules::of(&rules.kubelet_rules(), PodLevelResources::Count);
        let (asked, objects) = pods(&question.manifests, pod_rules, &mut told)?;
        let Some((pod, _)) = asked.split_first().filter(|(pod, others)| {
            others.iter().all(|other| other.containers == pod.containers && other.resources == pod.resources)
        }) else {
            bail!("this is for one kind of pod, and there are {}", asked.len());
        };
        let found = find_max(
            &Question {
                machine: &self.machine,
                rules,
                devices: self.devices.clone(),
                identity,
                residents,
                objects: &objects,
                features: Features::default(),
            },
            pod,
        )?;
        told.add_all(found.warnings());
        let headline = found_max_headline(&found);
        let outcome = if headline.is_some() { DONE } else { SOMETHING_WRONG };
        Ok(PageAnswer { headline, ..told.answer(outcome, &found_max(&found, question.page)) })
    }
}

fn kubelet(version: &str) -> anyhow::Result<KubeletVersion> {
    version.parse().with_context(|| format!("kubelet {version}"))
}

/// The pods of manifests, with the objects that decide on claims; what is no pod is added to the text before the answer.
fn pods(text: &[u8], rules: PodRules, told: &mut Told) -> anyhow::Result<(Vec<Pod>, ClusterObjects)> {
    if text.trim_ascii().is_empty() {
        return Ok((Vec::new(), ClusterObjects::default()));
    }
    let source = Source::from_bytes("manifest", text).map_err(manifest_error)?;
    let limit = PodLimit::AtMost(PODS);
    let read = read_manifests_up_to(limit, &source, rules, UnknownFields::Refuse).map_err(manifest_error)?;
    let Manifests { pods, failures, refused, skipped, resources, .. } = read;
    if !refused.is_empty() {
        let causes = refused.iter().flat_map(|refusal| &refusal.causes);
        let each: Vec<String> = causes.map(|cause| cause.render(node_output::manifest_style())).collect();
        return Err(quoted_error(each.join("\n")).into());
    }
    told.add_all(&skipped);
    let Questions { pods, left_out, .. } = Questions::of(pods, &failures);
    told.add_all(left_out);
    Ok((pods.into_iter().map(Pod::delivered).collect(), cluster_objects(resources)))
}

#[cfg(test)]
mod tests {
    use node_input::PINNED;
    use terminal_text::Glyphs;

    use super::*;

    const POD: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec: {containers: [{name: c, image: i, resources: {limits: {cpu: 4, memory: 1Gi}}}]}
";
    const CONFIG: &str = "\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
topologyManagerPolicy: single-numa-nod
";

    fn questions() -> NodeQuestions {
        let machine = MachineSource::named("xeon-cxl-4node");
        let loaded = LoadedMachine::load(&machine).unwrap_or_else(|error| panic!("{error:#}"));
        let rules = RulesSource { config: Some(PINNED.to_owned()), ..RulesSource::default() };
        let (identity, residents) = (IdentitySource::default(), ResidentsSource::default());
        let sources = NodeSources { machine, rules, identity, residents };
        NodeQuestions { sources, machine: loaded, arguments: Vec::new() }
    }

    fn asked(
        kind: QuestionKind,
        machine: Option<&str>,
        config: Option<&str>,
        pods: &str,
    ) -> anyhow::Result<PageAnswer> {
        questions().answer(&PageQuestion {
            kind,
            machine: machine.map_or(AskedMachine::This, |name| AskedMachine::BuiltIn(name.to_owned())),
            configuration: config.map(str::to_owned),
            kubelet: Some("1.36".to_owned()),
            to: Some("1.37".to_owned()),
            manifests: pods.as_bytes().to_vec(),
            page: Page { glyphs: Glyphs::Unicode, width: Some(100) },
        })
    }

    #[test]
    fn each_question_is_answered_as_by_its_command() {
        use QuestionKind::{ConfigCheck, FindMax, Repack, UpgradeCheck};
        for (kind, machine, config, pods, outcome, said) in [
            (ConfigCheck, None, None, "", DONE, "xeon-cxl-4node · configuration pinned"),
            (ConfigCheck, None, Some(CONFIG), "", SOMETHING_WRONG, "single-numa-nod"),
            (ConfigCheck, Some("xeon-2s-96cpu-sriov"), Some(CONFIG), "", SOMETHING_WRONG, GIVEN),
            (UpgradeCheck, None, None, POD, DONE, "1.37"),
            (Repack, None, None, POD, DONE, "default/a"),
            (FindMax, Some("xeon-2s-96cpu-sriov"), None, POD, DONE, "single-numa-node"),
        ] {
            let answer =
                asked(kind, machine, config, pods).unwrap_or_else(|error| panic!("{kind:?}: {error:#}"));
            assert_eq!(answer.outcome, outcome, "{kind:?}: {}", answer.text);
            assert!(answer.text.contains(said), "{kind:?}: {}", answer.text);
            let headline =
                (kind == FindMax).then_some("22 fit under restricted, scope container, limited by cpu");
            assert_eq!(answer.headline.as_deref(), headline, "{kind:?}");
        }
    }

    #[test]
    fn bad_input_is_one_error() {
        use QuestionKind::{ConfigCheck, FindMax, Repack};
        for (kind, config, pods, said) in [
            (ConfigCheck, Some("kind: Pod\n"), "", GIVEN),
            (Repack, None, "", "there is no pod in it"),
            (Repack, None, "a: &a [*a, *a", "manifest"),
            (FindMax, None, "", "one kind of pod, and there are 0"),
            (FindMax, Some(CONFIG), POD, "single-numa-nod"),
        ] {
            match asked(kind, None, config, pods) {
                Ok(answer) => panic!("{kind:?}: {}", answer.text),
                Err(error) => assert!(format!("{error:#}").contains(said), "{kind:?}: {error:#}"),
            }
        }
    }
}
