//! The flags of a kubelet: which decide, and which of the others have values.
//!
//! The table has the flags of all releases from 1.34 to 1.37 on Linux, by `cmd/kubelet/app/options`, in 1.34 also
//! `pkg/kubelet/config/flags.go`, and `logs/api/v1/options.go` of component-base. They differ in flags that do not decide:
//! 1.35 has no `--pod-infra-container-image`, and 1.37 none of the flags of cAdvisor but `--housekeeping-interval`. A
//! kubelet does not start with a flag that its release removed.

use alloc::string::String;

use kubelet_release::{FlagTable, Release, Rules};

use super::error::FlagFault;
use super::settings::Settings;
use super::values::{self, Read};

/// How a flag is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `--name=value` or `--name value`.
    Valued,
    /// `--name`, which means true, or `--name=value`.
    Switch,
    /// A switch in [`Pass::Paths`](super::Pass::Paths), and [`Valued`](Self::Valued) after that.
    SwitchOnce,
}

/// Whether a flag sets a field of the configuration.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sets {
    /// It wins over the file.
    Field,
    /// No file has it.
    Flag,
}

/// A flag that decides.
pub(super) struct Deciding {
    pub(super) name: &'static str,
    pub(super) form: Form,
    pub(super) sets: Sets,
    /// Takes one more value.
    pub(super) set: fn(&mut Settings, &str) -> Read,
}

/// What is known of a flag.
#[derive(Clone, Copy)]
pub(super) enum Flag {
    /// It decides.
    Deciding(&'static Deciding),
    /// It does not.
    Other(Form),
}

/// The flag of this name, in which underscores have become dashes.
pub(super) fn find(name: &str) -> Option<Flag> {
    if let Some(deciding) = DECIDING.iter().find(|flag| flag.name == name) {
        return Some(Flag::Deciding(deciding));
    }
    if SWITCHES_ONCE.contains(&name) {
        return Some(Flag::Other(Form::SwitchOnce));
    }
    if SWITCHES.binary_search(&name).is_ok() {
        return Some(Flag::Other(Form::Switch));
    }
    VALUED.binary_search(&name).is_ok().then_some(Flag::Other(Form::Valued))
}

/// Whether a kubelet with these flags has this one, in which underscores have become dashes.
pub(super) fn has(table: FlagTable, name: &str) -> bool {
    let least = REMOVED.iter().find(|(_, names)| names.contains(&name)).map(|(of, _)| *of);
    find(name).is_some() && least.is_none_or(|least| least <= table)
}

/// The releases that have a flag, oldest first.
pub(super) fn releases(name: String) -> impl Iterator<Item = Release> {
    Release::ALL.into_iter().filter(move |release| has(Rules::of(*release).flags, &name))
}

/// The names of all flags.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let deciding = DECIDING.iter().map(|flag| flag.name);
    deciding.chain(SWITCHES_ONCE).chain(SWITCHES).chain(VALUED)
}

/// The flags that not all releases have.
const REMOVED: [(FlagTable, &[&str]); 2] = [
    (FlagTable::OfSandboxImage, &["pod-infra-container-image"]),
    (
        FlagTable::OfCadvisor,
        &[
            "application-metrics-count-limit",
            "boot-id-file",
            "container-hints",
            "containerd",
            "containerd-namespace",
            "enable-load-reader",
            "event-storage-age-limit",
            "event-storage-event-limit",
            "global-housekeeping-interval",
            "log-cadvisor-usage",
            "machine-id-file",
            "storage-driver-buffer-duration",
            "storage-driver-db",
            "storage-driver-host",
            "storage-driver-password",
            "storage-driver-secure",
            "storage-driver-table",
            "storage-driver-user",
        ],
    ),
];

const fn field(name: &'static str, set: fn(&mut Settings, &str) -> Read) -> Deciding {
    Deciding { name, form: Form::Valued, sets: Sets::Field, set }
}

