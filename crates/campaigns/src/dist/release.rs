//! What a release has beside the packages: the program's archive, the chart, a bill of materials, checksums and their signature.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail, ensure};
use fs_err as fs;
use serde_json::Value;
use workspace_tools::workspace::{cargo, root, run, target};

use super::made::{Made, repository, said};

pub(super) const HOW: &str = "unpacked: version, a page of the manual, completions; `sha256sum --check` of all files; the chart rendered \
     by helm from its archive";
const SUMS: &str = "SHA256SUMS";

/// What the program is built for, such as `x86_64-unknown-linux-gnu`.
fn host() -> anyhow::Result<String> {
    Ok(said(Command::new("rustc").args(["--print", "host-tuple"]))?.trim().to_owned())
}

/// The archive of the program, as `cargo binstall` looks for it. The same files give the same archive.
pub(super) fn archive(stage: &Path, out: &Path, version: &str) -> anyhow::Result<PathBuf> {
    let name = format!("topolet-{version}-{}", host()?);
    let folder = stage.join("archive").join(&name);
    fs::create_dir_all(&folder)?;
    for file in ["LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md", "crates/topolet/licences.txt"] {
        let from = repository(file);
        fs::copy(&from, folder.join(from.file_name().context("a file has no name")?))?;
    }
    fs::copy(stage.join("topolet"), folder.join("topolet"))?;
    for folder_of in ["man", "bash", "zsh", "fish"] {
        run(Command::new("cp").arg("-r").arg(stage.join(folder_of)).arg(&folder))?;
    }
    let archive = out.join(format!("{name}.tar.gz"));
    packed(&archive, &stage.join("archive"), &name)?;
    Ok(archive)
}

fn packed(archive: &Path, folder: &Path, name: &str) -> anyhow::Result<()> {
    let mut tar = Command::new("tar");
    // What a link leads to, in its place.
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0", "--dereference"]);
    run(tar.args(["--use-compress-program", "gzip -n", "-cf"]).arg(archive).arg("-C").arg(folder).arg(name))
}

/// Adds the chart and the bill of materials, then the checksums of every file, and signs these with a key.
pub(super) fn finish(made: &Made, key: Option<&Path>) -> anyhow::Result<()> {
    let out = made.archive.parent().context("the archive is in no folder")?;
    chart(out, &made.version)?;
    materials(out, &made.version)?;
    let names = names(out)?;
    let mut sum = Command::new("sha256sum");
    let sums = said(sum.args(&names).current_dir(out))?;
    fs::write(out.join(SUMS), sums)?;
    match key {
        Some(key) => sign(&out.join(SUMS), key)?,
        None => eprintln!("{SUMS} is not signed: no key was given"),
    }
    for name in self::names(out)? {
        println!("{}", out.join(name).display());
    }
    Ok(())
}

/// The files of a folder, in order.
fn names(folder: &Path) -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// `deploy/chart` as helm packs it, with the files that its links lead to.
fn chart(out: &Path, version: &str) -> anyhow::Result<()> {
    let folder = target().join("release/dist/chart");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder)?;
    run(Command::new("cp").args(["-rL"]).arg(root().join("deploy/chart")).arg(folder.join("topolet")))?;
    packed(&out.join(format!("topolet-chart-{version}.tgz")), &folder, "topolet")
}

/// The crates that the program is made of, in the format of `CycloneDX`.
fn materials(out: &Path, version: &str) -> anyhow::Result<()> {
    // The command writes beside each manifest of a workspace: into a copy of it.
    let copy = target().join("release/dist/source");
    let _ = fs::remove_dir_all(&copy);
    fs::create_dir_all(&copy)?;
    let mut list = Command::new("git");
    let listed = said(list.args(["ls-files", "-z"]).current_dir(root()))?;
    let manifest = |file: &&str| {
        file.ends_with("Cargo.toml")
            || *file == "Cargo.lock"
            || Path::new(file).extension().is_some_and(|extension| extension == "rs")
            || *file == "rust-toolchain.toml"
    };
    for file in listed.split('\0').filter(manifest) {
        let to = copy.join(file);
        fs::create_dir_all(to.parent().unwrap_or(&copy))?;
        fs::copy(root().join(file), to)?;
    }
    let mut make = cargo(&["cyclonedx", "--format", "json", "--spec-version", "1.5", "--quiet", "--target"]);
    make.arg(host()?).args(["--manifest-path"]).arg(copy.join("crates/topolet/Cargo.toml"));
    run(make.current_dir(&copy))?;
    let text = fs::read_to_string(copy.join("crates/topolet/topolet.cdx.json"))?;
    let bill: Value = serde_json::from_str(&text).context("the bill of materials is no JSON")?;
    let parts = bill["components"].as_array().map_or(0, Vec::len);
    ensure!(bill["bomFormat"] == "CycloneDX" && parts > 50, "the bill of materials lists {parts} crates");
    // The paths of this machine.
    let text = text.replace(&copy.display().to_string(), "");
    fs::write(out.join(format!("topolet-{version}.cdx.json")), text)?;
    fs::remove_dir_all(&copy)?;
    Ok(())
}

