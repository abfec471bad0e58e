//! The kubelet whose rules apply, as an argument names it.

use std::str::FromStr;

use admission_report::Notice;
use node_config::{Release, Rules, UnknownRelease};

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

    /// That the version itself is not known.
    pub(crate) fn doubt(self) -> Option<Notice> {
        self.unknown.map(|unknown| Notice::warning(format!("--kubelet: {unknown}: its rules apply")))
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
