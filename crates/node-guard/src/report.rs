//! What the guard reports about itself, as a file that an agent on the node reads: conditions, counts, and which CPUs it has
//! taken from whom.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use conditions::Conditions;
use cpuset::CpuSet;
use serde::{Deserialize, Serialize};

/// Where the file is unless another place is named.
pub const REPORT: &str = "/run/topolet-guard/report.json";
/// A larger file is not read.
const MOST: u64 = 4 << 20;
/// A report that is older says nothing: the guard writes it every few seconds.
const FRESH: Duration = Duration::from_secs(30);

/// What should be true of a guard.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum GuardCondition {
    /// The runtime asks it.
    GuardConnected,
    /// CPUs were free before the container that holds them was created.
    GuardInTime,
    /// No container runs on CPUs that another one holds exclusively.
    GuardEffective,
}

/// Why it is not, for programs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Reason {
    /// No runtime is connected.
    NotConnected,
    /// The report is old.
    NotReporting,
    /// A creation had to go on before all CPUs were free.
    Late,
    /// The kubelet's state files cannot be relied on.
    StateUnusable,
    /// Containers run on exclusive CPUs of others.
    Overlap,
    /// The cgroups are systemd's, which are not written.
    SystemdDriver,
    /// A request has other CPUs than the kubelet's files.
    OtherCpus,
    /// A cgroup cannot be narrowed.
    NotNarrowed,
    /// The runtime does not change its record of a container.
    OldRecord,
}

impl Reason {
    /// As Kubernetes writes reasons.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotConnected => "NotConnected",
            Self::NotReporting => "NotReporting",
            Self::Late => "Late",
            Self::StateUnusable => "StateUnusable",
            Self::Overlap => "Overlap",
            Self::SystemdDriver => "SystemdDriver",
            Self::OtherCpus => "OtherCpus",
            Self::NotNarrowed => "NotNarrowed",
            Self::OldRecord => "OldRecord",
        }
    }
}

/// The state of a condition, with its reason as a value.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum State {
    /// All is well.
    Works,
    /// It has not been tried yet: what it waits for.
    Pending(String),
    /// Something is wrong.
    #[serde(rename_all = "camelCase")]
    Failed {
        /// For programs.
        reason: Reason,
        /// For people.
        message: String,
    },
}

impl State {
    /// A failure.
    pub(crate) fn failed(reason: Reason, message: impl Into<String>) -> Self {
        Self::Failed { reason, message: message.into() }
    }
}

impl From<State> for conditions::State {
    fn from(state: State) -> Self {
        match state {
            State::Works => Self::Works,
            State::Pending(message) => Self::pending(message),
            State::Failed { reason, message } => Self::failed(reason.as_str(), message),
        }
    }
}

/// How often something happened since the guard started.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Counts {
    /// Containers that were created while the guard was asked.
    pub creations: u64,
    /// Of them, those whose CPUs or NUMA nodes it has set.
    pub adjusted: u64,
    /// Of them, those that had to be created before all CPUs were free.
    pub late: u64,
    /// Cgroups that it has narrowed.
    pub narrowed: u64,
    /// Records of the runtime that it has changed.
    pub records: u64,
    /// Containers that were found on exclusive CPUs of others after it had taken these from them.
    pub drifted: u64,
    /// Microseconds of its slowest answer to a creation.
    pub slowest_creation_micros: u64,
}

/// The whole file.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Report {
    /// Seconds since 1970 when it was written.
    pub written_at: u64,
    /// The runtime and its version of NRI; empty: none has been connected.
    pub runtime: String,
    /// The conditions.
    pub conditions: BTreeMap<GuardCondition, State>,
    /// Counts since the guard started.
    pub counts: Counts,
    /// What containers had before CPUs were taken from them, by id.
    pub taken_from: BTreeMap<String, CpuSet>,
}

impl Default for State {
    fn default() -> Self {
        Self::Pending(String::new())
    }
}

/// A condition of a guard with its state.
pub type Reported = (GuardCondition, State);

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// It cannot be read or written.
    #[error("failed to use {}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is no report.
    #[error("{} is no report of a guard", .path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
}

