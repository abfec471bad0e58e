//! The image as a root file system: what the Containerfile copies, and what it starts.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail, ensure};
use fs_err as fs;
use workspace_tools::workspace::target;

use super::made::{Made, POD, repository, said};

pub(super) const HOW: &str =
    "the Containerfile's root file system with nothing else in it: version, a machine, a pod that is refused";
const CONTAINERFILE: &str = "deploy/Containerfile";

/// Runs what the image starts, in its root.
pub(super) fn test(made: &Made) -> anyhow::Result<()> {
    let text = fs::read_to_string(repository(CONTAINERFILE))?;
    let folder = target().join("dist/image");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder)?;
    let started = unpacked(&text, &target().join("static"), &folder)?;
    let inside = |arguments: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--root"]).arg(&folder).arg(&started).args(arguments).env_clear();
        command
    };
    let version = said(&mut inside(&["--version"]))?;
    ensure!(version.trim() == format!("topolet {}", made.version), "it is of version {version}");
    let machine = said(&mut inside(&["topology", "--machine", "xeon-2s-96cpu-sriov"]))?;
    ensure!(machine.contains("2 NUMA nodes"), "it shows\n{machine}");
    fs::write(folder.join("pod.yaml"), POD)?;
    let refused = inside(&["admit", "--machine", "xeon-2s-96cpu-sriov", "-f", "/pod.yaml"]).output()?;
    let text = String::from_utf8_lossy(&refused.stdout);
    ensure!(refused.status.code() == Some(2) && text.contains("would fit"), "it says\n{text}");
    Ok(())
}

/// Does what a Containerfile from scratch says; gives the program that it starts.
fn unpacked(containerfile: &str, context: &Path, folder: &Path) -> anyhow::Result<String> {
    let mut started = None;
    for line in containerfile.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [] | ["FROM", "scratch"] => {}
            [comment, ..] if comment.starts_with('#') => {}
            ["COPY", from, to] => {
                let to = folder.join(to.trim_start_matches('/'));
                fs::copy(context.join(from), &to)?;
            }
            ["ENTRYPOINT", program] => {
                let program = program.strip_prefix("[\"").and_then(|program| program.strip_suffix("\"]"));
                started = Some(program.context("ENTRYPOINT is no list of one word")?.to_owned());
            }
            _ => bail!("{line:?} is not done here"),
        }
    }
    started.context("the image starts nothing")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_containerfile_says_what_is_in_the_root() {
        let (context, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(context.path().join("a"), "x").unwrap();
        let unpacked = |text: &str| unpacked(text, context.path(), folder.path());
        let text = "# note\nFROM scratch\nCOPY a /b\nENTRYPOINT [\"/b\"]\n";
        assert_eq!(unpacked(text).unwrap(), "/b");
        assert_eq!(fs::read_to_string(folder.path().join("b")).unwrap(), "x");
        for wrong in ["FROM debian\n", "FROM scratch\nCOPY gone /b\nENTRYPOINT [\"/b\"]\n", "FROM scratch\n"]
        {
            assert!(unpacked(wrong).is_err(), "{wrong}");
        }
    }
}
