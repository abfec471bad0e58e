//! Debian's packages: what CI needs besides Rust.

use std::process::Command;

use crate::workspace::run;

/// hwloc and libudev, as Debian and Ubuntu call them, and the program by which the build finds them.
pub const HWLOC: &[&str] = &["libhwloc-dev", "libudev-dev", "pkg-config"];
/// What counts instructions.
pub const VALGRIND: &[&str] = &["valgrind"];
/// A browser, and what tests drive it with.
pub const BROWSER: &[&str] = &["chromium", "chromium-driver"];
/// Programs that guests need, each with its package.
pub const GUESTS: &[(&str, &str)] =
    &[("qemu-system-x86_64", "qemu-system-x86"), ("mke2fs", "e2fsprogs"), ("strip", "binutils")];

/// Installs packages by apt-get.
///
/// # Errors
/// There is no apt-get, or no right to use it.
pub fn install(packages: &[&str]) -> anyhow::Result<()> {
    installation(packages).iter_mut().try_for_each(run)
}

/// The commands that install packages: a new machine has no lists of packages.
pub fn installation(packages: &[&str]) -> Vec<Command> {
    let mut install = as_root(&["apt-get", "install", "--yes", "--no-install-recommends", "--no-upgrade"]);
    install.args(packages);
    vec![as_root(&UPDATE), install]
}

const UPDATE: [&str; 2] = ["apt-get", "update"];

/// Updates the lists of packages.
///
/// # Errors
/// There is no apt-get, or no right to use it.
pub fn update() -> anyhow::Result<()> {
    run(&mut as_root(&UPDATE))
}

/// The command as root: by `sudo` unless this process is root. `sudo` fails where it would ask for a password.
fn as_root(command: &[&str]) -> Command {
    let id = Command::new("id").arg("-u").output();
    let is_root = id.is_ok_and(|output| output.stdout.trim_ascii() == b"0");
    let sudo: &[&str] = if is_root { &[] } else { &["sudo", "--non-interactive"] };
    let mut words = sudo.iter().chain(command);
    let mut asked = Command::new(words.next().copied().unwrap_or("sudo"));
    asked.args(words).env("DEBIAN_FRONTEND", "noninteractive");
    asked
}
