//! `cargo xtask vm`: fixture machines booted as guests, with tests that run in them.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::ensure;

use crate::image::Programs;
use crate::shape::Shape;
use crate::tests_of_guest::Run;
use crate::translate::{Scale, translate};
use crate::{kubelet, kubelet_report, needs};

/// The default machine: two NUMA nodes, and devices with virtual functions.
const MACHINE: &str = "xeon-2s-96cpu-sriov";

/// A guest of tests that runs longer is ended.
const LIMIT: Duration = Duration::from_mins(10);

/// Boots a guest with the topology of a fixture machine under QEMU, and runs tests in it.
///
/// Emulated in software, so that nothing of the host matters but time: a boot takes about ten seconds. The guest has the
/// machine's NUMA nodes, packages, threads and distances, and fewer cores and less memory.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub(crate) struct Vm {
    /// A built-in machine (`topolet topology --list`), or whatever `topolet topology --machine` reads.
    #[arg(long, value_name = "NAME", default_value = MACHINE)]
    machine: String,
    /// Only the tests whose names contain this, or one of several, as in `pages,memory`.
    #[arg(long, value_name = "TEXT", value_delimiter = ',')]
    test: Vec<String>,
    /// Lists the tests, and boots nothing.
    #[arg(long)]
    list: bool,
    /// Installs QEMU and a kernel by apt where they are missing.
    #[arg(long)]
    install: bool,
    /// The kernel to boot instead of Debian's.
    #[arg(long, value_name = "FILE")]
    kernel: Option<PathBuf>,
    /// The most cores of a node.
    #[arg(long, value_name = "NUMBER", default_value_t = 2)]
    cores: usize,
    /// Memory of the guest in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 1536)]
    memory: u64,
    /// Ends a guest that runs longer.
    #[arg(long, value_name = "SECONDS")]
    limit: Option<u64>,
    /// Runs a real kubelet of this release in the guest, with containerd, and compares what topolet says of each pod with
    /// what happens. Builds them from their Go modules, which takes about ten minutes the first time.
    /// Several, as in `1.36.3,1.37.1,1.36.3`, run one after the other on the same disk with the pods of the one before;
    /// what `topolet upgrade check` says of each change is compared too.
    #[arg(long, value_name = "VERSION", value_delimiter = ',', conflicts_with_all = ["test", "list", "wrong_cpusets"])]
    kubelet: Vec<String>,
    /// How many pods the kubelet gets.
    #[arg(long, value_name = "NUMBER", default_value_t = 20, requires = "kubelet")]
    pods: usize,
    /// Which pods, and when topolet is killed: the same number, the same pods and moments.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Instead of drawn pods the kubelet gets those that it refuses, kind by kind: each is explained by `serve --observe`,
    /// and what would fit is tried.
    #[arg(long, requires = "kubelet", conflicts_with_all = ["pods", "seed"])]
    refusals: bool,
    /// topolet is given each pod and nothing else, and has to find the kubelet by its process: its configuration is elsewhere,
    /// in drop-ins or in flags, devices are on one NUMA node, on both or on none, free or held, and memory and huge pages
    /// change under it.
    #[arg(long, requires = "kubelet", conflicts_with_all = ["refusals", "statuses", "cluster"])]
    unaided: bool,
    /// Instead of drawn pods the kubelet gets a few, and all that it writes about them is kept: `--write` writes it to
    /// fixtures/kubelet-statuses, with which a node in the place of a kubelet is compared by tests.
    #[arg(long, requires = "kubelet", conflicts_with_all = ["pods", "seed", "refusals", "wrong_answers"])]
    statuses: bool,
    /// A cluster in the guest: etcd, kube-apiserver and kube-scheduler, with the kubelet as the only node and topolet's
    /// observer and extender beside it. A refused pod is explained by `kubectl describe`, another one waits for room on one
    /// NUMA node, and one is evicted. Takes about five minutes; without `--kubelet` the kubelet is of the same release.
    #[arg(long, conflicts_with_all = ["pods", "seed", "refusals", "statuses", "write", "wrong_answers", "test", "list"])]
    cluster: bool,
    /// The observer is the pod of deploy/observe, started by the kubelet and containerd in a container of the image: the static
    /// program that the last `cargo xtask static` has left. Needs `--cores 3`, since the pod asks for some of a CPU itself.
    #[arg(long, requires = "cluster")]
    image: bool,
    /// `topolet guard` beside the kubelet as the only node of an API server: exclusive containers without it and with it, the
    /// guard stopped and killed, and what a write of a cgroup costs. Needs `--cores 3`; takes an hour. `--seed` tells boots
    /// apart; `--write` writes the figures of all to docs/guard.md.
    #[arg(long, requires = "kubelet", conflicts_with_all = ["pods", "refusals", "statuses", "unaided", "cluster", "wrong_answers"])]
    guard: bool,
    /// Writes the figures to docs/guest and docs/guest.md.
    #[arg(long, requires = "kubelet")]
    write: bool,
    /// Writes docs/guest.md anew of the figures in docs/guest, and boots nothing.
    #[arg(long, conflicts_with_all = ["kubelet", "test", "list"])]
    report: bool,
    /// Makes topolet's answers wrong, so that the comparison has to fail.
    #[arg(long, requires = "kubelet")]
    wrong_answers: bool,
    /// How often topolet is killed amid moves of pods that run in partitions. The test runs only if it is
    /// named. A kill takes twenty seconds: `--test kills_amid_live_moves --kills 50 --seed 2 --limit 2400`.
    #[arg(long, value_name = "NUMBER", requires = "test")]
    kills: Option<u32>,
    /// Writes wrong cpusets behind topolet's back, so that tests have to fail.
    #[arg(long)]
    wrong_cpusets: bool,
}

