//! What is wrong with the nodes of a support bundle: their configurations, their state files, and pods that were refused.
//!
//! Each part of a node is taken from where the bundle has it, and what it lacks is listed with the command that gives it. A question
//! whose parts are missing is left open; the others are answered.

mod machine;
mod kubelet;
mod residents;
mod decides;
mod found;
mod refused;
mod anonymous;

use std::collections::BTreeSet;
use std::sync::Arc;

use distribution_config::Distribution;
use kubelet_checkpoint::claims::ClaimsFile;
use node_config::{DecidedBy, KubeletConfiguration};
use node_output::{
    ConfigDiagnosis, DiagnosedPath, Diagnosis, FailedStart, NamedRelease, NodeDiagnosis, SightedBy, Sighting,
    StateDiagnosis,
};
use node_state::{FindingLine, Problem, Restart, RestartOutcome, against_start_error};
use pod_claims::ClusterObjects;
use support_bundle::{Bundle, BundlePath, BundlePod, Document, DocumentKind, NodeEvidence, StateName};
use topology_model::KubeletView;

pub use self::anonymous::{Anonymised, NameKind, Names, anonymised, differences};
use self::decides::Decides;
pub use self::decides::Pictures;
use self::kubelet::FoundKubelet;
use self::machine::FoundMachine;
use self::refused::Refusals;
use self::residents::{BoundPods, FoundResidents};
use crate::checked_config::{ConfigAdvice, ConfigSubject};
use crate::claims_beside::ClaimsBeside;
use crate::found_config::FoundConfig;
use crate::kubelet_flags::FlagRefusal;
use crate::kubelet_version::KubeletVersion;
use crate::machine::LoadedMachine;
use crate::memory::must_be_known_by as memory_must_be_known_by;
use crate::node::{LoadedNode, configuration_to_check};
use crate::object_text::ObjectText;
use crate::packed::{Packed, Running, Source};
use crate::residents::Residents;
use crate::source::Resident;
use crate::sources::{IdentitySource, MachineSource, ResidentsSource, RulesSource};

/// Which nodes and pods of a bundle are looked at.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DiagnosisOf {
    /// The name of a node; `None`: each.
    pub node: Option<String>,
    /// Refused pods of this name, or `NAMESPACE/NAME`; `None`: each.
    pub pod: Option<String>,
    /// Whether decisions are drawn too.
    pub pictures: Pictures,
}

/// What a bundle tells of its nodes.
///
/// # Errors
/// It has no node that is asked for.
pub fn diagnose(bundle: Bundle, of: &DiagnosisOf) -> anyhow::Result<Diagnosis> {
    let Bundle { paths, nodes, configurations, claims, zones, unbound, mut remarks } = bundle;
    let bundles = paths.into_iter().map(|BundlePath { path, form, files }| DiagnosedPath {
        path,
        form: form.to_string(),
        files,
    });
    let bundles = bundles.collect();
    if let [first, ..] = unbound.as_slice() {
        let (count, pod) = (unbound.len(), &first.pod);
        let pods = if count == 1 { "1 pod is".to_owned() } else { format!("{count} pods are") };
        remarks.push(format!(
            "{pods} bound to no node and not looked at, such as {}/{}; `topolet admit -f` decides on them",
            pod.namespace, pod.name
        ));
    }
    let names: Vec<String> = nodes.iter().filter_map(|node| node.name.clone()).collect();
    if let Some(wanted) = &of.node {
        anyhow::ensure!(
            names.contains(wanted),
            "--node: the bundle has no node {wanted}; it has {}",
            if names.is_empty() { "none with a name".to_owned() } else { names.join(", ") }
        );
    }
    let objects = match ObjectText::objects(&claims.into_iter().map(text_of).collect::<Vec<_>>()) {
        Ok(objects) => objects,
        Err(error) => {
            remarks.push(format!("claims of devices are not looked at: {error:#}"));
            ClusterObjects::default()
        }
    };
    let bound: BoundPods = nodes
        .iter()
        .flat_map(|node| node.pods.iter().map(move |pod| (pod, node.name.clone().unwrap_or_default())))
        .map(|(BundlePod { pod, .. }, node)| ((pod.namespace.clone(), pod.name.clone()), node))
        .collect();
    let (mut looked_into, mut other_nodes) = (Vec::new(), Vec::new());
    for node in nodes {
        let is_wanted = of.node.as_ref().is_none_or(|wanted| node.name.as_ref() == Some(wanted));
        if !is_wanted {
            continue;
        }
        let refusals = Refusals::of(&node, of.pod.as_deref());
        if !node.has_files() && refusals.is_empty() && of.node.is_none() {
            other_nodes.extend(node.name);
            continue;
        }
        if of.pod.is_some() && refusals.is_empty() {
            continue;
        }
        let foreign = FoundResidents::of_other_nodes(&node, &bound);
        let mut diagnosis = of_node(node, refusals, &configurations, &zones, &objects, of.pictures);
        diagnosis.contradictions.extend(foreign);
        looked_into.push(diagnosis);
    }
    if let Some(pod) = of.pod.as_ref().filter(|_| looked_into.is_empty()) {
        anyhow::bail!("--pod: the bundle tells of no refusal of a pod {pod}");
    }
    if names.is_empty() && looked_into.is_empty() && remarks.is_empty() {
        remarks.push(
            "nothing in it tells of a node: expected a must-gather, a sosreport, a `kubectl cluster-info dump`, or files such as \
             lscpu, kubelet.yaml, cpu_manager_state, pods.yaml and kubelet.log"
                .to_owned(),
        );
    }
    Ok(Diagnosis { bundles, remarks, nodes: looked_into, other_nodes })
}

