//! The variable `gitVersion` in a program that keeps no flags of its build.
//!
//! Go's linker writes the text that `-X` sets to `.rodata` with a NUL behind it (`addstrdata` and `Addstring` in
//! `cmd/link/internal`), and its address and length to the variable in `.data`. Texts of Go code have no NUL, and texts of
//! C code have no length. So a version with both is a variable that was set by `-X`. A kubelet may contain further
//! ones, such as that of cri-tools, whose numbers look alike: only one distinct version may be there.
//!
//! Tried on: the kubelet v1.36.3 built with `-trimpath`, with and without symbols and with suffixes of distributions;
//! Google's builds of kubectl v1.27 to v1.33; small programs for amd64, arm64, ppc64le, riscv64 and loong64,
//! position-independent or not, with cgo or not. All gave the version that they were built with. Programs with `client-go` that set
//! no `gitVersion` (kpt, anthoscli) gave none. A wrong version needs a kubelet whose `gitVersion` is not set while `-X` sets
//! another variable to a version `v1.20` to `v1.99`. Where a linker leaves addresses to relocations alone, nothing is found.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Seek};

use crate::elf::{Elf, u64_at};

/// A multiple of 8; longer versions are not looked for.
const LONGEST: usize = 128;
/// Addresses and lengths of texts that may be it.
const MOST: usize = 4096;
/// The minor versions of Kubernetes that are looked for.
const MINORS: std::ops::RangeInclusive<u32> = 20..=99;

/// The one version that looks like a variable set by the linker.
pub(crate) fn find<F: Read + Seek>(elf: &mut Elf<'_, F>) -> Option<String> {
    let texts = elf.section(".rodata")?;
    let mut at_address = BTreeMap::new();
    let visited = elf.scan(texts, LONGEST, |piece, position, places| {
        let mut from = 0;
        while let Some(at) =
            piece.get(from..places).and_then(|rest| rest.iter().position(|byte| *byte == b'v'))
        {
            let at = from + at;
            from = at + 1;
            let version = piece.get(at..).and_then(version_at);
            if let Some(version) = version.filter(|version| piece.get(at + version.len()) == Some(&0))
                && at_address.len() < MOST
                && let Some(address) = texts.address.checked_add(position + at as u64)
            {
                at_address.insert(address, version.to_owned());
            }
        }
    });
    visited.ok()?;
    if at_address.is_empty() || at_address.len() == MOST {
        return None;
    }
    let variables = elf.section(".data").filter(|section| section.address % 8 == 0)?;
    let mut set = BTreeSet::new();
    let visited = elf.scan(variables, 16, |piece, _, places| {
        for at in (0..places).step_by(8) {
            let version = u64_at(piece, at).and_then(|address| at_address.get(&address));
            if let Some(version) =
                version.filter(|version| u64_at(piece, at + 8) == Some(version.len() as u64))
            {
                set.insert(version.clone());
            }
        }
    });
    visited.ok()?;
    if set.len() > 1 { None } else { set.pop_first() }
}

/// The version of Kubernetes that these bytes begin with: `v1.MINOR.PATCH`, then `-PRE` and `+META` where they follow.
pub(crate) fn version_at(bytes: &[u8]) -> Option<&str> {
    let rest = bytes.get(..bytes.len().min(LONGEST))?.strip_prefix(b"v1.")?;
    let (minor, rest) = number(rest)?;
    let (_, rest) = number(rest.strip_prefix(b".")?)?;
    if !MINORS.contains(&minor) {
        return None;
    }
    let rest = suffix(suffix(rest, b'-'), b'+');
    // Without the whole suffix it may be another version.
    let length = bytes.len().min(LONGEST) - rest.len();
    if length == LONGEST { None } else { str::from_utf8(bytes.get(..length)?).ok() }
}

/// Whether a text is a version of Kubernetes and nothing else.
pub(crate) fn is_version(text: &str) -> bool {
    version_at(text.as_bytes()).is_some_and(|version| version.len() == text.len())
}

/// A number of at most three digits, and what follows it.
fn number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let end = bytes.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(bytes.len());
    let (digits, rest) = bytes.split_at_checked(end)?;
    let number = str::from_utf8(digits).ok().filter(|digits| digits.len() <= 3)?.parse().ok()?;
    Some((number, rest))
}

/// What follows a suffix that begins with this sign.
fn suffix(bytes: &[u8], sign: u8) -> &[u8] {
    let Some(rest) = bytes.strip_prefix(&[sign]) else { return bytes };
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    let end = rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
    if end == 0 { bytes } else { rest.get(end..).unwrap_or_default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_kubernetes() {
        let check =
            |text: &str, expected: Option<&str>| assert_eq!(version_at(text.as_bytes()), expected, "{text}");
        check("v1.36.3", Some("v1.36.3"));
        check("v1.36.3\0", Some("v1.36.3"));
        check("v1.36.3-rc.1\0", Some("v1.36.3-rc.1"));
        check("v1.36.3+k3s1\"", Some("v1.36.3+k3s1"));
        check("v1.36.3-gke.100+a.b -w", Some("v1.36.3-gke.100+a.b"));
        check("v1.36.3-", Some("v1.36.3"));
        check("v1.8.3", None);
        check("v1.100.3", None);
        check("v1.36", None);
        check("v1.36.", None);
        check("v1.36.1234", None);
        check("v2.36.1", None);
        check("1.36.1", None);
        check(&format!("v1.36.1-{}", "a".repeat(200)), None);
        assert!(is_version("v1.36.3") && !is_version("v1.36.3 "));
    }
}
