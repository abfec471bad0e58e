//! The kubelet whose rules apply, and what names it.

use std::fmt;
use std::str::FromStr;

use admission_report::Notice;
use node_config::{Release, Rules, UnknownRelease, Version};
use node_state::StateFolder;

/// A version of the kubelet, and the one whose rules are taken for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KubeletVersion {
    version: Version,
    /// Why it is of another release.
    unknown: Option<UnknownRelease>,
    named_by: NamedBy,
}

/// What names the version.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum NamedBy {
    /// An argument.
    Argument,
    /// `status.nodeInfo.kubeletVersion` of the Node object.
    NodeObject,
    /// The form of the node's state files; of releases with the same form the default one is taken.
    StateFiles,
    /// The executable of the kubelet that runs.
    Executable,
    /// The log of the kubelet, in which each start has its version.
    Log,
    /// The file with the configuration, such as the `kubernetesVersion` of its cluster.
    Configuration,
    /// Nothing: it is the default release.
    #[default]
    Nobody,
}

impl KubeletVersion {
    /// The default release, which nothing has named.
    pub const DEFAULT: Self =
        Self { version: Release::V1_36.verified(), unknown: None, named_by: NamedBy::Nobody };

    /// The version whose rules are taken.
    #[must_use]
    pub const fn version(self) -> Version {
        self.version
    }

    /// The rules of its release.
    #[must_use]
    pub const fn rules(self) -> Rules {
        Rules::at(self.version)
    }

    /// What named it.
    #[must_use]
    pub const fn named_by(self) -> NamedBy {
        self.named_by
    }

    /// Why a change to another version cannot be checked: the rules of one release would be taken for both.
    #[must_use]
    pub fn why_not_compared(self, to: Self) -> Option<String> {
        let unknown: Vec<String> = [self, to]
            .iter()
            .filter_map(|version| version.unknown)
            .map(|unknown| unknown.to_string())
            .collect();
        let is_one = self.version.release() == to.version.release();
        (is_one && !unknown.is_empty()).then(|| {
            format!("{}: the rules of one release would be compared with themselves", unknown.join("; "))
        })
    }

    /// That the version itself is not known. `place` is what named it.
    #[must_use]
    pub fn doubt(self, place: &str) -> Option<Notice> {
        self.unknown.map(|unknown| Notice::warning(format!("{place}: {unknown}: its rules apply")))
    }

    /// The release of the kubelet that writes files in the form of these.
    pub(crate) fn of_files(folder: &StateFolder) -> Option<Self> {
        let form = folder.form()?;
        let writes = |release: &Release| Rules::of(*release).checkpoints == form;
        let release = [Release::default()].into_iter().chain(Release::ALL).find(writes)?;
        Some(Self { version: release.verified(), unknown: None, named_by: NamedBy::StateFiles })
    }

    /// The version that an executable has.
    pub(crate) fn of_executable(version: &str) -> Option<Self> {
        let version: Self = version.parse().ok()?;
        Some(Self { named_by: NamedBy::Executable, ..version })
    }

    /// The version that a line of a kubelet's log has.
    pub(crate) fn of_log(version: &str) -> Option<Self> {
        let version: Self = version.parse().ok()?;
        Some(Self { named_by: NamedBy::Log, ..version })
    }

    /// The version that the file with a configuration states.
    pub(crate) fn of_configuration(version: &str) -> Option<Self> {
        let version: Self = version.parse().ok()?;
        Some(Self { named_by: NamedBy::Configuration, ..version })
    }

    /// Whether both are of one release.
    pub(crate) fn is_of_release(self, other: Self) -> bool {
        self.unknown == other.unknown && self.is_of_release_of(other.version)
    }

    /// Whether a version is of the same release, and that is known.
    pub(crate) fn is_of_release_of(self, version: Version) -> bool {
        self.version.release() == version.release()
    }

    /// The version that a Node object has.
    pub(crate) fn of_node_object(version: &str) -> Option<Self> {
        let version: Self = version.parse().ok()?;
        Some(Self { named_by: NamedBy::NodeObject, ..version })
    }
}

impl fmt::Display for NamedBy {
    /// A fragment that fits after "1.37, ".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Argument => "as given",
            Self::NodeObject => "by the Node object",
            Self::Executable => "by the executable of the kubelet that runs",
            Self::Log => "by its log",
            Self::Configuration => "by the file with the configuration",
            Self::StateFiles => "by the form of the state files",
            Self::Nobody => "since nothing names another",
        })
    }
}

/// Why a text is no version of a kubelet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BadKubeletVersion {
    /// It is none of a program.
    #[error(transparent)]
    NotAVersion(UnknownRelease),
    /// It is one of OpenShift, which has kubelets of this minor number.
    #[error("4.{minor} is a version of OpenShift, which has kubelet 1.{kubelet}: give that")]
    OfOpenShift {
        /// Of OpenShift 4.
        minor: u32,
        /// Of Kubernetes 1.
        kubelet: u32,
    },
}

impl FromStr for KubeletVersion {
    type Err = BadKubeletVersion;

    /// Reads any version; of a release that is not known the nearest one's rules are taken.
    fn from_str(text: &str) -> Result<Self, BadKubeletVersion> {
        let (version, unknown) = match text.parse() {
            Ok(version) => (version, None),
            // Since 4.3.
            Err(UnknownRelease::Unknown { major: 4, minor, .. }) => {
                return Err(BadKubeletVersion::OfOpenShift { minor, kubelet: minor.saturating_add(13) });
            }
            Err(unknown @ UnknownRelease::Unknown { nearest, .. }) => (nearest.newest(), Some(unknown)),
            Err(error @ UnknownRelease::NotAVersion) => return Err(BadKubeletVersion::NotAVersion(error)),
        };
        Ok(Self { version, unknown, named_by: NamedBy::Argument })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> KubeletVersion {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn versions_of_openshift_are_those_of_no_kubelet() {
        for (text, kubelet) in [("4.16", 29), ("4.18.7", 31), ("4.21", 34)] {
            let error = text.parse::<KubeletVersion>().map(KubeletVersion::version);
            assert!(
                matches!(error, Err(BadKubeletVersion::OfOpenShift { kubelet: found, .. }) if found == kubelet),
                "{text}"
            );
        }
        assert!(matches!("x".parse::<KubeletVersion>(), Err(BadKubeletVersion::NotAVersion(_))));
    }

    #[test]
    fn releases_whose_rules_are_of_one_are_not_compared() {
        for (from, to, is_compared) in [
            ("1.29", "1.31", false),
            ("1.33", "1.34", false),
            ("1.29", "1.36", true),
            ("1.36.3", "1.36.5", true),
        ] {
            assert_eq!(version(from).why_not_compared(version(to)).is_none(), is_compared, "{from} {to}");
        }
    }
}
