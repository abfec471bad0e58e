//! A release, its patch releases that were asked, and how both are written.

use core::fmt;
use core::str::FromStr;

use thiserror::Error;

/// A minor release of the kubelet. Its patch releases decide by the same rules, as far as their code was
/// [asked](Self::asked).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Release {
    /// 1.34.
    V1_34,
    /// 1.35.
    V1_35,
    /// 1.36: the release where no other is named.
    #[default]
    V1_36,
    /// 1.37.
    V1_37,
}

impl Release {
    /// All of them, oldest first.
    pub const ALL: [Self; 4] = [Self::V1_34, Self::V1_35, Self::V1_36, Self::V1_37];

    /// Major and minor number: `1.36`.
    #[must_use]
    pub const fn minor(self) -> &'static str {
        match self {
            Self::V1_34 => "1.34",
            Self::V1_35 => "1.35",
            Self::V1_36 => "1.36",
            Self::V1_37 => "1.37",
        }
    }

    /// The patch numbers of the versions whose own code was asked, oldest first. The first is the one that recorded
    /// answers are of; the others gave the same ones.
    #[must_use]
    pub const fn asked(self) -> &'static [u32] {
        match self {
            Self::V1_34 => &[4],
            Self::V1_35 => &[6],
            Self::V1_36 => &[3, 5],
            Self::V1_37 => &[1, 2],
        }
    }

    /// The version that recorded answers are of: `1.36.3`.
    #[must_use]
    pub const fn verified(self) -> Version {
        Version { release: self, patch: self.asked()[0] }
    }

    /// The version that answers for the one with this patch number: the newest that was asked and is not newer, else
    /// the oldest.
    fn at(self, patch: u32) -> Version {
        let asked = self.asked().iter().copied().filter(|asked| *asked <= patch).max();
        asked.map_or(self.verified(), |patch| Version { release: self, patch })
    }

    /// The newest version of it that was asked.
    #[must_use]
    pub const fn newest(self) -> Version {
        match self.asked() {
            [.., patch] => Version { release: self, patch: *patch },
            [] => self.verified(),
        }
    }

    /// The release with this minor number of major version 1.
    const fn of_minor(minor: u32) -> Option<Self> {
        match minor {
            34 => Some(Self::V1_34),
            35 => Some(Self::V1_35),
            36 => Some(Self::V1_36),
            37 => Some(Self::V1_37),
            _ => None,
        }
    }

    const OLDEST: Self = Self::ALL[0];
    const NEWEST: Self = Self::ALL[Self::ALL.len() - 1];
}

impl fmt::Display for Release {
    /// `1.36`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.minor())
    }
}

/// A version of the kubelet whose own code was asked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Version {
    release: Release,
    patch: u32,
}

impl Version {
    /// The release whose rules it decides by.
    #[must_use]
    pub const fn release(self) -> Release {
        self.release
    }
}

impl Default for Version {
    /// That of the default release.
    fn default() -> Self {
        Release::default().verified()
    }
}

impl fmt::Display for Version {
    /// `1.36.5`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.release, self.patch)
    }
}

/// Why a text names no release whose rules are known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum UnknownRelease {
    /// Neither `1.37` nor `1.37.1`, with or without a `v` before and a suffix such as `+k3s1` or `-gke.100` after.
    #[error("it is not a version like 1.37 or v1.37.1")]
    NotAVersion,
    /// A version outside the known ones.
    #[error("the rules of kubelet {major}.{minor} are not known, the nearest known release is {nearest}")]
    Unknown {
        /// Its major number.
        major: u32,
        /// Its minor number.
        minor: u32,
        /// The known release closest to it.
        nearest: Release,
    },
}

impl FromStr for Release {
    type Err = UnknownRelease;

    /// Reads what a [`Version`] is read of; the patch number is not looked at.
    fn from_str(text: &str) -> Result<Self, UnknownRelease> {
        text.parse().map(Version::release)
    }
}

impl FromStr for Version {
    type Err = UnknownRelease;

