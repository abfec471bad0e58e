//! The programs, and where they are built.

use std::path::{Path, PathBuf};

use anyhow::ensure;

/// The release of Kubernetes that tests use.
pub const RELEASE: &str = "1.36.3";

/// A program of a control plane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Program {
    /// Where the API server keeps objects.
    Etcd,
    /// The API server.
    ApiServer,
    /// The default scheduler.
    Scheduler,
    /// The command line.
    Kubectl,
}

impl Program {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Etcd, Self::ApiServer, Self::Scheduler, Self::Kubectl];

    /// What its file is called.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::ApiServer => "kube-apiserver",
            Self::Scheduler => "kube-scheduler",
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
pub struct Programs(PathBuf);

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
                "{} of Kubernetes {release} is not built; `cargo xtask cluster --build` builds it",
                program.name()
            );
        }
        Ok(Self(folder))
    }

    /// The file of a program.
    #[must_use]
    pub fn path(&self, program: Program) -> PathBuf {
        self.0.join(program.name())
    }
}