fn text_of(document: Document) -> ObjectText {
    ObjectText::named(document.path, document.text)
}

/// The diagnosis of one node.
fn of_node(
    mut evidence: NodeEvidence,
    refusals: Refusals,
    configurations: &[Document],
    zones: &[Document],
    objects: &ClusterObjects,
    pictures: Pictures,
) -> NodeDiagnosis {
    let mut notes = Vec::new();
    let mut contradictions = std::mem::take(&mut evidence.contradictions);
    let machine = FoundMachine::of(&mut evidence, zones, &mut notes);
    let kubelet = FoundKubelet::of(&evidence, configurations, &mut notes, &mut contradictions);
    let residents = FoundResidents::of(&evidence, &mut notes);
    let version = kubelet.version;
    notes.extend(version.and_then(|version| version.doubt("the kubelet")).map(|doubt| doubt.text));
    let mut diagnosis = NodeDiagnosis {
        name: evidence.name.clone(),
        kubelet: NamedRelease {
            rules_of: format!("v{}", version.unwrap_or(KubeletVersion::DEFAULT).version()),
            named_by: version.unwrap_or(KubeletVersion::DEFAULT).named_by().to_string(),
        },
        found: Vec::new(),
        missing: Vec::new(),
        contradictions: Vec::new(),
        notes: Vec::new(),
        node: None,
        configuration: None,
        state: None,
        failed_starts: failed_starts(&evidence),
        refused: Vec::new(),
    };
    let part = found::parts(&evidence, machine.as_ref(), &kubelet, &residents);
    (diagnosis.found, diagnosis.missing) = part;
    let answer = match machine {
        Some(FoundMachine { machine, .. }) => {
            let question = Question { evidence: &evidence, kubelet, residents, objects };
            question.answer(machine, &mut diagnosis, &mut notes, &mut contradictions)
        }
        None => Err("its machine is not known".to_owned()),
    };
    let answer = answer.map_err(|why| without_options(&why));
    diagnosis.refused = refusals.decided(&evidence, answer.as_ref().map_err(String::as_str), pictures);
    let mut known = BTreeSet::new();
    let notes = notes.into_iter().map(|note| without_options(&note));
    diagnosis.notes = notes.filter(|note| known.insert(note.clone())).collect();
    diagnosis.contradictions = contradictions;
    diagnosis
}

