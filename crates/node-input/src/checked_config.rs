//! A configuration on a machine, checked, with what is proposed there.

use std::collections::BTreeSet;

use admission_report::Notice;
use anyhow::{Context as _, bail, ensure};
use claim_advice::CpuManager;
use config_advice::{
    Change, DecidedBy, Note, OtherCpus, Severity, Trial, changes, check_beside, flag_of, held_back,
    kubelet_flags, left_out, merge_patch, notes, propose, propose_beside, propose_within, settings,
    startable,
};
use distribution_config::{Distribution, Removal};
use node_config::{ClaimHints, KubeletConfiguration, Rules, parse_bool};
use node_output::{
    ConfigCheck, ConfigFinding, GivenConfig, profile_fields, profile_findings, profile_others,
};
use pod_spec::ResourceName;
use serde_json::{Map, Value, json};
use topology_manifest::{
    ConfigKind, FieldChange, PROFILE_ANNOTATION, Profile, Source, form_fields, patch_kubelet_config,
    patch_object, respelt,
};
use topology_model::KubeletView;

use crate::bottlerocket_settings::with_changes;
use crate::claims_beside::{ClaimsBeside, Pairs};
use crate::configuration;
use crate::devices::DeviceText;
use crate::machine::LoadedMachine;
use crate::node::{inventory_of, options_of};
use crate::packed::Running;
use crate::read_configuration::ReadConfiguration;
use crate::sources::{ResidentsSource, RulesSource};
use crate::state_beside::StateBeside;

/// Where a configuration is checked.
#[derive(Clone, Copy)]
pub struct ConfigSubject<'a> {
    /// The machine.
    pub machine: &'a LoadedMachine,
    /// The same as a kubelet counts it.
    pub view: &'a KubeletView,
    /// What names the rules by which a kubelet reads the configuration.
    pub rules: &'a RulesSource,
    /// What runs there.
    pub residents: &'a ResidentsSource,
    /// Slices and device classes of the node, beside those of a node file.
    pub claims: &'a ClaimsBeside,
    /// The program that is to run with what is proposed.
    pub target: DecidedBy,
}

/// A configuration that was checked, with what is proposed.
pub struct ConfigAdvice<'a> {
    subject: ConfigSubject<'a>,
    read: &'a ReadConfiguration,
    /// The text of the configuration; empty for one that is built in.
    text: &'a str,
    proposal: KubeletConfiguration,
    /// What is read where misspelt fields count as those that were meant; `None`: nothing is misspelt.
    meant: Option<(String, ReadConfiguration)>,
    /// What has to be written into the text, or into what was meant.
    left: Vec<Change>,
    /// What is not proposed since the form has no such fields.
    left_out: Vec<Change>,
    changes: Vec<Change>,
    /// `None`: there is no state, or it was written under another configuration.
    state: Option<StateBeside>,
    /// What excludes each other on the node.
    pairs: Pairs,
    /// The same with what is proposed.
    proposed_pairs: Pairs,
    findings: Vec<ConfigFinding>,
}

impl LoadedMachine {
    /// A configuration that pins containers on the machine under a program, as YAML. `rules` are those by which the program
    /// reads it.
    ///
    /// # Errors
    /// No kubelet could use the machine.
    pub fn proposed_configuration(&self, rules: Rules, target: DecidedBy) -> anyhow::Result<String> {
        let view = KubeletView::new(&self.info)
            .with_context(|| format!("the kubelet could not use machine {}", self.name))?;
        let defaults = KubeletConfiguration { rules, ..KubeletConfiguration::default() };
        Ok(serde_saphyr::to_string(&propose(&defaults, &view, target))?)
    }
}

/// Fields that cannot be judged where the memory that is reserved is not known.
const OPEN: [&str; 5] =
    ["memoryManagerPolicy", "reservedMemory", "systemReserved", "kubeReserved", "evictionHard"];

