//! The programs, and where they are built.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

/// The release of Kubernetes that clusters have by default.
pub const RELEASE: &str = "1.36.3";
/// The environment variable that gives tests another release.
const RELEASE_VARIABLE: &str = "TOPOLET_KUBERNETES";

/// The release of Kubernetes that tests use: that of environment variable `TOPOLET_KUBERNETES`, else [`RELEASE`]. Tests have
/// passed with 1.36.3 and 1.37.2.
#[must_use]
pub fn release_of_tests() -> String {
    std::env::var(RELEASE_VARIABLE).unwrap_or_else(|_| RELEASE.to_owned())
}

/// A program of a control plane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Program {
    /// Where the API server keeps objects.
    Etcd,
    /// The API server.
    ApiServer,
    /// The default scheduler.
    Scheduler,
    /// The controllers of Deployments, Jobs, disruption budgets, claim templates, node lifecycle and garbage collection.
    ControllerManager,
    /// The command line.
    Kubectl,
}

impl Program {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Etcd, Self::ApiServer, Self::Scheduler, Self::ControllerManager, Self::Kubectl];

    /// What its file is called.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::ApiServer => "kube-apiserver",
            Self::Scheduler => "kube-scheduler",
            Self::ControllerManager => "kube-controller-manager",
            Self::Kubectl => "kubectl",
        }
    }
}

/// The Go package of a program.
#[must_use]
pub fn package(program: Program) -> String {
    match program {
        Program::Etcd => "go.etcd.io/etcd/server/v3".to_owned(),
        program => format!("k8s.io/kubernetes/cmd/{}", program.name()),
    }
}

/// The programs of one release.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Programs {
    folder: PathBuf,
    release: String,
}

impl Programs {
    /// Those that `cargo xtask cluster` has built below cargo's `target` folder.
    ///
    /// # Errors
    /// One of them is missing, with the command that builds it.
    pub fn built(target: &Path, release: &str) -> anyhow::Result<Self> {
        let folder = target.join("kubernetes").join(release).join("bin");
        for program in Program::ALL {
            ensure!(
                folder.join(program.name()).is_file(),
                "{} of Kubernetes {release} is not built; `cargo xtask cluster --build --kubelet-version {release}` builds it",
                program.name()
            );
        }
        Ok(Self { folder, release: release.to_owned() })
    }

    /// The file of a program.
    #[must_use]
    pub fn path(&self, program: Program) -> PathBuf {
        self.folder.join(program.name())
    }

    /// The file of a program of Kubernetes.
    ///
    /// # Errors
    /// The program cannot be started, or `--version` prints another release.
    pub(crate) fn checked(&self, program: Program) -> anyhow::Result<PathBuf> {
        let path = self.path(program);
        let (name, wanted) = (program.name(), format!("Kubernetes v{}", self.release));
        let output = Command::new(&path).arg("--version").output();
        let output = output.with_context(|| format!("failed to start {}", path.display()))?;
        let said = String::from_utf8_lossy(&output.stdout);
        ensure!(said.trim() == wanted, "{name} at {} is {:?}, not {wanted}", path.display(), said.trim());
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_program_that_is_not_there_or_of_another_release_is_named() {
        let target = tempfile::tempdir().unwrap();
        let absent = Programs::built(target.path(), "1.37.2").unwrap_err().to_string();
        let expected = "etcd of Kubernetes 1.37.2 is not built; `cargo xtask cluster --build --kubelet-version 1.37.2` builds it";
        assert_eq!(absent, expected);
        let bin = target.path().join("kubernetes/1.37.2/bin");
        fs::create_dir_all(&bin).unwrap();
        for program in Program::ALL {
            let path = bin.join(program.name());
            fs::write(&path, "#!/bin/sh\necho Kubernetes v1.36.3\n").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let programs = Programs::built(target.path(), "1.37.2").unwrap();
        let other = programs.checked(Program::ControllerManager).unwrap_err().to_string();
        assert!(other.starts_with("kube-controller-manager at "), "{other}");
        assert!(other.ends_with("is \"Kubernetes v1.36.3\", not Kubernetes v1.37.2"), "{other}");
    }
}
