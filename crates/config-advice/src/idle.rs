//! Settings that a kubelet accepts and then never looks at, under the policies that are chosen.
//!
//! | setting | what it needs |
//! |---|---|
//! | `align-by-socket` | a Topology Manager policy: without one no hint says where a container is to be |
//! | `distribute-cpus-across-numa` | CPUs of more than one NUMA node: `single-numa-node` takes those of one |
//! | `full-pcpus-only` | cores of equally many threads: it counts by their average, and any number is a multiple of 1 |
//! | `prefer-closest-numa-nodes` | a policy that merges hints of several nodes, which `single-numa-node` does not |
//! | `topologyManagerScope`, `topologyManagerPolicyOptions` | a Topology Manager policy |
//! | `cpuManagerReconcilePeriod` | the static CPU manager |
//! | amounts of CPUs | no list of CPUs: `reservedSystemCPUs` takes their place |
//!
//! What a machine makes true anyway, such as `align-by-socket` where each socket is a NUMA node, is no mistake.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use k8s_quantity::Quantity;
use node_config::{Duration, KubeletConfiguration};
use topology_model::KubeletView;

use crate::given_out::cores_differ;
use crate::hazard::{CLOSEST, WHOLE_CORES};

/// A setting without effect.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Idle {
    /// The field that it is in.
    pub field: &'static str,
    /// The setting: an option, or an amount; empty: the field itself.
    pub setting: String,
    /// Why it has no effect.
    pub why: Why,
}

/// Why a setting has no effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// `topologyManagerPolicy` is `none`.
    NoTopologyPolicy,
    /// `topologyManagerPolicy` is `single-numa-node`.
    OneNode,
    /// The average core has one thread, although some have more.
    CoresDiffer,
    /// `cpuManagerPolicy` is `none`.
    NoCpuPolicy,
    /// `reservedSystemCPUs` lists the CPUs.
    CpusListed,
}

impl fmt::Display for Idle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.setting.is_empty() {
            write!(f, "{}: ", self.setting)?;
        }
        f.write_str(match self.why {
            Why::NoTopologyPolicy => "topologyManagerPolicy is none",
            Why::OneNode => "topologyManagerPolicy single-numa-node takes everything from one NUMA node",
            Why::CoresDiffer => {
                "cores of this machine differ in their number of threads, and the kubelet counts by their average, one: it accepts any number of CPUs, and parts of cores"
            }
            Why::NoCpuPolicy => "cpuManagerPolicy is none",
            Why::CpusListed => "reservedSystemCPUs takes the place of the amounts, and lists fewer CPUs",
        })
    }
}

/// Whether an option of the CPU manager or of the Topology Manager does anything under the policies that are chosen.
pub(crate) fn has_effect(config: &KubeletConfiguration, view: &KubeletView, option: &str) -> bool {
    idle_option(config, view, option).is_none()
}

fn idle_option(config: &KubeletConfiguration, view: &KubeletView, option: &str) -> Option<Why> {
    let policy = config.topology_policy();
    match (option, policy) {
        ("align-by-socket" | CLOSEST | "max-allowable-numa-nodes", "none") => Some(Why::NoTopologyPolicy),
        ("distribute-cpus-across-numa" | CLOSEST, "single-numa-node") => Some(Why::OneNode),
        (WHOLE_CORES, _) if view.cpus().cpus_per_core() == 1 && cores_differ(view) => Some(Why::CoresDiffer),
        _ => None,
    }
}

/// All settings of a configuration that have no effect.
pub(crate) fn idle(config: &KubeletConfiguration, view: &KubeletView) -> Vec<Idle> {
    let mut found = Vec::new();
    let is_on = |value: &String| node_config::parse_bool(value) != Some(false);
    for (field, options) in [
        ("cpuManagerPolicyOptions", &config.cpu_manager_policy_options),
        ("topologyManagerPolicyOptions", &config.topology_manager_policy_options),
    ] {
        let on = options.iter().filter(|(_, value)| is_on(value));
        let idle = on.filter_map(|(name, _)| Some((name, idle_option(config, view, name)?)));
        found.extend(idle.map(|(name, why)| Idle { field, setting: name.clone(), why }));
    }
    if config.topology_policy() == "none" && config.topology_scope() == "pod" {
        let why = Why::NoTopologyPolicy;
        found.push(Idle { field: "topologyManagerScope", setting: "pod".to_string(), why });
    }
    let is_usual = |period: &Duration| *period == Duration::from_seconds(10);
    if config.cpu_policy() == "none"
        && config.cpu_manager_reconcile_period.is_some_and(|period| !is_usual(&period))
    {
        let why = Why::NoCpuPolicy;
        found.push(Idle { field: "cpuManagerReconcilePeriod", setting: String::new(), why });
    }
    found.extend(idle_amounts(config));
    found
}

