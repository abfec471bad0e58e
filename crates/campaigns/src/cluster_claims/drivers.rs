//! Drivers that others wrote publish on the nodes of the cluster.

use std::path::Path;

use anyhow::Context as _;
use local_cluster::{Cluster, Process};

use super::beside::Machine;
use crate::others::cpu_driver::{self, CpuDriver, published};
use crate::others::example_driver;
use crate::others::programs::{Builds, Program};
use crate::others::trial::until;

/// The profiles of the example driver.
const PROFILES: [&str; 3] = ["cpu", "gpu", "net"];
/// On odd nodes the CPU driver publishes CPUs in groups, and GPUs are whole; on even ones each CPU is a device, and GPUs have partitions.
const CPUS: [&[&str]; 2] =
    [&["--cpu-device-mode", "grouped", "--group-by", "numanode"], &["--cpu-device-mode", "individual"]];
const GPUS: [&[&str]; 2] = [&["--num-devices", "4"], &["--num-devices", "2", "--gpu-partitions", "2"]];

/// Drivers that run; they end with this, and what they have published stays.
pub(super) struct Drivers {
    _cpus: Vec<CpuDriver>,
    _examples: Vec<Process>,
}

impl Drivers {
    /// Builds them, starts them for each node and waits until all have published. The CPU driver reads the machine's `/sys`.
    pub(super) fn start(
        cluster: &Cluster,
        nodes: &[String],
        machine: &Machine,
        folder: &Path,
    ) -> anyhow::Result<Self> {
        for program in [Program::DraDriverCpu, Program::DraExampleDriver] {
            program.build(Builds::Missing).with_context(|| program.to_string())?;
        }
        let (mut cpus, mut examples) = (Vec::new(), Vec::new());
        for (number, node) in nodes.iter().enumerate() {
            let file = Program::DraDriverCpu.file();
            let options = CPUS[number % CPUS.len()];
            let mut driver = CpuDriver::start(cluster, &file, node, Some(machine.sysfs()), options, folder)?;
            let is_there = || published(cluster, cpu_driver::DRIVER, node);
            let (devices, _) = until("slices of the CPU driver", || driver.process.why_ended(), is_there)?;
            eprintln!("dra.cpu publishes {devices} devices of {node}");
            cpus.push(driver);
            for profile in PROFILES {
                let numa = machine.count().to_string();
                let options = match profile {
                    "cpu" => &["--cpu-numa-nodes", numa.as_str(), "--cpus-per-numa-node", "12"][..],
                    "gpu" => GPUS[number % GPUS.len()],
                    _ => &["--num-devices", "3"],
                };
                let file = Program::DraExampleDriver.file();
                let mut driver = example_driver::start(cluster, &file, node, profile, options, folder)?;
                let name = format!("{profile}.example.com");
                let is_there = || published(cluster, &name, node);
                let (devices, _) = until("slices of the example driver", || driver.why_ended(), is_there)?;
                eprintln!("{name} publishes {devices} devices of {node}");
                examples.push(driver);
            }
        }
        Ok(Self { _cpus: cpus, _examples: examples })
    }
}
