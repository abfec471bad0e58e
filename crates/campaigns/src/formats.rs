//! `cargo xtask formats`: what becomes of public files and machine descriptions, as `fixtures/formats` lists them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use fs_err as fs;
use node_input::{LoadedMachine, Reading};
use pod_spec::PodRules;
use topology_manifest::{
    ManifestError, Manifests, PodLimit, Source, UnknownFields, read_devices, read_manifests_up_to,
};
use workspace_tools::document::write_figures;
use workspace_tools::workspace::root;

/// Gives listed public files to the readers of commands, and counts which are understood
#[derive(Debug, clap::Args)]
pub(crate) struct Formats {
    /// The folder with the files, each named by its number
    folder: PathBuf,
    /// The files are machine descriptions and lists of devices
    #[arg(long)]
    machines: bool,
    /// Write the figures to docs/formats.md
    #[arg(long)]
    write: bool,
    /// Print also why each file that is refused with a next step is refused
    #[arg(long)]
    refusals: bool,
}

/// A line of the list.
struct Listed {
    number: String,
    kind: String,
    source: String,
    sha256: String,
}

/// What a command that is given a file makes of it.
enum Verdict {
    Understood,
    /// It is refused, with what to do instead.
    NextStep(String),
    /// It is refused without that.
    Neither(String),
    /// It is not there, or is another file.
    Missing(&'static str),
}

/// The kinds that are configurations of a kubelet or flags; all others are manifests.
const CONFIGURATIONS: &[&str] = &[
    "aks",
    "bottlerocket-toml",
    "cluster-api",
    "eks-node-config",
    "eks-user-data-mime",
    "eksctl",
    "gardener-shoot",
    "gke",
    "k3s-config",
    "karpenter-ec2nodeclass",
    "kops",
    "kubeadm-flags-env",
    "kubeadm-multi",
    "kubelet-command-line",
    "kubelet-configuration",
    "kubelet-drop-in",
    "kubelet-extra-args",
    "machine-config",
    "microshift-config",
    "openshift-kubelet-config",
    "performance-profile",
    "rke2-config",
    "systemd-drop-in",
    "talos-machine-config",
];

/// Of the machine descriptions the kinds that `--devices` takes.
const DEVICES: &[&str] = &["nvidia-smi-topo", "sriov-plugin-config"];

/// A machine's CPUs, for configurations whose reservations depend on them.
const CPUS: usize = 96;

impl Formats {
    #[expect(clippy::print_stdout, reason = "the output of the command")]
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let mut figures = Figures::default();
        let (list, section) =
            if self.machines { ("public-machines.tsv", "machines") } else { ("public-files.tsv", "formats") };
        for listed in self::list(list)? {
            let verdict = listed.judge(&self.folder, self.machines)?;
            figures.add(&listed, verdict);
        }
        let text = figures.text();
        println!("{text}{}", figures.messages.join("\n"));
        if self.refusals {
            println!("\nRefused with a next step:\n\n{}", figures.refusals.join("\n"));
        }
        if self.write {
            write_figures("docs/formats.md", section, &text)?;
        }
        Ok(())
    }
}

fn list(name: &str) -> anyhow::Result<Vec<Listed>> {
    let path = root().join("fixtures/formats").join(name);
    let text = fs::read_to_string(&path)?;
    let line = |line: &str| {
        let columns: Vec<&str> = line.split('\t').collect();
        let [number, kind, repository, _commit, path, sha256, _licence] = columns.as_slice() else {
            anyhow::bail!("a line of the list has {} columns: expected 7: {line}", columns.len());
        };
        Ok(Listed {
            number: (*number).to_owned(),
            kind: (*kind).to_owned(),
            source: format!("{repository}: {path}"),
            sha256: (*sha256).to_owned(),
        })
    };
    text.lines().skip(1).map(line).collect()
}

impl Listed {
    fn judge(&self, folder: &Path, is_machine: bool) -> anyhow::Result<Verdict> {
        let path = folder.join(&self.number);
        if !path.is_file() {
            return Ok(Verdict::Missing("not there"));
        }
        if digest(&path)? != self.sha256 {
            return Ok(Verdict::Missing("another file by its digest"));
        }
        let bytes = fs::read(&path)?;
        let name = self.source.rsplit('/').next().unwrap_or(&self.source);
        if is_machine {
            return Ok(if DEVICES.contains(&self.kind.as_str()) {
                devices(name, &bytes)
            } else {
                machine(&path)
            });
        }
        if CONFIGURATIONS.contains(&self.kind.as_str()) {
            return Ok(configuration(name, &bytes));
        }
        // A shape of YAML may have either in it.
        if self.kind.starts_with("yaml-") && matches!(configuration(name, &bytes), Verdict::Understood) {
            return Ok(Verdict::Understood);
        }
        Ok(manifests(name, &bytes))
    }
}

fn digest(path: &Path) -> anyhow::Result<String> {
    let output =
        Command::new("sha256sum").arg("--").arg(path).output().context("failed to start sha256sum")?;
    ensure!(output.status.success(), "sha256sum failed for {}", path.display());
    let text = String::from_utf8(output.stdout)?;
    Ok(text.split_whitespace().next().context("sha256sum printed nothing")?.to_owned())
}