impl Report {
    /// The report in a file; `None`: there is no such file.
    ///
    /// # Errors
    /// The file cannot be read, or is no report.
    pub fn read(path: &Path) -> Result<Option<Self>, ReportError> {
        let io = |source| ReportError::Io { path: path.to_owned(), source };
        let file = match fs::File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io(error)),
        };
        let mut text = Vec::new();
        file.take(MOST).read_to_end(&mut text).map_err(io)?;
        let malformed = |source| ReportError::Malformed { path: path.to_owned(), source };
        serde_json::from_slice(&text).map(Some).map_err(malformed)
    }

    /// Puts the report in the place of the file. Its folder is made if it is missing.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), ReportError> {
        let io = |source| ReportError::Io { path: path.to_owned(), source };
        let passing = path.with_extension("new");
        let text = serde_json::to_vec(self)
            .map_err(|source| ReportError::Malformed { path: path.to_owned(), source })?;
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(io)?;
        }
        let written = fs::File::create(&passing).and_then(|mut file| file.write_all(&text));
        written.and_then(|()| fs::rename(&passing, path)).map_err(io)
    }

    /// The conditions at a time since 1970: those of a report that is old are not known.
    #[must_use]
    pub fn conditions_at(&self, now: Duration) -> Vec<Reported> {
        let age = now.saturating_sub(Duration::from_secs(self.written_at));
        if age > FRESH {
            let message = format!("the guard has not reported for {} s", age.as_secs());
            return vec![(GuardCondition::GuardConnected, State::failed(Reason::NotReporting, message))];
        }
        self.conditions.iter().map(|(kind, state)| (*kind, state.clone())).collect()
    }
}

/// The conditions of a running guard, with a line of the log for each change.
#[derive(Debug)]
pub(crate) struct Log(Conditions<GuardCondition>, BTreeMap<GuardCondition, State>);

impl Log {
    pub(crate) fn new() -> Self {
        let mut log = Self(Conditions::new(), BTreeMap::new());
        log.set(GuardCondition::GuardConnected, State::Pending("it has not been connected".to_owned()));
        log.set(GuardCondition::GuardInTime, State::Pending("no container has been created".to_owned()));
        log.set(GuardCondition::GuardEffective, State::Pending("nothing has been looked at".to_owned()));
        log
    }

    pub(crate) fn set(&mut self, kind: GuardCondition, state: State) {
        let changed = self.0.set(kind, (), state.clone().into(), Duration::ZERO).is_some();
        if changed {
            match &state {
                State::Failed { message, .. } => tracing::warn!(condition = ?kind, "{message}"),
                State::Works | State::Pending(_) => tracing::info!(condition = ?kind, "all is well again"),
            }
        }
        self.1.insert(kind, state);
    }

    pub(crate) const fn states(&self) -> &BTreeMap<GuardCondition, State> {
        &self.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_comes_back_and_an_old_one_says_so() {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let path = folder.path().join("run/report.json");
        assert!(matches!(Report::read(&path), Ok(None)));
        let mut log = Log::new();
        log.set(GuardCondition::GuardConnected, State::Works);
        log.set(GuardCondition::GuardEffective, State::failed(Reason::Overlap, "a runs on CPU 2"));
        let report = Report {
            written_at: 1000,
            conditions: log.states().clone(),
            taken_from: [("0a".to_owned(), "0-7".parse().unwrap_or_default())].into(),
            ..Report::default()
        };
        report.write(&path).unwrap_or_else(|error| panic!("{error}"));
        let read = Report::read(&path).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(read.as_ref(), Some(&report));
        let at = |seconds| report.conditions_at(Duration::from_secs(seconds));
        assert_eq!(at(1010).len(), 3);
        let old = "the guard has not reported for 100 s";
        assert_eq!(at(1100), [(GuardCondition::GuardConnected, State::failed(Reason::NotReporting, old))]);
        assert!(fs::write(&path, "{").is_ok());
        assert!(matches!(Report::read(&path), Err(ReportError::Malformed { .. })));
    }
}
