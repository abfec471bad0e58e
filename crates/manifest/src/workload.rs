//! Kinds of objects that are pods or make them, and how many pods they make.
//!
//! Controllers name pods by chance: `web-6d4cf56db6-x7k2p`. Here they are `web-0`, `web-1` and so on, as those of a
//! `StatefulSet` are in truth; a number whose name is taken is passed over.

use terminal_text::nearest;

use crate::ManifestError;
use crate::constraints::integer;
use crate::names::group_of;
use crate::node::Field;

/// A kind of object that is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Pod,
    ReplicationController,
    Deployment,
    StatefulSet,
    ReplicaSet,
    DaemonSet,
    Job,
    CronJob,
}

const KINDS: [(&str, &str, Kind); 8] = [
    ("v1", "Pod", Kind::Pod),
    ("v1", "ReplicationController", Kind::ReplicationController),
    ("apps/v1", "Deployment", Kind::Deployment),
    ("apps/v1", "StatefulSet", Kind::StatefulSet),
    ("apps/v1", "ReplicaSet", Kind::ReplicaSet),
    ("apps/v1", "DaemonSet", Kind::DaemonSet),
    ("batch/v1", "Job", Kind::Job),
    ("batch/v1", "CronJob", Kind::CronJob),
];

/// The pods that an object makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Replicas {
    /// How many there are on a node that gets all of them.
    pub(crate) count: u32,
    /// The number of the first.
    pub(crate) first: u32,
}

impl Kind {
    /// Every kind that is read.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 8] = {
        let mut all = [Self::Pod; KINDS.len()];
        let mut at = 0;
        while at < KINDS.len() {
            all[at] = KINDS[at].2;
            at += 1;
        }
        all
    };

    /// The kind of an object.
    pub(crate) fn find(version: &str, kind: &str) -> Option<Self> {
        KINDS.iter().find(|(known, name, _)| (*known, *name) == (version, kind)).map(|(_, _, kind)| *kind)
    }

    /// The `apiVersion` and name of the kind that is written like this: with other capitals, in the plural, with another
    /// version, in short as kubectl takes it, or with letters mistyped. Only a version of Kubernetes' own groups, which have
    /// no dot in their names (`apps`, `extensions` of earlier releases), is meant to be one of these kinds.
    pub(crate) fn meant(version: &str, kind: &str) -> Option<(&'static str, &'static str)> {
        const SHORT: [(&str, &str); 6] = [
            ("po", "Pod"),
            ("deploy", "Deployment"),
            ("sts", "StatefulSet"),
            ("rs", "ReplicaSet"),
            ("ds", "DaemonSet"),
            ("cj", "CronJob"),
        ];
        if group_of(version).contains('.') {
            return None;
        }
        let lower = kind.to_ascii_lowercase();
        let long = SHORT.iter().find(|(short, _)| *short == lower).map(|(_, long)| long.to_ascii_lowercase());
        let wanted = long.unwrap_or(lower);
        let is_meant = |name: &str| {
            let name = name.to_ascii_lowercase();
            wanted == name || wanted.strip_suffix('s') == Some(&name)
        };
        let names = || KINDS.map(|(_, name, _)| name);
        let meant = names().into_iter().find(|name| is_meant(name)).or_else(|| nearest(kind, &names()))?;
        Some((Self::version_of(meant), meant))
    }

    /// The `apiVersion` of its objects; empty for a kind that is not read.
    pub(crate) fn version_of(kind: &str) -> &'static str {
        KINDS.iter().find(|(_, name, _)| *name == kind).map_or("", |(version, ..)| version)
    }

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        KINDS.iter().find(|(_, _, kind)| *kind == self).map_or("", |(_, name, _)| name)
    }

    /// Where the template of its pods is. A pod has none.
    pub(crate) const fn template(self) -> &'static [&'static str] {
        match self {
            Self::Pod => &[],
            Self::CronJob => &["spec", "jobTemplate", "spec", "template"],
            _ => &["spec", "template"],
        }
    }

    /// Whether an API server refuses it without a selector of its pods.
    pub(crate) const fn has_selector(self) -> bool {
        matches!(self, Self::Deployment | Self::StatefulSet | Self::ReplicaSet | Self::DaemonSet)
    }

    /// Whether an object of this kind makes no pods until it is resumed.
    pub(crate) fn is_suspended(self, object: &Field<'_>) -> Result<bool, ManifestError> {
        let paths: &[&[&str]] = match self {
            Self::Job => &[&["spec", "suspend"]],
            Self::CronJob => &[&["spec", "suspend"], &["spec", "jobTemplate", "spec", "suspend"]],
            _ => &[],
        };
        for path in paths {
            if object.descend(path)?.is_some_and(|field| field.is_true()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A remark on an object of this kind that makes no pods, although it is not suspended.
    pub(crate) const fn without_pods(self) -> &'static str {
        match self {
            Self::Job | Self::CronJob => "it runs 0 pods at a time",
            _ => "it has 0 replicas",
        }
    }

    /// Where its numbers are that cannot be negative.
    pub(crate) const fn counts(self) -> &'static [&'static [&'static str]] {
        match self {
            Self::Pod | Self::DaemonSet => &[],
            Self::ReplicationController | Self::Deployment | Self::ReplicaSet => &[&["spec", "replicas"]],
            Self::StatefulSet => &[&["spec", "replicas"], &["spec", "ordinals", "start"]],
            Self::Job => &[&["spec", "parallelism"], &["spec", "completions"]],
            Self::CronJob => &[
                &["spec", "jobTemplate", "spec", "parallelism"],
                &["spec", "jobTemplate", "spec", "completions"],
            ],
        }
    }

    /// The pods that an object of this kind has at a time: of a `DaemonSet` the one on this node, of a Job those that
    /// run beside each other, of a `CronJob` those of one run. What is suspended has none.
    pub(crate) fn replicas(self, object: &Field<'_>) -> Result<Replicas, ManifestError> {
        let number = |path: &[&str]| {
            let field = object.descend(path)?;
            field.map(|field| integer::<u32>(&field, "a number, zero or more")).transpose()
        };
        let at_a_time = |path: &[&'static str]| {
            let own = |key| [path, &[key]].concat();
            let parallelism = number(&own("parallelism"))?;
            let completions = number(&own("completions"))?;
            Ok::<_, ManifestError>(parallelism.unwrap_or(1).min(completions.unwrap_or(u32::MAX)))
        };
        let count = match self {
            _ if self.is_suspended(object)? => 0,
            Self::Pod | Self::DaemonSet => 1,
            Self::ReplicationController | Self::Deployment | Self::ReplicaSet | Self::StatefulSet => {
                number(&["spec", "replicas"])?.unwrap_or(1)
            }
            Self::Job => at_a_time(&["spec"])?,
            Self::CronJob => at_a_time(&["spec", "jobTemplate", "spec"])?,
        };
        let first = match self {
            Self::StatefulSet => number(&["spec", "ordinals", "start"])?.unwrap_or(0),
            _ => 0,
        };
        Ok(Replicas { count, first })
    }
}