/// What is to be answered of a node whose machine is known.
struct Question<'e> {
    evidence: &'e NodeEvidence,
    kubelet: FoundKubelet,
    residents: FoundResidents,
    objects: &'e ClusterObjects,
}

impl Question<'_> {
    /// Answers what can be answered. The error says why nothing can be decided there.
    fn answer(
        self,
        machine: LoadedMachine,
        diagnosis: &mut NodeDiagnosis,
        notes: &mut Vec<String>,
        contradictions: &mut Vec<String>,
    ) -> Result<Decides, String> {
        let Self { evidence, kubelet, residents, objects } = self;
        let machine = packed(machine, &kubelet, &residents, objects);
        let shown = |error: anyhow::Error| format!("{error:#}");
        let given = ResidentsSource::default();
        let annotated = evidence.object.as_ref().and_then(|object| object.value.machine_config.as_ref());
        let distribution = annotated.map(|_| Distribution::OpenShift);
        let rules = RulesSource { kubelet: kubelet.version, distribution, ..RulesSource::default() };
        let rules =
            rules.of_node(&IdentitySource::default(), &given, machine.packed.as_deref()).map_err(shown)?;
        if let Some(version) = rules.kubelet {
            diagnosis.kubelet = NamedRelease {
                rules_of: format!("v{}", version.version()),
                named_by: version.named_by().to_string(),
            };
        }
        let view = machine.view_to_check().map_err(shown)?;
        let mut in_its_place = None;
        if machine.has_configuration(&rules) {
            let refused_flag = kubelet.refused_flag(rules.kubelet_rules());
            if refused_flag.is_some() {
                notes.push(
                    "the kubelet does not start with its flags: state files and refused pods are judged without the one that it refuses"
                        .to_owned(),
                );
            }
            match checked(&machine, &view, &rules, refused_flag) {
                Ok(Checked { found, notes: more, startable }) => {
                    diagnosis.configuration = Some(found);
                    notes.extend(more);
                    in_its_place = startable.map(|mended| InItsPlace::of(mended, evidence, &view, &rules));
                    notes.extend(in_its_place.as_ref().map(|other| other.note.clone()));
                }
                Err(error) => notes.push(format!("its configuration is not checked: {}", shown(error))),
            }
        }
        let resident = Resident {
            folder: machine.packed.as_deref().and_then(|packed| packed.state.clone()).unwrap_or_default(),
            names: residents.names.clone(),
            from: "the bundle".to_owned(),
            names_from: None,
            root: None,
        };
        let has_state = !resident.folder.is_empty();
        if has_state {
            contradictions.extend(machine.contradicted_by(&resident.folder));
            match state(&machine, &resident, &rules, in_its_place.as_ref()) {
                Ok(state) => diagnosis.state = Some(state),
                Err(error) => notes.push(format!("its state files are not judged: {}", shown(error))),
            }
        }
        if let Some(fault) = claims_fault(evidence) {
            let state = diagnosis.state.get_or_insert_with(|| StateDiagnosis {
                findings: Vec::new(),
                restart: Restart {
                    outcome: RestartOutcome::DoesNotStart,
                    stopped: None,
                    admitted: 0,
                    refused: Vec::new(),
                    not_known: None,
                },
            });
            state.findings.insert(0, fault);
            state.restart.outcome = RestartOutcome::DoesNotStart;
            state.restart.refused.clear();
        }
        if !machine.has_configuration(&rules) {
            return Err("the configuration of its kubelet is not known".to_owned());
        }
        let devices = residents.devices.clone();
        let change = |config: &mut KubeletConfiguration| InItsPlace::put(in_its_place.as_ref(), config);
        let mut node = LoadedNode::changed(&machine, &rules, devices, change).map_err(shown)?;
        if let Some(object) = &evidence.object {
            contradictions.extend(node.contradicted_by(&object.value));
            node = node.with_node_object(object.value.clone());
        }
        let pods = residents.names.specs().values().map(AsRef::as_ref);
        contradictions.extend(node.why_not_its_pods(pods));
        diagnosis.node = Some(node.line.clone());
        let knows_residents = has_state || residents.listed.is_some();
        let known = match residents.listed.as_ref().filter(|_| !has_state) {
            None if has_state => Residents::new(&node, &given, &resident),
            None => Ok(FoundResidents::without_state(&node)),
            Some(listed) => listed
                .resident(&node, &residents.names)
                .and_then(|resident| Residents::new(&node, &given, &resident)),
        };
        let known = known.map_err(|error| innermost(&error))?;
        notes.extend(known.notes.iter().cloned());
        notes.extend(node.hazards.iter().cloned());
        let objects = machine.packed.as_deref().map(|packed| packed.objects.clone()).unwrap_or_default();
        Ok(Decides { node, residents: known, knows_residents, objects })
    }
}

