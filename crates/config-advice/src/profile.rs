//! What is wrong with the lists of CPUs in a `PerformanceProfile`, beside the kubelet's configuration that is made of it.

use alloc::vec::Vec;
use core::fmt;

use cpuset::CpuSet;

use crate::Severity;

/// The lists of CPUs of a profile; empty ones are not written.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProfileCpus {
    /// For the system.
    pub reserved: CpuSet,
    /// For pods alone: the kernel keeps its work away from them.
    pub isolated: CpuSet,
    /// For pods that share CPUs beside their own.
    pub shared: CpuSet,
    /// For a virtual switch.
    pub ovs_dpdk: CpuSet,
    /// Taken offline.
    pub offlined: CpuSet,
    /// Whether pods share the CPUs of `shared`: hint `mixedCpus`.
    pub mixes: bool,
}

/// CPUs that are in other lists than that of the reserved ones, and stay there whatever is proposed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OtherCpus {
    /// All of them.
    pub all: CpuSet,
    /// Those of them that the kubelet has in `reservedSystemCPUs`, too.
    pub reserved: CpuSet,
}

/// One thing wrong with the lists.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ProfileFault {
    /// CPUs are in two lists.
    Twice {
        /// The first list.
        one: &'static str,
        /// The second one.
        other: &'static str,
        /// Those CPUs.
        cpus: CpuSet,
    },
    /// CPUs of the machine are in no list.
    InNone(CpuSet),
    /// A list has CPUs that the machine has not.
    NotThere {
        /// The list.
        list: &'static str,
        /// Those CPUs.
        cpus: CpuSet,
    },
    /// CPUs are to be shared, and no hint says so.
    SharedUnused(CpuSet),
}

impl ProfileCpus {
    /// The lists by their names below `spec.cpu`.
    fn lists(&self) -> [(&'static str, &CpuSet); 5] {
        [
            ("reserved", &self.reserved),
            ("isolated", &self.isolated),
            ("shared", &self.shared),
            ("ovsDpdk", &self.ovs_dpdk),
            ("offlined", &self.offlined),
        ]
    }

    /// What is wrong on a machine with these CPUs online.
    #[must_use]
    pub fn faults(&self, online: &CpuSet) -> Vec<ProfileFault> {
        let lists = self.lists();
        let pairs = lists
            .iter()
            .enumerate()
            .flat_map(|(at, one)| lists.iter().skip(at + 1).map(move |other| (*one, *other)));
        let twice = pairs.filter(|((_, one), (_, other))| !one.is_disjoint(other));
        let mut found: Vec<ProfileFault> = twice
            .map(|((one, cpus), (other, others))| ProfileFault::Twice { one, other, cpus: cpus & others })
            .collect();
        let mut left = online.clone();
        for (_, cpus) in &lists {
            left -= cpus;
        }
        if !left.is_empty() {
            found.push(ProfileFault::InNone(left));
        }
        // Those that are taken offline may be it already.
        for (list, cpus) in lists.iter().filter(|(list, _)| *list != "offlined") {
            let cpus = *cpus - online;
            if !cpus.is_empty() {
                found.push(ProfileFault::NotThere { list, cpus });
            }
        }
        if !self.shared.is_empty() && !self.mixes {
            found.push(ProfileFault::SharedUnused(self.shared.clone()));
        }
        found
    }

    /// The CPUs that stay where they are whatever is reserved for the system.
    #[must_use]
    pub fn others(&self) -> OtherCpus {
        let shared = if self.mixes { self.shared.clone() } else { CpuSet::new() };
        let all = &(&self.shared | &self.ovs_dpdk) | &self.offlined;
        OtherCpus { all, reserved: &shared | &self.ovs_dpdk }
    }

    /// The isolated CPUs that go with other reserved ones: those that are in no other list.
    #[must_use]
    pub fn isolated_beside(&self, reserved: &CpuSet, online: &CpuSet) -> CpuSet {
        &(online - reserved) - &self.others().all
    }
}

impl ProfileFault {
    /// The list that has to change, by its path in the profile.
    #[must_use]
    pub fn field(&self) -> &'static str {
        match self {
            Self::Twice { other: "shared", .. }
            | Self::NotThere { list: "shared", .. }
            | Self::SharedUnused(_) => "spec.cpu.shared",
            Self::Twice { other: "ovsDpdk", .. } | Self::NotThere { list: "ovsDpdk", .. } => {
                "spec.cpu.ovsDpdk"
            }
            Self::Twice { other: "offlined", .. } => "spec.cpu.offlined",
            Self::NotThere { list: "reserved", .. } => "spec.cpu.reserved",
            Self::Twice { .. } | Self::NotThere { .. } | Self::InNone(_) => "spec.cpu.isolated",
        }
    }

    /// How bad it is.
    #[must_use]
    pub const fn severity(&self) -> Severity {
        match self {
            Self::Twice { .. } => Severity::Harmful,
            Self::SharedUnused(_) => Severity::WithoutEffect,
            Self::InNone(_) | Self::NotThere { .. } => Severity::Doubtful,
        }
    }
}

impl fmt::Display for ProfileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Twice { one, other, cpus } => write!(
                f,
                "{cpus} in both spec.cpu.{one} and spec.cpu.{other}: OpenShift's node tuning operator refuses the profile"
            ),
            Self::InNone(cpus) => write!(
                f,
                "{cpus} in neither reserved nor isolated: the kubelet gives these CPUs to pods, and the kernel works on them"
            ),
            Self::NotThere { list, cpus } => {
                write!(f, "{cpus} in spec.cpu.{list}, and this machine has no such CPUs online")
            }
            Self::SharedUnused(cpus) => write!(
                f,
                "{cpus} in spec.cpu.shared: without workloadHints.mixedCpus these are not reserved, and the kubelet gives them to pods"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::{String, ToString};

    use super::*;

    #[track_caller]
    fn check(reserved: &str, isolated: &str, shared: &str, expected: &[&str]) {
        let cpus = |text: &str| text.parse::<CpuSet>().unwrap();
        let profile = ProfileCpus {
            reserved: cpus(reserved),
            isolated: cpus(isolated),
            shared: cpus(shared),
            mixes: !expected.iter().any(|text| text.contains("shared: 6")),
            ..ProfileCpus::default()
        };
        let found: Vec<String> = profile
            .faults(&cpus("0-7"))
            .iter()
            .map(|fault| {
                let text = fault.to_string();
                alloc::format!("{}: {}", fault.field(), text.split(" in ").next().unwrap())
            })
            .collect();
        assert_eq!(found, expected, "{reserved}, {isolated}, {shared}");
    }

    #[test]
    fn each_cpu_is_in_one_list() {
        check("0-1", "2-7", "", &[]);
        check("0-1", "2-5", "6-7", &[]);
        check("1-5", "0-4", "", &["spec.cpu.isolated: 1-4", "spec.cpu.isolated: 6-7"]);
        check("0-1", "2-7", "7", &["spec.cpu.shared: 7"]);
        check("0", "", "", &["spec.cpu.isolated: 1-7"]);
        check("0-1", "2-9", "", &["spec.cpu.isolated: 8-9"]);
        check("0-1", "2-5", "6-7", &[]);
        check("0-1", "2-5,7", "6", &["spec.cpu.shared: 6"]);
    }
}
