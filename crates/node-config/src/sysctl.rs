//! Names of sysctls, as `defaultPodSysctls` has them: which are well-formed, and which a pod can have for itself.

use alloc::borrow::Cow;
use alloc::string::String;

/// The longest name in bytes.
const LONGEST: usize = 253;

/// Sysctls of the namespaces for host names, and for System V and POSIX communication between processes.
const NAMESPACED: [&str; 11] = [
    "kernel.domainname",
    "kernel.sem",
    "kernel.shmall",
    "kernel.shmmax",
    "kernel.shmmni",
    "kernel.shm_rmid_forced",
    "kernel.shm",
    "kernel.msgmax",
    "kernel.msgmnb",
    "kernel.msgmni",
    "kernel.msg",
];

/// What the names of every sysctl of a namespace begin with.
const PREFIXES: [&str; 3] = ["net.", "fs.mqueue.", "user."];

/// Whether the name has at most 253 bytes, in segments `[a-z0-9]([-_a-z0-9]*[a-z0-9])?` between `.` or `/`.
pub(crate) fn is_valid(name: &str) -> bool {
    let is_end =
        |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let is_segment = |segment: &str| {
        let bytes = segment.as_bytes();
        is_end(bytes.first())
            && is_end(bytes.last())
            && bytes.iter().all(|byte| is_end(Some(byte)) || matches!(byte, b'-' | b'_'))
    };
    name.len() <= LONGEST && name.split(['.', '/']).all(is_segment)
}

/// The name with `.` between its segments. In a name whose first separator is `/` the two are exchanged, so that
/// `net/ipv4/conf/eno2.100/rp_filter` and `net.ipv4.conf.eno2/100.rp_filter` are the same.
pub(crate) fn normalized(name: &str) -> Cow<'_, str> {
    match name.find(['.', '/']) {
        Some(at) if name.as_bytes()[at] == b'/' => {
            let exchanged = name.chars().map(|letter| match letter {
                '.' => '/',
                '/' => '.',
                other => other,
            });
            Cow::Owned(exchanged.collect::<String>())
        }
        Some(_) | None => Cow::Borrowed(name),
    }
}

/// Whether a sysctl of this normalized name belongs to a namespace that a pod has for itself.
pub(crate) fn is_namespaced(normalized: &str) -> bool {
    NAMESPACED.contains(&normalized) || PREFIXES.iter().any(|prefix| normalized.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_segments_between_dots_or_slashes() {
        for name in ["a", "net.ipv4.ip_forward", "net/ipv4/conf/eno2.100/rp_filter", "a-b_c.0"] {
            assert!(is_valid(name), "{name}");
        }
        let longest = "a".repeat(LONGEST);
        assert!(is_valid(&longest) && !is_valid(&(longest + "a")));
        for name in ["", "net.", ".net", "net..x", "Net.x", "a b", "-a", "a_", "net.*", "net.ä"] {
            assert!(!is_valid(name), "{name}");
        }
    }

    #[test]
    fn separators_are_exchanged_where_a_slash_comes_first() {
        for (name, expected) in [
            ("net/ipv4/ip_forward", "net.ipv4.ip_forward"),
            ("net/ipv4/conf/eno2.100/rp_filter", "net.ipv4.conf.eno2/100.rp_filter"),
            ("net.ipv4.conf.eno2/100.rp_filter", "net.ipv4.conf.eno2/100.rp_filter"),
            ("kernel", "kernel"),
        ] {
            assert_eq!(normalized(name), expected);
        }
    }

    #[test]
    fn namespaced_names() {
        for name in
            ["kernel.shm_rmid_forced", "net.core.somaxconn", "fs.mqueue.msg_max", "user.max_ipc_namespaces"]
        {
            assert!(is_namespaced(name), "{name}");
        }
        for name in ["vm.swappiness", "kernel.shm_next_id", "net", "netx.a", "fs.file-max", "kernel.msgmax.x"]
        {
            assert!(!is_namespaced(name), "{name}");
        }
    }
}
