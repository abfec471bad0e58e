//! The images that a guest starts from: topolet, the guest's program, and the libraries of both, as an archive or on a disk.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use serde_json::Value;
use workspace_tools::workspace::{build, run, target};

use crate::archive::Archive;
use crate::needs::folder;
use crate::shape::Shape;

/// The programs of this workspace that run in a guest, as the tests build them.
#[derive(Clone, Debug)]
pub(crate) struct Programs {
    pub(crate) topolet: PathBuf,
    pub(crate) guest: PathBuf,
}

impl Programs {
    pub(crate) fn build() -> anyhow::Result<Self> {
        build(&["topolet", "guest"])?;
        Ok(Self { topolet: target().join("debug/topolet"), guest: target().join("debug/guest") })
    }

    /// The machine as `topolet topology -o json` prints it.
    pub(crate) fn topology(&self, machine: &str) -> anyhow::Result<Value> {
        let mut command = Command::new(&self.topolet);
        let output = command.args(["topology", "--empty", "-o", "json", "--machine", machine]).output();
        let output = output.context("failed to start topolet")?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
        serde_json::from_slice(&output.stdout).context("topolet printed no JSON")
    }

    pub(crate) fn list_tests(&self) -> anyhow::Result<()> {
        run(Command::new(&self.guest).arg("list"))
    }

    /// Writes the archive that the kernel unpacks as the first file system. `notes` are files at its root, by name.
    pub(crate) fn archive(&self, to: &Path, shape: &Shape, notes: &[(&str, String)]) -> anyhow::Result<()> {
        let made = || -> anyhow::Result<()> {
            let mut archive = Archive::new(BufWriter::new(File::create(to)?))?;
            for folder in ["proc", "sys", "tmp", "run", "state", "etc", "var/lib"] {
                archive.folder(folder)?;
            }
            for (at, program) in [("init", &self.guest), ("bin/topolet", &self.topolet)] {
                archive.copy(at, &stripped(program)?)?;
            }
            for library in libraries(&[&self.topolet, &self.guest])? {
                archive.copy(library.trim_start_matches('/'), Path::new(&library))?;
            }
            archive.file("shape.json", serde_json::to_string(shape)?.as_bytes())?;
            for (name, text) in notes {
                archive.file(name, text.as_bytes())?;
            }
            archive.finish()?;
            Ok(())
        };
        made().with_context(|| format!("failed to write {}", to.display()))
    }

    /// Copies the programs and more, by the path that each gets, into the folder of a root file system, with what they load.
    pub(crate) fn copy_into(&self, tree: &Path, more: &[(&str, &Path)]) -> anyhow::Result<()> {
        let own = [("init", self.guest.as_path()), ("bin/topolet", &self.topolet)];
        let all = || own.iter().chain(more);
        for (at, program) in all() {
            std::fs::copy(stripped(program)?, tree.join(at))?;
        }
        let programs: Vec<&Path> = all().map(|(_, program)| *program).collect();
        for library in libraries(&programs)? {
            let to = tree.join(library.trim_start_matches('/'));
            fs_err::create_dir_all(to.parent().unwrap_or(tree))?;
            std::fs::copy(&library, to)?;
        }
        Ok(())
    }
}

/// What `ldd` says that programs load, the loader included.
fn libraries(programs: &[&Path]) -> anyhow::Result<BTreeSet<String>> {
    let output = Command::new("ldd").args(programs).output();
    let output = output.context("failed to start ldd, of Debian's package libc-bin")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let words = text.split_whitespace().filter(|word| word.starts_with('/') && !word.ends_with(':'));
    Ok(words.map(str::to_owned).collect())
}

/// The path of a copy without symbols, a fifth of the bytes to load. It is made anew when the program is newer.
fn stripped(program: &Path) -> anyhow::Result<PathBuf> {
    let name = program.file_name().context("a program has a name")?;
    let to = folder().join("bin").join(name);
    fs_err::create_dir_all(folder().join("bin"))?;
    let age = |file: &Path| file.metadata().and_then(|about| about.modified()).ok();
    if age(&to) <= age(program) {
        let status = Command::new("strip").arg("--strip-all").arg("-o").arg(&to).arg(program).status();
        ensure!(status.context("failed to start strip")?.success(), "failed to strip {}", program.display());
    }
    Ok(to)
}
