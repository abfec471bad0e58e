//! The report on one pod: the decision, the merges behind it, what the containers hold, and notes.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use device_manager::Replies;
use kubelet_fates::Fate;
use kubelet_release::Release;
use pod_spec::{ContainerName, Pod, PodRules, QosClass};
use serde::{Serialize, Serializer};
use topology_admission::{Explanation, OnEmptyNode, Placement, Refused, Tries, Verdict};

use crate::chosen::ChosenRules;
use crate::claim_alignment::{Alignment, ContainerClaim, WhyElsewhere};
use crate::claim_remedy::ClaimRemedy;
use crate::claims::UndecidedClaims;
use crate::conclusion::{Conclusion, Fated};
use crate::container::ContainerReport;
use crate::decided_claims::{DecidedClaims, Unschedulable};
use crate::deferred::Deferred;
use crate::facts::{Facts, full_name};
use crate::faults;
use crate::json;
use crate::kubelet_refusal::{KubeletRefusal, KubeletSaid};
use crate::note::{Note, Remark};
use crate::refusal::Refusal;
use crate::undecided::{Undecided, UnlistedDevices};
use crate::unit::UnitReport;

/// A decision on one pod.
#[derive(Clone, Debug)]
pub struct Report {
    /// Namespace and name; the UID of a pod that only state files list.
    pub pod: String,
    /// What made the pod, as kind and name: `Deployment web`. For the caller to fill in.
    pub owner: Option<String>,
    /// Why its kubelet did not admit it, by its status, if it has one; see [`Report::refused_by_kubelet`].
    pub kubelet_said: Option<KubeletRefusal>,
    /// The pod's class.
    pub qos_class: QosClass,
    /// The rules by which it was decided on, if it has chosen some of them.
    pub rules: Option<ChosenRules>,
    /// The claims of devices that were decided on before its other resources; `None`: it has none, or they were not decided.
    pub claims: Option<DecidedClaims>,
    /// What came out.
    pub conclusion: Conclusion,
    /// The merges in order; the last is the refused one. None under policy `none`.
    pub units: Vec<UnitReport>,
    /// What the pod's owner may not expect.
    pub notes: Vec<Note>,
}

impl Report {
    /// The report on `verdict`, for which plugins had answered `replies`. After a refusal it tries up to
    /// [`Tries::default`] changes to find out what would fit, which takes milliseconds; [`Report::refused`] takes an
    /// explanation that was made before.
    #[must_use]
    pub fn of(facts: &Facts<'_>, verdict: &Verdict, replies: &Replies) -> Self {
        match verdict {
            Verdict::Admitted(placement) => Self::admitted(facts, placement),
            Verdict::Refused(refused) => {
                let Facts { node, before, pod, trace, .. } = *facts;
                let admission = node.admission(before, pod).with(replies);
                let explanation = admission.explain(refused, trace, Tries::default());
                Self::refused(facts, refused, &explanation)
            }
            Verdict::NeedsPlugin(_) => Self::undecided(facts),
        }
    }

    /// The pod may run.
    #[must_use]
    pub fn admitted(facts: &Facts<'_>, placement: &Placement) -> Self {
        let containers = placement.containers.iter().map(|placed| ContainerReport::new(facts, placed));
        let (containers, resources) = (containers.collect(), facts.unlisted());
        let conclusion = match UndecidedClaims::of(facts.pod) {
            _ if !resources.is_empty() => {
                Conclusion::Undecided(Undecided::Devices(UnlistedDevices { resources, containers }))
            }
            None => Conclusion::Admitted(containers),
            Some(claims) => Conclusion::WithoutClaims(containers, claims),
        };
        Self { conclusion, notes: facts.notes(placement), ..Self::undecided(facts) }
    }

    /// The pod may not run.
    #[must_use]
    pub fn refused(facts: &Facts<'_>, refused: &Refused, explanation: &Explanation) -> Self {
        let conclusion = Conclusion::Refused(Refusal::new(facts, refused, explanation));
        Self { conclusion, notes: facts.notes_on_refusal(), ..Self::undecided(facts) }
    }

    /// A device plugin must be asked first: the pod and what was looked at so far.
    #[must_use]
    pub fn undecided(facts: &Facts<'_>) -> Self {
        Self {
            pod: full_name(facts.pod),
            owner: None,
            kubelet_said: None,
            qos_class: facts.pod.qos_class(facts.pod_rules()),
            rules: ChosenRules::of(facts),
            claims: None,
            conclusion: Conclusion::Undecided(Undecided::Plugin),
            units: facts.trace.units.iter().map(|unit| UnitReport::new(facts, unit)).collect(),
            notes: Vec::new(),
        }
    }

    /// Whether the pod may run, and nothing that it asks for is left open.
    #[must_use]
    pub const fn is_admitted(&self) -> bool {
        matches!(self.conclusion, Conclusion::Admitted(_))
    }

