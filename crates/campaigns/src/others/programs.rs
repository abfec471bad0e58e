//! The programs: their modules and versions, and whether a file is one of them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail, ensure};
use workspace_tools::kubernetes::{Release, source};
use workspace_tools::workspace::target;

/// A program that others wrote.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Program {
    /// Installs charts.
    Helm,
    /// The example driver of dynamic resource allocation: its plugin of a kubelet.
    DraExampleDriver,
    /// Queues jobs.
    Kueue,
    /// The driver of dynamic resource allocation for CPUs.
    DraDriverCpu,
    /// The kubelet of Kubernetes 1.36.
    #[value(name = "kubelet-1.36")]
    Kubelet136,
    /// The kubelet of Kubernetes 1.37.
    #[value(name = "kubelet-1.37")]
    Kubelet137,
}

/// Which programs are built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Builds {
    /// Those that are not there.
    Missing,
    /// All, each with an empty build cache.
    Anew,
}

impl Program {
    pub(super) const ALL: [Self; 6] = [
        Self::Helm,
        Self::DraExampleDriver,
        Self::Kueue,
        Self::DraDriverCpu,
        Self::Kubelet136,
        Self::Kubelet137,
    ];

    /// Its name, and that of its file.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Helm => "helm",
            Self::DraExampleDriver => "dra-example-kubeletplugin",
            Self::Kueue => "kueue",
            Self::DraDriverCpu => "dracpu",
            Self::Kubelet136 | Self::Kubelet137 => "kubelet",
        }
    }

    /// Without `v`.
    pub(super) const fn version(self) -> &'static str {
        match self {
            Self::Helm => "3.19.5",
            Self::DraExampleDriver => "0.4.0",
            Self::Kueue => "0.17.0",
            Self::DraDriverCpu => "0.2.0",
            Self::Kubelet136 => "1.36.5",
            Self::Kubelet137 => "1.37.2",
        }
    }

    /// Its Go module.
    pub(super) const fn module(self) -> &'static str {
        match self {
            Self::Helm => "helm.sh/helm/v3",
            Self::DraExampleDriver => "sigs.k8s.io/dra-example-driver",
            Self::Kueue => "sigs.k8s.io/kueue",
            Self::DraDriverCpu => "github.com/kubernetes-sigs/dra-driver-cpu",
            Self::Kubelet136 | Self::Kubelet137 => "k8s.io/kubernetes",
        }
    }

    /// The linker's `-X` by which it says its version, where it has one.
    pub(super) fn variables(self) -> String {
        let version = self.version();
        match self {
            Self::Helm => format!("-X helm.sh/helm/v3/internal/version.version=v{version}"),
            Self::Kueue => format!("-X sigs.k8s.io/kueue/pkg/version.GitVersion=v{version}"),
            Self::DraExampleDriver | Self::DraDriverCpu => String::new(),
            Self::Kubelet136 | Self::Kubelet137 => Release(version).variables(),
        }
    }

    pub(super) fn folder(self) -> PathBuf {
        match self {
            Self::Kubelet136 | Self::Kubelet137 => Release(self.version()).module(),
            _ => target().join("others").join(format!("{}-{}", self.name(), self.version())),
        }
    }

    /// The program that was built.
    pub(crate) fn file(self) -> PathBuf {
        self.folder().join("bin").join(self.name())
    }

    /// The source of its module, where Go keeps it.
    pub(super) fn source(self) -> anyhow::Result<PathBuf> {
        source(&format!("{}@v{}", self.module(), self.version()))
    }

    /// Whether a file is this program at this version.
    ///
    /// # Errors
    /// It is absent, no program of Go's, another program or of another version; the message names it.
    pub(super) fn check(self, file: &Path) -> anyhow::Result<()> {
        ensure!(
            file.is_file(),
            "{self} is not at {}: `cargo xtask others --build` builds it",
            file.display()
        );
        let output =
            Command::new("go").args(["version", "-m"]).arg(file).output().context("failed to start Go")?;
        let buildinfo = String::from_utf8_lossy(&output.stdout);
        self.is_of(&buildinfo).with_context(|| format!("{} is not {self}", file.display()))
    }

    /// Whether `go version -m` says that a program is this one.
    fn is_of(self, buildinfo: &str) -> anyhow::Result<()> {
        let lines = || buildinfo.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let package = lines().find_map(|words| match words[..] {
            ["path", package] => Some(package.to_owned()),
            _ => None,
        });
        let wanted = format!("{}/cmd/{}", self.module(), self.name());
        match package {
            None => bail!("it is no program of Go's"),
            Some(package) => ensure!(package == wanted, "it is {package}"),
        }
        let version = lines().find_map(|words| match words[..] {
            ["dep" | "mod", module, version, ..] if module == self.module() => Some(version.to_owned()),
            _ => None,
        });
        let version = version.with_context(|| format!("it names no version of {}", self.module()))?;
        ensure!(version == format!("v{}", self.version()), "it is of {version}");
        Ok(())
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name(), self.version())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Program;

    #[test]
    fn what_is_not_the_program_is_named() {
        let buildinfo = |package: &str, version: &str| {
            format!("bin/helm: go1.26.8\n\tpath\t{package}\n\tdep\thelm.sh/helm/v3\t{version}\th1:x=\n")
        };
        let check = |buildinfo: &str| Program::Helm.is_of(buildinfo).map_err(|error| error.to_string());
        assert_eq!(check(&buildinfo("helm.sh/helm/v3/cmd/helm", "v3.19.5")), Ok(()));
        let rows = [
            (buildinfo("helm.sh/helm/v3/cmd/helm", "v3.19.0"), "it is of v3.19.0"),
            (buildinfo("k8s.io/kubernetes/cmd/kubelet", "v3.19.5"), "it is k8s.io/kubernetes/cmd/kubelet"),
            (
                "bin/helm: go1.26.8\n\tpath\thelm.sh/helm/v3/cmd/helm\n".to_owned(),
                "it names no version of helm.sh/helm/v3",
            ),
            (String::new(), "it is no program of Go's"),
        ];
        for (buildinfo, why) in rows {
            assert_eq!(check(&buildinfo), Err(why.to_owned()));
        }
        let absent = Program::Kueue.check(Path::new("/nowhere/kueue")).map_err(|error| error.to_string());
        let why = "kueue 0.17.0 is not at /nowhere/kueue: `cargo xtask others --build` builds it";
        assert_eq!(absent, Err(why.to_owned()));
    }
}
