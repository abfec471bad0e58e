//! `cargo xtask nri`: the scripted plugin of `nri-plugin` in the place of one in Go, on recorded cases of real
//! runtimes' NRI.

mod cases;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use fs_err as fs;
use workspace_tools::document::write_figures;
use workspace_tools::workspace::{cargo, root, run, target};

use self::cases::{Case, NotTaken, Part};

/// Runs the scripted plugin of `nri-plugin` on recorded cases of NRI's own runtime side, in three versions. Needs Go.
#[derive(Debug, clap::Args)]
pub(crate) struct Nri {
    /// The folder with the runtime (`src`) and the recorded cases (`cases`); nothing is written there.
    folder: PathBuf,
    /// Only cases whose name has this in it.
    #[arg(long, default_value = "")]
    only: String,
    /// Writes the figures to docs/nri.md.
    #[arg(long)]
    write: bool,
}

/// The versions of NRI, each with what its runtime is built with.
const VERSIONS: [(&str, &[&str]); 3] = [
    ("0.11.0", &["-modfile=go-0.11.0.mod", "-tags=nri011"]),
    ("0.12.3", &[]),
    ("0.12.5", &["-modfile=go-0.12.5.mod", "-tags=nri0125"]),
];
/// Cases of this project, in the same form.
const OWN: &str = "crates/nri-plugin/cases";

impl Nri {
    #[expect(clippy::print_stdout, reason = "the result of the command")]
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let folder = self.folder.canonicalize();
        let folder = folder.with_context(|| format!("there is no folder {}", self.folder.display()))?;
        let place = tempfile::tempdir()?;
        let programs = place.path().join("programs");
        build(&folder.join("src"), &programs)?;
        run(&mut cargo(&["build", "--package", "nri-plugin", "--example", "scripted"]))?;
        let mut figures = Figures::default();
        for (kind, from) in [("recorded", folder.join("cases")), ("own", root().join(OWN))] {
            let mut all = Case::all(&from)?;
            all.retain(|case| case.name.contains(&self.only));
            for case in all {
                figures.play(kind, &case, &programs, place.path())?;
            }
        }
        let text = figures.text();
        println!("{text}");
        ensure!(figures.failed.is_empty(), "these cases failed:\n{}", figures.failed.join("\n"));
        ensure!(!figures.lines.is_empty(), "no case has {:?} in its name", self.only);
        if self.write {
            ensure!(self.only.is_empty(), "figures are those of all cases: leave --only out");
            write_figures("docs/nri.md", "nri", &text)?;
        }
        Ok(())
    }
}

/// Builds the runtimes and the program that plays cases.
pub(crate) fn build(source: &Path, programs: &Path) -> anyhow::Result<()> {
    let build = |output: PathBuf, arguments: &[&str], program: &str| -> anyhow::Result<()> {
        fs::create_dir_all(&output)?;
        let mut build = Command::new("go");
        // With a slash at its end it is a folder of programs.
        build.args(["build", "-buildvcs=false", "-o"]).arg(output.join("")).args(arguments).arg(program);
        build.current_dir(source).env("GOFLAGS", "-mod=readonly").env("CGO_ENABLED", "0");
        run(build.env("GOCACHE", root().join("target/go-build")))
    };
    for (version, arguments) in VERSIONS {
        build(programs.join(version), arguments, "./cmd/runtime")?;
    }
    build(programs.to_path_buf(), &[], "./cmd/cases")
}

/// What has become of the cases.
#[derive(Default)]
struct Figures {
    /// Kind, version, case, and whether it passed.
    lines: Vec<(&'static str, String, String, bool)>,
    not_taken: Vec<(String, &'static str)>,
    parts: Vec<String>,
    failed: Vec<String>,
}

impl Figures {
    /// Plays one case on each runtime that it was recorded with.
    fn play(&mut self, kind: &'static str, case: &Case, programs: &Path, place: &Path) -> anyhow::Result<()> {
        let Part { text, left_out } = match case.part() {
            Ok(part) => part,
            Err(NotTaken(reason)) => {
                self.not_taken.push((case.name.clone(), reason));
                return Ok(());
            }
        };
        for name in left_out {
            self.parts.push(format!("`{}` without `{name}`", case.name));
        }
        if let Some((version, reason)) = case.not_recorded_of_ours() {
            self.parts.push(format!("`{}` without {version}: {reason}", case.name));
        }
        let folder = place.join("cases");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(format!("{}.json", case.name)), text)?;
        let output = Command::new(programs.join("cases"))
            .arg("-bin")
            .arg(programs)
            .arg("-plugin")
            .arg(target().join("debug/examples/scripted"))
            .args(["-nri", &case.versions().join(",")])
            .arg(&folder)
            .stderr(Stdio::inherit())
            .output()
            .context("failed to start the program that plays cases")?;
        let output = String::from_utf8_lossy(&output.stdout);
        let mut played = 0;
        for line in output.lines() {
            let mut words = line.split_whitespace();
            let (verdict, version) = (words.next(), words.nth(1));
            let (Some(verdict @ ("ok" | "FAIL")), Some(version)) = (verdict, version) else { continue };
            played += 1;
            self.lines.push((kind, version.to_owned(), case.name.clone(), verdict == "ok"));
        }
        if played != case.versions().len() || output.contains("FAIL") {
            self.failed.push(format!("{} {output}", case.name));
        }
        eprint!("{output}");
        Ok(())
    }

    fn text(&self) -> String {
        let mut text = "| cases | NRI of the runtime | played | passed |\n|---|---|---|---|\n".to_owned();
        for kind in ["recorded", "own"] {
            for (version, _) in VERSIONS {
                let of = self.lines.iter().filter(|(of, with, ..)| *of == kind && with == version);
                let played = of.clone().count();
                if played > 0 {
                    let passed = of.filter(|(.., passed)| *passed).count();
                    text += &format!("| {kind} | {version} | {played} | {passed} |\n");
                }
            }
        }
        text += "\nPlayed in part:\n\n";
        text.extend(self.parts.iter().map(|part| format!("- {part}\n")));
        text += "\nNot played, since a plugin of this crate cannot do what they are about:\n\n";
        let mut reasons: Vec<&str> = self.not_taken.iter().map(|(_, reason)| *reason).collect();
        reasons.sort_unstable();
        reasons.dedup();
        for reason in reasons {
            let of = self.not_taken.iter().filter(|(_, of)| *of == reason);
            let names: Vec<String> = of.map(|(name, _)| format!("`{name}`")).collect();
            text += &format!("- {reason}: {}\n", names.join(", "));
        }
        text
    }
}
