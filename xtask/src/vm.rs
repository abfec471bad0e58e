//! `cargo xtask vm`: fixture machines booted as guests, with tests that run in them.

mod archive;
mod boot;
mod image;
mod needs;
#[path = "../guest/shape.rs"]
mod shape;
mod tests_of_guest;
mod translate;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, ensure};

use crate::cargo;
use image::Programs;
use shape::Shape;
use tests_of_guest::Run;
use translate::Scale;

/// The machines that CI boots: two nodes with virtual functions, four with memory-only ones.
const OF_CI: &[&str] = &["xeon-2s-96cpu-sriov", "xeon-cxl-4node"];

/// Boots a guest with the topology of a fixture machine under QEMU, and runs tests in it.
///
/// Emulated in software, so that nothing of the host matters but time: a boot takes about ten seconds. The guest has the
/// machine's NUMA nodes, packages, threads and distances, and fewer cores and less memory.
#[derive(Debug, clap::Args)]
pub(crate) struct Vm {
    /// A built-in machine (`topolet topology --list`), or whatever `topolet topology --machine` reads.
    #[arg(long, value_name = "NAME", default_value = OF_CI[0])]
    machine: String,
    /// Only the tests whose names contain this.
    #[arg(long, value_name = "TEXT")]
    test: Option<String>,
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
    #[arg(long, value_name = "SECONDS", default_value_t = 240)]
    limit: u64,
    /// Writes wrong cpusets behind topolet's back, so that tests have to fail.
    #[arg(long)]
    wrong_cpusets: bool,
}

impl Vm {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let programs = Programs::build()?;
        if self.list {
            return programs.list_tests();
        }
        ensure!(self.memory <= 2048, "a guest has at most 2048 MiB of memory");
        let kernel = needs::kernel(self.kernel.as_deref(), self.install)?;
        let run = Run {
            kernel,
            shape: self.shape(&programs)?,
            programs,
            test: self.test,
            limit: Duration::from_secs(self.limit),
            wrong_cpusets: self.wrong_cpusets,
        };
        run.run()
    }

    fn shape(&self, programs: &Programs) -> anyhow::Result<Shape> {
        let topology = programs.topology(&self.machine)?;
        translate::translate(&topology, Scale { cores: self.cores, memory: self.memory })
    }
}

/// The guests of CI, each a process of its own: the steps before may have replaced the file of this program.
pub(crate) fn ci(install: bool) -> anyhow::Result<()> {
    for machine in OF_CI {
        let mut command = cargo(&["run", "--quiet", "--package", "xtask", "--", "vm", "--machine", machine]);
        if install {
            command.arg("--install");
        }
        crate::run(&mut command).with_context(|| format!("guest {machine}"))?;
    }
    Ok(())
}
