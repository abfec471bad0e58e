//! The kubelet whose rules apply, as an argument names it.

use std::str::FromStr;

use admission_report::Notice;
use node_config::{KnownRules, Release, Rules, UnknownRelease};

/// A version of the kubelet, and the release whose rules are taken for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KubeletVersion {
    release: Release,
    /// Why they are another release's.
    unknown: Option<UnknownRelease>,
}

impl KubeletVersion {
    /// The rules of its release.
    #[must_use]
    pub const fn rules(self) -> Rules {
        Rules::of(self.release)
    }

    /// That the version itself is not known, or that only some of its rules are.
    pub(crate) fn doubt(self) -> Option<Notice> {
        let unknown = self.unknown.map(|unknown| format!("{unknown}: its rules apply"));
        let doubt = unknown.or_else(|| match self.release.known_rules() {
            KnownRules::All => None,
            KnownRules::GatesOnly => Some(format!(
                "of kubelet {} only the feature gates are known: the other rules of {} apply",
                self.release,
                Release::default()
            )),
        });
        doubt.map(|doubt| Notice::warning(format!("--kubelet: {doubt}")))
    }
}

impl FromStr for KubeletVersion {
    type Err = UnknownRelease;

    /// Reads any version; of a release that is not known the nearest one's rules are taken.
    fn from_str(text: &str) -> Result<Self, UnknownRelease> {
        match text.parse() {
            Ok(release) => Ok(Self { release, unknown: None }),
            Err(unknown @ UnknownRelease::Unknown { nearest, .. }) => {
                Ok(Self { release: nearest, unknown: Some(unknown) })
            }
            Err(error @ UnknownRelease::NotAVersion) => Err(error),
        }
    }
}