/// The field that needs distances between NUMA nodes.
const POLICY_OPTIONS: &str = "topologyManagerPolicyOptions";

/// How a `NodeConfig` begins.
const NODE_CONFIG: &str = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\n";

/// A configuration without options that are off: as one the operator is kept from turning on.
fn without_off(mut config: KubeletConfiguration) -> KubeletConfiguration {
    config.cpu_manager_policy_options.retain(|_, value| parse_bool(value) != Some(false));
    config
}

/// The CPUs that are in other lists of a profile than the reserved ones.
fn others(read: &ReadConfiguration) -> OtherCpus {
    read.profile.as_ref().map(profile_others).unwrap_or_default()
}

impl<'a> ConfigAdvice<'a> {
    /// Checks what was `read` of `text`.
    ///
    /// # Errors
    /// The state files cannot be read.
    pub fn on(
        subject: ConfigSubject<'a>,
        read: &'a ReadConfiguration,
        text: &'a str,
    ) -> anyhow::Result<Self> {
        let ConfigSubject { machine, view, rules, residents, claims, target } = subject;
        let meant = subject.meant(read, text);
        let (base, base_text) = meant.as_ref().map_or((read, text), |(text, meant)| (meant, text.as_str()));
        let whole_of = |from: &ReadConfiguration| {
            from.written(propose_beside(&from.proposed_from(), view, target, &others(from)))
        };
        let mut whole = whole_of(base);
        // With another policy the operator sets other fields.
        let made = subject.made_with_policy(base, base_text, whole.topology_policy());
        whole = made.as_ref().map_or(whole, whole_of);
        let from = made.as_ref().unwrap_or(base);
        let given = from.without_assumed(&whole);
        let proposal = match read.fields {
            Some(fields) => propose_within(fields, &given, &whole, view, target),
            None => whole.clone(),
        };
        let written = read.without_assumed(&whole);
        let mut left = changes(&given, &proposal);
        let left_out = changes(&proposal, &whole);
        let state = match machine.why_unconfigured(rules) {
            None => StateBeside::look(machine, rules, residents, &read.config, &proposal)?,
            // The files were written under another configuration.
            Some(_) => None,
        };
        let changes = changes(&written, &proposal);
        if made.is_some() {
            left.extend(changes.iter().filter(|change| change.field == "topologyManagerPolicy").cloned());
        }
        let (inventory, _) = inventory_of(machine, DeviceText::of(rules)?, view)?;
        let pairs = |config: &KubeletConfiguration| {
            let is_static = config.cpu_policy() == "static";
            let cpus = if is_static { CpuManager::Static } else { CpuManager::None };
            let resources = inventory.resources().map(ResourceName::as_str);
            claims.pairs(machine.packed.as_deref(), cpus, resources)
        };
        let (pairs, proposed_pairs) = (pairs(&read.config), pairs(&proposal));
        let findings = Vec::new();
        let mut advice = Self {
            subject,
            read,
            text,
            proposal,
            meant,
            left,
            left_out,
            changes,
            state,
            pairs,
            proposed_pairs,
            findings,
        };
        advice.findings = advice.find();
        Ok(advice)
    }

    /// Whether anything is wrong with the configuration or the state beside it.
    #[must_use]
    pub const fn is_wrong(&self) -> bool {
        !self.findings.is_empty()
    }

    /// The configuration with all that keeps a kubelet from starting mended as it is proposed, and the fields of that; `None`: nothing
    /// keeps it from starting, or what does is not mended so.
    pub(crate) fn startable(&self) -> Option<(KubeletConfiguration, Vec<&'static str>)> {
        let Self { subject: ConfigSubject { view, .. }, read, proposal, .. } = self;
        startable(&read.config, proposal, view).filter(|(_, fields)| !fields.is_empty())
    }

