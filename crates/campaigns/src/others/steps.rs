//! What is done with a program: its build, of which is kept what it cost, and its trial.

use fs_err as fs;
use workspace_tools::kubernetes::{Cache, GoModule, Release};

use super::programs::{Builds, Program};
use super::record::{Cost, Record};
use super::trial::{Outcome, Trial};
use super::{cpu_driver, example_driver, helm, kubelet, kueue};

impl Program {
    /// Builds it, and keeps what that cost.
    pub(crate) fn build(self, builds: Builds) -> anyhow::Result<()> {
        let file = self.file();
        if file.is_file() {
            match builds {
                Builds::Missing => return self.check(&file),
                Builds::Anew => {
                    fs::remove_file(&file)?;
                }
            }
        }
        let empty = tempfile::Builder::new().prefix("go-build").tempdir()?;
        let cache = match builds {
            Builds::Missing => Cache::OfUser,
            Builds::Anew => Cache::Own(empty.path().to_path_buf()),
        };
        let module = GoModule { folder: self.folder(), path: self.module(), version: self.version(), cache };
        let package = format!("{}/cmd/{}", self.module(), self.name());
        let published = |line: &str| match self {
            Self::Kubelet136 | Self::Kubelet137 => Release(self.version()).published(line),
            _ => line.to_owned(),
        };
        module.download(&package, published)?;
        let cost = Cost::of(builds, || module.build(&package, &file, &self.variables(), published))?;
        self.check(&file)?;
        Record::built(self, cost)
    }

    /// Has it do its first useful thing.
    pub(super) fn attempt(self, trial: &Trial) -> anyhow::Result<Outcome> {
        let file = self.file();
        self.check(&file)?;
        match self {
            Self::Helm => helm::attempt(trial, &file, self.version()),
            Self::DraExampleDriver => example_driver::attempt(trial, &file),
            Self::Kueue => kueue::attempt(trial, &file, &self.source()?),
            Self::DraDriverCpu => cpu_driver::attempt(trial, &file),
            Self::Kubelet136 | Self::Kubelet137 => kubelet::attempt(&file, self.version()),
        }
    }
}