    /// Reads `1.37`, `v1.37.1` and versions of distributions such as `v1.36.3+k3s1` or `v1.35.2-eks-1a2b3c4`. The newest
    /// version that was asked and is not newer stands for one that was not: 1.36.3 for 1.36.4, and for 1.36.0 too, as
    /// there is no older one. Without a patch number it is [the newest that was asked](Release::newest).
    fn from_str(text: &str) -> Result<Self, UnknownRelease> {
        let numbers = text.strip_prefix('v').unwrap_or(text);
        let numbers = numbers.split(['+', '-']).next().unwrap_or_default();
        let mut parts = numbers.split('.');
        let mut number = || match parts.next() {
            Some(part) if !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) => {
                part.parse().ok()
            }
            _ => None,
        };
        let (Some(major), Some(minor)) = (number(), number()) else {
            return Err(UnknownRelease::NotAVersion);
        };
        let patch: Option<u32> = number();
        if parts.next().is_some() || (patch.is_none() && numbers.matches('.').count() > 1) {
            return Err(UnknownRelease::NotAVersion);
        }
        let nearest = match major {
            0 => Release::OLDEST,
            1 => match Release::of_minor(minor) {
                Some(release) => return Ok(patch.map_or(release.newest(), |patch| release.at(patch))),
                None if minor < 34 => Release::OLDEST,
                None => Release::NEWEST,
            },
            _ => Release::NEWEST,
        };
        Err(UnknownRelease::Unknown { major, minor, nearest })
    }
}

#[cfg(test)]
mod tests {
    extern crate alloc;

    use alloc::format;

    use super::*;

    #[test]
    fn versions_as_kubelets_and_people_write_them() {
        for (text, release) in [
            ("1.36", Release::V1_36),
            ("v1.37.1", Release::V1_37),
            ("1.34.4", Release::V1_34),
            ("v1.36.3+k3s1", Release::V1_36),
            ("v1.35.2-eks-1a2b3c4", Release::V1_35),
            ("v1.37.0-rc.1", Release::V1_37),
        ] {
            assert_eq!(text.parse(), Ok(release), "{text}");
        }
        for text in ["", "v", "1", "1.", "1.x", "1.36.", "1.36.3.1", "1.36.x", "latest", "v 1.36", "1.-36"] {
            assert_eq!(text.parse::<Release>(), Err(UnknownRelease::NotAVersion), "{text}");
        }
    }

    #[test]
    fn an_unknown_release_names_the_nearest() {
        let nearest = |text: &str| match text.parse::<Release>() {
            Err(UnknownRelease::Unknown { nearest, .. }) => Some(nearest),
            _ => None,
        };
        assert_eq!(nearest("1.33"), Some(Release::V1_34));
        assert_eq!(nearest("0.9"), Some(Release::V1_34));
        assert_eq!(nearest("1.38.0"), Some(Release::V1_37));
        assert_eq!(nearest("2.0"), Some(Release::V1_37));
        assert_eq!(nearest("1.99999999999"), None);
    }

    #[test]
    fn a_version_that_was_asked_stands_for_itself_and_those_after_it() {
        for (text, version) in [
            ("1.36", "1.36.5"),
            ("1.37", "1.37.2"),
            ("1.35", "1.35.6"),
            ("v1.34", "1.34.4"),
            ("v1.36.0", "1.36.3"),
            ("1.36.3", "1.36.3"),
            ("v1.36.4", "1.36.3"),
            ("v1.36.5+k3s1", "1.36.5"),
            ("1.36.11", "1.36.5"),
            ("v1.37.0-rc.1", "1.37.1"),
            ("1.37.2", "1.37.2"),
            ("1.35.12", "1.35.6"),
        ] {
            assert_eq!(text.parse().map(|read: Version| format!("{read}")).as_deref(), Ok(version), "{text}");
        }
    }

    #[test]
    fn versions_that_were_asked_are_of_their_release_and_oldest_first() {
        for release in Release::ALL {
            assert_eq!(format!("{}", release.verified()).parse(), Ok(release));
            assert_eq!(release.minor().parse(), Ok(release));
            assert_eq!(release.minor().parse(), Ok(release.newest()));
            assert!(release.asked().is_sorted_by(|older, newer| older < newer), "{release}");
            for patch in release.asked() {
                let text = format!("{release}.{patch}");
                assert_eq!(text.parse().map(|read: Version| format!("{read}")), Ok(text));
            }
        }
    }
}