    /// The configuration as it is written.
    #[must_use]
    pub fn given(&self) -> GivenConfig<'a> {
        // A file of the kubelet within a MachineConfig is not written into it.
        let kind = match self.read.kind {
            ConfigKind::OpenShift if self.whole_file().is_err() => ConfigKind::Part("OpenShift"),
            kind => kind,
        };
        let is_in_form =
            self.read.fields.is_some() && self.read.place.is_some() || self.arguments().is_some();
        let takes_out = kind == ConfigKind::Flags || self.arguments().is_some();
        let loses_flags = takes_out && !self.read.left_out.is_empty();
        GivenConfig { name: &self.read.name, text: self.text, kind, is_in_form, loses_flags }
    }

    /// What is wrong with the configuration, and with the state beside it, the worst first.
    fn find(&self) -> Vec<ConfigFinding> {
        let Self { subject: ConfigSubject { machine, view, target, .. }, read, text, proposal, .. } = self;
        let faults = check_beside(&read.config, proposal, view, *target, &others(read)).into_iter();
        let mut all: Vec<ConfigFinding> = faults.map(|fault| ConfigFinding::new(fault, text)).collect();
        // With nothing else reserved it would not start.
        let is_open = |finding: &&ConfigFinding| {
            finding.severity() == Severity::Refused
                && (finding.field() == "reservedSystemCPUs" || OPEN.contains(&finding.field()))
        };
        let open = all.iter().find(is_open).filter(|_| read.is_over_unknown()).cloned();
        all.retain(|finding| open.is_none() || !is_open(&finding));
        if read.leaves_memory_open() {
            all.retain(|finding| !OPEN.contains(&finding.field()));
        } else if read.may_reserve_more().is_some() {
            all.retain(|finding| {
                finding.field() != "reservedMemory" || finding.severity() != Severity::Refused
            });
        }
        if let Some(refusal) = &read.refusal {
            let flags =
                refusal.all().map(|one| ConfigFinding::of_flag(one.severity, &one.warning(), &read.name));
            all.splice(0..0, flags);
        }
        // After what keeps the kubelet from starting.
        let refused = all.iter().filter(|finding| finding.severity() == Severity::Refused).count();
        let unread = read.unread.iter().map(|warning| ConfigFinding::not_known(warning, &read.name));
        let not_known =
            read.start_not_known().map(|why| ConfigFinding::start_not_known("reservedMemory", why, text));
        let beneath = open.map(|finding| {
            let way_out = read.may_reserve_more().map(|way_out| format!("; {way_out}")).unwrap_or_default();
            let why = format!(
                "whether the kubelet starts, since what lies beneath may reserve more; with no more it fails: {}{way_out}",
                finding.text()
            );
            ConfigFinding::start_not_known(finding.field(), why, text)
        });
        let distances = machine.checked_without_distances(&read.config);
        let distances = distances.map(|why| ConfigFinding::start_not_known(POLICY_OPTIONS, why, text));
        let without_effect =
            read.warnings.iter().map(|warning| ConfigFinding::without_effect(warning, &read.name));
        all.splice(
            refused..refused,
            unread.chain(not_known).chain(beneath).chain(distances).chain(without_effect),
        );
        if let Some(profile) = &read.profile {
            all.extend(profile_findings(profile, proposal, view));
        }
        let pairs = self.pairs.found.iter();
        all.extend(pairs.map(|pair| ConfigFinding::of_pair(pair, text)));
        all.extend(self.claim_hints_of_kubelet());
        if let Some(state) = &self.state {
            state.add_to(&mut all, refused);
        }
        all
    }

    /// That the node's options have CPUs and memory follow claims, and a kubelet is to decide.
    fn claim_hints_of_kubelet(&self) -> Option<ConfigFinding> {
        let ConfigSubject { machine, rules, target, .. } = self.subject;
        let options = options_of(machine, rules).ok()?;
        (options.claim_hints == ClaimHints::Hint && target == DecidedBy::Kubelet).then(|| {
            let text =
                "a kubelet asks no claims for hints: what it admits is decided without them".to_owned();
            ConfigFinding::of_option(
                "devices.claims",
                text,
                "--for topolet, where topolet serve is to decide",
            )
        })
    }

    /// The given text with the changes made in place; of one that is built in, all that decides.
    ///
    /// # Errors
    /// The changes cannot be written into the text.
    pub fn whole_file(&self) -> anyhow::Result<String> {
        let Self { read, .. } = self;
        let (name, text) = (&read.name, self.meant_text());
        ensure!(
            read.kind != ConfigKind::Flags,
            "--propose: {name} has flags of a kubelet, and not its configuration: without --propose the flags are listed as they should be",
        );
        if text.is_empty() {
            return Ok(serde_saphyr::to_string(&self.proposal)?);
        }
        if read.kind == ConfigKind::Bottlerocket {
            return self.whole_settings(text);
        }
        let otherwise = match read.kind {
            ConfigKind::OpenShift => "without --propose the changes are listed",
            ConfigKind::Part(_) if read.fields.is_some() => "without --propose the fields are listed",
            _ => "--drop-in prints the changes alone, which need not be written into it",
        };
        if let Some(profile) = &read.profile {
            return self.whole_profile(profile, text);
        }
        if let Some(arguments) = self.arguments() {
            let patched = patch_object(&Source { name, text }, &arguments)
                .with_context(|| format!("failed to write the proposal into {name}; {otherwise}"))?;
            return self.read_alike(patched, otherwise);
        }
        let change = |change: &Change| FieldChange { field: change.field.clone(), value: change.to.clone() };
        let changes: Vec<FieldChange> = self.left.iter().map(change).collect();
        let patched = patch_kubelet_config(&Source { name, text }, &changes)
            .with_context(|| format!("failed to write the proposal into {name}; {otherwise}"))?;
        self.read_alike(patched, otherwise)
    }

    /// A text, which has to be read as what is proposed.
    fn read_alike(&self, patched: String, otherwise: &str) -> anyhow::Result<String> {
        let Self { read, proposal, changes, .. } = self;
        if serde_json::to_value(self.again(&patched)?)? != serde_json::to_value(proposal)? {
            let flags = read.flags_over(changes.iter().map(|change| change.field.as_str()));
            let why = flags.unwrap_or_else(|| format!("it would be read otherwise; {otherwise}"));
            bail!("failed to write the proposal into {}: {why}", read.name);
        }
        Ok(patched)
    }

    /// The proposal as the `kubelet-arg` of a file of k3s or RKE2 that has some; `None`: it is none.
    fn arguments(&self) -> Option<Value> {
        let Self { read, text, changes, .. } = self;
        let is_one = matches!(read.kind, ConfigKind::K3s | ConfigKind::Rke2);
        let line = text.lines().find(|line| is_one && line.starts_with("kubelet-arg"))?;
        let key = line.split(':').next()?;
        let changed: Vec<&str> = changes.iter().filter_map(|change| flag_of(&change.field)).collect();
        let name =
            |flag: &str| flag.trim_start_matches('-').split('=').next().unwrap_or_default().replace('_', "-");
        let kept = read.arguments.iter().filter(|flag| !changed.contains(&name(flag).as_str())).cloned();
        let flags = kubelet_flags(changes);
        let new = flags.lines().filter(|line| line.starts_with("--")).map(|line| line.replace('\'', ""));
        let list: Vec<String> =
            kept.chain(new).map(|flag| flag.trim_start_matches("--").to_owned()).collect();
        Some(json!({key: list}))
    }

    /// The given profile with the proposed lists of CPUs, policy and annotation in place.
    fn whole_profile(&self, profile: &Profile, text: &str) -> anyhow::Result<String> {
        let Self { subject: ConfigSubject { view, .. }, read, proposal, left, .. } = self;
        let name = &read.name;
        let failed =
            || format!("failed to write the proposal into {name}; without --propose the fields are listed");
        let fields = profile_fields(profile, proposal, left, view);
        if fields.as_object().is_none_or(Map::is_empty) {
            return Ok(text.to_owned());
        }
        let patched = patch_object(&Source { name, text }, &fields).with_context(failed)?;
        ensure!(
            serde_json::to_value(without_off(self.again(&patched)?))?
                == serde_json::to_value(without_off(proposal.clone()))?,
            "failed to write the proposal into {name}: the operator would make another configuration of it; without --propose \
             the fields are listed"
        );
        Ok(patched)
    }

    /// The given settings of Bottlerocket with the changes made in place.
    fn whole_settings(&self, text: &str) -> anyhow::Result<String> {
        let Self { read, proposal, left, .. } = self;
        let failed = || {
            let name = &read.name;
            format!("failed to write the proposal into {name}; without --propose the settings are listed")
        };
        let patched = with_changes(text, left).with_context(failed)?;
        let again = serde_json::to_value(self.again(&patched)?)?;
        ensure!(again == serde_json::to_value(proposal)?, "{}: it would be read otherwise", failed());
        Ok(patched)
    }

    /// Another text in the place of the given one, as a kubelet reads it.
    fn again(&self, text: &str) -> anyhow::Result<KubeletConfiguration> {
        Ok(self.subject.read(self.read, text)?.config)
    }

    /// The given text, in which fields are spelt as they were meant.
    fn meant_text(&self) -> &str {
        self.meant.as_ref().map_or(self.text, |(text, _)| text)
    }

    /// What is wrong in the file that [`whole_file`](Self::whole_file) made, since nothing is known that would mend it.
    ///
    /// # Errors
    /// The file or state files cannot be read.
    pub fn left_wrong(&self, file: &str) -> anyhow::Result<Vec<Notice>> {
        let read = self.subject.read(self.read, file)?;
        let advice = ConfigAdvice::on(self.subject, &read, file)?;
        let is_wrong = |finding: &&ConfigFinding| {
            finding.field() != "state"
                && matches!(
                    finding.severity(),
                    Severity::Refused | Severity::Harmful | Severity::WithoutEffect
                )
        };
        let left = advice.findings.iter().filter(is_wrong);
        Ok(left
            .map(|finding| {
                Notice::warning(format!("not mended by --propose: {}: {}", finding.field(), finding.text()))
            })
            .collect())
    }

    fn rules(&self) -> Rules {
        self.subject.rules.kubelet_rules()
    }

    /// The changed fields alone, as a file of the kubelet's drop-in folder.
    ///
    /// # Errors
    /// An operator of OpenShift writes the kubelet's files.
    pub fn drop_in(&self) -> anyhow::Result<String> {
        let name = &self.read.name;
        ensure!(
            self.read.kind != ConfigKind::PerformanceProfile,
            "--drop-in: {name} is a PerformanceProfile, of which OpenShift's node tuning operator makes the kubelet's configuration: without --drop-in its fields and its annotation are listed as they should be",
        );
        ensure!(
            self.read.kind != ConfigKind::OpenShift,
            "--drop-in: {name} is a KubeletConfig of OpenShift, whose machine config operator writes the kubelet's files: use --propose, which prints it with the changes in place",
        );
        self.changed_fields()
    }

    /// The kubelet merges it as a JSON merge patch: mappings key by key, lists as a whole, and `null` removes.
    fn changed_fields(&self) -> anyhow::Result<String> {
        let fields = merge_patch(&self.changes);
        let head = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
        let rest = if fields.is_empty() { String::new() } else { serde_saphyr::to_string(&fields)? };
        Ok(format!("{head}{rest}"))
    }

    /// The changed fields where and as a form has them, behind its `head`.
    fn changed_within(&self, head: &str, place: &[impl AsRef<str>]) -> anyhow::Result<String> {
        let fields = json!(form_fields(self.read.kind, merge_patch(&self.changes)));
        let around = place.iter().rev().fold(fields, |fields, key| json!({key.as_ref(): fields}));
        Ok(format!("{head}{}", serde_saphyr::to_string(&around)?))
    }

    /// What is proposed as its users write it.
    ///
    /// # Errors
    /// It cannot be written as YAML.
    pub fn snippet(&self) -> anyhow::Result<String> {
        let Self { subject: ConfigSubject { view, .. }, read, text, proposal, changes, .. } = self;
        Ok(match (read.kind, &read.profile) {
            (ConfigKind::Bottlerocket, _) => settings(changes),
            (ConfigKind::Flags, _) => {
                let left_out = read.left_out.iter().map(|argument| format!("# leave out: {argument}\n"));
                kubelet_flags(changes) + &left_out.collect::<String>()
            }
            (_, Some(profile)) => {
                let fields = profile_fields(profile, proposal, &self.left, view);
                let is_empty = fields.as_object().is_none_or(Map::is_empty);
                if is_empty { String::new() } else { serde_saphyr::to_string(&fields)? }
            }
            _ if text.is_empty() => serde_saphyr::to_string(proposal)?,
            _ if let Some(arguments) = self.arguments() => serde_saphyr::to_string(&arguments)?,
            (ConfigKind::Eks, _) => self.changed_within(NODE_CONFIG, &["spec", "kubelet", "config"])?,
            (ConfigKind::Talos | ConfigKind::TalosControlPlane, _) => {
                self.changed_within("", &["machine", "kubelet", "extraConfig"])?
            }
            (ConfigKind::Part(_), _) if let (Some(_), Some(place)) = (read.fields, &read.place) => {
                self.changed_within("", place)?
            }
            _ => self.changed_fields()?,
        })
    }

    /// The check as a document; `machine` is the argument by which the machine was read.
    ///
    /// # Errors
    /// The proposal cannot be written as JSON.
    pub fn document(&self, machine: &str) -> anyhow::Result<ConfigCheck> {
        let Self { subject, read, proposal, changes, state, findings, .. } = self;
        let mut notes = self.notes();
        let missing = subject.machine.missing_memory(machine);
        let said = findings.iter().map(ConfigFinding::text).chain(notes.iter().map(String::as_str));
        let missing = missing.map(|missing| missing.beside(said));
        notes.extend(missing);
        let rules_of = format!("v{}", self.rules().version);
        let check = ConfigCheck::new(&subject.machine.name, &read.shown_name(), rules_of, subject.target);
        let trial = Trial::of(&read.config, subject.view);
        Ok(check
            .beside(state.as_ref().map(|state| state.beside.clone()))
            .found(findings.clone(), trial)
            .proposing(serde_json::to_value(proposal)?, changes.clone(), notes))
    }

    /// What the user of the proposal has to know beside its changes and the findings.
    fn notes(&self) -> Vec<String> {
        let Self { subject, read, proposal, changes, state, findings, .. } = self;
        let (view, target) = (subject.view, subject.target);
        let held_back = held_back(&read.config, proposal, view, target);
        let left_out = left_out(&read.config, proposal, view, target);
        let is_found = |why: &str| findings.iter().any(|finding| why.ends_with(finding.text()));
        let left_out =
            left_out.iter().filter(|note| !matches!(note, Note::OptionLeftOut { why, .. } if is_found(why)));
        // A hazard that a finding reports is not reported again as one of the proposal.
        let is_said = |note: &&Note| matches!(note, Note::AtRestart(hazard) if findings.iter().any(|own| own.text() == hazard.to_string()));
        let of_proposal = notes(proposal, view, target);
        let at_restart = of_proposal.iter().any(|note| matches!(note, Note::AtRestart(_)));
        let without_option = (at_restart && read.profile.is_some()).then(|| {
            format!(
                "the operator sets full-pcpus-only with single-numa-node: annotation {PROFILE_ANNOTATION}: \
                 '{{\"cpuManagerPolicyOptions\": {{\"full-pcpus-only\": \"false\"}}}}' leaves it out"
            )
        });
        let files = read.base.distribution().map(Distribution::state_files);
        let is_new_at_boot = files.is_some_and(|files| files.memory == Removal::AtBoot);
        let is_open = |note: &Note| match note {
            Note::NoStart { .. } => read.leaves_memory_open(),
            Note::AnotherBoot => is_new_at_boot,
            _ => false,
        };
        let of_proposal = of_proposal.iter().filter(|note| !is_said(note) && !is_open(note));
        let mut notes: Vec<String> =
            held_back.iter().chain(left_out).chain(of_proposal).map(ToString::to_string).collect();
        notes.extend(without_option);
        if let (ConfigKind::Part(form), false) = (read.kind, self.left_out.is_empty()) {
            let fields: Vec<&str> = self.left_out.iter().map(|change| change.field.as_str()).collect();
            let fields = fields.join(", ");
            notes.push(format!(
                "what would pin more is not proposed, since {form} has no fields for it: {fields}"
            ));
        }
        notes.extend(read.written_over(proposal).filter(|_| !changes.is_empty()));
        let of_changes = changes.iter().map(|change| change.field.clone());
        let fields: BTreeSet<String> =
            findings.iter().flat_map(ConfigFinding::fields).chain(of_changes).collect();
        let over = read.flags_over(fields.iter().map(String::as_str));
        notes.extend(over.filter(|_| self.arguments().is_none()));
        notes.extend(state.iter().flat_map(|state| state.notes(changes)));
        let new = self.proposed_pairs.found.iter().filter(|pair| !self.pairs.found.contains(pair));
        notes.extend(new.map(|pair| format!("with the proposal, {pair}; avoided by {}", pair.remedy())));
        notes.extend(self.pairs.gaps.iter().cloned());
        notes
    }
}