    /// Whether the managers have given it what it asks of them: it is admitted, be it without its claims or if there are as many
    /// devices as it takes.
    #[must_use]
    pub const fn is_placed(&self) -> bool {
        matches!(
            self.conclusion,
            Conclusion::Admitted(_)
                | Conclusion::WithoutClaims(..)
                | Conclusion::Undecided(Undecided::Devices(_))
        )
    }

    /// The claims that were not decided on; `None`: it has none, or is not admitted.
    #[must_use]
    pub const fn undecided_claims(&self) -> Option<&UndecidedClaims> {
        match &self.conclusion {
            Conclusion::WithoutClaims(_, claims) => Some(claims),
            _ => None,
        }
    }

    /// Why its claims keep kube-scheduler from placing it on the node; `None`: they do not, or are not decided.
    #[must_use]
    pub const fn unschedulable(&self) -> Option<&Unschedulable> {
        match &self.conclusion {
            Conclusion::Unschedulable(why) => Some(why),
            _ => None,
        }
    }

    /// Whether its kubelet has refused the pod, and the decision here is another.
    #[must_use]
    pub fn is_decided_otherwise(&self) -> bool {
        self.kubelet_said.as_ref().is_some_and(|said| !said.agrees(&self.conclusion))
    }

    /// Why the pod may not run; `None` unless it is refused, be it late.
    #[must_use]
    pub fn refusal(&self) -> Option<&Refusal> {
        let conclusion = match &self.conclusion {
            Conclusion::Fated(fated) if fated.fate.leaves_an_answer() => &fated.then,
            conclusion => conclusion,
        };
        match conclusion {
            Conclusion::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// What the pod waits for; `None` unless it is deferred.
    #[must_use]
    pub const fn deferred(&self) -> Option<&Deferred> {
        match &self.conclusion {
            Conclusion::Deferred(deferred) => Some(deferred),
            _ => None,
        }
    }

    /// A pod that waits: the report has no merges and no notes.
    #[must_use]
    pub fn of_deferred(pod: &Pod, rules: PodRules, deferred: Deferred) -> Self {
        Self {
            pod: full_name(pod),
            owner: None,
            kubelet_said: None,
            qos_class: pod.qos_class(rules),
            rules: None,
            claims: None,
            conclusion: Conclusion::Deferred(deferred),
            units: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// A pod that kube-scheduler does not place here because of its claims.
    #[must_use]
    pub fn of_unschedulable(pod: &Pod, rules: PodRules, claims: DecidedClaims, why: Unschedulable) -> Self {
        Self {
            pod: full_name(pod),
            owner: None,
            kubelet_said: None,
            qos_class: pod.qos_class(rules),
            rules: None,
            claims: Some(claims),
            conclusion: Conclusion::Unschedulable(why),
            units: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// The same pod, whose claims were decided on: it has the devices.
    #[must_use]
    pub fn with_claims(mut self, claims: DecidedClaims) -> Self {
        self.notes.retain(|note| !matches!(note.remark, Remark::ClaimsUndecided(_)));
        let mut conclusion = decided(self.conclusion);
        for container in containers_of(&mut conclusion) {
            container.with_claims(&claims);
        }
        Self { claims: Some(claims), conclusion, ..self }
    }

    /// Adds, for each claim that lies elsewhere than a container's CPUs and memory, what `remedies` finds to align it.
    pub fn add_remedies(
        &mut self,
        mut remedies: impl FnMut(&ContainerName, &ContainerClaim) -> Vec<ClaimRemedy>,
    ) {
        for ContainerReport { name, claimed, .. } in containers_of(&mut self.conclusion) {
            for claim in claimed.iter_mut().filter(|claim| claim.alignment == Alignment::Elsewhere) {
                let found = remedies(name, claim);
                claim.would_align = Some(found);
            }
        }
    }

    /// Adds a note for each claim that lies elsewhere than the containers' CPUs and memory, which can be for this reason, or of which that
    /// is not known.
    pub fn note_claims(&mut self, why: WhyElsewhere) {
        // With equal sentences what aligns them can be another change.
        let mut noted: Vec<(&ContainerClaim, Vec<ContainerName>)> = Vec::new();
        for container in self.containers() {
            for claim in &container.claimed {
                match noted.iter_mut().find(|(other, _)| *other == claim) {
                    Some((_, containers)) => containers.push(container.name.clone()),
                    None => noted.push((claim, [container.name.clone()].into())),
                }
            }
        }
        let notes = noted.into_iter().filter_map(|(claim, containers)| {
            let remark = match claim.alignment {
                Alignment::Elsewhere => Remark::ClaimElsewhere { claim: claim.clone(), why },
                Alignment::Unknown => Remark::ClaimUnknown(claim.clone()),
                Alignment::Aligned | Alignment::NothingPinned => return None,
            };
            Some(Note { containers, remark })
        });
        let notes: Vec<Note> = notes.collect();
        self.notes.extend(notes);
    }

    /// The same pod, whose claims are not decided for this reason.
    #[must_use]
    pub fn with_claims_undecided(self, why: &str) -> Self {
        self.with_undecided(|claims| claims.because(why))
    }

    /// The same pod, for whose claims nothing was given to decide by: see [`UndecidedClaims::without`].
    #[must_use]
    pub fn with_claims_without(self, since: &str) -> Self {
        self.with_undecided(|claims| claims.without(since))
    }

    fn with_undecided(mut self, change: impl Fn(UndecidedClaims) -> UndecidedClaims) -> Self {
        for note in &mut self.notes {
            if let Remark::ClaimsUndecided(claims) = &mut note.remark {
                *claims = change(claims.clone());
            }
        }
        if let Conclusion::WithoutClaims(containers, claims) = self.conclusion {
            self.conclusion = Conclusion::WithoutClaims(containers, change(claims));
        }
        self
    }

    /// What the containers are given; empty unless the pod is admitted, be it late or with harm.
    #[must_use]
    pub fn containers(&self) -> &[ContainerReport] {
        let conclusion = match &self.conclusion {
            Conclusion::Fated(fated) if fated.fate.leaves_an_answer() => &fated.then,
            conclusion => conclusion,
        };
        match conclusion {
            Conclusion::Admitted(containers) | Conclusion::WithoutClaims(containers, _) => containers,
            Conclusion::Undecided(Undecided::Devices(unlisted)) => &unlisted.containers,
            _ => &[],
        }
    }

    /// What happens in place of the kubelet's answer, or with it; `None`: it admits or refuses the pod.
    #[must_use]
    pub const fn fated(&self) -> Option<&Fated> {
        match &self.conclusion {
            Conclusion::Fated(fated) => Some(fated),
            _ => None,
        }
    }

    /// Adds the reason for which a kubelet of `release` refused the pod, with notes on the faults that can explain it.
    #[must_use]
    pub fn refused_by_kubelet(mut self, said: KubeletRefusal, release: Release) -> Self {
        // What other pods hold explains a refusal that is decided here too.
        let is_explained = said.agrees(&self.conclusion)
            && self.refusal().is_some_and(|refusal| refusal.on_empty_node != OnEmptyNode::Unknown);
        if !is_explained {
            let faults = faults::of_refusal(&said.message, release);
            self.notes.extend(faults.map(|(fault, because)| Note::on_pod(Remark::Fault { fault, because })));
        }
        self.kubelet_said = Some(said);
        self
    }

    /// The same pod, of which this happens in place of what was concluded, or with it. Each of `avoided_by` is a change that was
    /// tried, with its result.
    #[must_use]
    pub fn with_fate(self, fate: Fate, avoided_by: Vec<String>) -> Self {
        let notes = if fate.leaves_an_answer() { self.notes } else { Vec::new() };
        let then = Box::new(self.conclusion);
        Self { conclusion: Conclusion::Fated(Fated { fate, avoided_by, then }), notes, ..self }
    }
}

/// What the containers are given; empty unless the pod is admitted, be it late or with harm.
fn containers_of(conclusion: &mut Conclusion) -> &mut [ContainerReport] {
    match conclusion {
        Conclusion::Fated(fated) if fated.fate.leaves_an_answer() => containers_of(&mut fated.then),
        Conclusion::Admitted(containers) | Conclusion::WithoutClaims(containers, _) => containers,
        Conclusion::Undecided(Undecided::Devices(unlisted)) => &mut unlisted.containers,
        _ => &mut [],
    }
}

/// What is concluded once the claims have their devices.
fn decided(conclusion: Conclusion) -> Conclusion {
    match conclusion {
        Conclusion::WithoutClaims(mut containers, _) => {
            for container in &mut containers {
                container.claims.clear();
            }
            Conclusion::Admitted(containers)
        }
        Conclusion::Fated(fated) => {
            Conclusion::Fated(Fated { then: Box::new(decided(*fated.then)), ..fated })
        }
        other => other,
    }
}

impl fmt::Display for Report {
    /// The verdict in one line, and below it what led to it and what the owner may not expect, a sentence a line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pod {}: ", self.pod)?;
        match &self.conclusion {
            Conclusion::Admitted(containers) => {
                f.write_str("admitted")?;
                containers.iter().try_for_each(|container| write!(f, "\n  {container}"))?;
            }
            Conclusion::WithoutClaims(containers, claims) => {
                write!(f, "{claims}")?;
                containers.iter().try_for_each(|container| write!(f, "\n  {container}"))?;
            }
            Conclusion::Unschedulable(why) => write!(f, "{why}")?,
            Conclusion::Refused(refusal) => {
                write!(f, "{}: {}", refusal.reason, refusal.message)?;
                self.rules.iter().try_for_each(|rules| write!(f, "\n  rules: {rules}"))?;
                refusal.obstacles.iter().try_for_each(|obstacle| write!(f, "\n  why: {obstacle}"))?;
                refusal.outlook().map_or(Ok(()), |outlook| write!(f, "\n  outlook: {outlook}"))?;
                refusal.alternatives.iter().try_for_each(|fits| write!(f, "\n  would fit: {fits}"))?;
                refusal.nothing_fits().map_or(Ok(()), |nothing| write!(f, "\n  would fit: {nothing}"))?;
            }
            Conclusion::Deferred(deferred) => write!(f, "deferred: {deferred}")?,
            Conclusion::Undecided(why) => {
                write!(f, "{why}")?;
                self.containers().iter().try_for_each(|container| write!(f, "\n  {container}"))?;
            }
            Conclusion::Fated(fated) => {
                write!(f, "{fated}")?;
                self.containers().iter().try_for_each(|container| write!(f, "\n  {container}"))?;
                fated.ways_out().iter().try_for_each(|way| write!(f, "\n  avoided by: {way}"))?;
            }
        }
        for claim in self.claims.iter().flat_map(|claims| &claims.claims) {
            let devices = claim.devices.iter();
            devices
                .clone()
                .try_for_each(|device| write!(f, "\n  claim {}: {}: {device}", claim.name, device.request))?;
        }
        let said = self.kubelet_said.iter();
        let mut said = said.map(|said| said.compared(&self.conclusion));
        said.try_for_each(|said| write!(f, "\n  the kubelet {said}"))?;
        self.notes.iter().try_for_each(|note| {
            write!(f, "\n  note: {}", note.remark)?;
            note.would_align().iter().try_for_each(|remedy| write!(f, "\n  would align: {remedy}"))
        })
    }
}

/// A decision on one pod.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Report"))]
#[serde(rename_all = "camelCase")]
struct ReportFields<'a> {
    /// Namespace and name; the UID of a pod that only state files list.
    pod: &'a str,
    /// Kind and name of the object whose template it is made of.
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<&'a str>,
    /// What came out.
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::verdict"))]
    verdict: &'static str,
    /// Whether it may run, and nothing that it asks for is left open: false too where a kubelet admits it late or with harm.
    admitted: bool,
    /// The claims of devices that were not decided on, by the names that the pod gives them: the managers admit it, and
    /// `containers` says what they give it.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    without_claims: &'a [String],
    /// The claims of devices that were decided on before its other resources.
    #[serde(skip_serializing_if = "Option::is_none")]
    claims: Option<&'a DecidedClaims>,
    /// Why its claims keep kube-scheduler from placing it on the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    unschedulable: Option<&'a Unschedulable>,
    /// Its class.
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::qos_class"))]
    qos_class: &'static str,
    /// The rules by which it was decided on, if it has chosen some of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    rules: Option<&'a ChosenRules>,
    /// Why it may not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<&'a Refusal>,
    /// What happens in place of the kubelet's answer, or with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    fate: Option<&'a Fated>,
    /// Why its kubelet did not admit it, by the status that it was given with.
    #[serde(skip_serializing_if = "Option::is_none")]
    kubelet_said: Option<KubeletSaid<'a>>,
    /// The late device plugins that it waits for: it is tried again.
    #[serde(skip_serializing_if = "Option::is_none")]
    deferred: Option<&'a Deferred>,
    /// The merges, in order: of each container, or of the pod as a whole; after a refusal the last is the refused one.
    /// None under policy `none`.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    units: &'a [UnitReport],
    /// What each container is given; absent unless it is admitted, be it without its claims, late, or with harm.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    containers: &'a [ContainerReport],
    /// What the pod's owner may not expect: not pinned and why, not aligned, resources without a device plugin.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    notes: &'a [Note],
}

json::written_as!(Report, ReportFields<'static>);

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields = ReportFields {
            pod: &self.pod,
            owner: self.owner.as_deref(),
            verdict: self.conclusion.name(),
            admitted: self.is_admitted(),
            without_claims: self.undecided_claims().map_or(&[], UndecidedClaims::names),
            claims: self.claims.as_ref(),
            unschedulable: self.unschedulable(),
            qos_class: self.qos_class.name(),
            rules: self.rules.as_ref(),
            refusal: self.refusal(),
            fate: self.fated(),
            kubelet_said: self.kubelet_said.as_ref().map(|said| said.beside_decision(&self.conclusion)),
            deferred: self.deferred(),
            units: &self.units,
            containers: self.containers(),
            notes: &self.notes,
        };
        fields.serialize(serializer)
    }
}