/// A text without the options of other commands that give what it lacks: a bundle has files in their place, which are named.
fn without_options(text: &str) -> String {
    if let Some((what, _)) = text.split_once("; --config") {
        return format!("{what}; put it beside the other files, as kubelet.yaml or configz.json");
    }
    if let Some((what, _)) = text.split_once(". Give it with --memory") {
        return format!(
            "{what}; put the outputs of `numactl --hardware` and `cat /proc/meminfo` beside the other files"
        );
    }
    text.split("; --").next().unwrap_or(text).to_owned()
}

/// The innermost cause of an error, in its first line: those around it name options that a bundle has not.
fn innermost(error: &anyhow::Error) -> String {
    error.root_cause().to_string().lines().next().unwrap_or_default().to_owned()
}

/// The machine with what its kubelet keeps, as the bundle has it over what a node file has.
fn packed(
    machine: LoadedMachine,
    kubelet: &FoundKubelet,
    residents: &FoundResidents,
    objects: &ClusterObjects,
) -> LoadedMachine {
    let own = machine.packed.as_deref();
    let state = (!residents.state.is_empty()).then(|| residents.state.clone());
    let has_names = residents.names.known().is_some() || !residents.names.specs().is_empty();
    let names = |own: &Packed| if has_names { residents.names.clone() } else { own.pods.clone() };
    let packed = Packed {
        config: kubelet.config.clone().or_else(|| own.and_then(|own| own.config.clone())),
        own_config: None,
        decided_by: DecidedBy::Kubelet,
        running: own.map_or(Running::NotKnown, |own| own.running),
        release: None,
        state: state.or_else(|| own.and_then(|own| own.state.clone())),
        pods: own.map_or_else(|| residents.names.clone(), names),
        devices: own.and_then(|own| own.devices.clone()),
        objects: if objects.is_empty() {
            own.map(|own| own.objects.clone()).unwrap_or_default()
        } else {
            objects.clone()
        },
        source: Source::File,
        gaps: Vec::new(),
    };
    LoadedMachine { packed: Some(Arc::new(packed)), ..machine }
}

/// What findings about state files beside a configuration are called.
const STATE: &str = "state";

