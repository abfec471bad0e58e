//! The commit that stable crates are compared with, and what has changed since.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail, ensure};
use fs_err as fs;

use crate::workspace::{root, run, target};

/// The file that names the commit.
pub const BASELINE: &str = "docs/semver-baseline";
/// What building the crates needs.
const SOURCES: [&str; 5] = ["Cargo.lock", "Cargo.toml", "LICENSE", "crates", "xtask"];

/// The commit that the file names, which is in this clone.
///
/// # Errors
/// The file names none, or this clone lacks it.
pub fn commit() -> anyhow::Result<String> {
    let commit = commit_of(&fs::read_to_string(root().join(BASELINE))?)?;
    is_there(&root(), &commit)?;
    Ok(commit)
}

/// The commit that the file names: its one line that is no comment.
fn commit_of(text: &str) -> anyhow::Result<String> {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let (commit, more) = (lines.next().unwrap_or_default(), lines.next());
    let is_commit = commit.len() == 40 && commit.chars().all(|c| c.is_ascii_hexdigit());
    ensure!(is_commit && more.is_none(), "{BASELINE}: expected one line with a commit of 40 digits");
    Ok(commit.to_owned())
}

/// Fails if a clone lacks a commit.
fn is_there(clone: &Path, commit: &str) -> anyhow::Result<()> {
    if git(clone, &["cat-file", "-e", &format!("{commit}^{{commit}}")])?.is_some() {
        return Ok(());
    }
    let is_shallow = git(clone, &["rev-parse", "--is-shallow-repository"])?;
    let remedy = match is_shallow.as_deref().map(str::trim) {
        Some("true") => "the clone is shallow: `git fetch --unshallow` gets it",
        Some(_) => "`git fetch` gets it, if it is a commit of the main branch",
        None => "this is no clone of the repository",
    };
    bail!("the commit {commit} of {BASELINE} is not here; {remedy}")
}

/// Whether sources or the manifest of a crate differ from those of a commit, committed or not.
///
/// # Errors
/// git fails.
pub fn has_changed(clone: &Path, commit: &str, folder: &Path) -> anyhow::Result<bool> {
    let parts = ["src", "Cargo.toml"].map(|part| folder.join(part).display().to_string());
    let [sources, manifest] = &parts;
    let differing = git(clone, &["diff", "--name-only", commit, "--", sources, manifest])?;
    let new = git(clone, &["ls-files", "--others", "--exclude-standard", "--", sources])?;
    let (differing, new) = differing.zip(new).context("git does not say what has changed")?;
    Ok(!differing.is_empty() || !new.is_empty())
}

/// What git prints; `None` if it fails.
fn git(clone: &Path, arguments: &[&str]) -> anyhow::Result<Option<String>> {
    let mut git = Command::new("git");
    let output = git.args(arguments).current_dir(clone).stderr(Stdio::null()).output();
    let output = output.context("failed to start git")?;
    Ok(output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned()))
}

/// The crates at a commit, unpacked once: files stay as old as they are, and what was built of them stays built.
///
/// # Errors
/// git or tar fails.
pub fn unpacked(commit: &str) -> anyhow::Result<PathBuf> {
    let folder = target().join("semver").join(commit);
    if folder.exists() {
        return Ok(folder);
    }
    let [packed, part] = ["tar", "part"].map(|extension| folder.with_extension(extension));
    fs::create_dir_all(&part)?;
    let mut pack = Command::new("git");
    pack.args(["archive", "--output"]).arg(&packed).arg(commit).args(SOURCES);
    run(pack.current_dir(root()))?;
    run(Command::new("tar").arg("-xf").arg(&packed).arg("-C").arg(&part))?;
    fs::remove_file(&packed)?;
    // Under its name it is whole.
    fs::rename(&part, &folder)?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_file_names_one_commit() {
        let commit = "ba839142554075e3be818014842348454ee8938d";
        assert_eq!(commit_of(&format!("# why\n\n{commit}\n")).unwrap(), commit);
        for text in ["", "# why\n", "main\n", "ba839142\n", &format!("{commit}\n{commit}\n")] {
            let error = commit_of(text).unwrap_err().to_string();
            assert_eq!(
                error, "docs/semver-baseline: expected one line with a commit of 40 digits",
                "{text:?}"
            );
        }
        assert!(commit_of(&fs::read_to_string(root().join(BASELINE)).unwrap()).is_ok());
    }

    /// A clone of one commit with a crate, and that commit; `None` where there is no git, except in CI.
    fn clone() -> Option<(tempfile::TempDir, String)> {
        if std::env::var_os("CI").is_none() && Command::new("git").arg("--version").output().is_err() {
            println!("skipped: git is not there");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("a/src")).unwrap();
        fs::write(folder.path().join("a/src/lib.rs"), "pub fn one() {}\n").unwrap();
        let identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
        for arguments in [&["init", "--quiet"][..], &["add", "."], &["commit", "--quiet", "--message=a"]] {
            git(folder.path(), &[&identity, arguments].concat()).unwrap().unwrap();
        }
        let commit = git(folder.path(), &["rev-parse", "HEAD"]).unwrap().unwrap();
        Some((folder, commit.trim().to_owned()))
    }

    #[test]
    fn sources_that_differ_or_are_new_are_a_change() {
        let Some((clone, commit)) = clone() else { return };
        let changed = || has_changed(clone.path(), &commit, Path::new("a")).unwrap();
        fs::write(clone.path().join("a/README.md"), "new").unwrap();
        assert!(!changed());
        fs::write(clone.path().join("a/src/new.rs"), "").unwrap();
        assert!(changed());
        fs::remove_file(clone.path().join("a/src/new.rs")).unwrap();
        fs::write(clone.path().join("a/src/lib.rs"), "").unwrap();
        assert!(changed());
    }

    #[test]
    fn a_clone_without_the_commit_is_refused_with_what_gets_it() {
        let Some((clone, commit)) = clone() else { return };
        is_there(clone.path(), &commit).unwrap();
        let unknown = "0".repeat(40);
        let refused = |folder: &Path| is_there(folder, &unknown).unwrap_err().to_string();
        let begin = format!("the commit {unknown} of docs/semver-baseline is not here; ");
        assert_eq!(
            refused(clone.path()),
            begin.clone() + "`git fetch` gets it, if it is a commit of the main branch"
        );
        fs::write(clone.path().join(".git/shallow"), &commit).unwrap();
        assert_eq!(
            refused(clone.path()),
            begin.clone() + "the clone is shallow: `git fetch --unshallow` gets it"
        );
        let nothing = tempfile::tempdir().unwrap();
        assert_eq!(refused(nothing.path()), begin + "this is no clone of the repository");
    }
}
