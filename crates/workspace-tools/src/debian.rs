//! Debian's packages: what CI needs besides Rust.

use std::process::Command;

use crate::workspace::run;

/// Installs packages by apt-get.
///
/// # Errors
/// There is no apt-get, or no right to use it.
pub fn install(packages: &[&str]) -> anyhow::Result<()> {
    update()?;
    let mut install = as_root(&["apt-get", "install", "--yes", "--no-install-recommends"]);
    run(install.args(packages))
}

/// Updates the lists of packages: a new machine has none.
///
/// # Errors
/// There is no apt-get, or no right to use it.
pub fn update() -> anyhow::Result<()> {
    run(&mut as_root(&["apt-get", "update"]))
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