/// A configuration that was checked.
struct Checked {
    found: ConfigDiagnosis,
    /// What else has to be known.
    notes: Vec<String>,
    /// With what keeps the kubelet from starting mended, and the fields of that; `None`: nothing does.
    startable: Option<(KubeletConfiguration, Vec<&'static str>)>,
}

/// The configuration that state files and pods are judged by where the kubelet does not start with that of the node: a kubelet ran
/// when it wrote the files and refused the pods.
struct InItsPlace {
    config: KubeletConfiguration,
    note: String,
}

impl InItsPlace {
    /// What the kubelet ran with, where the bundle has that; else the configuration as it is mended.
    fn of(
        mended: (KubeletConfiguration, Vec<&'static str>),
        evidence: &NodeEvidence,
        view: &KubeletView,
        rules: &RulesSource,
    ) -> Self {
        let ran = evidence.of_kind(DocumentKind::Configz).find_map(|document| {
            let found = FoundConfig::new(document.path.clone(), document.text.clone());
            Some((found.read(view.cpus().num_cpus(), rules.reading()).ok()?.config, document.path.clone()))
        });
        let (config, what) = match ran {
            Some((config, path)) => (config, format!("with the configuration that it ran with ({path})")),
            None => (mended.0, format!("with {} as expected below", mended.1.join(" and "))),
        };
        let note = format!(
            "the kubelet does not start with its configuration: state files and refused pods are judged {what}"
        );
        Self { config, note }
    }

    fn put(own: Option<&Self>, config: &mut KubeletConfiguration) {
        if let Some(own) = own {
            config.clone_from(&own.config);
        }
    }
}

/// What is wrong with the configuration.
fn checked(
    machine: &LoadedMachine,
    view: &KubeletView,
    rules: &RulesSource,
    refused_flag: Option<FlagRefusal>,
) -> anyhow::Result<Checked> {
    let rules = RulesSource { decided_by: Some(DecidedBy::Kubelet), ..rules.clone() };
    let (mut read, text) = configuration_to_check(None, machine, view, rules.reading())?;
    // What is not known counts as none, and each reservation would exceed it.
    if let Err(error) = memory_must_be_known_by(machine, &read.config) {
        let why = error.to_string();
        let why = why.split(". ").next().unwrap_or(&why);
        anyhow::bail!("{why}; `numactl --hardware` and /proc/meminfo have it");
    }
    read.refusal = refused_flag.or(read.refusal);
    let notes: Vec<String> = read.notices().map(|notice| notice.text).collect();
    let subject = ConfigSubject {
        machine,
        view,
        rules: &rules,
        residents: &ResidentsSource::default(),
        claims: &ClaimsBeside::default(),
        target: DecidedBy::Kubelet,
    };
    let advice = ConfigAdvice::on(subject, &read, &text)?;
    let document = advice.document("")?;
    // What is wrong with the state files is another answer.
    let findings = document.findings().iter().filter(|finding| finding.field() != STATE).cloned().collect();
    let found = ConfigDiagnosis { configuration: read.shown_name(), findings };
    Ok(Checked { found, notes, startable: advice.startable() })
}

/// What is wrong with the state files, and what the next start does with them.
fn state(
    machine: &LoadedMachine,
    resident: &Resident,
    rules: &RulesSource,
    in_its_place: Option<&InItsPlace>,
) -> anyhow::Result<StateDiagnosis> {
    let change = |config: &mut KubeletConfiguration| InItsPlace::put(in_its_place, config);
    let judged = machine.judge_with(&MachineSource::named(""), resident, rules, None, change)?;
    let findings = judged.findings(resident, &resident.quarantine()?);
    let restart = judged.next_restart(resident);
    let not_known = restart.not_known.as_deref().map(without_options);
    Ok(StateDiagnosis { findings, restart: Restart { not_known, ..restart } })
}

/// What keeps the kubelet from starting with the claims of devices that it has begun to prepare.
fn claims_fault(evidence: &NodeEvidence) -> Option<FindingLine> {
    let file = evidence.state(StateName::Claims)?;
    let error = ClaimsFile::read(&file.text).err()?;
    Some(FindingLine {
        problem: Problem::Unreadable,
        file: StateName::Claims.file_name().to_owned(),
        what: error.to_string(),
        kubelet: "does not start".to_owned(),
        fault: None,
        help: "drain the node, delete the file, and start the kubelet: it prepares the claims of pods again that come then"
            .to_owned(),
    })
}

/// Starts that failed, by the log: of the same error the last one.
fn failed_starts(evidence: &NodeEvidence) -> Vec<FailedStart> {
    let mut all: Vec<FailedStart> = Vec::new();
    for log in &evidence.logs {
        for failure in &log.failures {
            let place = &failure.place;
            let seen = Sighting {
                by: SightedBy::Log,
                file: log.path.clone(),
                line: Some(place.line),
                time: Some(place.time.clone()).filter(|time| !time.is_empty()),
                count: 1,
            };
            if let Some(known) = all.iter_mut().find(|known| known.error == failure.error) {
                known.seen = Sighting { count: known.seen.count + 1, ..seen };
            } else {
                let help = against_start_error(&failure.error).map(|(file, help)| format!("{file}: {help}"));
                all.push(FailedStart { error: failure.error.clone(), seen, help });
            }
        }
    }
    all
}