/// Amounts of CPUs that add up to more than are listed.
pub(crate) fn idle_amounts(config: &KubeletConfiguration) -> Vec<Idle> {
    let Ok(listed) = config.reserved_cpus().parse::<cpuset::CpuSet>() else { return Vec::new() };
    let fields = [("systemReserved", &config.system_reserved), ("kubeReserved", &config.kube_reserved)];
    let amounts = fields.map(|(field, amounts)| (field, amounts.get("cpu")));
    let milli = |text: &String| text.parse::<Quantity>().map_or(0, |amount| amount.milli_value());
    let sum = amounts.iter().filter_map(|(_, text)| *text).map(milli).fold(0, i64::saturating_add);
    let most = i64::try_from(listed.len()).unwrap_or(i64::MAX).saturating_mul(1000);
    if listed.is_empty() || sum <= most {
        return Vec::new();
    }
    let written = amounts.into_iter().filter_map(|(field, text)| Some((field, text?)));
    written
        .map(|(field, text)| Idle { field, setting: alloc::format!("cpu {text}"), why: Why::CpusListed })
        .collect()
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use topology_manifest::{Source, read_kubelet_config};
    use topology_model::MachineInfo;

    use super::*;

    #[track_caller]
    fn check(fields: &str, expected: &[(&str, Why)]) {
        let text =
            format!("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n{fields}\n");
        let config = read_kubelet_config(&Source { name: "kubelet.yaml", text: &text }).unwrap().config;
        let machine = "pack:2 [numa(memory=16GiB)] core:8 pu:2".parse::<MachineInfo>().unwrap();
        let view = KubeletView::new(&machine).unwrap();
        let found = idle(&config, &view);
        let found: Vec<_> = found.iter().map(|own| (own.setting.as_str(), own.why)).collect();
        assert_eq!(found, expected, "{fields}");
    }

    #[test]
    fn what_no_policy_looks_at_is_told() {
        let socket = "cpuManagerPolicy: static\ncpuManagerPolicyOptions: {align-by-socket: 'true'}\n";
        check(socket, &[("align-by-socket", Why::NoTopologyPolicy)]);
        check(&format!("{socket}topologyManagerPolicy: restricted"), &[]);
        check("cpuManagerPolicyOptions: {align-by-socket: 'false'}", &[]);
        let across = "cpuManagerPolicyOptions: {distribute-cpus-across-numa: 'true'}\n";
        check(across, &[]);
        check(
            &format!("{across}topologyManagerPolicy: single-numa-node"),
            &[("distribute-cpus-across-numa", Why::OneNode)],
        );
        let closest = "topologyManagerPolicyOptions: {prefer-closest-numa-nodes: 'true'}\n";
        check(closest, &[(CLOSEST, Why::NoTopologyPolicy)]);
        check(&format!("{closest}topologyManagerPolicy: best-effort"), &[]);
        check(&format!("{closest}topologyManagerPolicy: single-numa-node"), &[(CLOSEST, Why::OneNode)]);
        check("topologyManagerScope: pod", &[("pod", Why::NoTopologyPolicy)]);
        check("topologyManagerScope: container", &[]);
        check("topologyManagerScope: pod\ntopologyManagerPolicy: restricted", &[]);
        check("cpuManagerReconcilePeriod: 5s", &[("", Why::NoCpuPolicy)]);
        check("cpuManagerReconcilePeriod: 10s", &[]);
        check("cpuManagerReconcilePeriod: 5s\ncpuManagerPolicy: static", &[]);
        check("reservedSystemCPUs: '0,16'\nsystemReserved: {cpu: '4'}", &[("cpu 4", Why::CpusListed)]);
        check("reservedSystemCPUs: '0,16'\nsystemReserved: {cpu: 500m}\nkubeReserved: {cpu: 1500m}", &[]);
    }
}
