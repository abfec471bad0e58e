//! Versions of NRI, and which one a runtime has.

use std::fmt;

/// A version of NRI: major, minor, patch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NriVersion {
    major: u32,
    minor: u32,
    patch: u32,
}

impl NriVersion {
    /// `major.minor.patch`.
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self { major, minor, patch }
    }

    /// Of a text such as `v0.12.3`, `1.7.28` or `2.2.0~ds1`: three numbers, then anything; `None` of any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.strip_prefix('v').unwrap_or(text).splitn(3, '.');
        let [major, minor] = [numbers.next()?, numbers.next()?].map(|number| number.parse().ok());
        let last = numbers.next()?;
        let end = last.find(|of: char| !of.is_ascii_digit()).unwrap_or(last.len());
        Some(Self { major: major?, minor: minor?, patch: last[..end].parse().ok()? })
    }
}

impl fmt::Display for NriVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// How the version of a runtime's NRI is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RuntimeNri {
    /// The runtime reports it, since 0.12.
    Reported(NriVersion),
    /// It follows from the name and the version of the runtime.
    Inferred(NriVersion),
    /// The runtime reports none, and its name and version are in no table. It is older than 0.12.
    Unknown {
        /// What it has at least, by the fields of its first request.
        at_least: NriVersion,
    },
    /// The runtime reports a version that is no three numbers, such as that of a build from source; it has 0.12 or
    /// later.
    Unnumbered,
}

/// The first version that reports itself.
const REPORTS_ITSELF: NriVersion = NriVersion::new(0, 12, 0);
/// The first version that says how long a plugin may take.
const HAS_TIMEOUTS: NriVersion = NriVersion::new(0, 8, 0);

impl RuntimeNri {
    /// From what is in Configure: the version that the runtime reports, if any, and its name and version.
    pub(crate) fn of(reported: &str, name: &str, version: &str, timeouts: Timeouts) -> Self {
        if !reported.is_empty() {
            return NriVersion::parse(reported).map_or(Self::Unnumbered, Self::Reported);
        }
        let at_least = match timeouts {
            Timeouts::Given => HAS_TIMEOUTS,
            Timeouts::Missing => NriVersion::new(0, 2, 0),
        };
        inferred(name, version).map_or(Self::Unknown { at_least }, Self::Inferred)
    }

    /// The lowest version that it can be.
    pub const fn at_least(self) -> NriVersion {
        match self {
            Self::Reported(version) | Self::Inferred(version) => version,
            Self::Unknown { at_least } => at_least,
            Self::Unnumbered => REPORTS_ITSELF,
        }
    }

    /// Whether the runtime certainly lacks what came with a version.
    pub fn lacks(self, since: NriVersion) -> bool {
        match self {
            Self::Reported(version) | Self::Inferred(version) => version < since,
            Self::Unknown { .. } => since >= REPORTS_ITSELF,
            Self::Unnumbered => false,
        }
    }
}

/// Whether Configure has the runtime's deadlines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Timeouts {
    Given,
    Missing,
}

/// The first version of a runtime from which on it has a version of NRI. After the last line a runtime reports it.
const RUNTIMES: [(&str, NriVersion, NriVersion); 16] = {
    const fn line(
        name: &'static str,
        from: [u32; 3],
        minor: u32,
        patch: u32,
    ) -> (&'static str, NriVersion, NriVersion) {
        (name, NriVersion::new(from[0], from[1], from[2]), NriVersion::new(0, minor, patch))
    }
    [
        line("containerd", [1, 7, 0], 3, 0),
        line("containerd", [1, 7, 7], 4, 0),
        line("containerd", [1, 7, 14], 6, 0),
        line("containerd", [1, 7, 16], 6, 1),
        line("containerd", [1, 7, 26], 8, 0),
        line("containerd", [2, 0, 0], 8, 0),
        line("containerd", [2, 2, 0], 10, 0),
        line("containerd", [2, 2, 1], 11, 0),
        line("cri-o", [1, 26, 0], 2, 0),
        line("cri-o", [1, 26, 2], 3, 0),
        line("cri-o", [1, 29, 0], 5, 0),
        line("cri-o", [1, 29, 2], 6, 0),
        line("cri-o", [1, 31, 0], 6, 1),
        line("cri-o", [1, 32, 0], 9, 0),
        line("cri-o", [1, 34, 0], 10, 0),
        line("cri-o", [1, 35, 0], 11, 0),
    ]
};

/// The version that follows from a runtime's name and version. What is inferred is never more than 0.11, since 0.12
/// reports itself.
fn inferred(name: &str, version: &str) -> Option<NriVersion> {
    let version = NriVersion::parse(version)?;
    let of_name = RUNTIMES.iter().filter(|(runtime, from, _)| *runtime == name && *from <= version);
    of_name.map(|(_, _, nri)| *nri).next_back()
}

#[cfg(test)]
mod tests {
    use super::{NriVersion, RuntimeNri, Timeouts};

    fn version(text: &str) -> NriVersion {
        NriVersion::parse(text).unwrap()
    }

    #[test]
    fn versions_are_three_numbers_and_anything() {
        for (text, expected) in [
            ("v0.12.3", Some("0.12.3")),
            ("0.11.0", Some("0.11.0")),
            ("v0.3.1-0.20230504231226-94185418e253", Some("0.3.1")),
            ("1.7.28~ds1-1", Some("1.7.28")),
            ("v2.4", None),
            ("(devel)", None),
            ("v0.x.1", None),
            ("", None),
            ("99999999999.0.0", None),
        ] {
            assert_eq!(
                NriVersion::parse(text).map(|version| version.to_string()).as_deref(),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn a_runtime_has_what_it_reports_or_what_its_version_has() {
        let of = |reported, name, version| RuntimeNri::of(reported, name, version, Timeouts::Given);
        assert_eq!(of("v0.12.5", "containerd", "v1.7.0"), RuntimeNri::Reported(version("0.12.5")));
        assert_eq!(of("(devel)", "containerd", "v2.4.2"), RuntimeNri::Unnumbered);
        for (name, runtime, nri) in [
            ("containerd", "v1.7.13", "0.4.0"),
            ("containerd", "1.7.30", "0.8.0"),
            ("containerd", "v2.1.6", "0.8.0"),
            ("containerd", "v2.2.0", "0.10.0"),
            ("containerd", "v2.2.9", "0.11.0"),
            ("cri-o", "1.33.2", "0.9.0"),
            ("cri-o", "1.35.0", "0.11.0"),
        ] {
            assert_eq!(of("", name, runtime), RuntimeNri::Inferred(version(nri)), "{name} {runtime}");
        }
        assert_eq!(of("", "scripted", "v0.0.0"), RuntimeNri::Unknown { at_least: version("0.8.0") });
        assert_eq!(of("", "containerd", "v1.6.0"), RuntimeNri::Unknown { at_least: version("0.8.0") });
        let older = RuntimeNri::of("", "scripted", "", Timeouts::Missing);
        assert_eq!(older.at_least(), version("0.2.0"));
    }

    #[test]
    fn what_is_not_known_is_not_taken_for_missing() {
        let unknown = RuntimeNri::Unknown { at_least: version("0.8.0") };
        assert!(!unknown.lacks(version("0.11.0")) && unknown.lacks(version("0.12.0")));
        assert!(RuntimeNri::Reported(version("0.12.3")).lacks(version("0.12.5")));
        assert!(!RuntimeNri::Unnumbered.lacks(version("0.12.5")));
    }
}
