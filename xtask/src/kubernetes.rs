//! Programs of Kubernetes, built from its Go module.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::{run, target};

/// A release of Kubernetes.
pub(crate) struct Release<'a>(pub(crate) &'a str);

impl Release<'_> {
    /// Where its programs are built: a Go module that is Kubernetes' own `go.mod` with published staging modules.
    pub(crate) fn module(&self) -> PathBuf {
        target().join("kubernetes").join(self.0)
    }

    /// A program that [`Self::build`] has built.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.module().join("bin").join(name)
    }

    /// Builds a Go package, unless it is built.
    ///
    /// # Errors
    /// Go is missing, or there is no such release.
    pub(crate) fn build(&self, name: &str, package: &str) -> anyhow::Result<()> {
        let program = self.program(name);
        if program.is_file() {
            return Ok(());
        }
        let has_go = Command::new("go").arg("version").output().is_ok_and(|output| output.status.success());
        ensure!(has_go, "Go is missing, which builds {name}: https://go.dev/dl, 1.26 or later");
        let minor = self.prepare()?;
        let number = minor.split('.').next().unwrap_or(&minor);
        let names = "k8s.io/component-base/version";
        let version = self.0;
        let flags = format!(
            "-s -w -X {names}.gitVersion=v{version} -X {names}.gitMajor=1 -X {names}.gitMinor={number}"
        );
        let mut go = Command::new("nice");
        go.args(["-n", "5", "go", "build", "-mod=mod", "-ldflags", &flags, "-o"]).arg(&program).arg(package);
        run(go.env("CGO_ENABLED", "0").current_dir(self.module()))
    }

    /// Writes the module. Gives `36.3` of `1.36.3`.
    fn prepare(&self) -> anyhow::Result<String> {
        let version = self.0;
        let minor = version.strip_prefix("1.").context("a version is as 1.36.3")?;
        let module = self.module();
        fs::create_dir_all(module.join("bin"))?;
        let from = source(&format!("k8s.io/kubernetes@v{version}"))?;
        let own = fs::read_to_string(from.join("go.mod")).context("failed to read Kubernetes' go.mod")?;
        let mut wrapper = "module programs\n".to_owned();
        for line in own.lines().filter(|line| !line.starts_with("module ")) {
            let replaced = line.split_once("=> ./staging/src/");
            let line =
                replaced.map_or_else(|| line.to_owned(), |(of, path)| format!("{of}=> {path} v0.{minor}"));
            wrapper += &line;
            wrapper.push('\n');
        }
        wrapper += &format!("require k8s.io/kubernetes v{version}\n");
        // What was resolved for another program stays.
        if !module.join("go.sum").is_file() {
            fs::write(module.join("go.mod"), wrapper)?;
            fs::write(module.join("go.sum"), fs::read(from.join("go.sum"))?)?;
        }
        Ok(minor.to_owned())
    }
}

/// Where Go has put the source of a module, `PATH@VERSION`.
pub(crate) fn source(module: &str) -> anyhow::Result<PathBuf> {
    let output = Command::new("go").args(["mod", "download", "-json", module]).output();
    let text = String::from_utf8_lossy(&output.context("failed to start Go")?.stdout).into_owned();
    let downloaded: serde_json::Value =
        serde_json::from_str(&text).context("`go mod download` printed no JSON")?;
    let folder = downloaded["Dir"].as_str().with_context(|| format!("there is no {module}: {text}"))?;
    Ok(Path::new(folder).to_path_buf())
}