impl Vm {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        if self.report {
            return kubelet_report::report();
        }
        let programs = Programs::build()?;
        if self.list {
            return programs.list_tests();
        }
        ensure!(self.memory <= 2048, "a guest has at most 2048 MiB of memory");
        if self.cluster || !self.kubelet.is_empty() {
            return self.beside_kubelet(&programs);
        }
        let kernel = needs::kernel(self.kernel.as_deref(), self.install)?;
        let run = Run {
            kernel,
            shape: self.shape(&programs)?,
            programs,
            test: self.test,
            kills: self.kills,
            seed: self.seed,
            limit: self.limit.map_or(LIMIT, Duration::from_secs),
            wrong_cpusets: self.wrong_cpusets,
        };
        run.run()
    }

    fn beside_kubelet(&self, programs: &Programs) -> anyhow::Result<()> {
        let kernel = needs::kernel(self.kernel.as_deref(), self.install)?;
        let topology = programs.topology(&self.machine)?;
        let mut releases: Vec<String> =
            self.kubelet.iter().map(|release| release.trim_start_matches('v').to_owned()).collect();
        if releases.is_empty() {
            releases.push(local_cluster::release_of_tests());
        }
        ensure!(!self.cluster || releases.len() == 1, "a cluster has one kubelet");
        ensure!(!self.image && !self.guard || self.cores >= 3, "--image and --guard need --cores 3 at least");
        // The kubelet and containerd take half a gigabyte, a control plane more than another one.
        let memory = if self.cluster || self.guard { 4096 } else { 2048 };
        let boot = kubelet::KubeletBoot {
            releases,
            mode: if self.cluster {
                kubelet::Mode::Cluster { image: self.image }
            } else if self.guard {
                kubelet::Mode::Guard { seed: self.seed }
            } else if self.refusals {
                kubelet::Mode::Refusals
            } else if self.statuses {
                kubelet::Mode::Statuses
            } else if self.unaided {
                kubelet::Mode::Unaided { count: self.pods, seed: self.seed }
            } else {
                kubelet::Mode::Pods { count: self.pods, seed: self.seed }
            },
            shape: translate(&topology, Scale { cores: self.cores, memory })?,
            limit: self.limit.map(Duration::from_secs),
            wrong_answers: self.wrong_answers,
            install: self.install,
        };
        let result = boot.run(&kernel, programs)?;
        if self.write {
            kubelet_report::write(&result)?;
        }
        result.judge()
    }

    fn shape(&self, programs: &Programs) -> anyhow::Result<Shape> {
        let topology = programs.topology(&self.machine)?;
        translate(&topology, Scale { cores: self.cores, memory: self.memory })
    }
}
