//! `cargo xtask static`: topolet as one file that needs no library, and a root file system with nothing else.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};
use workspace_tools::workspace::{cargo, run, target};

/// Builds topolet statically to `target/static/topolet`, and runs it in a root file system that has nothing else.
///
/// `deploy/Containerfile` makes an image of that folder.
#[derive(Debug, clap::Args)]
pub(crate) struct Static {}

impl Static {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let Self {} = self;
        // The C library that is linked into it is that of this machine.
        let host = host()?;
        let flags = format!("target.{host}.rustflags=['-C','target-feature=+crt-static']");
        let build =
            ["build", "--release", "--quiet", "--package", "topolet", "--target", &host, "--config", &flags];
        run(&mut cargo(&build))?;
        let folder = target().join("static");
        // What is there is of the last build.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder)?;
        let program = folder.join("topolet");
        fs::copy(target().join(&host).join("release/topolet"), &program)?;
        run(Command::new("strip").arg(&program))?;
        is_alone(&program)?;
        runs_alone(&folder)?;
        let size = fs::metadata(&program)?.len();
        println!("{}: {} MiB", program.display(), size >> 20);
        Ok(())
    }
}

/// What this machine's programs are built for, such as `x86_64-unknown-linux-gnu`.
fn host() -> anyhow::Result<String> {
    let output =
        Command::new("rustc").args(["--print", "host-tuple"]).output().context("failed to start rustc")?;
    ensure!(output.status.success(), "rustc does not say what it builds for");
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// It names no loader of libraries.
fn is_alone(program: &Path) -> anyhow::Result<()> {
    let output = Command::new("readelf").args(["--program-headers", "--wide"]).arg(program).output();
    let output = output.context("failed to start readelf")?;
    let headers = String::from_utf8_lossy(&output.stdout);
    ensure!(
        output.status.success() && headers.contains("LOAD"),
        "readelf says nothing of {}",
        program.display()
    );
    ensure!(!headers.contains("INTERP"), "{} needs libraries:\n{headers}", program.display());
    Ok(())
}

/// It decides in a root file system with nothing but itself.
fn runs_alone(folder: &Path) -> anyhow::Result<()> {
    let mut alone = Command::new("unshare");
    alone.args(["--map-root-user", "--root"]).arg(folder);
    alone.args(["/topolet", "simulate", "--machine", "xeon-2s-96cpu-sriov", "--find-max", "-f", "-"]);
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: one}\nspec: {containers: [{name: app, image: none, resources: \
               {limits: {cpu: 4, memory: 1Gi}}}]}\n";
    let mut child = alone.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).spawn()?;
    if let Some(mut to) = child.stdin.take() {
        std::io::Write::write_all(&mut to, pod.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success() && !said.is_empty(), "it does not run alone: {}", output.status);
    print!("{said}");
    Ok(())
}