/// As `topolet config check --config FILE` reads it.
fn configuration(name: &str, bytes: &[u8]) -> Verdict {
    match node_input::configuration_of_text(name, bytes, CPUS, Reading::default()) {
        Ok(_) => Verdict::Understood,
        Err(error) => {
            let line = error.chain().find_map(node_output::in_one_line);
            let line = line.map_or_else(|| format!("{error:#}"), str::to_owned);
            if error.chain().any(|error| node_output::next_step(error).is_some()) {
                Verdict::NextStep(line)
            } else {
                Verdict::Neither(line)
            }
        }
    }
}

/// As `topolet admit --machine FILE` reads it. An error with a next step has a command in backticks.
fn machine(path: &Path) -> Verdict {
    match LoadedMachine::named(&path.display().to_string()) {
        Ok(_) => Verdict::Understood,
        Err(error) => {
            let line = format!("{error:#}");
            if line.contains('`') { Verdict::NextStep(line) } else { Verdict::Neither(line) }
        }
    }
}

/// As `topolet admit --devices FILE` reads it.
fn devices(name: &str, bytes: &[u8]) -> Verdict {
    match Source::from_bytes(name, bytes).and_then(|source| read_devices(&source)) {
        Ok(_) => Verdict::Understood,
        Err(error) => of_error(&error),
    }
}

/// As `topolet admit -f FILE` reads it.
fn manifests(name: &str, bytes: &[u8]) -> Verdict {
    let read = Source::from_list(name, bytes).and_then(|source| {
        read_manifests_up_to(PodLimit::Cluster, &source, PodRules::default(), UnknownFields::Refuse)
    });
    match read {
        Ok(read) => of_manifests(&read),
        Err(error) => of_error(&error),
    }
}

fn of_error(error: &ManifestError) -> Verdict {
    match error.problem().next_step() {
        Some(_) => Verdict::NextStep(error.to_string()),
        None => Verdict::Neither(error.to_string()),
    }
}

/// Understood: every object became pods, or is of a kind that makes none.
fn of_manifests(read: &Manifests) -> Verdict {
    if let Some(refusal) = read.refused.iter().find(|refusal| !refusal.has_next_step()) {
        return Verdict::Neither(refusal.to_string());
    }
    if let Some(refusal) = read.refused.first() {
        return Verdict::NextStep(refusal.to_string());
    }
    let misspelt = read.skipped.iter().find(|skipped| skipped.meant().is_some());
    let unread = read.skipped.iter().find(|skipped| skipped.instead().is_some() && read.pods.is_empty());
    match misspelt.or(unread) {
        Some(skipped) => Verdict::NextStep(skipped.to_string()),
        None => Verdict::Understood,
    }
}

/// How many files of a kind there are, and what became of them.
#[derive(Default)]
struct Counts {
    understood: usize,
    next_step: usize,
    neither: usize,
    missing: usize,
}

#[derive(Default)]
struct Figures {
    kinds: BTreeMap<String, Counts>,
    /// What is refused without a next step, a line each.
    neither: Vec<String>,
    /// The messages of the same files.
    messages: Vec<String>,
    /// Those of files that are refused with a next step.
    refusals: Vec<String>,
    missing: Vec<String>,
}

impl Figures {
    fn add(&mut self, listed: &Listed, verdict: Verdict) {
        let counts = self.kinds.entry(listed.kind.clone()).or_default();
        match verdict {
            Verdict::Understood => counts.understood += 1,
            Verdict::NextStep(error) => {
                counts.next_step += 1;
                self.refusals.push(format!("{} {} ({}): {error}", listed.number, listed.kind, listed.source));
            }
            Verdict::Neither(error) => {
                counts.neither += 1;
                self.neither.push(format!("| {} | {} | {} |", listed.number, listed.kind, listed.source));
                self.messages.push(format!("{} ({}): {error}", listed.number, listed.source));
            }
            Verdict::Missing(why) => {
                counts.missing += 1;
                self.missing.push(format!("{} ({}): {why}", listed.number, listed.source));
            }
        }
    }

    fn text(&self) -> String {
        let sum = |of: fn(&Counts) -> usize| self.kinds.values().map(of).sum::<usize>();
        let (understood, next_step) = (sum(|of| of.understood), sum(|of| of.next_step));
        let (neither, missing) = (sum(|of| of.neither), sum(|of| of.missing));
        let judged = understood + next_step + neither;
        let share = |count: usize| {
            let tenths = (count * 1000).checked_div(judged).unwrap_or_default();
            format!("{}.{}", tenths / 10, tenths % 10)
        };
        let mut text = format!(
            "Of {judged} files {understood} are understood ({} of 100), {next_step} refused with a next step ({} of 100), and \
             {neither} neither.",
            share(understood),
            share(next_step)
        );
        if missing > 0 {
            let _ = write!(text, " {missing} listed files were missing: {}.", self.missing.join("; "));
        }
        text.push_str(
            "\n\n| kind | files | understood | refused with a next step | neither |\n|---|---|---|---|---|\n",
        );
        for (kind, Counts { understood, next_step, neither, missing }) in &self.kinds {
            let files = understood + next_step + neither + missing;
            let _ = writeln!(text, "| `{kind}` | {files} | {understood} | {next_step} | {neither} |");
        }
        if !self.neither.is_empty() {
            text.push_str("\nNeither:\n\n| number | kind | file |\n|---|---|---|\n");
            for line in &self.neither {
                let _ = writeln!(text, "{line}");
            }
        }
        text.push('\n');
        text
    }
}
