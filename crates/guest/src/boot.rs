//! One boot of a guest: QEMU from its start to its end, with its console.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};

/// A kernel whose tasks are blocked for four minutes never goes on. It ends there, with the stacks of all tasks on its console.
const STOPS_IF_HUNG: &str =
    "sysctl.kernel.hung_task_timeout_secs=240 sysctl.kernel.hung_task_panic=1 panic_print=1";

/// So many lines of the console are shown when a guest does not end.
const LAST: usize = 20;

/// A guest that has not been started.
#[derive(Clone, Debug)]
pub(crate) struct Boot {
    pub(crate) kernel: PathBuf,
    pub(crate) archive: PathBuf,
    /// Memory, CPUs, devices and disks.
    pub(crate) machine: Vec<String>,
    /// More words of the kernel's command line, which the guest's program reads too.
    pub(crate) command_line: String,
    /// A guest that runs longer is ended.
    pub(crate) limit: Duration,
    /// Where its console is written to.
    pub(crate) log: PathBuf,
    /// Memory in MiB that [`Next::AddMemory`] plugs in; `None`: none can be.
    pub(crate) spare: Option<u64>,
}

/// What to do after a line of the console.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    Listen,
    /// End QEMU where it stands, as a power loss would.
    CutPower,
    /// Plug in the memory that the guest does not have yet.
    AddMemory,
}

/// QEMU, killed when it is dropped.
struct Guest(Child);

impl Drop for Guest {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Boot {
    /// Runs the guest until it powers off, or until `on_line`, which is called for each line of the console, cuts its power.
    /// Returns how long it ran.
    ///
    /// # Errors
    /// QEMU does not start, or the guest runs too long; its last lines are part of the error.
    pub(crate) fn run(&self, mut on_line: impl FnMut(&str) -> Next) -> anyhow::Result<Duration> {
        let began = Instant::now();
        let mut guest = Guest(self.command().spawn().context("failed to start qemu-system-x86_64")?);
        let console = guest.0.stdout.take().context("QEMU has no console")?;
        let mut log = File::create(&self.log)?;
        let (send, receive) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(console).split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned();
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        let mut last = Vec::new();
        loop {
            match receive.recv_timeout(self.limit.saturating_sub(began.elapsed())) {
                Ok(text) => {
                    writeln!(log, "{text}").context("failed to write the guest's log")?;
                    match on_line(&text) {
                        Next::Listen => {}
                        Next::CutPower => break,
                        Next::AddMemory => {
                            add_memory(&qmp_socket()).context("no memory can be plugged in")?;
                        }
                    }
                    last.push(text);
                }
                Err(RecvTimeoutError::Disconnected) => {
                    guest.0.wait().context("failed to wait for QEMU")?;
                    break;
                }
                Err(RecvTimeoutError::Timeout) => {
                    let from = last.len().saturating_sub(LAST);
                    bail!(
                        "the guest did not end within {} s and was stopped; its last lines:\n{}",
                        self.limit.as_secs(),
                        last[from..].join("\n")
                    );
                }
            }
        }
        Ok(began.elapsed())
    }

    /// Software emulation with one thread for all CPUs: with one each, the kernel patches code that others run.
    fn command(&self) -> Command {
        let mut command = Command::new("nice");
        command.args([
            "-n",
            "5",
            "qemu-system-x86_64",
            "-M",
            "q35",
            "-accel",
            "tcg,thread=single",
            "-cpu",
            "max,vendor=GenuineIntel",
        ]);
        command.args(&self.machine);
        if let Some(spare) = self.spare {
            let backend = format!("memory-backend-ram,id=spare,size={spare}M");
            command.args(["-m", "slots=1,maxmem=8192M", "-object", &backend, "-qmp"]);
            command.arg(format!("unix:{},server=on,wait=off", qmp_socket().display()));
        }
        command.args([
            "-nic",
            "none",
            "-display",
            "none",
            "-monitor",
            "none",
            "-serial",
            "stdio",
            "-no-reboot",
        ]);
        command.arg("-kernel").arg(&self.kernel).arg("-initrd").arg(&self.archive).arg("-append");
        let quiet = "console=ttyS0 panic=-1 quiet mitigations=off tsc=reliable rcupdate.rcu_expedited=1";
        command.arg(format!("{quiet} {STOPS_IF_HUNG} {}", self.command_line));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        command
    }
}

/// QEMU's socket for commands (QMP), in the temporary folder: the path of a socket is limited to 108 bytes.
fn qmp_socket() -> PathBuf {
    std::env::temp_dir().join(format!("topolet-guest-{}.sock", std::process::id()))
}

/// Plugs the spare memory into NUMA node 0.
fn add_memory(socket: &Path) -> anyhow::Result<()> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    let mut answers = BufReader::new(stream.try_clone()?);
    let device = json!({"driver": "pc-dimm", "id": "spare0", "memdev": "spare", "node": 0});
    for command in
        [json!({"execute": "qmp_capabilities"}), json!({"execute": "device_add", "arguments": device})]
    {
        writeln!(stream, "{command}")?;
        loop {
            let mut line = String::new();
            ensure!(answers.read_line(&mut line)? > 0, "QEMU has closed its socket");
            let answer: Value = serde_json::from_str(&line).with_context(|| line.clone())?;
            ensure!(answer["error"].is_null(), "{}", answer["error"]);
            if !answer["return"].is_null() {
                break;
            }
        }
    }
    std::fs::remove_file(socket)?;
    Ok(())
}

/// QEMU's arguments for a raw disk, which the guest finds by its serial number.
pub(crate) fn disk(file: &Path, serial: &str) -> Vec<String> {
    let drive = format!("file={},format=raw,if=none,id=d-{serial}", file.display());
    [
        "-drive".to_owned(),
        drive,
        "-device".to_owned(),
        format!("nvme,bus=pcie.0,serial={serial},drive=d-{serial}"),
    ]
    .to_vec()
}
