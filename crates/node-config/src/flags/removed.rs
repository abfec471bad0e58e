//! The flags that releases before 1.34 removed, and those of kubelets on other systems.
//!
//! By the sources of each release from 1.20 on: `cmd/kubelet/app/options` and `pkg/kubelet/config/flags.go` of
//! kubernetes/kubernetes. The flags of klog, which are in none of these files, are those of its pull request 112120, and
//! `--allow-privileged` that of 77820.

/// The minor release that removed flags, in which underscores have become dashes, and their names.
const REMOVED: [(u32, &[&str]); 11] = [
    (15, &["allow-privileged"]),
    (21, &["enable-cadvisor-json-endpoints"]),
    (22, &["chaos-chance", "experimental-logging-sanitization", "redirect-container-streaming"]),
    (23, &["experimental-bootstrap-kubeconfig", "seccomp-profile-root"]),
    (
        24,
        &[
            "cni-bin-dir",
            "cni-cache-dir",
            "cni-conf-dir",
            "docker",
            "docker-endpoint",
            "docker-env-metadata-whitelist",
            "docker-only",
            "docker-root",
            "docker-tls",
            "docker-tls-ca",
            "docker-tls-cert",
            "docker-tls-key",
            "dynamic-config-dir",
            "experimental-check-node-capabilities-before-mount",
            "experimental-dockershim-root-directory",
            "image-pull-progress-deadline",
            "network-plugin",
            "network-plugin-mtu",
            "non-masquerade-cidr",
            "really-crash-for-testing",
        ],
    ),
    (25, &["experimental-kernel-memcg-notification"]),
    (
        26,
        &[
            "add-dir-header",
            "alsologtostderr",
            "log-backtrace-at",
            "log-dir",
            "log-file",
            "log-file-max-size",
            "logtostderr",
            "one-output",
            "skip-headers",
            "skip-log-headers",
            "stderrthreshold",
        ],
    ),
    (27, &["container-runtime", "master-service-namespace"]),
    (30, &["azure-container-registry-config"]),
    (31, &["iptables-drop-bit", "iptables-masquerade-bit", "keep-terminated-pod-volumes"]),
    (34, &["cloud-config", "register-schedulable"]),
];

/// Of kubelets on Windows (`osflags_windows.go`).
const OF_WINDOWS: [&str; 2] = ["windows-priorityclass", "windows-service"];

/// The minor release that removed a flag; `None`: a release from 1.34 on has it, or none is known to have had it.
pub(super) fn removed_by(name: &str) -> Option<u32> {
    REMOVED.iter().find(|(_, names)| names.contains(&name)).map(|(minor, _)| *minor)
}

/// Whether only kubelets on Windows have a flag.
pub(super) fn is_of_windows(name: &str) -> bool {
    OF_WINDOWS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::table;

    #[test]
    fn no_flag_is_removed_that_a_release_has() {
        for (_, names) in REMOVED {
            assert!(names.is_sorted());
            assert!(names.iter().all(|name| table::find(name).is_none()), "{names:?}");
        }
        assert!(OF_WINDOWS.iter().all(|name| table::find(name).is_none()));
    }
}
