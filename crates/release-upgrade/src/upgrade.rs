//! The report: configuration, files, pods.

use std::fmt;

use kubelet_release::{Rules, Version};
use pod_spec::Pod;
use serde::Serialize;

use crate::configuration::ConfigurationChange;
use crate::fault::FaultChange;
use crate::json;
use crate::pod::{Change, PodChange, PodVerdict};
use crate::responsible::{Mixtures, ResponsibleRule};
use crate::state_file::{FileChange, WayBack};
use crate::subject::{Subject, Way};

/// What another release does otherwise on a node.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Upgrade {
    /// The release that runs there.
    #[serde(serialize_with = "json::release")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub from: Version,
    /// The release in question.
    #[serde(serialize_with = "json::release")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub to: Version,
    /// How the node comes up.
    pub way: Way,
    /// Why the old release does not start, in its words; absent if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_stopped: Option<String>,
    /// Why the new release does not start, in its words; absent if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_stopped: Option<String>,
    /// What the new release makes otherwise of the configuration.
    pub configuration: Vec<ConfigurationChange>,
    /// Files that it writes in another form.
    pub files: Vec<FileChange>,
    /// Faults of the kubelet that only one of the releases has.
    pub faults: Vec<FaultChange>,
    /// Every pod, in the order in which they are attempted.
    pub pods: Vec<PodChange>,
}

impl Upgrade {
    /// Compares what the releases of the two versions do with `subject`.
    #[must_use]
    pub fn check(subject: &Subject<'_>, from: Version, to: Version) -> Self {
        let old = subject.start(Rules::at(from));
        let new = subject.start(Rules::at(to));
        let pods = subject.residents.iter().chain(subject.arrivals).enumerate();
        let mut mixtures = Mixtures::new(from.release(), to.release(), |rules| {
            subject.start(rules).ok().map(|started| started.pods)
        });
        let pods = pods.map(|(index, pod)| match (&old, &new) {
            (Ok(old), Ok(new)) => PodChange::new(pod, &old.pods[index], &new.pods[index], || {
                let verdict = Some(&new.pods[index]);
                mixtures.responsible(|pods| pods.as_ref().and_then(|pods| pods.get(index)) == verdict)
            }),
            (old, new) => PodChange {
                pod: name(pod),
                change: Change::NotStarted,
                from: old.as_ref().ok().and_then(|started| started.pods.get(index).cloned()),
                to: new.as_ref().ok().and_then(|started| started.pods.get(index).cloned()),
                rules: Vec::new(),
            },
        });
        let pods = pods.collect();
        let files = match (&old, &new) {
            (Ok(old), Ok(new)) => FileChange::all(old, new),
            _ => Vec::new(),
        };
        Self {
            from,
            to,
            way: subject.way(),
            from_stopped: old.err(),
            to_stopped: new.err(),
            configuration: ConfigurationChange::all(subject, from.release(), to.release()),
            files,
            faults: FaultChange::all(from.release(), to.release()),
            pods,
        }
    }

    /// Whether anything differs that an operator has to look at: a part of the configuration that is refused or
    /// read otherwise, a release that does not start, a file that the old release cannot read back whole, or a
    /// pod. A file in another form or another default alone is none.
    #[must_use]
    pub fn changes_anything(&self) -> bool {
        let is_stopped = self.from_stopped.is_some() || self.to_stopped.is_some();
        is_stopped
            || self.configuration.iter().any(ConfigurationChange::matters)
            || self.files.iter().any(|file| file.back != WayBack::Whole)
            || self.pods.iter().any(|pod| pod.change != Change::Same)
    }
}

impl PodChange {
    fn new(
        pod: &Pod,
        from: &PodVerdict,
        to: &PodVerdict,
        rules: impl FnOnce() -> Vec<ResponsibleRule>,
    ) -> Self {
        let change = Change::between(from, to);
        let is_same = change == Change::Same;
        Self {
            pod: name(pod),
            change,
            from: (!is_same).then(|| from.clone()),
            to: Some(to.clone()),
            rules: if is_same { Vec::new() } else { rules() },
        }
    }
}

fn name(pod: &Pod) -> String {
    if pod.namespace.is_empty() { pod.name.clone() } else { format!("{}/{}", pod.namespace, pod.name) }
}

impl fmt::Display for Upgrade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, .. } = self;
        let [old, new] = [from, to].map(|version| version.release());
        writeln!(f, "from kubelet {old} (rules of v{from}) to {new} (rules of v{to})")?;
        for (release, stopped) in [(old, &self.from_stopped), (new, &self.to_stopped)] {
            if let Some(error) = stopped {
                writeln!(f, "! kubelet {release} does not start: {error}")?;
            }
        }
        writeln!(f, "\nCONFIGURATION")?;
        for change in &self.configuration {
            if change.matters() {
                writeln!(f, "! {}", change.effect.line(old))?;
                because(f, &change.rules)?;
            } else {
                writeln!(f, "  {}", change.effect.line(old))?;
            }
        }
        if self.configuration.is_empty() {
            writeln!(f, "  nothing is refused or read otherwise")?;
        }
        writeln!(f, "\nFILES")?;
        for file in &self.files {
            let mark = if file.back == WayBack::Whole { ' ' } else { '!' };
            writeln!(f, "{mark} {}", file.line(old))?;
        }
        if self.files.is_empty() {
            let stopped = self.from_stopped.is_some() || self.to_stopped.is_some();
            let text = if stopped {
                "not compared: a release does not start"
            } else {
                "none is written in another form"
            };
            writeln!(f, "  {text}")?;
        }
        writeln!(f, "\nFAULTS of the kubelet")?;
        self.faults.iter().try_for_each(|fault| writeln!(f, "  {fault}"))?;
        if self.faults.is_empty() {
            writeln!(f, "  both releases have the same")?;
        }
        writeln!(
            f,
            "\nPODS, {}",
            match self.way {
                Way::Restart =>
                    "on a restart: state files keep what containers hold, and pods are admitted again beside them",
                Way::PlacedAnew => "placed anew: no state files are kept, as after a drain",
            }
        )?;
        let (same, changed): (Vec<_>, Vec<_>) = self.pods.iter().partition(|pod| pod.change == Change::Same);
        changed.iter().try_for_each(|pod| pod.fmt(f))?;
        match same.as_slice() {
            [] if changed.is_empty() => writeln!(f, "  none is known"),
            [] => Ok(()),
            [one] => writeln!(f, "  {}   {}", one.pod, one.change),
            _ => writeln!(f, "  {} pods   {}", same.len(), Change::Same),
        }
    }
}

fn because(f: &mut fmt::Formatter<'_>, rules: &[ResponsibleRule]) -> fmt::Result {
    rules.iter().try_for_each(|rule| writeln!(f, "    rule: {rule}"))
}

impl fmt::Display for PodChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pod, change, from, to, rules } = self;
        writeln!(f, "! {pod}   {change}")?;
        for (when, verdict) in [("before", from), ("after", to)] {
            if let Some(verdict) = verdict {
                writeln!(f, "    {when}: {verdict}")?;
            }
        }
        because(f, rules)
    }
}