impl ConfigSubject<'_> {
    /// A text in the place of the one that was `given`, as a kubelet reads it.
    fn read(self, given: &ReadConfiguration, text: &str) -> anyhow::Result<ReadConfiguration> {
        let (cpus, reading) = (self.view.cpus().num_cpus(), self.rules.reading());
        configuration::from_text(given.file_name(), text.as_bytes(), cpus, reading)?.with_given(reading)
    }

    /// The text, and what is read, with misspelt fields as they were meant; `None`: none is, or it cannot be read so.
    fn meant(self, read: &ReadConfiguration, text: &str) -> Option<(String, ReadConfiguration)> {
        let meant = respelt(&Source { name: read.file_name(), text }, &read.warnings);
        let again = (meant != text).then(|| self.read(read, &meant))?.ok()?;
        Some((meant, again))
    }

    /// What the operator makes of a profile with another policy; `None`: it is no profile, or has this policy.
    fn made_with_policy(
        self,
        read: &ReadConfiguration,
        text: &str,
        policy: &str,
    ) -> Option<ReadConfiguration> {
        let is_other = read.profile.is_some() && read.config.topology_policy() != policy;
        let source = Source { name: &read.name, text };
        let fields = json!({"spec": {"numa": {"topologyPolicy": policy}}});
        let patched = is_other.then(|| patch_object(&source, &fields))?.ok()?;
        self.read(read, &patched).ok().filter(|made| made.config.topology_policy() == policy)
    }
}

impl LoadedMachine {
    /// What is not known of the configuration that the machine has, as long as its kubelet's defaults may be its own.
    ///
    /// # Errors
    /// A kubelet runs there, and nothing of its configuration is known: the defaults are not its own.
    pub fn known_config_gaps(&self) -> anyhow::Result<Vec<Notice>> {
        let gaps = self.config_gaps();
        let runs = self.packed.as_ref().is_some_and(|packed| packed.running == Running::Yes);
        if let Some(gap) = gaps.first().filter(|_| runs && !self.has_configuration(&RulesSource::default())) {
            bail!("{}", gap.text);
        }
        Ok(gaps)
    }
}
