//! `cargo xtask chart`: the Helm chart of `deploy/chart` beside the kustomizations, and on a local control plane.

mod seen;
mod helm;
mod objects;
mod installed;
mod openshift;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use anyhow::ensure;
use fs_err as fs;
use local_cluster::{Cluster, Parts, Programs, RELEASE};
use workspace_tools::document::{Renewal, write_figures};
use workspace_tools::workspace::{build, root, target};

use self::helm::Helm;
use self::objects::{Objects, differences};
use self::seen::{CHART, Row};
use crate::others::helm_program;

const DOCUMENT: &str = "deploy/chart/README.md";
/// What helm renders with [`EVERYTHING`]: what tests compare with the kustomizations, without helm.
const RENDERED: &str = "fixtures/chart/rendered.yaml";
/// Values with which the chart has what the kustomizations have, each by itself. Certificates are drawn anew each time.
const EVERYTHING: &str = "scheduler.enabled=true,scheduler.certificates.make=false,guard.enabled=true,nodes.enabled=true,claims.enabled=true";
/// The kustomizations with the same objects.
const KUSTOMIZATIONS: [&str; 3] = ["guard", "node", "scheduler"];

/// Renders the chart with helm and compares it with the kustomizations; installs, upgrades and removes it on a local control
/// plane. Needs Go; the first build takes some minutes.
#[derive(Debug, clap::Args)]
pub(crate) struct Chart {
    /// Renders and compares, and starts no control plane.
    #[arg(long)]
    render: bool,
    /// Writes what helm renders to fixtures/chart, and what was found to deploy/chart/README.md.
    #[arg(long)]
    write: bool,
}

impl Chart {
    #[expect(clippy::print_stdout, reason = "the table is what the command is for")]
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let helm = Helm::new(helm_program()?)?;
        workspace_tools::control_plane::build(RELEASE)?;
        let programs = Programs::built(&target(), RELEASE)?;
        let kubectl = programs.path(local_cluster::Program::Kubectl);
        helm.run(&["lint", "--strict", CHART])?;
        let rendered = helm.template(EVERYTHING)?;
        let kustomized = |folder: &str| objects::kustomized(&kubectl, &root().join("deploy").join(folder));
        let mut expected = Objects::of(&fs::read_to_string(root().join("deploy/claims/rights.yaml"))?)?;
        for folder in KUSTOMIZATIONS {
            expected.extend(kustomized(folder)?);
        }
        let found = Objects::of(&rendered)?;
        let mut rows = vec![same("every part", &found, &expected)?];
        let found = Objects::of(&helm.template("")?)?;
        rows.push(same("without values", &found, &kustomized("observe")?)?);
        let found = Objects::of(&helm.template("openshift.enabled=true")?)?;
        rows.push(same("openshift.enabled=true", &found, &kustomized("openshift")?)?);
        rows.extend(helm::refused(&helm)?);
        let digest = digest(&root().join(CHART))?;
        let made = format!("# {digest}: written by `cargo xtask chart --write`\n{rendered}");
        let renewal = if self.write { Renewal::Write } else { Renewal::Compare };
        renewal.renew(vec![(PathBuf::from(RENDERED), made.into_bytes())], "cargo xtask chart --write")?;
        if !self.render {
            build(&["topolet"])?;
            let cluster = Cluster::start(&programs, Parts::Controllers)?;
            rows.push(openshift::accepted(&cluster)?);
            rows.extend(installed::tried(&cluster, &helm)?);
        }
        let text = rows.iter().fold("| what | seen |\n|---|---|\n".to_owned(), |text, (what, seen)| {
            text + &format!("| {what} | {seen} |\n")
        });
        print!("{text}");
        if self.write && !self.render {
            write_figures(DOCUMENT, "cargo xtask chart --write", &text)
        } else {
            Ok(())
        }
    }
}

fn same(values: &str, found: &Objects, expected: &Objects) -> anyhow::Result<Row> {
    let differences = differences(found, expected);
    ensure!(
        differences.is_empty(),
        "the chart, {values}, is not what the kustomizations are:\n{}",
        differences.join("\n")
    );
    let what = format!("`helm template`, {values}");
    Ok((what, format!("{} objects, equal to those of the kustomizations", found.len())))
}

/// A digest of the files from which helm renders: what was rendered is of today's as long as it is the same.
fn digest(chart: &Path) -> anyhow::Result<String> {
    let mut files = BTreeMap::new();
    for folder in ["", "templates", "rights"] {
        for entry in fs::read_dir(chart.join(folder))? {
            let path = entry?.path();
            let name = path.strip_prefix(chart)?.to_string_lossy().into_owned();
            // Links are read through. `cargo xtask bump` writes versions into both.
            if path.is_file() && !["README.md", "Chart.yaml"].contains(&name.as_str()) {
                files.insert(name, fs::read(path)?);
            }
        }
    }
    // With another release of Rust it may be another, and what was rendered is rendered again.
    let mut hasher = DefaultHasher::new();
    files.hash(&mut hasher);
    Ok(format!("{:016x}", hasher.finish()))
}
