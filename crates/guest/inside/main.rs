//! The first process of a guest: it mounts file systems, runs the tests of its phase, prints a line for each, and
//! powers off. `cargo xtask vm` boots it. Containers of the tests are processes of the same program, with `work` or `tick`.
//!
//! In a guest with a kubelet it starts twice as the first process: from the archive it mounts the disk, makes that the root and
//! executes itself from there; from the disk it starts the kubelet and compares.

mod container;
mod crash;
mod discovery;
mod interrupts;
mod isolation;
mod kubelet;
mod machine;
mod moving;
mod node;
mod pinning;
mod resize;
#[path = "../src/shape.rs"]
mod shape;
mod tests;
mod worker;

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use anyhow::Context as _;
use nix::mount::{MsFlags, mount};
use nix::sys::reboot::{RebootMode, reboot};

use machine::{Guest, WrongWrites};
use tests::{Runs, TESTS};

/// Set in the environment of the first process when it runs from the disk.
const ON_DISK: &str = "GUEST_ON_DISK";

#[expect(clippy::print_stdout, reason = "its result")]
fn main() {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("work") => worker::work(),
        Some("tick") => worker::tick(),
        Some("list") => {
            for test in TESTS {
                println!("{:<16} {}", format!("{:?}", test.phase), test.name);
            }
        }
        _ if std::process::id() == 1 => {
            if let Err(error) = first_process() {
                println!("test start ... FAILED\n    {}", format!("{error:#}").replace('\n', "\n    "));
            }
            println!("guest: done");
            nix::unistd::sync();
            let _ = reboot(RebootMode::RB_POWER_OFF);
        }
        _ => println!("this is the first process of a guest: `cargo xtask vm` boots it"),
    }
}

/// Runs what this boot is for: its tests, or a kubelet.
fn first_process() -> anyhow::Result<()> {
    let is_on_disk = std::env::var_os(ON_DISK).is_some();
    if !is_on_disk {
        mounts()?;
    }
    let guest = Guest::read()?;
    if let Some(plan) = kubelet::Plan::read(|name| Guest::parameter(name).ok().flatten())? {
        return if is_on_disk { kubelet::run(&guest, &plan) } else { restart_from_disk() };
    }
    state_disk()?;
    let _wrong = guest.wrong_cpusets.then(WrongWrites::start);
    let wanted = |test: &&tests::Test| {
        test.phase == guest.phase
            && match &guest.test {
                Some(parts) => parts.split(',').any(|part| test.name.contains(part)),
                None => test.runs == Runs::WithAll,
            }
    };
    for test in TESTS.iter().filter(wanted) {
        run(test, &guest);
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "its result")]
fn run(test: &tests::Test, guest: &Guest) {
    let began = Instant::now();
    let result = catch_unwind(AssertUnwindSafe(|| (test.run)(guest)));
    let took = began.elapsed().as_secs_f64();
    match result {
        Ok(Ok(())) => println!("test {} ... ok ({took:.1} s)", test.name),
        Ok(Err(error)) => {
            let text = format!("{error:#}").replace('\n', "\n    ");
            println!("test {} ... FAILED ({took:.1} s)\n    {text}", test.name);
        }
        Err(_) => println!("test {} ... FAILED ({took:.1} s)\n    it panicked", test.name),
    }
}

/// Mounts what every process expects of a booted machine.
fn mounts() -> anyhow::Result<()> {
    let kernel = [
        ("proc", "/proc", ""),
        ("sysfs", "/sys", ""),
        ("devtmpfs", "/dev", ""),
        ("tmpfs", "/run", ""),
        ("cgroup2", "/sys/fs/cgroup", "favordynmods"),
    ];
    for (kind, at, options) in kernel {
        mount(Some(kind), at, Some(kind), MsFlags::empty(), Some(options))
            .with_context(|| format!("failed to mount {at}"))?;
    }
    // runc needs both for the devices of containers.
    for (kind, at) in [("devpts", "/dev/pts"), ("tmpfs", "/dev/shm")] {
        fs::create_dir_all(at)?;
        mount(Some(kind), at, Some(kind), MsFlags::empty(), None::<&str>)
            .with_context(|| format!("failed to mount {at}"))?;
    }
    fs::create_dir_all("/dev/hugepages")?;
    mount(Some("hugetlbfs"), "/dev/hugepages", Some("hugetlbfs"), MsFlags::empty(), Some("pagesize=2M"))
        .context("failed to mount /dev/hugepages")?;
    Ok(())
}

/// Makes the file system of a disk the root and executes `/init` of it: runc cannot leave the root that the kernel unpacked.
fn restart_from_disk() -> anyhow::Result<()> {
    let disk = machine::disk("root").context("the guest has no disk for its root")?;
    mount(Some(&disk), "/state", Some("ext4"), MsFlags::empty(), None::<&str>)
        .context("failed to mount the root")?;
    fs::copy("/shape.json", "/state/shape.json").context("failed to copy /shape.json")?;
    for at in ["proc", "sys", "dev", "run"] {
        let (from, to) = (format!("/{at}"), format!("/state/{at}"));
        mount(Some(from.as_str()), to.as_str(), None::<&str>, MsFlags::MS_MOVE, None::<&str>)
            .with_context(|| format!("failed to move {from}"))?;
    }
    std::env::set_current_dir("/state").context("failed to enter the root")?;
    mount(Some("."), "/", None::<&str>, MsFlags::MS_MOVE, None::<&str>).context("failed to move the root")?;
    nix::unistd::chroot(".").context("failed to change the root")?;
    let mut init = std::process::Command::new("/init");
    init.envs([(ON_DISK, "1"), ("PATH", "/bin"), ("HOME", "/root")]);
    // More threads of Go would only take turns: QEMU emulates all CPUs with one thread.
    let error = init.env("GOMAXPROCS", "2").exec();
    Err(error).context("failed to start /init of the disk")
}

/// Mounts the disk with topolet's state, which survives a power loss.
fn state_disk() -> anyhow::Result<()> {
    let disk = machine::disk("state").context("the guest has no disk for state")?;
    mount(Some(&disk), "/state", Some("ext4"), MsFlags::empty(), None::<&str>)
        .context("failed to mount /state")
}
