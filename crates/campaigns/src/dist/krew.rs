//! The plugin of kubectl as krew installs it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use fs_err as fs;
use workspace_tools::workspace::{run, target};

use super::made::{Made, repository, said};

pub(super) const HOW: &str =
    "installed by krew v0.4.4 from archive and manifest, called as `kubectl-topolet`, removed by krew";
const MANIFEST: &str = "deploy/krew/topolet.yaml";

/// Makes the archive and the manifest.
pub(super) fn make(
    stage: &Path,
    out: &Path,
    version: &str,
    architecture: &str,
) -> anyhow::Result<(PathBuf, PathBuf)> {
    let folder = stage.join("krew");
    fs::create_dir_all(&folder)?;
    fs::copy(stage.join("topolet"), folder.join("kubectl-topolet"))?;
    fs::copy(repository("LICENSE"), folder.join("LICENSE"))?;
    let name = format!("topolet-{version}-linux-{architecture}.tar.gz");
    let archive = out.join(&name);
    // The same program gives the same archive.
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0"]);
    tar.args(["--use-compress-program", "gzip -n", "-cf"]).arg(&archive).arg("-C").arg(&folder);
    run(tar.args(["kubectl-topolet", "LICENSE"]))?;
    let sum = said(Command::new("sha256sum").arg(&archive))?;
    let sum = sum.split_whitespace().next().context("sha256sum prints no sum")?;
    let text = fs::read_to_string(repository(MANIFEST))?;
    let manifest = out.join("topolet.yaml");
    fs::write(&manifest, filled(&text, version, architecture, &name, sum))?;
    Ok((archive, manifest))
}

/// The manifest of one archive. Its first line is about the form.
fn filled(form: &str, version: &str, architecture: &str, archive: &str, sum: &str) -> String {
    let (_, manifest) = form.split_once('\n').unwrap_or(("", form));
    manifest
        .replace("VERSION", version)
        .replace("REPOSITORY", env!("CARGO_PKG_REPOSITORY"))
        .replace("ARCHIVE", archive)
        .replace("ARCH", architecture)
        .replace("SHA256", sum)
}

/// krew itself installs it, says that it is there, and removes it.
pub(super) fn test(made: &Made) -> anyhow::Result<()> {
    let (programs, home) = (target().join("krew"), target().join("dist/krew-root"));
    if !programs.join("krew").exists() {
        let mut install = Command::new("go");
        install.args(["install", "sigs.k8s.io/krew/cmd/krew@v0.4.4"]);
        run(install.env("GOBIN", &programs).env("GOFLAGS", "-mod=mod"))?;
    }
    let krew = |arguments: &[&str]| {
        let mut krew = Command::new(programs.join("krew"));
        krew.args(arguments).env("KREW_ROOT", &home).env("KREW_NO_UPGRADE_CHECK", "1");
        said(krew.stdin(Stdio::null()))
    };
    // krew removes nothing before it has a list of plugins, which is a clone of a repository.
    run(Command::new("git").args(["init", "--quiet"]).arg(home.join("index/default")))?;
    let (manifest, archive) = (made.manifest.display().to_string(), made.archive.display().to_string());
    krew(&["install", &format!("--manifest={manifest}"), &format!("--archive={archive}")])?;
    let plugin = home.join("bin/kubectl-topolet");
    let help = said(Command::new(&plugin).arg("--help"))?;
    ensure!(help.contains("kubectl topolet") && help.contains("explain"), "the plugin says\n{help}");
    // No API server is there, and the error says so instead of naming a command that is not known.
    let asked = Command::new(&plugin).args(["node", "worker-1"]).env("KUBECONFIG", "/nowhere").output()?;
    let error = String::from_utf8_lossy(&asked.stderr).into_owned();
    ensure!(asked.status.code() == Some(1) && error.contains("/nowhere"), "the plugin says\n{error}");
    krew(&["uninstall", "topolet"])?;
    ensure!(!plugin.exists(), "krew has left {}", plugin.display());
    // krew compares the sum.
    let wrong = made.manifest.with_file_name("wrong.yaml");
    let text = fs::read_to_string(&made.manifest)?;
    let (before, after) = text.split_once("sha256: \"").context("the manifest has no sum")?;
    let after = after.get(64..).context("the sum has not 64 letters")?;
    fs::write(&wrong, format!("{before}sha256: \"{}{after}", "0".repeat(64)))?;
    let refused =
        krew(&["install", &format!("--manifest={}", wrong.display()), &format!("--archive={archive}")]);
    fs::remove_file(&wrong)?;
    let fault = refused.err().map(|fault| fault.to_string()).unwrap_or_default();
    ensure!(fault.contains("checksum does not match"), "krew says of an archive of another sum: {fault}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_is_filled_in() {
        let form = fs::read_to_string(repository(MANIFEST)).unwrap();
        let made = filled(&form, "1.2.3", "amd64", "topolet-1.2.3-linux-amd64.tar.gz", "abc");
        for line in [
            "  version: v1.2.3",
            "        arch: amd64",
            "    sha256: \"abc\"",
            concat!(
                "    uri: ",
                env!("CARGO_PKG_REPOSITORY"),
                "/releases/download/v1.2.3/topolet-1.2.3-linux-amd64.tar.gz"
            ),
        ] {
            assert!(made.lines().any(|found| found == line), "{line} is not in\n{made}");
        }
        for form in ["VERSION", "REPOSITORY", "ARCH", "SHA256"] {
            assert!(!made.contains(form), "{form} is in\n{made}");
        }
        assert!(made.starts_with("apiVersion: "));
    }
}