/// Writes `FILE.sig`: `openssl pkeyutl -verify -rawin -pubin -inkey KEY.pub -in FILE -sigfile FILE.sig`.
fn sign(file: &Path, key: &Path) -> anyhow::Result<()> {
    let signature = signature_of(file);
    let mut openssl = Command::new("openssl");
    openssl
        .args(["pkeyutl", "-sign", "-rawin", "-inkey"])
        .arg(key)
        .arg("-in")
        .arg(file)
        .arg("-out")
        .arg(&signature);
    let output = openssl.stdin(Stdio::null()).output().context("failed to start openssl")?;
    if !output.status.success() {
        let _ = fs::remove_file(&signature);
        bail!(
            "openssl does not sign with {}: {}",
            key.display(),
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(())
}

fn signature_of(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".sig");
    name.into()
}

/// Uses the archive, and checks the checksums and the chart.
pub(super) fn test(made: &Made) -> anyhow::Result<()> {
    let out = made.program.parent().context("the archive is in no folder")?;
    run(Command::new("sha256sum").args(["--check", "--quiet", SUMS]).current_dir(out))?;
    let folder = tempfile::tempdir()?;
    run(Command::new("tar").arg("-xf").arg(&made.program).arg("-C").arg(folder.path()))?;
    let inside = folder.path().join(format!("topolet-{}-{}", made.version, host()?));
    let version = said(Command::new(inside.join("topolet")).arg("--version"))?;
    ensure!(version.trim() == format!("topolet {}", made.version), "it is of version {version}");
    for file in ["man/topolet.1.gz", "bash/topolet", "zsh/_topolet", "fish/topolet.fish", "LICENSE"] {
        ensure!(inside.join(file).exists(), "the archive has no {file}");
    }
    let chart = out.join(format!("topolet-chart-{}.tgz", made.version));
    let mut helm = Command::new(crate::others::helm_program()?);
    let rendered =
        said(helm.args(["template", "topolet", "--kube-version", local_cluster::RELEASE]).arg(chart))?;
    ensure!(rendered.contains("kind: DaemonSet"), "helm renders\n{rendered}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_of_one_key_and_one_text() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let openssl = |arguments: &[&str], files: &[PathBuf]| {
            let mut openssl = Command::new("openssl");
            openssl.args(arguments).args(files).current_dir(folder.path()).output().unwrap().status.success()
        };
        for name in ["key", "other"] {
            assert!(openssl(&["genpkey", "-algorithm", "ed25519", "-out"], &[path(name)]));
            assert!(openssl(&["pkey", "-in", name, "-pubout", "-out"], &[path(&format!("{name}.pub"))]));
        }
        fs::write(path(SUMS), "abc  topolet\n").unwrap();
        sign(&path(SUMS), &path("key")).unwrap();
        let verifies = |public: &str| {
            let asked = ["pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", public, "-in", SUMS, "-sigfile"];
            openssl(&asked, &[signature_of(&path(SUMS))])
        };
        assert!(verifies("key.pub") && !verifies("other.pub"));
        fs::write(path(SUMS), "abd  topolet\n").unwrap();
        assert!(!verifies("key.pub"));
        // What is no key signs nothing, and leaves no signature.
        fs::remove_file(signature_of(&path(SUMS))).unwrap();
        assert!(sign(&path(SUMS), &path(SUMS)).is_err() && !signature_of(&path(SUMS)).exists());
    }
}
