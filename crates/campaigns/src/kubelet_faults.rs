//! `cargo xtask kubelet-faults`: faults of the kubelet, and of how resource claims are decided, reproduced in each release by its
//! own code.
//!
//! `docs/upstream` has a page for each, and the last table of which release has which.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::{Context as _, bail, ensure};
use fs_err as fs;
use workspace_tools::document::write_figures;
use workspace_tools::kubelet;
use workspace_tools::workspace::root;

const PAGES: &str = "docs/upstream";

/// Reproduces faults of the kubelet or of resource claims in a release, or in all, and prints which release has which.
///
/// Needs Go; each release is built once, which takes some minutes. A fault that hangs is given 20 seconds.
#[derive(Debug, clap::Args)]
pub(crate) struct KubeletFaults {
    /// Faults of resource claims instead: in kube-scheduler's allocator, the API server's validation and the helpers of drivers.
    #[arg(long)]
    claims: bool,
    /// Only these releases: of crates/workspace-tools/kubelet/releases, or the one that its go.mod requires.
    #[arg(long, value_name = "VERSION", value_delimiter = ',')]
    kubelet: Vec<String>,
    /// Only these faults, by the names of their pages in docs/upstream, or docs/upstream/claims.
    #[arg(long, value_name = "NAME")]
    fault: Vec<String>,
    /// Write the table to docs/upstream/README.md.
    #[arg(long, conflicts_with = "fault")]
    write: bool,
}

/// What is at fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Subject {
    Kubelet,
    Claims,
}

impl Subject {
    /// The program in Go.
    const fn program(self) -> &'static str {
        match self {
            Self::Kubelet => "faults",
            Self::Claims => "claims",
        }
    }

    /// The folder of its pages, from the folder of all.
    const fn folder(self) -> &'static str {
        match self {
            Self::Kubelet => "",
            Self::Claims => "claims/",
        }
    }

    /// The command that writes its table.
    const fn command(self) -> &'static str {
        match self {
            Self::Kubelet => "cargo xtask kubelet-faults --write",
            Self::Claims => "cargo xtask kubelet-faults --claims --write",
        }
    }

    /// The first heading of a fault's page.
    fn title(self, name: &str) -> anyhow::Result<String> {
        let page = root().join(PAGES).join(format!("{}{name}.md", self.folder()));
        let text = fs::read_to_string(&page)?;
        let title = text.lines().next().and_then(|line| line.strip_prefix("# "));
        Ok(title.with_context(|| format!("{} has no heading", page.display()))?.to_owned())
    }
}

/// What a reproduction found in one release.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Found {
    name: String,
    verdict: Verdict,
    seen: String,
}

/// How a release behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    /// It has the fault.
    Fault,
    /// It does what it should.
    Mended,
    /// It lacks the feature that the fault is in.
    Absent,
}

impl Verdict {
    const fn shown(self) -> &'static str {
        match self {
            Self::Fault => "has it",
            Self::Mended => "does not have it",
            Self::Absent => "lacks the feature",
        }
    }
}

impl KubeletFaults {
    #[expect(clippy::print_stdout, reason = "the output of the command")]
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let mut releases = if self.kubelet.is_empty() { kubelet::releases()? } else { self.kubelet };
        releases.sort();
        let subject = if self.claims { Subject::Claims } else { Subject::Kubelet };
        let mut found = BTreeMap::new();
        for release in &releases {
            let program = kubelet::build(release, subject.program())?.join(subject.program());
            let output = Command::new(&program).arg("run").args(&self.fault).current_dir(root()).output();
            let output = output.with_context(|| format!("failed to start {}", program.display()))?;
            let text = String::from_utf8(output.stdout).context("the reproductions wrote no UTF-8")?;
            println!("Kubernetes {release}");
            for line in text.lines() {
                println!("  {}", line.replace('\t', "  "));
            }
            let said = String::from_utf8_lossy(&output.stderr);
            ensure!(output.status.success(), "a reproduction failed in Kubernetes {release}: {said}");
            found.insert(release.clone(), parse(&text)?);
        }
        ensure!(
            found.values().any(|all| !all.is_empty()),
            "no fault has that name; docs/upstream has the names"
        );
        let table = table(subject, &releases, &found)?;
        println!("\n{table}");
        if self.write {
            write_figures(&format!("{PAGES}/README.md"), subject.command(), &table)
        } else {
            Ok(())
        }
    }
}

