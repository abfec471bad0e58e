//! Programs of Kubernetes and its neighbours, built from their Go modules.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use fs_err as fs;

use crate::workspace::{run, target};

/// A release of Kubernetes.
pub struct Release<'a>(pub &'a str);

impl Release<'_> {
    /// Where its programs are built: a Go module that is Kubernetes' own `go.mod` with published staging modules.
    pub fn module(&self) -> PathBuf {
        target().join("kubernetes").join(self.0)
    }

    /// A program that [`Self::build`] has built.
    pub fn program(&self, name: &str) -> PathBuf {
        self.module().join("bin").join(name)
    }

    /// Builds a Go package, unless it is built.
    ///
    /// # Errors
    /// Go is missing, or there is no such release.
    pub fn build(&self, name: &str, package: &str) -> anyhow::Result<()> {
        let module = self.go_module();
        module.build(package, &self.program(name), &self.variables(), |line| self.published(line))
    }

    /// The Go module that its programs are built from.
    pub fn go_module(&self) -> GoModule<'_> {
        let folder = self.module();
        GoModule { folder, path: "k8s.io/kubernetes", version: self.0, cache: Cache::OfUser }
    }

    /// A line of Kubernetes' `go.mod` with the published module in the place of a folder of its repository.
    pub fn published(&self, line: &str) -> String {
        let minor = self.0.strip_prefix("1.").unwrap_or_default();
        let replaced = line.split_once("=> ./staging/src/");
        replaced.map_or_else(|| line.to_owned(), |(of, path)| format!("{of}=> {path} v0.{minor}"))
    }

    /// The linker's `-X` flags that set the version which a program reports.
    pub fn variables(&self) -> String {
        let names = "k8s.io/component-base/version";
        let number = self.0.split('.').nth(1).unwrap_or_default();
        format!("-X {names}.gitVersion=v{} -X {names}.gitMajor=1 -X {names}.gitMinor={number}", self.0)
    }
}

/// A Go module that programs are built from, in a generated module that requires it and has its replacements.
pub struct GoModule<'a> {
    /// The folder of the generated module.
    pub folder: PathBuf,
    /// The module.
    pub path: &'a str,
    /// Its version, without `v`.
    pub version: &'a str,
    /// Where Go keeps what it has compiled.
    pub cache: Cache,
}

/// A build cache of Go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cache {
    /// The cache of the user.
    OfUser,
    /// A folder for this build.
    Own(PathBuf),
}

impl GoModule<'_> {
    /// Builds a package of it, unless the program is there. `variables` are the linker's `-X`; `line` changes the lines of
    /// the module's `go.mod`, whose replacements hold only where it is the main module.
    ///
    /// # Errors
    /// Go is missing, or there is no such version.
    pub fn build(
        &self,
        package: &str,
        program: &Path,
        variables: &str,
        line: impl Fn(&str) -> String,
    ) -> anyhow::Result<()> {
        if program.is_file() {
            return Ok(());
        }
        let has_go = Command::new("go").arg("version").output().is_ok_and(|output| output.status.success());
        let shown = program.file_name().unwrap_or_default().display();
        ensure!(has_go, "Go is missing, which builds {shown}: https://go.dev/dl, 1.26 or later");
        self.prepare(line)?;
        let mut go = self.go("build");
        run(go.args(["-ldflags", &format!("-s -w {variables}"), "-o"]).arg(program).arg(package))
    }

    /// Downloads the modules that a package needs.
    ///
    /// # Errors
    /// As of [`Self::build`].
    pub fn download(&self, package: &str, line: impl Fn(&str) -> String) -> anyhow::Result<()> {
        self.prepare(line)?;
        run(self.go("list").args(["-deps", package]).stdout(Stdio::null()))
    }

    fn go(&self, what: &str) -> Command {
        let mut go = Command::new("nice");
        go.args(["-n", "5", "go", what, "-mod=mod"]).env("CGO_ENABLED", "0").current_dir(&self.folder);
        if let Cache::Own(folder) = &self.cache {
            go.env("GOCACHE", folder);
        }
        go
    }

    /// Writes the generated module, unless it is there for another program.
    fn prepare(&self, line: impl Fn(&str) -> String) -> anyhow::Result<()> {
        let Self { folder, path, version, .. } = self;
        if folder.join("go.sum").is_file() {
            return Ok(());
        }
        fs::create_dir_all(folder)?;
        let from = source(&format!("{path}@v{version}"))?;
        let own = fs::read_to_string(from.join("go.mod"))?;
        let mut text = "module programs\n".to_owned();
        for one in own.lines().filter(|line| !line.starts_with("module ")) {
            text += &line(one);
            text.push('\n');
        }
        text += &format!("require {path} v{version}\n");
        fs::write(folder.join("go.mod"), text)?;
        Ok(fs::write(folder.join("go.sum"), fs::read(from.join("go.sum"))?)?)
    }
}

/// Where Go has put the source of a module, `PATH@VERSION`.
pub fn source(module: &str) -> anyhow::Result<PathBuf> {
    let output = Command::new("go").args(["mod", "download", "-json", module]).output();
    let text = String::from_utf8_lossy(&output.context("failed to start Go")?.stdout).into_owned();
    let downloaded: serde_json::Value =
        serde_json::from_str(&text).context("`go mod download` printed no JSON")?;
    let folder = downloaded["Dir"].as_str().with_context(|| format!("there is no {module}: {text}"))?;
    Ok(Path::new(folder).to_path_buf())
}
