//! `cargo xtask dist`: what a release has, made of the static program: its archive, a Debian package, an archive with its manifest for
//! krew, the chart, a bill of materials, and checksums of all. The root file system of the image is the folder of `cargo xtask
//! static`.

mod made;
mod debian_root;
mod image_root;
mod krew;
mod release;

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, bail};
use fs_err as fs;
use workspace_tools::debian;
use workspace_tools::document::write_figures;
use workspace_tools::workspace::{cargo, run, target};

use crate::static_build::Static;
use made::{Made, said};

/// The versions that are installed where none is there.
const CARGO_DEB: &str = "3.8.0";
const CARGO_CYCLONEDX: &str = "0.5.9";
/// Where the figures of a test are.
const DOCUMENT: &str = "docs/packages.md";

/// Builds the Debian package and the archive for krew, with the static program, into dist of cargo's target folder.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub(crate) struct Dist {
    /// Installs the pinned cargo-deb and, for a test, debootstrap first where they are not there.
    #[arg(long)]
    install: bool,
    /// Take the program that the last `cargo xtask static` has left, instead of building it.
    #[arg(long)]
    built: bool,
    /// Install each, run it, and remove it: the Debian package in a new root of Debian, the archive with krew, the image as a root
    /// file system. Needs to be root, debootstrap and Go.
    #[arg(long)]
    test: bool,
    /// Write what the test has found to docs/packages.md.
    #[arg(long, requires = "test")]
    write: bool,
    /// A private key in PEM, by which the list of checksums is signed: `openssl genpkey -algorithm ed25519` makes one. Without it nothing
    /// is signed.
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
}

impl Dist {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        self.needs()?;
        if !self.built {
            Static {}.run()?;
        }
        let made = make()?;
        release::finish(&made, self.key.as_deref())?;
        if !self.test {
            return Ok(());
        }
        let mut table = "| what | how it is tried | size | time |\n|---|---|---|---|\n".to_owned();
        for (what, file, how, test) in [
            (
                "Debian package",
                &made.debian,
                debian_root::HOW,
                debian_root::test as fn(&Made) -> anyhow::Result<()>,
            ),
            ("archive for krew", &made.archive, krew::HOW, krew::test),
            ("image", &target().join("static/topolet"), image_root::HOW, image_root::test),
            ("archive of the program", &made.program, release::HOW, release::test),
        ] {
            let began = Instant::now();
            test(&made).with_context(|| format!("the {what} does not do"))?;
            let tenths = (fs::metadata(file)?.len() * 10) >> 20;
            let mib = format!("{}.{}", tenths / 10, tenths % 10);
            table += &format!("| {what} | {how} | {mib} MiB | {} s |\n", began.elapsed().as_secs());
        }
        print!("{table}");
        if self.write { write_figures(DOCUMENT, "cargo xtask dist --test --write", &table) } else { Ok(()) }
    }

    /// Installs what is not there, or says what that is.
    fn needs(&self) -> anyhow::Result<()> {
        for (subcommand, version, features) in
            [("deb", CARGO_DEB, &["--no-default-features"][..]), ("cyclonedx", CARGO_CYCLONEDX, &[])]
        {
            let mut asked = cargo(&[subcommand, "--version"]);
            if asked.stdout(Stdio::null()).stderr(Stdio::null()).status()?.success() {
                continue;
            }
            let package = format!("cargo-{subcommand}");
            if !self.install {
                bail!(
                    "{package} is not installed; `cargo xtask dist --install` installs {package} {version}"
                );
            }
            let install = ["install", "--locked", &package, "--version", version];
            run(cargo(&install).args(features))?;
        }
        if self.test && Command::new("debootstrap").arg("--version").output().is_err() {
            if !self.install {
                bail!(
                    "debootstrap is not installed; `cargo xtask dist --test --install` installs it by apt-get"
                );
            }
            debian::install(&["debootstrap"])?;
        }
        Ok(())
    }
}

/// Makes the package and the archive.
fn make() -> anyhow::Result<Made> {
    let (stage, out) = (target().join("release/dist"), target().join("dist"));
    for folder in [&stage, &out] {
        let _ = fs::remove_dir_all(folder);
        fs::create_dir_all(folder)?;
    }
    let program = stage.join("topolet");
    fs::copy(target().join("static/topolet"), &program)?;
    for link in ["kubectl-topolet", "kubectl_complete-topolet"] {
        symlink("topolet", stage.join(link)).with_context(|| format!("failed to link {link}"))?;
    }
    run(Command::new(&program).arg("man").arg(stage.join("man")).stdout(Stdio::null()))?;
    // As Debian has them.
    run(Command::new("gzip").args(["--best", "--no-name", "--recursive"]).arg(stage.join("man")))?;
    for (shell, file) in [("bash", "bash/topolet"), ("zsh", "zsh/_topolet"), ("fish", "fish/topolet.fish")] {
        let script = said(Command::new(&program).args(["completions", shell]))?;
        let file = stage.join(file);
        fs::create_dir_all(file.parent().unwrap_or(&stage))?;
        fs::write(&file, script)?;
    }
    let version = said(Command::new(&program).arg("--version"))?;
    let version =
        version.trim().strip_prefix("topolet ").context("the program does not say its version")?.to_owned();
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => bail!("Debian's name of {other} is not known here"),
    };

    // Stripped already, and built.
    run(cargo(&["deb", "--no-build", "--no-strip", "--package", "topolet", "--output"]).arg(&out))?;
    let mut found = fs::read_dir(&out)?.filter_map(Result::ok).map(|entry| entry.path());
    let debian = found
        .find(|path| path.extension().is_some_and(|extension| extension == "deb"))
        .context("cargo-deb has made no package")?;
    let (archive, manifest) = krew::make(&stage, &out, &version, architecture)?;
    let program = release::archive(&stage, &out, &version)?;
    Ok(Made { version, debian, archive, manifest, program })
}