const fn flag(name: &'static str, set: fn(&mut Settings, &str) -> Read) -> Deciding {
    Deciding { name, form: Form::Valued, sets: Sets::Flag, set }
}

const fn switch(name: &'static str, set: fn(&mut Settings, &str) -> Read) -> Deciding {
    Deciding { name, form: Form::Switch, sets: Sets::Field, set }
}

/// The flags that decide.
#[rustfmt::skip]
const DECIDING: [Deciding; 30] = [
    flag("config", |to, value| values::text(&mut to.config, value)),
    flag("config-dir", |to, value| values::text(&mut to.config_dir, value)),
    flag("root-dir", |to, value| values::text(&mut to.root_dir, value)),
    flag("hostname-override", |to, value| values::text(&mut to.hostname_override, value)),
    flag("node-labels", |to, value| values::foreign_labels(&mut to.foreign_labels, value)),
    field("pod-manifest-path", |to, value| values::text(&mut to.pod_manifest_path, value)),
    field("cpu-manager-policy", |to, value| values::text(&mut to.cpu_manager_policy, value)),
    field("cpu-manager-policy-options", |to, value| values::pair(&mut to.cpu_manager_policy_options, value)),
    field("cpu-manager-reconcile-period", |to, value| values::duration(&mut to.cpu_manager_reconcile_period, value)),
    field("memory-manager-policy", |to, value| values::text(&mut to.memory_manager_policy, value)),
    field("reserved-memory", |to, value| to.reserved_memory.set(value).map_err(FlagFault::ReservedMemory)),
    field("topology-manager-policy", |to, value| values::text(&mut to.topology_manager_policy, value)),
    field("topology-manager-policy-options", |to, value| values::pairs(&mut to.topology_manager_policy_options, value)),
    field("topology-manager-scope", |to, value| values::text(&mut to.topology_manager_scope, value)),
    field("kube-reserved", |to, value| values::pairs(&mut to.kube_reserved, value)),
    field("kube-reserved-cgroup", |to, value| values::text(&mut to.kube_reserved_cgroup, value)),
    field("system-reserved", |to, value| values::pairs(&mut to.system_reserved, value)),
    field("system-reserved-cgroup", |to, value| values::text(&mut to.system_reserved_cgroup, value)),
    field("reserved-cpus", |to, value| values::text(&mut to.reserved_cpus, value)),
    field("eviction-hard", |to, value| values::thresholds(&mut to.eviction_hard, value)),
    switch("experimental-allocatable-ignore-eviction", |to, value| values::boolean(&mut to.ignore_eviction, value)),
    field("enforce-node-allocatable", |to, value| values::list(&mut to.enforce_node_allocatable, value)),
    field("system-cgroups", |to, value| values::text(&mut to.system_cgroups, value)),
    field("cgroup-root", |to, value| values::text(&mut to.cgroup_root, value)),
    switch("cgroups-per-qos", |to, value| values::boolean(&mut to.cgroups_per_qos, value)),
    field("max-pods", |to, value| values::integer(&mut to.max_pods, value)),
    field("pods-per-core", |to, value| values::integer(&mut to.pods_per_core, value)),
    field("feature-gates", |to, value| values::gates(&mut to.feature_gates, value)),
    field("register-with-taints", |to, value| values::taints(&mut to.register_with_taints, value)),
    field("node-status-update-frequency", |to, value| values::duration(&mut to.node_status_update_frequency, value)),
];

/// Switches of libraries. [`newFakeFlagSet`] forgets that they are switches.
///
/// [`newFakeFlagSet`]: https://github.com/kubernetes/kubernetes/blob/v1.36.3/cmd/kubelet/app/server.go#L411
const SWITCHES_ONCE: [&str; 4] =
    ["enable-load-reader", "log-cadvisor-usage", "storage-driver-secure", "version"];

