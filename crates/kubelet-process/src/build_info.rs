//! Go's build information: modules, their versions and the flags of the build. The format since Go 1.18 is in Go's
//! `debug/buildinfo`: a magic text, flags, and from byte 32 on two texts, each behind its length as a varint.

use std::io::{Read, Seek};

use crate::elf::Elf;
use crate::linked_version::{is_version, version_at};

const MAGIC: &[u8] = b"\xff Go buildinf:";
/// Byte 15: the texts are here, not behind pointers.
const INLINE: u8 = 2;
/// The kubelet's has 13 KiB.
const MOST: u64 = 2 << 20;
/// The text about modules is between two marks of 16 bytes.
const MARK: usize = 16;
/// The variable that the linker sets.
const VARIABLE: &str = "k8s.io/component-base/version.gitVersion=";
const KUBERNETES: &str = "k8s.io/kubernetes";

/// The text about modules and flags.
pub(crate) fn modules<F: Read + Seek>(elf: &mut Elf<'_, F>) -> Option<String> {
    let section = elf.section(".go.buildinfo")?;
    let bytes = elf.bytes(section, MOST)?;
    if !bytes.starts_with(MAGIC) || bytes.get(15)? & INLINE == 0 {
        return None;
    }
    let (_, rest) = text(bytes.get(32..)?)?;
    let (modules, _) = text(rest)?;
    let inner = modules.get(MARK..modules.len().checked_sub(MARK)?)?;
    Some(String::from_utf8_lossy(inner).into_owned())
}

/// A text behind its length, and what follows it.
fn text(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut length: u64 = 0;
    for (at, byte) in bytes.iter().take(9).enumerate() {
        length |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return bytes.get(at + 1..)?.split_at_checked(usize::try_from(length).ok()?);
        }
    }
    None
}

/// Whether a program contains Kubernetes' code.
pub(crate) fn is_of_kubernetes(modules: &str) -> bool {
    modules.contains(KUBERNETES) || modules.contains("k8s.io/component-base")
}

/// The version that `-ldflags` set; the last one counts.
pub(crate) fn linker_flag(modules: &str) -> Option<String> {
    let flags = modules.lines().find_map(|line| line.strip_prefix("build\t-ldflags="))?;
    let (_, value) = flags.rsplit_once(VARIABLE)?;
    version_at(value.as_bytes()).map(str::to_owned)
}

/// The version of the module `k8s.io/kubernetes`, as the program itself or as a part of it. A version that Go derives
/// from a commit (`v1.36.4-0.20260101000000-0123456789ab`) is none.
pub(crate) fn module_version(modules: &str) -> Option<String> {
    let version = modules.lines().find_map(|line| {
        let mut fields = line.split('\t');
        let is_module = matches!(fields.next(), Some("mod" | "dep")) && fields.next() == Some(KUBERNETES);
        if is_module { fields.next() } else { None }
    })?;
    (is_version(version) && !is_of_commit(version)).then(|| version.to_owned())
}

fn is_of_commit(version: &str) -> bool {
    let is_time = |part: &str| part.len() == 14 && part.bytes().all(|byte| byte.is_ascii_digit());
    version.split(['-', '.', '+']).any(is_time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_in_the_text() {
        let check = |text: &str, flag: Option<&str>, module: Option<&str>| {
            assert_eq!(linker_flag(text).as_deref(), flag, "{text}");
            assert_eq!(module_version(text).as_deref(), module, "{text}");
        };
        let set = "k8s.io/component-base/version.gitVersion";
        check(
            &format!("path\ta\nbuild\t-ldflags=\"-s -X {set}=v1.36.3+k3s1 -w\"\n"),
            Some("v1.36.3+k3s1"),
            None,
        );
        check(&format!("build\t-ldflags=\"-X {set}=v1.36.3 -X {set}=v1.36.4\"\n"), Some("v1.36.4"), None);
        check(
            &format!("build\t-ldflags=\"-X '{set}=v1.35.2-eks-1a2b3c4'\"\n"),
            Some("v1.35.2-eks-1a2b3c4"),
            None,
        );
        check(&format!("build\t-ldflags=\"-X {set}=unknown\"\n"), None, None);
        check(&format!("dep\t{set}=v1.36.3\n"), None, None);
        check("mod\tk8s.io/kubernetes\tv1.36.3\th1:a=\n", None, Some("v1.36.3"));
        check("mod\tk8s.io/kubernetes\t(devel)\t\n", None, None);
        check(
            "dep\tk8s.io/kubernetes\tv1.36.3\n=>\tgithub.com/k3s-io/kubernetes\tv1.36.3-k3s1\th1:a=\n",
            None,
            Some("v1.36.3"),
        );
        check("mod\tk8s.io/kubernetes\tv1.36.4-0.20260101000000-0123456789ab\t\n", None, None);
        check("dep\tk8s.io/kubernetes-foo\tv1.36.3\n", None, None);
        check("", None, None);
    }

    #[test]
    fn texts_behind_their_lengths() {
        assert_eq!(text(b"\x02abc"), Some((&b"ab"[..], &b"c"[..])));
        assert_eq!(text(b"\x03ab"), None);
        assert_eq!(text(b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), None);
        assert_eq!(text(b""), None);
    }
}
