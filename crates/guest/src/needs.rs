//! What guests need on the host: QEMU, a kernel, and programs that make disks.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail, ensure};
use workspace_tools::debian;
use workspace_tools::workspace::{run, target};

/// The kernels that guests are known to boot with.
const KERNELS: &str = "linux-image-6.12*-cloud-amd64";

/// Checks that the programs are installed, and finds the kernel. With `install` it installs or downloads what is missing.
///
/// # Errors
/// Something is missing: one sentence that names the package and the flag.
pub(crate) fn kernel(given: Option<&Path>, install: bool) -> anyhow::Result<PathBuf> {
    let missing: Vec<&str> = debian::GUESTS
        .iter()
        .filter(|(program, _)| !is_program(program))
        .map(|(_, package)| *package)
        .collect();
    if !missing.is_empty() {
        ensure!(install, "`--install` installs what is missing of Debian: {}", missing.join(", "));
        debian::install(&missing)?;
    }
    if let Some(kernel) = given {
        ensure!(kernel.is_file(), "there is no kernel at {}", kernel.display());
        return Ok(kernel.to_path_buf());
    }
    if let Some(kernel) = unpacked() {
        return Ok(kernel);
    }
    ensure!(
        install,
        "no kernel for guests in {}: `--install` unpacks Debian's {KERNELS} there, `--kernel FILE` takes another",
        folder().display()
    );
    download()?;
    unpacked().context("the kernel's package has no kernel")
}

/// Whether a program is in a folder of `PATH`, or where programs for root are.
pub(crate) fn is_program(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin"), PathBuf::from("/sbin")]);
    folders.into_iter().any(|folder| folder.join(name).is_file())
}

/// Where guests' kernels, disks and logs are.
pub(crate) fn folder() -> PathBuf {
    target().join("vm")
}

/// The newest kernel that was unpacked.
fn unpacked() -> Option<PathBuf> {
    let boot = folder().join("kernel/root/boot");
    let files = boot.read_dir().ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let is_kernel =
        |file: &PathBuf| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vmlinuz-"));
    files.filter(is_kernel).max()
}

/// The newest package with a kernel that apt knows.
fn package() -> anyhow::Result<Option<String>> {
    let names = "^linux-image-6[.]12[.][0-9]+([+][a-z0-9]+)?-cloud-amd64$";
    let found =
        Command::new("apt-cache").args(["search", "--names-only", names]).stderr(Stdio::null()).output();
    let found = found.context("failed to start apt-cache, which Debian has")?;
    let text = String::from_utf8_lossy(&found.stdout).into_owned();
    let number = |name: &str| -> u32 {
        let rest = name.trim_start_matches("linux-image-6.12.");
        rest.split(|at: char| !at.is_ascii_digit()).next().and_then(|number| number.parse().ok()).unwrap_or(0)
    };
    let names = text.lines().filter_map(|line| line.split_whitespace().next());
    Ok(names.max_by_key(|name| number(name)).map(str::to_owned))
}

/// Downloads that package by apt, and unpacks it without installing it.
fn download() -> anyhow::Result<()> {
    let known = match package()? {
        Some(known) => Some(known),
        None => debian::update().and_then(|()| package())?,
    };
    let Some(package) = known else {
        bail!("apt knows no package {KERNELS}: `--kernel FILE` takes another kernel");
    };
    let folder = folder().join("kernel");
    fs_err::create_dir_all(&folder)?;
    run(Command::new("apt-get").args(["download", &package]).current_dir(&folder))?;
    let files = folder.read_dir()?.filter_map(|entry| Some(entry.ok()?.path()));
    let file = files.filter(|file| file.extension().is_some_and(|end| end == "deb")).max();
    run(Command::new("dpkg-deb")
        .arg("-x")
        .arg(file.context("apt-get downloaded nothing")?)
        .arg(folder.join("root")))
}