/// Switches that do not decide, by name.
const SWITCHES: [&str; 23] = [
    "anonymous-auth",
    "authentication-token-webhook",
    "contention-profiling",
    "cpu-cfs-quota",
    "enable-controller-attach-detach",
    "enable-debugging-handlers",
    "enable-server",
    "exit-on-lock-contention",
    "fail-cgroupv1",
    "fail-swap-on",
    "help",
    "kernel-memcg-notification",
    "local-storage-capacity-isolation",
    "log-json-split-stream",
    "log-text-split-stream",
    "make-iptables-util-chains",
    "protect-kernel-defaults",
    "register-node",
    "rotate-certificates",
    "rotate-server-certificates",
    "runonce",
    "seccomp-default",
    "serialize-image-pulls",
];

/// Flags with a value that do not decide, by name.
const VALUED: [&str; 93] = [
    "address",
    "allowed-unsafe-sysctls",
    "application-metrics-count-limit",
    "authentication-token-webhook-cache-ttl",
    "authorization-mode",
    "authorization-webhook-cache-authorized-ttl",
    "authorization-webhook-cache-unauthorized-ttl",
    "boot-id-file",
    "bootstrap-kubeconfig",
    "cert-dir",
    "cgroup-driver",
    "client-ca-file",
    "cloud-provider",
    "cluster-dns",
    "cluster-domain",
    "container-hints",
    "container-log-max-files",
    "container-log-max-size",
    "container-runtime-endpoint",
    "containerd",
    "containerd-namespace",
    "cpu-cfs-quota-period",
    "event-burst",
    "event-qps",
    "event-storage-age-limit",
    "event-storage-event-limit",
    "eviction-max-pod-grace-period",
    "eviction-minimum-reclaim",
    "eviction-pressure-transition-period",
    "eviction-soft",
    "eviction-soft-grace-period",
    "experimental-mounter-path",
    "file-check-frequency",
    "global-housekeeping-interval",
    "hairpin-mode",
    "healthz-bind-address",
    "healthz-port",
    "housekeeping-interval",
    "http-check-frequency",
    "image-credential-provider-bin-dir",
    "image-credential-provider-config",
    "image-gc-high-threshold",
    "image-gc-low-threshold",
    "image-service-endpoint",
    "kube-api-burst",
    "kube-api-content-type",
    "kube-api-qps",
    "kubeconfig",
    "kubelet-cgroups",
    "lock-file",
    "log-flush-frequency",
    "log-json-info-buffer-size",
    "log-text-info-buffer-size",
    "logging-format",
    "machine-id-file",
    "manifest-url",
    "manifest-url-header",
    "max-open-files",
    "maximum-dead-containers",
    "maximum-dead-containers-per-container",
    "minimum-container-ttl-duration",
    "minimum-image-ttl-duration",
    "node-ip",
    "node-status-max-images",
    "oom-score-adj",
    "pod-cidr",
    "pod-infra-container-image",
    "pod-max-pids",
    "port",
    "provider-id",
    "qos-reserved",
    "read-only-port",
    "registry-burst",
    "registry-qps",
    "resolv-conf",
    "runtime-cgroups",
    "runtime-request-timeout",
    "storage-driver-buffer-duration",
    "storage-driver-db",
    "storage-driver-host",
    "storage-driver-password",
    "storage-driver-table",
    "storage-driver-user",
    "streaming-connection-idle-timeout",
    "sync-frequency",
    "tls-cert-file",
    "tls-cipher-suites",
    "tls-min-version",
    "tls-private-key-file",
    "v",
    "vmodule",
    "volume-plugin-dir",
    "volume-stats-agg-period",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_there_once_and_is_found() {
        let mut sorted: alloc::vec::Vec<_> = names().collect();
        assert!(sorted.iter().all(|name| find(name).is_some()));
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), 150);
        assert!(SWITCHES.is_sorted() && VALUED.is_sorted());
        let removed: usize =
            names().map(|name| usize::from(releases(name.into()).count() < Release::ALL.len())).sum();
        assert_eq!(removed, 1 + 18);
    }
}
