//! Semantic versions as the library reads them that Kubernetes uses (blang/semver).
//!
//! The crate `semver` differs: it refuses numbers that this one takes and has other texts of errors.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;

/// A version.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    pub(crate) major: u64,
    pub(crate) minor: u64,
    pub(crate) patch: u64,
    before: Vec<Part>,
    build: Vec<String>,
}

/// A part of what stands behind the hyphen.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Part {
    /// Numbers are below names.
    Number(u64),
    Name(String),
}

impl Version {
    /// Reads a version strictly. The errors are that library's.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("Version string empty".to_string());
        }
        let mut parts = text.splitn(3, '.');
        let (Some(major), Some(minor), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
            return Err("No Major.Minor.Patch elements found".to_string());
        };
        let (major, minor) = (number("major", major)?, number("minor", minor)?);
        let (rest, build) = rest.split_once('+').map_or((rest, None), |(rest, build)| (rest, Some(build)));
        let (patch, before) =
            rest.split_once('-').map_or((rest, None), |(patch, before)| (patch, Some(before)));
        let patch = number("patch", patch)?;
        let before =
            before.into_iter().flat_map(|before| before.split('.')).map(part).collect::<Result<_, _>>()?;
        let build =
            build.into_iter().flat_map(|build| build.split('.')).map(meta).collect::<Result<_, _>>()?;
        Ok(Self { major, minor, patch, before, build })
    }

    /// Reads a version that may begin with `v`, lack numbers, or have leading zeros.
    pub(crate) fn parse_normalized(text: &str) -> Result<Self, String> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let mut parts: Vec<String> = text.splitn(3, '.').map(without_zeros).collect();
        if parts.len() < 3 && parts.last().is_some_and(|last| last.contains(['+', '-'])) {
            return Err("short version cannot contain PreRelease/Build meta data".to_string());
        }
        parts.resize(3, "0".to_string());
        Self::parse(&parts.join("."))
    }

    /// Which is newer; build metadata does not count.
    pub(crate) fn precedence(&self, other: &Self) -> Ordering {
        let numbers = |of: &Self| [of.major, of.minor, of.patch];
        let by_before = match (self.before.is_empty(), other.before.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => self.before.cmp(&other.before),
        };
        numbers(self).cmp(&numbers(other)).then(by_before)
    }
}

fn without_zeros(part: &str) -> String {
    if part.len() < 2 {
        return part.to_string();
    }
    let rest = part.trim_start_matches('0');
    if rest.starts_with(|first: char| first.is_ascii_digit()) { rest.to_string() } else { format!("0{rest}") }
}

fn number(name: &str, text: &str) -> Result<u64, String> {
    if text.bytes().any(|byte| !byte.is_ascii_digit()) {
        return Err(format!("Invalid character(s) found in {name} number {text:?}"));
    }
    if text.len() > 1 && text.starts_with('0') {
        let mut title = name.to_string();
        title[..1].make_ascii_uppercase();
        return Err(format!("{title} number must not contain leading zeroes {text:?}"));
    }
    parsed(text)
}

fn parsed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| {
        let reason = if text.is_empty() { "invalid syntax" } else { "value out of range" };
        format!("strconv.ParseUint: parsing {text:?}: {reason}")
    })
}

fn is_name(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn part(text: &str) -> Result<Part, String> {
    if text.is_empty() {
        return Err("Prerelease is empty".to_string());
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        if text.len() > 1 && text.starts_with('0') {
            return Err(format!("Numeric PreRelease version must not contain leading zeroes {text:?}"));
        }
        return parsed(text).map(Part::Number);
    }
    if is_name(text) {
        Ok(Part::Name(text.to_string()))
    } else {
        Err(format!("Invalid character(s) found in prerelease {text:?}"))
    }
}

fn meta(text: &str) -> Result<String, String> {
    if text.is_empty() {
        return Err("Build meta data is empty".to_string());
    }
    if is_name(text) {
        Ok(text.to_string())
    } else {
        Err(format!("Invalid character(s) found in build meta data {text:?}"))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        let before: Vec<_> = self.before.iter().map(ToString::to_string).collect();
        if !before.is_empty() {
            write!(f, "-{}", before.join("."))?;
        }
        if self.build.is_empty() { Ok(()) } else { write!(f, "+{}", self.build.join(".")) }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Name(name) => f.write_str(name),
        }
    }
}
