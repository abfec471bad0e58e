//! `cargo xtask proposals`: every proposal of `topolet config check`, given to the kubelet's own code.
//!
//! For each machine and each configuration: the kubelet's validation must accept what is proposed, its managers must
//! start with it, and an ordinary Guaranteed pod must be admitted within a second, or the proposal must say why not.

mod case;
mod asked;
mod table;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::ensure;
use fs_err as fs;
use serde::Deserialize;
use serde_json::Value;
use workspace_tools::kubelet::go_build;
use workspace_tools::workspace::{build, root, target};

use case::Case;

/// Has the kubelet's own code validate all proposals, start with them and admit a pod. Needs Go.
#[derive(Debug, clap::Args)]
pub(crate) struct Proposals {
    /// Folders with more machines, as `.tar.zst`, beside those that are built in.
    #[arg(long, value_name = "DIR")]
    machines: Vec<PathBuf>,
    /// Writes the table to docs/proposals.md.
    #[arg(long)]
    write: bool,
}

/// Where the samples of configurations are.
const CONFIGURATIONS: &str = "fixtures/configs/distributions";

/// A configuration that says nothing.
const HEADER: &str = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";

#[derive(Deserialize)]
struct Checked {
    proposal: Value,
    notes: Vec<String>,
}

impl Proposals {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let program = go_build(&["admission"])?.join("admission");
        build(&["topolet"])?;
        let topolet = target().join("debug/topolet");
        let described = target().join("proposals");
        fs::create_dir_all(&described)?;
        let configurations = configurations()?;
        let mut cases = Vec::new();
        let mut unusable = Vec::new();
        for (name, argument) in machines(&self.machines)? {
            let info = output(&topolet, &["topology", "--machine", &argument, "-o", "machineinfo"])?;
            let path = described.join(format!("{name}.json"));
            fs::write(&path, info)?;
            for (configuration, file) in &configurations {
                match case(&topolet, (&name, &argument), (configuration, file)) {
                    Ok(case) => cases.push(case),
                    Err(error) => unusable.push(format!("{name}, {configuration}: {error:#}")),
                }
            }
        }
        eprintln!("asking the kubelet's own code about {} proposals", cases.len());
        let answers = asked::ask(&program, &described, &cases)?;
        let text = table::text(&cases, &answers, &unusable);
        print(&text);
        if self.write {
            let path = root().join("docs/proposals.md");
            fs::write(&path, &text)?;
        }
        let failed = answers.iter().filter(|answer| answer.is_wrong()).count();
        ensure!(failed == 0, "{failed} proposals failed");
        Ok(())
    }
}

/// Names of machines, and how they are named to topolet: those that are built in, then those in folders.
fn machines(folders: &[PathBuf]) -> anyhow::Result<Vec<(String, String)>> {
    let built_in = root().join("crates/machine-fixtures/machines");
    let mut seen = BTreeSet::new();
    let mut machines = Vec::new();
    for (folder, is_built_in) in
        std::iter::once((&built_in, true)).chain(folders.iter().map(|own| (own, false)))
    {
        for path in sorted(folder)? {
            let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let Some(name) = file.strip_suffix(".tar.zst") else { continue };
            if seen.insert(name.to_owned()) {
                let argument = if is_built_in { name.to_owned() } else { path.display().to_string() };
                machines.push((name.to_owned(), argument));
            }
        }
    }
    Ok(machines)
}

/// Names of configurations and how they are named to topolet.
fn configurations() -> anyhow::Result<Vec<(String, String)>> {
    let mut all = vec![("kubelet-defaults".to_owned(), "kubelet-defaults".to_owned())];
    for path in sorted(&root().join(CONFIGURATIONS))? {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if name != "README" {
            all.push((name, path.display().to_string()));
        }
    }
    Ok(all)
}

fn sorted(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn case(topolet: &Path, machine: (&str, &str), configuration: (&str, &str)) -> anyhow::Result<Case> {
    let check = |more: &[&str]| {
        let arguments = ["config", "check", "--machine", machine.1, "--config", configuration.1];
        output(topolet, &[&arguments, more].concat())
    };
    let checked: Checked = serde_json::from_str(&check(&["-o", "json"])?)?;
    let printed = check(&["--propose"])?;
    // A custom resource is no file of a kubelet; the operator writes its fields into one.
    let is_file = !printed.contains("\nkind: KubeletConfig\n");
    let given = fs::read_to_string(configuration.1).unwrap_or_else(|_| HEADER.to_owned());
    let is_for_file = is_file && !given.starts_with("{\"kubeletconfig\"");
    let drop_in = if is_for_file { Some((given, check(&["--drop-in"])?)) } else { None };
    Ok(Case {
        machine: machine.0.to_owned(),
        configuration: configuration.0.to_owned(),
        file: if is_file { printed } else { checked.proposal.to_string() },
        drop_in,
        fields: checked.proposal,
        notes: checked.notes,
    })
}

/// What a program prints; status 2 says that something was wrong with what it was given, which is why it is asked.
fn output(program: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new(program).args(arguments).output()?;
    let error = String::from_utf8_lossy(&output.stderr);
    // Paths of machines stay out of the table.
    ensure!(matches!(output.status.code(), Some(0 | 2)), "{}", error.trim());
    Ok(String::from_utf8(output.stdout)?)
}

#[expect(clippy::print_stdout, reason = "the output of the command")]
fn print(text: &str) {
    println!("{text}");
}