/// What the program of one release printed.
fn parse(text: &str) -> anyhow::Result<Vec<Found>> {
    text.lines()
        .map(|line| {
            let mut parts = line.splitn(3, '\t');
            let (Some(name), Some(word), Some(seen)) = (parts.next(), parts.next(), parts.next()) else {
                bail!("a line has no name, verdict and text: {line:?}");
            };
            let verdict = match word {
                "FAULT" => Verdict::Fault,
                "OK" => Verdict::Mended,
                "ABSENT" => Verdict::Absent,
                other => bail!("no verdict: {other:?}"),
            };
            Ok(Found { name: name.to_owned(), verdict, seen: seen.to_owned() })
        })
        .collect()
}

/// Faults by releases, and what the newest release that has a fault showed.
fn table(
    subject: Subject,
    releases: &[String],
    found: &BTreeMap<String, Vec<Found>>,
) -> anyhow::Result<String> {
    let mut text = format!("| fault | {} |\n|---|{}\n", releases.join(" | "), "---|".repeat(releases.len()));
    let mut seen = String::new();
    let newest = releases.last().and_then(|release| found.get(release)).context("no release was asked")?;
    for Found { name, .. } in newest {
        let of = |release: &String| found.get(release)?.iter().find(|found| found.name == *name);
        let cells =
            releases.iter().map(|release| of(release).map_or("not asked", |found| found.verdict.shown()));
        let (title, folder) = (subject.title(name)?, subject.folder());
        let cells = cells.collect::<Vec<_>>().join(" | ");
        text.push_str(&format!("| [{title}]({folder}{name}.md) | {cells} |\n"));
        let last = releases
            .iter()
            .rev()
            .find(|release| of(release).is_some_and(|found| found.verdict == Verdict::Fault));
        if let Some((release, found)) = last.and_then(|release| Some((release, of(release)?))) {
            seen.push_str(&format!("{name}, {release}:\n  {}\n", found.seen));
        }
    }
    Ok(format!("{text}\nSeen in the newest release that has each:\n\n```text\n{seen}```\n"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn lines_of_the_program_are_read() {
        let found = parse("full-node\tFAULT\ta\tb\nnode-ids\tABSENT\t\n").unwrap();
        assert_eq!((found[0].verdict, found[0].seen.as_str()), (Verdict::Fault, "a\tb"));
        assert_eq!((found[1].verdict, found[1].name.as_str()), (Verdict::Absent, "node-ids"));
        assert!(parse("full-node\tERROR\tno folder").is_err());
        assert!(parse("full-node").is_err());
    }

    #[test]
    fn every_fault_has_a_page_and_every_page_a_fault() {
        let readme = fs::read_to_string(root().join(PAGES).join("README.md")).unwrap();
        for subject in [Subject::Kubelet, Subject::Claims] {
            let main = format!("{}/cmd/{}/main.go", kubelet::MODULE, subject.program());
            let main = fs::read_to_string(root().join(main)).unwrap();
            let rows = main.lines().filter_map(|line| line.trim().strip_prefix("{\"")?.split('"').next());
            let faults: BTreeSet<String> = rows.map(str::to_owned).collect();
            assert!(faults.len() >= 8, "{faults:?}");
            let listed = fs::read_dir(root().join(PAGES).join(subject.folder())).unwrap();
            let names = listed.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
            let pages: BTreeSet<String> = names
                .filter_map(|name| Some(name.strip_suffix(".md")?.to_owned()))
                .filter(|name| name != "README")
                .collect();
            assert_eq!(faults, pages);
            for fault in &faults {
                let row = format!("| [{}]({}{fault}.md) |", subject.title(fault).unwrap(), subject.folder());
                assert!(readme.contains(&row), "{PAGES}/README.md lacks {fault}");
            }
        }
    }
}
